//! Selects the engine of a run, and whether host or device performs its block steps.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::ranks::SharedEngine;
use super::{
    BlockStep, BlockSteps, CpuEngine, Engine, HermiteError, Scheme, SpecError, Specification,
};
use trisolar_device::{Device, DeviceInfo, GpuError, start_seconds};
use trisolar_run::{
    Backend, EngineError, Ranks, Workers, agree, gpus_of_rank, machine, missing_gpu,
};
use trisolar_simd::Simd;

/// From this number of bodies on `auto` prefers a GPU. A block step takes a CPU longer from 200 on, but opening a GPU takes as long as
/// a CPU needs for some units of time of 500 bodies.
const MIN_BODIES_FOR_GPU: usize = 512;

/// As [`MIN_BODIES_FOR_GPU`], with neighbours, for which a CPU sums fewer forces.
const MIN_BODIES_FOR_GPU_WITH_NEIGHBOURS: usize = 8192;

/// Options of a computation, none of which changes a bit of the result.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The engine.
    pub backend: Backend,
    /// Threads of the CPU with any engine; `None` for as many as the process may use.
    pub threads: Option<usize>,
    /// The instruction set of the CPU with any engine; `None` for the fastest.
    pub simd: Option<Simd>,
    /// Number of GPUs that share the work; `None` for one GPU if the run is large enough.
    pub gpus: Option<u32>,
    /// Whether the host or the device performs block steps.
    pub block_step: BlockStep,
    /// The time that the run lasts (N-body units), by which `auto` decides whether the start of a GPU pays; `None` if it is not known.
    pub duration: Option<f64>,
}

impl Default for Options {
    /// A GPU, or the CPU.
    fn default() -> Self {
        Self {
            backend: Backend::Auto,
            threads: None,
            simd: None,
            gpus: None,
            block_step: BlockStep::Auto,
            duration: None,
        }
    }
}

impl Options {
    /// Checks that the options are compatible with each other and with the scheme, if one is given.
    ///
    /// # Errors
    /// The first incompatible value, and its requirement.
    pub fn check(&self, scheme: Option<Scheme>) -> Result<(), SpecError> {
        let on_gpus = self.backend == Backend::Gpu;
        let wrong = |option, given: String, allowed: &str| {
            Err(SpecError {
                option,
                given,
                allowed: allowed.to_owned(),
            })
        };
        let gpus = self.gpus.unwrap_or(1);
        if gpus > 1 && !on_gpus {
            let allowed = "more than 1 needs --backend gpu";
            return wrong("--gpus", gpus.to_string(), allowed);
        }
        if self.gpus.is_some() && self.backend == Backend::Cpu {
            let allowed = "--backend cpu uses no GPU; remove one of the two options";
            return wrong("--gpus", gpus.to_string(), allowed);
        }
        let device = self.block_step == BlockStep::By(BlockSteps::Device);
        let allowed = match device {
            false => return Ok(()),
            true if !on_gpus => "needs --backend gpu",
            true if scheme == Some(Scheme::AhmadCohen) && gpus > 1 => {
                "needs --gpus 1 with --scheme ahmad-cohen"
            }
            true => return Ok(()),
        };
        wrong("--block-step", self.block_step.name().to_owned(), allowed)
    }

    /// Numbers of the GPUs to use.
    fn numbers(&self, found: Result<&[DeviceInfo], &GpuError>) -> Result<Range<u32>, EngineError> {
        let numbers = 0..self.gpus.unwrap_or(1);
        match (missing_gpu(found, numbers.clone()), self.gpus) {
            (Some((_, reason)), Some(given)) => Err(EngineError::refused("gpus", given, reason)),
            (Some(_), None) => Err(found.err().cloned().map_or_else(
                || EngineError::NoGpu("there is no GPU".into()),
                EngineError::from,
            )),
            (None, _) => Ok(numbers),
        }
    }

    /// Opens the GPUs: the first one, unless a number is given.
    ///
    /// # Errors
    /// [`EngineError`] if one of them cannot be used.
    pub fn open_gpus(&self) -> Result<Vec<Arc<dyn Device>>, EngineError> {
        let numbers = self.numbers(trisolar_device::devices().as_deref())?;
        let open = numbers.map(trisolar_device::open);
        Ok(open.collect::<Result<_, _>>()?)
    }

