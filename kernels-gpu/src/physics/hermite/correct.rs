//! The corrector: the Hermite interpolation through the forces at both ends of a step.
//!
//! - [`correct`]: for a particle in a star cluster, of any order, with the higher derivatives that determine its next step
//! - [`in_steps`]: for the three bodies of a map, of order 4, with the step as the unit of time
//! - [`correction`]: for a part of the force, of order 4, in the Ahmad–Cohen scheme
//!
//! At order 4 all three give the same velocity to within rounding, and the first two the same position; the third integrates the cubic
//! acceleration once more for it. They differ in input and output, and therefore in the order of operations.

use super::{TERMS, Taylor};
use crate::physics::three_body::Relative;
use crate::{Real, Vec3};

/// Coefficients of the corrector for `D` derivatives: v₁ = v₀ + h (A₊ - c₁ h J₋ + c₂ h² S₊ - c₃ h³ C₋), where h is half the step and ±
/// denotes the sum or the difference of end and start. The position is corrected in the same way with velocity, acceleration and so
/// on.
const fn coefficients(d: usize) -> [f64; 3] {
    match d {
        2 => [1.0 / 3.0, 0.0, 0.0],
        3 => [2.0 / 5.0, 1.0 / 15.0, 0.0],
        _ => [3.0 / 7.0, 2.0 / 21.0, 1.0 / 105.0],
    }
}

/// The integral over a step of a function, given its values and derivatives at both ends.
#[inline(always)]
fn integral<R: Real, const D: usize>(start: [Vec3<R>; D], end: [Vec3<R>; D], h: R) -> Vec3<R> {
    let c = coefficients(D);
    let h2 = h * h;
    let mut sum = (end[0] + start[0]).add_scaled(R::from_f64(-c[0]) * h, end[1] - start[1]);
    if D >= 3 {
        sum = sum.add_scaled(R::from_f64(c[1]) * h2, end[2] + start[2]);
    }
    if D >= 4 {
        sum = sum.add_scaled(R::from_f64(-c[2]) * (h2 * h), end[3] - start[3]);
    }
    (sum).scaled(h)
}

/// Corrects a particle after a step of length 2 `h` = 2 / `inv_h`. Returns the corrected position and velocity, the forces `end` that
/// were evaluated there (with the predicted position and velocity), and the higher derivatives of the interpolation.
///
/// `D` is 2, 3 or 4 for order 4, 6 or 8; terms beyond order + 2 are 0.
#[inline(always)]
pub fn correct<R: Real, const D: usize>(
    start: &Taylor<R>,
    end: &[Vec3<R>; D],
    h: R,
    inv_h: R,
) -> Taylor<R> {
    let mut out = [Vec3::zero(); TERMS];
    let mut f0 = [start[2]; D];
    let mut d = 0;
    while d < D {
        f0[d] = start[2 + d];
        out[2 + d] = end[d];
        d += 1;
    }
    out[1] = start[1] + integral(f0, *end, h);
    // The derivatives of the position are the velocity and then the forces.
    let (mut x0, mut x1) = (f0, *end);
    let mut d = D - 1;
    while d > 0 {
        x0[d] = f0[d - 1];
        x1[d] = end[d - 1];
        d -= 1;
    }
    x0[0] = start[1];
    x1[0] = out[1];
    out[0] = start[0] + integral(x0, x1, h);
    higher_derivatives(&mut out, &f0, end, h, inv_h);
    out
}

/// [`correct`] at order 4 with the step as the unit of time, h = 1/2. A quantity with the value `start` at the beginning of the step
/// and with the derivatives `rate` and `second` at both ends has the value v₀ + (A₀ + A₁)/2 + (J₀ - J₁)/12 at the end.
#[inline(always)]
pub fn in_steps<R: Real>(
    start: Relative<R>,
    rate: [Relative<R>; 2],
    second: [Relative<R>; 2],
) -> Relative<R> {
    const H: f64 = 0.5;
    start
        .plus_scaled(R::constant(H), &(rate[0] + rate[1]))
        .plus_scaled(
            R::constant(H * H * coefficients(2)[0]),
            &(second[0] - second[1]),
        )
}

/// The contribution of a part of the acceleration to a motion that was predicted with this part and its first derivative at the start
/// of a step, and the part's higher derivatives at the end.
#[derive(Clone, Copy, Debug)]
pub struct Correction<R> {
    /// The term to add to the position.
    pub position: Vec3<R>,
    /// The term to add to the velocity.
    pub velocity: Vec3<R>,
    /// Second derivative of the part.
    pub snap: Vec3<R>,
    /// Third derivative of the part.
    pub crackle: Vec3<R>,
}

/// The correction that follows from the cubic through a part of the acceleration and its first derivative at both ends
/// of a step of length `dt` = 1 / `inv_dt`.
#[inline(always)]
pub fn correction<R: Real>(
    start: [Vec3<R>; 2],
    end: [Vec3<R>; 2],
    dt: R,
    inv_dt: R,
) -> Correction<R> {
    let c = R::from_f64;
    let difference = end[0] - start[0];
    let (j0, j1) = (start[1].scaled(dt), end[1].scaled(dt));
    // The derivatives at the start, times dt² and dt³.
    let second = difference
        .scaled(c(6.0))
        .add_scaled(c(-4.0), j0)
        .add_scaled(c(-2.0), j1);
    let third = (j0 + j1).scaled(c(6.0)).add_scaled(c(-12.0), difference);
    let inv2 = inv_dt * inv_dt;
    Correction {
        position: second
            .scaled(c(1.0 / 24.0))
            .add_scaled(c(1.0 / 120.0), third)
            .scaled(dt * dt),
        velocity: second
            .scaled(c(1.0 / 6.0))
            .add_scaled(c(1.0 / 24.0), third)
            .scaled(dt),
        snap: (second + third).scaled(inv2),
        crackle: third.scaled(inv2 * inv_dt),
    }
}

