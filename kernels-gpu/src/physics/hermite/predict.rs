//! The predictor: a particle's Taylor polynomial at a later time.

use crate::{Real, Vec3};

/// Position and its first `D` - 1 derivatives after `dt`, from the first `P` = 2 `D` terms (`P` is the order of the scheme). At order
/// 6, for example, the position uses the terms up to the crackle.
#[inline(always)]
pub fn predict<R: Real, const P: usize, const D: usize>(x: &[Vec3<R>; P], dt: R) -> [Vec3<R>; D] {
    const { assert!(P == 2 * D, "a scheme of order P predicts P / 2 vectors") };
    let mut out = [x[0]; D];
    // The factors dt / k of Horner's scheme.
    let mut by = [dt; P];
    let mut k = 2;
    while k < P {
        by[k] = dt * R::from_f64(1.0 / k as f64);
        k += 1;
    }
    let mut d = 0;
    while d < D {
        let mut sum = x[P - 1];
        let mut k = P - 1;
        while k > d {
            sum = x[k - 1].add_scaled(by[k - d], sum);
            k -= 1;
        }
        out[d] = sum;
        d += 1;
    }
    out
}
