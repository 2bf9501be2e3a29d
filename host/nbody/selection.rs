//! Selects the engine of a run.

use std::rc::Rc;

use super::scaled::Scaled;
use super::{
    CpuEngine, DeviceEngine, Engine, Method, Partials, Precision, Ranks, Schedule, Solver,
    Validated,
};
use trisolar_device::{DeviceInfo, GpuError, start_seconds};
use trisolar_run::{Backend, EngineError, agree, gpus_of_rank, machine, missing_gpu};
use trisolar_simd::Simd;

/// Number of bodies from which `auto` prefers a GPU. With fewer bodies, a CPU finishes a step before a GPU has completed its
/// launches.
const MIN_BODIES_FOR_GPU: usize = 2048;

/// With fewer bodies than this, one thread integrates unless the user sets a number, because more threads would only wait.
pub const MIN_BODIES_FOR_THREADS: usize = 512;

/// Number of bodies from which several GPUs are faster than one. With fewer bodies, the exchange of positions dominates.
const MIN_BODIES_FOR_MORE_GPUS: usize = 131_072;

/// Options of a computation. None of them changes a value, except that [`Partials::Threads`] changes the last bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The engine.
    pub backend: Backend,
    /// Threads of the CPU engine; `None` for as many as the process may use.
    pub threads: Option<usize>,
    /// The instruction set of the CPU engine; `None` for the fastest.
    pub simd: Option<Simd>,
    /// How the CPU engine's threads share the work.
    pub schedule: Schedule,
    /// Where the CPU engine's reduced solver keeps partial sums.
    pub partials: Partials,
    /// Number of the first GPU; `None` for 0. A named GPU is used for any number of bodies.
    pub device: Option<u32>,
    /// Number of GPUs that compute together; `None` for all from the first on, if there are enough bodies. A given number is used for
    /// any number of bodies.
    pub gpus: Option<u32>,
}

impl Options {
    /// The option that names GPUs by number or count, and its value, if there is one.
    pub fn asked_for_gpus(&self) -> Option<(&'static str, u32)> {
        let device = self.device.map(|number| ("device", number));
        device.or(self.gpus.map(|count| ("gpus", count)))
    }

    /// Checks that the options are compatible.
    ///
    /// # Errors
    /// [`EngineError::Refused`].
    pub fn check(&self) -> Result<(), EngineError> {
        match self.asked_for_gpus() {
            Some((option, given)) if self.backend == Backend::Cpu => {
                let reason = "--backend cpu uses no GPU; remove one of the two options";
                Err(EngineError::refused(option, given, reason))
            }
            _ => Ok(()),
        }
    }

    /// Numbers of the GPUs to use for this many bodies.
    fn devices(
        &self,
        found: Result<Vec<DeviceInfo>, GpuError>,
        bodies: usize,
    ) -> Result<Vec<u32>, EngineError> {
        let (named, count) = (self.device.into_iter(), self.gpus.unwrap_or(1));
        if let Some((number, reason)) = missing_gpu(found.as_deref(), named) {
            return Err(EngineError::refused("device", number, reason));
        }
        let first = self.device.unwrap_or(0);
        let numbers = first..first.saturating_add(count);
        if let Some((_, reason)) = missing_gpu(found.as_deref(), numbers.clone())
            && self.gpus.is_some()
        {
            let from = match first {
                0 => String::new(),
                n => format!(", and --device asks for those from {n} on"),
            };
            return Err(EngineError::refused("gpus", count, reason + &from));
        }
        let there = found?.len() as u32;
        if self.gpus.is_none() && bodies >= MIN_BODIES_FOR_MORE_GPUS {
            return Ok((first..there.max(first + 1)).collect());
        }
        Ok(numbers.collect())
    }
}

impl Options {
    /// As [`devices`](Self::devices), of a rank: the ranks of a machine divide its GPUs.
    fn devices_of_rank(
        &self,
        found: Result<Vec<DeviceInfo>, GpuError>,
        bodies: usize,
        here: [usize; 2],
    ) -> Result<Vec<u32>, EngineError> {
        let there = found.as_ref().map_or(0, Vec::len) as u32;
        let rest = there.saturating_sub(self.device.unwrap_or(0)).max(1);
        let all = Self {
            gpus: self.gpus.or((here[1] > 1 && there > 0).then_some(rest)),
            ..*self
        };
        let mut mine = gpus_of_rank(&all.devices(found, bodies)?, here);
        if self.gpus.is_none() && bodies < MIN_BODIES_FOR_MORE_GPUS {
            mine.truncate(1);
        }
        Ok(mine)
    }

