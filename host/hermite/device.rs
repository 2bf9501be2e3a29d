//! The engine of devices that run the kernels: GPUs, or the emulator of the grid.
//!
//! Every device holds all particles and predicts them all; the partial sums of the forces are dealt to them, each sums
//! and folds its own, and the host folds what the devices give. A single device does all of it.

use kernels_gpu::Vec3;
use kernels_gpu::device::hermite::neighbours::ListLaunch;
use kernels_gpu::device::hermite::steps::{State, Steps};
use kernels_gpu::device::hermite::{Launch, Record, lanes, star_width, tiles, width};
use kernels_gpu::hermite::arithmetic::{Plain, SplitF32};
use kernels_gpu::physics::softening::{softening2, softening2_single};
use kernels_gpu::physics::summation::partial_sums::{fold, partial_sums, terms};

use super::engine::{Route, Stretch};
use super::{Engine, Forces, HermiteError, Lists, Motion, Order, Precision, Specification, Star};
use crate::run::EngineError;
use crate::run::Workers;

mod steps;

/// A launch of one of the kernels; memory by its address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    /// `hermite_predict_*`
    Predict {
        order: Order,
        stars: u64,
        predicted: u64,
        time: f64,
        places: u32,
    },
    /// `hermite_scatter`
    Scatter {
        from: u64,
        places: u64,
        to: u64,
        count: u32,
        width: u32,
        stride: u32,
        skip: u32,
    },
    /// `hermite_tiles_*`; or `hermite_lanes_*`, with `out` for `partial`
    Force {
        many: bool,
        order: Order,
        precision: Precision,
        launch: Launch,
        predicted: u64,
        places: u64,
        partial: u64,
    },
    /// `hermite_fold`
    Fold {
        partial: u64,
        out: u64,
        components: u32,
        count: u32,
        parts: u32,
    },
    /// `hermite_neighbours`
    Neighbours {
        launch: ListLaunch,
        predicted: u64,
        places: u64,
        radii2: u64,
        lists: u64,
        lengths: u64,
    },
    /// `hermite_potential`
    Potential {
        launch: Launch,
        predicted: u64,
        out: u64,
        width: u32,
    },
    /// `hermite_steps_*`, all of whose blocks are resident
    Steps {
        order: Order,
        precision: Precision,
        job: Steps,
        state: State,
    },
}

impl Call {
    /// The kernel's name.
    pub(super) fn name(&self) -> &'static str {
        let by = |order: Order, names: [&'static str; 3]| names[order.derivatives() - 2];
        match *self {
            Self::Predict { order, .. } => by(
                order,
                [
                    "hermite_predict_4",
                    "hermite_predict_6",
                    "hermite_predict_8",
                ],
            ),
            Self::Scatter { .. } => "hermite_scatter",
            Self::Force {
                many,
                order,
                precision,
                ..
            } => by(
                order,
                match (many, precision) {
                    (true, Precision::F64) => {
                        ["hermite_tiles_4", "hermite_tiles_6", "hermite_tiles_8"]
                    }
                    (false, Precision::F64) => {
                        ["hermite_lanes_4", "hermite_lanes_6", "hermite_lanes_8"]
                    }
                    (true, Precision::SplitF32) => [
                        "hermite_tiles_4_split_f32",
                        "hermite_tiles_6_split_f32",
                        "hermite_tiles_8_split_f32",
                    ],
                    (false, Precision::SplitF32) => [
                        "hermite_lanes_4_split_f32",
                        "hermite_lanes_6_split_f32",
                        "hermite_lanes_8_split_f32",
                    ],
                },
            ),
            Self::Fold { .. } => "hermite_fold",
            Self::Neighbours { .. } => "hermite_neighbours",
            Self::Potential { .. } => "hermite_potential",
            Self::Steps {
                order, precision, ..
            } => by(
                order,
                match precision {
                    Precision::F64 => ["hermite_steps_4", "hermite_steps_6", "hermite_steps_8"],
                    Precision::SplitF32 => [
                        "hermite_steps_4_split_f32",
                        "hermite_steps_6_split_f32",
                        "hermite_steps_8_split_f32",
                    ],
                },
            ),
        }
    }
}

/// What runs kernels, in the order in which they are launched.
pub(super) trait Device {
    /// An array of numbers.
    type Numbers;
    /// An array of places.
    type Places;

