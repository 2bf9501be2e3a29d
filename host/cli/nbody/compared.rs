//! Several integrators on the same start: their errors in one table and in one picture.

use serde_json::{Value, json};
use trisolar::accuracy;
use trisolar::gpu::Stopwatch;
use trisolar::nbody::{
    self, Bodies, EnergyErrors, NbodyRun, Options, Overrides, PreparedNbody, Watch,
};
use trisolar::time_run::{Files, TimeRun as _};

use super::options::{Args, OutputFormat};
use super::report::ADVICE;
use super::{ended, failed, warn};
use crate::progress::Progress;
use crate::report::{self, Common};
use crate::{Failure, interrupt};

/// The records of each run, from which the picture is drawn.
const RECORDS: u64 = 1000;

/// A run that has ended.
struct Ended {
    errors: EnergyErrors,
    /// Steps of the run, those of their own length if it has some.
    steps: u64,
    evaluations: u64,
    seconds: f64,
    /// The relative error of the energy at the end, and the largest.
    energy: [f64; 2],
    /// How far the errors of the steps displace a body at most, relative to its distance from the body that attracts it.
    displacement: Option<f64>,
    warnings: Vec<String>,
}

/// Integrates the start by each integrator, and reports.
pub(super) fn run(args: &Args, all: Vec<Overrides>, options: &Options) -> Result<(), Failure> {
    let files = files(args, &all)?;
    let _claim = files.claim(&[]).map_err(ended)?;
    interrupt::watch()?;
    let all = of_equal_times(args, all)?;
    let count = all.len();
    let mut found: Vec<Ended> = Vec::new();
    let mut common = Common::default();
    for (number, overrides) in all.into_iter().enumerate() {
        let (problem, overrides) = args.problem(overrides)?;
        let spec = problem.specification().clone();
        let every = args.every.unwrap_or(spec.steps.div_ceil(RECORDS));
        let start = || Ok::<_, Failure>((problem, overrides));
        let mut prepared = PreparedNbody::new(Files::default(), Some(every), &[], start)?;
        prepared.checks_steps = args.checks_steps(&prepared.overrides);
        if number == 0 {
            warn(args, &prepared.problem);
            common.warnings = prepared.problem.warnings().to_vec();
            common.notes = prepared.problem.notes().to_vec();
            common.specification = report::with_start(&spec, &prepared.overrides);
        }
        let (engine, notes) = nbody::engine(&prepared.problem, options).map_err(failed)?;
        let engine = engine.as_ref();
        common.notes.extend(notes);
        common.devices = report::device(&engine.device());
        let progress = Progress::new(spec.integrator.name(), args.quiet);
        let energies = |bodies: &Bodies| {
            accuracy::energies(bodies, &spec, engine, options.threads, options.simd)
        };
        let watch = Watch {
            energies: &energies,
            reports_energy: true,
            reports_diagnostics: true,
            is_live: false,
            monitor: &progress,
        };
        let (mut recorder, _) = prepared.start(engine, options, watch).map_err(ended)?;
        let began = Stopwatch::start();
        let outcome = recorder.run(&mut ());
        progress.finish();
        outcome.map_err(ended)?;
        let run = &recorder.run;
        let [taken, tried] = run.own_steps().unwrap_or([spec.steps; 2]);
        found.push(Ended {
            errors: run.errors(&recorder.history).map_err(ended)?,
            steps: taken,
            evaluations: tried * u64::from(spec.integrator.evaluations()),
            seconds: began.elapsed().as_secs_f64(),
            energy: run
                .energy_error()
                .map_or([f64::NAN; 2], |e| [e.last(), e.largest()]),
            displacement: run.displacement().map(|found| found.relative),
            warnings: recorder.warnings(ADVICE),
        });
        if number + 1 == count {
            draw(run, &files, &found)?;
        }
    }
    print(args, &files, &found, common)?;
    let most = args.overrides.values.max_error.unwrap_or(f64::INFINITY);
    let is_worse = |of: &&Ended| of.energy.iter().any(|e| e.is_nan() || e.abs() > most);
    let limited = args.overrides.values.max_error.is_some();
    match found.iter().filter(|_| limited).find(is_worse) {
        None => Ok(()),
        Some(of) => Err(Failure::Failed(format!(
            "the energy error of {} is {:+.3e}, above --max-error",
            of.errors.method, of.energy[1]
        ))),
    }
}