    /// Seconds that a CPU needs at least for all steps, from the fastest whole runs with AVX-512.
    fn seconds_on_cpu(&self, problem: &Validated) -> f64 {
        const INTERACTIONS_PER_SECOND_OF_A_THREAD: f64 = 2.5e9;
        let threads = self.threads.unwrap_or_else(machine::threads).max(1) as f64;
        let pairs = (problem.bodies().len() as f64).powi(2);
        pairs * problem.specification().steps as f64
            / (threads * INTERACTIONS_PER_SECOND_OF_A_THREAD)
    }

    /// Whether the options ask for GPUs for this problem, or with `auto` prefer them.
    fn want_gpus(&self, problem: &Validated) -> bool {
        // GPUs are much faster in these precisions for any number of bodies.
        let single = problem.specification().precision != Precision::F64;
        match self.backend {
            Backend::Cpu => false,
            Backend::Gpu => true,
            Backend::Auto if problem.specification().integrator == Method::Adaptive => {
                self.asked_for_gpus().is_some()
            }
            Backend::Auto => {
                let many = problem.bodies().len() >= MIN_BODIES_FOR_GPU;
                let pays = self.seconds_on_cpu(problem) >= start_seconds();
                (single || many) && pays || self.asked_for_gpus().is_some()
            }
        }
    }
}

/// The engine that the options select, and notes about the selection. `auto` selects a GPU for many bodies if one can be used.
///
/// # Errors
/// [`EngineError`] if there is no such engine.
pub fn engine(
    problem: &Validated,
    options: &Options,
) -> Result<(Box<dyn Engine>, Vec<String>), EngineError> {
    options.check()?;
    let mut notes = Vec::new();
    if options.want_gpus(problem) {
        match gpu(options, problem.bodies().len()) {
            Ok(engine) => {
                notes.extend(faster_solver(problem));
                return Ok((in_units(problem, engine), notes));
            }
            Err(error) => notes.extend(error.passed_over(options.backend)?),
        }
    }
    let engine = Box::new(on_cpu(problem, options)?);
    Ok((in_units(problem, engine), notes))
}

/// What to say if a GPU is better used by the other solver. The default does not depend on the engine, and on a CPU `reduced` takes half the
/// time of `basic`.
fn faster_solver(problem: &Validated) -> Option<String> {
    let spec = problem.specification();
    let few = (1024..=4096).contains(&problem.bodies().len());
    (few && spec.solver == Solver::Reduced && spec.precision != Precision::FloatFloat).then(|| {
        "on a GPU, --solver basic is up to twice as fast for 1024 to 4096 bodies; its last bits differ".into()
    })
}

/// The engine for the precision of the problem: `f32` numbers have a small range.
fn in_units(problem: &Validated, engine: Box<dyn Engine>) -> Box<dyn Engine> {
    match problem.specification().precision {
        Precision::F64 => engine,
        Precision::F32 | Precision::FloatFloat => Box::new(Scaled(engine)),
    }
}

/// As [`engine()`], as one of several processes that share the bodies: GPUs if every rank can use one, otherwise the CPUs of all ranks.
///
/// # Errors
/// [`EngineError`] if there is no such engine; [`EngineError::Rank`] on all ranks if it is another rank that has none.
pub fn engine_on_ranks(
    problem: &Validated,
    options: &Options,
    ranks: Rc<dyn Ranks>,
) -> Result<(Box<dyn Engine>, Vec<String>), EngineError> {
    let bodies = problem.bodies().len();
    let open = || {
        options.check()?;
        let found = trisolar_device::devices();
        let numbers = options.devices_of_rank(found, bodies, ranks.here())?;
        let open = |number: &u32| Ok(trisolar_device::open(*number)?);
        numbers.iter().map(open).collect()
    };
    let opened = options.want_gpus(problem).then(open);
    let (gpus, notes) = agree(ranks.as_ref(), options.backend, opened)?;
    let engine: Box<dyn Engine> = match gpus {
        Some(gpus) => Box::new(DeviceEngine::on(gpus)?.with_ranks(ranks)),
        None => Box::new(on_cpu(problem, options)?.with_ranks(ranks)),
    };
    Ok((in_units(problem, engine), notes))
}

