//! The measurements.

use std::time::Instant;

use trisolar::nbody::{
    CpuEngine, Engine, Integrator, Model, Precision, Schedule, Solver, Specification, Validated,
};
use trisolar::run::{EngineError, Unattended};

use super::Args;
use crate::{Failure, interrupt};

/// Largest default number of bodies on a GPU, in `f32` and `f64`, and on the CPU.
const DEFAULT_MAX_BODIES: [usize; 3] = [1 << 20, 1 << 18, 1 << 14];

/// The parameters of a measurement.
pub(super) struct Bench {
    pub repeats: usize,
    pub seconds: f64,
}

/// A measurement.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Rate {
    pub engine: String,
    pub solver: String,
    pub precision: &'static str,
    pub bodies: usize,
    /// Steps of a measurement.
    pub steps: u64,
    /// 1e9 interactions a second: mean over the repeats.
    pub rate: f64,
    /// Standard deviation over the repeats.
    pub deviation: f64,
}

impl Rate {
    /// 1e9 operations per second, at this number of operations per interaction.
    pub fn gflops(&self, operations: f64) -> f64 {
        self.rate * operations
    }
}

/// The tables over launches.
#[derive(Debug, Default, serde::Serialize)]
pub(super) struct Tables {
    /// Threads per block; the solver's name ends with them.
    pub blocks: Vec<(u32, Rate)>,
    /// Bodies per thread and unrolled steps.
    pub unroll: Vec<([u32; 2], Rate)>,
}

/// A Plummer model in N-body units with the softening of NVIDIA's nbody sample, integrated by symplectic Euler.
pub(super) fn problem(
    n: usize,
    solver: Solver,
    precision: Precision,
) -> Result<Validated, Failure> {
    let fail = |e: &dyn std::fmt::Display| {
        Failure::Failed(format!("the benchmark's model of {n} bodies: {e}"))
    };
    let bodies = Model::Plummer
        .build(Some(n), 1, 1.0, 3)
        .map_err(|e| fail(&e))?;
    let specification = Specification {
        softening: 0.01,
        dt: 1.0e-4,
        integrator: Integrator::SymplecticEuler.into(),
        solver,
        precision,
        ..Specification::default()
    };
    specification.validate(bodies).map_err(|e| fail(&e))
}

impl Bench {
    /// Mean and deviation over the repeats, after a first run that is not counted.
    pub fn rate(
        &self,
        engine: &dyn Engine,
        problem: &Validated,
        [name, solver]: [&str; 2],
    ) -> Result<Rate, Failure> {
        let n = problem.bodies().len();
        let mut run = engine.start(problem, problem.bodies())?;
        let mut time = |steps: u64| -> Result<f64, Failure> {
            interrupt::check()?;
            let start = Instant::now();
            run.advance(steps, &Unattended)?;
            Ok(start.elapsed().as_secs_f64())
        };
        // Increases the number of steps until they take long enough; the first steps include work that is done once.
        let mut steps = 1;
        loop {
            let elapsed = time(steps)?;
            if elapsed >= self.seconds {
                break;
            }
            let wanted = steps as f64 * self.seconds * 1.1 / elapsed.max(1.0e-9);
            steps = (wanted.ceil() as u64).clamp(steps + 1, steps.saturating_mul(100));
        }
        let mut rates = Vec::with_capacity(self.repeats);
        for _ in 0..self.repeats {
            let interactions = (n as f64) * (n as f64) * steps as f64;
            rates.push(interactions / time(steps)? / 1.0e9);
        }
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let squares: f64 = rates.iter().map(|r| (r - mean) * (r - mean)).sum();
        Ok(Rate {
            engine: name.to_owned(),
            solver: solver.to_owned(),
            precision: problem.specification().precision.name(),
            bodies: n,
            steps,
            rate: mean,
            deviation: (squares / (count - 1.0)).sqrt(),
        })
    }
}

/// The given numbers of bodies, or the default ones up to `most`.
fn numbers(args: &Args, most: usize) -> Vec<usize> {
    match &args.n {
        Some(n) => n.clone(),
        None => (5..=10)
            .map(|p| 1 << (2 * p))
            .filter(|n| *n <= most)
            .collect(),
    }
}

/// Measures both solvers on the CPU and returns its name.
pub(super) fn on_cpu(args: &Args, bench: &Bench, rates: &mut Vec<Rate>) -> Result<String, Failure> {
    let engine = CpuEngine::with_simd(args.cpu.threads, Schedule::default(), args.cpu.simd())?;
    for n in numbers(args, DEFAULT_MAX_BODIES[2]) {
        for solver in Solver::ALL {
            let problem = problem(n, *solver, Precision::F64)?;
            rates.push(bench.rate(&engine, &problem, ["cpu", solver.name()])?);
        }
    }
    Ok(engine.device())
}

