//! The engine of devices that run the kernels: GPUs, or the emulator of the grid.
//!
//! Every device holds and predicts all particles. When the host performs block steps, the partial sums of the forces are distributed over
//! the devices; each device sums and folds its own, and the host folds the results of the devices. When the devices perform block steps,
//! the active particles are distributed.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use kernels_gpu::Vec3;
use kernels_gpu::device::hermite::chains::MOST_REMAINING;
use kernels_gpu::device::hermite::neighbours::ListLaunch;
use kernels_gpu::device::hermite::problem::Begun;
use kernels_gpu::device::hermite::tiles::{Capacity, Shape};
use kernels_gpu::device::hermite::{
    Launch, Record, chains, divided_steps, lanes, star_width, tiles, width,
};
use kernels_gpu::hermite::arithmetic::{Plain, SplitF32};
use kernels_gpu::kernels::{
    HermiteFold, HermiteLanes, HermiteNeighbours, HermitePotential, HermitePredict, HermiteScatter,
    HermiteTiles,
};
use kernels_gpu::physics::softening::{softening2, softening2_single};
use kernels_gpu::physics::summation::partial_sums::{
    SHORT_PARTIAL_SUMS, fold, partial_sums, terms,
};

use self::array::Array;
use super::engine::{BlockStepOutcome, BlockStepRequest, SubsetSums, SumSubset};
use super::{
    Engine, Forces, HermiteError, Lists, Motion, Order, Parts, Precision, Specification, Star,
};
use trisolar_device::{Device, Entry, Grid, Moment, Queue};
use trisolar_run::{EngineError, Workers, machine};

mod array;
mod neighbour_steps;
mod steps;

/// Threads per block of force kernels with tiles on a GPU: few, because few particles are active at a time.
const TILE_BLOCK_THREADS: u32 = 64;
/// Number of these blocks that a multiprocessor runs at a time, by their registers.
const TILE_BLOCKS_PER_MULTIPROCESSOR: u32 = 4;

/// An engine on these devices together, which divide the source particles among them; `workers` do the part of the host.
///
/// # Panics
/// If there are no devices.
pub fn on_devices(devices: Vec<Arc<dyn Device>>, workers: Workers) -> Box<dyn Engine> {
    Box::new(DeviceEngine::new(
        devices,
        TILE_BLOCK_THREADS,
        None,
        MANY_PAIRS,
        workers,
    ))
}

/// An engine that runs the code of the kernels in emulated grids. No parameter changes a bit of the result: `devices` emulated
/// devices share the work; up to `few` active particles have a block each, and more are computed in blocks of `block` threads.
pub fn emulator(devices: usize, few: u32, block: u32, seed: Option<u64>) -> Box<dyn Engine> {
    resident_emulator(devices, 1, few, u64::MAX, block, seed)
}

/// An [`emulator`] of `devices` devices that perform whole block steps in grids of `resident` blocks, which wait for each other. They
/// leave the forces of a block step with `many_pairs` pairs or more to the force kernel.
/// With `few` = 0, the general kernel takes all block steps, also those of systems for which there is a special one.
pub fn resident_emulator(
    devices: usize,
    resident: u32,
    few: u32,
    many_pairs: u64,
    block: u32,
    seed: Option<u64>,
) -> Box<dyn Engine> {
    let emulator =
        || Arc::new(machine::emulator().seed(seed).resident(resident)) as Arc<dyn Device>;
    let devices = (0..devices).map(|_| emulator()).collect();
    Box::new(DeviceEngine::new(
        devices,
        block,
        Some(few),
        many_pairs,
        Workers::default(),
    ))
}

/// The kernel that predicts all stars.
fn predict_entry(order: Order) -> Entry<(*const f64, *mut f64, f64, u32)> {
    match order {
        Order::Four => Entry::of::<HermitePredict<4, 2>>(),
        Order::Six => Entry::of::<HermitePredict<6, 3>>(),
        Order::Eight => Entry::of::<HermitePredict<8, 4>>(),
    }
}

/// A kernel that sums forces on active bodies.
type ForceEntry = Entry<(Launch, *const f64, *const u32, *mut f64)>;

/// A kernel that sums forces in a [`Shape`].
type TilesEntry = Entry<(Launch, Shape, *const f64, *const u32, *mut f64)>;