/// The sum of the first `D` vectors with their weights, times `k`. (Not a closure, which would not be inlined into a function that uses a
/// CPU's vector instructions.)
#[inline(always)]
fn weighted_sum<R: Real, const D: usize>(terms: [(f64, Vec3<R>); 4], k: R) -> Vec3<R> {
    let c = R::from_f64;
    let mut s = (terms[0].1).scaled(c(terms[0].0));
    s = s.add_scaled(c(terms[1].0), terms[1].1);
    if D >= 3 {
        s = s.add_scaled(c(terms[2].0), terms[2].1);
    }
    if D >= 4 {
        s = s.add_scaled(c(terms[3].0), terms[3].1);
    }
    s.scaled(k)
}

/// The derivatives, at the end of the step, of the polynomial of degree 2D - 1 through the forces at both ends. They are computed at
/// the middle of the step and then shifted by half a step.
#[inline(always)]
fn higher_derivatives<R: Real, const D: usize>(
    out: &mut Taylor<R>,
    f0: &[Vec3<R>; D],
    f1: &[Vec3<R>; D],
    h: R,
    inv_h: R,
) {
    let c = R::from_f64;
    let zero = out[TERMS - 1];
    let sum = weighted_sum::<R, D>;
    let am = f1[0] - f0[0];
    let (jm, jp) = ((f1[1] - f0[1]).scaled(h), (f1[1] + f0[1]).scaled(h));
    let h2 = h * h;
    let i2 = inv_h * inv_h;
    let i3 = i2 * inv_h;
    if D == 2 {
        let snap = sum([(0.5, jm), (0.0, zero), (0.0, zero), (0.0, zero)], i2);
        let crackle = sum([(-1.5, am), (1.5, jp), (0.0, zero), (0.0, zero)], i3);
        out[4] = snap.add_scaled(h, crackle);
        out[5] = crackle;
        return;
    }
    let (sm, sp) = ((f1[2] - f0[2]).scaled(h2), (f1[2] + f0[2]).scaled(h2));
    let i4 = i2 * i2;
    let i5 = i3 * i2;
    if D == 3 {
        let d3 = sum([(-3.75, am), (3.75, jp), (-0.75, sm), (0.0, zero)], i3);
        let d4 = sum([(-1.5, jm), (1.5, sp), (0.0, zero), (0.0, zero)], i4);
        let d5 = sum([(22.5, am), (-22.5, jp), (7.5, sm), (0.0, zero)], i5);
        out[5] = d3.add_scaled(h, d4).add_scaled(c(0.5) * h2, d5);
        out[6] = d4.add_scaled(h, d5);
        out[7] = d5;
        return;
    }
    let h3 = h2 * h;
    let (cm, cp) = ((f1[3] - f0[3]).scaled(h3), (f1[3] + f0[3]).scaled(h3));
    let i6 = i3 * i3;
    let i7 = i4 * i3;
    let d4 = sum([(-3.75, jm), (3.75, sp), (-0.75, cm), (0.0, zero)], i4);
    let d5 = sum([(78.75, am), (-78.75, jp), (30.0, sm), (-3.75, cp)], i5);
    let d6 = sum([(22.5, jm), (-22.5, sp), (7.5, cm), (0.0, zero)], i6);
    let d7 = sum([(-787.5, am), (787.5, jp), (-315.0, sm), (52.5, cp)], i7);
    let (half, sixth) = (c(0.5) * h2, c(1.0 / 6.0) * h3);
    out[6] = d4
        .add_scaled(h, d5)
        .add_scaled(half, d6)
        .add_scaled(sixth, d7);
    out[7] = d5.add_scaled(h, d6).add_scaled(half, d7);
    out[8] = d6.add_scaled(h, d7);
    out[9] = d7;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(x: f64) -> Vec3<f64> {
        Vec3 {
            x,
            y: -0.5 * x,
            z: x * x,
        }
    }

    fn near(a: Vec3<f64>, b: Vec3<f64>) {
        let d = a - b;
        assert!(d.dot(d) < 1e-28 * (1.0 + a.dot(a)), "{a:?} {b:?}");
    }

    #[test]
    fn the_correctors_of_order_4_agree() {
        let mut start = [Vec3::zero(); TERMS];
        for (k, x) in [0.3, -0.7, 1.1, 0.4].into_iter().enumerate() {
            start[k] = vector(x);
        }
        let [x0, v0, a0, j0] = [0, 1, 2, 3].map(|k| start[k]);
        let (a1, j1) = (vector(0.9), vector(-0.6));
        // A step of length 1, which is the unit of time of `in_steps`.
        let found = correct::<f64, 2>(&start, &[a1, j1], 0.5, 2.0);
        let pair = |v: Vec3<f64>| Relative { a: v, b: v };
        let velocity = in_steps(pair(v0), [pair(a0), pair(a1)], [pair(j0), pair(j1)]);
        near(velocity.b, found[1]);
        let position = in_steps(pair(x0), [pair(v0), velocity], [pair(a0), pair(a1)]);
        near(position.b, found[0]);
        let c = correction([a0, j0], [a1, j1], 1.0, 1.0);
        near((v0 + a0).add_scaled(0.5, j0) + c.velocity, found[1]);
        near(c.snap, found[4]);
        near(c.crackle, found[5]);
    }
}
