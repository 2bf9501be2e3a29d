//! Copies of whole tiles of an array in one to three dimensions between global and shared memory, which one thread starts for its block: the
//! tensor memory accelerator (TMA).
//!
//! The host makes a [`TensorMap`] of an array in global memory (`Buffer::tensor_map` of `trisolar-device`) and passes its address. A kernel
//! calls [`acquire`] once in each thread that uses a map, and then copies tiles: [`load`] to shared memory, with an [`mbarrier`](crate::mbarrier) that
//! counts its bytes, and [`store`] back, in groups that the thread waits for. Elements beyond the array are read as zeros and not written;
//! the bytes of a whole tile arrive in any case. A tile may begin anywhere, also before the array, but along the first dimension at a multiple of
//! 16 bytes: otherwise an H200 ends the launch with an illegal instruction, and the emulator with a message.
//!
//! In the emulator the bytes of a load move when a thread asks for the end of the barrier's phase, and those of a store at the wait for its
//! group. Needs compute capability 9.0, and a driver for CUDA 12.3 or later.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::tensor::{self, TensorMap, Tile, Tiles};
//! use cuda_std::{mbarrier, shared_array};
//!
//! /// Copies a tile of 2 rows and 4 columns to the place of another one.
//! /// # Safety
//! /// The map is that of an array that nothing else uses; one thread.
//! #[kernel]
//! pub unsafe fn move_tile(map: *const TensorMap<f32, 2>, from: i32, to: i32) {
//!     let tile = shared_array![Tile<f32, 8>; 1].cast::<f32>();
//!     let barrier = shared_array![u64; 1];
//!     // SAFETY: the tile has room for 8 numbers, and the copies are waited for.
//!     unsafe {
//!         mbarrier::init(barrier, 1);
//!         mbarrier::fence_init();
//!         tensor::acquire(map);
//!         mbarrier::arrive_expect(barrier, 32);
//!         tensor::load(tile, map, [0, from], barrier);
//!         mbarrier::wait(barrier, 0);
//!         tensor::fence_shared();
//!         tensor::store(map, [0, to], tile);
//!         tensor::commit();
//!         tensor::wait::<0>();
//!     }
//! }
//!
//! // 3 rows of 4 numbers.
//! let mut data: Vec<f32> = (0..12).map(|i| i as f32).collect();
//! let tiles = Tiles { shape: [4, 3], strides: [1, 4], tile: [4, 2] };
//! let map = TensorMap::<f32, 2>::emulated(data.as_mut_ptr(), &tiles);
//! let map = &raw const map;
//! // SAFETY: the map is that of `data`.
//! unsafe { cuda_std::emulator::launch(1, 1, 0, || move_tile(map, 0, 2)) }.unwrap();
//! // The first row went to the last one, and the second one beyond the array.
//! assert_eq!(data[8..], [0.0, 1.0, 2.0, 3.0]);
//! ```

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use core::fmt;
use core::marker::PhantomData;

use crate::Plain;
#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::{BulkCopy, Copy as Bytes, current};

/// An array in `D` dimensions, 1 to 3, the fastest one first, and the tiles in which it is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles<const D: usize> {
    /// Number of elements along each dimension.
    pub shape: [u64; D],
    /// Distance of neighbours along each dimension (elements); the first one is 1.
    pub strides: [u64; D],
    /// Number of elements of a tile along each dimension.
    pub tile: [u32; D],
}

impl<const D: usize> Tiles<D> {
    /// Tiles of an array without gaps.
    #[must_use]
    pub fn packed(shape: [u64; D], tile: [u32; D]) -> Self {
        let mut strides = [1; D];
        for k in 1..D {
            strides[k] = strides[k - 1] * shape[k - 1];
        }
        Self {
            shape,
            strides,
            tile,
        }
    }

