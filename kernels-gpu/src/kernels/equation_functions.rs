//! The functions of equations as text. The kernels that are made of such equations at run time call them in the PTX of this module, so that
//! they have the bits of the CPU, which calls the same Rust.

use cuda_std::prelude::*;
use trisolar_equations::{Job, Scalar};

/// Functions of one number, which PTX calls by their name behind `equation_`.
macro_rules! functions {
    ($($name:ident $symbol:ident),*) => {$(
        #[inline(never)]
        #[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
        extern "C" fn $symbol(x: f64) -> f64 {
            Scalar::$name(x)
        }
    )*};
}
functions!(sin equation_sin, cos equation_cos, exp equation_exp, ln equation_ln, tanh equation_tanh);

#[inline(never)]
#[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
extern "C" fn equation_atan2(y: f64, x: f64) -> f64 {
    Scalar::atan2(y, x)
}

/// As [`Job::number`] for evenly distributed numbers: texts have no others, which the driver's compiler would take long for.
#[inline(never)]
#[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
extern "C" fn equation_number(job: &Job, place: u32, item: u64) -> f64 {
    (job.law(place as usize)).even_value(job.seed, job.size, place, item)
}

/// Calls all of these functions, so that its module has them.
///
/// # Parameters
/// - `numbers`: each function of `x` and `y`, then the number `place` of an item of `job`
///
/// # Thread mapping
/// One thread.
///
/// # Safety
/// `job` and `numbers` must be valid, and nothing else uses `numbers` during the launch.
#[kernel]
pub unsafe fn equation_functions(
    job: *const Job,
    place: u32,
    item: u64,
    x: f64,
    y: f64,
    numbers: *mut [f64; 7],
) {
    // SAFETY: the caller guarantees this.
    unsafe {
        *numbers = [
            equation_sin(x),
            equation_cos(x),
            equation_exp(x),
            equation_ln(x),
            equation_tanh(x),
            equation_atan2(y, x),
            equation_number(&*job, place, item),
        ];
    }
}
