//! Forces between a row of bodies and a tile behind it, with each pair evaluated once. The bodies of the tile and the sums of the
//! forces on them move along the row in the order of [`kernels_gpu::physics::summation::all_pairs`].

use kernels_gpu::Vec3;
use kernels_gpu::physics::pair::{self, separation};
use kernels_gpu::physics::summation::all_pairs::partner;

use super::field::{Field, K, ROW, Sums, T, VECTORS_TOGETHER};
use super::vector::Vector;

/// Number of vectors whose pairs are evaluated together.
const GROUPS: usize = VECTORS_TOGETHER / K;

/// A copy of the bodies of a row, because vectors of planes may extend over two cache lines.
#[repr(align(64))]
pub(super) struct Row {
    p: [[f64; ROW]; 3],
    /// -G·m of the bodies, because a vector unit would need an instruction for each change of sign.
    minus_g: [f64; ROW],
}

impl Row {
    /// From body `first` on.
    #[inline(always)]
    pub(super) fn of(f: &Field<'_>, first: usize) -> Self {
        let mut p = [[0.0; ROW]; 3];
        for (p, from) in p.iter_mut().zip([f.x, f.y, f.z]) {
            p.copy_from_slice(&from[first..first + ROW]);
        }
        let mut minus_g = [0.0; ROW];
        for (m, g) in minus_g.iter_mut().zip(&f.g[first..]) {
            *m = -g;
        }
        Self { p, minus_g }
    }
}

/// The bodies of a tile with G·m and the sums of the forces on them, which move along the row: lane l holds the values of lane
/// l ⊕ [`partner`]`(s)`, except for whole vectors, which stay and are indexed.
#[repr(align(64))]
struct Travellers {
    p: [[f64; T]; 3],
    g: [f64; T],
    a: [[f64; T]; 3],
}

impl Travellers {
    /// Exchanges lanes l and l ⊕ `MASK`.
    #[inline(always)]
    fn swap<const MASK: usize, const D: usize, const EQUAL: bool>(&mut self) {
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
        if !EQUAL {
            swapped::<MASK>(&mut self.g);
        }
    }
}

/// The forces between the row and the tile from body `base` on. Those on the row are added to `a`, those on the tile are returned.
/// `EQUAL` if all bodies have the same G·m.
#[inline(always)]
pub(super) fn tile<V: Vector, const D: usize, const EQUAL: bool>(
    f: &Field<'_>,
    row: &Row,
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
    let softening2 = V::from_f64(f.softening2);
    // Some steps exchange lanes within vectors, the others only pair other vectors.
    let (lanes, vectors) = (V::LANES, T / V::LANES);
    for low in 0..lanes {
        match partner((low * vectors) as u32) ^ partner((low.max(1) - 1) as u32 * vectors as u32) {
            0 => {}
            1 => t.swap::<1, D, EQUAL>(),
            2 => t.swap::<2, D, EQUAL>(),
            3 => t.swap::<3, D, EQUAL>(),
            4 => t.swap::<4, D, EQUAL>(),
            6 => t.swap::<6, D, EQUAL>(),
            7 => t.swap::<7, D, EQUAL>(),
            _ => unreachable!("vectors have 1, 2, 4 or 8 lanes"),
        }
        for high in 0..vectors {
            let across = partner(high as u32) as usize;
            for b in (0..vectors).step_by(2 * GROUPS) {
                // Both r⁻³ are begun before one is used, so that neither waits for the other.
                let at = [(b * lanes, across), ((b + GROUPS) * lanes, across)];
                let one = meet::<V, D>(row, &t, at[0], softening2);
                let two = meet::<V, D>(row, &t, at[1], softening2);
                let begun = [V::begin(&one.r2), V::begin(&two.r2)];
                let w = V::end(&one.r2, begun[0]);
                let d = separations::<V, D>(row, &t, at[0], &one);
                pull::<V, D, EQUAL>(row, &mut t, at[0], &d, &w, a);
                let w = V::end(&two.r2, begun[1]);
                let d = separations::<V, D>(row, &t, at[1], &two);
                pull::<V, D, EQUAL>(row, &mut t, at[1], &d, &w, a);
            }
        }
    }
    match lanes {
        1 => {}
        2 => t.swap::<1, D, EQUAL>(),
        4 => t.swap::<3, D, EQUAL>(),
        8 => t.swap::<7, D, EQUAL>(),
        _ => unreachable!("vectors have 1, 2, 4 or 8 lanes"),
    }
    Sums(t.a)
}

/// Separations of pairs, and their squares.
struct Met<V> {
    d: [Vec3<V>; VECTORS_TOGETHER],
    r2: [V; VECTORS_TOGETHER],
}

