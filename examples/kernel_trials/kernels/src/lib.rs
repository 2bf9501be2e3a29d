//! Random kernels, which the build script writes, and [`faults`], kernels with a fault each.
//!
//! # Parameters of random kernels
//! - `seed`: the seed of the random numbers
//! - `out`: [`WORDS`] words for each thread of the grid
//! - `scratch`: [`SCRATCH`] words for the whole grid, 0 at the start
//!
//! # Thread mapping
//! A one-dimensional grid of blocks of [`BLOCK`] threads, with [`DYNAMIC`] bytes of dynamic shared memory.

#[allow(clippy::all, reason = "the kernels are wrong on purpose")]
pub mod faults;

/// Number of words that each thread of a random kernel writes.
pub const WORDS: usize = 16;
/// Number of scratch words of the whole grid.
pub const SCRATCH: usize = 16;
/// Number of threads of a block.
pub const BLOCK: u32 = 64;
/// Bytes of dynamic shared memory.
pub const DYNAMIC: u32 = 8 * BLOCK;

/// The random kernels.
#[allow(
    warnings,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "nobody reads these programs; that what they do is defined is the point of the generator"
)]
pub mod random {
    use core::sync::atomic::{AtomicU64, Ordering};

    #[cfg(not(target_arch = "nvptx64"))]
    use cuda_std::Entry;
    use cuda_std::prelude::*;
    use cuda_std::shared::dynamic_shared_mem;
    use cuda_std::thread::*;
    use cuda_std::warp::*;
    use cuda_std::{collective, shared_array};

    use crate::{BLOCK, WORDS};

    include!(concat!(env!("OUT_DIR"), "/random.rs"));

    /// A random kernel on any device.
    #[cfg(not(target_arch = "nvptx64"))]
    pub type Random = Entry<(u64, *mut u64, *mut u64)>;

    /// SplitMix64 (Steele, Lea & Flood 2014), with a separate generator for each thread.
    struct Numbers(u64);

    impl Numbers {
        fn new(seed: u64) -> Self {
            Self(seed ^ u64::from(index_1d()).wrapping_mul(0x2545_f491_4f6c_dd1d))
        }

        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }

        /// A number from -32 to 32.
        fn number(&mut self) -> f64 {
            (self.bits() >> 11) as f64 * (64.0 / (1u64 << 53) as f64) - 32.0
        }
    }

    /// The words of a thread, into which any number of values go.
    struct Words([u64; WORDS], usize);

    impl Words {
        fn new() -> Self {
            Self([0; WORDS], 0)
        }

        fn put(&mut self, value: impl Bits) {
            let word = &mut self.0[self.1 % WORDS];
            *word = word.rotate_left(9) ^ value.bits();
            self.1 += 1;
        }

        unsafe fn store(self, out: *mut u64) {
            let first = index_1d() as usize * WORDS;
            for (i, word) in self.0.into_iter().enumerate() {
                unsafe { out.add(first + i).write(word) };
            }
        }
    }

    /// A value that is compared. All NaNs are equal, because IEEE 754 does not define their signs and payloads.
    trait Bits {
        fn bits(self) -> u64;
    }

    macro_rules! bits {
        ($($of:ty, |$x:ident| $bits:expr;)*) => {
            $(impl Bits for $of {
                fn bits(self) -> u64 {
                    let $x = self;
                    $bits
                }
            })*
        };
    }

    bits! {
        bool, |x| x.into();
        u8, |x| x.into();
        i8, |x| x as u64;
        u16, |x| x.into();
        i16, |x| x as u64;
        u32, |x| x.into();
        i32, |x| x as u64;
        u64, |x| x;
        i64, |x| x as u64;
        usize, |x| x as u64;
        u128, |x| x as u64 ^ (x >> 64) as u64;
        i128, |x| x as u64 ^ (x >> 64) as u64;
        f32, |x| if x.is_nan() { u64::MAX } else { x.to_bits().into() };
        f64, |x| if x.is_nan() { u64::MAX } else { x.to_bits() };
    }

    /// Gives every thread the value of another one.
    fn exchange<T: Copy + 'static>(value: T, of: u32) -> T {
        let shared = shared_array![T; BLOCK as usize];
        through(shared, value, of)
    }

    /// The same by dynamic shared memory.
    fn exchange_dynamic<T: Copy>(value: T, of: u32) -> T {
        through(dynamic_shared_mem::<T>(), value, of)
    }

    fn through<T: Copy>(shared: *mut T, value: T, of: u32) -> T {
        sync_threads();
        unsafe { shared.add(thread_idx_x() as usize).write(value) };
        sync_threads();
        unsafe { *shared.add((of % BLOCK) as usize) }
    }

    /// The result of one of several closures, which is called by its address.
    fn chosen(ways: &[&dyn Fn(u64) -> u64], which: u32, x: u64) -> u64 {
        ways[which as usize % ways.len()](x)
    }

    fn least<T: Copy + PartialOrd, const N: usize>(values: [T; N]) -> T {
        let mut least = values[0];
        for value in values {
            if value < least {
                least = value;
            }
        }
        least
    }

    fn insertion_sort<T: Copy + PartialOrd>(values: &mut [T]) {
        for i in 1..values.len() {
            let mut at = i;
            while at > 0 && values[at] < values[at - 1] {
                values.swap(at, at - 1);
                at -= 1;
            }
        }
    }
}

/// A kernel with a fault, and how it is found.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Debug)]
pub struct Seeded {
    /// The kernel, which takes three buffers and the length of the first.
    pub kernel: cuda_std::Entry<(*mut u32, *mut u32, *mut u32, u32)>,
    /// Blocks and threads of a launch.
    pub grid: (u32, u32),
    /// The lines of `faults.rs` one of which a report names, and a part of what it says.
    pub lines: &'static [(u32, &'static str)],
}

#[cfg(not(target_arch = "nvptx64"))]
include!(concat!(env!("OUT_DIR"), "/faults.rs"));
