//! All-pairs N-body: every engine and kernel that sums in a fixed order must give the bits of one lane on one thread. In `f32` and
//! float-float, in which a CPU has other last bits than a GPU, the kernels of a solver must give each other's.

use std::time::Instant;

use serde_json::json;
use trisolar::bodies::DVec3;
use trisolar::nbody::{
    Bodies, CpuEngine, DeviceEngine, Engine, Integrator, LaunchPlan, Model, NbodyKernel, Precision,
    Schedule, Solver, Specification, Validated,
};
use trisolar::run::{EngineError, Unattended};
use trisolar::simd::Simd;

use super::{Failure, Sizes, interrupt};

const STEPS: u64 = 3;

/// The result of an engine.
#[derive(Debug)]
pub(super) struct Outcome {
    problem: String,
    engine: String,
    bodies: usize,
    /// Positions and velocities that differ from the reference, or why there is no result.
    different: Result<usize, String>,
    seconds: f64,
}

impl Outcome {
    pub fn agrees(&self) -> bool {
        self.different == Ok(0)
    }

    pub fn to_json(&self) -> serde_json::Value {
        json!({
            "problem": self.problem,
            "engine": self.engine,
            "bodies": self.bodies,
            "different": self.different.as_ref().ok(),
            "error": self.different.as_ref().err(),
            "seconds": self.seconds,
        })
    }
}

/// Runs all engines of this machine.
pub(super) fn outcomes(simds: &[Simd], sizes: &Sizes) -> Result<Vec<Outcome>, Failure> {
    let mut list = Vec::new();
    let mut gpus = Gpus::open()?;
    let mut integrators = Integrator::of_any_bodies().cycle();
    for n in sizes.bodies.iter().copied().chain(sizes.large) {
        for solver in Solver::ALL {
            let integrator = integrators.next().expect("there are some");
            let problem = problem(n, *solver, Precision::F64, integrator)?;
            let reference = CpuEngine::with_simd(Some(1), Schedule::Dynamic, Simd::best())?;
            let expected = run(&reference, &problem)?;
            on_cpu(&problem, &expected, simds, sizes, &mut list)?;
            if n <= sizes.emulated_bodies {
                emulated(&problem, &expected, &mut list)?;
            }
            gpus.check(&problem, Some(&expected), &mut list)?;
            for precision in [Precision::F32, Precision::FloatFloat] {
                let problem = self::problem(n, *solver, precision, integrator)?;
                gpus.check(&problem, None, &mut list)?;
            }
        }
    }
    Ok(list)
}

fn problem(
    n: usize,
    solver: Solver,
    precision: Precision,
    integrator: Integrator,
) -> Result<Validated, Failure> {
    let fail = |e: &dyn std::fmt::Display| {
        Failure::Failed(format!("the {n} bodies of the self test: {e}"))
    };
    let bodies = Model::Plummer
        .build(Some(n), 5, 1.0, 3)
        .map_err(|e| fail(&e))?;
    let specification = Specification {
        steps: STEPS,
        softening: 0.01,
        solver,
        precision,
        integrator: integrator.into(),
        ..Specification::default()
    };
    specification.validate(bodies).map_err(|e| fail(&e))
}

fn run(engine: &dyn Engine, problem: &Validated) -> Result<Bodies, EngineError> {
    let mut run = engine.start(problem, problem.bodies())?;
    run.advance(STEPS, &Unattended)?;
    run.bodies()
}

/// Compares an engine's result, which it also returns, with what is expected.
fn compare(
    name: String,
    engine: &dyn Engine,
    problem: &Validated,
    expected: Option<&Bodies>,
    list: &mut Vec<Outcome>,
) -> Result<Option<Bodies>, Failure> {
    interrupt::check()?;
    let spec = problem.specification();
    let start = Instant::now();
    let found = run(engine, problem);
    list.push(Outcome {
        problem: format!("{}, {}, {}", spec.solver, spec.precision, spec.integrator),
        engine: name,
        bodies: problem.bodies().len(),
        different: match (&found, expected) {
            (Ok(found), Some(expected)) => Ok(differences(found, expected)),
            (Ok(found), None) => Ok(differences(found, found)),
            (Err(error), _) => Err(error.to_string()),
        },
        seconds: start.elapsed().as_secs_f64(),
    });
    Ok(found.ok())
}

/// Number of vectors that differ in a bit or are not finite.
fn differences(found: &Bodies, expected: &Bodies) -> usize {
    let of = |b: &Bodies| [&b.position[..], &b.velocity].concat();
    let same = |(a, b): &(&DVec3, &DVec3)| {
        a.to_array().map(f64::to_bits) == b.to_array().map(f64::to_bits) && a.is_finite()
    };
    let (found, expected) = (of(found), of(expected));
    found.len() - found.iter().zip(&expected).filter(same).count()
}

