//! A kernel for each group of features that kernels may use. All but [`by_value`] and [`collectives`](fn@collectives) take the same arguments, and each thread writes its
//! results to words of its own, so that a GPU and the emulator can be compared word for word.
//!
//! # Parameters
//! - `seed`: the seed of the random numbers
//! - `out`: [`WORDS`] words for each thread of the grid
//! - `scratch`: [`SCRATCH`] words for the whole grid, 0 at the start
//!
//! # Thread mapping
//! A one-dimensional grid of blocks of [`BLOCK`] threads.
//!
//! # Safety
//! `out` and `scratch` must be valid for reads and writes of these words, and nothing else may use them during the launch.
#![allow(clippy::missing_safety_doc)]

mod arguments;
mod atomics;
mod collectives;
mod forms;
mod functions;
mod integers;
mod intrinsics;
mod language;
mod memory;
mod places;
mod warps;

pub use arguments::{Body, by_value};
pub use atomics::{atomics_of_floats, atomics_of_integers, atomics_of_own_memory, small_atomics};
pub use collectives::collectives;
pub use forms::{
    alignments, bits_of_floats, changed_memory, constant_arrays, divergent_flow, edges_of_numbers,
    enums, instances, negated_numbers, remainders, wide_integers,
};
pub use functions::{exact_functions, functions, functions_f32, further_functions};
pub use integers::{conversions, integers};
pub use intrinsics::{intrinsics_functions, intrinsics_integers, intrinsics_rounding};
pub use language::{
    collections, dispatch, iterators, layouts, long_sorting, slices, sorting, text,
};
pub use memory::{NUMBERS, barriers, constant_memory, shared_memory, shared_statics};
pub use places::{
    atomics_of_all_widths, linked_places, moves_between_memories, names_of_shared_arrays,
    objects_in_shared_memory, places_as_integers, places_in_structures, selected_places,
    shuffled_places, slices_of_shared_arrays, stored_places,
};
pub use warps::{shuffles, votes};

/// The kernels' types, which exist on the host.
#[cfg(not(target_arch = "nvptx64"))]
mod descriptors {
    pub use crate::arguments::ByValue;
    pub use crate::atomics::{
        AtomicsOfFloats, AtomicsOfIntegers, AtomicsOfOwnMemory, SmallAtomics,
    };
    pub use crate::collectives::Collectives;
    pub use crate::forms::{
        Alignments, BitsOfFloats, ChangedMemory, ConstantArrays, DivergentFlow, EdgesOfNumbers,
        Enums, Instances, NegatedNumbers, Remainders, WideIntegers,
    };
    pub use crate::functions::{ExactFunctions, Functions, FunctionsF32, FurtherFunctions};
    pub use crate::integers::{Conversions, Integers};
    pub use crate::intrinsics::{IntrinsicsFunctions, IntrinsicsIntegers, IntrinsicsRounding};
    pub use crate::language::{
        Collections, Dispatch, Iterators, Layouts, LongSorting, Slices, Sorting, Text,
    };
    pub use crate::memory::{Barriers, ConstantMemory, SharedMemory, SharedStatics};
    pub use crate::places::{
        AtomicsOfAllWidths, LinkedPlaces, MovesBetweenMemories, NamesOfSharedArrays,
        ObjectsInSharedMemory, PlacesAsIntegers, PlacesInStructures, SelectedPlaces,
        ShuffledPlaces, SlicesOfSharedArrays, StoredPlaces,
    };
    pub use crate::warps::{Shuffles, Votes};
}
#[cfg(not(target_arch = "nvptx64"))]
pub use descriptors::*;

/// Number of words that each thread writes.
pub const WORDS: usize = 96;
/// Number of scratch words of the whole grid.
pub const SCRATCH: usize = 64;
/// Number of threads of a block.
pub const BLOCK: u32 = 64;

/// The words to which a thread writes.
pub(crate) struct Out {
    at: *mut u64,
    used: usize,
}

impl Out {
    /// This thread's words.
    ///
    /// # Safety
    /// `out` must be as for the kernels.
    pub unsafe fn new(out: *mut u64) -> Self {
        let index = cuda_std::thread::index_1d() as usize;
        Self {
            // SAFETY: the caller guarantees the words of every thread.
            at: unsafe { out.add(index * WORDS) },
            used: 0,
        }
    }

    /// Appends a word.
    pub fn put(&mut self, word: u64) {
        assert!(self.used < WORDS);
        // SAFETY: the index is below WORDS, and only this thread uses these words.
        unsafe { *self.at.add(self.used) = word };
        self.used += 1;
    }

    /// Appends the bits of a number. All NaNs count as equal, because IEEE 754 does not define their signs and payloads.
    pub fn put_f64(&mut self, x: f64) {
        self.put(if x.is_nan() { u64::MAX } else { x.to_bits() });
    }

    /// The same as [`put_f64`](Self::put_f64) for `f32`.
    pub fn put_f32(&mut self, x: f32) {
        self.put(if x.is_nan() {
            u64::MAX
        } else {
            x.to_bits().into()
        });
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014), with a separate generator for each thread.
pub(crate) struct Random(u64);

impl Random {
    /// This thread's generator.
    pub fn new(seed: u64) -> Self {
        let index = u64::from(cuda_std::thread::index_1d());
        Self(seed ^ index.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A random integer from 0 to below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    /// A random number of any magnitude and sign, and sometimes a special value.
    pub fn any_f64(&mut self) -> f64 {
        const SPECIAL: [f64; 8] = [
            0.0,
            -0.0,
            1.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            5e-324,
            f64::MAX,
        ];
        match self.below(16) {
            0 => SPECIAL[self.below(8) as usize],
            1..8 => f64::from_bits(self.bits()),
            _ => self.moderate(),
        }
    }

    /// A random number from -32 to 32.
    pub fn moderate(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (64.0 / (1u64 << 53) as f64) - 32.0
    }

    /// A random number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}
