//! The parameters that a kernel may have, and how they are passed from the host. The checks here are syntactic and exist for
//! the sake of their messages; the expanded code uses `cuda_std` to check the actual types.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::visit::{self, Visit};
use syn::{
    Error, FnArg, GenericArgument, GenericParam, Ident, Lifetime, Pat, PathArguments, Result,
    Signature, Type,
};

/// One parameter of a kernel.
pub struct Argument {
    /// Its name, or a generated one for `_`.
    pub name: Ident,
    /// Its type as written.
    pub ty: Type,
    /// The way in which it is passed.
    pub form: Form,
}

/// The way in which a parameter is passed.
pub enum Form {
    /// One launch argument, which must be `Copy`.
    Value,
    /// One launch argument that is a `&mut` reference.
    Exclusive,
    /// Two launch arguments, pointer and length. Holds the element type, and whether the kernel may write the elements.
    Slice {
        element: Box<Type>,
        mutable: bool,
        kind: Kind,
    },
}

/// What a kernel has of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A reference to a slice.
    Reference,
    /// A raw pointer to a slice.
    Raw,
    /// Elements of its own, as one of the types [`SHARES`] of `cuda_std`.
    Share(&'static str),
}

/// The types of `cuda_std` that give a thread its elements of an array, and whether it may write them.
const SHARES: [(&str, bool); 3] = [("Each", true), ("EachRef", false), ("PerBlock", true)];

impl Kind {
    /// The unsafe function that makes a kernel's argument of pointer and length.
    pub fn make(self, mutable: bool) -> TokenStream {
        match (self, mutable) {
            (Self::Reference, false) => quote!(::core::slice::from_raw_parts),
            (Self::Reference, true) => quote!(::core::slice::from_raw_parts_mut),
            (Self::Raw, false) => quote!(::core::ptr::slice_from_raw_parts),
            (Self::Raw, true) => quote!(::core::ptr::slice_from_raw_parts_mut),
            (Self::Share(name), _) => {
                let name = format_ident!("{name}");
                quote!(::cuda_std::#name::of)
            }
        }
    }
}

/// Returns the parameters of a kernel, or all errors in them.
pub fn parse(signature: &Signature) -> Result<Vec<Argument>> {
    let mut errors = Errors::default();
    if let Some(dots) = &signature.variadic {
        errors.push(Error::new_spanned(dots, "a kernel cannot be variadic"));
    }
    let mut arguments = Vec::new();
    for (index, input) in signature.inputs.iter().enumerate() {
        match input {
            FnArg::Receiver(receiver) => errors.push(Error::new_spanned(
                receiver,
                "a kernel cannot be a method: pass the value as a named parameter",
            )),
            FnArg::Typed(typed) => match argument(&typed.pat, &typed.ty, index) {
                Ok(argument) => arguments.push(argument),
                Err(error) => errors.push(error),
            },
        }
    }
    errors.finish().map(|()| arguments)
}

fn argument(pattern: &Pat, ty: &Type, index: usize) -> Result<Argument> {
    let name = match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => name.ident.clone(),
        Pat::Wild(_) => format_ident!("argument_{index}"),
        other => {
            return Err(Error::new_spanned(
                other,
                "a kernel's parameter must be a plain name: destructure it in the body",
            ));
        }
    };
    let mut check = Forbidden::default();
    check.visit_type(ty);
    check.errors.finish()?;
    let form = form(ty)?;
    Ok(Argument {
        name,
        ty: ty.clone(),
        form,
    })
}

fn form(ty: &Type) -> Result<Form> {
    Ok(match ty {
        Type::Paren(inner) => form(&inner.elem)?,
        Type::Group(inner) => form(&inner.elem)?,
        Type::Reference(reference) => match unwrapped(&reference.elem) {
            Type::Slice(slice) => Form::Slice {
                element: slice.elem.clone(),
                mutable: reference.mutability.is_some(),
                kind: Kind::Reference,
            },
            Type::Path(path) if path.path.is_ident("str") => {
                return Err(Error::new_spanned(
                    ty,
                    "a kernel cannot take `&str`: pass its bytes as `&[u8]`",
                ));
            }
            _ if reference.mutability.is_some() => Form::Exclusive,
            _ => Form::Value,
        },
        Type::Ptr(pointer) => match unwrapped(&pointer.elem) {
            Type::Slice(slice) => Form::Slice {
                element: slice.elem.clone(),
                mutable: pointer.mutability.is_some(),
                kind: Kind::Raw,
            },
            _ => Form::Value,
        },
        Type::Slice(_) => {
            return Err(Error::new_spanned(
                ty,
                "a kernel cannot take a bare slice: pass a reference, `&[T]`",
            ));
        }
        _ => share(ty).unwrap_or(Form::Value),
    })
}

