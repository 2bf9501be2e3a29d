//! The energy error of a run: its evaluation and its report.

use trisolar::accuracy::{self, Energies, EnergyError};
use trisolar::divergence::EngineError;
use trisolar::nbody::files::History;
use trisolar::nbody::{Diagnostics, EnergyLooks, Engine, Snapshot, Validated};

use super::super::Failure;
use super::super::cpu_args::CpuArgs;
use super::options::Args;
use super::outputs::Outputs;
use super::start::Start;

/// The advice for a large error.
pub(super) const ADVICE: &str = "use a smaller --dt, a larger --softening or another --integrator";

/// The energy of a run.
pub(super) struct Energy<'a> {
    problem: &'a Validated,
    engine: &'a dyn Engine,
    cpu: CpuArgs,
    /// Whether it is evaluated at the start and at the end of the run.
    at_ends: bool,
    /// The user's limit of its error.
    most: Option<f64>,
    error: Option<EnergyError>,
    /// The latest total.
    total: f64,
    /// The reason why it is not known.
    unknown: Option<String>,
}

impl<'a> Energy<'a> {
    /// For a new run, or for one that is resumed after the records in `history`.
    pub(super) fn new(
        args: &Args,
        start: &'a Start,
        outputs: &Outputs,
        engine: &'a dyn Engine,
        history: &History,
    ) -> Result<Self, Failure> {
        let mut total = f64::NAN;
        let mut error = start.start_energy.map(EnergyError::new);
        history.each_moment(|moment| {
            total = moment.diagnostics.total;
            if let Some(error) = &mut error {
                error.look(moment.diagnostics.internal);
            }
        })?;
        let looks = start.overrides.energy.unwrap_or_default();
        let most = start.overrides.max_error;
        let none = looks == EnergyLooks::Never;
        Ok(Self {
            problem: &start.problem,
            engine,
            cpu: args.cpu,
            // A quiet run reports it only if there is a limit. A checkpoint has it however the run is reported.
            at_ends: !none
                && (!args.quiet || args.json || most.is_some() || outputs.checkpoint.is_some()),
            most,
            error,
            total,
            unknown: none.then(|| "--energy none".into()),
        })
    }

    /// Whether it is evaluated at the start and at the end.
    pub(super) fn at_ends(&self) -> bool {
        self.at_ends
    }

    /// Whether it has to be evaluated at this snapshot, if the diagnostics do not contain it.
    pub(super) fn is_due(&self, snapshot: &Snapshot) -> bool {
        let end = snapshot.step == self.problem.specification().steps;
        self.at_ends && (end || self.error.is_none())
    }

    /// Takes it from diagnostics.
    pub(super) fn look(&mut self, snapshot: &Snapshot, found: &Diagnostics) -> Result<(), Failure> {
        self.take(snapshot, Energies::from(found))
    }

    /// Evaluates it, if that is possible.
    pub(super) fn evaluate(&mut self, snapshot: &Snapshot) -> Result<Option<Energies>, Failure> {
        if self.unknown.is_some() {
            return Ok(None);
        }
        let spec = self.problem.specification();
        let (threads, simd) = (self.cpu.threads, self.cpu.simd());
        match accuracy::energies(&snapshot.bodies, spec, self.engine, threads, simd) {
            Ok(energies) => {
                self.take(snapshot, energies)?;
                Ok(Some(energies))
            }
            Err(EngineError::Cancelled) => Err(Failure::Interrupted),
            // The run itself may succeed without it.
            Err(error) if self.most.is_none() => {
                self.unknown = Some(error.to_string());
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn take(&mut self, snapshot: &Snapshot, energies: Energies) -> Result<(), Failure> {
        self.total = energies.total();
        if !self.total.is_finite() {
            return Err(not_finite(snapshot, self.total));
        }
        let error = self.error.get_or_insert(EnergyError::new(energies));
        error.look(energies.internal);
        Ok(())
    }

    /// The latest error and the largest one, if they are known.
    pub(super) fn errors(&self) -> Option<[f64; 2]> {
        let known = self.error.filter(|_| self.total.is_finite())?;
        Some([known.last(), known.largest()])
    }

    /// The warning, if the error is large.
    pub(super) fn warning(&self) -> Option<String> {
        self.error?.warning(ADVICE)
    }

    /// A note, if the error is not known.
    pub(super) fn note(&self) -> Option<String> {
        let why = self.unknown.as_ref().filter(|_| self.errors().is_none())?;
        Some(format!("the energy error is not known: {why}"))
    }

    /// The line of a summary.
    pub(super) fn in_words(&self, time: f64) -> Option<String> {
        let [last, largest] = self.errors()?;
        let on_the_way = if largest == last {
            String::new()
        } else {
            format!(", at most {largest:+.3e}")
        };
        Some(format!(
            "{:.12e} at t = {time}, error {last:+.3e}{on_the_way}",
            self.total
        ))
    }

    /// Fails if the error exceeds the user's limit.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let Some(error) = self.error else {
            return Ok(());
        };
        error.check(self.most).map_err(Failure::Failed)
    }
}

/// The failure of an energy that is not finite although all coordinates are.
fn not_finite(snapshot: &Snapshot, total: f64) -> Failure {
    let when = format!("step {} (time {})", snapshot.step, snapshot.time);
    Failure::Failed(accuracy::no_energy(&when, total, &snapshot.bodies))
}
