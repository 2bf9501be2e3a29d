//! The solvers in lanes: the pulls on some bodies by all (`basic`), and those between a row and everything behind it
//! (`reduced`), in the order of [`kernels_gpu::nbody::order`].

use kernels_gpu::nbody::Scalar;
use kernels_gpu::nbody::order::{TILE, partner};
use kernels_gpu::nbody::pull::{mutual, one_sided};

use super::vector::Vector;

/// Bodies of a tile.
pub(super) const T: usize = TILE as usize;
/// Bodies of a row.
pub(super) const ROW: usize = T * K;
/// Bodies of a row over those of a tile.
const K: usize = <f64 as Scalar>::LANE_BODIES;
/// Vectors of bodies that meet another body together: enough independent work to hide the latencies of a weight, and an even number,
/// since the seeds of two fill one vector.
pub(super) const TOGETHER: usize = 4;

/// What the pulls depend on. The slices have at least n numbers, filled up to whole rows with bodies of strength 0 that
/// lie apart from each other and from all others.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub x: &'a [f64],
    pub y: &'a [f64],
    pub z: &'a [f64],
    /// G·m.
    pub g: &'a [f64],
    pub n: usize,
    pub chunk: usize,
    pub softening2: f64,
}

/// Sums of a tile or a row, a component each.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Sums<const N: usize>(pub [[f64; N]; 3]);

impl<const N: usize> Sums<N> {
    pub(super) const ZERO: Self = Self([[0.0; N]; 3]);
}

/// Vectors of bodies from `at` on.
#[inline(always)]
fn positions<V: Vector>(f: &Field<'_>, at: usize) -> [[V; 3]; TOGETHER] {
    let mut p = [[V::zero(); 3]; TOGETHER];
    for (k, p) in p.iter_mut().enumerate() {
        let at = at + k * V::WIDTH;
        *p = [
            V::load(&f.x[at..]),
            V::load(&f.y[at..]),
            V::load(&f.z[at..]),
        ];
    }
    p
}

/// The pulls by all bodies on the [`TOGETHER`] vectors of them from `i` on.
#[inline(always)]
pub(super) fn basic<V: Vector, const D: usize>(f: &Field<'_>, i: usize) -> [[V; 3]; TOGETHER] {
    let p = positions::<V>(f, i);
    let softening2 = V::splat(f.softening2);
    let mut total = [[V::zero(); 3]; TOGETHER];
    let mut start = 0;
    while start < f.n {
        let end = (start + f.chunk).min(f.n);
        let mut a = [[V::zero(); 3]; TOGETHER];
        let bodies = f.x[start..end].iter().zip(&f.y[start..end]);
        for (((&x, &y), &z), &g) in bodies.zip(&f.z[start..end]).zip(&f.g[start..end]) {
            let j = [V::splat(x), V::splat(y), V::splat(z)];
            one_sided::<V, TOGETHER, D>(&p, &mut a, &j, V::splat(g), softening2);
        }
        for (total, a) in total.iter_mut().zip(a) {
            for (total, a) in total.iter_mut().zip(a) {
                *total = *total + a;
            }
        }
        start = end;
    }
    total
}

