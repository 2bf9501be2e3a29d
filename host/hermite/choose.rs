//! Which engine computes a run, and who makes its block steps.

use super::{
    BlockStep, BlockSteps, CpuEngine, Engine, HermiteError, Scheme, SpecError, Specification,
};
use crate::divergence::{Backend, EngineError};

/// From this number of bodies on `auto` prefers a GPU. A block step takes a CPU longer from 200 on, but opening a GPU takes as long as
/// a CPU needs for some units of time of 500 bodies.
const WORTH_A_GPU: usize = 512;

/// The same with neighbours, which are summed on the CPU while the GPU waits.
const WORTH_A_GPU_WITH_NEIGHBOURS: usize = 8192;

/// How to compute; nothing here changes a bit.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which engine.
    pub backend: Backend,
    /// Threads of the CPU engine; `None` for as many as the process may use.
    pub threads: Option<usize>,
    /// How many GPUs share the work.
    pub gpus: u32,
    /// Who makes block steps.
    pub block_step: BlockStep,
}

impl Default for Options {
    /// One GPU, or the CPU.
    fn default() -> Self {
        Self {
            backend: Backend::Auto,
            threads: None,
            gpus: 1,
            block_step: BlockStep::Auto,
        }
    }
}

impl Options {
    /// That the values go together, and with the scheme if one is given.
    ///
    /// # Errors
    /// The first value that does not, and what it goes with.
    pub fn check(&self, scheme: Option<Scheme>) -> Result<(), SpecError> {
        let on_gpus = self.backend == Backend::Gpu;
        let wrong = |option, given: String, allowed: &str| {
            Err(SpecError {
                option,
                given,
                allowed: allowed.to_owned(),
            })
        };
        if self.gpus > 1 && !on_gpus {
            let allowed = "more than 1 goes with --backend gpu";
            return wrong("--gpus", self.gpus.to_string(), allowed);
        }
        let device = self.block_step == BlockStep::By(BlockSteps::Device);
        let allowed = match (device, self.gpus) {
            (false, _) => return Ok(()),
            (true, _) if !on_gpus => "goes with --backend gpu",
            (true, 2..) => "goes with one GPU: --gpus 1",
            (true, _) if scheme == Some(Scheme::AhmadCohen) => "goes with --scheme plain",
            (true, _) => return Ok(()),
        };
        wrong("--block-step", self.block_step.name().to_owned(), allowed)
    }

    /// Opens what a run of so many bodies is computed on. `auto` takes a GPU for many bodies if one can be used.
    ///
    /// # Errors
    /// [`EngineError`] if what is asked for is not there.
    pub fn open(
        &self,
        specification: &Specification,
        bodies: usize,
    ) -> Result<Devices, EngineError> {
        let mut devices = Devices {
            options: *self,
            #[cfg(feature = "gpu")]
            gpus: Vec::new(),
            notes: Vec::new(),
        };
        let wanted = match self.backend {
            Backend::Cpu => false,
            Backend::Gpu => true,
            Backend::Auto if specification.ahmad_cohen.is_some() => {
                bodies >= WORTH_A_GPU_WITH_NEIGHBOURS
            }
            Backend::Auto => bodies >= WORTH_A_GPU,
        };
        if wanted && let Err(error) = devices.open_gpus() {
            devices.notes.extend(error.passed_over(self.backend)?);
        }
        Ok(devices)
    }
}

/// What a run is computed on: GPUs that are open, or the CPU.
#[derive(Debug)]
pub struct Devices {
    options: Options,
    #[cfg(feature = "gpu")]
    gpus: Vec<crate::gpu::Gpu>,
    notes: Vec<String>,
}

impl Devices {
    #[cfg(feature = "gpu")]
    fn open_gpus(&mut self) -> Result<(), EngineError> {
        let open = (0..self.options.gpus).map(crate::gpu::Gpu::open);
        self.gpus = open.collect::<Result<_, _>>()?;
        Ok(())
    }

    #[cfg(not(feature = "gpu"))]
    fn open_gpus(&mut self) -> Result<(), EngineError> {
        Err(EngineError::NoGpu(
            "this program was built without the feature `gpu`".into(),
        ))
    }

    /// An engine on them.
    ///
    /// # Errors
    /// As [`CpuEngine::new`].
    pub fn engine(&self) -> Result<Box<dyn Engine + '_>, HermiteError> {
        #[cfg(feature = "gpu")]
        if !self.gpus.is_empty() {
            return Ok(super::on_gpus(&self.gpus));
        }
        Ok(Box::new(CpuEngine::new(self.options.threads)?))
    }

    /// Who makes block steps with this engine: as the options say, or the device wherever it can.
    pub fn block_steps(&self, engine: &dyn Engine, specification: &Specification) -> BlockSteps {
        match self.options.block_step {
            BlockStep::By(by) => by,
            BlockStep::Auto if specification.no_block_steps(engine).is_none() => BlockSteps::Device,
            BlockStep::Auto => BlockSteps::Host,
        }
    }

    /// What the user should know about the choice.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}
