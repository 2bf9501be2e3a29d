//! Compares the bits of random kernels between the emulator, the interpreter of PTX and, where there is one, this machine's GPU.
//!
//! TRIAL_KERNELS=1000 cargo run -p kernel_trials          kernels 1 to 1000
//! cargo run -p kernel_trials -- 17 40                    only the named ones
//!
//! The build writes the kernels: `TRIAL_KERNELS` is their number and `TRIAL_SEED` that of the first. The program has the PTX in it and runs on machines
//! that have no compiler.

use std::error::Error;
use std::process::Command;
use std::sync::Arc;

use kernel_trials_kernels::random::{self, Random};
use kernel_trials_kernels::{BLOCK, DYNAMIC, SCRATCH, WORDS};
use trisolar_device::{
    Buffer, Device, Emulator, GpuError, Grid, driver_present, include_kernels, open,
};
use trisolar_driver::context::{CurrentContext, ResourceLimit};

include_kernels!();

/// The name of this machine's GPU in reports.
const GPU: &str = "GPU";
/// Bytes of stack of a thread of the GPU; recursive kernels need more than the usual kilobyte.
const STACK_BYTES: usize = 1 << 15;
/// Number of blocks of a launch.
const BLOCKS: u32 = 2;
/// Seeds of the launches of each kernel.
const SEEDS: std::ops::Range<u64> = 1..3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut engines = engines();
    match driver_present() {
        true => {
            engines.push((GPU, open(0)?));
            CurrentContext::set_resource_limit(ResourceLimit::StackSize, STACK_BYTES)?;
        }
        false => println!("no GPU here: only the emulator and the interpreter run"),
    }
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let number = |kernel: &Random| kernel.name().unwrap_or_default().replace("random_", "");
    let mut kernels = random::all();
    kernels.retain(|kernel| asked.is_empty() || asked.contains(&number(kernel)));
    let (mut launches, mut words, mut wrong, mut failed) = (0, 0, 0, 0);
    let mut left = kernels.iter();
    'kernels: for kernel in left.by_ref() {
        let name = kernel.name().unwrap_or_default();
        for seed in SEEDS {
            launches += 1;
            match difference(&engines, *kernel, seed) {
                Ok(None) => words += words_of_launch(),
                Ok(Some(said)) => {
                    println!("{name}, seed {seed}: {said}");
                    wrong += 1;
                }
                Err((engine, error)) => {
                    println!("{name}, seed {seed}, failed on the {engine}: {error}");
                    failed += 1;
                    // A GPU runs nothing more in a process in which a kernel has failed.
                    if engine == GPU {
                        break 'kernels;
                    }
                }
            }
        }
    }
    let names: Vec<&str> = engines.iter().map(|(name, _)| *name).collect();
    println!(
        "{launches} launches on each of {}: {words} words are equal, {wrong} launches differ, {failed} failed",
        names.join(", ")
    );
    let left: Vec<String> = left.map(number).collect();
    let is_rest_right = left.is_empty() || {
        println!("the other {} kernels run in a new process", left.len());
        let mut program = Command::new(std::env::current_exe()?);
        program.args(left).status()?.success()
    };
    match wrong + failed {
        0 if is_rest_right => Ok(()),
        _ => Err("the engines disagree, or a launch failed".into()),
    }
}

/// What runs kernels, by name. The emulator is the first.
fn engines() -> Vec<(&'static str, Arc<dyn Device>)> {
    let emulator = || Emulator::new("emulator".into());
    vec![
        ("emulator", Arc::new(emulator())),
        ("interpreter", Arc::new(emulator().interpreted())),
    ]
}

fn words_of_launch() -> usize {
    (BLOCKS * BLOCK) as usize * WORDS + SCRATCH
}

/// The words that a launch writes.
fn words(device: &Arc<dyn Device>, kernel: Random, seed: u64) -> Result<Vec<u64>, GpuError> {
    let mut words = vec![0; words_of_launch()];
    let buffer = Buffer::of(device, &words)?;
    let out = buffer.as_mut_ptr();
    let grid = Grid::new(BLOCKS, BLOCK).shared(DYNAMIC);
    // SAFETY: the words of all threads, followed by those of the grid, which nothing else uses.
    unsafe {
        device.launch_entry(kernel, grid, (seed, out, out.add(words.len() - SCRATCH)))?;
    }
    buffer.download(&mut words)?;
    Ok(words)
}

