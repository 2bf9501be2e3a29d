//! One pair of bodies: separation, weight, pulls.

use crate::number::{Real, each};

/// r⁻³ for the pairs of an all-pairs sum, among which are a body and itself: 0 for r² = 0, unless the softening length has a floor.
#[inline(always)]
fn weights<S: Real, const K: usize>(r2: [S; K]) -> [S; K] {
    if S::HAS_SOFTENING_FLOOR {
        S::inv_cubes(r2)
    } else {
        S::inv_cubes_or_zero(r2)
    }
}

/// d = j - i and |d|² + `softening2`, in `D` dimensions (the third component is 0 in 2).
#[inline(always)]
pub fn separation<S: Real, const D: usize>(i: &[S; 3], j: &[S; 3], softening2: S) -> ([S; 3], S) {
    let mut d = [j[0] - i[0], j[1] - i[1], S::zero()];
    let mut r2 = d[1].mul_add(d[1], d[0].mul_add(d[0], softening2));
    if D == 3 {
        d[2] = j[2] - i[2];
        r2 = d[2].mul_add(d[2], r2);
    }
    (d, r2)
}

/// a += k · d, fused.
#[inline(always)]
pub fn add_scaled<S: Real, const D: usize>(a: &mut [S; 3], k: S, d: &[S; 3]) {
    a[0] = k.mul_add(d[0], a[0]);
    a[1] = k.mul_add(d[1], a[1]);
    if D == 3 {
        a[2] = k.mul_add(d[2], a[2]);
    }
}

/// Goes through the pairs of `K` bodies with body j, with their number, separation and weight: one after the other, or with all
/// weights computed first where that is cheaper.
macro_rules! pairs {
    ($p:ident, $j:ident, $softening2:ident, |$k:ident, $d:ident, $w:ident| $what:expr) => {
        if S::TOGETHER {
            let (mut all, mut r2) = (*$p, [$softening2; K]);
            each!(K, |k| (all[k], r2[k]) =
                separation::<S, D>(&$p[k], $j, $softening2));
            let weights = weights(r2);
            each!(K, |$k| {
                let ($d, $w) = (&all[$k], weights[$k]);
                $what
            });
        } else {
            each!(K, |$k| {
                let (d, r2) = separation::<S, D>(&$p[$k], $j, $softening2);
                let [w] = weights([r2]);
                let ($d, $w) = (&d, w);
                $what
            });
        }
    };
}

/// Body j pulls `K` bodies: their sums `a` grow.
#[inline(always)]
pub fn one_sided<S: Real, const K: usize, const D: usize>(
    p: &[[S; 3]; K],
    a: &mut [[S; 3]; K],
    j: &[S; 3],
    g_j: S,
    softening2: S,
) {
    pairs!(p, j, softening2, |k, d, w| {
        add_scaled::<S, D>(&mut a[k], g_j * w, d);
    });
}

/// Body j and `K` bodies pull each other: their sums `a` and its sum `a_j` grow. `minus_g` holds the strengths of the `K`
/// bodies, negated: a vector unit would need an instruction for each sign.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn mutual<S: Real, const K: usize, const D: usize>(
    p: &[[S; 3]; K],
    minus_g: &[S; K],
    a: &mut [[S; 3]; K],
    j: &[S; 3],
    g_j: S,
    a_j: &mut [S; 3],
    softening2: S,
) {
    pairs!(p, j, softening2, |k, d, w| {
        add_scaled::<S, D>(&mut a[k], g_j * w, d);
        add_scaled::<S, D>(a_j, minus_g[k] * w, d);
    });
}

/// [`one_sided`] without the strength of j: what bodies of equal strengths have in common is multiplied later.
#[inline(always)]
pub fn one_sided_equal<S: Real, const K: usize, const D: usize>(
    p: &[[S; 3]; K],
    a: &mut [[S; 3]; K],
    j: &[S; 3],
    softening2: S,
) {
    pairs!(p, j, softening2, |k, d, w| {
        add_scaled::<S, D>(&mut a[k], w, d)
    });
}

/// [`mutual`] without the strengths.
#[inline(always)]
pub fn mutual_equal<S: Real, const K: usize, const D: usize>(
    p: &[[S; 3]; K],
    a: &mut [[S; 3]; K],
    j: &[S; 3],
    a_j: &mut [S; 3],
    softening2: S,
) {
    pairs!(p, j, softening2, |k, d, w| {
        add_scaled::<S, D>(&mut a[k], w, d);
        add_scaled::<S, D>(a_j, -w, d);
    });
}
