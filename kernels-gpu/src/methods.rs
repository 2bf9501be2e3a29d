//! The methods that are compiled for maps: a table of quantity × precision × integrator. Each method is compiled for the CPU lanes of
//! every instruction set, for GPUs and for the emulator.
//!
//! | quantity | precision | integrators | kernels |
//! |---|---|---|---|
//! | all | `f64` | all | one |
//! | `divergence` | `f32`, `mixed` | `explicit-euler` | one |
//! | `divergence` | `double-double` | regularised ones, and those whose coefficients are powers of two or sums of few | one |
//! | `divergence` | `fast`, `fixed`, `float-float` | `explicit-euler` | two, one of them for masses that are the same for all pixels |

#[cfg(not(target_arch = "nvptx64"))]
mod host;

#[cfg(not(target_arch = "nvptx64"))]
pub use host::{Compiled, Entries, MapArguments, MapEntry, Visitor};

/// The table of methods. Calls `$callback` (the path of a macro, in braces) once for each row, with the context, the type and name of
/// a quantity, an integrator and a precision, and `uniform` if there is a kernel for masses that are the same for all pixels.
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

/// The row of a precision. It has a kernel for masses that are the same for all pixels if masses in registers would leave room for
/// fewer threads.
#[doc(hidden)]
#[macro_export]
macro_rules! methods_in_precision {
    (f32: $callback:tt $context:tt $($row:tt)*) => {
        $crate::call! { $callback $context $($row)*, }
    };
    (mixed: $callback:tt $context:tt $($row:tt)*) => {
        $crate::call! { $callback $context $($row)*, }
    };
    // Other integrators have coefficients, such as 1/6, that `f64` rounds.
    (
        double_double: $callback:tt $context:tt $quantity:ident $q:ident, ExplicitEuler explicit_euler, $precision:tt $p:ident
    ) => {
        $crate::call! { $callback $context $quantity $q, ExplicitEuler explicit_euler, $precision $p, }
        $crate::call! { $callback $context $quantity $q, SymplecticEuler symplectic_euler, $precision $p, }
        $crate::call! { $callback $context $quantity $q, Leapfrog leapfrog, $precision $p, }
        $crate::call! { $callback $context $quantity $q, VelocityVerlet velocity_verlet, $precision $p, }
        $crate::call! { $callback $context $quantity $q, AdamsBashforth2 adams_bashforth_2, $precision $p, }
        $crate::call! { $callback $context $quantity $q, Regularised2 regularised_2, $precision $p, }
        $crate::call! { $callback $context $quantity $q, Regularised6 regularised_6, $precision $p, }
        $crate::call! { $callback $context $quantity $q, Regularised8 regularised_8, $precision $p, }
    };
    ($p:ident: $callback:tt $context:tt $($row:tt)*) => {
        $crate::call! { $callback $context $($row)*, uniform }
    };
}
