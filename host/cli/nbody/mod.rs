//! `trisolar nbody`: bodies that all pull each other, from a model, a file or a checkpoint to their last step.

mod given;
mod options;
mod outputs;
mod record;
mod start;

use std::time::Instant;

use trisolar::divergence::{Backend, EngineError};
use trisolar::nbody::{self, Options, Pause, RunError, Specification};

pub(crate) use self::options::Args;
use self::options::Format;
use self::outputs::Outputs;
use self::record::Record;
use self::start::Start;
use super::progress::Progress;
use super::ranks::Team;
use super::{Failure, interrupt, report};

/// Bodies up to which the summary finds energies without being asked to: more would take longer than the run.
const SUMMARY_ENERGY: usize = 20_000;
/// Looks of a run whose files show it over time, unless the user says how many.
const LOOKS: u64 = 1000;
/// Pulls between two pauses for a checkpoint: about a second of a core.
const PULLS: u64 = 1_000_000_000;

/// Integrates and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let team = Team::join()?;
    let result = run_as(args, &team);
    team.end(result)
}

fn run_as(args: &Args, team: &Team) -> Result<(), Failure> {
    // Rank 0 reads, and tells the others.
    let mut read = None;
    let bytes = team.share(|| {
        let (start, outputs) = begin(args, team)?;
        let bytes = if team.size() > 1 {
            start.to_bytes()
        } else {
            Vec::new()
        };
        read = Some((start, outputs));
        Ok(bytes)
    })?;
    let (start, outputs) = match read {
        Some((start, outputs)) => (start, Some(outputs)),
        None => (Start::from_bytes(&bytes)?, None),
    };
    interrupt::watch()?;
    let options = Options {
        backend: args.backend,
        threads: team.threads(args.threads),
        schedule: args.schedule,
        partials: args.partials,
        device: args.device,
        gpus: args.gpus,
    };
    let (engine, notes) = match team.ranks() {
        Some(ranks) => {
            let engine = nbody::engine_on_ranks(&start.problem, &options, ranks);
            (engine.map_err(failed)?, Vec::new())
        }
        None => nbody::engine(&start.problem, &options).map_err(failed)?,
    };
    let every = every(args, &start);
    let pauses = [
        every,
        pauses(
            args,
            start.problem.specification(),
            start.problem.bodies().len(),
        ),
    ];
    let Some(outputs) = outputs else {
        // Another rank looks at the bodies.
        let outcome = nbody::integrate_with_pauses(
            engine.as_ref(),
            &start.problem,
            &start.from,
            pauses,
            &Progress::new("", true),
            &mut |_, _| Ok(()),
        );
        return outcome.map_err(ended);
    };
    let mut record = Record {
        args,
        problem: &start.problem,
        outputs: &outputs,
        wants_energy: wants_energy(args, &start, &outputs),
        every,
        start_energy: start.start_energy,
        history: start.history,
        last: start.from.clone(),
        saved: None,
    };
    // What a checkpoint has seen is not looked at again.
    if start.from.step == 0 || (record.wants_energy && record.history.moments.is_empty()) {
        record.look(&start.from)?;
    }
    let progress = Progress::new(&start.name, args.quiet);
    let began = Instant::now();
    let outcome = nbody::integrate_with_pauses(
        engine.as_ref(),
        &start.problem,
        &start.from,
        pauses,
        &progress,
        &mut |snapshot, pause| {
            if pause == Pause::Look {
                record.look(&snapshot)?;
            }
            record.pause(snapshot)
        },
    );
    progress.finish();
    let seconds = began.elapsed().as_secs_f64();
    if let Err(error) = outcome {
        let failure = ended(error);
        // What has been computed is not lost.
        record.save()?;
        if let Some(path) = outputs.checkpoint.as_ref().filter(|_| !args.quiet) {
            let (step, path) = (record.last.step, path.display());
            report::to_stderr(&format!(
                "note: {path} holds step {step}; --resume goes on from it"
            ));
        }
        return Err(failure);
    }
    record.write()?;
    let steps = start.problem.specification().steps - start.from.step;
    record.report(&start.name, engine.as_ref(), &notes, steps, seconds)
}

/// What the user asks for, checked, and warned about.
fn begin(args: &Args, team: &Team) -> Result<(Start, Outputs), Failure> {
    let outputs = Outputs::new(args)?;
    if team.size() > 1 && args.backend == Backend::Gpu {
        let reason = "bodies shared among MPI ranks are integrated on CPUs: auto or cpu";
        return Err(Failure::value("gpu", "--backend", reason));
    }
    let start = args.start()?;
    let integrator = start.problem.specification().integrator;
    if let Some(path) = outputs
        .checkpoint
        .as_ref()
        .filter(|_| integrator.is_multistep())
    {
        let reason = format!(
            "{integrator} continues from earlier steps, which a checkpoint does not hold; \
             only runs of one-step integrators can have checkpoints"
        );
        let given = path.display().to_string();
        return Err(Failure::value(&given, "--checkpoint", &reason));
    }
    if let Some(path) = &outputs.config {
        given::save(&start.given, path)?;
    }
    if !args.quiet {
        for warning in start.problem.warnings() {
            report::to_stderr(&format!("warning: {warning}"));
        }
    }
    Ok((start, outputs))
}

fn wants_energy(args: &Args, start: &Start, outputs: &Outputs) -> bool {
    let few = start.problem.bodies().len() <= SUMMARY_ENERGY;
    let summary = args.format == Format::Summary && (args.json || !args.quiet);
    outputs.want_energy() || (summary && few)
}

/// Steps between looks.
fn every(args: &Args, start: &Start) -> u64 {
    let steps = start.problem.specification().steps;
    let over_time = args.series.is_some()
        || args.trajectory.is_some()
        || args.plots.is_some()
        || args.animation.is_some();
    match args.every {
        Some(every) => every,
        None if over_time => steps.div_ceil(LOOKS),
        None => steps,
    }
}

/// Steps between pauses for checkpoints. Not a matter of time: all ranks pause together.
fn pauses(args: &Args, spec: &Specification, n: usize) -> u64 {
    if args.checkpoint.is_none() {
        return u64::MAX;
    }
    // Not even two bodies are integrated in less than some hundred cycles.
    let step = (n as u64 * n as u64).max(256) * u64::from(spec.integrator.evaluations());
    (PULLS / step).max(1)
}

fn ended(error: RunError<Failure>) -> Failure {
    match error {
        RunError::Engine(error) => failed(error),
        RunError::Observer(failure) => failure,
    }
}

/// Engine errors with this command's hints.
fn failed(error: EngineError) -> Failure {
    match error {
        EngineError::OutOfMemory { .. } => {
            Failure::Failed(format!("{error}\nhint: fewer bodies (--n) need less"))
        }
        error => error.into(),
    }
}