/// `Each<'_, T>` and its like.
fn share(ty: &Type) -> Option<Form> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let (name, mutable) = SHARES.into_iter().find(|(name, _)| last.ident == name)?;
    let PathArguments::AngleBracketed(given) = &last.arguments else {
        return None;
    };
    let mut types = given.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    let (Some(element), None) = (types.next(), types.next()) else {
        return None;
    };
    Some(Form::Slice {
        element: Box::new(element.clone()),
        mutable,
        kind: Kind::Share(name),
    })
}

/// What a kernel that is a safe function may not have: anything by which one thread could reach another one's elements, or use an
/// argument after the launch.
pub fn check_safe(signature: &Signature, arguments: &[Argument], errors: &mut Errors) {
    for argument in arguments {
        let complaint = match (&argument.form, unwrapped(&argument.ty)) {
            (
                Form::Slice {
                    kind: Kind::Reference,
                    mutable: true,
                    ..
                },
                _,
            ) => {
                "every thread would have all of a `&mut [T]`: take `Each<'_, T>`, which has the thread's own elements, or make \
                 the kernel an `unsafe fn`"
            }
            (
                Form::Slice {
                    kind: Kind::Raw, ..
                },
                _,
            )
            | (_, Type::Ptr(_)) => {
                "nothing checks what a pointer points to: take `Each<'_, T>` or `&[T]`, or make the kernel an `unsafe fn`"
            }
            (Form::Value | Form::Exclusive, Type::Reference(_)) => {
                "nothing checks a reference to a single value: pass it by value or in a `&[T]`, or make the kernel an \
                 `unsafe fn`"
            }
            _ => {
                Lifetimes(errors).visit_type(&argument.ty);
                continue;
            }
        };
        errors.push(Error::new_spanned(&argument.ty, complaint));
    }
    for parameter in &signature.generics.params {
        if let GenericParam::Lifetime(named) = parameter {
            Lifetimes(errors).visit_lifetime(&named.lifetime);
        }
    }
}

/// Looks for lifetimes with a name, which might outlive the launch.
struct Lifetimes<'a>(&'a mut Errors);

impl<'ast> Visit<'ast> for Lifetimes<'_> {
    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "_" {
            self.0.push(Error::new_spanned(
                lifetime,
                "what a kernel takes lasts as long as its launch: write `'_`, or make the kernel an `unsafe fn`",
            ));
        }
    }
}

fn unwrapped(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => unwrapped(&inner.elem),
        Type::Group(inner) => unwrapped(&inner.elem),
        other => other,
    }
}

/// Looks for types that have no meaning on the device.
#[derive(Default)]
struct Forbidden {
    errors: Errors,
}

impl<'ast> Visit<'ast> for Forbidden {
    fn visit_type(&mut self, ty: &'ast Type) {
        let complaint = match ty {
            Type::ImplTrait(_) => {
                "a kernel cannot take `impl Trait`: its parameters have one concrete type each"
            }
            Type::TraitObject(_) => {
                "a kernel cannot take a trait object: its method table lies in the host's memory"
            }
            Type::BareFn(_) => {
                "a kernel cannot take a function pointer: it would point into the host's code"
            }
            Type::Infer(_) => "a kernel's parameter needs a written type",
            Type::Never(_) => "a kernel cannot take `!`",
            Type::Path(path) => match path
                .path
                .segments
                .last()
                .map(|last| last.ident.to_string())
                .as_deref()
            {
                Some("String") => {
                    "a kernel cannot take a `String`, which owns memory of the host: pass `&[u8]`"
                }
                Some("Vec") => {
                    "a kernel cannot take a `Vec`, which owns memory of the host: pass `&[T]` of a device buffer"
                }
                Some("Box" | "Rc" | "Arc") => {
                    "a kernel cannot take a `Box`, `Rc` or `Arc`, which owns memory of the host: pass a pointer into a device buffer"
                }
                _ => return visit::visit_type(self, ty),
            },
            _ => return visit::visit_type(self, ty),
        };
        self.errors.push(Error::new_spanned(ty, complaint));
    }
}

/// Several errors combined into one.
#[derive(Default)]
pub struct Errors(Option<Error>);

impl Errors {
    /// Adds an error.
    pub fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    /// Returns the errors, if there are any.
    pub fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
