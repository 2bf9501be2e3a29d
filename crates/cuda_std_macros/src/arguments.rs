//! The parameters that a kernel may have, and how they are passed from the host. The checks here are syntactic and exist for
//! the sake of their messages; the expanded code uses `cuda_std` to check the actual types.

use quote::format_ident;
use syn::visit::{self, Visit};
use syn::{Error, FnArg, Ident, Pat, Result, Signature, Type};

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
        raw: bool,
    },
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
                raw: false,
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
                raw: true,
            },
            _ => Form::Value,
        },
        Type::Slice(_) => {
            return Err(Error::new_spanned(
                ty,
                "a kernel cannot take a bare slice: pass a reference, `&[T]`",
            ));
        }
        _ => Form::Value,
    })
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
