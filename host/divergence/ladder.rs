//! The ladder: kernels that compute the same map, each of which changes one thing, from a first simple version to the kernel that
//! computes maps. Used by `trisolar bench ladder` and for experiments with kernels.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use kernels_gpu::device::fetch::{MassiveThread, Ring, Shared, Starts, TILE, Tile};
use kernels_gpu::integrator::ExplicitEuler;
use kernels_gpu::kernels::{
    DivergenceLadderEarlyExit, DivergenceLadderFetch, DivergenceLadderMemory,
    DivergenceLadderProducts, DivergenceLadderRegisters, DivergenceLadderSingleRoot, LADDER_STATE,
    MapDivergenceExplicitEulerF64,
};
use kernels_gpu::ladder::Plan;
use kernels_gpu::methods::MapEntry;
use kernels_gpu::quantity::Divergence;
use trisolar_device::{Buffer, Code, Device, Entry, Grid, Queue};

use super::{EngineError, Validated};

/// A kernel of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// State in global memory, the general power function, all steps of every pixel.
    Memory,
    /// State in registers.
    Registers,
    /// Products instead of powers.
    Products,
    /// A pixel ends when its twins part.
    EarlyExit,
    /// Roots in `f32`.
    SingleRoot,
    /// Threads that fetch the next pixel.
    Fetch,
    /// The kernel that computes maps: [`DivergenceKernel::Fetch`](super::DivergenceKernel::Fetch).
    Tuned,
}

impl Rung {
    /// All rungs, from the lowest.
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
        RungKernel::of(self).code().name().unwrap_or_default()
    }

    /// The change from the previous rung.
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
    /// The whole map in the form that all rungs but the last use. They support neither softening nor methods other than explicit
    /// Euler in `f64`, and at most 2³⁰ pixels.
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

/// A rung's kernel, by the arguments that it takes.
enum RungKernel {
    OfPixel(Entry<(Plan, *mut u32)>),
    Memory(Entry<(Plan, *mut f64, *mut u32)>),
    Fetch(Entry<(Plan, *const AtomicU32, *mut u32)>),
    Tuned(MapEntry<Divergence, MassiveThread<Divergence, ExplicitEuler, f64>, Starts>),
}

impl RungKernel {
    fn of(rung: Rung) -> Self {
        match rung {
            Rung::Memory => Self::Memory(Entry::of::<DivergenceLadderMemory>()),
            Rung::Registers => Self::OfPixel(Entry::of::<DivergenceLadderRegisters>()),
            Rung::Products => Self::OfPixel(Entry::of::<DivergenceLadderProducts>()),
            Rung::EarlyExit => Self::OfPixel(Entry::of::<DivergenceLadderEarlyExit>()),
            Rung::SingleRoot => Self::OfPixel(Entry::of::<DivergenceLadderSingleRoot>()),
            Rung::Fetch => Self::Fetch(Entry::of::<DivergenceLadderFetch>()),
            Rung::Tuned => Self::Tuned(Entry::of::<MapDivergenceExplicitEulerF64>()),
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::OfPixel(entry) => entry.code(),
            Self::Memory(entry) => entry.code(),
            Self::Fetch(entry) => entry.code(),
            Self::Tuned(entry) => entry.code(),
        }
    }
}

/// The result of a rung.
#[derive(Clone, Debug)]
pub struct Climbed {
    /// Steps of every pixel, row-major.
    pub steps_together: Vec<u32>,
    /// Time of the kernel on the device.
    pub elapsed: Duration,
    /// Registers per thread.
    pub registers: u32,
    /// Share of the threads that a multiprocessor can hold.
    pub occupancy: f64,
}

/// Computes a map by one launch of a rung in blocks of this many threads. `None` if a block needs more registers than a
/// multiprocessor has.
///
/// # Errors
/// [`EngineError::Gpu`] or [`EngineError::OutOfMemory`].
pub fn climb(
    device: &Arc<dyn Device>,
    valid: &Validated,
    rung: Rung,
    block: u32,
) -> Result<Option<Climbed>, EngineError> {
    let plan = valid.ladder_plan();
    let kernel = RungKernel::of(rung);
    let resident = device.resident(&kernel.code(), &Grid::new(1, block))?;
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
    let mut on_device = Buffer::<Tile>::filled(device, tiles.len().next_power_of_two(), 0)?;
    on_device.upload(&tiles)?;
    let done = Buffer::<u32>::filled(device, tiles.len(), 0)?;
    let times = Buffer::<u32>::filled(device, tiles.len() * TILE as usize, 0)?;
    let counters = Buffer::<u64>::filled(device, size_of::<Shared>().div_ceil(8), 0)?;
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
    // All bits set: threads of the last rung have no pixel yet. The first rung writes before it reads.
    let state = Buffer::<u64>::filled(device, kept, 0xff)?;
    let job = valid.job(0, plan.count);
    let whole = u64::MAX;
    let ring = Ring {
        tiles: on_device.as_ptr(),
        values: times.as_mut_ptr(),
        done: done.as_ptr().cast(),
        mask: on_device.len() as u32 - 1,
        limit: tiles.len() as u32 * TILE,
    };
    let (to, kept, grid) = (
        times.as_mut_ptr(),
        state.as_mut_ptr(),
        Grid::new(blocks, block),
    );
    let start = device.mark(Queue::Compute)?;
    // SAFETY: the arrays have the lengths that the kernels ask for, and live until the device is done.
    unsafe {
        match kernel {
            RungKernel::OfPixel(entry) => device.launch_entry(entry, grid, (plan, to)),
            RungKernel::Memory(entry) => device.launch_entry(entry, grid, (plan, kept.cast(), to)),
            RungKernel::Fetch(entry) => {
                device.launch_entry(entry, grid, (plan, counters.as_ptr().cast(), to))
            }
            RungKernel::Tuned(entry) => {
                let (shared, starts) = (counters.as_ptr().cast(), Starts::OF_JOB);
                let arguments = (job, whole, ring, kept.cast(), shared, starts);
                device.launch_entry(entry, grid, arguments)
            }
        }?;
    }
    let end = device.mark(Queue::Compute)?;
    let mut result = vec![0; count];
    times.download(&mut result)?;
    let usage = device.usage(&kernel.code(), &grid)?;
    Ok(Some(Climbed {
        steps_together: result,
        elapsed: end.since(&start)?,
        registers: usage.registers,
        occupancy: usage.occupancy,
    }))
}
