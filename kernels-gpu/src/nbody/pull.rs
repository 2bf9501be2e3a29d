//! One pair of bodies: separation, weight, pulls.

use core::ops::{Add, Mul, Neg, Sub};

use crate::inv_cube::{self, ORDINARY_BASE, ORDINARY_WIDTH};
use crate::real::{fma, fma_f32};

/// A number that gravity can be computed with, or several side by side.
pub trait Pull:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// Whether [`weights`](Self::weights) of several r² at once is cheaper than one by one.
    const TOGETHER: bool;

    /// +0.
    fn zero() -> Self;

    /// `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// r⁻³ for `self` = r², but 0 for r² = 0: a body does not pull itself, nor two that are at exactly the same
    /// place each other.
    fn weight(self) -> Self;

    /// [`weight`](Self::weight) of each.
    #[inline(always)]
    fn weights<const K: usize>(r2: [Self; K]) -> [Self; K] {
        let mut w = r2;
        let mut k = 0;
        while k < K {
            w[k] = r2[k].weight();
            k += 1;
        }
        w
    }
}

/// Upper half of the bits, less the base of the ordinary range.
#[inline(always)]
fn offset(x: f64) -> u32 {
    ((x.to_bits() >> 32) as u32).wrapping_sub(ORDINARY_BASE)
}

/// The weight of an r² outside of the ordinary range.
#[cold]
fn extraordinary(r2: f64) -> f64 {
    if r2 == 0.0 {
        0.0
    } else {
        inv_cube::inv_cube(r2)
    }
}

impl Pull for f64 {
    const TOGETHER: bool = true;

    #[inline(always)]
    fn zero() -> Self {
        0.0
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        fma(self, a, b)
    }

    #[inline(always)]
    fn weight(self) -> Self {
        if offset(self) < ORDINARY_WIDTH {
            inv_cube::ordinary(self)
        } else {
            extraordinary(self)
        }
    }

    #[inline(always)]
    fn weights<const K: usize>(r2: [Self; K]) -> [Self; K] {
        // ORDINARY_WIDTH is a power of two: one offset is at or above it exactly if their union is.
        let mut union = 0;
        let mut k = 0;
        while k < K {
            union |= offset(r2[k]);
            k += 1;
        }
        let mut w = r2;
        let ordinary = union < ORDINARY_WIDTH;
        k = 0;
        if ordinary {
            while k < K {
                w[k] = inv_cube::ordinary(r2[k]);
                k += 1;
            }
        } else {
            while k < K {
                w[k] = r2[k].weight();
                k += 1;
            }
        }
        w
    }
}

/// In `f32` r² = 0 must not occur: the softening has a [floor](super::scalar::softening_floor_f32) instead.
impl Pull for f32 {
    const TOGETHER: bool = false;

    #[inline(always)]
    fn zero() -> Self {
        0.0
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        fma_f32(self, a, b)
    }

    /// From the GPU's approximate 1/√; not the same bits on every machine.
    #[inline(always)]
    fn weight(self) -> Self {
        let y = cuda_std::approx::rsqrt_f32(self);
        (y * y) * y
    }
}

/// d = j - i and |d|² + `softening2`, in `D` dimensions (the third component is 0 in 2).
#[inline(always)]
pub fn separation<S: Pull, const D: usize>(i: &[S; 3], j: &[S; 3], softening2: S) -> ([S; 3], S) {
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
pub fn add_scaled<S: Pull, const D: usize>(a: &mut [S; 3], k: S, d: &[S; 3]) {
    a[0] = k.mul_add(d[0], a[0]);
    a[1] = k.mul_add(d[1], a[1]);
    if D == 3 {
        a[2] = k.mul_add(d[2], a[2]);
    }
}

/// Most bodies that a lane or thread can hold.
pub const MOST: usize = 8;

/// Does it for each k < `K` in turn, spelled out: arrays that are indexed by k then stay in registers, whatever LLVM thinks of
/// unrolling the loop.
#[inline(always)]
pub fn each<const K: usize>(mut what: impl FnMut(usize)) {
    const { assert!(K <= MOST) };
    if K > 0 {
        what(0);
    }
    if K > 1 {
        what(1);
    }
    if K > 2 {
        what(2);
    }
    if K > 3 {
        what(3);
    }
    if K > 4 {
        what(4);
    }
    if K > 5 {
        what(5);
    }
    if K > 6 {
        what(6);
    }
    if K > 7 {
        what(7);
    }
}

/// Calls `what` with the number, separation and weight of each of `K` bodies' pairs with body j: one after the other, or with all
/// weights computed first where that is cheaper.
#[inline(always)]
fn pairs<S: Pull, const K: usize, const D: usize>(
    p: &[[S; 3]; K],
    j: &[S; 3],
    softening2: S,
    mut what: impl FnMut(usize, &[S; 3], S),
) {
    if S::TOGETHER {
        let (mut d, mut r2) = (*p, [softening2; K]);
        each::<K>(|k| (d[k], r2[k]) = separation::<S, D>(&p[k], j, softening2));
        let w = S::weights(r2);
        each::<K>(|k| what(k, &d[k], w[k]));
    } else {
        each::<K>(|k| {
            let (d, r2) = separation::<S, D>(&p[k], j, softening2);
            what(k, &d, r2.weight());
        });
    }
}

/// Body j pulls `K` bodies: their sums `a` grow.
#[inline(always)]
pub fn one_sided<S: Pull, const K: usize, const D: usize>(
    p: &[[S; 3]; K],
    a: &mut [[S; 3]; K],
    j: &[S; 3],
    g_j: S,
    softening2: S,
) {
    pairs::<S, K, D>(p, j, softening2, |k, d, w| {
        add_scaled::<S, D>(&mut a[k], g_j * w, d);
    });
}

/// Body j and `K` bodies pull each other: their sums `a` and its sum `a_j` grow. `minus_g` holds the strengths of the `K`
/// bodies, negated: a vector unit would need an instruction for each sign.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn mutual<S: Pull, const K: usize, const D: usize>(
    p: &[[S; 3]; K],
    minus_g: &[S; K],
    a: &mut [[S; 3]; K],
    j: &[S; 3],
    g_j: S,
    a_j: &mut [S; 3],
    softening2: S,
) {
    pairs::<S, K, D>(p, j, softening2, |k, d, w| {
        add_scaled::<S, D>(&mut a[k], g_j * w, d);
        add_scaled::<S, D>(a_j, minus_g[k] * w, d);
    });
}

/// [`one_sided`] without the strength of j: what bodies of equal strengths have in common is multiplied later.
#[inline(always)]
pub fn one_sided_equal<S: Pull, const K: usize, const D: usize>(
    p: &[[S; 3]; K],
    a: &mut [[S; 3]; K],
    j: &[S; 3],
    softening2: S,
) {
    pairs::<S, K, D>(p, j, softening2, |k, d, w| {
        add_scaled::<S, D>(&mut a[k], w, d)
    });
}

/// [`mutual`] without the strengths.
#[inline(always)]
pub fn mutual_equal<S: Pull, const K: usize, const D: usize>(
    p: &[[S; 3]; K],
    a: &mut [[S; 3]; K],
    j: &[S; 3],
    a_j: &mut [S; 3],
    softening2: S,
) {
    pairs::<S, K, D>(p, j, softening2, |k, d, w| {
        add_scaled::<S, D>(&mut a[k], w, d);
        add_scaled::<S, D>(a_j, -w, d);
    });
}