fn on_cpu(
    problem: &Validated,
    expected: &Bodies,
    simds: &[Simd],
    sizes: &Sizes,
    list: &mut Vec<Outcome>,
) -> Result<(), Failure> {
    let large = Some(problem.bodies().len()) == sizes.large;
    for &simd in simds {
        if large && Some(&simd) != simds.last() {
            continue;
        }
        for (threads, schedule) in [(1, Schedule::Dynamic), (3, Schedule::Cyclic)] {
            let engine = CpuEngine::with_simd(Some(threads), schedule, simd)?;
            let name = format!("cpu, {simd}, {threads} threads");
            compare(name, &engine, problem, Some(expected), list)?;
        }
    }
    Ok(())
}

/// The kernels of the problem's solver that sum in a fixed order.
fn kernels(problem: &Validated) -> impl Iterator<Item = NbodyKernel> {
    let reduced = problem.specification().solver == Solver::Reduced;
    NbodyKernel::ALL
        .into_iter()
        .filter(move |k| k.is_deterministic() && k.is_reduced() == reduced)
}

fn emulated(
    problem: &Validated,
    expected: &Bodies,
    list: &mut Vec<Outcome>,
) -> Result<(), Failure> {
    for kernel in kernels(problem) {
        let engine = DeviceEngine::emulated(LaunchPlan::new(kernel), Some(1));
        let name = format!("emulator, {}", kernel.name());
        compare(name, &engine, problem, Some(expected), list)?;
    }
    Ok(())
}

/// The GPUs, opened once because kernels are compiled when they are first used.
struct Gpus {
    each: Vec<DeviceEngine>,
    together: Option<DeviceEngine>,
}

impl Gpus {
    fn open() -> Result<Self, Failure> {
        // A missing GPU is reported elsewhere.
        let devices = trisolar::gpu::devices().unwrap_or_default();
        let all: Vec<u32> = devices.iter().map(|d| d.index).collect();
        let each = all.iter().map(|index| DeviceEngine::gpu(*index));
        Ok(Self {
            each: each.collect::<Result<_, _>>()?,
            together: (all.len() > 1)
                .then(|| DeviceEngine::gpus(&all))
                .transpose()?,
        })
    }

    /// Checks every kernel on the first GPU in launches of different shapes, the default kernel on each GPU, and all GPUs together. Without
    /// an expectation the others are compared with the first result.
    fn check(
        &mut self,
        problem: &Validated,
        expected: Option<&Bodies>,
        list: &mut Vec<Outcome>,
    ) -> Result<(), Failure> {
        let mut first = None;
        let mut check = |name: String, engine: &DeviceEngine| -> Result<(), Failure> {
            let found = compare(name, engine, problem, expected.or(first.as_ref()), list)?;
            first = first.take().or(found);
            Ok(())
        };
        for (index, engine) in self.each.iter_mut().enumerate() {
            for kernel in kernels(problem).filter(|_| index == 0) {
                for (block, splits, rows) in [(128, 1, u32::MAX), (64, u32::MAX, 1)] {
                    engine.set_plan(Some(LaunchPlan {
                        kernel,
                        block,
                        splits,
                        rows,
                    }));
                    let name = format!("gpu {index}, {}, blocks of {block}", kernel.name());
                    check(name, engine)?;
                }
            }
            engine.set_plan(None);
            check(format!("gpu {index}, as chosen"), engine)?;
        }
        if let Some(engine) = &mut self.together {
            engine.set_plan(None);
            check("all gpus, as chosen".into(), engine)?;
            if problem.specification().solver == Solver::Reduced {
                engine.set_plan(Some(LaunchPlan {
                    rows: 1,
                    ..LaunchPlan::new(NbodyKernel::Reduced)
                }));
                check("all gpus, row by row".into(), engine)?;
            }
        }
        Ok(())
    }
}

/// A line for each problem and engine.
pub(super) fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let mut before = None;
    for outcome in outcomes {
        let problem = format!("{} bodies, {}", outcome.bodies, outcome.problem);
        if before.as_ref() != Some(&problem) {
            text.push_str(&format!("{problem}\n"));
            before = Some(problem);
        }
        let verdict = match &outcome.different {
            Ok(0) => "equal".to_owned(),
            Ok(n) => format!("{n} VECTORS DIFFER"),
            Err(reason) => format!("FAILED: {reason}"),
        };
        text.push_str(&format!(
            "  {:<46} {:>9.3} s  {verdict}\n",
            outcome.engine, outcome.seconds
        ));
    }
    text.push('\n');
    text
}
