//! The CPU engine: threads × SIMD lanes, in the order of summation of [`kernels_gpu::nbody::order`].

mod moves;
mod solvers;
mod team;
mod vector;

use kernels_gpu::nbody::order::chunk_length;

use self::solvers::{Field, ROW, Sums, T};
use self::team::{Shared, Team};
use self::vector::Vector;
use super::engine::{Run, start};
use super::{Bodies, Engine, Integrator, Precision, Schedule, Solver, Validated};
use crate::divergence::{EngineError, Monitor};
use crate::simd::Simd;

/// Memory for the sums of rows that are computed at the same time, before they are added up.
const ROWS_BYTES: usize = 256 << 20;
/// Bodies that a thread takes at a time in the basic solver and in sums.
const BLOCK: usize = 64;

/// Integrates on the CPU.
#[derive(Debug)]
pub struct CpuEngine {
    team: Team,
    simd: Simd,
}

impl CpuEngine {
    /// With this many threads (`None`: as many as the process may use), rows dealt to them as `schedule` says, and the
    /// fastest lanes there are.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system does not give that many.
    pub fn new(threads: Option<usize>, schedule: Schedule) -> Result<Self, EngineError> {
        Self::with_simd(threads, schedule, Simd::best())
    }

    /// With lanes of the caller's choice, out of [`Simd::available`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_simd(
        threads: Option<usize>,
        schedule: Schedule,
        simd: Simd,
    ) -> Result<Self, EngineError> {
        assert!(
            Simd::available().contains(&simd),
            "{simd} is not available on this machine"
        );
        Ok(Self {
            team: Team::new(threads, schedule)?,
            simd,
        })
    }
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        let threads = self.team.threads();
        let s = if threads == 1 { "" } else { "s" };
        let schedule = if threads == 1 {
            String::new()
        } else {
            format!(", {} schedule", self.team.schedule().name())
        };
        format!(
            "{}, {}, {threads} thread{s}{schedule}",
            crate::machine::cpu_name(),
            self.simd
        )
    }

    fn start<'a>(
        &'a self,
        problem: &Validated,
        bodies: &Bodies,
    ) -> Result<Box<dyn Run + 'a>, EngineError> {
        if problem.specification().precision != Precision::F64 {
            let given = problem.specification().precision;
            let why = format!("--precision {given} is computed on a GPU only; f64 on any machine");
            return Err(EngineError::NoGpu(why));
        }
        let mut state = CpuRun::new(self, problem, bodies)?;
        start(problem.specification().integrator, &mut state)?;
        Ok(Box::new(state))
    }
}

/// Bodies under way on the CPU.
struct CpuRun<'a> {
    engine: &'a CpuEngine,
    integrator: Integrator,
    solver: Solver,
    planar: bool,
    dt: f64,
    softening2: f64,
    n: usize,
    /// Planes of n numbers, filled up to whole rows.
    x: [Vec<f64>; 3],
    v: [Vec<f64>; 3],
    a: [Vec<f64>; 3],
    g: Vec<f64>,
    mass: Vec<f64>,
    /// x₀, v₀, Σx, Σv of a Runge–Kutta step.
    stages: Option<Box<[[Vec<f64>; 3]; 4]>>,
    /// P of the rows under way: rows × 3 × padded.
    rows: Vec<f64>,
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
        let rows = match spec.solver {
            Solver::Reduced if engine.team.threads() > 1 => {
                let row = 3 * padded * size_of::<f64>();
                let wanted = (ROWS_BYTES / row).max(2 * engine.team.threads());
                wanted.min(padded / ROW)
            }
            _ => 0,
        };
        let stages = spec.integrator == Integrator::RungeKutta4;
        let planes = 10 + if stages { 12 } else { 0 } + 3 * rows;
        let bytes = planes * padded * size_of::<f64>();
        let available = crate::machine::available_memory();
        if available > 0 && bytes as u64 > available {
            return Err(EngineError::OutOfMemory {
                device: "host".into(),
                needed: bytes as u64,
                available,
            });
        }
        let plane = |of: &[[f64; 3]], d: usize| {
            let mut plane: Vec<f64> = of.iter().map(|v| v[d]).collect();
            plane.resize(padded, 0.0);
            plane
        };
        let planes = |of: &[[f64; 3]]| [plane(of, 0), plane(of, 1), plane(of, 2)];
        let mut x = planes(&bodies.position);
        // Bodies that fill up lie on the x axis beyond all others.
        let far = bodies.farthest();
        for (p, x) in x[0][n..].iter_mut().enumerate() {
            *x = far * (2.0 + p as f64 / ROW as f64);
        }
        let zero = || [vec![0.0; padded], vec![0.0; padded], vec![0.0; padded]];
        let mut g: Vec<f64> = bodies.mass.iter().map(|m| spec.g * m).collect();
        g.resize(padded, 0.0);
        Ok(Self {
            engine,
            integrator: spec.integrator,
            solver: spec.solver,
            planar: spec.dimensions == 2,
            dt: spec.dt,
            softening2: spec.softening * spec.softening,
            n,
            x,
            v: planes(&bodies.velocity),
            a: zero(),
            g,
            mass: bodies.mass.clone(),
            stages: stages.then(|| Box::new([zero(), zero(), zero(), zero()])),
            rows: vec![0.0; rows * 3 * padded],
        })
    }

    fn solve(&mut self) {
        match self.engine.simd {
            Simd::Scalar => self.solve_in::<f64>(&scalar::LANES),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => self.solve_in::<crate::simd::F64x4>(&avx2::LANES),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => self.solve_in::<crate::simd::F64x8>(&avx512::LANES),
        }
    }

    fn solve_in<V: Vector>(&mut self, lanes: &Entries) {
        let field = Field {
            x: &self.x[0],
            y: &self.x[1],
            z: &self.x[2],
            g: &self.g,
            n: self.n,
            chunk: chunk_length(self.n as u32) as usize,
            softening2: self.softening2,
        };
        let team = &self.engine.team;
        let [ax, ay, az] = &mut self.a;
        match self.solver {
            Solver::Basic => {
                let basic = if self.planar {
                    lanes.basic[0]
                } else {
                    lanes.basic[1]
                };
                let out = [Shared::new(ax), Shared::new(ay), Shared::new(az)];
                team.each(self.n.div_ceil(BLOCK), |block| {
                    let first = block * BLOCK;
                    let count = BLOCK.min((self.n - first).next_multiple_of(V::WIDTH));
                    // SAFETY: every block has bodies of its own; the planes are filled up to whole rows, and a CpuEngine
                    // holds only instruction sets that the machine has.
                    unsafe { basic(&field, first, count, &out) };
                });
            }
            Solver::Reduced => {
                let reduced = if self.planar {
                    lanes.reduced[0]
                } else {
                    lanes.reduced[1]
                };
                let sums = [ax, ay, az];
                if self.rows.is_empty() {
                    serial(&field, reduced, sums);
                } else {
                    parallel(&field, reduced, sums, &mut self.rows, team);
                }
            }
        }
    }
}

