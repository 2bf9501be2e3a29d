//! The pull of one body on another, with its time derivatives.

use crate::{Real, Vec3};

/// The conventional number of floating-point operations for computing r⁻³ from r².
pub const OPERATIONS_OF_INVERSE_CUBE: u32 = 20;

/// The conventional number of operations per pair for `D` derivatives: 60, 97 and 144 for 2, 3 and 4. It counts [`terms`] and the
/// sums: one for a product or a sum, two for a fused multiply-add, none for a sign, and [`OPERATIONS_OF_INVERSE_CUBE`] for r⁻³.
pub const fn operations(derivatives: usize) -> u32 {
    match derivatives {
        2 => 60,
        3 => 97,
        _ => 144,
    }
}

/// a · b + `plus`, starting with `plus` and fused in every component.
#[inline(always)]
fn dot_plus<R: Real>(a: Vec3<R>, b: Vec3<R>, plus: R) -> R {
    a.z.mul_add(b.z, a.y.mul_add(b.y, a.x.mul_add(b.x, plus)))
}

/// The contribution of a pull to acceleration, jerk, snap and crackle, up to `D` (2, 3 or 4) vectors: the factor w and the vectors
/// that it multiplies. `d` holds the `D` differences j - i of position, velocity, acceleration and jerk; `r2` is the softened square
/// of the first, `inv3` is its power of -3/2, and `mass` is G·m of body j.
///
/// With r the first difference, v the second and so on, w = G·m r⁻³, α = r·v / r², β = (v² + r·a) / r² + α² and γ = (3 v·a + r·j) / r²
/// + α(3β - 4α²), the vectors are r, t₁ = v - 3α r, t₂ = a - 6α t₁ - 3β r, t₃ = j - 9α t₂ - 9β t₁ - 3γ r.
#[inline(always)]
pub fn terms<R: Real, const D: usize>(
    d: &[Vec3<R>; D],
    r2: R,
    inv3: R,
    mass: R,
) -> (R, [Vec3<R>; D]) {
    const { assert!(D >= 2 && D <= 4, "2, 3 or 4 derivatives") };
    let c = R::from_f64;
    let (r, v) = (d[0], d[1]);
    let inv1 = inv3 * r2;
    let inv2 = inv1 * inv1;
    let w = mass * inv3;
    let alpha = r.dot(v) * inv2;
    let mut t = [r; D];
    t[1] = v.add_scaled(c(-3.0) * alpha, r);
    if D >= 3 {
        let a = d[2];
        let alpha2 = alpha * alpha;
        let beta = dot_plus(r, a, v.dot(v)).mul_add(inv2, alpha2);
        let beta3 = c(-3.0) * beta;
        t[2] = a.add_scaled(c(-6.0) * alpha, t[1]).add_scaled(beta3, r);
        if D >= 4 {
            let x = dot_plus(r, d[3], c(3.0) * v.dot(a));
            let gamma = x.mul_add(inv2, -(alpha * c(4.0).mul_add(alpha2, beta3)));
            t[3] = d[3]
                .add_scaled(c(-9.0) * alpha, t[2])
                .add_scaled(c(-9.0) * beta, t[1])
                .add_scaled(c(-3.0) * gamma, r);
        }
    }
    (w, t)
}
