//! `#[kernel]`: checks the function, then writes it twice, as PTX entry and as CPU function.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, GenericParam, Ident, ItemFn, Lit, Result, ReturnType, Token, Type};

use crate::arguments::{self, Argument, Errors, Form};
use crate::markers::is_no_mangle;

/// See [`macro@crate::kernel`].
pub fn expand(hints: TokenStream, item: TokenStream) -> Result<TokenStream> {
    syn::parse::Parser::parse2(Punctuated::<Hint, Token![,]>::parse_terminated, hints)?;
    let mut function: ItemFn = syn::parse2(item)
        .map_err(|error| Error::new(error.span(), "#[kernel] goes on a function with a body"))?;
    let arguments = check(&function)?;

    function.attrs.retain(|attribute| !is_no_mangle(attribute));
    function.sig.abi = None;
    let checks: Vec<TokenStream> = arguments.iter().map(check_argument).collect();
    let statements = &function.block.stmts;
    let body = quote!({ #(#checks)* #(#statements)* });

    let device = device(&function, &arguments, &body);
    let ItemFn {
        attrs, vis, sig, ..
    } = &function;
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #device
        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #[allow(clippy::too_many_arguments)]
        #vis #sig #body
    })
}

/// Everything but the arguments' types, then those.
fn check(function: &ItemFn) -> Result<Vec<Argument>> {
    let signature = &function.sig;
    let mut errors = Errors::default();
    if signature.unsafety.is_none() {
        errors.push(Error::new_spanned(
            signature.fn_token,
            "a kernel must be an `unsafe fn`: nothing checks that its launch arguments are valid",
        ));
    }
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
                "a kernel has the calling convention of kernels: leave `extern` out (\"C\" is accepted)",
            ));
        }
    }
    for parameter in &signature.generics.params {
        if !matches!(parameter, GenericParam::Lifetime(_)) {
            errors.push(Error::new_spanned(
                parameter,
                "a kernel cannot be generic: write one kernel for each type, around a generic function",
            ));
        }
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
        Ok(arguments) => errors.finish().map(|()| arguments),
        Err(error) => {
            errors.push(error);
            errors.finish().map(|()| Vec::new())
        }
    }
}

/// Statements that refuse types which only look like a kernel argument.
fn check_argument(argument: &Argument) -> TokenStream {
    let ty = &argument.ty;
    match argument.form {
        Form::Value => quote_spanned! {ty.span()=>
            ::cuda_std::__private::assert_kernel_argument::<#ty>();
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

/// The PTX entry. The unstable calling convention is written by a macro of `cuda_std` that may use it, so
/// that the kernel's crate need not enable it.
fn device(function: &ItemFn, arguments: &[Argument], body: &TokenStream) -> TokenStream {
    let ItemFn {
        attrs, vis, sig, ..
    } = function;
    let (name, generics, condition) = (&sig.ident, &sig.generics, &sig.generics.where_clause);
    let slices = arguments
        .iter()
        .any(|argument| matches!(argument.form, Form::Slice { .. }));
    let (parameters, body) = if slices {
        // A function of its own keeps what `&mut` promises about aliasing.
        let mut inner = sig.clone();
        inner.ident = format_ident!("kernel_body");
        let (parameters, values): (Vec<_>, Vec<_>) = arguments.iter().map(pass).unzip();
        let call = quote! {{
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            #inner #body
            // SAFETY: the launch hands over what the kernel's own contract asks for.
            unsafe { kernel_body(#(#values),*) }
        }};
        (quote!(#(#parameters),*), call)
    } else {
        (sig.inputs.to_token_stream(), body.clone())
    };
    quote! {
        ::cuda_std::__ptx_entry! {
            [#(#attrs)*] [#vis] #name [#generics] [#parameters] [#condition] #body
        }
    }
}

/// The launch parameters of an argument, and the expression that makes it of them.
fn pass(argument: &Argument) -> (TokenStream, TokenStream) {
    let (name, ty) = (&argument.name, &argument.ty);
    let Form::Slice {
        element,
        mutable,
        raw,
    } = &argument.form
    else {
        return (quote!(#name: #ty), quote!(#name));
    };
    let (pointer, length) = (
        format_ident!("{name}_pointer"),
        format_ident!("{name}_length"),
    );
    let (kind, make) = match (mutable, raw) {
        (false, false) => (quote!(*const), quote!(::core::slice::from_raw_parts)),
        (true, false) => (quote!(*mut), quote!(::core::slice::from_raw_parts_mut)),
        (false, true) => (quote!(*const), quote!(::core::ptr::slice_from_raw_parts)),
        (true, true) => (quote!(*mut), quote!(::core::ptr::slice_from_raw_parts_mut)),
    };
    (
        quote!(#pointer: #kind #element, #length: usize),
        quote!(#make(#pointer, #length)),
    )
}

/// `grid_dim = 1d` and the like; a hint for another compiler, checked and dropped.
struct Hint;

impl Parse for Hint {
    fn parse(input: ParseStream) -> Result<Self> {
        let name: Ident = input.parse()?;
        if name != "grid_dim" && name != "block_dim" {
            return Err(Error::new_spanned(
                &name,
                format!("unknown hint `{name}`: #[kernel] knows `grid_dim` and `block_dim`"),
            ));
        }
        input.parse::<Token![=]>()?;
        let value: Lit = input.parse()?;
        match value
            .to_token_stream()
            .to_string()
            .to_ascii_lowercase()
            .as_str()
        {
            "1d" | "2d" | "3d" => Ok(Hint),
            other => Err(Error::new_spanned(
                &value,
                format!("`{name}` is `{other}`, but must be 1d, 2d or 3d"),
            )),
        }
    }
}
