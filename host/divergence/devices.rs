//! Devices that stay open between computations. Opening a GPU, loading its kernels and allocating its buffers can take longer than
//! a small map, so a program that computes many maps should do it once.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::CpuEngine;
use super::device::{Accelerator, DeviceEngine, GpuSource};
use super::emulator::Emulated;
use trisolar_device::{DeviceInfo, GpuError};
use trisolar_run::{EngineError, RunOptions};
use trisolar_simd::Simd;

/// Devices that stay open from one computation to the next.
///
/// A device is opened when it is first needed and leased to one computation at a time. Concurrent computations have a handle each,
/// with its own streams and buffers. A device that has failed is closed. Clones share the devices.
#[derive(Clone, Debug)]
pub struct Devices {
    source: Arc<dyn GpuSource>,
    gpus: DevicePool<u32, Box<dyn Accelerator>>,
    cpus: DevicePool<CpuKey, CpuEngine>,
}

impl Default for Devices {
    fn default() -> Self {
        Self::new()
    }
}

impl Devices {
    /// The GPUs of this machine and its CPU. None of them is opened yet.
    pub fn new() -> Self {
        Self::from_source(Arc::new(DriverGpus))
    }

    /// The CPU, and this many GPUs that are [emulated](super::EmulatorEngine) on it. They are slow and meant for tests on machines
    /// without a GPU.
    pub fn emulated(gpus: u32) -> Self {
        Self::from_source(Arc::new(Emulated { gpus }))
    }

    pub(super) fn from_source(source: Arc<dyn GpuSource>) -> Self {
        Self {
            source,
            gpus: DevicePool::default(),
            cpus: DevicePool::default(),
        }
    }

    /// The available GPUs.
    ///
    /// # Errors
    /// There is no GPU, or no driver.
    pub(super) fn list(&self) -> Result<Vec<DeviceInfo>, GpuError> {
        self.source.list()
    }

    /// How often a GPU has been opened so far: once for each computation that needed a GPU at the same time as others, not once for
    /// every computation.
    pub fn gpus_opened(&self) -> u64 {
        self.gpus.opened()
    }

    /// How often threads of the CPU engine have been started so far.
    pub fn cpus_opened(&self) -> u64 {
        self.cpus.opened()
    }

    /// A handle of the GPU with this number; an open one if possible.
    pub(super) fn gpu(&self, index: u32) -> Result<GpuLease, EngineError> {
        self.gpus.take(index, || self.source.open(index))
    }

    /// A handle of the CPU engine with the threads and the instruction set of these options.
    pub(super) fn cpu(&self, options: &RunOptions) -> Result<CpuLease, EngineError> {
        let (threads, simd) = (options.threads, options.simd);
        let open = || CpuEngine::with_simd(threads, simd);
        self.cpus.take((threads, simd), open)
    }
}

/// The GPUs that the CUDA driver lists.
#[derive(Debug)]
struct DriverGpus;

impl GpuSource for DriverGpus {
    fn list(&self) -> Result<Vec<DeviceInfo>, GpuError> {
        trisolar_device::devices()
    }

    fn open(&self, index: u32) -> Result<Box<dyn Accelerator>, EngineError> {
        Ok(Box::new(DeviceEngine::kept(index)?))
    }
}

pub(super) type GpuLease = Lease<u32, Box<dyn Accelerator>>;
pub(super) type CpuLease = Lease<CpuKey, CpuEngine>;

/// Threads and instruction set of a CPU engine.
type CpuKey = (Option<usize>, Option<Simd>);

/// A pool of idle devices, with the number of devices opened so far.
struct DevicePool<K, D>(Arc<DevicePoolState<K, D>>);

/// The state of a [`DevicePool`].
struct DevicePoolState<K, D> {
    idle: Mutex<Vec<(K, D)>>,
    opened: AtomicU64,
}

impl<K, D> DevicePoolState<K, D> {
    fn idle(&self) -> MutexGuard<'_, Vec<(K, D)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, D> Clone for DevicePool<K, D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, D> Default for DevicePool<K, D> {
    fn default() -> Self {
        Self(Arc::new(DevicePoolState {
            idle: Mutex::new(Vec::new()),
            opened: AtomicU64::new(0),
        }))
    }
}

impl<K, D> fmt::Debug for DevicePool<K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} opened)", self.opened())
    }
}

impl<K, D> DevicePool<K, D> {
    fn opened(&self) -> u64 {
        self.0.opened.load(Ordering::Relaxed)
    }
}

impl<K: Copy + PartialEq, D: Reusable> DevicePool<K, D> {
    fn take(
        &self,
        key: K,
        open: impl FnOnce() -> Result<D, EngineError>,
    ) -> Result<Lease<K, D>, EngineError> {
        let mut idle = self.0.idle();
        let there = idle.iter().position(|(of, _)| *of == key);
        let there = there.map(|place| idle.swap_remove(place).1);
        drop(idle);
        let device = match there {
            Some(device) => device,
            None => {
                self.0.opened.fetch_add(1, Ordering::Relaxed);
                open()?
            }
        };
        Ok(Lease {
            key,
            device: Some(device),
            pool: self.0.clone(),
        })
    }
}

