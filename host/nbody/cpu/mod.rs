//! The CPU engine: threads × SIMD lanes, in the order of summation of [`kernels_gpu::physics::summation::all_pairs`].

mod entries;
mod field;
mod moves;
mod own_steps;
mod pool;
mod ranks;
mod solvers;
mod sums;
mod tile;
mod vector;

use std::ops::Range;
use std::rc::Rc;

use kernels_gpu::physics::softening::softening_floor_f32;
use kernels_gpu::physics::summation::all_pairs::chunk_length;

use self::entries::{BasicEntry, Entries, ReducedEntry};
use self::field::{Field, ROW};
use self::own_steps::Steps;
use self::pool::{DisjointSlice, WorkerPool};
use self::ranks::Shares;
use super::engine::{Integration, LowerParts, Run};
use super::{Bodies, Engine, Method, Partials, Precision, Schedule, Solver, Validated};
use trisolar_bodies::DVec3;
use trisolar_run::Ranks;
use trisolar_run::Workers;
use trisolar_run::{EngineError, Monitor};
use trisolar_simd::Simd;

/// Bytes of memory for the sums of rows that are computed at the same time, before they are added up.
const MAX_ROW_SUM_BYTES: usize = 256 << 20;
/// Bodies that a thread takes at a time in the basic solver.
const BODIES_PER_UNIT: usize = 64;

/// Integrates on the CPU.
#[derive(Debug)]
pub struct CpuEngine {
    pool: WorkerPool,
    partials: Partials,
    ranks: Option<Rc<dyn Ranks>>,
}

impl CpuEngine {
    /// With this many threads (`None`: as many as the process may use), which share rows by `schedule`, and the fastest
    /// lanes of this machine.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system cannot start that many.
    pub fn new(threads: Option<usize>, schedule: Schedule) -> Result<Self, EngineError> {
        Self::with_simd(threads, schedule, None)
    }

    /// An engine with lanes that the caller chooses from [`Simd::available`] (`None`: the fastest).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_simd(
        threads: Option<usize>,
        schedule: Schedule,
        simd: impl Into<Option<Simd>>,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            pool: WorkerPool::new(Workers::with_simd(threads, simd)?, schedule),
            partials: Partials::default(),
            ranks: None,
        })
    }

    /// Sets where the reduced solver keeps partial sums.
    pub fn with_partials(self, partials: Partials) -> Self {
        Self { partials, ..self }
    }

    /// Makes the engine one of several processes that share the bodies, each of which has such an engine. Partial sums are those of rows.
    pub fn with_ranks(self, ranks: Rc<dyn Ranks>) -> Self {
        let ranks = (ranks.size() > 1).then_some(ranks);
        Self { ranks, ..self }
    }

    /// Bytes that the reduced solver needs for partial sums of `n` bodies.
    pub fn partials_bytes(&self, n: usize) -> usize {
        self.planes_of_partials(n, Solver::Reduced) * n.next_multiple_of(ROW) * size_of::<f64>()
    }

    fn planes_of_partials(&self, n: usize, solver: Solver) -> usize {
        let padded = n.next_multiple_of(ROW);
        let threads = self.pool.threads();
        match (solver, self.partials) {
            (Solver::Basic, _) => 0,
            (Solver::Reduced, Partials::Threads) if self.ranks.is_none() => 3 * threads,
            _ if threads > 1 || self.ranks.is_some() => {
                let row = 3 * padded * size_of::<f64>();
                // Ranks must agree on it, even if they have different numbers of threads.
                let least = if self.ranks.is_some() { 1 } else { 2 * threads };
                let wanted = (MAX_ROW_SUM_BYTES / row).max(least);
                3 * wanted.min(padded / ROW)
            }
            _ => 0,
        }
    }
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        let threads = self.pool.threads();
        let s = if threads == 1 { "" } else { "s" };
        let schedule = if threads == 1 {
            String::new()
        } else {
            format!(", {} schedule", self.pool.schedule().name())
        };
        let ranks = match &self.ranks {
            Some(ranks) => format!("{} MPI ranks, each ", ranks.size()),
            None => String::new(),
        };
        format!(
            "{}, {}, {ranks}{threads} thread{s}{schedule}",
            trisolar_run::machine::cpu_name(),
            self.pool.workers().simd()
        )
    }

    fn resume<'a>(
        &'a self,
        problem: &Validated,
        bodies: &Bodies,
        _: Option<&LowerParts>,
    ) -> Result<Box<dyn Run + 'a>, EngineError> {
        let mut state = CpuRun::new(self, problem, bodies)?;
        if let Motion::Fixed(integration) = state.motion {
            integration.prepare(&mut state)?;
        }
        Ok(Box::new(state))
    }
}

