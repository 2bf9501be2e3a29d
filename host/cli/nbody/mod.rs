//! `trisolar nbody`: integrates bodies that all attract each other, from a model, a file or a checkpoint to the last step.

mod energy;
mod options;
mod outputs;
mod overrides;
mod plan;
mod record;
mod start;

use std::path::{Path, PathBuf};

use trisolar::accuracy::Displacements;
use trisolar::divergence::EngineError;
use trisolar::gpu::Stopwatch;
use trisolar::io::older;
use trisolar::nbody::{self, Options, Overrides, Partials, Pause, RunError, StepCheck};
use trisolar::run::Workers;
use trisolar::run::{self, Claim, Refused, Renewal};

use self::energy::Energy;
pub(crate) use self::options::Args;
use self::options::{OutputArgs, OutputFormat};
use self::outputs::Outputs;
use self::plan::{BitOptions, RecordPlan};
use self::record::Record;
use self::start::Start;
use super::cpu_args::warn_of_one_lane;
use super::explore::live;
use super::progress::Progress;
use super::ranks::Communicator;
use super::resume::{Resumed, Typed, plain, with_paths};
use super::{Failure, config, interrupt, report};

/// Number of bodies up to which the summary has all diagnostics of every record. For more bodies it has the energies at the start and at
/// the end.
const MAX_BODIES_FOR_DIAGNOSTICS: usize = 20_000;

/// Groups of options in a checkpoint.
const START: &str = "start";
const OUTPUT: &str = "output";
const COMPUTATION: &str = "computation";

/// Integrates and reports.
pub(crate) fn run(args: Args, typed: &Typed) -> Result<(), Failure> {
    let communicator = Communicator::join()?;
    Workers::limit_process(communicator.threads(args.cpu.threads));
    let result = run_as(args, typed, &communicator);
    communicator.end(result)
}

/// A new or resumed run, on the rank that reads, writes and reports.
struct Begun {
    start: Start,
    outputs: Outputs,
    plan: RecordPlan,
    /// The record of the run for the checkpoint, if there is one.
    record: Option<run::Record>,
    /// What the user should know about the files of a resumed run.
    notes: Vec<String>,
    /// Keeps the outputs locked.
    _claim: Claim,
}

