//! `#[gpu_only]` and `#[externally_visible]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Error, ItemFn, Meta, Result};

/// See [`macro@crate::gpu_only`].
pub fn gpu_only(item: TokenStream) -> Result<TokenStream> {
    let device: ItemFn = syn::parse2(item)?;
    let mut host = device.clone();
    host.sig.abi = None;
    let message = format!("`{}` runs on the GPU only", host.sig.ident);
    *host.block = syn::parse_quote!({ ::core::panic!(#message) });
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #device
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables, unused_mut, clippy::missing_safety_doc)]
        #host
    })
}

/// See [`macro@crate::externally_visible`].
pub fn externally_visible(item: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)?;
    if !function.attrs.iter().any(is_no_mangle) {
        return Err(Error::new_spanned(
            &function.sig,
            "an #[externally_visible] function must also be #[unsafe(no_mangle)], or other code cannot refer to it",
        ));
    }
    Ok(function.into_token_stream())
}

/// `#[no_mangle]` or `#[unsafe(no_mangle)]`.
pub fn is_no_mangle(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::Path(path) => path.is_ident("no_mangle"),
        Meta::List(list) => list.path.is_ident("unsafe") && list.tokens.to_string() == "no_mangle",
        Meta::NameValue(_) => false,
    }
}