/// The folder of pictures and their look; a comparison writes no other file.
fn files(args: &Args, all: &[Overrides]) -> Result<Files, Failure> {
    let given = args.files();
    let files = Files {
        plots: given.plots.clone(),
        plot_format: given.plot_format,
        size: given.size,
        theme: given.theme,
        ..Files::default()
    };
    let others = args.live.is_on() || args.format != OutputFormat::Summary;
    if given != files || others {
        let reason = "several integrators are compared by their energy errors: of files, only pictures in the folder of --plots can be written";
        let methods = all.iter().filter_map(Overrides::method);
        let names: Vec<&str> = methods.map(|method| method.name()).collect();
        return Err(Failure::value(&names.join(","), "--integrator", reason));
    }
    Ok(files)
}

/// The runs, which end at the same time: the earliest of their own ends if none is given.
fn of_equal_times(args: &Args, all: Vec<Overrides>) -> Result<Vec<Overrides>, Failure> {
    if all.iter().any(|of| of.steps.is_some() || of.end.is_some()) {
        return Ok(all);
    }
    let mut earliest = f64::INFINITY;
    for overrides in &all {
        let (problem, _) = args.problem(overrides.clone())?;
        let spec = problem.specification();
        earliest = earliest.min(spec.time(spec.steps));
    }
    let until = |of: Overrides| Overrides {
        end: Some(earliest),
        ..of
    };
    Ok(all.into_iter().map(until).collect())
}

fn draw(run: &NbodyRun<'_>, files: &Files, found: &[Ended]) -> Result<(), Failure> {
    let errors: Vec<EnergyErrors> = found.iter().map(|of| of.errors.clone()).collect();
    run.draw_errors(files, &errors).map_err(ended)
}

fn print(args: &Args, files: &Files, found: &[Ended], common: Common) -> Result<(), Failure> {
    let written: Vec<_> = files.picture("energy").into_iter().collect();
    let warnings = || {
        found.iter().flat_map(|of| {
            let method = of.errors.method;
            of.warnings
                .iter()
                .map(move |text| format!("{method}: {text}"))
        })
    };
    if args.json {
        let of = |of: &Ended| {
            json!({
                "integrator": of.errors.method.name(),
                "steps": of.steps,
                "evaluations": of.evaluations,
                "seconds": of.seconds,
                "energy_error": of.energy[0],
                "largest_energy_error": of.energy[1],
                "displacement": of.displacement,
            })
        };
        let integrators: Value = found.iter().map(of).collect();
        let common = Common {
            files: written,
            seconds: found.iter().map(|of| of.seconds).sum(),
            warnings: common.warnings.iter().cloned().chain(warnings()).collect(),
            ..common
        };
        return report::json(&common.with(json!({ "integrators": integrators })));
    }
    if args.quiet {
        return Ok(());
    }
    let mut text = format!(
        "{:<18} {:>12} {:>12} {:>9}  energy error  largest     positions\n",
        "integrator", "steps", "evaluations", "time"
    );
    for of in found {
        let displaced = of
            .displacement
            .map_or("-".into(), |relative| format!("{relative:.1e}"));
        text.push_str(&format!(
            "{:<18} {:>12} {:>12} {:>9}  {:<+12.2e}  {:<+10.2e}  {displaced}\n",
            of.errors.method.name(),
            report::grouped(of.steps),
            report::grouped(of.evaluations),
            report::seconds(of.seconds),
            of.energy[0],
            of.energy[1],
        ));
    }
    for warning in warnings() {
        text.push_str(&format!("warning: {warning}\n"));
    }
    for path in &written {
        text.push_str(&format!("file         {}\n", path.display()));
    }
    report::to_stdout(text.trim_end())
}