/// How a run goes on.
#[derive(Clone, Copy)]
enum Motion {
    Fixed(Integration),
    /// By steps of their own within a step of this length, with this tolerance.
    Own {
        dt: f64,
        tolerance: f64,
    },
}

/// A run on the CPU.
struct CpuRun<'a> {
    engine: &'a CpuEngine,
    lanes: Entries,
    motion: Motion,
    /// Steps of their own so far.
    own_steps: Steps,
    solver: Solver,
    planar: bool,
    softening2: f64,
    n: usize,
    /// Planes of n numbers, padded to whole rows.
    x: [Vec<f64>; 3],
    v: [Vec<f64>; 3],
    a: [Vec<f64>; 3],
    g: Vec<f64>,
    /// Whether all bodies have the same G·m.
    equal: bool,
    mass: Vec<f64>,
    /// What the integrator saves.
    saved: Vec<[[Vec<f64>; 3]; 2]>,
    /// Partial sums of the reduced solver: of rows, or of threads.
    partials: Vec<f64>,
    shares: Shares,
    /// The bodies of this rank; all bodies if there are no other ranks.
    own: Vec<Range<usize>>,
}

impl<'a> CpuRun<'a> {
    fn new(
        engine: &'a CpuEngine,
        problem: &Validated,
        bodies: &Bodies,
    ) -> Result<Self, EngineError> {
        let spec = problem.specification();
        let n = bodies.len();
        let padded = n.next_multiple_of(ROW);
        let partials = engine.planes_of_partials(n, spec.solver);
        let (motion, saved) = match spec.integrator {
            Method::Fixed(_) => {
                let integration = Integration::new(spec)?;
                (Motion::Fixed(integration), integration.saved_pairs())
            }
            Method::Adaptive if engine.ranks.is_some() => {
                let reason = "works in one process only; start it without mpirun";
                return Err(EngineError::refused("integrator", Method::Adaptive, reason));
            }
            Method::Adaptive => {
                let (dt, tolerance) = (spec.dt, spec.tolerance());
                (Motion::Own { dt, tolerance }, own_steps::SAVED)
            }
        };
        let planes = 10 + 6 * saved + partials;
        let bytes = planes * padded * size_of::<f64>();
        let available = trisolar_run::machine::available_memory();
        if available > 0 && bytes as u64 > available {
            return Err(EngineError::OutOfMemory {
                device: "host".into(),
                needed: bytes as u64,
                available,
            });
        }
        let plane = |of: &[DVec3], d: usize| {
            let mut plane: Vec<f64> = of.iter().map(|v| v[d]).collect();
            plane.resize(padded, 0.0);
            plane
        };
        let planes = |of: &[DVec3]| [plane(of, 0), plane(of, 1), plane(of, 2)];
        let mut x = planes(&bodies.position);
        // Padding bodies lie on the x axis beyond all others.
        let far = bodies.farthest();
        for (p, x) in x[0][n..].iter_mut().enumerate() {
            *x = far * (2.0 + p as f64 / ROW as f64);
        }
        let zero = || [vec![0.0; padded], vec![0.0; padded], vec![0.0; padded]];
        let mut g: Vec<f64> = bodies.mass.iter().map(|m| spec.g * m).collect();
        let equal = g.iter().all(|x| x.to_bits() == g[0].to_bits());
        g.resize(padded, 0.0);
        let (shares, own) = match &engine.ranks {
            Some(ranks) => {
                let shares = Shares::new(n, ranks.size(), spec.solver, partials / 3);
                let own = shares.of[ranks.rank()].clone();
                (shares, own)
            }
            None => (Shares::alone(n), vec![Range { start: 0, end: n }]),
        };
        let narrow = spec.precision != Precision::F64;
        let mut softening2 = spec.softening * spec.softening;
        if narrow {
            let strongest = g.iter().fold(0.0_f64, |most, g| most.max(g.abs()));
            softening2 = softening2.max(softening_floor_f32(strongest));
        }
        Ok(Self {
            engine,
            lanes: lanes(engine.pool.workers().simd(), spec.precision),
            motion,
            own_steps: Steps::default(),
            solver: spec.solver,
            planar: spec.dimensions == 2,
            softening2,
            n,
            x,
            v: planes(&bodies.velocity),
            a: zero(),
            g,
            equal,
            mass: bodies.mass.clone(),
            saved: (0..saved).map(|_| [zero(), zero()]).collect(),
            partials: vec![0.0; partials * padded],
            shares,
            own,
        })
    }