fn on_cpu(problem: &Validated, options: &Options) -> Result<CpuEngine, EngineError> {
    let threads = match options.threads {
        None if problem.bodies().len() < MIN_BODIES_FOR_THREADS => Some(1),
        given => given,
    };
    let engine = CpuEngine::with_simd(threads, options.schedule, options.simd)?;
    Ok(engine.with_partials(options.partials))
}

fn gpu(options: &Options, bodies: usize) -> Result<Box<dyn Engine>, EngineError> {
    let numbers = options.devices(trisolar_device::devices(), bodies)?;
    Ok(Box::new(DeviceEngine::gpus(&numbers)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trisolar_device::listed;

    #[test]
    fn gpus_that_are_asked_for_by_number_must_be_there() {
        let none = || Err(GpuError::Unavailable("no driver".into()));
        let of = |device, gpus| Options {
            device,
            gpus,
            ..Options::default()
        };
        let chosen = |options: Options, found, n| {
            let devices = options.devices(found, n);
            devices.map_err(|e| e.to_string())
        };
        let four = || Ok(listed(4));
        assert_eq!(chosen(of(None, None), four(), 1000), Ok(vec![0]));
        assert_eq!(
            chosen(of(None, None), four(), 200_000),
            Ok(vec![0, 1, 2, 3])
        );
        assert_eq!(chosen(of(Some(2), None), four(), 200_000), Ok(vec![2, 3]));
        assert_eq!(chosen(of(Some(2), None), four(), 10), Ok(vec![2]));
        assert_eq!(chosen(of(Some(1), Some(3)), four(), 10), Ok(vec![1, 2, 3]));
        let refused = |device, gpus, found, said: &str| {
            assert_eq!(chosen(of(device, gpus), found, 10), Err(said.into()));
        };
        refused(Some(4), None, four(), "--device 4: there are GPUs 0 to 3");
        refused(None, Some(5), four(), "--gpus 5: there are GPUs 0 to 3");
        refused(
            Some(2),
            Some(3),
            four(),
            "--gpus 3: there are GPUs 0 to 3, and --device asks for those from 2 on",
        );
        refused(
            Some(0),
            None,
            none(),
            "--device 0: no usable GPU: no driver",
        );
        refused(None, Some(1), none(), "--gpus 1: no usable GPU: no driver");
        refused(None, None, none(), "no usable GPU: no driver");
    }

    #[test]
    fn ranks_of_a_machine_divide_its_gpus() {
        let of = |device, gpus, n, here| {
            let options = Options {
                device,
                gpus,
                ..Options::default()
            };
            let devices = options.devices_of_rank(Ok(listed(4)), n, here);
            devices.map_err(|e| e.to_string())
        };
        assert_eq!(of(None, None, 200_000, [1, 2]), Ok(vec![1, 3]));
        assert_eq!(of(None, None, 1000, [1, 2]), Ok(vec![1]));
        assert_eq!(of(None, None, 1000, [0, 1]), Ok(vec![0]));
        assert_eq!(of(Some(2), None, 1000, [1, 2]), Ok(vec![3]));
        assert_eq!(of(None, Some(4), 1000, [0, 2]), Ok(vec![0, 2]));
        assert_eq!(of(None, Some(1), 1000, [1, 2]), Ok(vec![0]));
        assert_eq!(of(None, None, 1000, [5, 6]), Ok(vec![1]));
        let refused = of(Some(4), None, 1000, [1, 2]);
        assert_eq!(refused, Err("--device 4: there are GPUs 0 to 3".into()));
        let none = || Err(GpuError::Unavailable("no driver".into()));
        let refused = Options::default().devices_of_rank(none(), 10, [1, 2]);
        assert!(matches!(refused, Err(EngineError::NoGpu(_))));
    }

    #[test]
    fn a_cpu_has_no_gpus() {
        for (device, gpus, said) in [(Some(0), None, "--device 0"), (None, Some(2), "--gpus 2")] {
            let options = Options {
                backend: Backend::Cpu,
                device,
                gpus,
                ..Options::default()
            };
            let refused = options.check().expect_err("a contradiction").to_string();
            assert!(
                refused.starts_with(said) && refused.contains("--backend cpu"),
                "{refused}"
            );
        }
    }
}
