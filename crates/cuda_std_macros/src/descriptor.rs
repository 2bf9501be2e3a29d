//! The type by which the host knows a kernel: its name, its arguments and its function on the CPU.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{GenericParam, ItemFn, Lifetime, Type, TypeReference};

use crate::arguments::{Argument, Form, Kind};
use crate::options::{Bounds, Instance};

/// The descriptor of a kernel: a type with the kernel's name in camel case. (A type with the kernel's own name would clash with
/// a module of that name, from which kernels are often exported: `mod add; pub use add::add;`.) A glob import brings it into
/// the kernel's scope, so that a type of the same name in the user's code takes precedence.
pub fn descriptor(
    function: &ItemFn,
    arguments: &[Argument],
    instances: &[Instance],
    bounds: &Bounds,
) -> TokenStream {
    let max_threads = match bounds.max_threads() {
        Some(most) => quote!(::core::option::Option::Some(#most)),
        None => quote!(::core::option::Option::None),
    };
    let cluster = match bounds.cluster() {
        Some([x, y, z]) => quote!(::core::option::Option::Some([#x, #y, #z])),
        None => quote!(::core::option::Option::None),
    };
    let (vis, kernel) = (&function.vis, &function.sig.ident);
    let name = Ident::new(&camel_case(&kernel.to_string()), kernel.span());
    let module = format_ident!("__kernel_{kernel}");
    let doc = format!(
        " The kernel [`{kernel}`](fn@{kernel}) for launches by its type; see [`Kernel`](::cuda_std::Kernel)."
    );

    let parameters: Vec<&GenericParam> = (function.sig.generics.params.iter())
        .filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
        .collect();
    let (mut declared, mut bounded, mut names, mut types) = (vec![], vec![], vec![], vec![]);
    for parameter in parameters {
        match parameter {
            GenericParam::Type(ty) => {
                let (ident, bounds) = (&ty.ident, &ty.bounds);
                declared.push(quote!(#ident));
                bounded.push(quote!(#ident: #bounds));
                names.push(ident);
                types.push(ident);
            }
            GenericParam::Const(constant) => {
                let (ident, ty) = (&constant.ident, &constant.ty);
                declared.push(quote!(const #ident: #ty));
                bounded.push(quote!(const #ident: #ty));
                names.push(ident);
            }
            GenericParam::Lifetime(_) => {}
        }
    }
    let predicates = function
        .sig
        .generics
        .where_clause
        .iter()
        .flat_map(|w| &w.predicates);
    let predicates = quote!(#(#types: 'static,)* #(#predicates),*);
    let type_declared = if declared.is_empty() {
        quote!(pub enum #name {})
    } else {
        quote!(pub struct #name<#(#declared),*>(::core::marker::PhantomData<fn() -> (#(#types,)*)>);)
    };
    let (values, tuple): (Vec<Ident>, Vec<Type>) = arguments
        .iter()
        .map(|a| (a.name.clone(), passed(a)))
        .unzip();
    let calls = arguments.iter().map(unpassed);
    let pointers = arguments.iter().map(|a| pointers(a, &a.name));
    // The function is not generic, so that it is compiled once in the kernel's crate and not in every crate that launches it.
    let thread_of = |entry: &Ident, given: TokenStream| {
        let thread = format_ident!("__thread_of_{entry}");
        let function = quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            #[inline(never)]
            unsafe fn #thread(arguments: *const ()) {
                // SAFETY: the caller guarantees what `one_thread` requires.
                unsafe { ::cuda_std::emulator::one_thread::<#module::#name #given>(arguments) }
            }
        };
        let entry = entry.to_string();
        let exported = quote! {
            ::core::option::Option::Some(::cuda_std::Exported {
                name: #entry, package: ::core::env!("CARGO_PKG_NAME"), thread: #thread, max_threads: #max_threads, cluster: #cluster,
            })
        };
        (function, exported)
    };
    let (threads, found) = if instances.is_empty() {
        let (function, exported) = thread_of(kernel, TokenStream::new());
        (vec![function], exported)
    } else {
        let (functions, instances): (Vec<_>, Vec<_>) = (instances.iter())
            .map(|instance| {
                let given = &instance.arguments;
                let given = quote!(<#(#given),*>);
                let (function, exported) = thread_of(&instance.entry(kernel), given.clone());
                let instance = quote! {
                    if this == ::core::any::TypeId::of::<#module::#name #given>() {
                        return #exported;
                    }
                };
                (function, instance)
            })
            .unzip();
        let found = quote! {
            let this = ::core::any::TypeId::of::<Self>();
            #(#instances)*
            ::core::option::Option::None
        };
        (functions, found)
    };
    let safe = function.sig.unsafety.is_none().then(|| {
        let items = safe_launch(arguments);
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            #[allow(clippy::unused_unit, unused_parens, private_interfaces)]
            impl<#(#bounded),*> ::cuda_std::SafeKernel for #module::#name<#(#names),*>
            where #predicates
            {
                #items
            }
        }
    });
    let turbofish = (!names.is_empty()).then(|| quote!(::<#(#names),*>));
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc(hidden)]
        #[allow(non_snake_case, non_camel_case_types)]
        mod #module {
            #[doc = #doc]
            #[allow(dead_code, missing_debug_implementations, unreachable_pub)]
            #type_declared
        }
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_imports)]
        #vis use #module::*;
        #(#threads)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(clippy::unused_unit, unused_parens, unused_unsafe, private_interfaces)]
        impl<#(#bounded),*> ::cuda_std::Kernel for #module::#name<#(#names),*>
        where #predicates
        {
            type Arguments = (#(#tuple,)*);

            fn exported() -> ::core::option::Option<::cuda_std::Exported> {
                #found
            }

            unsafe fn call(__arguments: Self::Arguments) {
                // A parameter may have the kernel's name.
                let __kernel = #kernel #turbofish;
                let (#(#values,)*) = __arguments;
                // SAFETY: the caller guarantees what the kernel requires.
                unsafe { __kernel(#(#calls),*) }
            }

            fn each((#(#values,)*): &Self::Arguments, each: &mut dyn FnMut(*const ::core::ffi::c_void)) {
                let _ = &each;
                #(#pointers)*
            }
        }
        #safe
    }
}

/// What makes a launch of a kernel that is a safe function safe: arrays that are borrowed for it, and a check of their lengths.
fn safe_launch(arguments: &[Argument]) -> TokenStream {
    let names: Vec<&Ident> = arguments.iter().map(|argument| &argument.name).collect();
    let given = arguments.iter().map(|argument| match &argument.form {
        Form::Slice {
            element, mutable, ..
        } => {
            let mutable = mutable.then(|| quote!(mut));
            quote!(&'__launch #mutable <__Memory as ::cuda_std::Memory>::Array<#element>)
        }
        _ => passed(argument).into_token_stream(),
    });
    let checks = arguments.iter().filter_map(|argument| {
        let Form::Slice { mutable, kind, .. } = &argument.form else {
            return None;
        };
        let (name, text) = (&argument.name, argument.name.to_string());
        let slice = match mutable {
            true => quote!(slice_mut),
            false => quote!(slice),
        };
        let check = match kind {
            Kind::Share("PerBlock") => quote!(__lengths.per_block(#text, #name.length)?;),
            Kind::Share(_) => quote!(__lengths.each(#text, #name.length)?;),
            _ => TokenStream::new(),
        };
        Some(quote! {
            let #name = __memory.#slice(#text, #name)?;
            #check
        })
    });
    quote! {
        type Given<'__launch, __Memory: ::cuda_std::Memory + ?::core::marker::Sized> = (#(#given,)*);

        fn arguments<__Memory: ::cuda_std::Memory + ?::core::marker::Sized>(
            __memory: &__Memory,
            __blocks: u32,
            (#(#names,)*): Self::Given<'_, __Memory>,
        ) -> ::core::result::Result<Self::Arguments, ::cuda_std::ArgumentError> {
            #[allow(unused_mut, unused_variables)]
            let mut __lengths = ::cuda_std::Lengths::of_grid(__blocks);
            #(#checks)*
            ::core::result::Result::Ok((#(#names,)*))
        }
    }
}

/// The type in which a launch receives an argument: a pointer for a reference, pointer and length for a slice.
fn passed(argument: &Argument) -> Type {
    let mut ty = match (&argument.form, &argument.ty) {
        (
            Form::Slice {
                element, mutable, ..
            },
            _,
        ) => {
            if *mutable {
                syn::parse_quote!(::cuda_std::RawSliceMut<#element>)
            } else {
                syn::parse_quote!(::cuda_std::RawSlice<#element>)
            }
        }
        (_, ty) => match reference(ty) {
            Some(TypeReference {
                elem,
                mutability: Some(_),
                ..
            }) => syn::parse_quote!(*mut #elem),
            Some(TypeReference { elem, .. }) => syn::parse_quote!(*const #elem),
            None => ty.clone(),
        },
    };
    Static.visit_type_mut(&mut ty);
    ty
}

/// The expression that makes the kernel's argument from what the launch received.
fn unpassed(argument: &Argument) -> TokenStream {
    let name = &argument.name;
    match &argument.form {
        Form::Slice { mutable, kind, .. } => {
            let make = kind.make(*mutable);
            quote!(#make(#name.pointer, #name.length))
        }
        Form::Value | Form::Exclusive => match reference(&argument.ty) {
            Some(TypeReference {
                mutability: Some(_),
                ..
            }) => quote!(&mut *#name),
            Some(_) => quote!(&*#name),
            None => quote!(#name),
        },
    }
}

/// Passes the addresses of an argument's parts to `each`.
fn pointers(argument: &Argument, name: &Ident) -> TokenStream {
    match &argument.form {
        Form::Slice { .. } => quote! {
            each((&raw const #name.pointer).cast());
            each((&raw const #name.length).cast());
        },
        _ => quote!(each(::core::ptr::from_ref(#name).cast());),
    }
}

fn reference(ty: &Type) -> Option<&TypeReference> {
    match ty {
        Type::Paren(inner) => reference(&inner.elem),
        Type::Group(inner) => reference(&inner.elem),
        Type::Reference(reference) => Some(reference),
        _ => None,
    }
}

/// Replaces every lifetime by `'static`, because a descriptor has no lifetime parameters.
struct Static;

impl VisitMut for Static {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        lifetime.ident = Ident::new("static", lifetime.ident.span());
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        let span = reference.and_token.span;
        reference
            .lifetime
            .get_or_insert_with(|| Lifetime::new("'static", span));
        visit_mut::visit_type_reference_mut(self, reference);
    }
}

/// `nbody_kick_4` as `NbodyKick4`.
fn camel_case(name: &str) -> String {
    let mut camel = String::new();
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        camel.extend(first.chars().flat_map(char::to_uppercase));
        camel.push_str(rest);
    }
    camel
}