/// Evaluates an expression with the arithmetic `A` of a precision, and the order `P` and the number `D` of derivatives of an order.
macro_rules! with_types {
    (@ $A:ty, $P:literal, $D:literal, $a:ident, $p:ident, $d:ident, $what:expr) => {{
        type $a = $A;
        #[allow(dead_code)]
        const $p: usize = $P;
        const $d: usize = $D;
        $what
    }};
    ($precision:expr, $order:expr, |$a:ident, $p:ident, $d:ident| $what:expr) => {
        match ($precision, $order) {
            (Precision::F64, Order::Four) => with_types!(@ Plain<f64>, 4, 2, $a, $p, $d, $what),
            (Precision::F64, Order::Six) => with_types!(@ Plain<f64>, 6, 3, $a, $p, $d, $what),
            (Precision::F64, Order::Eight) => with_types!(@ Plain<f64>, 8, 4, $a, $p, $d, $what),
            (Precision::SplitF32, Order::Four) => with_types!(@ SplitF32<f32>, 4, 2, $a, $p, $d, $what),
            (Precision::SplitF32, Order::Six) => with_types!(@ SplitF32<f32>, 6, 3, $a, $p, $d, $what),
            (Precision::SplitF32, Order::Eight) => with_types!(@ SplitF32<f32>, 8, 4, $a, $p, $d, $what),
        }
    };
}
use with_types;

/// The force kernel for many active bodies.
fn tiles_entry(order: Order, precision: Precision) -> TilesEntry {
    with_types!(precision, order, |A, P, D| Entry::of::<
        HermiteTiles<A, D, { <A as Record<D>>::BODIES }>,
    >())
}

/// The force kernel for few active bodies.
fn lanes_entry(order: Order, precision: Precision) -> ForceEntry {
    with_types!(precision, order, |A, P, D| Entry::of::<HermiteLanes<A, D>>(
    ))
}

/// Threads per block of the kernels with a thread per place or number.
const BLOCK_THREADS: u32 = 128;
/// Largest number of partial results in memory: 256 MiB.
const MAX_PARTIAL_RESULTS: usize = 1 << 25;

/// Number of pairs of a device in a block step (0.4 ms) from which on the force kernel saves more time than its launch takes.
const MANY_PAIRS: u64 = 1 << 27;

/// Largest number of places of lists in memory at a time.
const MAX_LISTED_PLACES: usize = 1 << 22;

/// Holds particles on devices and runs the kernels there.
struct DeviceEngine {
    devices: Vec<Arc<dyn Device>>,
    /// Threads per block of the kernels with tiles.
    block: u32,
    /// Number of active particles up to which each has a block; `None` if it is derived from the device.
    few: Option<u32>,
    memories: Vec<DeviceMemory>,
    host: Vec<f64>,
    /// Number of pairs of a device in a block step from which on the devices leave its forces to the force kernel.
    many_pairs: u64,
    /// The threads that do the part of the host.
    workers: Workers,
    /// The reason why the devices do not perform whole block steps, once it has been asked for.
    no_block_steps: OnceCell<Option<String>>,
    /// Start and end of the forces that the first device sums between two launches of block steps, until the second one is done.
    forces: Option<[Moment; 2]>,
}

struct DeviceMemory {
    device: Arc<dyn Device>,
    order: Order,
    precision: Precision,
    softening2: f64,
    force_softening2: f64,
    bodies: usize,
    /// Number of active particles up to which a block for each is faster than tiles.
    few: u32,
    /// Number of active particles from which on the device leaves the forces of its block steps to the force kernel.
    many: u32,
    stars: Array<f64>,
    predicted: Array<f64>,
    active: Array<u32>,
    /// The contents of `active`.
    listed: Vec<u32>,
    staging: Array<f64>,
    partial: Array<f64>,
    partial_length: usize,
    /// The subsets of the partial sums that the device sums next.
    subsets: Vec<SumSubset>,
    /// Results, for each of them.
    out: Vec<Array<f64>>,
    /// Number of places, lists of neighbours with that much room, and their lengths.
    lists: Option<(usize, Array<u32>, Array<u32>)>,
    /// The block that the device has begun, with its forces in `out[0]`.
    begun: Begun,
    /// The special kernel that takes the block steps, if there is one.
    special: Option<steps::Special>,
    /// The buffers of whole block steps, after the first one.
    resident: Option<steps::Resident>,
    /// Those of the Ahmad–Cohen scheme.
    split: Option<neighbour_steps::Split>,
}