fn run_as(mut args: Args, typed: &Typed, communicator: &Communicator) -> Result<(), Failure> {
    // Rank 0 reads and sends the result to the others.
    let mut read = None;
    let bytes = communicator.share(|| {
        let begun = match args.resume.clone() {
            Some(path) => resume(&mut args, typed, &path, communicator)?,
            None => begin(&mut args, typed, communicator)?,
        };
        let bytes = if communicator.size() > 1 {
            begun.start.to_bytes(&begun.plan)
        } else {
            Vec::new()
        };
        read = Some(begun);
        Ok(bytes)
    })?;
    interrupt::watch()?;
    let Some(begun) = read else {
        let (start, plan) = Start::from_bytes(&bytes)?;
        return follow(&args, &start, &plan, communicator);
    };
    let (engine, mut notes) = engine(&args, &begun.start, &begun.plan, communicator)?;
    let Begun {
        mut start,
        outputs,
        plan,
        mut record,
        notes: of_files,
        _claim,
    } = begun;
    let history = std::mem::take(&mut start.history);
    let known = start.problem.notes().iter().cloned();
    notes.splice(0..0, known.chain(of_files));
    let spec = start.problem.specification();
    if let (Some(run), None) = (&mut record, &args.resume) {
        let bits = BitOptions::new(
            &options(&args, &plan, communicator),
            spec,
            start.problem.bodies().len(),
            engine.name(),
        );
        run.set(COMPUTATION, &bits)?;
    }
    if start.from.step == spec.steps {
        notes.push(format!(
            "the run has already ended, after {} steps; --steps extends it",
            spec.steps
        ));
    }
    let mut check = step_check(&start, &plan);
    let bodies = start.problem.bodies();
    if plan.check && Displacements::are_needed(bodies) && Displacements::of(bodies).is_none() {
        notes.push(Displacements::TOO_MANY.into());
    }
    if check.is_some() && start.from.step > 0 {
        let reason = "the positions before it were checked by the run that computed them";
        notes.push(format!("resumed after {} steps: {reason}", start.from.step));
    }
    let nothing_seen = history.is_empty();
    let energy = Energy::new(&args, &start, &outputs, engine.as_ref(), &history)?;
    let mut record = Record {
        args: &args,
        overrides: &start.overrides,
        problem: &start.problem,
        outputs: &outputs,
        wants_diagnostics: wants_diagnostics(&args, &start, &outputs, &energy),
        energy,
        every: plan.every,
        track: plan.track,
        start_energy: start.start_energy,
        history,
        last: start.from.clone(),
        last_lower: start.lower.clone(),
        displacement: None,
        run: record,
        renewal: Renewal::default(),
    };
    // A state that the checkpoint has recorded is not recorded again.
    if start.from.step == 0 && nothing_seen {
        // Written at once, because an older checkpoint of that name belongs to another run.
        record.write_checkpoint()?;
        record.look(&start.from)?;
    } else {
        record.look_at_energy(&start.from)?;
    }
    let about = live::about_nbody(&start.name, &engine.device(), &start.problem);
    let mut live = args.live.show(about)?;
    live.show_bodies(&start.from, spec);
    let progress = Progress::new(&start.name, args.quiet);
    let began = Stopwatch::start();
    let outcome = nbody::integrate_with_pauses(
        engine.as_ref(),
        &start.problem,
        (&start.from, start.lower.as_ref()),
        plan.pauses(args.live, engine.as_ref(), &start.problem),
        check.as_mut(),
        &progress,
        &mut |snapshot, lower, pause| {
            if live.wants_cloud() || snapshot.step == spec.steps {
                live.show_bodies(&snapshot, spec);
            }
            match pause {
                Pause::Record => record.look(&snapshot)?,
                Pause::Track => record.remember(&snapshot),
                Pause::Between => {}
            }
            record.pause(snapshot, lower)
        },
    );
    progress.finish();
    let seconds = began.elapsed().as_secs_f64();
    let ended = outcome.map_err(ended).and_then(|()| record.finish());
    if let Err(failure) = ended {
        // Save the computed steps.
        record.save()?;
        if matches!(failure, Failure::Interrupted) {
            let files = record.finish_early()?;
            say_what_exists(&files, args.quiet);
        }
        if !args.quiet {
            report::to_stderr(&how_to_go_on(
                outputs.checkpoint.as_deref(),
                record.last.step,
            ));
        }
        return Err(failure);
    }
    live.finish();
    record.displacement = check.and_then(|check| check.largest());
    let steps = spec.steps - start.from.step;
    record.report(&start.name, engine.as_ref(), &notes, steps, seconds)?;
    record.check()
}

/// The check of the steps that all ranks have planned.
fn step_check(start: &Start, plan: &RecordPlan) -> Option<StepCheck> {
    let check = plan
        .check
        .then(|| StepCheck::of(&start.problem, start.from.step));
    check.flatten()
}

/// Names the files of what an interrupted run has computed.
pub(crate) fn say_what_exists(files: &[PathBuf], quiet: bool) {
    if quiet || files.is_empty() {
        return;
    }
    let names: Vec<String> = files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    report::to_stderr(&format!(
        "note: what was computed is in {}",
        names.join(", ")
    ));
}

/// What to do after a run was interrupted or failed.
fn how_to_go_on(checkpoint: Option<&Path>, step: u64) -> String {
    match checkpoint {
        Some(path) => {
            let path = path.display();
            format!(
                "note: {path} holds the run at step {step}; resume it with: trisolar nbody --resume {path}"
            )
        }
        None => "note: the run cannot be resumed; --checkpoint FILE makes a run resumable".into(),
    }
}

/// Takes part in a run that another rank records.
fn follow(
    args: &Args,
    start: &Start,
    plan: &RecordPlan,
    communicator: &Communicator,
) -> Result<(), Failure> {
    let (engine, _) = engine(args, start, plan, communicator)?;
    let outcome = nbody::integrate_with_pauses(
        engine.as_ref(),
        &start.problem,
        (&start.from, start.lower.as_ref()),
        plan.pauses(args.live, engine.as_ref(), &start.problem),
        step_check(start, plan).as_mut(),
        &Progress::new("", true),
        &mut |_, _, _| Ok(()),
    );
    outcome.map_err(|error| match error {
        // Rank 0 reports it.
        RunError::NotFinite(_) => Failure::Elsewhere(1),
        error => ended(error),
    })
}