/// A device that may be used again.
pub(super) trait Reusable {
    /// Whether it can be used again.
    fn usable(&self) -> bool;
}

impl Reusable for CpuEngine {
    fn usable(&self) -> bool {
        true
    }
}

impl Reusable for Box<dyn Accelerator> {
    fn usable(&self) -> bool {
        (**self).usable()
    }
}

/// A device in use, which returns to the pool when the lease is dropped.
pub(super) struct Lease<K: Copy, D: Reusable> {
    key: K,
    device: Option<D>,
    pool: Arc<DevicePoolState<K, D>>,
}

impl<K: Copy, D: Reusable> Deref for Lease<K, D> {
    type Target = D;

    fn deref(&self) -> &D {
        self.device.as_ref().expect("it is there until the drop")
    }
}

impl<K: Copy, D: Reusable> Drop for Lease<K, D> {
    fn drop(&mut self) {
        if let Some(device) = self.device.take().filter(Reusable::usable) {
            self.pool.idle().push((self.key, device));
        }
    }
}

impl<K: Copy + fmt::Debug, D: Reusable> fmt::Debug for Lease<K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({:?})", self.key)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::engine::Task;
    use super::super::queue::Share;
    use super::super::scheduler::Worker;
    use super::super::{EmulatorEngine, Specification, Unattended, Validated};
    use super::*;
    use trisolar_run::Backend;

    /// Two GPUs, the second of which fails at its third piece of work, once.
    #[derive(Debug, Default)]
    struct Fragile {
        works: Arc<AtomicU64>,
    }

    #[derive(Debug)]
    struct FragileGpu {
        index: u32,
        works: Arc<AtomicU64>,
        failed: AtomicBool,
    }

    impl FragileGpu {
        fn engine() -> EmulatorEngine {
            EmulatorEngine {
                block: 32,
                blocks: 1,
                ..EmulatorEngine::new(super::super::DivergenceKernel::Fetch)
            }
        }

        /// Draws pixels and fails when its turn to fail has come.
        fn fails(&self, share: Share<'_>) -> Result<(), EngineError> {
            if self.index == 1 && self.works.fetch_add(1, Ordering::Relaxed) == 2 {
                self.failed.store(true, Ordering::Relaxed);
                share.ready();
                share.draw_portion(0.0, 10, 10)?;
                return Err(EngineError::Gpu {
                    device: self.label(),
                    call: "running a kernel",
                    reason: "it was pulled out".into(),
                });
            }
            Ok(())
        }
    }

    impl Worker for FragileGpu {
        fn label(&self) -> String {
            format!("GPU {}", self.index)
        }

        fn capacity(&self, _: &Specification) -> u64 {
            32
        }

        fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
            self.fails(share)?;
            Self::engine().work(task, share)
        }
    }

    impl Accelerator for FragileGpu {
        fn name(&self) -> String {
            "a GPU".into()
        }

        fn usable(&self) -> bool {
            !self.failed.load(Ordering::Relaxed)
        }
    }

    impl GpuSource for Fragile {
        fn list(&self) -> Result<Vec<DeviceInfo>, GpuError> {
            Emulated { gpus: 2 }.list()
        }

        fn open(&self, index: u32) -> Result<Box<dyn Accelerator>, EngineError> {
            Ok(Box::new(FragileGpu {
                index,
                works: self.works.clone(),
                failed: AtomicBool::new(false),
            }))
        }
    }

    fn map() -> Validated {
        let specification = Specification {
            size: [30, 20],
            steps: 100,
            dt: 0.2,
            critical_distance: 0.3,
            ..Specification::default()
        };
        specification.validate().expect("valid")
    }

    const GPUS: RunOptions = RunOptions {
        backend: Backend::Gpu,
        threads: Some(1),
        simd: None,
        with_cpu: false,
        gpus: super::super::GpuChoice::All,
        driver: super::super::Driver::Threads,
    };

    #[test]
    fn a_gpu_that_failed_is_closed_and_opened_anew_for_the_next_map() {
        let spec = map();
        let devices = Devices::from_source(Arc::new(Fragile::default()));
        let mut opened = Vec::new();
        let mut maps = Vec::new();
        for number in 0..5 {
            let map = devices.run(&spec, &GPUS, &Unattended).expect("one is left");
            assert_eq!(map.notes.len(), usize::from(number == 2), "{:?}", map.notes);
            opened.push(devices.gpus_opened());
            maps.push(map.values);
        }
        assert_eq!(opened, [2, 2, 2, 3, 3]);
        assert!(maps.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
