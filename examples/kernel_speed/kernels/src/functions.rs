//! The GPU's fast functions of `f32`.

use cuda_std::intrinsics::{
    fast_cosf, fast_exp10f, fast_expf, fast_fdividef, fast_log2f, fast_log10f, fast_logf,
    fast_powf, fast_sinf, fast_tanf,
};
use cuda_std::prelude::*;

/// The names of the functions of [`fast_functions`], in their order.
pub const FUNCTIONS: [&str; 10] = [
    "sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10", "pow", "divide",
];

/// Computes all [`FUNCTIONS`] of x\[i\], those of two arguments of x\[i\] and y\[i\].
///
/// # Parameters
/// - `x`: n angles, n exponents, and n positive numbers
/// - `y`: n exponents of powers, which are divisors, too
/// - `results`: n numbers of each function
///
/// # Thread mapping
/// A one-dimensional grid of at least n threads.
///
/// # Safety
/// The pointers are valid for these numbers, and nothing else uses `results` during the launch.
#[kernel]
pub unsafe fn fast_functions(x: *const f32, y: *const f32, results: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    // SAFETY: i < n, and each thread writes results of its own.
    unsafe {
        let (angle, exponent, positive, y) =
            (*x.add(i), *x.add(n + i), *x.add(2 * n + i), *y.add(i));
        let all = [
            fast_sinf(angle),
            fast_cosf(angle),
            fast_tanf(angle),
            fast_expf(exponent),
            fast_exp10f(exponent),
            fast_logf(positive),
            fast_log2f(positive),
            fast_log10f(positive),
            fast_powf(positive, y),
            fast_fdividef(positive, y),
        ];
        cuda_std::unroll!(for f in 0..10 {
            *results.add(f * n + i) = all[f];
        });
    }
}
