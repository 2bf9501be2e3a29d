//! The reduced solver over all rows: in sequence, in parallel threads, and passed from rank to rank. The forces of rows on the
//! bodies behind them are added in the order of the rows, except by [`textbook`].

use super::entries::ReducedEntry;
use super::field::{Field, ROW, Sums, T};
use super::pool::{DisjointSlice, WorkerPool};

/// Bodies whose sums a thread adds up at a time.
const BLOCK: usize = 64;

/// Computes rows one after the other and adds each to the sums.
pub(super) fn serial(
    f: &Field<'_>,
    reduced: ReducedEntry,
    [ax, ay, az]: [&mut Vec<f64>; 3],
    rows: impl Iterator<Item = usize>,
) {
    for row in rows {
        let mut behind = |base: usize, sums: &Sums<T>| {
            for (a, sums) in [&mut *ax, &mut *ay, &mut *az].into_iter().zip(&sums.0) {
                for (a, sum) in a[base..base + T].iter_mut().zip(sums) {
                    *a += sum;
                }
            }
        };
        // SAFETY: a CpuEngine holds only instruction sets that the machine has.
        let q = unsafe { reduced(f, row, &mut behind) };
        for (a, q) in [&mut *ax, &mut *ay, &mut *az].into_iter().zip(&q.0) {
            // All previous rows have been added, so A is complete.
            for (a, q) in a[row * ROW..].iter_mut().zip(q) {
                *a += q;
            }
        }
    }
}

/// The forces of some consecutive rows, each in an array of its own.
pub(super) struct Rows<'a> {
    /// P: rows × 3 × padded.
    memory: &'a mut [f64],
    /// Q of each row.
    own: Vec<Sums<ROW>>,
    /// Length of a plane.
    padded: usize,
    /// The first of these rows.
    first: usize,
    count: usize,
}

impl<'a> Rows<'a> {
    /// Rows in `memory`, whose planes have `padded` numbers.
    pub(super) fn new(memory: &'a mut [f64], padded: usize) -> Self {
        let at_once = memory.len() / (3 * padded);
        Self {
            memory,
            own: vec![Sums::ZERO; at_once],
            padded,
            first: 0,
            count: 0,
        }
    }

    /// Number of rows that fit.
    pub(super) fn at_once(&self) -> usize {
        self.own.len()
    }

    /// Computes the forces between `count` rows from `first` on and all bodies behind them.
    pub(super) fn compute(
        &mut self,
        f: &Field<'_>,
        reduced: ReducedEntry,
        (first, count): (usize, usize),
        pool: &WorkerPool,
    ) {
        (self.first, self.count) = (first, count);
        let padded = self.padded;
        let p = DisjointSlice::new(self.memory);
        // As plain numbers: 3 × ROW per row.
        let q = DisjointSlice::new(flat(&mut self.own));
        pool.each(count, |index| {
            let mut behind = |base: usize, sums: &Sums<T>| {
                for (d, sums) in sums.0.iter().enumerate() {
                    // SAFETY: every row has planes of its own.
                    let to = unsafe { p.range((index * 3 + d) * padded + base, T) };
                    to.copy_from_slice(sums);
                }
            };
            // SAFETY: a CpuEngine holds only instruction sets that the machine has.
            let sums = unsafe { reduced(f, first + index, &mut behind) };
            // SAFETY: every row has its own.
            unsafe { q.range(index * 3 * ROW, 3 * ROW) }.copy_from_slice(sums.0.as_flattened());
        });
    }