    /// Opens the devices for a run of this many bodies. `auto` takes a GPU for many bodies if one can be used.
    ///
    /// # Errors
    /// [`EngineError`] if a requested device cannot be used.
    pub fn open(
        &self,
        specification: &Specification,
        bodies: usize,
    ) -> Result<OpenDevices, EngineError> {
        let on_device = self.block_step == BlockStep::By(BlockSteps::Device);
        if on_device && specification.close_pairs.is_some() {
            let reason = "cannot be used with --close-pairs regularised";
            return Err(EngineError::refused(
                "block-step",
                self.block_step.name(),
                reason,
            ));
        }
        let mut devices = OpenDevices {
            options: *self,
            gpus: Vec::new(),
            notes: Vec::new(),
            ranks: None,
        };
        if self.want_gpus(specification, bodies) {
            match self.open_gpus() {
                Ok(gpus) => devices.gpus = gpus,
                Err(error) => devices.notes.extend(error.passed_over(self.backend)?),
            }
        }
        Ok(devices)
    }

    /// As [`open`](Self::open), for one of several processes that compute together: GPUs if every rank can use one, otherwise the CPUs of
    /// all ranks. The ranks of a machine divide its GPUs; without a given number, each uses one.
    ///
    /// # Errors
    /// As [`open`](Self::open); [`EngineError::Rank`] on all ranks if it is another rank that has no device.
    pub fn open_on_ranks(
        &self,
        specification: &Specification,
        bodies: usize,
        ranks: Rc<dyn Ranks>,
    ) -> Result<OpenDevices, EngineError> {
        let open = || {
            let numbers =
                self.numbers_of_rank(trisolar_device::devices().as_deref(), ranks.here())?;
            let open = |number: &u32| Ok(trisolar_device::open(*number)?);
            numbers.iter().map(open).collect()
        };
        let opened = self.want_gpus(specification, bodies).then(open);
        let (gpus, notes) = agree(ranks.as_ref(), self.backend, opened)?;
        Ok(OpenDevices {
            options: *self,
            gpus: gpus.unwrap_or_default(),
            notes,
            ranks: (ranks.size() > 1).then_some(ranks),
        })
    }

    /// Numbers of the GPUs of a rank.
    fn numbers_of_rank(
        &self,
        found: Result<&[DeviceInfo], &GpuError>,
        here: [usize; 2],
    ) -> Result<Vec<u32>, EngineError> {
        let there = found.map_or(0, <[_]>::len) as u32;
        let all = match self.gpus {
            None if here[1] > 1 && there > 0 => 0..there,
            _ => self.numbers(found)?,
        };
        let mut mine = gpus_of_rank(&all.collect::<Vec<_>>(), here);
        if self.gpus.is_none() {
            mine.truncate(1);
        }
        Ok(mine)
    }

    /// Seconds that a CPU needs at least for a run of this many bodies, from runs of 1024 and 16384 bodies with AVX-512 on 1 and on 16 threads.
    fn seconds_on_cpu(&self, bodies: usize) -> f64 {
        /// Of one thread for a unit of time of 1024 bodies, on average over the orders.
        const SECONDS_A_UNIT: f64 = 0.6;
        /// Many threads wait for each other in small block steps.
        const SPEED_UP_EXPONENT: f64 = 0.65;
        let threads = self.threads.unwrap_or_else(machine::threads).max(1) as f64;
        let duration = self.duration.unwrap_or(f64::INFINITY);
        SECONDS_A_UNIT * duration * (bodies as f64 / 1024.0).powi(2)
            / threads.powf(SPEED_UP_EXPONENT)
    }

    /// Whether the options ask for GPUs for a run of this many bodies, or with `auto` prefer them.
    fn want_gpus(&self, specification: &Specification, bodies: usize) -> bool {
        match self.backend {
            Backend::Cpu => false,
            Backend::Gpu => true,
            Backend::Auto if self.gpus.is_some() => true,
            Backend::Auto if self.seconds_on_cpu(bodies) < start_seconds() => false,
            Backend::Auto if specification.ahmad_cohen.is_some() => {
                bodies >= MIN_BODIES_FOR_GPU_WITH_NEIGHBOURS
            }
            Backend::Auto => bodies >= MIN_BODIES_FOR_GPU,
        }
    }
}

/// The devices of a run: open GPUs, or the CPU.
#[derive(Debug)]
pub struct OpenDevices {
    options: Options,
    gpus: Vec<Arc<dyn Device>>,
    notes: Vec<String>,
    /// The processes that compute together, if there are several.
    ranks: Option<Rc<dyn Ranks>>,
}

