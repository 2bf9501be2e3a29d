//! A description of the machine for reports.

use serde_json::{Value, json};

use crate::gpu::{self, DeviceInfo};
use crate::io::system;
use crate::simd::{Simd, has_fma};

/// The devices of the machine, as `trisolar devices --json` prints them: `gpus`, `driver_cuda`, `kernels`, `no_gpu` (the reason why
/// there is none), `cpu`.
pub fn inventory() -> Value {
    let found = gpu::devices();
    let gpus: Vec<Value> = found
        .as_deref()
        .unwrap_or_default()
        .iter()
        .map(gpu_object)
        .collect();
    let simd = |s: &Simd| json!({"name": s.to_string(), "lanes": s.lanes()});
    json!({
        "gpus": gpus,
        "driver_cuda": driver_cuda(),
        "kernels": kernels(),
        "no_gpu": found.err().map(|e| e.to_string()),
        "cpu": {
            "name": cpu_name(),
            "threads": threads(),
            "simd": self::simd().iter().map(simd).collect::<Vec<_>>(),
            "fma": has_fma(),
            "memory_available_bytes": available_memory(),
        },
    })
}

fn gpu_object(gpu: &DeviceInfo) -> Value {
    let (major, minor) = gpu.compute_capability;
    json!({
        "index": gpu.index,
        "name": gpu.name,
        "compute_capability": format!("{major}.{minor}"),
        "memory_bytes": gpu.memory_bytes,
        "multiprocessors": gpu.multiprocessors,
        "clock_khz": gpu.clock_khz,
    })
}

/// The CUDA version that the driver supports, if there is one.
pub fn driver_cuda() -> Option<String> {
    #[cfg(feature = "gpu")]
    {
        let (major, minor) = gpu::driver_version().ok()?;
        Some(format!("{major}.{minor}"))
    }
    #[cfg(not(feature = "gpu"))]
    {
        None
    }
}

/// Whether the GPU kernels in this program were `built` with it or are the `prebuilt` ones; `none` without the
/// feature `gpu`.
pub fn kernels() -> &'static str {
    gpu::kernels().map_or("none", |module| module.origin)
}

/// Lanes of the CPU engines, fastest first, in the order of preference.
pub fn simd() -> Vec<Simd> {
    Simd::available().into_iter().rev().collect()
}

/// Threads that the process may use.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The name of the CPU, if the system provides it.
pub fn cpu_name() -> String {
    system::cpu_name().unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH))
}

/// The emulator of the grid on this machine's CPU, as a device.
pub fn emulator() -> gpu::Emulator {
    gpu::Emulator::new(format!("emulated grid, {}", cpu_name()))
}

/// Bytes of memory that can still be used, 0 if the system does not provide the number.
pub use crate::io::system::available_memory;
