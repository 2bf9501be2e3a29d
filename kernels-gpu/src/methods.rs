//! What is compiled for maps: the table of quantity × precision × integrator, each for CPU lanes of every instruction set, for GPUs and
//! for the emulator.
//!
//! | quantity | precision | integrators | kernels |
//! |---|---|---|---|
//! | every one | `f64` | every one | one |
//! | `divergence` | `f32`, `mixed` | `explicit-euler` | one |
//! | `divergence` | `fast`, `fixed`, `float-float` | `explicit-euler` | one, and one for masses that are the same for all pixels |

use crate::integrator::{Integrator, MapIntegrator};
use crate::number::Precision;
use crate::quantity::{self, Quantity};

/// The table of methods. Calls `$callback` (the path of a macro, in braces) once for each row: with the context, and type and name of a
/// quantity, an integrator and a precision, and `uniform` if there is a kernel for masses that are the same for all pixels.
#[macro_export]
macro_rules! methods {
    ($callback:tt $context:tt) => {
        $crate::quantities!({$crate::methods_of_all} [$callback $context]);
    };
}

/// The rows of all quantities.
#[doc(hidden)]
#[macro_export]
macro_rules! methods_of_all {
    ([$callback:tt $context:tt] $($quantity:ident $q:ident $precisions:ident,)*) => {$(
        $crate::methods_of! { $quantity $q $precisions, $callback $context }
    )*};
}

/// The rows of a quantity.
#[doc(hidden)]
#[macro_export]
macro_rules! methods_of {
    ($quantity:ident $q:ident f64, $callback:tt $context:tt) => {
        $crate::integrators!({$crate::methods_in_f64} [$callback $context $quantity $q]);
    };
    ($quantity:ident $q:ident every, $callback:tt $context:tt) => {
        $crate::methods_of! { $quantity $q f64, $callback $context }
        $crate::precisions!({$crate::methods_by_explicit_euler} [$callback $context $quantity $q]);
    };
}

/// Rows of a quantity with every integrator in `f64`.
#[doc(hidden)]
#[macro_export]
macro_rules! methods_in_f64 {
    ([$callback:tt $context:tt $quantity:ident $q:ident] $($integrator:ident $i:ident $bodies:ident,)*) => {$(
        $crate::call! { $callback $context $quantity $q, $integrator $i, {f64} f64, }
    )*};
}

/// Rows of a quantity with explicit Euler in every precision but `f64`.
#[doc(hidden)]
#[macro_export]
macro_rules! methods_by_explicit_euler {
    (
        [$callback:tt $context:tt $quantity:ident $q:ident]
        F64 {f64} f64 plain,
        $($name:ident $precision:tt $p:ident $scaling:ident,)*
    ) => {$(
        $crate::methods_in_precision! {
            $p: $callback $context $quantity $q, ExplicitEuler explicit_euler, $precision $p
        }
    )*};
}

/// The row of a precision: with a kernel for masses that are the same for all pixels, where masses in registers leave room for fewer
/// threads.
#[doc(hidden)]
#[macro_export]
macro_rules! methods_in_precision {
    (f32: $callback:tt $context:tt $($row:tt)*) => {
        $crate::call! { $callback $context $($row)*, }
    };
    (mixed: $callback:tt $context:tt $($row:tt)*) => {
        $crate::call! { $callback $context $($row)*, }
    };
    ($p:ident: $callback:tt $context:tt $($row:tt)*) => {
        $crate::call! { $callback $context $($row)*, uniform }
    };
}

/// Something that is done for a method.
pub trait Visitor<Q: Quantity> {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<P: Precision, I: MapIntegrator>(self, entries: Entries) -> Self::Output;
}

/// The names of a method's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries {
    /// That of [`map`](fn@crate::kernels::map).
    pub map: &'static str,
    /// That of [`map_uniform`](fn@crate::kernels::map_uniform), if there is one.
    pub map_uniform: Option<&'static str>,
}

/// A quantity of the table.
pub trait Compiled: Quantity {
    /// Does something for the method of this precision and integrator, given by their names; nothing if it is not in the table.
    fn with_method<V: Visitor<Self>>(
        precision: &str,
        integrator: &str,
        visitor: V,
    ) -> Option<V::Output>;

    /// Whether the method of this precision and integrator is in the table.
    fn has_method(precision: &str, integrator: &str) -> bool {
        Self::with_method(precision, integrator, Found).is_some()
    }
}

/// Does nothing.
struct Found;

impl<Q: Quantity> Visitor<Q> for Found {
    type Output = ();

    fn visit<P: Precision, I: MapIntegrator>(self, _: Entries) {}
}

/// The name of an entry that a row may have.
fn first<const N: usize>(names: [&'static str; N]) -> Option<&'static str> {
    names.first().copied()
}

macro_rules! if_it_is {
    (
        [$precision_name:ident $integrator_name:ident $visitor:ident]
        $quantity:ident $q:ident, $integrator:ident $i:ident, {$precision:ty} $p:ident,
        $($uniform:ident)?
    ) => {
        if $precision_name == <$precision as Precision>::NAME
            && $integrator_name == <crate::integrator::$integrator as Integrator>::NAME
        {
            let entries = Entries {
                map: concat!(
                    "map_",
                    stringify!($q),
                    "_",
                    stringify!($i),
                    "_",
                    stringify!($p)
                ),
                map_uniform: crate::methods::first([$(concat!(
                    "map_",
                    stringify!($uniform),
                    "_",
                    stringify!($q),
                    "_",
                    stringify!($i),
                    "_",
                    stringify!($p)
                ))?]),
            };
            return Some(
                $visitor
                    .visit::<$precision, <crate::integrator::$integrator as Integrator>::OnMaps>(
                        entries,
                    ),
            );
        }
    };
}

macro_rules! compiled {
    ([] $($quantity:ident $q:ident $precisions:ident,)*) => {$(
        impl Compiled for quantity::$quantity {
            fn with_method<V: Visitor<Self>>(
                precision: &str,
                integrator: &str,
                visitor: V,
            ) -> Option<V::Output> {
                crate::methods_of! {
                    $quantity $q $precisions, {if_it_is} [precision integrator visitor]
                }
                None
            }
        }
    )*};
}

crate::quantities!({compiled} []);
