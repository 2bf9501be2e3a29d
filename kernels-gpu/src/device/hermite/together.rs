//! Block steps by several devices that reach each other's memory.
//!
//! Body i belongs to device i modulo their number, which computes the force on it, corrects it, and writes the result to the memory of
//! all devices. Then every device does the rest of the block, which depends on all bodies, by itself: the devices have the same times,
//! the same active bodies and the same bits.
//!
//! The devices wait for each other once in each block step, at its end. A device may then be a block step ahead of another one that still
//! reads the results of the last block. Results of even and of odd block steps therefore have memory of their own.

use core::ptr::with_exposed_provenance_mut;
use core::sync::atomic::AtomicU32;

use cuda_std::atomic::intrinsics::{
    atomic_load_acquire_32_system, atomic_load_relaxed_32_system, atomic_store_relaxed_32_system,
};
use cuda_std::{GridBarrier, thread};

use crate::device::clock::timer_ns;

/// Largest number of devices.
pub const MOST_DEVICES: usize = 16;

/// The reason to stop if another device did not answer.
pub const ALONE: u32 = 3;

/// The devices of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Devices {
    /// The number of this device.
    pub this: u32,
    /// Their number, at most [`MOST_DEVICES`].
    pub count: u32,
    /// Nanoseconds after which a device that waits for another one gives up.
    pub patience: u64,
}

/// Length of [`Arrays::addresses`].
pub const ADDRESSES: usize = 5;

/// The arrays of a device to which all devices write.
#[derive(Clone, Copy, Debug)]
pub struct Arrays {
    /// The predicted bodies.
    pub predicted: *mut f64,
    /// Corrected steps of even block steps, then those of odd ones.
    pub moved: *mut f64,
    /// Changes of the number of bodies with steps of each length: by even block steps, then by odd ones.
    pub changes: *mut u32,
    /// The reason to stop, or 0.
    pub stopped: *mut u32,
    /// The signal of each device: how often it has arrived.
    pub signals: *mut u32,
}

impl Arrays {
    /// The addresses, as every device has them of all devices.
    pub fn addresses(&self) -> [u64; ADDRESSES] {
        [
            self.predicted.expose_provenance() as u64,
            self.moved.expose_provenance() as u64,
            self.changes.expose_provenance() as u64,
            self.stopped.expose_provenance() as u64,
            self.signals.expose_provenance() as u64,
        ]
    }

    /// # Safety
    /// `table` must be valid for [`ADDRESSES`] numbers for each device.
    #[inline(always)]
    unsafe fn of(table: *const u64, device: u32) -> Self {
        // SAFETY: the caller guarantees this.
        let address = |n| unsafe { *table.add(device as usize * ADDRESSES + n) as usize };
        Self {
            predicted: with_exposed_provenance_mut(address(0)),
            moved: with_exposed_provenance_mut(address(1)),
            changes: with_exposed_provenance_mut(address(2)),
            stopped: with_exposed_provenance_mut(address(3)),
            signals: with_exposed_provenance_mut(address(4)),
        }
    }
}

impl Devices {
    /// Calls `f` with the arrays of each other device.
    ///
    /// # Safety
    /// `everywhere` must have the addresses of each device.
    #[inline(always)]
    pub(super) unsafe fn others(&self, everywhere: *const u64, f: impl Fn(Arrays)) {
        // SAFETY: the caller guarantees this.
        unsafe {
            self.all(everywhere, |device, arrays| {
                if device != self.this {
                    f(arrays);
                }
            });
        }
    }

    /// Calls `f` with the number and the arrays of each device.
    ///
    /// # Safety
    /// The same as for [`others`](Self::others).
    #[inline(always)]
    pub(super) unsafe fn all(&self, everywhere: *const u64, f: impl Fn(u32, Arrays)) {
        let mut device = 0;
        while device < self.count {
            // SAFETY: the caller guarantees this.
            f(device, unsafe { Arrays::of(everywhere, device) });
            device += 1;
        }
    }
}

/// A barrier for the threads of one device, and for those of all devices.
pub(super) struct Barrier {
    pub grid: GridBarrier,
    /// Number of waits for all devices so far.
    waits: u32,
}

impl Barrier {
    #[inline(always)]
    pub fn new(control: *const AtomicU32) -> Self {
        Self {
            grid: GridBarrier::new(control),
            waits: 0,
        }
    }

    /// Waits until all threads have arrived, of all devices if there are `MANY`. Their earlier writes to any device are then visible to all of them. If a
    /// device does not arrive, all threads of this device go on, with [`ALONE`] as the reason to stop.
    ///
    /// # Safety
    /// All threads of all grids must call it the same number of times; with `MANY`, `everywhere` must have the addresses of each device.
    #[inline(always)]
    pub unsafe fn wait_for_all<const MANY: bool>(
        &mut self,
        devices: &Devices,
        everywhere: *const u64,
    ) {
        if !MANY {
            // SAFETY: all threads of the grid call it.
            return unsafe { self.grid.wait() };
        }
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            // Makes the writes of this block visible to the other devices before its arrival.
            thread::system_fence();
        }
        self.waits += 1;
        let waits = self.waits;
        // SAFETY: the caller guarantees this; the first block calls it after the arrivals of the others.
        unsafe { self.grid.wait_and(|| exchange(devices, everywhere, waits)) };
    }
}

/// Tells the other devices that this one has arrived for the `waits`-th time, and waits for them. Each thread does so for one of them.
///
/// # Safety
/// One block of each device must call this after all threads of its grid have arrived; `everywhere` must have the addresses of each device.
#[inline(always)]
unsafe fn exchange(devices: &Devices, everywhere: *const u64, waits: u32) {
    let device = thread::thread_idx_x();
    if device >= devices.count || device == devices.this {
        return;
    }
    // SAFETY: the caller guarantees this; the numbers of devices are below MOST_DEVICES.
    unsafe {
        let (own, other) = (
            Arrays::of(everywhere, devices.this),
            Arrays::of(everywhere, device),
        );
        thread::system_fence();
        atomic_store_relaxed_32_system(other.signals.add(devices.this as usize), waits);
        let begin = timer_ns();
        // Orders reads of the other device's writes after its arrival.
        while atomic_load_acquire_32_system(own.signals.add(device as usize)) < waits
            && atomic_load_relaxed_32_system(own.stopped) != ALONE
        {
            if timer_ns() - begin > devices.patience {
                atomic_store_relaxed_32_system(own.stopped, ALONE);
            }
            // Emulated devices may share a core.
            #[cfg(not(target_arch = "nvptx64"))]
            thread::nanosleep(0);
        }
    }
}
