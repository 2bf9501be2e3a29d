//! `f32`, `f64` and float-float numbers that the threads of the all-pairs kernels exchange: bodies in memory, in shared memory and in
//! other lanes, and atomic sums.

use core::sync::atomic::Ordering;

use cuda_std::atomic::{AtomicF32, AtomicF64};
use cuda_std::shared::{F2, F4, SharedSlice};
use cuda_std::warp::{WarpShuffleMode, WarpShuffleValue};

use crate::number::{FastF32, FloatFloat};
use crate::physics::summation::all_pairs::TILE;
use crate::{Real, Vec3};

/// A body in kernels: position and g = G·m. It also holds a velocity or an acceleration, with g = 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub struct Body<S> {
    /// First coordinate.
    pub x: S,
    /// Second coordinate.
    pub y: S,
    /// Third coordinate, 0 in two dimensions.
    pub z: S,
    /// G·m (length³ / time²).
    pub g: S,
}

impl<S: Copy> Body<S> {
    /// The three coordinates.
    #[inline(always)]
    pub fn vector(&self) -> Vec3<S> {
        Vec3 {
            x: self.x,
            y: self.y,
            z: self.z,
        }
    }
}

impl<S: Real> Body<S> {
    /// A vector with this `g`.
    #[inline(always)]
    pub fn new(v: Vec3<S>, g: S) -> Self {
        Self {
            x: v.x,
            y: v.y,
            z: v.z,
            g,
        }
    }
}

/// A number that the threads of a kernel exchange, through shared memory and between the lanes of a warp.
pub trait DeviceNumber:
    Real + WarpShuffleValue + PartialEq + Default + core::fmt::Debug + Send + Sync + 'static
{
    /// Number of bodies that a lane of the reduced solver holds in registers; a row has 32 times as many.
    const LANE_BODIES: usize;
    /// Bodies per row.
    const ROW: u32 = TILE * Self::LANE_BODIES as u32;

    /// Writes a body to a tile of `length` bodies at the start of the dynamic shared memory.
    ///
    /// # Safety
    /// The dynamic shared memory must hold `length` bodies, `index` must be less, and a barrier must separate this from other
    /// accesses.
    unsafe fn stage(length: usize, index: usize, body: Body<Self>);

    /// Reads a body from that tile.
    ///
    /// # Safety
    /// The same as for [`stage`](Self::stage); the body must have been written.
    unsafe fn staged(length: usize, index: usize) -> Body<Self>;
}

/// A [`DeviceNumber`] that threads can add up atomically.
pub trait AtomicSum: DeviceNumber {
    /// Adds to a number in memory to which other threads may add at the same time.
    ///
    /// # Safety
    /// `at` must be valid and aligned, and only this function may access it during the launch.
    unsafe fn atomic_add(at: *mut Self, value: Self);
}

impl DeviceNumber for FastF32 {
    const LANE_BODIES: usize = 8;

    #[inline(always)]
    unsafe fn stage(length: usize, index: usize, body: Body<Self>) {
        // SAFETY: the caller guarantees the same.
        unsafe {
            SharedSlice::<F4>::dynamic(0, length)
                .set(index, F4::new(body.x.0, body.y.0, body.z.0, body.g.0))
        };
    }

    #[inline(always)]
    unsafe fn staged(length: usize, index: usize) -> Body<Self> {
        // SAFETY: the caller guarantees the same.
        let F4 { x, y, z, w } = unsafe { SharedSlice::<F4>::dynamic(0, length).get(index) };
        Body {
            x: FastF32(x),
            y: FastF32(y),
            z: FastF32(z),
            g: FastF32(w),
        }
    }
}

impl AtomicSum for FastF32 {
    #[inline(always)]
    unsafe fn atomic_add(at: *mut Self, value: Self) {
        // SAFETY: the atomic has the layout of the number; the caller guarantees the pointer.
        unsafe { &*at.cast::<AtomicF32>() }.fetch_add(value.0, Ordering::Relaxed);
    }
}

impl DeviceNumber for f64 {
    const LANE_BODIES: usize = 4;

    #[inline(always)]
    unsafe fn stage(length: usize, index: usize, body: Body<Self>) {
        // SAFETY: the caller guarantees the same; a body is two pairs of numbers.
        unsafe {
            let pairs = SharedSlice::<F2>::dynamic(0, 2 * length);
            pairs.set(2 * index, F2::new(body.x, body.y));
            pairs.set(2 * index + 1, F2::new(body.z, body.g));
        }
    }

    #[inline(always)]
    unsafe fn staged(length: usize, index: usize) -> Body<Self> {
        // SAFETY: the caller guarantees the same; a body is two pairs of numbers.
        let (a, b) = unsafe {
            let pairs = SharedSlice::<F2>::dynamic(0, 2 * length);
            (pairs.get(2 * index), pairs.get(2 * index + 1))
        };
        Body {
            x: a.x,
            y: a.y,
            z: b.x,
            g: b.y,
        }
    }
}

impl AtomicSum for f64 {
    #[inline(always)]
    unsafe fn atomic_add(at: *mut Self, value: Self) {
        // SAFETY: the atomic has the layout of the number; the caller guarantees the pointer.
        unsafe { &*at.cast::<AtomicF64>() }.fetch_add(value, Ordering::Relaxed);
    }
}

impl WarpShuffleValue for FastF32 {
    #[inline(always)]
    #[track_caller]
    unsafe fn shuffle(
        mode: WarpShuffleMode,
        mask: u32,
        value: Self,
        b: u32,
        width: u32,
    ) -> (Self, bool) {
        // SAFETY: the caller guarantees the same.
        let (x, inside) = unsafe { f32::shuffle(mode, mask, value.0, b, width) };
        (Self(x), inside)
    }
}

impl WarpShuffleValue for FloatFloat<f32> {
    #[inline(always)]
    #[track_caller]
    unsafe fn shuffle(
        mode: WarpShuffleMode,
        mask: u32,
        value: Self,
        b: u32,
        width: u32,
    ) -> (Self, bool) {
        let (hi, lo) = value.parts();
        // SAFETY: the caller guarantees the same.
        let ((hi, inside), (lo, _)) = unsafe {
            (
                f32::shuffle(mode, mask, hi, b, width),
                f32::shuffle(mode, mask, lo, b, width),
            )
        };
        (Self::from_parts(hi, lo), inside)
    }
}

impl DeviceNumber for FloatFloat<f32> {
    const LANE_BODIES: usize = 2;

    #[inline(always)]
    unsafe fn stage(length: usize, index: usize, body: Body<Self>) {
        let ((x, x1), (y, y1)) = (body.x.parts(), body.y.parts());
        let ((z, z1), (g, g1)) = (body.z.parts(), body.g.parts());
        // SAFETY: the caller guarantees the same; a body is two groups of four numbers.
        unsafe {
            let fours = SharedSlice::<F4>::dynamic(0, 2 * length);
            fours.set(2 * index, F4::new(x, x1, y, y1));
            fours.set(2 * index + 1, F4::new(z, z1, g, g1));
        }
    }

    #[inline(always)]
    unsafe fn staged(length: usize, index: usize) -> Body<Self> {
        // SAFETY: the caller guarantees the same; a body is two groups of four numbers.
        let (a, b) = unsafe {
            let fours = SharedSlice::<F4>::dynamic(0, 2 * length);
            (fours.get(2 * index), fours.get(2 * index + 1))
        };
        Body {
            x: Self::from_parts(a.x, a.y),
            y: Self::from_parts(a.z, a.w),
            z: Self::from_parts(b.x, b.y),
            g: Self::from_parts(b.z, b.w),
        }
    }
}