    fn solve(&mut self) {
        let lanes = self.lanes;
        self.learn_positions();
        let dimensions = if self.planar { 0 } else { 1 };
        match self.solver {
            Solver::Basic => self.basic(lanes.basic[dimensions], &lanes),
            Solver::Reduced => self.reduced(lanes.reduced[dimensions]),
        }
    }

    /// Receives the positions of other ranks' bodies.
    fn learn_positions(&mut self) {
        let Some(ranks) = &self.engine.ranks else {
            return;
        };
        let planes = if self.planar {
            &mut self.x[..2]
        } else {
            &mut self.x[..]
        };
        match self.solver {
            Solver::Basic => ranks::gather(ranks.as_ref(), &self.shares, planes),
            Solver::Reduced => ranks::pass_around(ranks.as_ref(), &self.shares, planes),
        }
    }

    fn basic(&mut self, basic: BasicEntry, lanes: &Entries) {
        let field = field(&self.x, (&self.g, self.equal), self.n, self.softening2);
        let out = self.a.each_mut().map(|a| DisjointSlice::new(a));
        for own in &self.own {
            self.engine
                .pool
                .each(own.len().div_ceil(BODIES_PER_UNIT), |block| {
                    let first = own.start + block * BODIES_PER_UNIT;
                    let count =
                        BODIES_PER_UNIT.min((own.end - first).next_multiple_of(lanes.width));
                    // SAFETY: every block has bodies of its own; the planes are padded to whole rows, and a CpuEngine holds only instruction
                    // sets that the machine has.
                    unsafe { basic(&field, first, count, &out) };
                });
        }
    }

    fn reduced(&mut self, reduced: ReducedEntry) {
        let field = field(&self.x, (&self.g, self.equal), self.n, self.softening2);
        let pool = &self.engine.pool;
        let sums = self.a.each_mut();
        if let Some(ranks) = &self.engine.ranks {
            let rows = sums::Rows::new(&mut self.partials, sums[0].len());
            return relay(
                &field,
                reduced,
                sums,
                rows,
                &self.shares,
                ranks.as_ref(),
                pool,
            );
        }
        if self.engine.partials == Partials::Threads {
            return sums::textbook(&field, reduced, sums, &mut self.partials, pool);
        }
        let [ax, ay, az] = sums;
        for a in [&mut *ax, &mut *ay, &mut *az] {
            a.fill(0.0);
        }
        if self.partials.is_empty() {
            let rows = 0..field.n.div_ceil(ROW);
            sums::serial(&field, reduced, [ax, ay, az], rows);
        } else {
            sums::parallel(&field, reduced, [ax, ay, az], &mut self.partials, pool);
        }
    }
}

/// The solvers in the fastest lanes for a precision.
fn lanes(simd: Simd, precision: Precision) -> Entries {
    match (precision, simd) {
        // A call of a function for each multiply-add would take most of the time.
        #[cfg(target_arch = "x86_64")]
        (Precision::F64, Simd::Scalar) if trisolar_simd::has_fma() => entries::scalar_fma::LANES,
        (Precision::F64, Simd::Scalar) => entries::scalar::LANES,
        #[cfg(target_arch = "x86_64")]
        (Precision::F64, Simd::Avx2) => entries::avx2::LANES,
        #[cfg(target_arch = "x86_64")]
        (Precision::F64, Simd::Avx512) => entries::avx512::LANES,
        #[cfg(target_arch = "aarch64")]
        (Precision::F64, Simd::Neon) => entries::neon::LANES,
        (Precision::F32, Simd::Scalar) => entries::single::LANES,
        (Precision::FloatFloat, Simd::Scalar) => entries::double::LANES,
        // Bodies move within vectors of at most 8 lanes.
        #[cfg(target_arch = "x86_64")]
        (Precision::F32, _) => entries::single_avx2::LANES,
        #[cfg(target_arch = "x86_64")]
        (Precision::FloatFloat, _) => entries::double_avx2::LANES,
        #[cfg(target_arch = "aarch64")]
        (Precision::F32, Simd::Neon) => entries::single_neon::LANES,
        #[cfg(target_arch = "aarch64")]
        (Precision::FloatFloat, Simd::Neon) => entries::double_neon::LANES,
    }
}

