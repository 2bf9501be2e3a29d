//! The engine of a device that runs the kernels: a GPU, or the emulator of the grid.

use kernels_gpu::Vec3;
use kernels_gpu::hermite::device::{Launch, shared_bytes, star_width, width};
use kernels_gpu::hermite::force::softening2;
use kernels_gpu::hermite::order::{partial_sums, terms};

use super::{Engine, Forces, HermiteError, Motion, Order, Star};
use crate::divergence::EngineError;

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
    /// `hermite_force_*`
    Force {
        order: Order,
        launch: Launch,
        predicted: u64,
        places: u64,
        partial: u64,
    },
    /// `hermite_fold`
    Fold {
        partial: u64,
        out: u64,
        values: u32,
        rest: u32,
    },
    /// `hermite_potential`
    Potential {
        launch: Launch,
        predicted: u64,
        out: u64,
        width: u32,
    },
}

impl Call {
    /// The kernel's name.
    pub(super) fn name(&self) -> &'static str {
        let by = |order: &Order, names: [&'static str; 3]| names[order.derivatives() - 2];
        match self {
            Self::Predict { order, .. } => by(
                order,
                [
                    "hermite_predict_4",
                    "hermite_predict_6",
                    "hermite_predict_8",
                ],
            ),
            Self::Scatter { .. } => "hermite_scatter",
            Self::Force { order, .. } => by(
                order,
                ["hermite_force_4", "hermite_force_6", "hermite_force_8"],
            ),
            Self::Fold { .. } => "hermite_fold",
            Self::Potential { .. } => "hermite_potential",
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
    /// Blocks of this many threads that run at once.
    fn resident_blocks(&self, call: &Call, threads: u32) -> Result<u32, EngineError>;
    /// Numbers that are 0.
    fn numbers(&self, length: usize) -> Result<Self::Numbers, EngineError>;
    /// Places that are 0.
    fn places(&self, length: usize) -> Result<Self::Places, EngineError>;
    /// Writes numbers to the start of an array.
    fn put(&self, to: &mut Self::Numbers, values: &[f64]) -> Result<(), EngineError>;
    /// Writes places to the start of an array.
    fn put_places(&self, to: &mut Self::Places, values: &[u32]) -> Result<(), EngineError>;
    /// Reads numbers from the start of an array, after all launches.
    fn get(&self, from: &Self::Numbers, values: &mut [f64]) -> Result<(), EngineError>;
    /// The address of an array.
    fn address(&self, of: &Self::Numbers) -> u64;
    /// The address of an array.
    fn places_address(&self, of: &Self::Places) -> u64;
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
/// Blocks that should be there for each that can run at once, so that none has to wait long for the last.
const WAVES: u32 = 4;
/// Partial results in memory at most: 256 MiB.
const MOST_PARTIAL: usize = 1 << 25;

/// Holds particles on a device and runs the kernels there.
pub(super) struct DeviceEngine<D: Device> {
    device: D,
    /// Threads of a block of force kernels.
    block: u32,
    memory: Option<Memory<D>>,
}

struct Memory<D: Device> {
    order: Order,
    softening2: f64,
    bodies: usize,
    stars: D::Numbers,
    predicted: D::Numbers,
    active: D::Places,
    staging: D::Numbers,
    partial: D::Numbers,
    partial_length: usize,
    out: D::Numbers,
    host: Vec<f64>,
    resident: u32,
}

impl<D: Device> DeviceEngine<D> {
    /// With blocks of `block` threads for the forces.
    pub(super) fn new(device: D, block: u32) -> Self {
        Self {
            device,
            block,
            memory: None,
        }
    }

    fn loaded(&mut self) -> (&D, &mut Memory<D>, u32) {
        let memory = self.memory.as_mut().expect("load comes first");
        (&self.device, memory, self.block)
    }
}

impl<D: Device> Memory<D> {
    fn launch(&self, count: usize, block: u32) -> Launch {
        let mut launch = Launch {
            softening2: self.softening2,
            sums: partial_sums(self.bodies) as u32,
            terms: terms(self.bodies) as u32,
            count: count as u32,
            share: 1,
        };
        let values = 3 * self.order.derivatives() * count;
        while launch.share < launch.sums
            && (launch.blocks(block) > WAVES * self.resident
                || values * launch.rest() as usize > self.partial_length)
        {
            launch.share *= 2;
        }
        launch
    }

    /// Copies records to their places.
    fn scatter(
        &mut self,
        device: &D,
        places: &[u32],
        width: usize,
        to: u64,
        stride: usize,
        skip: usize,
    ) -> Result<(), EngineError> {
        device.put_places(&mut self.active, places)?;
        device.put(&mut self.staging, &self.host)?;
        let count = places.len() as u32;
        let call = Call::Scatter {
            from: device.address(&self.staging),
            places: device.places_address(&self.active),
            to,
            count,
            width: width as u32,
            stride: stride as u32,
            skip: skip as u32,
        };
        // SAFETY: the staging has room for every body's record, and places are below the number of bodies.
        unsafe { device.launch(&call, (count * width as u32).div_ceil(BLOCK), BLOCK, 0) }
    }
}

fn extend(host: &mut Vec<f64>, vectors: &[Vec3<f64>]) {
    host.extend(vectors.iter().flat_map(|v| [v.x, v.y, v.z]));
}

impl<D: Device> Engine for DeviceEngine<D> {
    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn device(&self) -> String {
        self.device.device()
    }

    fn load(&mut self, order: Order, softening: f64, stars: &[Star]) -> Result<(), HermiteError> {
        let device = &self.device;
        let (n, p, d) = (stars.len(), order.number() as usize, order.derivatives());
        let slots = partial_sums(n) * terms(n);
        let numbers = |length: usize| device.numbers(length);
        let partial_length = (3 * d * n).max((3 * d * n * partial_sums(n)).min(MOST_PARTIAL));
        let mut memory = Memory {
            order,
            softening2: softening2(softening),
            bodies: n,
            stars: numbers(slots * star_width(p))?,
            predicted: numbers(slots * width(d))?,
            active: device.places(n)?,
            staging: numbers(n * star_width(p).max(3 * d))?,
            partial: numbers(partial_length)?,
            partial_length,
            out: numbers(3 * d * n)?,
            host: Vec::new(),
            resident: 1,
        };
        let launch = memory.launch(1, self.block);
        let force = Call::Force {
            order,
            launch,
            predicted: 0,
            places: 0,
            partial: 0,
        };
        memory.resident = device.resident_blocks(&force, self.block)?.max(1);
        for star in stars {
            memory.host.extend([star.mass, star.time]);
            extend(&mut memory.host, &star.taylor[..p]);
        }
        device.put(&mut memory.stars, &memory.host)?;
        self.memory = Some(memory);
        Ok(())
    }

    fn store(&mut self, places: &[u32], stars: &[Star]) -> Result<(), HermiteError> {
        let (device, memory, _) = self.loaded();
        let p = memory.order.number() as usize;
        memory.host.clear();
        for star in stars {
            memory.host.push(star.time);
            extend(&mut memory.host, &star.taylor[..p]);
        }
        let to = device.address(&memory.stars);
        memory.scatter(device, places, 1 + 3 * p, to, star_width(p), 1)?;
        Ok(())
    }

    fn predict(&mut self, time: f64) -> Result<(), HermiteError> {
        let (device, memory, _) = self.loaded();
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
        Ok(())
    }

    fn replace(&mut self, places: &[u32], motions: &[Motion]) -> Result<(), HermiteError> {
        let (device, memory, _) = self.loaded();
        let d = memory.order.derivatives();
        memory.host.clear();
        for motion in motions {
            extend(&mut memory.host, &motion[..d]);
        }
        let to = device.address(&memory.predicted);
        memory.scatter(device, places, 3 * d, to, width(d), 1)?;
        Ok(())
    }

    fn forces(&mut self, places: &[u32], out: &mut [Forces]) -> Result<(), HermiteError> {
        let (device, memory, block) = self.loaded();
        let d = memory.order.derivatives();
        device.put_places(&mut memory.active, places)?;
        let launch = memory.launch(places.len(), block);
        let values = 3 * d * places.len();
        let force = Call::Force {
            order: memory.order,
            launch,
            predicted: device.address(&memory.predicted),
            places: device.places_address(&memory.active),
            partial: device.address(&memory.partial),
        };
        let fold = Call::Fold {
            partial: device.address(&memory.partial),
            out: device.address(&memory.out),
            values: values as u32,
            rest: launch.rest(),
        };
        // SAFETY: partial has room for what `Memory::launch` allows, out for every body's forces.
        unsafe {
            device.launch(&force, launch.blocks(block), block, shared_bytes(d) as u32)?;
            device.launch(&fold, (values as u32).div_ceil(BLOCK / 32), BLOCK, 0)?;
        }
        memory.host.resize(values, 0.0);
        device.get(&memory.out, &mut memory.host)?;
        let (host, n) = (&memory.host, places.len());
        for (i, out) in out.iter_mut().enumerate() {
            for (k, v) in out.iter_mut().enumerate() {
                let at = |c: usize| {
                    if k < d {
                        host[(3 * k + c) * n + i]
                    } else {
                        0.0
                    }
                };
                *v = Vec3 {
                    x: at(0),
                    y: at(1),
                    z: at(2),
                };
            }
        }
        Ok(())
    }

    fn potentials(&mut self, out: &mut [f64]) -> Result<(), HermiteError> {
        let (device, memory, _) = self.loaded();
        let launch = memory.launch(out.len(), BLOCK);
        let call = Call::Potential {
            launch,
            predicted: device.address(&memory.predicted),
            out: device.address(&memory.out),
            width: width(memory.order.derivatives()) as u32,
        };
        // SAFETY: out has room for every body's potential.
        unsafe { device.launch(&call, launch.count.div_ceil(BLOCK), BLOCK, 0)? };
        device.get(&memory.out, out)?;
        Ok(())
    }
}