    /// Adds the computed forces to the sums of the bodies from the first row on, body by body in the order of the rows. The forces of
    /// the previous rows have already been added.
    pub(super) fn add(&mut self, n: usize, sums: [&mut Vec<f64>; 3], pool: &WorkerPool) {
        let (first, count, padded) = (self.first, self.count, self.padded);
        let p = DisjointSlice::new(self.memory);
        let q = DisjointSlice::new(flat(&mut self.own));
        let out = sums.map(|a| DisjointSlice::new(a));
        let start = first * ROW / BLOCK;
        pool.each_sum(n.div_ceil(BLOCK) - start, |block| {
            let base = (start + block) * BLOCK;
            let row = base / ROW;
            for (d, out) in out.iter().enumerate() {
                // SAFETY: every block has bodies of its own.
                let a = unsafe { out.range(base, BLOCK) };
                for index in 0..count.min(row - first) {
                    // SAFETY: no thread writes any more.
                    let from = unsafe { p.range((index * 3 + d) * padded + base, BLOCK) };
                    a.iter_mut().zip(from).for_each(|(a, p)| *a += *p);
                }
                if row < first + count {
                    let at = ((row - first) * 3 + d) * ROW + base % ROW;
                    // SAFETY: as above.
                    let from = unsafe { q.range(at, BLOCK) };
                    a.iter_mut().zip(from).for_each(|(a, q)| *a += *q);
                }
            }
        });
    }
}

/// Computes rows in parallel, each in an array of its own, and then adds them up.
pub(super) fn parallel(
    f: &Field<'_>,
    reduced: ReducedEntry,
    [ax, ay, az]: [&mut Vec<f64>; 3],
    memory: &mut [f64],
    pool: &WorkerPool,
) {
    let mut part = Rows::new(memory, ax.len());
    let rows = f.n.div_ceil(ROW);
    let mut first = 0;
    while first < rows {
        let count = part.at_once().min(rows - first);
        part.compute(f, reduced, (first, count), pool);
        part.add(f.n, [&mut *ax, &mut *ay, &mut *az], pool);
        first += count;
    }
}

/// The two phases of Pacheco & Malensek (2021): every thread adds the forces of its rows to an array of its own, then the arrays
/// are added. `memory` holds
/// threads × 3 × padded numbers.
pub(super) fn textbook(
    f: &Field<'_>,
    reduced: ReducedEntry,
    sums: [&mut Vec<f64>; 3],
    memory: &mut [f64],
    pool: &WorkerPool,
) {
    let padded = sums[0].len();
    let own = DisjointSlice::new(memory);
    pool.threads_with_units(f.n.div_ceil(ROW), |thread, rows| {
        let mut planes = [0, 1, 2].map(|d| {
            // SAFETY: every thread has planes of its own.
            unsafe { own.range((3 * thread + d) * padded, padded) }
        });
        for plane in &mut planes {
            plane.fill(0.0);
        }
        for row in rows {
            let mut behind = |base: usize, sums: &Sums<T>| {
                for (plane, sums) in planes.iter_mut().zip(&sums.0) {
                    let to = plane[base..base + T].iter_mut();
                    to.zip(sums).for_each(|(a, sum)| *a += sum);
                }
            };
            // SAFETY: a CpuEngine holds only instruction sets that the machine has.
            let q = unsafe { reduced(f, row, &mut behind) };
            for (plane, q) in planes.iter_mut().zip(&q.0) {
                let to = plane[row * ROW..].iter_mut();
                to.zip(q).for_each(|(a, q)| *a += q);
            }
        }
    });
    let out = sums.map(|a| DisjointSlice::new(a));
    pool.each_sum(padded / BLOCK, |block| {
        for (d, out) in out.iter().enumerate() {
            // SAFETY: every block has bodies of its own.
            let a = unsafe { out.range(block * BLOCK, BLOCK) };
            a.fill(0.0);
            for thread in 0..pool.threads() {
                // SAFETY: no thread writes any more.
                let from = unsafe { own.range((3 * thread + d) * padded + block * BLOCK, BLOCK) };
                a.iter_mut().zip(from).for_each(|(a, p)| *a += *p);
            }
        }
    });
}

/// Sums as plain numbers.
fn flat(sums: &mut [Sums<ROW>]) -> &mut [f64] {
    const { assert!(size_of::<Sums<ROW>>() == 3 * ROW * size_of::<f64>()) };
    // SAFETY: Sums is an array of numbers without padding, as asserted.
    unsafe { std::slice::from_raw_parts_mut(sums.as_mut_ptr().cast(), sums.len() * 3 * ROW) }
}