impl DeviceEngine {
    /// An engine with blocks of `block` threads for tiles.
    fn new(
        devices: Vec<Arc<dyn Device>>,
        block: u32,
        few: Option<u32>,
        many_pairs: u64,
        workers: Workers,
    ) -> Self {
        assert!(!devices.is_empty());
        Self {
            devices,
            block,
            few,
            memories: Vec::new(),
            host: Vec::new(),
            many_pairs,
            workers,
            no_block_steps: OnceCell::new(),
            forces: None,
        }
    }

    /// The memories, for other work than block steps of the devices.
    fn each(&mut self) -> impl Iterator<Item = &mut DeviceMemory> {
        assert!(!self.memories.is_empty(), "load comes first");
        for memory in &mut self.memories {
            memory.begun = Begun::default();
        }
        self.memories.iter_mut()
    }

    /// Number of active particles up to which a block for each of this many bodies is faster than tiles.
    fn few(&self, device: &dyn Device, bodies: usize) -> u32 {
        if partial_sums(bodies) > SHORT_PARTIAL_SUMS {
            return 0;
        }
        self.few.unwrap_or(2 * device.info().multiprocessors)
    }

    /// Number of active particles of this many bodies from which on the force kernel sums the forces of the devices' block steps.
    fn many(&self, bodies: usize) -> u32 {
        let pairs = self.many_pairs.saturating_mul(self.devices.len() as u64);
        u32::try_from(pairs.div_ceil(bodies as u64)).unwrap_or(u32::MAX)
    }

    /// Whether a special kernel may take the block steps. Tests exclude it by `few` = 0.
    fn may_be_special(&self, specification: &Specification) -> bool {
        self.devices.len() == 1
            && specification.iterations == 1
            && specification.ahmad_cohen.is_none()
            && self.few != Some(0)
    }

    /// Number of parts into which the partial sums of `bodies` in a subset are divided: a power of two.
    fn parts(&self, bodies: usize, of: SumSubset) -> u32 {
        let most = partial_sums(bodies) as u32 / of.stride;
        (self.devices.len() as u32).next_power_of_two().min(most)
    }

    /// The parts of a subset that the device with this number sums.
    fn subsets(&self, bodies: usize, of: SumSubset, device: usize) -> Vec<SumSubset> {
        let parts = self.parts(bodies, of);
        let mine = (device as u32..parts).step_by(self.devices.len());
        mine.map(|part| SumSubset {
            first: of.first + part * of.stride,
            stride: of.stride * parts,
        })
        .collect()
    }

    /// Divides the partial sums of a subset among the devices.
    fn divide(&mut self, of: SumSubset) {
        for device in 0..self.memories.len() {
            let bodies = self.memories[device].bodies;
            self.memories[device].subsets = self.subsets(bodies, of, device);
        }
    }

    /// Adds up the results of the parts of a subset, `length` numbers each, into `host`.
    fn collect(&mut self, of: SumSubset, length: usize) -> Result<(), EngineError> {
        let parts = self.parts(self.memories[0].bodies, of) as usize;
        self.host.resize(parts * length, 0.0);
        for memory in &mut self.memories {
            for (subset, out) in memory.subsets.iter().zip(&mut memory.out) {
                let from = (subset.first / of.stride) as usize * length;
                out.get(&mut self.host[from..from + length])?;
            }
        }
        if parts > 1 {
            let mut values = vec![0.0; parts];
            for at in 0..length {
                for (part, value) in values.iter_mut().enumerate() {
                    *value = self.host[part * length + at];
                }
                self.host[at] = fold(&mut values);
            }
        }
        self.host.truncate(length);
        Ok(())
    }

    /// Computes the forces of [`forces_of`](SubsetSums::forces_of). If they are timed, returns marks in the queue of each device before and after
    /// its forces.
    fn compute_forces(
        &mut self,
        subset: SumSubset,
        places: &[u32],
        out: &mut [Forces],
        is_timed: bool,
    ) -> Result<Vec<[Moment; 2]>, HermiteError> {
        self.divide(subset);
        let block = self.block;
        let (mut d, mut marks) = (0, Vec::new());
        for memory in self.each() {
            d = memory.order.derivatives();
            memory.list(places)?;
            marks.extend(memory.force(places.len(), block, is_timed)?);
        }
        self.collect(subset, 3 * d * places.len())?;
        for (numbers, out) in self.host.chunks_exact(3 * d).zip(out) {
            *out = [Vec3 {
                x: 0.0,
                y: 0.0,
                z: 0.0,
            }; 4];
            for (v, n) in out.iter_mut().zip(numbers.chunks_exact(3)) {
                *v = Vec3 {
                    x: n[0],
                    y: n[1],
                    z: n[2],
                };
            }
        }
        Ok(marks)
    }
}