/// The options of the computation on the command line.
fn asked(args: &Args, communicator: &Communicator) -> Options {
    Options {
        backend: args.backend,
        threads: communicator.threads(args.cpu.threads),
        simd: args.cpu.simd(),
        schedule: args.schedule,
        partials: args.partials,
        device: args.device,
        gpus: args.gpus,
    }
}

/// How to compute.
fn options(args: &Args, plan: &RecordPlan, communicator: &Communicator) -> Options {
    plan.bits.over(asked(args, communicator))
}

fn engine(
    args: &Args,
    start: &Start,
    plan: &RecordPlan,
    communicator: &Communicator,
) -> Result<(Box<dyn nbody::Engine>, Vec<String>), Failure> {
    let options = options(args, plan, communicator);
    match communicator.ranks() {
        Some(ranks) => {
            let engine = nbody::engine_on_ranks(&start.problem, &options, ranks);
            engine.map_err(|error| communicator.here(error).unwrap_or_else(failed))
        }
        None => nbody::engine(&start.problem, &options).map_err(failed),
    }
}

/// Begins a new run: checks the options and prints warnings.
fn begin(args: &mut Args, typed: &Typed, communicator: &Communicator) -> Result<Begun, Failure> {
    asked(args, communicator).check()?;
    if let Some(folder) = args.shown_in(typed) {
        args.output.plots = Some(folder);
    }
    let outputs = Outputs::new(&args.output)?;
    let mut declared = outputs.declared();
    for (option, path) in [
        ("--config", &args.config),
        ("--input", &args.overrides.values.input),
    ] {
        if let Some(path) = path {
            declared.input(option, path);
        }
    }
    let claim = declared.claim()?;
    outputs.refuse_other_snapshots()?;
    let start = args.start()?;
    let spec = start.problem.specification();
    let integrator = spec.integrator;
    if let Some(path) = (outputs.checkpoint.as_ref()).filter(|_| integrator.is_multistep()) {
        let reason = format!(
            "{integrator} continues from earlier steps, which a checkpoint does not hold; \
             only runs of one-step integrators can have checkpoints"
        );
        return Err(Refused::new("--checkpoint", path, reason).into());
    }
    args.output.spacing = args.output.spacing(spec.steps);
    let record = match &outputs.checkpoint {
        Some(path) => {
            run::Record::refuse_unfinished("--checkpoint", path)?;
            Some(record(path, &start.overrides, &args.output, &outputs)?)
        }
        None => None,
    };
    args.output
        .check_sizes(spec, start.problem.bodies().len(), start.overrides.energy)?;
    if let Some(path) = &outputs.config {
        config::save_options(path, "nbody", &start.overrides)?;
    }
    warn(args, &start);
    let plan = RecordPlan {
        every: args.output.spacing.unwrap_or(spec.steps),
        track: args.output.track(start.problem.bodies().len()),
        pause: args.output.pause(spec, start.problem.bodies().len()),
        bits: BitOptions {
            // Ranks keep partial sums of rows.
            partials: match communicator.size() {
                1 => args.partials,
                _ => Partials::Rows,
            },
            ..BitOptions::default()
        },
        check: args.checks_steps(&start.overrides),
    };
    Ok(Begun {
        start,
        outputs,
        plan,
        record,
        notes: Vec::new(),
        _claim: claim,
    })
}

/// The record of a new run.
fn record(
    path: &Path,
    overrides: &Overrides,
    output: &OutputArgs,
    outputs: &Outputs,
) -> Result<run::Record, Failure> {
    let mut record = run::Record::new("nbody", path);
    record.set(START, overrides)?;
    // A checkpoint is renewed in place.
    let output = OutputArgs {
        checkpoint: None,
        ..output.clone()
    };
    record.set(OUTPUT, &output)?;
    record.allow_what_is_there(outputs.results().map(|(_, path)| path))?;
    Ok(record)
}

