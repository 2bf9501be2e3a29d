//! Whole block steps with the stars divided among the blocks of the grid.
//!
//! A block has the bodies of a few partial sums, its class, in shared memory. It predicts them, computes these partial sums for all active
//! bodies, and folds, corrects and steps those active bodies that are its own. Then it announces when its bodies are due next, and their
//! predicted motions at that time. The next block step is at the earliest of these times, and its active bodies are those announced for
//! that time. So the grid waits twice in a block step: for the partial sums, and for what the blocks announce.
//!
//! The records in global memory change when the launch ends. Until then a block keeps the last two corrected steps of each of its bodies, because
//! the last one is not valid if the host has to choose a step.

mod memory;

use cuda_std::{GridBarrier, thread};

use super::chains::{self, Bodies, MOST_PARTS, Sums};
use super::problem::{Block, State, Steps};
use super::record::vectors_of;
use super::report::{ACTIVE, AT_END, FOR_FORCES, FOR_HOST, count_up, hand_over, tell};
use super::{Launch, Record, fold, vectors, width};
pub use memory::{MOST_STARS, shared_bytes};
use memory::{Memory, Own, WARPS, most_found};

/// Number of threads of a block.
pub const THREADS: u32 = 256;

/// Largest number of blocks, so that the lanes of a warp can look at what all of them announce.
const MOST_BLOCKS: u32 = 128;

/// Number of active bodies for each block up to which warps fold the sums, and not threads.
const BY_WARPS: u32 = 8;

/// What a lane that has corrected no star tells [`Memory::announce`]: a star that is never due.
const NONE_CORRECTED: (u32, f64) = (0, f64::INFINITY);

/// The number of blocks among which the stars are divided if so many can be resident: a power of two, and 0 if these are too few for `sums`
/// partial sums.
pub const fn blocks(sums: u32, resident: u32) -> u32 {
    let mut most = if sums < MOST_BLOCKS {
        sums
    } else {
        MOST_BLOCKS
    };
    while most > resident {
        most /= 2;
    }
    if most * MOST_PARTS < sums { 0 } else { most }
}

/// The bodies of a block step: the sources are the block's own, and all blocks have announced the active ones.
struct Agreed<'a, const P: usize> {
    memory: &'a Memory<P>,
    time: f64,
    announced: *const f64,
}

impl<A: Record<D>, const P: usize, const D: usize> Bodies<A, D> for Agreed<'_, P> {
    #[inline(always)]
    unsafe fn source(&self, k: u32, _place: u32) -> (A::Number, A::Body) {
        // SAFETY: the caller guarantees that the star exists.
        let (mass, motion) = unsafe { self.memory.stars.predicted::<D>(k, self.time) };
        A::of(mass, &motion)
    }

    #[inline(always)]
    unsafe fn locate(&self, k: u32) -> u32 {
        // SAFETY: the body has been found before a barrier.
        unsafe { u32::from(self.memory.found.get(k as usize)) }
    }

    #[inline(always)]
    unsafe fn active(&self, at: u32) -> A::Body {
        // SAFETY: the blocks have announced this body before a barrier.
        unsafe { A::read(self.announced.add(at as usize * const { width(D) })).1 }
    }
}