/// What the kernels for an order and a precision need.
struct Needs {
    /// Words per body in a tile.
    words: usize,
    /// Bodies per thread of the kernel with tiles.
    bodies: u32,
    /// The bytes of shared memory of so many threads that compute forces in chains.
    chains_bytes: fn(u32) -> u32,
    /// Those of each block among which the stars are divided, by the number of partial sums, that of their terms and that of the blocks.
    divided_bytes: fn(u32, u32, u32) -> u32,
}

impl Needs {
    fn of<A: Record<D>, const D: usize>() -> Self {
        Self {
            words: A::WORDS,
            bodies: A::BODIES as u32,
            chains_bytes: chains::shared_bytes::<A, D>,
            divided_bytes: divided_steps::shared_bytes::<A, D>,
        }
    }
}

/// What the kernels for this order and precision need.
fn needs(order: Order, precision: Precision) -> Needs {
    with_types!(precision, order, |A, P, D| Needs::of::<A, D>())
}

impl DeviceMemory {
    fn new(
        device: &Arc<dyn Device>,
        few: u32,
        many: u32,
        specification: &Specification,
        stars: &[Star],
        subsets: Vec<SumSubset>,
    ) -> Result<Self, EngineError> {
        let order = specification.order;
        let (n, p, d) = (stars.len(), order.number() as usize, order.derivatives());
        let slots = partial_sums(n) * terms(n);
        let numbers = |length: usize| Array::new(device, length, false);
        let most = 3 * d * partial_sums(n).min(MOST_REMAINING as usize);
        let partial_length = (most * n).min(MAX_PARTIAL_RESULTS.max(most));
        let heaviest = stars.iter().map(|s| s.mass).fold(0.0, f64::max);
        let out = (subsets.iter())
            .map(|_| Array::new(device, 3 * d * n, true))
            .collect::<Result<_, EngineError>>()?;
        let mut memory = Self {
            device: device.clone(),
            order,
            precision: specification.precision,
            softening2: softening2(specification.softening),
            force_softening2: match specification.precision {
                Precision::F64 => softening2(specification.softening),
                Precision::SplitF32 => softening2_single(specification.softening, heaviest),
            },
            bodies: n,
            few,
            many,
            stars: numbers(slots * star_width(p))?,
            predicted: numbers(slots * width(d))?,
            active: Array::new(device, n, true)?,
            listed: Vec::new(),
            staging: Array::new(device, n * star_width(p).max(3 * d), true)?,
            partial: numbers(partial_length)?,
            partial_length,
            subsets,
            out,
            lists: None,
            begun: Begun::default(),
            special: None,
            resident: None,
            split: None,
        };
        memory.stars.put(&records(stars, p))?;
        Ok(memory)
    }

    /// Copies these places to `active`, unless it holds them already.
    fn list(&mut self, places: &[u32]) -> Result<(), EngineError> {
        if self.listed != places {
            self.active.put(places)?;
            self.listed.clear();
            self.listed.extend_from_slice(places);
        }
        Ok(())
    }

    /// Copies records to their places, which have `stride` numbers from `to` on, without the first `skip` of these.
    fn scatter(
        &mut self,
        places: &[u32],
        records: &[f64],
        to: *mut f64,
        stride: usize,
        skip: u32,
    ) -> Result<(), EngineError> {
        self.list(places)?;
        self.staging.put(records)?;
        let arguments = (
            self.staging.as_ptr(),
            self.active.as_ptr(),
            to,
            places.len() as u32,
            (records.len() / places.len()) as u32,
            stride as u32,
            skip,
        );
        let grid = Grid::covering(records.len() as u32, BLOCK_THREADS);
        // SAFETY: the staging has room for every body's record, and places are below the number of bodies.
        unsafe { self.device.launch::<HermiteScatter>(grid, arguments)? };
        Ok(())
    }

