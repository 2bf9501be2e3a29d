//! The ladder: one map by kernels of which each changes one thing, from the one that is written down first to the one that
//! computes maps. For `trisolar bench ladder` and those who experiment with kernels.

use kernels_gpu::ladder::Plan;

use super::{DivergenceKernel, Validated};

/// A kernel of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// State in global memory, the general power function, all steps of every pixel.
    Memory,
    /// State in registers.
    Registers,
    /// Products instead of powers.
    Products,
    /// Pixels end when their twins part.
    EarlyExit,
    /// Roots in `f32`.
    SingleRoot,
    /// Threads that fetch the next pixel.
    Fetch,
    /// What computes maps: [`DivergenceKernel::Fetch`](super::DivergenceKernel::Fetch).
    Tuned,
}

impl Rung {
    /// All of them, from the lowest.
    pub const ALL: [Self; 7] = [
        Self::Memory,
        Self::Registers,
        Self::Products,
        Self::EarlyExit,
        Self::SingleRoot,
        Self::Fetch,
        Self::Tuned,
    ];

    /// The entry point's name.
    pub fn entry(self) -> &'static str {
        match self {
            Self::Memory => "divergence_ladder_memory",
            Self::Registers => "divergence_ladder_registers",
            Self::Products => "divergence_ladder_products",
            Self::EarlyExit => "divergence_ladder_early_exit",
            Self::SingleRoot => "divergence_ladder_single_root",
            Self::Fetch => "divergence_ladder_fetch",
            Self::Tuned => DivergenceKernel::Fetch.name(),
        }
    }

    /// What it changes.
    pub fn change(self) -> &'static str {
        match self {
            Self::Memory => "state in memory, powers",
            Self::Registers => "state in registers",
            Self::Products => "products",
            Self::EarlyExit => "early exit",
            Self::SingleRoot => "f32 root",
            Self::Fetch => "f64 root, fetching",
            Self::Tuned => "tuned",
        }
    }
}

impl Validated {
    /// The whole map as the rungs below the last take it. They know neither softening nor other methods than
    /// explicit Euler in `f64`, and no more than 2³⁰ pixels.
    pub fn ladder_plan(&self) -> Plan {
        let s = self.specification();
        let order = s.order();
        Plan {
            grid: self.job_in_lengths(0, 1).grid,
            shift: s.shift.to_array(),
            masses: order.map(|body| s.masses[body]),
            g: s.g,
            dt: s.dt,
            critical: s.critical_distance,
            count: self.pixels() as u32,
            steps: s.steps as u32,
        }
    }
}

#[cfg(feature = "gpu")]
pub use on_gpu::{Climbed, climb};

#[cfg(feature = "gpu")]
mod on_gpu {
    use std::time::Duration;

    use kernels_gpu::device::fetch::{MassiveThread, Ring, Shared, Starts, TILE, Tile};
    use kernels_gpu::integrator::ExplicitEuler;
    use kernels_gpu::kernels::LADDER_STATE;
    use kernels_gpu::quantity::Divergence;

    use super::{Rung, Validated};
    use crate::EngineError;
    use trisolar_device::{Argument, DeviceMemory, Gpu};

    /// What a rung made of a map.
    #[derive(Clone, Debug)]
    pub struct Climbed {
        /// Steps of every pixel, row-major.
        pub times: Vec<u32>,
        /// Time of the kernel on the device.
        pub elapsed: Duration,
        /// Registers of a thread.
        pub registers: u32,
        /// Share of the threads a multiprocessor can hold.
        pub occupancy: f64,
    }

    /// Computes a map by one launch of a rung in blocks of this many threads. Nothing if a block needs more registers than a
    /// multiprocessor has.
    ///
    /// # Errors
    /// [`EngineError::Gpu`] or [`EngineError::OutOfMemory`].
    pub fn climb(
        gpu: &Gpu,
        valid: &Validated,
        rung: Rung,
        block: u32,
    ) -> Result<Option<Climbed>, EngineError> {
        gpu.enter()?;
        let plan = valid.ladder_plan();
        let kernel = gpu.kernel(rung.entry())?;
        let resident = kernel.resident_blocks(block, 0)? * gpu.info().multiprocessors;
        if resident == 0 {
            return Ok(None);
        }
        let count = plan.count as usize;
        // The last rung fetches from a ring of tiles, here of the whole map in its order.
        let tiles: Vec<Tile> = (0..plan.count.div_ceil(TILE))
            .map(|slot| Tile {
                first: u64::from(slot * TILE),
                count: TILE.min(plan.count - slot * TILE),
                slot,
            })
            .collect();
        let mut on_device = DeviceMemory::<Tile>::filled(gpu, tiles.len().next_power_of_two(), 0)?;
        on_device.upload(&tiles)?;
        let done = DeviceMemory::<u32>::filled(gpu, tiles.len(), 0)?;
        let times = DeviceMemory::<u32>::filled(gpu, tiles.len() * TILE as usize, 0)?;
        let counters = DeviceMemory::<u64>::filled(gpu, size_of::<Shared>().div_ceil(8), 0)?;
        let blocks = match rung {
            Rung::Fetch | Rung::Tuned => resident.min(plan.count.div_ceil(block)),
            _ => plan.count.div_ceil(block),
        };
        let kept = match rung {
            Rung::Memory => LADDER_STATE * count,
            Rung::Tuned => {
                let kept = size_of::<MassiveThread<Divergence, ExplicitEuler, f64>>();
                (blocks * block) as usize * kept / 8
            }
            _ => 1,
        };
        // All ones: threads of the last rung that have no pixel yet; the first rung writes before it reads.
        let state = DeviceMemory::<u64>::filled(gpu, kept, 0xff)?;
        let job = valid.job(0, plan.count);
        let whole = u64::MAX;
        let (to, from, shared) = (times.address(), state.address(), counters.address());
        let ring = Ring {
            tiles: std::ptr::with_exposed_provenance(on_device.address() as usize),
            values: std::ptr::with_exposed_provenance_mut::<u32>(to as usize),
            done: std::ptr::with_exposed_provenance(done.address() as usize),
            mask: on_device.len() as u32 - 1,
            limit: tiles.len() as u32 * TILE,
        };
        let [plan_, job_, whole_] = [
            Argument::new(&plan),
            Argument::new(&job),
            Argument::new(&whole),
        ];
        let [to_, from_, shared_] = [
            Argument::new(&to),
            Argument::new(&from),
            Argument::new(&shared),
        ];
        let arguments = match rung {
            Rung::Memory => vec![plan_, from_, to_],
            Rung::Fetch => vec![plan_, shared_, to_],
            Rung::Tuned => {
                let [ring_, starts_] = [Argument::new(&ring), Argument::new(&Starts::OF_JOB)];
                vec![job_, whole_, ring_, from_, shared_, starts_]
            }
            _ => vec![plan_, to_],
        };
        let start = gpu.mark()?;
        // SAFETY: the arguments are those of each kernel, as declared in `divergence_ladder` and `map`; the
        // arrays have the lengths asked for there, and live until the device is done.
        unsafe { kernel.launch(blocks, block, 0, &arguments)? };
        let end = gpu.mark()?;
        let mut result = vec![0; count];
        times.download(&mut result)?;
        Ok(Some(Climbed {
            times: result,
            elapsed: end.since(&start)?,
            registers: kernel.registers()?,
            occupancy: kernel.occupancy(block)?,
        }))
    }
}