/// A resumed run, with all options with which it began.
fn resume(
    args: &mut Args,
    typed: &Typed,
    path: &Path,
    communicator: &Communicator,
) -> Result<Begun, Failure> {
    asked(args, communicator).check()?;
    let record = run::Record::read(path, "nbody").map_err(|e| refused(path, e))?;
    let mut output: OutputArgs = record.get(OUTPUT)?;
    let mut overrides: Overrides = record.get(START)?;
    let bits: BitOptions = record.get(COMPUTATION)?;
    let mut outputs = Outputs::new(&output)?;
    outputs.checkpoint = Some(path.to_owned());
    output.checkpoint = Some(path.to_owned());

    let mut has = with_paths(&overrides);
    has.append(&mut with_paths(&output));
    has.append(&mut plain(&bits));
    if output.every.is_none() {
        has.insert("every".into(), output.spacing.into());
    }
    let mut here = with_paths(&args.overrides.values);
    here.append(&mut with_paths(&args.output));
    here.append(&mut plain(&BitOptions::typed(args)));
    typed.refuse_others(&Resumed {
        file: path,
        has,
        given: here,
        extends: &["steps", "end"],
        elsewhere: &["max_error"],
    })?;
    overrides.max_error = args.max_error()?.or(overrides.max_error);
    if communicator.size() > 1 && bits.partials == Partials::Threads {
        let reason = format!(
            "the run of {} has --partials threads, which works in one process only; start it without mpirun",
            path.display()
        );
        return Err(Failure::BadInput(reason));
    }

    let claim = outputs.declared().claim()?;
    older::own(path);
    // A run that had the lock until now may have renewed it.
    let mut record = run::Record::read(path, "nbody").map_err(|e| refused(path, e))?;
    for (option, path) in outputs.results() {
        record.check(option, path)?;
    }
    record.allow_what_is_there(outputs.results().map(|(_, path)| path))?;
    let start = Start::resumed(path, overrides, &args.overrides.values, &output)?;
    let spec = start.problem.specification();
    let steps = spec.steps;
    record.extend(START, "steps", steps);
    // Its user may have changed it since.
    if let Some(path) = outputs.config.as_ref().filter(|path| !path.exists()) {
        config::save_options(path, "nbody", &start.overrides)?;
    }
    args.output = output;
    let n = start.problem.bodies().len();
    args.output.check_sizes(spec, n, start.overrides.energy)?;
    warn(args, &start);
    let plan = RecordPlan {
        every: args.output.spacing.unwrap_or(spec.steps),
        track: args.output.track(start.problem.bodies().len()),
        pause: args.output.pause(spec, start.problem.bodies().len()),
        bits,
        check: args.checks_steps(&start.overrides),
    };
    let step = start.from.step;
    let notes = outputs.check_snapshots(step, plan.every, step == steps, &record)?;
    Ok(Begun {
        start,
        outputs,
        plan,
        record: Some(record),
        notes,
        _claim: claim,
    })
}

/// A checkpoint that cannot be resumed.
fn refused(path: &Path, error: run::RecordError) -> Failure {
    Refused::new("--resume", path, error).into()
}

fn warn(args: &Args, start: &Start) {
    if !args.quiet {
        for warning in start.problem.warnings() {
            report::to_stderr(&format!("warning: {warning}"));
        }
        warn_of_one_lane(args.backend);
        // The summary and the JSON object contain them, but that may be too late.
        let doubts = !start.problem.warnings().is_empty();
        if doubts || args.output.format == OutputFormat::Textbook {
            for note in start.problem.notes() {
                report::to_stderr(&format!("note: {note}"));
            }
        }
    }
}

/// Whether all diagnostics are computed at every record. With a checkpoint this does not depend on the report, which may be another one
/// when the run is resumed.
fn wants_diagnostics(args: &Args, start: &Start, outputs: &Outputs, energy: &Energy<'_>) -> bool {
    let few = start.problem.bodies().len() <= MAX_BODIES_FOR_DIAGNOSTICS;
    let summary = args.output.format == OutputFormat::Summary;
    outputs.want_energy() || (summary && few && energy.at_ends())
}

fn ended(error: RunError<Failure>) -> Failure {
    match error {
        RunError::Engine(error) => failed(error),
        RunError::NotFinite(found) => Failure::Failed(found.to_string()),
        RunError::Observer(failure) => failure,
    }
}

/// Engine errors with this command's hints.
fn failed(error: EngineError) -> Failure {
    match error {
        EngineError::OutOfMemory { .. } => {
            Failure::Failed(format!("{error}\nhint: use fewer bodies (--n)"))
        }
        error => error.into(),
    }
}