/// Rows one after the other, added to the sums as they come.
fn serial(f: &Field<'_>, reduced: ReducedEntry, [ax, ay, az]: [&mut Vec<f64>; 3]) {
    for a in [&mut *ax, &mut *ay, &mut *az] {
        a.fill(0.0);
    }
    for row in 0..f.n.div_ceil(ROW) {
        let mut behind = |base: usize, sums: &Sums<T>| {
            for (a, sums) in [&mut *ax, &mut *ay, &mut *az].into_iter().zip(&sums.0) {
                for (a, sum) in a[base..base + T].iter_mut().zip(sums) {
                    *a += sum;
                }
            }
        };
        // SAFETY: a CpuEngine holds only instruction sets that the machine has.
        let q = unsafe { reduced(f, row, &mut behind) };
        for (a, q) in [&mut *ax, &mut *ay, &mut *az].into_iter().zip(&q.0) {
            // All rows before have been added: A is complete.
            for (a, q) in a[row * ROW..].iter_mut().zip(q) {
                *a += q;
            }
        }
    }
}

/// Rows side by side: first each into memory of its own, then body by body added up in the order of the rows.
fn parallel(
    f: &Field<'_>,
    reduced: ReducedEntry,
    sums: [&mut Vec<f64>; 3],
    memory: &mut [f64],
    team: &Team,
) {
    let padded = sums[0].len();
    let at_once = memory.len() / (3 * padded);
    let rows = f.n.div_ceil(ROW);
    let out = sums.map(|a| {
        a.fill(0.0);
        Shared::new(a)
    });
    let p = Shared::new(memory);
    let mut own = vec![Sums::<ROW>::ZERO; at_once];
    let mut first = 0;
    while first < rows {
        let count = at_once.min(rows - first);
        // As plain numbers: 3 × ROW a row.
        let q = Shared::new(own.as_flattened_sums());
        team.each(count, |index| {
            let mut behind = |base: usize, sums: &Sums<T>| {
                for (d, sums) in sums.0.iter().enumerate() {
                    // SAFETY: every row has planes of its own.
                    let to = unsafe { p.range((index * 3 + d) * padded + base, T) };
                    to.copy_from_slice(sums);
                }
            };
            // SAFETY: a CpuEngine holds only instruction sets that the machine has.
            let sums = unsafe { reduced(f, first + index, &mut behind) };
            // SAFETY: every row has its own.
            unsafe { q.range(index * 3 * ROW, 3 * ROW) }.copy_from_slice(sums.0.as_flattened());
        });
        // Bodies of the rows before these are complete.
        let start = first * ROW / BLOCK;
        team.each(f.n.div_ceil(BLOCK) - start, |block| {
            let base = (start + block) * BLOCK;
            let row = base / ROW;
            for (d, out) in out.iter().enumerate() {
                // SAFETY: every block has bodies of its own.
                let a = unsafe { out.range(base, BLOCK) };
                for index in 0..count.min(row.saturating_sub(first)) {
                    // SAFETY: nobody writes any more.
                    let from = unsafe { p.range((index * 3 + d) * padded + base, BLOCK) };
                    a.iter_mut().zip(from).for_each(|(a, p)| *a += *p);
                }
                if row < first + count {
                    let at = ((row - first) * 3 + d) * ROW + base % ROW;
                    // SAFETY: as above.
                    let from = unsafe { q.range(at, BLOCK) };
                    a.iter_mut().zip(from).for_each(|(a, q)| *a += *q);
                }
            }
        });
        first += count;
    }
}

