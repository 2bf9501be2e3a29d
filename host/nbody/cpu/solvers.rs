//! The solvers in SIMD lanes: forces of all bodies on some bodies (`basic`), and forces between a row and all bodies behind it
//! (`reduced`), in the order of [`kernels_gpu::physics::summation::all_pairs`].

use std::ops::Range;

use kernels_gpu::Vec3;
use kernels_gpu::physics::pair::{one_sided, pull, separation};

use super::field::{Field, ROW, Sums, T, VECTORS_IN_FEW_REGISTERS, VECTORS_TOGETHER};
use super::tile::{Row, tile};
use super::vector::Vector;

/// Vectors of bodies from `at` on.
#[inline(always)]
fn positions<V: Vector, const M: usize>(f: &Field<'_>, at: usize) -> [Vec3<V>; M] {
    let mut p = [Vec3::zero(); M];
    for (k, p) in p.iter_mut().enumerate() {
        let at = at + k * V::LANES;
        *p = Vec3 {
            x: V::load(&f.x[at..]),
            y: V::load(&f.y[at..]),
            z: V::load(&f.z[at..]),
        };
    }
    p
}

/// Adds the accelerations of the `M` vectors of bodies from `i` on by some bodies to `a`.
#[inline(always)]
fn pulls_by<V: Vector, const D: usize, const M: usize>(
    f: &Field<'_>,
    i: usize,
    p: &[Vec3<V>; M],
    by: Range<usize>,
    a: &mut [Vec3<V>; M],
) {
    // The range of bodies that are also among the accelerated ones.
    let own = i.clamp(by.start, by.end)..(i + M * V::LANES).clamp(by.start, by.end);
    pulls_by_others::<V, D, M>(f, p, by.start..own.start, a);
    let softening2 = V::from_f64(f.softening2);
    for j in own.clone() {
        let g = V::from_f64(f.g[j]);
        let (mut d, mut r2) = ([Vec3::zero(); M], [softening2; M]);
        for k in 0..M {
            (d[k], r2[k]) = separation::<V, D>(p[k], body(f, j), softening2);
        }
        let w = V::inv_cubes_of_some_zero(r2);
        for k in 0..M {
            pull::<V, D>(&mut a[k], g * w[k], d[k]);
        }
    }
    pulls_by_others::<V, D, M>(f, p, own.end..by.end, a);
}

/// [`pulls_by`] for bodies that are not among the accelerated ones.
#[inline(always)]
fn pulls_by_others<V: Vector, const D: usize, const M: usize>(
    f: &Field<'_>,
    p: &[Vec3<V>; M],
    by: Range<usize>,
    a: &mut [Vec3<V>; M],
) {
    let softening2 = V::from_f64(f.softening2);
    for j in by {
        one_sided::<V, M, D>(p, a, body(f, j), V::from_f64(f.g[j]), softening2);
    }
}

/// Body j in every lane.
#[inline(always)]
fn body<V: Vector>(f: &Field<'_>, j: usize) -> Vec3<V> {
    Vec3 {
        x: V::from_f64(f.x[j]),
        y: V::from_f64(f.y[j]),
        z: V::from_f64(f.z[j]),
    }
}

/// The accelerations of the `M` vectors of bodies from `i` on by all bodies.
#[inline(always)]
pub(super) fn basic<V: Vector, const D: usize, const M: usize>(
    f: &Field<'_>,
    i: usize,
) -> [Vec3<V>; M] {
    let p = positions::<V, M>(f, i);
    let mut total = [Vec3::zero(); M];
    let mut start = 0;
    while start < f.n {
        let end = (start + f.chunk).min(f.n);
        let mut a = [Vec3::zero(); M];
        pulls_by::<V, D, M>(f, i, &p, start..end, &mut a);
        for (total, a) in total.iter_mut().zip(a) {
            *total = *total + a;
        }
        start = end;
    }
    total
}

/// The forces between row `row` and all bodies that do not lie before it. Returns Q of the row's bodies; P of each tile
/// behind the row goes to `behind`, with the number of the tile's first body.
#[inline(always)]
pub(super) fn reduced<V: Vector, const D: usize>(
    f: &Field<'_>,
    row: usize,
    behind: &mut impl FnMut(usize, &Sums<T>),
) -> Sums<ROW> {
    let first = row * ROW;
    let row_end = first + ROW;
    let mut q = Sums::<ROW>::ZERO;
    let bodies = Row::of(f, first);
    let mut base = first;
    while base < f.n {
        let end = (base / f.chunk + 1) * f.chunk;
        let end = end.min(f.n);
        let mut a = Sums::<ROW>::ZERO;
        if base < row_end {
            let by = base..end.min(row_end);
            if V::FEW_REGISTERS {
                within::<V, D, VECTORS_IN_FEW_REGISTERS>(f, first, by, &mut a);
            } else {
                within::<V, D, VECTORS_TOGETHER>(f, first, by, &mut a);
            }
            base = row_end;
        }
        while base < end {
            // Padding bodies have mass 0. Without lanes to exchange, equal masses save next to nothing.
            let equal = V::LANES > 1 && f.equal && base + T <= f.n;
            // (No function pointer: it would not be inlined into a function with this instruction set.)
            let sums = if equal {
                tile::<V, D, true>(f, &bodies, base, &mut a)
            } else {
                tile::<V, D, false>(f, &bodies, base, &mut a)
            };
            behind(base, &sums);
            base += T;
        }
        for (q, a) in q.0.iter_mut().zip(&a.0) {
            for (q, a) in q.iter_mut().zip(a) {
                *q += *a;
            }
        }
    }
    q
}

/// The forces of some bodies of the row on the whole row.
#[inline(always)]
fn within<V: Vector, const D: usize, const M: usize>(
    f: &Field<'_>,
    first: usize,
    by: Range<usize>,
    a: &mut Sums<ROW>,
) {
    let count = (f.n - first).min(ROW);
    for i in (0..count).step_by(M * V::LANES) {
        let p = positions::<V, M>(f, first + i);
        let mut sums = [Vec3::zero(); M];
        for (k, sums) in sums.iter_mut().enumerate() {
            let at = i + k * V::LANES;
            *sums = Vec3 {
                x: V::load(&a.0[0][at..]),
                y: V::load(&a.0[1][at..]),
                z: V::load(&a.0[2][at..]),
            };
        }
        pulls_by::<V, D, M>(f, first + i, &p, by.clone(), &mut sums);
        for (k, sums) in sums.into_iter().enumerate() {
            for (sums, a) in [sums.x, sums.y, sums.z].into_iter().zip(&mut a.0) {
                sums.store(&mut a[i + k * V::LANES..]);
            }
        }
    }
}