impl OpenDevices {
    /// An engine on them.
    ///
    /// # Errors
    /// As [`CpuEngine::new`].
    pub fn engine(&self) -> Result<Box<dyn Engine + '_>, HermiteError> {
        let engine = self.own_engine()?;
        Ok(match &self.ranks {
            Some(ranks) => Box::new(SharedEngine::new(engine, ranks.clone())),
            None => engine,
        })
    }

    fn own_engine(&self) -> Result<Box<dyn Engine + '_>, HermiteError> {
        if self.gpus.is_empty() {
            return Ok(Box::new(CpuEngine::with_simd(
                self.options.threads,
                self.options.simd,
            )?));
        }
        let workers =
            Workers::with_simd(self.options.threads, self.options.simd)?.with_short_tasks()?;
        Ok(super::on_devices(self.gpus.clone(), workers))
    }

    /// Whether host or device performs block steps with this engine: the choice of the options, or the device wherever it can.
    pub fn block_steps(&self, engine: &dyn Engine, specification: &Specification) -> BlockSteps {
        match self.options.block_step {
            BlockStep::By(by) => by,
            BlockStep::Auto if specification.close_pairs.is_some() => BlockSteps::Host,
            BlockStep::Auto if engine.no_block_steps(specification).is_none() => BlockSteps::Device,
            BlockStep::Auto => BlockSteps::Host,
        }
    }

    /// What the user should know about the choice.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order;
    use trisolar_device::listed;

    #[test]
    fn gpus_that_are_asked_for_by_number_must_be_there() {
        let of = |gpus| Options {
            gpus,
            ..Options::default()
        };
        let none = GpuError::Unavailable("no driver".into());
        let said = |gpus, found: Result<&[DeviceInfo], &GpuError>| {
            of(gpus).numbers(found).map_err(|e| e.to_string())
        };
        let four = listed(4);
        assert_eq!(said(None, Ok(&four)), Ok(0..1));
        assert_eq!(said(Some(4), Ok(&four)), Ok(0..4));
        let refused = |gpus, found, words: &str| assert_eq!(said(gpus, found), Err(words.into()));
        refused(Some(5), Ok(&four), "--gpus 5: there are GPUs 0 to 3");
        refused(Some(1), Err(&none), "--gpus 1: no usable GPU: no driver");
        refused(None, Err(&none), "no usable GPU: no driver");
    }

    #[test]
    fn ranks_of_a_machine_divide_its_gpus() {
        let of = |gpus, here| {
            let options = Options {
                gpus,
                ..Options::default()
            };
            let numbers = options.numbers_of_rank(Ok(&listed(4)), here);
            numbers.map_err(|e| e.to_string())
        };
        assert_eq!(of(None, [1, 2]), Ok(vec![1]));
        assert_eq!(of(None, [0, 1]), Ok(vec![0]));
        assert_eq!(of(None, [5, 6]), Ok(vec![1]));
        assert_eq!(of(Some(4), [1, 2]), Ok(vec![1, 3]));
        assert_eq!(of(Some(1), [1, 2]), Ok(vec![0]));
        let refused = "--gpus 5: there are GPUs 0 to 3";
        assert_eq!(of(Some(5), [1, 2]), Err(refused.into()));
    }

    #[test]
    fn a_short_run_does_not_start_a_gpu() {
        let wants = |duration, threads, bodies| {
            let options = Options {
                duration,
                threads: Some(threads),
                ..Options::default()
            };
            options.want_gpus(&Specification::new(Order::Four), bodies)
        };
        // The start takes 0.4 s; a unit of 1024 bodies 0.6 s on one thread and 0.1 s on 16.
        assert!(!wants(Some(1.0), 16, 1024) && wants(Some(1.0), 1, 1024));
        assert!(wants(Some(10.0), 16, 1024) && wants(None, 16, 1024));
        assert!(wants(Some(1.0), 16, 16384) && !wants(Some(0.01), 16, 16384));
        assert!(!wants(Some(1e9), 1, 511));
    }

    #[test]
    fn a_cpu_has_no_gpus() {
        let options = Options {
            backend: Backend::Cpu,
            gpus: Some(1),
            ..Options::default()
        };
        let refused = options.check(None).expect_err("a contradiction");
        assert_eq!((refused.option, refused.given.as_str()), ("--gpus", "1"));
    }
}
