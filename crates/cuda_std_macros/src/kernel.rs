//! `#[kernel]` checks the function and expands it to a PTX entry, a function for the CPU and a type that describes it.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, FnArg, GenericParam, ItemFn, Result, ReturnType, Type};

use crate::arguments::{self, Argument, Errors, Form, Kind};
use crate::descriptor::descriptor;
use crate::markers::is_no_mangle;
use crate::options::{Bounds, Instance, Options};

/// See [`macro@crate::kernel`].
pub fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let Options { instances, bounds } = syn::parse2(options)?;
    let mut function: ItemFn = syn::parse2(item).map_err(|error| {
        Error::new(
            error.span(),
            "#[kernel] can only be applied to a function with a body",
        )
    })?;
    let arguments = check(&function, &instances)?;

    function.attrs.retain(|attribute| !is_no_mangle(attribute));
    function.sig.abi = None;
    let is_safe = function.sig.unsafety.is_none();
    let checks: Vec<TokenStream> = arguments
        .iter()
        .map(|argument| check_argument(argument, is_safe))
        .collect();
    let statements = &function.block.stmts;
    let body = quote!({ #(#checks)* #(#statements)* });

    let device = if instances.is_empty() {
        device(&function, &arguments, &body, &bounds)
    } else {
        device_instances(&function, &arguments, &body, &instances, &bounds)
    };
    let descriptor = descriptor(&function, &arguments, &instances, &bounds);
    let ItemFn {
        attrs, vis, sig, ..
    } = &function;
    Ok(quote! {
        #device
        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #[allow(clippy::too_many_arguments)]
        #vis #sig #body
        #descriptor
    })
}

/// Checks everything but the arguments, then parses these.
fn check(function: &ItemFn, instances: &[Instance]) -> Result<Vec<Argument>> {
    let signature = &function.sig;
    let mut errors = Errors::default();
    if let Some(token) = &signature.asyncness {
        errors.push(Error::new_spanned(token, "a kernel cannot be async"));
    }
    if let Some(token) = &signature.constness {
        errors.push(Error::new_spanned(token, "a kernel cannot be a const fn"));
    }
    if let Some(abi) = &signature.abi {
        let known = abi
            .name
            .as_ref()
            .is_none_or(|name| matches!(name.value().as_str(), "C" | "ptx-kernel"));
        if !known {
            errors.push(Error::new_spanned(
                abi,
                "a kernel has its own calling convention: omit `extern` (\"C\" is accepted)",
            ));
        }
    }
    let mut is_generic = false;
    for parameter in &signature.generics.params {
        if matches!(parameter, GenericParam::Lifetime(_)) {
            continue;
        }
        is_generic = true;
        if instances.is_empty() {
            errors.push(Error::new_spanned(
                parameter,
                "a generic kernel needs a list of the instances to export: #[kernel(instances(f32: f32, f64: f64))] exports \
                 this kernel's name with `_f32` and `_f64` appended",
            ));
        }
    }
    if let (false, Some(first)) = (is_generic, instances.first()) {
        errors.push(Error::new_spanned(
            &first.suffix,
            "only a generic kernel has instances",
        ));
    }
    match &signature.output {
        ReturnType::Default => {}
        ReturnType::Type(_, ty) => match ty.as_ref() {
            Type::Tuple(unit) if unit.elems.is_empty() => {}
            other => errors.push(Error::new_spanned(
                other,
                "a kernel returns nothing: write results through a pointer",
            )),
        },
    }
    match arguments::parse(signature) {
        Ok(arguments) => {
            if signature.unsafety.is_none() {
                arguments::check_safe(signature, &arguments, &mut errors);
            }
            errors.finish().map(|()| arguments)
        }
        Err(error) => {
            errors.push(error);
            errors.finish().map(|()| Vec::new())
        }
    }
}

/// Statements that reject types which only look like a kernel's argument.
fn check_argument(argument: &Argument, is_safe: bool) -> TokenStream {
    let ty = &argument.ty;
    let check = match is_safe {
        true => quote!(assert_safe_argument),
        false => quote!(assert_kernel_argument),
    };
    match argument.form {
        Form::Value => quote_spanned! {ty.span()=>
            ::cuda_std::__private::#check::<#ty>();
            const {
                #[allow(unused_imports)]
                use ::cuda_std::__private::Thin as _;
                ::core::assert!(
                    !<::cuda_std::__private::Width<#ty>>::IS_SLICE,
                    "a kernel's slice parameter must be written as a slice, not through a type alias",
                );
            }
        },
        Form::Exclusive | Form::Slice { .. } => TokenStream::new(),
    }
}

/// The PTX entry. A macro of `cuda_std`, which may use the unstable calling convention, writes it, so that the kernel's crate
/// need not enable the feature.
fn device(
    function: &ItemFn,
    arguments: &[Argument],
    body: &TokenStream,
    bounds: &Bounds,
) -> TokenStream {
    let marker = bounds.marker();
    let ItemFn {
        attrs, vis, sig, ..
    } = function;
    let (name, generics, condition) = (&sig.ident, &sig.generics, &sig.generics.where_clause);
    let slices = arguments
        .iter()
        .any(|argument| matches!(argument.form, Form::Slice { .. }));
    let (parameters, body) = if slices || sig.unsafety.is_none() {
        // A function of its own preserves the aliasing guarantees of `&mut`, and is safe if the kernel is.
        let mut inner = sig.clone();
        inner.ident = format_ident!("kernel_body");
        let (parameters, values): (Vec<_>, Vec<_>) = arguments.iter().map(pass).unzip();
        let call = quote! {{
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            #inner #body
            // SAFETY: the launch passes arguments that meet the kernel's own contract.
            #[allow(unused_unsafe)]
            unsafe { kernel_body(#(#values),*) }
        }};
        (quote!(#(#parameters),*), call)
    } else {
        let parameters = sig.inputs.iter().zip(arguments).map(|(input, argument)| {
            match is_passed_as_itself(&argument.ty) {
                true => input.to_token_stream(),
                false => pass(argument).0,
            }
        });
        let taken = sig.inputs.iter().zip(arguments).map(|(input, argument)| {
            let (FnArg::Typed(typed), false) = (input, is_passed_as_itself(&argument.ty)) else {
                return TokenStream::new();
            };
            let ((pattern, ty), (_, value)) = ((&typed.pat, &typed.ty), pass(argument));
            quote!(let #pattern: #ty = #value;)
        });
        (quote!(#(#parameters),*), quote!({ #(#taken)* #body }))
    };
    quote! {
        #[cfg(target_arch = "nvptx64")]
        ::cuda_std::__ptx_entry! {
            [#(#attrs)*] [#vis] #name [#generics] [#parameters] [#condition] [#marker] #body
        }
    }
}

/// The generic function, and a PTX entry for each instance. Within an entry, the generic parameters are aliases of their
/// values, so that the types of its parameters can be copied as they are written.
fn device_instances(
    function: &ItemFn,
    arguments: &[Argument],
    body: &TokenStream,
    instances: &[Instance],
    bounds: &Bounds,
) -> TokenStream {
    let marker = bounds.marker();
    let ItemFn {
        attrs, vis, sig, ..
    } = function;
    let generic = &sig.ident;
    let (parameters, values): (Vec<_>, Vec<_>) = arguments.iter().map(pass).unzip();
    let entries = instances.iter().map(|instance| {
        let name = instance.entry(generic);
        let (aliases, values_of) = instance.aliases(&sig.generics);
        quote! {
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #(#aliases)*
                ::cuda_std::__ptx_entry! {
                    [] [pub] #name [] [#(#parameters),*] [] [#marker]
                    // SAFETY: the launch passes arguments that meet the kernel's own contract.
                    { #[allow(unused_unsafe)] unsafe { #generic::<#(#values_of),*>(#(#values),*) } }
                }
            };
        }
    });
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        #vis #sig #body
        #(#entries)*
    }
}

/// Whether an argument's type certainly needs no more alignment than a launch parameter has, which is 16 bytes; a type with a lifetime
/// cannot be asked.
fn is_passed_as_itself(ty: &Type) -> bool {
    match ty {
        Type::Paren(inner) => is_passed_as_itself(&inner.elem),
        Type::Group(inner) => is_passed_as_itself(&inner.elem),
        Type::Reference(_) | Type::Ptr(_) => true,
        Type::Path(path) => {
            let primitive = ["bool", "char", "f32", "f64"].into_iter().chain([
                "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128",
                "isize",
            ]);
            let mut names = primitive;
            names.any(|name| path.path.is_ident(name)) || has_lifetime(ty)
        }
        other => has_lifetime(other),
    }
}

fn has_lifetime(ty: &Type) -> bool {
    ty.to_token_stream().to_string().contains('\'')
}

/// The launch parameters of an argument, and the expression that makes the argument from them.
fn pass(argument: &Argument) -> (TokenStream, TokenStream) {
    let (name, ty) = (&argument.name, &argument.ty);
    let Form::Slice {
        element,
        mutable,
        kind,
    } = &argument.form
    else {
        if is_passed_as_itself(ty) {
            return (quote!(#name: #ty), quote!(#name));
        }
        let passed = quote! {
            ::cuda_std::__private::Passed<
                { ::core::mem::align_of::<#ty>() > 16 }, { ::core::mem::size_of::<#ty>() / 16 }, #ty
            >
        };
        return (
            quote!(#name: <#passed as ::cuda_std::__private::Pass>::As),
            quote!(<#passed as ::cuda_std::__private::Pass>::take(#name)),
        );
    };
    let (pointer, length) = (
        format_ident!("{name}_pointer"),
        format_ident!("{name}_length"),
    );
    let make = kind.make(*mutable);
    if !mutable && *kind != Kind::Raw {
        // A reference to no elements tells LLVM that what is read through it does not change, and nothing about how many there are.
        return (
            quote!(#pointer: &[#element; 0], #length: usize),
            quote!(#make(#pointer.as_ptr(), #length)),
        );
    }
    let to = match mutable {
        false => quote!(*const),
        true => quote!(*mut),
    };
    (
        quote!(#pointer: #to #element, #length: usize),
        quote!(#make(#pointer, #length)),
    )
}
