//! `trisolar devices`: what there is to compute on.

use serde_json::json;
use trisolar::gpu::{self, DeviceInfo};
use trisolar::machine;
use trisolar::simd::{Simd, has_fma};

use super::Failure;
use super::report::{self, Lines};

/// Options of `trisolar devices`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

/// Lists the devices. A machine without a GPU is no failure.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let gpus = gpu::devices();
    let driver = driver();
    if args.json {
        let no_gpu = gpus.as_ref().err().map(ToString::to_string);
        let gpus: Vec<_> = gpus
            .as_deref()
            .unwrap_or_default()
            .iter()
            .map(gpu_object)
            .collect();
        return report::json(&json!({
            "gpus": gpus,
            "driver_cuda": driver,
            "no_gpu": no_gpu,
            "cpu": {
                "name": machine::cpu_name(),
                "threads": threads(),
                "simd": simd().iter().map(|s| json!({"name": s.to_string(), "lanes": s.lanes()})).collect::<Vec<_>>(),
                "fma": has_fma(),
                "memory_available_bytes": machine::available_memory(),
            },
        }));
    }
    let mut lines = Lines::default();
    match &gpus {
        Ok(list) => list.iter().for_each(|gpu| describe_gpu(gpu, &mut lines)),
        Err(error) => lines.add("gpu", &error.to_string()),
    }
    if let Some(version) = driver {
        lines.add("driver", &format!("supports CUDA {version}"));
    }
    lines.add("cpu", &machine::cpu_name());
    lines.add("threads", &threads().to_string());
    let sets: Vec<String> = simd()
        .iter()
        .map(|s| {
            format!(
                "{s} ({} lane{})",
                s.lanes(),
                if s.lanes() == 1 { "" } else { "s" }
            )
        })
        .collect();
    lines.add("simd", &sets.join(", "));
    lines.add(
        "fma",
        if has_fma() {
            "yes"
        } else {
            "no: in software, with the same bits, slowly"
        },
    );
    if machine::available_memory() > 0 {
        lines.add(
            "memory",
            &format!("{} available", report::bytes(machine::available_memory())),
        );
    }
    report::to_stdout(lines.as_str())
}

/// The CUDA version that the driver supports.
#[cfg(feature = "gpu")]
fn driver() -> Option<String> {
    let (major, minor) = gpu::driver_version().ok()?;
    Some(format!("{major}.{minor}"))
}

#[cfg(not(feature = "gpu"))]
fn driver() -> Option<String> {
    None
}

fn describe_gpu(gpu: &DeviceInfo, lines: &mut Lines) {
    let (major, minor) = gpu.compute_capability;
    lines.add(&format!("gpu {}", gpu.index), &gpu.name);
    lines.add(
        "",
        &format!(
            "compute capability {major}.{minor}, {} multiprocessors at up to {} MHz, {} of memory",
            gpu.multiprocessors,
            gpu.clock_khz / 1000,
            report::bytes(gpu.memory_bytes)
        ),
    );
}

fn gpu_object(gpu: &DeviceInfo) -> serde_json::Value {
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

/// Fastest first, as they would be chosen.
fn simd() -> Vec<Simd> {
    Simd::available().into_iter().rev().collect()
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