    /// `gpu` or `emulator`.
    fn name(&self) -> &'static str;
    /// In words, for reports.
    fn device(&self) -> String;
    /// Active particles up to which a block for each is faster than tiles, with this many terms a partial sum.
    fn few(&self, terms: u32) -> u32;
    /// Numbers that are 0.
    fn numbers(&self, length: usize) -> Result<Self::Numbers, EngineError>;
    /// Numbers that are 0 and often go to or from the host.
    fn exchanged(&self, length: usize) -> Result<Self::Numbers, EngineError>;
    /// Places that are 0.
    fn places(&self, length: usize) -> Result<Self::Places, EngineError>;
    /// Writes numbers to the start of an array, in the order of the launches.
    fn put(&self, to: &mut Self::Numbers, values: &[f64]) -> Result<(), EngineError>;
    /// Writes places to the start of an array, in the order of the launches.
    fn put_places(&self, to: &mut Self::Places, values: &[u32]) -> Result<(), EngineError>;
    /// Queues reading of this many numbers from the start of an array.
    fn ask(&self, from: &mut Self::Numbers, length: usize) -> Result<(), EngineError>;
    /// The numbers that were asked for, after all launches.
    fn get(&self, from: &mut Self::Numbers, values: &mut [f64]) -> Result<(), EngineError>;
    /// Queues reading of this many places from the start of an array.
    fn ask_places(&self, from: &mut Self::Places, length: usize) -> Result<(), EngineError>;
    /// The places that were asked for, after all launches.
    fn get_places(&self, from: &mut Self::Places, values: &mut [u32]) -> Result<(), EngineError>;
    /// The address of an array.
    fn address(&self, of: &Self::Numbers) -> u64;
    /// The address of an array.
    fn places_address(&self, of: &Self::Places) -> u64;
    /// Whether blocks of a grid may wait for each other.
    fn is_cooperative(&self) -> bool;
    /// Blocks of `threads` threads of a kernel that the device runs at the same time.
    fn resident_blocks(&self, call: &Call, threads: u32, shared: u32) -> Result<u32, EngineError>;
    /// Launches a kernel.
    ///
    /// # Safety
    /// The addresses are of arrays of this device, large enough for the call, which live until it has run.
    unsafe fn launch(
        &self,
        call: &Call,
        blocks: u32,
        threads: u32,
        shared: u32,
    ) -> Result<(), EngineError>;
}

/// Threads of a block of the kernels with a thread a place or number.
const BLOCK: u32 = 128;
/// Partial results in memory at most: 256 MiB.
const MOST_PARTIAL: usize = 1 << 25;

/// Places of lists in memory at most at a time.
const MOST_LISTED: usize = 1 << 22;

/// Holds particles on devices and runs the kernels there.
pub(super) struct DeviceEngine<D: Device> {
    devices: Vec<D>,
    /// Threads of a block of the kernels with tiles.
    block: u32,
    memories: Vec<Memory<D>>,
    host: Vec<f64>,
    /// What does the host's part.
    workers: Workers,
}

struct Memory<D: Device> {
    order: Order,
    precision: Precision,
    softening2: f64,
    force_softening2: f64,
    bodies: usize,
    stars: D::Numbers,
    predicted: D::Numbers,
    active: D::Places,
    /// What `active` holds.
    listed: Vec<u32>,
    staging: D::Numbers,
    partial: D::Numbers,
    partial_length: usize,
    /// Results, for each part that the device sums.
    out: Vec<(Part, D::Numbers)>,
    /// Lists of neighbours, with room for this many places, and their lengths.
    lists: Option<(usize, D::Places, D::Places)>,
    /// What whole block steps need, once there was one.
    resident: Option<steps::Resident<D>>,
}

/// Which of the partial sums: `first`, `first` + `stride`, …
#[derive(Clone, Copy)]
struct Part {
    first: u32,
    stride: u32,
}

impl<D: Device> DeviceEngine<D> {
    /// With blocks of `block` threads for tiles.
    pub(super) fn new(devices: Vec<D>, block: u32, workers: Workers) -> Self {
        assert!(!devices.is_empty());
        Self {
            devices,
            block,
            memories: Vec::new(),
            host: Vec::new(),
            workers,
        }
    }

    fn each(&mut self) -> impl Iterator<Item = (&D, &mut Memory<D>)> {
        assert!(!self.memories.is_empty(), "load comes first");
        self.devices.iter().zip(&mut self.memories)
    }

