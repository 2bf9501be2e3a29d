//! Stars in shared memory.

use cuda_std::shared::SharedSlice;
use cuda_std::thread;

use super::problem::State;
use super::record::{two, vectors_of};
use super::star_width;
use crate::Vec3;
use crate::physics::hermite::predict::predict;

/// The bytes of shared memory for so many stars of order `p`.
pub(super) const fn bytes(p: usize, stars: u32) -> u32 {
    8 * star_width(p) as u32 * stars
}

/// Numbers of a star of order `p` without its mass: time and vectors. This is odd, so that the same number of stars side by side is in
/// different banks.
const fn moving_width(p: usize) -> usize {
    star_width(p) - 1
}

/// Stars of order `P` in the shared memory of a block.
#[derive(Clone, Copy)]
pub(super) struct SharedStars<const P: usize> {
    masses: SharedSlice<f64>,
    /// [`moving_width`] numbers of each star.
    moving: SharedSlice<f64>,
}

impl<const P: usize> SharedStars<P> {
    /// Room for so many stars.
    ///
    /// # Safety
    /// The launch must provide [`bytes`] of dynamic shared memory from `offset` on, a multiple of 8.
    #[inline(always)]
    pub unsafe fn dynamic(offset: usize, stars: usize) -> Self {
        let numbers = const { moving_width(P) } * stars;
        // SAFETY: the caller provides this much shared memory.
        unsafe {
            Self {
                moving: SharedSlice::dynamic(offset, numbers),
                masses: SharedSlice::dynamic(offset + 8 * numbers, stars),
            }
        }
    }

    /// Number `k` of the record of the star with this index, other than its mass.
    ///
    /// # Safety
    /// The star and the number must exist and have been set before a barrier.
    #[inline(always)]
    pub unsafe fn number(&self, star: u32, k: usize) -> f64 {
        // SAFETY: the caller guarantees this.
        unsafe { (self.moving).get(star as usize * const { moving_width(P) } + k - 1) }
    }

    /// Sets the time of a star, or one of its later numbers.
    ///
    /// # Safety
    /// The star and the number must exist, and barriers must separate this from other threads' accesses.
    #[inline(always)]
    pub unsafe fn set_number(&self, star: u32, k: usize, value: f64) {
        // SAFETY: the caller guarantees this.
        unsafe { (self.moving).set(star as usize * const { moving_width(P) } + k - 1, value) };
    }

    /// Reads so many stars from global memory, where `place_of` gives their places.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] requires, and the places those of stars. All threads of the block must call this; a barrier must
    /// follow.
    #[inline(always)]
    pub unsafe fn load(&self, at: &State, stars: u32, place_of: impl Fn(u32) -> u32) {
        let pairs = const { star_width(P) as u32 / 2 };
        let mut item = thread::thread_idx_x();
        while item < stars * pairs {
            let (star, pair) = (item / pairs, 2 * (item % pairs) as usize);
            // SAFETY: the place and the numbers are those of a star; each item belongs to one thread.
            unsafe {
                let from = at
                    .stars
                    .add(place_of(star) as usize * const { star_width(P) } + pair);
                let (a, b) = two(from);
                if pair == 0 {
                    self.masses.set(star as usize, a);
                } else {
                    self.set_number(star, pair, a);
                }
                self.set_number(star, pair + 1, b);
            }
            item += thread::block_dim_x();
        }
    }

    /// The mass of a star, and its motion at `time`.
    ///
    /// # Safety
    /// The star must exist and have been set before a barrier.
    #[inline(always)]
    pub unsafe fn predicted<const D: usize>(&self, star: u32, time: f64) -> (f64, [Vec3<f64>; D]) {
        // SAFETY: the caller guarantees this.
        let number = |k| unsafe { self.number(star, k) };
        let motion = vectors_of::<P>(|k| number(2 + k));
        // SAFETY: as above.
        let mass = unsafe { self.masses.get(star as usize) };
        (mass, predict::<f64, P, D>(&motion, time - number(1)))
    }
}