    /// Memory for lists of this many places for `count` particles.
    fn make_lists(&mut self, count: usize, capacity: usize) -> Result<(), EngineError> {
        let needed = count * capacity;
        if self.lists.as_ref().is_none_or(|(room, ..)| *room < needed) {
            self.lists = None;
            let places = |length| Array::new(&self.device, length, true);
            self.lists = Some((needed, places(needed)?, places(self.bodies)?));
        }
        Ok(())
    }

    fn launch(&self, part: SumSubset, count: usize, softening2: f64) -> Launch {
        Launch {
            softening2,
            sums: partial_sums(self.bodies) as u32,
            terms: terms(self.bodies) as u32,
            count: count as u32,
            first: part.first,
            stride: part.stride,
        }
    }

    /// Number of particles of which `most` partial sums, or all of them, fit into the memory.
    fn room(&self, launch: &Launch, most: usize) -> usize {
        let sums = (launch.parts() as usize).min(most);
        self.partial_length / (3 * self.order.derivatives() * sums)
    }

    /// Forces on the `count` places that are listed, for every part of this device. If it is timed, returns marks in the queue before and after them.
    fn force(
        &mut self,
        count: usize,
        block: u32,
        is_timed: bool,
    ) -> Result<Option<[Moment; 2]>, EngineError> {
        let values = 3 * self.order.derivatives();
        let mark = || {
            let mark = is_timed.then(|| self.device.mark(Queue::Compute));
            mark.transpose()
        };
        let begin = mark()?;
        for at in 0..self.subsets.len() {
            let (part, out) = (self.subsets[at], self.out[at].as_mut_ptr());
            self.sum_forces(part, out, count, block)?;
        }
        let end = mark()?;
        for out in &mut self.out[..self.subsets.len()] {
            out.ask(values * count)?;
        }
        Ok(begin.zip(end).map(|(begin, end)| [begin, end]))
    }

    /// Sums the forces on the `count` places that are listed.
    fn sum_forces(
        &self,
        part: SumSubset,
        out: *mut f64,
        count: usize,
        block: u32,
    ) -> Result<(), EngineError> {
        let values = 3 * self.order.derivatives();
        let launch = self.launch(part, count, self.force_softening2);
        if launch.count == 0 {
            return Ok(());
        }
        if launch.count <= self.few {
            return self.force_on_few(&launch, out);
        }
        // As many at a time as fit into the memory.
        let most = self.room(&launch, SHORT_PARTIAL_SUMS);
        for first in (0..count).step_by(most) {
            let launch = Launch {
                count: most.min(count - first) as u32,
                ..launch
            };
            let out = out.wrapping_add(first * values);
            self.force_on_many(&launch, first, out, block)?;
        }
        Ok(())
    }

    /// Loads the kernels that every run needs.
    fn load_kernels(&self) -> Result<(), EngineError> {
        let (order, precision) = (self.order, self.precision);
        let mut needed = vec![
            predict_entry(order).code(),
            Entry::of::<HermiteScatter>().code(),
            Entry::of::<HermitePotential>().code(),
        ];
        match self.few as usize >= self.bodies {
            true => needed.push(lanes_entry(order, precision).code()),
            false => needed.extend([
                tiles_entry(order, precision).code(),
                Entry::of::<HermiteFold>().code(),
            ]),
        }
        let needed: Vec<_> = needed.into_iter().map(|code| (code, None)).collect();
        Ok(self.device.prepare_all(&needed)?)
    }

    fn force_on_few(&self, launch: &Launch, out: *mut f64) -> Result<(), EngineError> {
        let parts = launch.parts();
        let shared = lanes::shared_bytes(3 * self.order.derivatives(), parts);
        let grid = Grid::new(launch.count, lanes::threads(parts)).shared(shared);
        let arguments = (*launch, self.predicted.as_ptr(), self.active.as_ptr(), out);
        let entry = lanes_entry(self.order, self.precision);
        // SAFETY: out has room for every body's forces.
        unsafe { self.device.launch_entry(entry, grid, arguments)? };
        Ok(())
    }