/// How the engines differ in a launch, or the engine that has not run it, and why.
fn difference<'a>(
    engines: &[(&'a str, Arc<dyn Device>)],
    kernel: Random,
    seed: u64,
) -> Result<Option<String>, (&'a str, GpuError)> {
    let mut expected: Option<Vec<u64>> = None;
    for (name, device) in engines {
        let found = words(device, kernel, seed).map_err(|error| (*name, error))?;
        let Some(expected) = &expected else {
            expected = Some(found);
            continue;
        };
        let mut both = expected.iter().zip(&found);
        if let Some(word) = both.position(|(a, b)| a != b) {
            return Ok(Some(format!(
                "{name} has {:#x} in word {} of thread {}, and the emulator {:#x}",
                found[word],
                word % WORDS,
                word / WORDS,
                expected[word]
            )));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use kernel_trials_kernels::{Seeded, seeded};

    use super::*;

    /// Whether kernels are compiled; otherwise it says that it skips a test.
    fn is_compiled(error: &str) -> bool {
        let is_compiled = !error.contains("not compiled for GPUs");
        assert!(
            is_compiled || std::env::var_os("TRISOLAR_NO_SKIP").is_none(),
            "{error}"
        );
        if !is_compiled {
            println!("SKIPPED: {error}");
        }
        is_compiled
    }

    #[test]
    fn random_kernels_have_the_same_bits_in_emulator_and_interpreter() {
        let engines = engines();
        let launches =
            (random::all().into_iter()).flat_map(|kernel| SEEDS.map(move |seed| (kernel, seed)));
        for (kernel, seed) in launches {
            let said = match difference(&engines, kernel, seed) {
                Ok(None) => continue,
                Ok(Some(said)) => said,
                Err((_, error)) if !is_compiled(&error.to_string()) => return,
                Err((engine, error)) => format!("{engine}: {error}"),
            };
            panic!("{}, seed {seed}: {said}", kernel.name().unwrap_or_default());
        }
    }

    /// What the interpreter says of a kernel with a fault.
    fn reported(fault: &Seeded) -> String {
        let device: Arc<dyn Device> = Arc::new(Emulator::new("emulator".into()).interpreted());
        let numbers: [u32; 64] = std::array::from_fn(|i| i as u32);
        let x = Buffer::of(&device, &numbers).expect("a buffer");
        let (y, z) = (
            device.allocate(256).expect("memory"),
            device.allocate(256).expect("memory"),
        );
        // SAFETY: it is not used after this, except by the interpreter, which finds that.
        unsafe { device.free(z, 256) };
        let grid = Grid::new(fault.grid.0, fault.grid.1).shared(256);
        let grid = if fault.grid.0 > 1 {
            grid.cooperative()
        } else {
            grid
        };
        let arguments = (x.as_mut_ptr(), y as *mut u32, z as *mut u32, 64);
        // SAFETY: the interpreter checks every access before it happens.
        let ran = unsafe { device.launch_entry(fault.kernel, grid, arguments) };
        // SAFETY: nothing uses it any longer.
        unsafe { device.free(y, 256) };
        ran.map_or_else(|error| error.to_string(), |()| "nothing".into())
    }

    #[test]
    fn the_interpreter_finds_seeded_faults_in_their_lines() {
        let all = seeded();
        let mut missed = Vec::new();
        for fault in &all {
            let said = reported(fault);
            if !is_compiled(&said) {
                return;
            }
            let is_found = |(line, words): &(u32, &str)| {
                said.contains(&format!("faults.rs:{line}, ")) && said.contains(words)
            };
            if !fault.lines.iter().any(is_found) {
                missed.push(format!(
                    "{:?}, lines {:?}: {said}",
                    fault.kernel, fault.lines
                ));
            }
        }
        println!(
            "{} of {} seeded faults are found",
            all.len() - missed.len(),
            all.len()
        );
        assert!(
            all.len() >= 100 && missed.is_empty(),
            "{}",
            missed.join("\n")
        );
    }
}