/// Takes block steps as [`steps`](super::steps::steps) does, with the stars divided among the blocks.
///
/// # Safety
/// The pointers must be valid as [`State`] requires, and nothing else may use their memory. There must be as many blocks as [`blocks`] says,
/// with [`THREADS`] threads and [`shared_bytes`] of shared memory; all must be resident at the same time, and all threads must call this. There
/// must be one device and one iteration.
#[inline(always)]
pub unsafe fn divided_steps<A: Record<D>, const P: usize, const D: usize>(job: &Steps, at: &State) {
    const { assert!(P == 2 * D, "order P has P / 2 forces") };
    let mut barrier = GridBarrier::new(at.control);
    let own = Own::of(&job.force);
    let components = const { 3 * D as u32 };
    let leader = thread::index_1d() == 0;
    // SAFETY: the caller guarantees the memory; a barrier separates reading the stars from their use.
    let memory = unsafe {
        let memory = Memory::<P>::of::<A, D>(&own);
        memory.load(job, at, &own);
        thread::sync_threads();
        if own.thread < 32 {
            let first = memory.first_due(&own, f64::NAN);
            memory.announce::<D>(at, &own, NONE_CORRECTED, first);
            memory.note_rest(&own, first);
        }
        barrier.wait();
        memory
    };
    // The last block step is not counted before all threads know whether it is valid: its end, and the number of its active bodies. `invalid` is its
    // end if it is not.
    let (mut next, mut total, mut invalid) = (job.time, 0u32, f64::NAN);
    let (mut time, mut number, mut taken, mut ended) = (job.time, 0, 0u64, 0);
    memory.start(&own);
    loop {
        let own = own.again();
        // SAFETY: as above.
        let memory = unsafe { Memory::<P>::of::<A, D>(&own) };
        // SAFETY: all threads of the block call it, after a barrier.
        let (first_due, due) = unsafe { memory.agree(at, &own) };
        if number > 0 {
            // A block whose steps the host has to choose announces this.
            if first_due == f64::NEG_INFINITY {
                ended = FOR_HOST;
                number -= 1;
                invalid = next;
                break;
            }
            if leader {
                // SAFETY: the logarithm is below 32.
                unsafe { count_up(at.report, ACTIVE + total.ilog2() as usize, 1) };
            }
            time = next;
            taken += total as u64;
        }
        (next, total) = (first_due, due);
        if next > job.end {
            ended = AT_END;
            break;
        }
        if number >= job.most_blocks || taken * job.bodies as u64 >= job.most_pairs {
            break;
        }
        let begun = number == 0 && job.begun.total > 0;
        // The kernel for forces also takes block steps for which there is no room.
        let too_many = total > job.room.min(const { most_found::<A, D>() });
        if (total >= job.many || too_many) && !begun {
            memory.lap(&own, 0);
            // SAFETY: no block reads announced motions before it has come to this end as well.
            unsafe {
                let active = memory.active(&own, total);
                memory.begin::<D>(job, at, &own, active, next);
                if leader {
                    hand_over(at.report, total, total);
                }
            }
            ended = FOR_FORCES;
            break;
        }
        let block = Block {
            before: time,
            time: next,
            number,
        };
        memory.lap(&own, 0);
        let by_warps = total <= BY_WARPS * own.classes;
        let sums = |by_warps| Sums::new(at.partial, components, own.classes, total, by_warps);
        if !begun {
            let launch = Launch {
                count: total,
                ..job.force
            };
            let bodies = Agreed {
                memory: &memory,
                time: next,
                announced: at.predicted,
            };
            // SAFETY: all threads of the grid call it.
            unsafe {
                chains::pull_unit::<A, _, D>(
                    &launch,
                    &own.division(total),
                    &bodies,
                    &sums(by_warps),
                    own.class,
                );
            }
        }
        let own = own.again();
        // SAFETY: as above.
        let memory = unsafe { Memory::<P>::of::<A, D>(&own) };
        let t = own.thread;
        // SAFETY: there is a number for each block.
        let start = unsafe { memory.starts.get(own.class as usize) };
        // SAFETY: the blocks have agreed.
        let active = unsafe { memory.active(&own, total) };
        // All blocks have also read what is announced before one of them announces again.
        // SAFETY: all threads of the grid call it, each with its number.
        unsafe {
            barrier.set_thread(own.thread);
            barrier.wait();
        }
        let most = if begun { THREADS } else { THREADS / components };
        let mut done = 0;
        let mut corrected = NONE_CORRECTED;
        while done < active {
            if done > 0 {
                // The folded forces are overwritten.
                thread::sync_threads();
            }
            let bodies = (active - done).min(most);
            let values = components * bodies;
            // SAFETY: the sums have been written before a barrier, and a barrier follows.
            unsafe {
                let set = |value: u32, total| memory.folded.set(value as usize, total);
                if begun {
                    // The forces are known.
                } else if by_warps {
                    let sums = sums(true);
                    let sum = |value: u32| {
                        let (body, component) = (value / components, value % components);
                        sums.by_class(component, start + done + body)
                    };
                    let each = values.div_ceil(WARPS);
                    if each <= 1 {
                        fold::by_warps::<1, _>(sum, values, own.classes, set);
                    } else if each <= 2 {
                        fold::by_warps::<2, _>(sum, values, own.classes, set);
                    } else if each <= 4 {
                        fold::by_warps::<4, _>(sum, values, own.classes, set);
                    } else {
                        fold::by_warps::<6, _>(sum, values, own.classes, set);
                    }
                } else if t < values {
                    let sums = sums(false);
                    let (component, body) = (t / bodies, t % bodies);
                    let value = body * components + component;
                    let sum = |class| *sums.number(component, class, start + done + body);
                    set(value, fold::tree(sum, own.classes));
                }
            }
            thread::sync_threads();
            memory.lap(&own, 1);
            if t < bodies {
                // SAFETY: the forces have been computed, and each thread has bodies of its own.
                unsafe {
                    let force = if begun {
                        let at_force = (start + done + t) as usize * const { 3 * D };
                        vectors::<D>(at.forces.add(at_force))
                    } else {
                        let at_force = (t * components) as usize;
                        vectors_of::<D>(|k| memory.folded.get(at_force + k))
                    };
                    let star = memory.list.get((done + t) as usize);
                    let due = memory.correct::<D>(job, at, &own, &block, star, &force);
                    corrected = (star, due);
                }
            }
            memory.lap(&own, 2);
            done += bodies;
        }
        let own = own.again();
        // SAFETY: as above.
        let memory = unsafe { Memory::<P>::of::<A, D>(&own) };
        let mut announced = f64::NAN;
        if active > 0 {
            // With few active bodies, the first warp has corrected them all.
            let is_alone = active <= most.min(32);
            if !is_alone {
                thread::sync_threads();
            }
            if t < 32 {
                // SAFETY: one warp calls it, after it has corrected all active bodies, or after a barrier.
                unsafe {
                    let rest = if is_alone {
                        memory.rest()
                    } else {
                        corrected = NONE_CORRECTED;
                        memory.first_due(&own, f64::NAN)
                    };
                    announced = memory.announce::<D>(at, &own, corrected, rest);
                }
            }
        }
        // SAFETY: all threads of the grid call it, each with its number; the stars have been corrected before a barrier.
        unsafe {
            barrier.set_thread(own.thread);
            barrier.wait_meanwhile(|| {
                if active > 0 && t < 32 {
                    memory.note_rest(&own, announced);
                }
            });
        }
        memory.lap(&own, 1);
        number += 1;
    }
    // SAFETY: all threads of the block call it, after a barrier.
    unsafe { memory.settle(job, at, &own, invalid) };
    if leader {
        // SAFETY: the report is valid.
        unsafe {
            let cycles = [0, 1, 2].map(|part| memory.laps.get(part));
            tell(at.report, time, number, taken, ended, &cycles);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::hermite::arithmetic::Plain;
    use crate::physics::summation::partial_sums::{partial_sums, terms};

    #[test]
    fn systems_of_up_to_65536_bodies_fit_into_128_blocks_of_compute_capability_9() {
        for n in [1025, 4096, 10_000, 65536] {
            let (sums, terms) = (partial_sums(n) as u32, terms(n) as u32);
            let blocks = blocks(sums, 132);
            assert_eq!(blocks, 128, "{n} bodies");
            for (order, bytes) in [
                (4, shared_bytes::<Plain<f64>, 2>(sums, terms, blocks)),
                (6, shared_bytes::<Plain<f64>, 3>(sums, terms, blocks)),
                (8, shared_bytes::<Plain<f64>, 4>(sums, terms, blocks)),
            ] {
                assert!(bytes <= 227 << 10, "{n}, order {order}: {bytes} bytes");
            }
        }
    }

    #[test]
    fn each_star_belongs_to_one_block() {
        for n in [3, 150, 1025, 16384] {
            let force = Launch {
                softening2: 0.0,
                sums: partial_sums(n) as u32,
                terms: terms(n) as u32,
                count: 0,
                first: 0,
                stride: 1,
            };
            let classes = blocks(force.sums, 132);
            let parts = force.sums / classes;
            let mut found = vec![0; (force.sums * force.terms) as usize];
            for class in 0..classes {
                let own = Own {
                    class,
                    classes,
                    parts,
                    stars: parts * force.terms,
                    thread: 0,
                };
                for star in 0..own.stars {
                    found[own.place(&force, star) as usize] += 1;
                }
            }
            assert!(found.iter().all(|n| *n == 1), "{n}: {found:?}");
        }
    }
}
