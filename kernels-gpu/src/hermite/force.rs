//! The pull of one body on another with its time derivatives.

use crate::{Real, Vec3};

/// Floating-point operations that r⁻³ from r² counts as.
pub const OPERATIONS_OF_INVERSE_CUBE: u32 = 20;

/// Operations a pair counts as, for `D` derivatives: 60, 97 and 144 for 2, 3 and 4. What [`pair`] does, with a
/// product or a sum counted as one, a fused multiply-add as two, a sign as none and r⁻³ as
/// [`OPERATIONS_OF_INVERSE_CUBE`].
pub const fn operations(derivatives: usize) -> u32 {
    match derivatives {
        2 => 60,
        3 => 97,
        _ => 144,
    }
}

/// Added to the softening length squared where that is 0: a body's pull on itself then vanishes like all others at
/// distance 0, without a comparison in the loop. No distance above 1e-22 feels it.
pub const SELF_SOFTENING2: f64 = 6.223_015_277_861_142e-61;

/// Softening length squared as [`pair`] needs it.
pub fn softening2(softening: f64) -> f64 {
    if softening == 0.0 {
        SELF_SOFTENING2
    } else {
        softening * softening
    }
}

/// a · b + `plus`, fused from the first component on.
#[inline(always)]
fn dot_plus<R: Real>(a: Vec3<R>, b: Vec3<R>, plus: R) -> R {
    a.z.mul_add(b.z, a.y.mul_add(b.y, a.x.mul_add(b.x, plus)))
}

/// a · b.
#[inline(always)]
fn dot<R: Real>(a: Vec3<R>, b: Vec3<R>) -> R {
    a.z.mul_add(b.z, a.y.mul_add(b.y, a.x * b.x))
}

/// Adds the pull of body j (of G·m = `mass`) on body i to `sum`: acceleration, jerk, snap, crackle as far as `D` (2,
/// 3 or 4) goes. `i` and `j` are position, velocity, acceleration and jerk, as many of them.
///
/// With r = r_j - r_i and so on, w = G·m r⁻³, α = r·v / r², β = (v² + r·a) / r² + α² and
/// γ = (3 v·a + r·j) / r² + α(3β - 4α²), the terms are w times
/// r, t₁ = v - 3α r, t₂ = a - 6α t₁ - 3β r, t₃ = j - 9α t₂ - 9β t₁ - 3γ r.
/// r² is softened throughout.
#[inline(always)]
pub fn pair<R: Real, const D: usize>(
    i: &[Vec3<R>; D],
    j: &[Vec3<R>; D],
    mass: R,
    softening2: R,
    sum: &mut [Vec3<R>; D],
) {
    const { assert!(D >= 2 && D <= 4, "2, 3 or 4 derivatives") };
    let c = R::from_f64;
    let r = j[0] - i[0];
    let v = j[1] - i[1];
    let r2 = r.norm2_plus(softening2);
    let inv3 = r2.inv_cube();
    let inv1 = inv3 * r2;
    let inv2 = inv1 * inv1;
    let w = mass * inv3;
    let alpha = dot(r, v) * inv2;
    let t1 = v.add_scaled(c(-3.0) * alpha, r);
    sum[0] = sum[0].add_scaled(w, r);
    sum[1] = sum[1].add_scaled(w, t1);
    if D >= 3 {
        let a = j[2] - i[2];
        let alpha2 = alpha * alpha;
        let beta = dot_plus(r, a, dot(v, v)).mul_add(inv2, alpha2);
        let beta3 = c(-3.0) * beta;
        let t2 = a.add_scaled(c(-6.0) * alpha, t1).add_scaled(beta3, r);
        sum[2] = sum[2].add_scaled(w, t2);
        if D >= 4 {
            let jerk = j[3] - i[3];
            let x = dot_plus(r, jerk, c(3.0) * dot(v, a));
            let gamma = x.mul_add(inv2, -(alpha * c(4.0).mul_add(alpha2, beta3)));
            let t3 = jerk
                .add_scaled(c(-9.0) * alpha, t2)
                .add_scaled(c(-9.0) * beta, t1)
                .add_scaled(c(-3.0) * gamma, r);
            sum[3] = sum[3].add_scaled(w, t3);
        }
    }
}

/// Potential at `i` of a body at `j` with G·m = `mass`, below 0. For a body's potential of itself give the mass 0.
#[inline(always)]
pub fn potential<R: Real>(i: Vec3<R>, j: Vec3<R>, mass: R, softening2: R) -> R {
    let r2 = (j - i).norm2_plus(softening2);
    -(mass * (r2.inv_cube() * r2))
}
