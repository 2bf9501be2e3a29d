//! Two bodies: their separation, the pulls on each other, and their potential.
//!
//! With d = x_j - x_i and r² = |d|² + softening², body j of strength g = G·m pulls body i with the acceleration g r⁻³ d.
//! [`hermite::force`](super::hermite::force) has the time derivatives of this acceleration.

use super::vec3::Vec3;
use crate::number::{Real, each};

/// d = j - i and |d|² + `softening2`, in `D` dimensions (the third component is 0 in 2).
#[inline(always)]
pub fn separation<S: Real, const D: usize>(i: Vec3<S>, j: Vec3<S>, softening2: S) -> (Vec3<S>, S) {
    let d = Vec3 {
        x: j.x - i.x,
        y: j.y - i.y,
        z: if D == 3 { j.z - i.z } else { S::zero() },
    };
    (d, d.norm2_plus_in::<D>(softening2))
}

/// Adds a pull to the acceleration `a`: a += `strength` · d, where the strength is g r⁻³.
#[inline(always)]
pub fn pull<S: Real, const D: usize>(a: &mut Vec3<S>, strength: S, d: Vec3<S>) {
    *a = a.add_scaled_in::<D>(strength, d);
}

/// The potential of a body of strength `g` at a distance whose softened square is `r2`: -g r⁻¹ = -g r⁻³ r². To exclude a body's own
/// potential, pass the strength 0.
#[inline(always)]
pub fn potential<S: Real>(g: S, r2: S) -> S {
    -(g * (r2.inv_cube() * r2))
}

/// r⁻³ for the pairs of an all-pairs sum, including those of a body with itself: 0 for r² = 0, unless the softening length has a
/// floor.
#[inline(always)]
fn weights<S: Real, const K: usize>(r2: [S; K]) -> [S; K] {
    if S::HAS_SOFTENING_FLOOR {
        S::inv_cubes(r2)
    } else {
        S::inv_cubes_or_zero(r2)
    }
}

/// Visits the pairs of `K` bodies with body j, giving their number, separation and weight: one after another, or with all weights
/// computed first where that is cheaper.
macro_rules! pairs {
    ($p:ident, $j:ident, $softening2:ident, |$k:ident, $d:ident, $w:ident| $what:expr) => {
        if S::TOGETHER {
            let (mut all, mut r2) = (*$p, [$softening2; K]);
            each!(K, |k| (all[k], r2[k]) =
                separation::<S, D>($p[k], $j, $softening2));
            let weights = weights(r2);
            each!(K, |$k| {
                let ($d, $w) = (all[$k], weights[$k]);
                $what
            });
        } else {
            each!(K, |$k| {
                let (d, r2) = separation::<S, D>($p[$k], $j, $softening2);
                let [w] = weights([r2]);
                let ($d, $w) = (d, w);
                $what
            });
        }
    };
}

/// Adds the pulls of body j on `K` bodies to their sums `a`.
#[inline(always)]
pub fn one_sided<S: Real, const K: usize, const D: usize>(
    p: &[Vec3<S>; K],
    a: &mut [Vec3<S>; K],
    j: Vec3<S>,
    g_j: S,
    softening2: S,
) {
    pairs!(p, j, softening2, |k, d, w| {
        pull::<S, D>(&mut a[k], g_j * w, d);
    });
}

/// Adds the mutual pulls of body j and `K` bodies to the sums `a` of these and `a_j` of body j. `minus_g` holds the negated strengths
/// of the `K` bodies, because a vector unit would need an extra instruction for each sign.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn mutual<S: Real, const K: usize, const D: usize>(
    p: &[Vec3<S>; K],
    minus_g: &[S; K],
    a: &mut [Vec3<S>; K],
    j: Vec3<S>,
    g_j: S,
    a_j: &mut Vec3<S>,
    softening2: S,
) {
    pairs!(p, j, softening2, |k, d, w| {
        pull::<S, D>(&mut a[k], g_j * w, d);
        pull::<S, D>(a_j, minus_g[k] * w, d);
    });
}

/// Does the same as [`one_sided`] without the strength of j: the common strength of the bodies multiplies the sums later.
#[inline(always)]
pub fn one_sided_equal<S: Real, const K: usize, const D: usize>(
    p: &[Vec3<S>; K],
    a: &mut [Vec3<S>; K],
    j: Vec3<S>,
    softening2: S,
) {
    pairs!(p, j, softening2, |k, d, w| {
        pull::<S, D>(&mut a[k], w, d)
    });
}

/// Does the same as [`mutual`] without the strengths.
#[inline(always)]
pub fn mutual_equal<S: Real, const K: usize, const D: usize>(
    p: &[Vec3<S>; K],
    a: &mut [Vec3<S>; K],
    j: Vec3<S>,
    a_j: &mut Vec3<S>,
    softening2: S,
) {
    pairs!(p, j, softening2, |k, d, w| {
        pull::<S, D>(&mut a[k], w, d);
        pull::<S, D>(a_j, -w, d);
    });
}
