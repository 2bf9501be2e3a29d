//! Finds and opens the GPUs of the machine, or emulators in their place.

use std::sync::Arc;

use crate::{Device, DeviceInfo, Emulator, GpuError};

/// The environment variable with a number of emulated GPUs, which programs then find in the place of the machine's GPUs. They are slow, and
/// meant for tests of everything that chooses and divides GPUs.
pub const EMULATED_GPUS: &str = "TRISOLAR_EMULATED_GPUS";

/// Largest number of emulated GPUs.
const MAX_EMULATED_GPUS: u32 = 64;

/// The number of emulated GPUs; `None` without the variable.
fn emulated() -> Option<Result<u32, GpuError>> {
    let given = std::env::var_os(EMULATED_GPUS)?;
    let number = given.to_str().and_then(|text| text.parse().ok());
    let refused = || {
        let given = given.to_string_lossy();
        GpuError::Unavailable(format!(
            "{EMULATED_GPUS}={given}: must be a number from 0 to {MAX_EMULATED_GPUS}"
        ))
    };
    let allowed = number.filter(|n| *n <= MAX_EMULATED_GPUS);
    Some(allowed.ok_or_else(refused).and_then(|n| match n {
        0 => Err(GpuError::Unavailable(format!("{EMULATED_GPUS}=0"))),
        n => Ok(n),
    }))
}

/// Seconds until a GPU of the machine can compute: the start of the driver, 0.29 to 0.35 s on the host of an H200, and the loading of kernels. A
/// process that has opened one does not start it again, and an emulated GPU starts at once.
pub fn start_seconds() -> f64 {
    const DRIVER_AND_KERNELS: f64 = 0.4;
    match emulated().is_some() || !crate::loading().is_zero() {
        true => 0.0,
        false => DRIVER_AND_KERNELS,
    }
}

fn emulator(index: u32) -> Emulator {
    Emulator::new("emulated GPU".into()).index(index)
}

/// All GPUs that the driver lists, in its order (fastest first unless CUDA_DEVICE_ORDER says otherwise), or emulated ones
/// ([`EMULATED_GPUS`]).
///
/// # Errors
/// [`GpuError::Unavailable`] without a driver, if it lists none, or in a program without the feature `gpu`.
pub fn devices() -> Result<Vec<DeviceInfo>, GpuError> {
    match emulated() {
        Some(count) => Ok((0..count?).map(|n| emulator(n).info().clone()).collect()),
        None => listed_by_driver(),
    }
}

/// Opens the GPU of this number.
///
/// # Errors
/// [`GpuError::Unavailable`] without one, or in a program without the feature `gpu`.
pub fn open(index: u32) -> Result<Arc<dyn Device>, GpuError> {
    match emulated() {
        Some(count) => open_emulator(index, count?),
        None => open_gpu(index, false),
    }
}

/// Opens a GPU that keeps released buffers for reuse instead of freeing them, for a device that does the same kind of work many
/// times. Other devices must not access them.
///
/// # Errors
/// As [`open`].
pub fn open_keeping(index: u32) -> Result<Arc<dyn Device>, GpuError> {
    match emulated() {
        Some(count) => open_emulator(index, count?),
        None => open_gpu(index, true),
    }
}

fn open_emulator(index: u32, count: u32) -> Result<Arc<dyn Device>, GpuError> {
    if index < count {
        return Ok(Arc::new(emulator(index)));
    }
    let reason = format!("there is no GPU {index} with {EMULATED_GPUS}={count}");
    Err(GpuError::Unavailable(reason))
}

#[cfg(feature = "devices")]
fn listed_by_driver() -> Result<Vec<DeviceInfo>, GpuError> {
    crate::device::devices()
}

#[cfg(feature = "devices")]
fn open_gpu(index: u32, keeps_buffers: bool) -> Result<Arc<dyn Device>, GpuError> {
    let mut gpu = crate::Gpu::open(index)?;
    if keeps_buffers {
        gpu.keep_buffers();
    }
    Ok(Arc::new(gpu))
}

#[cfg(not(feature = "devices"))]
fn listed_by_driver() -> Result<Vec<DeviceInfo>, GpuError> {
    Err(without_gpus())
}

#[cfg(not(feature = "devices"))]
fn open_gpu(_: u32, _: bool) -> Result<Arc<dyn Device>, GpuError> {
    Err(without_gpus())
}

#[cfg(not(feature = "devices"))]
fn without_gpus() -> GpuError {
    GpuError::Unavailable("this program was built without the feature `gpu`".into())
}