/// Places in the row and in the tile of the `q`th vectors that meet: the lanes of the row from the first number on meet those of the tile
/// that are the second number across.
#[inline(always)]
fn place<V: Vector>(q: usize, (lane, across): (usize, usize)) -> (usize, usize) {
    let lane = lane + q / K * V::LANES;
    ((q % K) * T + lane, lane ^ across)
}

/// Evaluates the separations of bodies of the row in [`GROUPS`] vectors from their partners of the tile.
#[inline(always)]
fn meet<V: Vector, const D: usize>(
    row: &Row,
    t: &Travellers,
    at: (usize, usize),
    softening2: V,
) -> Met<V> {
    let mut met = Met {
        d: [Vec3::zero(); VECTORS_TOGETHER],
        r2: [softening2; VECTORS_TOGETHER],
    };
    for q in 0..VECTORS_TOGETHER {
        (met.d[q], met.r2[q]) = apart::<V, D>(row, t, place::<V>(q, at), softening2);
    }
    met
}

/// Separation of the vectors at two places, and its square.
#[inline(always)]
fn apart<V: Vector, const D: usize>(
    row: &Row,
    t: &Travellers,
    (i, j): (usize, usize),
    softening2: V,
) -> (Vec3<V>, V) {
    separation::<V, D>(
        load::<V, D, ROW>(&row.p, i),
        load::<V, D, T>(&t.p, j),
        softening2,
    )
}

/// The first `D` components of the vectors from a place on, 0 for a third one that is not among them.
#[inline(always)]
fn load<V: Vector, const D: usize, const N: usize>(from: &[[f64; N]; 3], at: usize) -> Vec3<V> {
    Vec3 {
        x: V::load(&from[0][at..]),
        y: V::load(&from[1][at..]),
        z: if D == 3 {
            V::load(&from[2][at..])
        } else {
            V::zero()
        },
    }
}

/// Puts the first `D` components of vectors to a place.
#[inline(always)]
fn store<V: Vector, const D: usize, const N: usize>(v: Vec3<V>, to: &mut [[f64; N]; 3], at: usize) {
    v.x.store(&mut to[0][at..]);
    v.y.store(&mut to[1][at..]);
    if D == 3 {
        v.z.store(&mut to[2][at..]);
    }
}

/// Separations of pairs: the stored ones, or the same numbers computed [again](Vector::SEPARATIONS_AGAIN).
#[inline(always)]
fn separations<V: Vector, const D: usize>(
    row: &Row,
    t: &Travellers,
    at: (usize, usize),
    met: &Met<V>,
) -> [Vec3<V>; VECTORS_TOGETHER] {
    let mut d = met.d;
    if V::SEPARATIONS_AGAIN {
        let row = forgotten(row);
        for (q, d) in d.iter_mut().enumerate() {
            // (The squares are not used, so the compiler removes them.)
            (*d, _) = apart::<V, D>(row, t, place::<V>(q, at), V::zero());
        }
    }
    d
}

/// The same value, hidden from the compiler, which would otherwise reuse the previous results.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block)] // Nothing is read through it there.
fn forgotten<T>(x: &T) -> &T {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut p: *const T = x;
        // SAFETY: no instruction at all; `p` stays what it is.
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) p, options(pure, nomem, nostack, preserves_flags));
            &*p
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    x
}

/// Adds the forces of pairs on both of their bodies.
#[inline(always)]
fn pull<V: Vector, const D: usize, const EQUAL: bool>(
    row: &Row,
    t: &mut Travellers,
    at: (usize, usize),
    d: &[Vec3<V>; VECTORS_TOGETHER],
    w: &[V; VECTORS_TOGETHER],
    a: &mut Sums<ROW>,
) {
    let mut on_tile = [Vec3::zero(); GROUPS];
    for (g, on_tile) in on_tile.iter_mut().enumerate() {
        let (_, j) = place::<V>(g * K, at);
        *on_tile = load::<V, D, T>(&t.a, j);
    }
    let minus_all = V::from_f64(row.minus_g[0]);
    for k in 0..K {
        for (g, on_tile) in on_tile.iter_mut().enumerate() {
            let q = g * K + k;
            let (i, j) = place::<V>(q, at);
            let minus = if EQUAL {
                minus_all * w[q]
            } else {
                V::load(&row.minus_g[i..]) * w[q]
            };
            let plus = if EQUAL {
                -minus
            } else {
                V::load(&t.g[j..]) * w[q]
            };
            let mut on_row = load::<V, D, ROW>(&a.0, i);
            pair::pull::<V, D>(on_tile, minus, d[q]);
            pair::pull::<V, D>(&mut on_row, plus, d[q]);
            store::<V, D, ROW>(on_row, &mut a.0, i);
        }
    }
    for (g, on_tile) in on_tile.iter().enumerate() {
        let (_, j) = place::<V>(g * K, at);
        store::<V, D, T>(*on_tile, &mut t.a, j);
    }
}