    fn force_on_many(
        &self,
        launch: &Launch,
        first: usize,
        out: *mut f64,
        block: u32,
    ) -> Result<(), EngineError> {
        let components = 3 * self.order.derivatives() as u32;
        let Needs { words, bodies, .. } = needs(self.order, self.precision);
        let partial = self.partial.as_mut_ptr();
        let places = self.active.as_ptr().wrapping_add(first);
        let multiprocessors = self.device.info().multiprocessors.max(1);
        let capacity = Capacity {
            multiprocessors,
            blocks: TILE_BLOCKS_PER_MULTIPROCESSOR * multiprocessors,
        };
        let shape = Shape::fastest(launch, block, bodies, &capacity);
        let force = (*launch, shape, self.predicted.as_ptr(), places, partial);
        let fold = (
            partial.cast_const(),
            out,
            components,
            launch.count,
            shape.remaining,
        );
        let shared = tiles::shared_bytes(words, self.order.derivatives(), block);
        let grid = Grid::new(shape.units(launch.count, bodies), block).shared(shared);
        let entry = tiles_entry(self.order, self.precision);
        // SAFETY: partial has room for what `force` allows, out for every body's forces.
        unsafe {
            self.device.launch_entry(entry, grid, force)?;
            let grid = Grid::covering(components * launch.count, BLOCK_THREADS);
            self.device.launch::<HermiteFold>(grid, fold)?;
        }
        Ok(())
    }
}

/// Records of stars, of order `p`.
fn records(stars: &[Star], p: usize) -> Vec<f64> {
    let mut host = Vec::with_capacity(stars.len() * star_width(p));
    for star in stars {
        host.extend([star.mass, star.time]);
        extend(&mut host, &star.taylor[..p]);
    }
    host
}

fn extend(host: &mut Vec<f64>, vectors: &[Vec3<f64>]) {
    host.extend(vectors.iter().flat_map(|v| [v.x, v.y, v.z]));
}