    /// Number of elements of a tile.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.tile.iter().map(|n| *n as usize).product()
    }

    /// Number of elements from the first one of the array to the last one.
    #[must_use]
    pub fn span(&self) -> u64 {
        let last = |k: usize| (self.shape[k] - 1) * self.strides[k];
        (0..D).map(last).sum::<u64>() + 1
    }

    /// What the hardware does not copy, for elements of `bytes` bytes; `None` if it copies these tiles.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn problem(&self, bytes: usize) -> Option<String> {
        let Self {
            shape,
            strides,
            tile,
        } = self;
        if !(1..=3).contains(&D) {
            return Some(format!("{D} dimensions: must be 1 to 3"));
        }
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return Some(format!("elements of {bytes} bytes: must have 1, 2, 4 or 8"));
        }
        let row = tile[0] as usize * bytes;
        for k in 0..D {
            if !(1..=1 << 32).contains(&shape[k]) {
                return Some(format!("shape {shape:?}: must be 1 to 2^32"));
            }
            if !(1..=256).contains(&tile[k]) {
                return Some(format!("tile {tile:?}: must be 1 to 256"));
            }
            let stride = strides[k].saturating_mul(bytes as u64);
            if k > 0 && !(stride.is_multiple_of(16) && stride < 1 << 40) {
                return Some(format!(
                    "strides {strides:?}: all but the first must be multiples of 16 bytes below 2^40"
                ));
            }
        }
        if strides[0] != 1 {
            return Some(format!("strides {strides:?}: the first must be 1"));
        }
        (!row.is_multiple_of(16)).then(|| {
            format!(
                "tile {tile:?}: the first dimension has {row} bytes, and must have a multiple of 16"
            )
        })
    }
}

/// Room for a tile of `N` elements in shared memory, at a multiple of 128 bytes: `shared_array![Tile<f32, 1024>; 2]`.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub struct Tile<T, const N: usize>(pub [T; N]);

/// An array in global memory and its [`Tiles`], as the device needs them. It belongs to one device and is used at an address in that
/// device's memory, or, in the emulator, anywhere.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct TensorMap<T, const D: usize> {
    words: [u64; 16],
    element: PhantomData<T>,
}

// SAFETY: the words are plain, and the rest has no size.
unsafe impl<T: Plain, const D: usize> Plain for TensorMap<T, D> {}

impl<T, const D: usize> fmt::Debug for TensorMap<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TensorMap({D} dimensions)")
    }
}

impl<T: Plain, const D: usize> TensorMap<T, D> {
    /// The map that a driver has encoded.
    #[doc(hidden)]
    #[must_use]
    pub fn encoded(words: [u64; 16]) -> Self {
        Self {
            words,
            element: PhantomData,
        }
    }

    /// The map of an array that starts at `start`, for the emulator.
    ///
    /// # Panics
    /// If the hardware would not copy these tiles: the start and all rows are at multiples of 16 bytes, and a row of a tile has a multiple of 16
    /// bytes.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn emulated(start: *mut T, tiles: &Tiles<D>) -> Self {
        if let Some(problem) = tiles.problem(size_of::<T>()) {
            panic!("{problem}");
        }
        assert!(
            start.addr().is_multiple_of(16),
            "the array of a tensor map starts at a multiple of 16 bytes"
        );
        let mut words = [0; 16];
        words[0] = start.expose_provenance() as u64;
        for k in 0..D {
            words[1 + k] = tiles.shape[k];
            words[4 + k] = tiles.strides[k];
            words[7 + k] = u64::from(tiles.tile[k]);
        }
        Self::encoded(words)
    }

    /// What [`emulated`](Self::emulated) has written.
    #[cfg(not(target_arch = "nvptx64"))]
    fn tiles(&self) -> (*mut T, Tiles<D>) {
        let start = core::ptr::with_exposed_provenance_mut(self.words[0] as usize);
        let of = |first: usize| core::array::from_fn(|k| self.words[first + k]);
        let tile = core::array::from_fn(|k| self.words[7 + k] as u32);
        let tiles = Tiles {
            shape: of(1),
            strides: of(4),
            tile,
        };
        (start, tiles)
    }

    /// Calls `f` for each row of the tile at `at`: the number of its first element in the tile, and, where it is within the array,
    /// the part of the row in elements, and the place of the part's first element.
    #[cfg(not(target_arch = "nvptx64"))]
    fn rows(
        &self,
        at: [i32; D],
        mut f: impl FnMut(usize, Option<(core::ops::Range<usize>, *mut T)>),
    ) {
        let (start, tiles) = self.tiles();
        let width = tiles.tile[0] as usize;
        for row in 0..tiles.elements() / width {
            // The place in the array along each dimension, of the row's first element.
            let mut left = row;
            let mut place = [0i64; D];
            for k in 0..D {
                let along = if k == 0 {
                    0
                } else {
                    let n = tiles.tile[k] as usize;
                    let along = left % n;
                    left /= n;
                    along
                };
                place[k] = i64::from(at[k]) + along as i64;
            }
            let outside = (1..D).any(|k| place[k] < 0 || place[k] as u64 >= tiles.shape[k]);
            let first = (-place[0]).clamp(0, width as i64) as usize;
            let end = (tiles.shape[0] as i64 - place[0]).clamp(0, width as i64) as usize;
            let part = (!outside && first < end).then(|| {
                let offset: i64 = (1..D).map(|k| place[k] * tiles.strides[k] as i64).sum();
                let offset = offset + place[0] + first as i64;
                (first..end, start.wrapping_offset(offset as isize))
            });
            f(row * width, part);
        }
    }
}

