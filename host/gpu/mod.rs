//! Devices: buffers, queues, typed launches. A [`Device`] is a GPU, or the emulator of the grid; engines are written once for both. The
//! only place that names `cust`.

/// The types of the driver. On Linux Trisolar uses cust's; programs elsewhere, which could not build cust without setting variables, and other systems,
/// where cust needs a CUDA toolkit, use ours.
#[cfg(all(feature = "cust", target_os = "linux"))]
pub(crate) use ::cust;
#[cfg(all(feature = "driver", not(all(feature = "cust", target_os = "linux"))))]
pub(crate) use trisolar_driver as cust;

#[cfg(feature = "devices")]
mod buffer_pool;
#[cfg(feature = "devices")]
mod cuda;
#[cfg(feature = "devices")]
mod device;
mod emulator;
mod error;
mod interface;
#[cfg(feature = "devices")]
mod interpreter;
mod loading;
#[cfg(feature = "devices")]
mod mark;
mod module;
mod open;
#[cfg_attr(not(feature = "devices"), path = "no_power.rs")]
mod power;
mod select;
mod tensor;
mod typed;

pub use cuda_std::{Code, Entry, Plain};
#[cfg(feature = "devices")]
pub use device::{Gpu, driver_version};
#[cfg(feature = "devices")]
pub use emulator::COMPARE_PTX;
pub use emulator::Emulator;
pub use error::GpuError;
pub use interface::{Device, Grid, Launch, Moment, Point, Queue, Usage};
pub use loading::{Stopwatch, loading, on_compiling};
pub use module::{MODULES, Module, Residency, Text, kernels, linkme};
pub use open::{EMULATED_GPUS, devices, open, open_keeping, start_seconds};
pub use power::EnergyMeter;
pub use select::gpu_or_emulator;
pub use typed::{Buffer, HostBuffer};

/// The properties of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DeviceInfo {
    /// Its number in the driver's order.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Major and minor compute capability.
    pub compute_capability: (u32, u32),
    /// Bytes of device memory.
    pub memory_bytes: u64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Most bytes of shared memory that a block can have.
    pub shared_bytes_per_block: u32,
    /// Highest clock of the multiprocessors in kHz.
    pub clock_khz: u32,
}

impl DeviceInfo {
    /// `f64` operations per second at the highest clock (a fused multiply-add is one), of the compute capabilities whose
    /// multiprocessors' rate NVIDIA's programming guide lists and this program knows.
    pub fn f64_operations_per_second(&self) -> Option<f64> {
        let a_cycle = match self.compute_capability {
            (7, 0) | (8, 0) => 32.0,
            (9, 0) | (10, 0) => 64.0,
            (7, 5) | (8, 6) | (8, 9) | (12, 0) => 2.0,
            _ => return None,
        };
        Some(a_cycle * f64::from(self.multiprocessors) * f64::from(self.clock_khz) * 1e3)
    }
}

/// Energy that a computation took on GPUs, by the counters of their drivers, which are updated a few times a second.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Energy {
    /// Of all GPUs together.
    pub joules: f64,
    /// On average over the computation, all GPUs together.
    pub watts: f64,
}

/// A list of this many GPUs, as a driver lists them.
#[doc(hidden)]
pub fn listed(count: u32) -> Vec<DeviceInfo> {
    let gpu = |index| DeviceInfo {
        index,
        name: "a GPU".into(),
        compute_capability: (9, 0),
        memory_bytes: 1 << 30,
        multiprocessors: 10,
        shared_bytes_per_block: 48 << 10,
        clock_khz: 1,
    };
    (0..count).map(gpu).collect()
}

/// Whether an NVIDIA driver is installed, be it usable or not.
pub fn driver_present() -> bool {
    #[cfg(feature = "devices")]
    {
        device::load().is_ok()
    }
    #[cfg(not(feature = "devices"))]
    {
        false
    }
}