    /// Parts into which the partial sums of `bodies` are dealt: a power of two.
    fn parts(&self, bodies: usize) -> usize {
        let most = partial_sums(bodies);
        self.devices.len().next_power_of_two().min(most)
    }

    /// Adds up the parts' results, `length` numbers each, into `host`.
    fn collect(&mut self, length: usize) -> Result<(), EngineError> {
        let parts = self.parts(self.memories[0].bodies);
        self.host.resize(parts * length, 0.0);
        for (device, memory) in self.devices.iter().zip(&mut self.memories) {
            for (part, out) in &mut memory.out {
                let from = part.first as usize * length;
                device.get(out, &mut self.host[from..from + length])?;
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
}

/// Words of a body in a tile, and bodies of a thread.
fn shape(order: Order, precision: Precision) -> (usize, u32) {
    fn of<const D: usize>(precision: Precision) -> (usize, u32) {
        match precision {
            Precision::F64 => (
                <Plain<f64> as Record<D>>::WORDS,
                <Plain<f64> as Record<D>>::BODIES as u32,
            ),
            Precision::SplitF32 => (
                <SplitF32<f32> as Record<D>>::WORDS,
                <SplitF32<f32> as Record<D>>::BODIES as u32,
            ),
        }
    }
    match order {
        Order::Four => of::<2>(precision),
        Order::Six => of::<3>(precision),
        Order::Eight => of::<4>(precision),
    }
}

impl<D: Device> Memory<D> {
    fn new(
        device: &D,
        specification: &Specification,
        stars: &[Star],
        parts: Vec<Part>,
    ) -> Result<Self, EngineError> {
        let order = specification.order;
        let (n, p, d) = (stars.len(), order.number() as usize, order.derivatives());
        let slots = partial_sums(n) * terms(n);
        let numbers = |length: usize| device.numbers(length);
        let most = 3 * d * partial_sums(n);
        let partial_length = (most * n).min(MOST_PARTIAL.max(most));
        let heaviest = stars.iter().map(|s| s.mass).fold(0.0, f64::max);
        let out = (parts.into_iter())
            .map(|part| Ok((part, device.exchanged(3 * d * n)?)))
            .collect::<Result<_, EngineError>>()?;
        let mut memory = Self {
            order,
            precision: specification.precision,
            softening2: softening2(specification.softening),
            force_softening2: match specification.precision {
                Precision::F64 => softening2(specification.softening),
                Precision::SplitF32 => softening2_single(specification.softening, heaviest),
            },
            bodies: n,
            stars: numbers(slots * star_width(p))?,
            predicted: numbers(slots * width(d))?,
            active: device.places(n)?,
            listed: Vec::new(),
            staging: device.exchanged(n * star_width(p).max(3 * d))?,
            partial: numbers(partial_length)?,
            partial_length,
            out,
            lists: None,
            resident: None,
        };
        device.put(&mut memory.stars, &records(stars, p))?;
        Ok(memory)
    }

    /// Sees to it that `active` holds these places.
    fn list(&mut self, device: &D, places: &[u32]) -> Result<(), EngineError> {
        if self.listed != places {
            device.put_places(&mut self.active, places)?;
            self.listed.clear();
            self.listed.extend_from_slice(places);
        }
        Ok(())
    }

    /// Copies records to their places.
    fn scatter(
        &mut self,
        device: &D,
        places: &[u32],
        records: &[f64],
        to: u64,
        stride: usize,
    ) -> Result<(), EngineError> {
        self.list(device, places)?;
        device.put(&mut self.staging, records)?;
        let call = Call::Scatter {
            from: device.address(&self.staging),
            places: device.places_address(&self.active),
            to,
            count: places.len() as u32,
            width: (records.len() / places.len()) as u32,
            stride: stride as u32,
            skip: 1,
        };
        let blocks = (records.len() as u32).div_ceil(BLOCK);
        // SAFETY: the staging has room for every body's record, and places are below the number of bodies.
        unsafe { device.launch(&call, blocks, BLOCK, 0) }
    }

    /// Memory for lists of this many places for `count` particles.
    fn make_lists(&mut self, device: &D, count: usize, capacity: usize) -> Result<(), EngineError> {
        let needed = count * capacity;
        if self.lists.as_ref().is_none_or(|(room, ..)| *room < needed) {
            self.lists = None;
            let lists = device.places(needed)?;
            self.lists = Some((needed, lists, device.places(self.bodies)?));
        }
        Ok(())
    }

    fn launch(&self, part: Part, count: usize, softening2: f64) -> Launch {
        Launch {
            softening2,
            sums: partial_sums(self.bodies) as u32,
            terms: terms(self.bodies) as u32,
            count: count as u32,
            first: part.first,
            stride: part.stride,
        }
    }

    /// Forces on the `count` places that are listed, for every part of this device.
    fn force(&mut self, device: &D, count: usize, block: u32) -> Result<(), EngineError> {
        let values = 3 * self.order.derivatives();
        for at in 0..self.out.len() {
            let (part, out) = (self.out[at].0, device.address(&self.out[at].1));
            let launch = self.launch(part, count, self.force_softening2);
            if launch.count <= device.few(launch.terms) {
                self.force_on_few(device, &launch, out)?;
            } else {
                // As many at a time as there is memory for.
                let most = self.partial_length / (values * launch.parts() as usize);
                for first in (0..count).step_by(most) {
                    let launch = Launch {
                        count: most.min(count - first) as u32,
                        ..launch
                    };
                    let out = out + 8 * (first * values) as u64;
                    self.force_on_many(device, &launch, first, out, block)?;
                }
            }
            device.ask(&mut self.out[at].1, values * count)?;
        }
        Ok(())
    }

    fn force_on_few(&self, device: &D, launch: &Launch, out: u64) -> Result<(), EngineError> {
        let call = Call::Force {
            many: false,
            order: self.order,
            precision: self.precision,
            launch: *launch,
            predicted: device.address(&self.predicted),
            places: device.places_address(&self.active),
            partial: out,
        };
        let parts = launch.parts();
        let shared = lanes::shared_bytes(3 * self.order.derivatives(), parts);
        // SAFETY: out has room for every body's forces.
        unsafe { device.launch(&call, launch.count, lanes::threads(parts), shared) }
    }

    fn force_on_many(
        &self,
        device: &D,
        launch: &Launch,
        first: usize,
        out: u64,
        block: u32,
    ) -> Result<(), EngineError> {
        let components = 3 * self.order.derivatives() as u32;
        let (words, bodies) = shape(self.order, self.precision);
        let partial = device.address(&self.partial);
        let force = Call::Force {
            many: true,
            order: self.order,
            precision: self.precision,
            launch: *launch,
            predicted: device.address(&self.predicted),
            places: device.places_address(&self.active) + 4 * first as u64,
            partial,
        };
        let fold = Call::Fold {
            partial,
            out,
            components,
            count: launch.count,
            parts: launch.parts(),
        };
        let blocks = launch.count.div_ceil(block * bodies) * launch.parts();
        // SAFETY: partial has room for what `force` allows, out for every body's forces.
        unsafe {
            device.launch(&force, blocks, block, tiles::shared_bytes(words, block))?;
            let blocks = (components * launch.count).div_ceil(BLOCK);
            device.launch(&fold, blocks, BLOCK, 0)
        }
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

impl<D: Device> Engine for DeviceEngine<D> {
    fn name(&self) -> &'static str {
        self.devices[0].name()
    }

    fn device(&self) -> String {
        let first = self.devices[0].device();
        match self.devices.len() {
            1 => first,
            n => format!("{n} x {first}"),
        }
    }

    fn workers(&self) -> &Workers {
        &self.workers
    }

    fn load(&mut self, specification: &Specification, stars: &[Star]) -> Result<(), HermiteError> {
        let (parts, devices) = (self.parts(stars.len()), self.devices.len());
        self.memories.clear();
        for (number, device) in self.devices.iter().enumerate() {
            let mine = (number..parts).step_by(devices).map(|first| Part {
                first: first as u32,
                stride: parts as u32,
            });
            let memory = Memory::new(device, specification, stars, mine.collect())?;
            self.memories.push(memory);
        }
        Ok(())
    }

    fn store(&mut self, places: &[u32], stars: &[Star]) -> Result<(), HermiteError> {
        let mut host = std::mem::take(&mut self.host);
        host.clear();
        for (device, memory) in self.each() {
            let p = memory.order.number() as usize;
            if host.is_empty() {
                for star in stars {
                    host.push(star.time);
                    extend(&mut host, &star.taylor[..p]);
                }
            }
            let to = device.address(&memory.stars);
            memory.scatter(device, places, &host, to, star_width(p))?;
        }
        self.host = host;
        Ok(())
    }

    fn predict(&mut self, time: f64) -> Result<(), HermiteError> {
        for (device, memory) in self.each() {
            let places = (partial_sums(memory.bodies) * terms(memory.bodies)) as u32;
            let call = Call::Predict {
                order: memory.order,
                stars: device.address(&memory.stars),
                predicted: device.address(&memory.predicted),
                time,
                places,
            };
            // SAFETY: both have a record for every place.
            unsafe { device.launch(&call, places.div_ceil(BLOCK), BLOCK, 0)? };
        }
        Ok(())
    }

    fn replace(&mut self, places: &[u32], motions: &[Motion]) -> Result<(), HermiteError> {
        let mut host = std::mem::take(&mut self.host);
        host.clear();
        for (device, memory) in self.each() {
            let d = memory.order.derivatives();
            if host.is_empty() {
                for motion in motions {
                    extend(&mut host, &motion[..d]);
                }
            }
            let to = device.address(&memory.predicted);
            memory.scatter(device, places, &host, to, width(d))?;
        }
        self.host = host;
        Ok(())
    }

    fn forces(&mut self, places: &[u32], out: &mut [Forces]) -> Result<(), HermiteError> {
        let block = self.block;
        let mut d = 0;
        for (device, memory) in self.each() {
            d = memory.order.derivatives();
            memory.list(device, places)?;
            memory.force(device, places.len(), block)?;
        }
        self.collect(3 * d * places.len())?;
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
        Ok(())
    }

    fn neighbours(
        &mut self,
        places: &[u32],
        radii2: &[f64],
        capacity: usize,
        lists: &mut Lists,
    ) -> Result<(), HermiteError> {
        lists.resize(places.len(), capacity);
        // The first device has all particles, as any other.
        let (device, memory) = (&self.devices[0], &mut self.memories[0]);
        let most = (MOST_LISTED / capacity).max(1);
        for first in (0..places.len()).step_by(most) {
            let part = first..places.len().min(first + most);
            memory.list(device, &places[part.clone()])?;
            device.put(&mut memory.staging, &radii2[part.clone()])?;
            memory.make_lists(device, part.len(), capacity)?;
            let launch = ListLaunch {
                count: part.len() as u32,
                bodies: memory.bodies as u32,
                width: width(memory.order.derivatives()) as u32,
                capacity: capacity as u32,
            };
            let Some((_, to, lengths)) = &mut memory.lists else {
                unreachable!("made above")
            };
            let call = Call::Neighbours {
                launch,
                predicted: device.address(&memory.predicted),
                places: device.places_address(&memory.active),
                radii2: device.address(&memory.staging),
                lists: device.places_address(to),
                lengths: device.places_address(lengths),
            };
            // SAFETY: there is room for the lists, a length of each body, and a radius in the staging.
            unsafe { device.launch(&call, (32 * launch.count).div_ceil(BLOCK), BLOCK, 0)? };
            device.ask_places(to, part.len() * capacity)?;
            device.ask_places(lengths, part.len())?;
            let range = part.start * capacity..part.end * capacity;
            device.get_places(to, &mut lists.places[range])?;
            device.get_places(lengths, &mut lists.lengths[part])?;
        }
        Ok(())
    }

    fn no_block_steps(&self) -> Option<String> {
        self.no_stretch()
    }

    fn stretch(&mut self, route: &Route<'_>) -> Result<Stretch, HermiteError> {
        self.make_stretch(route)
    }

    fn fetch(&mut self, stars: &mut [Star]) -> Result<(), HermiteError> {
        self.fetch_stars(stars)
    }

    fn potentials(&mut self, out: &mut [f64]) -> Result<(), HermiteError> {
        for (device, memory) in self.each() {
            for at in 0..memory.out.len() {
                let launch = memory.launch(memory.out[at].0, out.len(), memory.softening2);
                let call = Call::Potential {
                    launch,
                    predicted: device.address(&memory.predicted),
                    out: device.address(&memory.out[at].1),
                    width: width(memory.order.derivatives()) as u32,
                };
                let parts = launch.parts();
                let shared = lanes::shared_bytes(1, parts);
                // SAFETY: out has room for every body's potential.
                unsafe { device.launch(&call, launch.count, lanes::threads(parts), shared)? };
                device.ask(&mut memory.out[at].1, out.len())?;
            }
        }
        self.collect(out.len())?;
        out.copy_from_slice(&self.host);
        Ok(())
    }
}