impl Engine for DeviceEngine {
    fn name(&self) -> &'static str {
        self.devices[0].name()
    }

    fn device(&self) -> String {
        let first = self.devices[0].info().name.clone();
        match self.devices.len() {
            1 => first,
            n => format!("{n} x {first}"),
        }
    }

    fn workers(&self) -> &Workers {
        &self.workers
    }

    fn load(&mut self, specification: &Specification, stars: &[Star]) -> Result<(), HermiteError> {
        self.memories.clear();
        for (number, device) in self.devices.iter().enumerate() {
            let mine = self.subsets(stars.len(), SumSubset::ALL, number);
            let few = self.few(&**device, stars.len());
            let many = self.many(stars.len());
            let mut memory = DeviceMemory::new(device, few, many, specification, stars, mine)?;
            memory.load_kernels()?;
            if self.may_be_special(specification) {
                memory.special = memory.special()?;
            }
            self.memories.push(memory);
        }
        Ok(())
    }

    fn store(&mut self, places: &[u32], stars: &[Star]) -> Result<(), HermiteError> {
        let mut host = std::mem::take(&mut self.host);
        host.clear();
        for memory in self.each() {
            let p = memory.order.number() as usize;
            if host.is_empty() {
                for star in stars {
                    host.push(star.time);
                    extend(&mut host, &star.taylor[..p]);
                }
            }
            let to = memory.stars.as_mut_ptr();
            memory.scatter(places, &host, to, star_width(p), 1)?;
        }
        self.host = host;
        Ok(())
    }

    fn predict(&mut self, time: f64) -> Result<(), HermiteError> {
        for memory in self.each() {
            let places = (partial_sums(memory.bodies) * terms(memory.bodies)) as u32;
            let (stars, predicted) = (memory.stars.as_ptr(), memory.predicted.as_mut_ptr());
            let grid = Grid::covering(places, BLOCK_THREADS);
            let (entry, arguments) = (
                predict_entry(memory.order),
                (stars, predicted, time, places),
            );
            // SAFETY: both have a record for every place.
            unsafe { memory.device.launch_entry(entry, grid, arguments) }
                .map_err(EngineError::from)?;
        }
        Ok(())
    }

    fn replace(&mut self, places: &[u32], motions: &[Motion]) -> Result<(), HermiteError> {
        let mut host = std::mem::take(&mut self.host);
        host.clear();
        for memory in self.each() {
            let d = memory.order.derivatives();
            if host.is_empty() {
                for motion in motions {
                    extend(&mut host, &motion[..d]);
                }
            }
            let to = memory.predicted.as_mut_ptr();
            memory.scatter(places, &host, to, width(d), 1)?;
        }
        self.host = host;
        Ok(())
    }

    fn forces(&mut self, places: &[u32], out: &mut [Forces]) -> Result<(), HermiteError> {
        self.forces_of(SumSubset::ALL, places, out)
    }

    fn time_forces(
        &mut self,
        places: &[u32],
        out: &mut [Forces],
    ) -> Result<Duration, HermiteError> {
        let mut longest = Duration::ZERO;
        for [begin, end] in self.compute_forces(SumSubset::ALL, places, out, true)? {
            longest = longest.max(end.since(&begin).map_err(EngineError::from)?);
        }
        Ok(longest)
    }

    fn neighbours(
        &mut self,
        places: &[u32],
        radii2: &[f64],
        capacity: usize,
        lists: &mut Lists,
    ) -> Result<(), HermiteError> {
        lists.resize(places.len(), capacity);
        // Every device has all particles; the first one is used.
        let memory = &mut self.memories[0];
        let most = (MAX_LISTED_PLACES / capacity).max(1);
        for first in (0..places.len()).step_by(most) {
            let part = first..places.len().min(first + most);
            memory.list(&places[part.clone()])?;
            memory.staging.put(&radii2[part.clone()])?;
            memory.make_lists(part.len(), capacity)?;
            let launch = ListLaunch {
                count: part.len() as u32,
                bodies: memory.bodies as u32,
                width: width(memory.order.derivatives()) as u32,
                capacity: capacity as u32,
            };
            let Some((_, to, lengths)) = &mut memory.lists else {
                unreachable!("made above")
            };
            let arguments = (
                launch,
                memory.predicted.as_ptr(),
                memory.active.as_ptr(),
                memory.staging.as_ptr(),
                to.as_mut_ptr(),
                lengths.as_mut_ptr(),
            );
            let grid = Grid::covering(32 * launch.count, BLOCK_THREADS);
            // SAFETY: there is room for the lists, a length of each body, and a radius in the staging.
            unsafe { memory.device.launch::<HermiteNeighbours>(grid, arguments) }
                .map_err(EngineError::from)?;
            to.ask(part.len() * capacity)?;
            lengths.ask(part.len())?;
            let range = part.start * capacity..part.end * capacity;
            to.get(&mut lists.places[range])?;
            lengths.get(&mut lists.lengths[part])?;
        }
        Ok(())
    }

    fn no_block_steps(&self, specification: &Specification) -> Option<String> {
        if specification.ahmad_cohen.is_some() && self.devices.len() > 1 {
            return Some("those of the Ahmad–Cohen scheme need a single device".into());
        }
        self.why_no_block_steps().map(Into::into)
    }

    fn perform_block_steps(
        &mut self,
        request: &BlockStepRequest<'_>,
    ) -> Result<BlockStepOutcome, HermiteError> {
        self.launch_block_steps(request)
    }

    fn fetch(&mut self, stars: &mut [Star], parts: &mut [Parts]) -> Result<(), HermiteError> {
        self.fetch_stars(stars)?;
        Ok(self.memories[0].fetch_parts(parts)?)
    }

    fn potentials(&mut self, out: &mut [f64]) -> Result<(), HermiteError> {
        self.potentials_of(SumSubset::ALL, out)
    }

    fn subset_sums(&mut self) -> Option<&mut dyn SubsetSums> {
        Some(self)
    }
}

impl SubsetSums for DeviceEngine {
    fn forces_of(
        &mut self,
        subset: SumSubset,
        places: &[u32],
        out: &mut [Forces],
    ) -> Result<(), HermiteError> {
        self.compute_forces(subset, places, out, false).map(|_| ())
    }

    fn potentials_of(&mut self, subset: SumSubset, out: &mut [f64]) -> Result<(), HermiteError> {
        self.divide(subset);
        for memory in self.each() {
            for at in 0..memory.subsets.len() {
                let launch = memory.launch(memory.subsets[at], out.len(), memory.softening2);
                let (predicted, values) = (memory.predicted.as_ptr(), &mut memory.out[at]);
                let width = width(memory.order.derivatives()) as u32;
                let arguments = (launch, predicted, values.as_mut_ptr(), width);
                let parts = launch.parts();
                let shared = lanes::shared_bytes(1, parts);
                let grid = Grid::new(launch.count, lanes::threads(parts)).shared(shared);
                // SAFETY: out has room for every body's potential.
                unsafe { memory.device.launch::<HermitePotential>(grid, arguments) }
                    .map_err(EngineError::from)?;
                values.ask(out.len())?;
            }
        }
        self.collect(subset, out.len())?;
        out.copy_from_slice(&self.host);
        Ok(())
    }
}
