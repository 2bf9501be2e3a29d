//! `#[address_space(shared)]`: statics of which every block has its own copy; `#[address_space(constant)]`: statics that the host sets.
//!
//! On the device the static keeps its type and gets a symbol by which `cuda_builder` recognises it in the PTX and moves it to
//! shared memory. On the CPU it is a static of the process, which the emulator lends to one block after another; the emulator
//! finds it in a list that the linker collects.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, ItemStatic, Lit, Meta, Result, StaticMutability, Type};

/// See [`macro@crate::address_space`].
pub fn expand(space: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let place: Ident = syn::parse2(space.clone()).map_err(|_| bad_space(&space))?;
    let declared: ItemStatic = syn::parse2(item).map_err(|error| {
        Error::new(
            error.span(),
            "#[address_space(..)] can only be applied to a `static` with an initial value",
        )
    })?;
    match place.to_string().as_str() {
        "shared" => Ok(shared(declared)),
        "global" => Ok(declared.into_token_stream()),
        "constant" => Ok(constant(declared)),
        "local" => Err(Error::new_spanned(
            &place,
            "a static cannot be local to a thread on the GPU: use a variable of the kernel",
        )),
        _ => Err(bad_space(&space)),
    }
}

fn bad_space(space: &TokenStream) -> Error {
    Error::new_spanned(
        space,
        format!("unknown address space `{space}`: allowed are shared, global and constant"),
    )
}

fn shared(mut declared: ItemStatic) -> TokenStream {
    // No other code can refer to the static by its symbol, so the macro may choose it.
    declared.attrs.retain(|attribute| !names_symbol(attribute));
    let (name, ty) = (&declared.ident, &declared.ty);
    let symbol = symbol(name);
    let address = match declared.mutability {
        StaticMutability::Mut(_) => quote!((&raw mut #name).cast::<u8>()),
        _ => quote!((&raw const #name).cast_mut().cast::<u8>()),
    };
    // A static that is not `static mut` must still be writable. A stable compiler cannot check this; on the CPU it is enough
    // that the emulator can overwrite the static.
    let (section, check) = match declared.mutability {
        StaticMutability::Mut(_) => (TokenStream::new(), TokenStream::new()),
        _ => (
            quote! {
                #[cfg_attr(target_os = "linux", unsafe(link_section = ".data.cuda_std_shared"))]
                #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,cuda_std_shared"))]
            },
            quote_spanned! {ty.span()=>
                #[cfg(target_arch = "nvptx64")]
                const _: () = {
                    #[allow(unused_imports)]
                    use ::cuda_std::__private::Mutable as _;
                    ::core::assert!(
                        <::cuda_std::__private::Interior<#ty>>::IS_MUTABLE,
                        "shared memory does not keep a static's initial value: declare it `static mut`, or of a type such as an atomic",
                    );
                };
            },
        ),
    };
    quote! {
        #[cfg_attr(target_arch = "nvptx64", unsafe(export_name = #symbol))]
        #section
        #declared
        #check
        #[cfg(not(target_arch = "nvptx64"))]
        const _: () = {
            #[::cuda_std::__private::linkme::distributed_slice(::cuda_std::__private::SHARED_STATICS)]
            #[linkme(crate = ::cuda_std::__private::linkme)]
            static SHARED_STATIC: ::cuda_std::__private::SharedStatic =
                // SAFETY: these are the static's address and size.
                unsafe { ::cuda_std::__private::SharedStatic::new(#address, ::core::mem::size_of::<#ty>()) };
        };
    }
}

/// A static that the host may set gets a symbol by which `cuda_builder` recognises it: the prefix, and the name that the PTX has. Any
/// other static never changes, so that the compiler may compute with its value.
fn constant(mut declared: ItemStatic) -> TokenStream {
    let name = declared.ident.to_string();
    let is_type = matches!(&*declared.ty, Type::Path(path)
        if path.path.segments.last().is_some_and(|last| last.ident == "Constant"));
    let is_mutable = matches!(declared.mutability, StaticMutability::Mut(_));
    if !is_type && !is_mutable {
        return declared.into_token_stream();
    }
    let given = declared.attrs.iter().find_map(exported_name);
    let name = given.unwrap_or(name);
    declared.attrs.retain(|attribute| !names_symbol(attribute));
    let symbol = format!("cuda_std_constant${name}");
    let ident = &declared.ident;
    let registered = is_type.then(|| {
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                #[::cuda_std::__private::linkme::distributed_slice(::cuda_std::__private::CONSTANTS)]
                #[linkme(crate = ::cuda_std::__private::linkme)]
                static CONSTANT: ::cuda_std::__private::ConstantStatic =
                    ::cuda_std::__private::ConstantStatic::new(&#ident, #name);
            };
        }
    });
    quote! {
        #[cfg_attr(target_arch = "nvptx64", unsafe(export_name = #symbol))]
        #declared
        #registered
    }
}

/// The name in `#[unsafe(export_name = "…")]`, with or without `unsafe`.
fn exported_name(attribute: &Attribute) -> Option<String> {
    let inner: Meta = match &attribute.meta {
        Meta::List(list) if list.path.is_ident("unsafe") => list.parse_args().ok()?,
        other => other.clone(),
    };
    match inner {
        Meta::NameValue(pair) if pair.path.is_ident("export_name") => match pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(name),
                ..
            }) => Some(name.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an attribute sets the static's symbol or section.
fn names_symbol(attribute: &Attribute) -> bool {
    let path = match &attribute.meta {
        Meta::List(list) if list.path.is_ident("unsafe") => list
            .tokens
            .clone()
            .into_iter()
            .next()
            .map_or(String::new(), |first| first.to_string()),
        other => other.path().to_token_stream().to_string(),
    };
    matches!(path.as_str(), "no_mangle" | "export_name" | "link_section")
}

/// A symbol for one declaration, which is the same in every build of the same source: a prefix that `cuda_builder` knows, the
/// crate, the name and a number.
fn symbol(name: &Ident) -> String {
    static SEEN: Mutex<Option<HashMap<u64, u64>>> = Mutex::new(None);
    let variable = |name| std::env::var(name).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION", "CARGO_CRATE_NAME"] {
        variable(name).hash(&mut hasher);
    }
    name.to_string().hash(&mut hasher);
    let mut seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let count = seen
        .get_or_insert_default()
        .entry(hasher.finish())
        .or_insert(0);
    *count += 1;
    count.hash(&mut hasher);
    let plain = |text: String| text.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!(
        "cuda_std_shared_static${}${}${:016x}",
        plain(variable("CARGO_CRATE_NAME")),
        plain(name.to_string()),
        hasher.finish()
    )
}