/// Coordinate `k` of `at`, if it has one.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn coordinate<const D: usize>(at: &[i32; D], k: usize) -> i32 {
    if k < D { at[k] } else { 0 }
}

/// The copy with the instruction of `D` dimensions, and its coordinates.
#[cfg(target_arch = "nvptx64")]
macro_rules! by_dimensions {
    ($copy:ident, $dimensions:ident) => {
        match $dimensions {
            1 => $copy!("1d", "{{{x}}}", x = 0),
            2 => $copy!("2d", "{{{x}, {y}}}", x = 0, y = 1),
            _ => $copy!("3d", "{{{x}, {y}, {z}}}", x = 0, y = 1, z = 2),
        }
    };
}

/// Makes what the host has written to `map` visible to the copies of this thread.
///
/// # Safety
/// `map` is valid.
#[inline(always)]
pub unsafe fn acquire<T, const D: usize>(map: *const TensorMap<T, D>) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller vouches for the map.
    unsafe {
        asm!("fence.proxy.tensormap::generic.acquire.gpu [{map}], 128;", map = in(reg64) map,
            options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = map;
}

/// Starts to copy the tile whose first element is at `at` to shared memory. The bytes of the whole tile count at `barrier`, which must expect
/// them. Elements beyond the array are zeros.
///
/// # Safety
/// `map` is valid and has been [acquired](acquire). `to` is valid for a tile, at a multiple of 128 bytes, `at[0]` elements are a multiple of 16 bytes, and nothing uses the tile before the phase of
/// `barrier`, which was made by [`init`](crate::mbarrier::init), has ended; nothing changes the array in between.
#[inline(always)]
pub unsafe fn load<T: Plain, const D: usize>(
    to: *mut T,
    map: *const TensorMap<T, D>,
    at: [i32; D],
    barrier: *mut u64,
) {
    const { assert!(D >= 1 && D <= 3, "a tile has 1 to 3 dimensions") };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees this.
    unsafe {
        macro_rules! copy {
            ($dimensions:literal, $coordinates:literal, $($name:ident = $k:literal),*) => {
                asm!(
                    "{{",
                    ".reg .b64 s, b;",
                    "cvta.to.shared.u64 s, {to};",
                    "cvta.to.shared.u64 b, {barrier};",
                    concat!("cp.async.bulk.tensor.", $dimensions,
                        ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [{map}, ", $coordinates, "], [b];"),
                    "}}",
                    to = in(reg64) to, map = in(reg64) map, barrier = in(reg64) barrier,
                    $($name = in(reg32) coordinate(&at, $k),)*
                    options(nostack, preserves_flags)
                )
            };
        }
        by_dimensions!(copy, D);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        assert_place(to, at[0]);
        let block = current().block();
        // SAFETY: the caller guarantees this.
        let map = unsafe { &*map };
        let width = map.tiles().1.tile[0] as usize;
        map.rows(at, |first, part| {
            let inside = part.as_ref().map_or(0..0, |(range, _)| range.clone());
            let from = part.map_or(core::ptr::null_mut(), |(_, from)| from);
            // Zeros before and after the part of the row that is within the array.
            for (range, from) in [
                (0..inside.start, core::ptr::null_mut()),
                (inside.clone(), from),
                (inside.end..width, core::ptr::null_mut()),
            ] {
                let copy = Bytes {
                    to: to.wrapping_add(first + range.start).cast(),
                    from: from.cast_const().cast(),
                    bytes: range.len() * size_of::<T>(),
                };
                block.bulk.borrow_mut().push(BulkCopy { barrier, copy });
            }
        });
    }
}

/// Starts to copy a tile from shared memory to the place whose first element is at `at`; elements beyond the array are not written. The copy
/// belongs to the group that this thread closes next.
///
/// # Safety
/// `map` is valid and has been [acquired](acquire). `from` is valid for a tile, at a multiple of 128 bytes; what was written there has been followed by
/// [`fence_shared`], and nothing changes it or uses these places of the array before the wait for the group.
#[inline(always)]
pub unsafe fn store<T: Plain, const D: usize>(
    map: *const TensorMap<T, D>,
    at: [i32; D],
    from: *const T,
) {
    const { assert!(D >= 1 && D <= 3, "a tile has 1 to 3 dimensions") };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees this.
    unsafe {
        macro_rules! copy {
            ($dimensions:literal, $coordinates:literal, $($name:ident = $k:literal),*) => {
                asm!(
                    "{{",
                    ".reg .b64 s;",
                    "cvta.to.shared.u64 s, {from};",
                    concat!("cp.async.bulk.tensor.", $dimensions, ".global.shared::cta.tile.bulk_group [{map}, ", $coordinates, "], [s];"),
                    "}}",
                    from = in(reg64) from, map = in(reg64) map,
                    $($name = in(reg32) coordinate(&at, $k),)*
                    options(nostack, preserves_flags)
                )
            };
        }
        by_dimensions!(copy, D);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        assert_place(from, at[0]);
        // SAFETY: the caller guarantees this.
        unsafe { &*map }.rows(at, |first, part| {
            if let Some((range, to)) = part {
                current().stores.borrow_mut().start(Bytes {
                    to: to.cast(),
                    from: from.wrapping_add(first + range.start).cast(),
                    bytes: range.len() * size_of::<T>(),
                });
            }
        });
    }
}

#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn assert_place<T>(place: *const T, first: i32) {
    assert!(
        (i64::from(first) * size_of::<T>() as i64) % 16 == 0,
        "a tile begins at a multiple of 16 bytes along the first dimension, not at element {first} of {} bytes",
        size_of::<T>()
    );
    assert!(
        place.addr().is_multiple_of(128),
        "a tile in shared memory is at a multiple of 128 bytes"
    );
}

/// Makes what this thread has written to shared memory visible to [`store`]. After a barrier of the block, a thread's store may read what the
/// others have written before their own call of this.
#[inline(always)]
pub fn fence_shared() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a fence has no preconditions.
    unsafe {
        asm!(
            "fence.proxy.async.shared::cta;",
            options(nostack, preserves_flags)
        );
    }
}

/// Closes the group of [stores](store) that this thread has started since the last call. A group may be empty.
#[inline(always)]
pub fn commit() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction has no operands.
    unsafe {
        asm!(
            "cp.async.bulk.commit_group;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    current().stores.borrow_mut().commit();
}

/// Waits until at most the latest `PENDING` groups of stores of this thread are under way.
#[inline(always)]
pub fn wait<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction waits.
    unsafe {
        asm!("cp.async.bulk.wait_group {};", const PENDING, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    current().stores.borrow_mut().wait(PENDING as usize);
}
