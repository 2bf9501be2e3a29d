//! `trisolar devices`: lists the devices of this machine.

use std::time::Instant;

use trisolar::gpu::{self, DeviceInfo};
use trisolar::machine;
use trisolar::simd::has_fma;

use super::Failure;
use super::report::{self, Common, Lines};

/// Options of `trisolar devices`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

/// Lists the devices. A machine without a GPU is not a failure.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.json {
        return report::json(&object());
    }
    let gpus = gpu::devices();
    let mut lines = Lines::default();
    match &gpus {
        Ok(list) => list.iter().for_each(|gpu| describe_gpu(gpu, &mut lines)),
        Err(error) => lines.add("gpu", &error.to_string()),
    }
    if let Some(version) = machine::driver_cuda() {
        lines.add("driver", &format!("supports CUDA {version}"));
    }
    lines.add("kernels", machine::kernels());
    lines.add("cpu", &machine::cpu_name());
    lines.add("threads", &machine::threads().to_string());
    let sets: Vec<String> = machine::simd()
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
            "no: computed in software, with the same bits, but slowly"
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

/// The JSON object.
fn object() -> serde_json::Value {
    let begin = Instant::now();
    let found = machine::inventory();
    let gpus = found["gpus"].as_array().into_iter().flatten();
    let gpus = gpus.map(|gpu| {
        format!(
            "GPU {}, {}",
            gpu["index"],
            gpu["name"].as_str().unwrap_or_default()
        )
    });
    let names: Vec<String> = gpus.chain([machine::cpu_name()]).collect();
    let common = Common {
        devices: report::devices(names.iter().map(String::as_str)),
        seconds: begin.elapsed().as_secs_f64(),
        notes: found["no_gpu"]
            .as_str()
            .map(str::to_owned)
            .into_iter()
            .collect(),
        ..Common::default()
    };
    common.with(found)
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