/// The number of GPUs, which must be at least the requested one.
fn there(args: &Args) -> Result<usize, Failure> {
    let found = trisolar::gpu::devices();
    let there = found.as_ref().map_or(0, Vec::len);
    let asked = args.gpus.iter().flatten().find(|count| **count > there);
    match (found, asked) {
        (Ok(_), None) => Ok(there),
        (Err(error), None) => Err(EngineError::from(error).into()),
        (found, Some(count)) => {
            let reason = found.err().map(|e| format!(": {e}")).unwrap_or_default();
            let allowed = format!("must be at most {there}, the number of GPUs{reason}");
            Err(Failure::value(&count.to_string(), "--gpus", &allowed))
        }
    }
}

/// Measures the kernels on GPUs and returns the devices' names.
pub(super) fn on_gpus(
    args: &Args,
    bench: &Bench,
    rates: &mut Vec<Rate>,
    tables: &mut Tables,
) -> Result<Vec<String>, Failure> {
    use trisolar::nbody::{DeviceEngine, LaunchPlan, NbodyKernel};

    let there = there(args)?;
    let mut counts = args.gpus.clone().unwrap_or_else(|| vec![1, there]);
    counts.dedup();
    let mut names = Vec::new();
    for count in counts {
        let devices: Vec<u32> = (0..count as u32).collect();
        let mut engine = DeviceEngine::gpus(&devices)?;
        names.push(engine.device());
        let name = match count {
            1 => "gpu".to_owned(),
            count => format!("{count} gpus"),
        };
        for precision in &args.precision {
            let most = DEFAULT_MAX_BODIES[usize::from(*precision != Precision::F32)];
            for n in numbers(args, most) {
                for (solver, kernel) in [
                    (Solver::Basic, None),
                    (Solver::Reduced, None),
                    (Solver::Reduced, Some(NbodyKernel::Atomic)),
                    (Solver::Reduced, Some(NbodyKernel::Equal)),
                ] {
                    let single = *precision == Precision::F32;
                    let left_out = match kernel {
                        None => false,
                        Some(NbodyKernel::Equal) => count > 1 || !single,
                        Some(_) => count > 1 || *precision == Precision::FloatFloat,
                    };
                    if left_out {
                        continue;
                    }
                    engine.set_plan(kernel.map(LaunchPlan::new));
                    let problem = problem(n, solver, *precision)?;
                    let solver = kernel.map_or(solver.name(), NbodyKernel::name);
                    rates.push(bench.rate(&engine, &problem, [&name, solver])?);
                }
            }
        }
        if args.tables && count == 1 {
            measure_tables(args, bench, &mut engine, tables)?;
        }
    }
    Ok(names)
}

/// The basic solver over block sizes, and over bodies per thread and unrolling: with sums that are not divided among blocks, as in
/// the tables of Bertinelli (2024/25).
fn measure_tables(
    args: &Args,
    bench: &Bench,
    engine: &mut trisolar::nbody::DeviceEngine,
    tables: &mut Tables,
) -> Result<(), Failure> {
    use trisolar::nbody::{LaunchPlan, NbodyKernel};

    for n in numbers(args, 1 << 16) {
        let problem = problem(n, Solver::Basic, Precision::F32)?;
        for block in [32, 64, 128, 256, 512, 1024] {
            let plan = LaunchPlan {
                block,
                ..LaunchPlan::new(NbodyKernel::Tile1)
            };
            engine.set_plan(Some(plan));
            let rate = bench.rate(engine, &problem, ["gpu", "tile-1"])?;
            tables.blocks.push((block, rate));
        }
        for kernel in [
            NbodyKernel::Plain,
            NbodyKernel::Tile1,
            NbodyKernel::Tile2,
            NbodyKernel::Tile4Rolled,
            NbodyKernel::Tile4,
            NbodyKernel::Tile4Unrolled,
            NbodyKernel::Tile8,
        ] {
            let plan = LaunchPlan {
                splits: u32::MAX,
                ..LaunchPlan::new(kernel)
            };
            engine.set_plan(Some(plan));
            let rate = bench.rate(engine, &problem, ["gpu", kernel.name()])?;
            tables.unroll.push((kernel.shape(), rate));
        }
    }
    Ok(())
}