/// Sums as plain numbers.
trait Flat {
    fn as_flattened_sums(&mut self) -> &mut [f64];
}

impl Flat for Vec<Sums<ROW>> {
    fn as_flattened_sums(&mut self) -> &mut [f64] {
        const { assert!(size_of::<Sums<ROW>>() == 3 * ROW * size_of::<f64>()) };
        // SAFETY: Sums is an array of numbers without padding, as asserted.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().cast(), self.len() * 3 * ROW) }
    }
}

/// [`solvers::basic`] for a number of bodies from one on, in lanes.
type BasicEntry = unsafe fn(&Field<'_>, usize, usize, &[Shared<'_>; 3]);
/// [`solvers::reduced`] of a row, in lanes.
type ReducedEntry = unsafe fn(&Field<'_>, usize, &mut dyn FnMut(usize, &Sums<T>)) -> Sums<ROW>;

/// The solvers in one instruction set, in two and three dimensions.
struct Entries {
    basic: [BasicEntry; 2],
    reduced: [ReducedEntry; 2],
}

macro_rules! entries {
    ($($(#[$cfg:meta])* $name:ident, $vector:ty $(, $feature:literal)?;)*) => {$(
        $(#[$cfg])*
        mod $name {
            use super::{Entries, Field, ROW, Shared, Sums, T, Vector, solvers};

            pub(super) const LANES: Entries = Entries {
                basic: [basic::<2>, basic::<3>],
                reduced: [reduced::<2>, reduced::<3>],
            };

            /// # Safety
            /// The machine has the instruction set, and nobody else uses the bodies' places in `out`.
            $(#[target_feature(enable = $feature)])?
            #[allow(unused_unsafe)]
            unsafe fn basic<const D: usize>(
                f: &Field<'_>,
                first: usize,
                count: usize,
                out: &[Shared<'_>; 3],
            ) {
                for i in (first..first + count).step_by(<$vector>::WIDTH) {
                    let a = solvers::basic::<$vector, D>(f, i);
                    for (out, a) in out.iter().zip(a) {
                        // SAFETY: the caller's promise.
                        a.store(unsafe { out.range(i, <$vector>::WIDTH) });
                    }
                }
            }

            /// # Safety
            /// The machine has the instruction set.
            $(#[target_feature(enable = $feature)])?
            unsafe fn reduced<const D: usize>(
                f: &Field<'_>,
                row: usize,
                behind: &mut dyn FnMut(usize, &Sums<T>),
            ) -> Sums<ROW> {
                solvers::reduced::<$vector, D>(f, row, &mut |base, sums| behind(base, sums))
            }
        }
    )*};
}

entries! {
    scalar, f64;
    #[cfg(target_arch = "x86_64")]
    avx2, crate::simd::F64x4, "avx2,fma";
    #[cfg(target_arch = "x86_64")]
    avx512, crate::simd::F64x8, "avx512f";
}

impl Run for CpuRun<'_> {
    fn advance(&mut self, steps: u64, monitor: &dyn Monitor) -> Result<u64, EngineError> {
        let (integrator, dt) = (self.integrator, self.dt);
        // A step of few bodies is shorter than a look at the clock or at the monitor.
        let pairs = (self.n * self.n) as u64;
        let stride = (1_000_000 / pairs.max(1)).clamp(1, 4096);
        let mut done = 0;
        while done < steps {
            if monitor.cancelled() {
                return Err(EngineError::Cancelled);
            }
            for _ in 0..stride.min(steps - done) {
                integrator.step(self, dt)?;
                done += 1;
            }
            monitor.progress(done, steps);
        }
        Ok(done)
    }

    fn bodies(&mut self) -> Result<Bodies, EngineError> {
        let gather = |planes: &[Vec<f64>; 3]| -> Vec<[f64; 3]> {
            (0..self.n)
                .map(|i| [planes[0][i], planes[1][i], planes[2][i]])
                .collect()
        };
        Ok(Bodies {
            mass: self.mass.clone(),
            position: gather(&self.x),
            velocity: gather(&self.v),
        })
    }
}
