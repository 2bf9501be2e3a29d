//! `trisolar compare --ladder`: integrators and steps, the share of right times against their cost.

use trisolar::divergence::{self, AccuracyLadder, AccuracyRung, Devices, Integrator, Validated};
use trisolar::io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series};
use trisolar::run::{Outputs, RunOptions};

use super::{Args, Mode};
use crate::progress::Progress;
use crate::report::{self, Common, Lines};
use crate::{Failure, config, interrupt};

/// The share of wrong times up to which a rung counts as right, unless --max-error says otherwise.
const USUAL_ERROR: f64 = 0.01;

/// Computes the ladder and reports it.
pub(super) fn run(args: &Args, options: &RunOptions) -> Result<(), Failure> {
    let (valid, most) = args.specification_of_ladder()?;
    let integrators = args.integrators()?;
    let mut outputs = Outputs::new();
    outputs.file("--out", &args.out);
    args.declare(&mut outputs);
    let _claim = outputs.claim()?;
    interrupt::watch()?;
    if let Some(path) = &args.save_config {
        config::save(path, &valid, most)?;
    }
    let allowed = most.unwrap_or(USUAL_ERROR);
    let progress = Progress::new("ladder", args.json || args.quiet);
    let devices = Devices::new();
    let found =
        divergence::accuracy_ladder(&devices, &valid, &integrators, allowed, options, &progress)?;
    progress.finish();
    let ladder = found.ok_or_else(|| {
        let reason = "the ladder has no reference for this map: its run would have more steps than are possible";
        Failure::BadInput(reason.into())
    })?;
    if ladder.rungs.is_empty() {
        let names: Vec<&str> = integrators.iter().map(|i| i.name()).collect();
        let reason = "none of these integrators can compute this map";
        return Err(Failure::value(&names.join(","), "--modes", reason));
    }
    draw(args, &valid, &ladder)?;
    if args.json {
        report::json(&object(args, &valid, &ladder))?;
    } else if !args.quiet {
        report::to_stdout(&table(args, &ladder, allowed))?;
    }
    match (most, ladder.cheapest) {
        (Some(most), None) => Err(Failure::Failed(format!(
            "no rung has a share of wrong times of at most --max-error {most}"
        ))),
        _ => Ok(()),
    }
}

impl Args {
    /// The integrators of `--modes`; all of them by default.
    fn integrators(&self) -> Result<Vec<Integrator>, Failure> {
        if self.modes.is_empty() {
            return Ok(Integrator::ALL.to_vec());
        }
        let integrator = |mode: &Mode| match mode {
            Mode::Integrator(integrator) => Ok(*integrator),
            Mode::Precision(precision) => Err(Failure::value(
                &precision.to_string(),
                "--modes",
                "with --ladder only integrators can be given; all rungs are computed in f64",
            )),
        };
        self.modes.iter().map(integrator).collect()
    }
}

fn object(args: &Args, valid: &Validated, ladder: &AccuracyLadder) -> serde_json::Value {
    let cheapest = ladder.cheapest.map(|at| &ladder.rungs[at]);
    let common = Common {
        specification: serde_json::json!(valid.specification()),
        files: vec![args.out.clone()],
        devices: serde_json::json!([{ "device": ladder.report.device }]),
        seconds: ladder.rungs.iter().map(|rung| rung.seconds).sum(),
        rate: None,
        rate_unit: "pixel-steps/s",
        errors: serde_json::json!({
            "reference": 1.0 - ladder.reference_stays,
            "wrong": cheapest.map(|rung| 1.0 - rung.share),
        }),
        warnings: valid.warnings(),
        notes: notes(ladder),
    };
    common.with(serde_json::json!({ "ladder": ladder, "cheapest": cheapest }))
}

/// What the user should know.
fn notes(ladder: &AccuracyLadder) -> Vec<String> {
    let mut notes = ladder.report.notes.clone();
    if ladder.rungs.iter().all(|rung| rung.compared == 0) {
        notes.push("no twins of the sample part within the run, so that there are no times to compare; more --steps give them more time".into());
    }
    notes
}