/// The pulls between row `row` and all bodies that do not lie before it. Returns Q of the row's bodies; P of each tile
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
    let mut minus_g = [0.0; ROW];
    for (m, g) in minus_g.iter_mut().zip(&f.g[first..row_end]) {
        *m = -g;
    }
    let mut base = first;
    while base < f.n {
        let end = (base / f.chunk + 1) * f.chunk;
        let end = end.min(f.n);
        let mut a = Sums::<ROW>::ZERO;
        if base < row_end {
            within::<V, D>(f, first, base..end.min(row_end), &mut a);
            base = row_end;
        }
        while base < end {
            let sums = tile::<V, D>(f, first, &minus_g, base, &mut a);
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

/// The pulls of some bodies of the row on all of it.
#[inline(always)]
fn within<V: Vector, const D: usize>(
    f: &Field<'_>,
    first: usize,
    by: std::ops::Range<usize>,
    a: &mut Sums<ROW>,
) {
    let softening2 = V::splat(f.softening2);
    let count = (f.n - first).min(ROW);
    for i in (0..count).step_by(TOGETHER * V::WIDTH) {
        let p = positions::<V>(f, first + i);
        let mut sums = [[V::zero(); 3]; TOGETHER];
        for (k, sums) in sums.iter_mut().enumerate() {
            let at = i + k * V::WIDTH;
            *sums = [
                V::load(&a.0[0][at..]),
                V::load(&a.0[1][at..]),
                V::load(&a.0[2][at..]),
            ];
        }
        let bodies = f.x[by.clone()].iter().zip(&f.y[by.clone()]);
        let more = f.z[by.clone()].iter().zip(&f.g[by.clone()]);
        for ((&x, &y), (&z, &g)) in bodies.zip(more) {
            let j = [V::splat(x), V::splat(y), V::splat(z)];
            one_sided::<V, TOGETHER, D>(&p, &mut sums, &j, V::splat(g), softening2);
        }
        for (k, sums) in sums.into_iter().enumerate() {
            for (sums, a) in sums.into_iter().zip(&mut a.0) {
                sums.store(&mut a[i + k * V::WIDTH..]);
            }
        }
    }
}

/// A tile's bodies, their strengths and the sums of the pulls on them, as they travel: lane l holds what belongs to lane
/// l ⊕ [`partner`]`(s)`, except for whole vectors, which stay and are looked up.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Travellers {
    p: [[f64; T]; 3],
    g: [f64; T],
    a: [[f64; T]; 3],
}

impl Travellers {
    /// Exchanges lanes l and l ⊕ `MASK`.
    #[inline(always)]
    fn swap<const MASK: usize, const D: usize>(&mut self) {
        #[inline(always)]
        fn swapped<const MASK: usize>(v: &mut [f64; T]) {
            let old = *v;
            for l in 0..T {
                v[l] = old[l ^ MASK];
            }
        }
        for d in 0..D {
            swapped::<MASK>(&mut self.p[d]);
            swapped::<MASK>(&mut self.a[d]);
        }
        swapped::<MASK>(&mut self.g);
    }
}

/// The pulls between the row and a tile behind it, each pair once. Returns those on the tile.
#[inline(always)]
fn tile<V: Vector, const D: usize>(
    f: &Field<'_>,
    first: usize,
    minus_g: &[f64; ROW],
    base: usize,
    a: &mut Sums<ROW>,
) -> Sums<T> {
    let take = |from: &[f64]| -> [f64; T] {
        let mut v = [0.0; T];
        v.copy_from_slice(&from[base..base + T]);
        v
    };
    let mut t = Travellers {
        p: [take(f.x), take(f.y), take(f.z)],
        g: take(f.g),
        a: [[0.0; T]; 3],
    };
    let softening2 = V::splat(f.softening2);
    let (px, py, pz) = (
        &f.x[first..first + ROW],
        &f.y[first..first + ROW],
        &f.z[first..first + ROW],
    );
    // Steps that differ in the lanes' exchange within vectors, and those that only pair other vectors.
    let (lanes, vectors) = (V::WIDTH, T / V::WIDTH);
    for low in 0..lanes {
        match partner((low * vectors) as u32) ^ partner((low.max(1) - 1) as u32 * vectors as u32) {
            0 => {}
            2 => t.swap::<2, D>(),
            3 => t.swap::<3, D>(),
            4 => t.swap::<4, D>(),
            6 => t.swap::<6, D>(),
            7 => t.swap::<7, D>(),
            _ => unreachable!("vectors have 1, 4 or 8 lanes"),
        }
        for high in 0..vectors {
            let high = partner(high as u32) as usize / lanes;
            for b in 0..vectors {
                let (i, j) = (b * lanes, (b ^ high) * lanes);
                let body = [
                    V::load(&t.p[0][j..]),
                    V::load(&t.p[1][j..]),
                    V::load(&t.p[2][j..]),
                ];
                let mut pulled = [
                    V::load(&t.a[0][j..]),
                    V::load(&t.a[1][j..]),
                    V::load(&t.a[2][j..]),
                ];
                for first in (0..K).step_by(TOGETHER) {
                    let mut p = [[V::zero(); 3]; TOGETHER];
                    let mut strength = [V::zero(); TOGETHER];
                    let mut sums = [[V::zero(); 3]; TOGETHER];
                    for k in 0..TOGETHER {
                        let at = (first + k) * T + i;
                        p[k] = [V::load(&px[at..]), V::load(&py[at..]), V::load(&pz[at..])];
                        strength[k] = V::load(&minus_g[at..]);
                        sums[k] = [
                            V::load(&a.0[0][at..]),
                            V::load(&a.0[1][at..]),
                            V::load(&a.0[2][at..]),
                        ];
                    }
                    mutual::<V, TOGETHER, D>(
                        &p,
                        &strength,
                        &mut sums,
                        &body,
                        V::load(&t.g[j..]),
                        &mut pulled,
                        softening2,
                    );
                    for d in 0..D {
                        for (k, sums) in sums.iter().enumerate() {
                            sums[d].store(&mut a.0[d][(first + k) * T + i..]);
                        }
                    }
                }
                for (pulled, a) in pulled.iter().zip(&mut t.a).take(D) {
                    pulled.store(&mut a[j..]);
                }
            }
        }
    }
    match lanes {
        1 => {}
        4 => t.swap::<3, D>(),
        8 => t.swap::<7, D>(),
        _ => unreachable!("vectors have 1, 4 or 8 lanes"),
    }
    Sums(t.a)
}