fn field<'a>(
    x: &'a [Vec<f64>; 3],
    (g, equal): (&'a [f64], bool),
    n: usize,
    softening2: f64,
) -> Field<'a> {
    Field {
        x: &x[0],
        y: &x[1],
        z: &x[2],
        g,
        n,
        chunk: chunk_length(n as u32) as usize,
        softening2,
        equal,
    }
}

/// The groups of rows of this rank: their forces are added to the sums that arrive from the rank of the previous group, and the
/// sums are sent to the rank of the next group.
fn relay(
    f: &Field<'_>,
    reduced: ReducedEntry,
    [ax, ay, az]: [&mut Vec<f64>; 3],
    mut rows: sums::Rows<'_>,
    shares: &Shares,
    ranks: &dyn Ranks,
    pool: &WorkerPool,
) {
    let (all, padded) = (f.n.div_ceil(ROW), ax.len());
    let groups = all.div_ceil(shares.group);
    for group in (ranks.rank()..groups).step_by(ranks.size()) {
        let first = group * shares.group;
        let count = shares.group.min(all - first);
        rows.compute(f, reduced, (first, count), pool);
        let from = first * ROW;
        let length = padded - from;
        if group == 0 {
            for a in [&mut *ax, &mut *ay, &mut *az] {
                a.fill(0.0);
            }
        } else {
            let mut sums = vec![0.0; 3 * length];
            ranks.receive((group - 1) % ranks.size(), &mut sums);
            for (a, sums) in [&mut *ax, &mut *ay, &mut *az]
                .into_iter()
                .zip(sums.chunks_exact(length))
            {
                a[from..].copy_from_slice(sums);
            }
        }
        rows.add(f.n, [&mut *ax, &mut *ay, &mut *az], pool);
        if group + 1 < groups {
            let behind = from + count * ROW;
            let sums = [&*ax, &*ay, &*az].map(|a| &a[behind..]).concat();
            ranks.send((group + 1) % ranks.size(), sums);
        }
    }
    ranks.delivered();
}

impl Run for CpuRun<'_> {
    fn advance(&mut self, steps: u64, monitor: &dyn Monitor) -> Result<u64, EngineError> {
        // A step of few bodies takes less time than reading the clock or calling the monitor.
        let pairs = (self.n * self.n) as u64;
        let stride = (1_000_000 / pairs.max(1)).clamp(1, 4096);
        let mut done = 0;
        while done < steps {
            let here = monitor.cancelled();
            if self.engine.ranks.as_ref().map_or(here, |r| r.any(here)) {
                return Err(EngineError::Cancelled);
            }
            for _ in 0..stride.min(steps - done) {
                match self.motion {
                    Motion::Fixed(mut integration) => {
                        integration.step(self)?;
                        self.motion = Motion::Fixed(integration);
                    }
                    Motion::Own { dt, tolerance } => self.step_by_own(dt, tolerance)?,
                }
                done += 1;
            }
            monitor.progress(done, steps);
        }
        Ok(done)
    }

    fn own_steps(&self) -> Option<[u64; 2]> {
        let Steps { taken, tried } = self.own_steps;
        matches!(self.motion, Motion::Own { .. }).then_some([taken, tried])
    }

    fn bodies(&mut self) -> Result<Bodies, EngineError> {
        if let Some(ranks) = &self.engine.ranks {
            ranks::gather(ranks.as_ref(), &self.shares, &mut self.x);
            ranks::gather(ranks.as_ref(), &self.shares, &mut self.v);
        }
        let gather = |planes: &[Vec<f64>; 3]| -> Vec<DVec3> {
            (0..self.n)
                .map(|i| DVec3::new(planes[0][i], planes[1][i], planes[2][i]))
                .collect()
        };
        Ok(Bodies {
            mass: self.mass.clone(),
            position: gather(&self.x),
            velocity: gather(&self.v),
        })
    }
}