/// The step of a rung, as a column.
fn step(rung: &AccuracyRung) -> String {
    match rung.steps_per_period {
        Some(number) => format!("{number} per period"),
        None => format!("{}", rung.dt),
    }
}

fn table(args: &Args, ladder: &AccuracyLadder, allowed: f64) -> String {
    let mut lines = Lines::default();
    lines.add(
        "engine",
        &format!("{}: {}", ladder.report.engine, ladder.report.device),
    );
    let stay = 100.0 * ladder.reference_stays;
    lines.add(
        "reference",
        &format!(
            "{}; {stay:.1} % of its times stay with half as many steps",
            ladder.reference
        ),
    );
    lines.add("sample", &format!("{} pixels", ladder.sample));
    let mut text = lines.as_str().to_owned();
    text.push_str(&format!(
        "\n\n{:<18} {:>16} {:>12} {:>9} {:>9}   95 % interval",
        "integrator", "step", "evaluations", "seconds", "right"
    ));
    for rung in &ladder.rungs {
        let [low, high] = rung.interval.map(|share| 100.0 * share);
        text.push_str(&format!(
            "\n{:<18} {:>16} {:>12.0} {:>9.3} {:>7.1} %   {low:.0} to {high:.0} %",
            rung.integrator.name(),
            step(rung),
            rung.evaluations,
            rung.seconds,
            100.0 * rung.share,
        ));
    }
    let mut lines = Lines::default();
    let wanted = 100.0 * (1.0 - allowed);
    let cheapest = match ladder.cheapest.map(|at| &ladder.rungs[at]) {
        Some(rung) => format!(
            "{}: {:.1} % right ({} of {}) for {:.0} evaluations a pixel",
            rung.method,
            100.0 * rung.share,
            rung.right,
            rung.compared,
            rung.evaluations
        ),
        None => "none".into(),
    };
    lines.add(&format!("≥ {wanted} % right"), &cheapest);
    lines.add_whole("picture", &args.out.display().to_string());
    for note in notes(ladder) {
        lines.add("note", &note);
    }
    text + "\n\n" + lines.as_str()
}

/// The share of right times against the evaluations, a line for each integrator.
fn draw(args: &Args, valid: &Validated, ladder: &AccuracyLadder) -> Result<(), Failure> {
    let mut integrators: Vec<Integrator> = Vec::new();
    for rung in &ladder.rungs {
        if !integrators.contains(&rung.integrator) {
            integrators.push(rung.integrator);
        }
    }
    let points: Vec<[Vec<f64>; 2]> = (integrators.iter())
        .map(|integrator| {
            let rungs = || ladder.rungs.iter().filter(|r| r.integrator == *integrator);
            let column = |f: fn(&AccuracyRung) -> f64| rungs().map(f).collect();
            [column(|r| r.evaluations), column(|r| 100.0 * r.share)]
        })
        .collect();
    let series: Vec<Series<'_>> = (integrators.iter().zip(&points))
        .map(|(integrator, [x, y])| Series {
            name: integrator.name(),
            x,
            y,
            error: None,
            marks: Marks::Both,
        })
        .collect();
    let axis = |name: &str, unit: &str| PlotAxis {
        name: name.into(),
        unit: unit.into(),
        ..PlotAxis::default()
    };
    let plot = LinePlot {
        title: format!(
            "Right times of parting against cost, {} pixels\nreference: {}",
            ladder.sample, ladder.reference
        ),
        x: PlotAxis {
            division: Division::Logarithmic,
            ..axis("evaluations of the forces per pixel", "")
        },
        y: PlotAxis {
            range: Some((0.0, 102.0)),
            ..axis("right times of parting", "%")
        },
        theme: args.theme,
        ..LinePlot::default()
    };
    let json = serde_json::to_string(valid.specification())
        .expect("a specification is plain numbers and names");
    Ok(plot::lines(&args.out, &series, &plot, Some(&json))?)
}
