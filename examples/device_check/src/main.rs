//! Checks whether this GPU and the emulator agree on every word that the kernels of `kernels/` compute.
//!
//! cargo run --release -p device_check            all kernels
//! cargo run --release -p device_check -- text    only the named kernels

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

use std::sync::Arc;

use cuda_std::emulator::{EmulatorError, Launch};
use cuda_std::glam::{DVec4, IVec4, Vec2, Vec4};
use cuda_std::{Entry, Plain, RawSlice};
use device_check_kernels::{self as kernels, BLOCK, Body, SCRATCH, WORDS};
use trisolar_device::{Buffer, Device, GpuError, Grid, driver_present, include_kernels, open};
use trisolar_driver::context::{CurrentContext, ResourceLimit};

include_kernels!();

/// Number of blocks of a launch.
const BLOCKS: u32 = 6;
/// Seeds of the launches of each kernel.
const SEEDS: std::ops::Range<u64> = 1..9;

/// Stack size of a thread of the GPU in bytes.
const STACK_BYTES: usize = 1 << 15;

/// The numbers to which the host sets the kernels' constant.
fn numbers() -> [u64; 16] {
    std::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

type Kernel = unsafe fn(u64, *mut u64, *mut u64);

/// A kernel on a GPU.
type OnGpu = Entry<(u64, *mut u64, *mut u64)>;

/// Lists the kernels with their names.
macro_rules! named {
    ($($name:ident $descriptor:ident,)*) => {
        [$((
            stringify!($name),
            kernels::$name as Kernel,
            Entry::of::<kernels::$descriptor>(),
        )),*]
    };
}

fn all() -> impl IntoIterator<Item = (&'static str, Kernel, OnGpu)> {
    named![
        exact_functions ExactFunctions,
        functions Functions,
        functions_f32 FunctionsF32,
        further_functions FurtherFunctions,
        intrinsics_rounding IntrinsicsRounding,
        intrinsics_integers IntrinsicsIntegers,
        intrinsics_functions IntrinsicsFunctions,
        integers Integers,
        conversions Conversions,
        shuffles Shuffles,
        votes Votes,
        barriers Barriers,
        shared_memory SharedMemory,
        constant_memory ConstantMemory,
        shared_statics SharedStatics,
        atomics_of_integers AtomicsOfIntegers,
        small_atomics SmallAtomics,
        atomics_of_floats AtomicsOfFloats,
        atomics_of_own_memory AtomicsOfOwnMemory,
        dispatch Dispatch,
        iterators Iterators,
        sorting Sorting,
        long_sorting LongSorting,
        layouts Layouts,
        slices Slices,
        collections Collections,
        text Text,
        selected_places SelectedPlaces,
        linked_places LinkedPlaces,
        stored_places StoredPlaces,
        shuffled_places ShuffledPlaces,
        places_in_structures PlacesInStructures,
        slices_of_shared_arrays SlicesOfSharedArrays,
        objects_in_shared_memory ObjectsInSharedMemory,
        names_of_shared_arrays NamesOfSharedArrays,
        atomics_of_all_widths AtomicsOfAllWidths,
        places_as_integers PlacesAsIntegers,
        moves_between_memories MovesBetweenMemories,
        enums Enums,
        constant_arrays ConstantArrays,
        wide_integers WideIntegers,
        remainders Remainders,
        edges_of_numbers EdgesOfNumbers,
        negated_numbers NegatedNumbers,
        alignments Alignments,
        bits_of_floats BitsOfFloats,
        instances Instances,
        divergent_flow DivergentFlow,
        changed_memory ChangedMemory,
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let gpu = match driver_present() {
        true => Some(Gpu::open()?),
        false => {
            println!("no GPU here: only the emulator runs");
            None
        }
    };
    // SAFETY: no kernel runs yet.
    unsafe { kernels::NUMBERS.set(numbers()) };
    let mut wrong = 0;
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let names = (all().into_iter()).map(|(name, kernel, entry)| (name, Some((kernel, entry))));
    for (name, kernel) in names.chain([("by_value", None), ("collectives", None)]) {
        if !asked.is_empty() && !asked.iter().any(|asked| asked == name) {
            continue;
        }
        let gpu = gpu.as_ref();
        let verdict = match kernel {
            Some((kernel, entry)) => compare(
                |seed| emulate(kernel, seed, 0),
                |gpu, seed| gpu.run(entry, seed),
                gpu,
            ),
            None if name == "by_value" => compare(emulate_by_value, Gpu::run_by_value, gpu),
            None => compare(
                emulate_collectives,
                |gpu, seed| run_collectives(&gpu.0, seed),
                gpu,
            ),
        }?;
        let text = match &verdict {
            None => "emulated".to_owned(),
            Some(verdict) => verdict.to_string(),
        };
        println!("{name:<20} {text}");
        wrong += verdict.map_or(0, |verdict| verdict.different);
    }
    if wrong > 0 {
        return Err("GPU and emulator disagree".into());
    }
    Ok(())
}

/// The result of comparing a kernel's words.
struct Verdict {
    words: usize,
    different: usize,
    /// The first difference: seed, thread and word.
    first: Option<(u64, usize, usize)>,
    /// The words of a thread that differ in any thread.
    which: BTreeSet<usize>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((seed, thread, word)) = self.first else {
            return write!(f, "{} words, equal", self.words);
        };
        write!(
            f,
            "{} of {} words DIFFER, the first with seed {seed} in thread {thread}, word {word}; words {:?}",
            self.different, self.words, self.which
        )
    }
}

/// Runs a kernel with every seed, and compares the results if there is a GPU.
fn compare(
    emulate: impl Fn(u64) -> Result<Vec<u64>, EmulatorError>,
    run: impl Fn(&Gpu, u64) -> Result<Vec<u64>, GpuError>,
    gpu: Option<&Gpu>,
) -> Result<Option<Verdict>, Box<dyn Error>> {
    let mut verdict = Verdict {
        words: 0,
        different: 0,
        first: None,
        which: BTreeSet::new(),
    };
    for seed in SEEDS {
        let expected = emulate(seed)?;
        let Some(gpu) = gpu else { continue };
        let found = run(gpu, seed)?;
        verdict.words += expected.iter().filter(|word| **word != 0).count();
        let both = expected.iter().zip(&found);
        for (i, _) in both.enumerate().filter(|(_, (a, b))| a != b) {
            verdict.different += 1;
            verdict.which.insert(i % WORDS);
            verdict.first.get_or_insert((seed, i / WORDS, i % WORDS));
        }
    }
    Ok(gpu.map(|_| verdict))
}

/// Memory for the words of every thread, followed by those of the grid.
fn room() -> Vec<u64> {
    vec![0; (BLOCKS * BLOCK) as usize * WORDS + SCRATCH]
}

/// The words that the emulator computes; `order` is the seed of the order of its threads.
fn emulate(kernel: Kernel, seed: u64, order: u64) -> Result<Vec<u64>, EmulatorError> {
    let mut words = room();
    let out = words.as_mut_ptr();
    // SAFETY: the last SCRATCH words are those of the grid.
    let scratch = unsafe { out.add(words.len() - SCRATCH) };
    let launch = Launch::new(BLOCKS, BLOCK)
        .shared_bytes(BLOCK as usize * 8)
        .seed(order);
    // SAFETY: there are as many words as the kernels require, and nothing else uses them.
    unsafe { launch.run(|| kernel(seed, out, scratch)) }?;
    Ok(words)
}

/// A structure of the kernels, which is copied to the device bit by bit.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Shared(Body);

// SAFETY: `Body` holds only numbers, with the same layout on the device.
unsafe impl Plain for Shared {}

/// The arguments of `by_value` other than the slice and the output.
fn values(seed: u64) -> (Body, Vec2, Vec4, DVec4, IVec4) {
    let x = seed as f32 * 0.75;
    (
        Body::new(seed),
        Vec2::new(x, 3.0),
        Vec4::new(x + 1.0, x - 1.0, 2.0, 4.0),
        DVec4::new(0.5, f64::from(x), 2.5, -1.0),
        IVec4::new(1, 2, 3, seed as i32),
    )
}

/// The structures in the slice.
fn bodies(seed: u64) -> Vec<Body> {
    (0..5).map(|i| Body::new(seed * 10 + i)).collect()
}

fn emulate_by_value(seed: u64) -> Result<Vec<u64>, EmulatorError> {
    let mut words = room();
    let out = words.as_mut_ptr();
    let (body, corner, colour, spin, cell) = values(seed);
    let bodies = bodies(seed);
    let kernel = || {
        // SAFETY: there are as many words as the kernels require, and nothing else uses them.
        unsafe { kernels::by_value(body, corner, colour, spin, cell, &bodies, out) }
    };
    // SAFETY: as above.
    unsafe { Launch::new(BLOCKS, BLOCK).run(kernel) }?;
    Ok(words)
}

/// Blocks of several sizes, one for each seed.
fn collective_grid(seed: u64) -> Grid {
    Grid::new(3, [64, 1, 33, 100, 256, 32, 777, 1024][seed as usize % 8])
}

fn emulate_collectives(seed: u64) -> Result<Vec<u64>, EmulatorError> {
    let grid = collective_grid(seed);
    let mut words = vec![[0; WORDS]; (grid.blocks * grid.threads) as usize];
    Launch::new(grid.blocks, grid.threads).run_safe::<kernels::Collectives>((seed, &mut words))?;
    Ok(words.into_flattened())
}

fn run_collectives(device: &Arc<dyn Device>, seed: u64) -> Result<Vec<u64>, GpuError> {
    let grid = collective_grid(seed);
    let mut words = vec![[0; WORDS]; (grid.blocks * grid.threads) as usize];
    let mut buffer = Buffer::of(device, &words)?;
    device.run::<kernels::Collectives>(grid, (seed, &mut buffer))?;
    buffer.download(&mut words)?;
    Ok(words.into_flattened())
}

/// A GPU, with kernels that are launched as in any program.
struct Gpu(Arc<dyn Device>);

impl Gpu {
    fn open() -> Result<Self, Box<dyn Error>> {
        let device = open(0)?;
        // Recursion and formatting need more than the default stack of a kilobyte.
        CurrentContext::set_resource_limit(ResourceLimit::StackSize, STACK_BYTES)?;
        // SAFETY: no kernel runs yet.
        unsafe { device.set_constant(&kernels::NUMBERS, numbers())? };
        Ok(Self(device))
    }

    fn run(&self, entry: OnGpu, seed: u64) -> Result<Vec<u64>, GpuError> {
        let words = Buffer::of(&self.0, &room())?;
        let out = words.as_mut_ptr();
        let grid = Grid::new(BLOCKS, BLOCK).shared(BLOCK * 8);
        // SAFETY: there are as many words as the kernels require, with the grid's words after those of the threads; nothing else uses
        // them.
        unsafe { (self.0).launch_entry(entry, grid, (seed, out, out.add(words.len() - SCRATCH)))? };
        downloaded(&words)
    }

    fn run_by_value(&self, seed: u64) -> Result<Vec<u64>, GpuError> {
        let words = Buffer::of(&self.0, &room())?;
        let bodies: Vec<Shared> = bodies(seed).into_iter().map(Shared).collect();
        let bodies = Buffer::of(&self.0, &bodies)?;
        let slice = RawSlice::new(bodies.as_ptr().cast(), bodies.len());
        let (body, corner, colour, spin, cell) = values(seed);
        let arguments = (body, corner, colour, spin, cell, slice, words.as_mut_ptr());
        // SAFETY: there are as many words as the kernels require, and a slice of as many structures as its length says.
        unsafe { (self.0).launch::<kernels::ByValue>(Grid::new(BLOCKS, BLOCK), arguments)? };
        downloaded(&words)
    }
}

/// The words that a kernel has written.
fn downloaded(words: &Buffer<u64>) -> Result<Vec<u64>, GpuError> {
    let mut host = room();
    words.download(&mut host)?;
    Ok(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trisolar_device::Emulator;

    #[test]
    fn the_emulator_finds_the_shared_statics_of_all_crates() {
        // The statics are TILE and SUM of the crate tiles; LINE, PAIR and PLACE; COUNT and OWN within functions; and in `places` FIRST, SECOND,
        // PLACES and three that are called TILE.
        assert_eq!(cuda_std::emulator::SHARED_STATICS.len(), 13);
    }

    #[test]
    fn results_do_not_depend_on_the_order_of_threads() {
        for (name, kernel, _) in all() {
            let words = emulate(kernel, 3, 1).unwrap();
            assert!(
                words.iter().filter(|word| **word != 0).count() > 100,
                "{name}"
            );
            assert!(words == emulate(kernel, 3, 2).unwrap(), "{name}");
        }
    }

    #[test]
    fn the_ptx_of_collectives_gives_the_bits_of_their_rust() {
        let device: Arc<dyn Device> = Arc::new(Emulator::new("emulator".into()).compared());
        for seed in SEEDS {
            let words = match run_collectives(&device, seed) {
                Err(e) if e.to_string().contains("not compiled for GPUs") => {
                    assert!(std::env::var_os("TRISOLAR_NO_SKIP").is_none(), "{e}");
                    println!("SKIPPED: {e}");
                    return;
                }
                words => words.unwrap(),
            };
            assert!(words == emulate_collectives(seed).unwrap(), "{seed}");
        }
    }

    #[test]
    fn every_thread_sees_the_arguments() {
        let words = emulate_by_value(3).unwrap();
        let first = |seed: u64| (seed & 255) << 32 | (1000 + seed);
        // The 36th word is the first word of the structure in the slice.
        for (t, own) in (0..).zip(words[..words.len() - SCRATCH].chunks(WORDS)) {
            assert_eq!((own[0], own[35]), (first(3), first(30 + t % 5)));
        }
    }
}
