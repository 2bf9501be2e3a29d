//! `trisolar cluster`: a star cluster by Hermite integration, its diagnostics, snapshots and checkpoints.

use std::path::{Path, PathBuf};
use std::time::Instant;

use trisolar::divergence::{Backend, EngineError};
use trisolar::hermite::files::{Checkpoint, FileError, is_npz, read_bodies, write_snapshot};
use trisolar::hermite::{
    AhmadCohen, Body, Cluster, CpuEngine, Engine, LAGRANGE_FRACTIONS, Order, Precision, Shape,
    Specification, models,
};
use trisolar::io::atomic::check_writable;
use trisolar::io::npz::NpzWriter;
use trisolar::io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series};
use trisolar::nbody::Model;

use super::report::{self, Lines};
use super::{Failure, interrupt, values};

/// Integrate a star cluster with individual block time steps, G = 1.
#[derive(Debug, clap::Args)]
#[command(
    args_override_self = true,
    after_help = "A run has the same bits for any number of threads and any instruction set.\n\
                  Files of particles: .npz (mass, position, velocity) or text, a line a particle: id mass x y z vx vy vz."
)]
pub(crate) struct Args {
    /// Read the start model from a file, .npz or text
    #[arg(long, value_name = "FILE", help_heading = "Start", conflicts_with_all = ["model", "w0", "n", "seed"])]
    input: Option<PathBuf>,
    /// Start model: plummer or king (with --w0) in Henon units; burrau or figure-eight, without softening [default: plummer]
    #[arg(long, value_name = "NAME", help_heading = "Start")]
    model: Option<StartModel>,
    /// Dimensionless central potential of the King model, 0.1 to 16 [default: 6]
    #[arg(long, value_name = "W0", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    w0: Option<f64>,
    /// Particles of the model, 2 to 16777216 [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Start", allow_hyphen_values = true, value_parser = values::particles)]
    n: Option<usize>,
    /// Seed of the model [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Start")]
    seed: Option<u64>,
    /// Go on from a checkpoint, with its specification, to the bits of an uninterrupted run
    #[arg(long, value_name = "FILE.npz", help_heading = "Start",
        conflicts_with_all = ["input", "model", "w0", "n", "seed", "order", "softening", "eta", "eta_start", "max_step", "min_step", "iterations", "precision", "scheme", "neighbours", "eta_regular"])]
    resume: Option<PathBuf>,

    /// Order of the scheme: 4, 6 or 8 [default: 6; 4 with --scheme ahmad-cohen]
    #[arg(long, value_name = "P", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::order)]
    order: Option<Order>,
    /// Softening length (length) [default: 4/n, of burrau and figure-eight 0]
    #[arg(long, value_name = "LENGTH", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    softening: Option<f64>,
    /// Accuracy parameter of the time step; at order 4 the square root of Aarseth's [default: 0.1, 0.5, 0.75 at
    /// order 4, 6, 8]
    #[arg(long, value_name = "ETA", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    eta: Option<f64>,
    /// Accuracy parameter of the first step [default: 0.01, 0.1, 0.1 at order 4, 6, 8]
    #[arg(long, value_name = "ETA", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    eta_start: Option<f64>,
    /// Longest step, a power of two (time) [default: 0.0625]
    #[arg(long, value_name = "TIME", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    max_step: Option<f64>,
    /// Shortest step, a power of two (time); without it a step too small to be told from 0 is an error
    #[arg(long, value_name = "TIME", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    min_step: Option<f64>,
    /// Evaluations and corrections a step, n of P(EC)^n, 1 to 100 [default: 1]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Integration",
        allow_hyphen_values = true
    )]
    iterations: Option<u32>,
    /// Precision of pairs: f64, or float-float (f32 pairs, positions and accelerations as sums of two f32) [default: f64]
    #[arg(long, value_name = "NAME", help_heading = "Integration", value_parser = precision)]
    precision: Option<Precision>,
    /// How forces are evaluated: plain (all at once), or ahmad-cohen (those of neighbours at shorter steps, order 4) [default: plain]
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    scheme: Option<Scheme>,
    /// Neighbours a particle should have in the Ahmad-Cohen scheme, 1 to 4096 [default: the root of n, 10 to 50]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Integration",
        allow_hyphen_values = true
    )]
    neighbours: Option<u32>,
    /// Accuracy parameter of the steps of regular forces in the Ahmad-Cohen scheme [default: 0.1]
    #[arg(long, value_name = "ETA", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    eta_regular: Option<f64>,
    /// Time to stop at
    #[arg(long, value_name = "TIME", help_heading = "Integration", allow_hyphen_values = true, default_value = "1", value_parser = values::number)]
    end: f64,

    /// Time between two lines of diagnostics
    #[arg(long, value_name = "TIME", help_heading = "Output", allow_hyphen_values = true, default_value = "0.25", value_parser = values::number)]
    every: f64,
    /// Write the particles at the end to .npz or .txt; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Vec<PathBuf>,
    /// Write a snapshot with every line of diagnostics to this folder: 00000.npz, 00001.npz, ...
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    snapshots: Option<PathBuf>,
    /// Write the diagnostics to an npz file
    #[arg(long, value_name = "FILE.npz", help_heading = "Output")]
    series: Option<PathBuf>,
    /// Write a checkpoint with every line of diagnostics, at the end and after Ctrl-C
    #[arg(long, value_name = "FILE.npz", help_heading = "Output")]
    checkpoint: Option<PathBuf>,
    /// Draw energy error, radii and steps to PREFIX-energy.png, PREFIX-radii.png, PREFIX-steps.png
    #[arg(long, value_name = "PREFIX", help_heading = "Output")]
    plots: Option<PathBuf>,

    /// Where to compute: auto (the CPU), cpu or gpu; the bits are the same
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::backend)]
    backend: Backend,
    /// Threads of the CPU engine, 1 to 4096 [default: as many as the process may use]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::threads)]
    threads: Option<usize>,

    /// GPUs that share the work, with --backend gpu; the bits do not depend on it
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus: u32,

    /// Print one JSON object at the end instead of lines
    #[arg(long, help_heading = "Report")]
    json: bool,
    /// Print nothing
    #[arg(short, long, help_heading = "Report")]
    quiet: bool,
}

/// Start models of this command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum StartModel {
    Plummer,
    King,
    Burrau,
    FigureEight,
}

impl StartModel {
    /// The few bodies of a problem with a known solution, if that is what it is.
    fn problem(self) -> Option<Model> {
        match self {
            Self::Plummer | Self::King => None,
            Self::Burrau => Some(Model::Burrau),
            Self::FigureEight => Some(Model::FigureEight),
        }
    }
}

/// How forces are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Scheme {
    Plain,
    AhmadCohen,
}

fn precision(text: &str) -> Result<Precision, String> {
    Precision::ALL
        .into_iter()
        .find(|p| p.name() == text)
        .ok_or_else(|| "must be f64 or float-float".into())
}

/// Columns of the recorded series before the Lagrange radii.
const COLUMNS: [&str; 11] = [
    "time",
    "kinetic",
    "potential",
    "error_local",
    "error",
    "blocks",
    "steps",
    "centre_x",
    "centre_y",
    "centre_z",
    "core_radius",
];
/// Times in the list beyond which a series is refused.
const MOST_LINES: f64 = 1e7;

/// Runs a cluster and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let device = Where::open(args)?;
    let mut run = Run::start(args, &device)?;
    interrupt::watch()?;
    run.go()?;
    run.finish()
}

/// Where forces are computed.
enum Where {
    Cpu,
    #[cfg(feature = "gpu")]
    Gpus(Vec<trisolar::gpu::Gpu>),
}

impl Where {
    fn open(args: &Args) -> Result<Self, Failure> {
        match args.backend {
            Backend::Auto | Backend::Cpu if args.gpus > 1 => Err(Failure::value(
                &args.gpus.to_string(),
                "--gpus",
                "more than 1 goes with --backend gpu",
            )),
            Backend::Auto | Backend::Cpu => Ok(Self::Cpu),
            #[cfg(feature = "gpu")]
            Backend::Gpu => {
                let open = |index| trisolar::gpu::Gpu::open(index).map_err(EngineError::from);
                let gpus = (0..args.gpus).map(open).collect::<Result<_, _>>()?;
                Ok(Self::Gpus(gpus))
            }
            #[cfg(not(feature = "gpu"))]
            Backend::Gpu => Err(EngineError::NoGpu(
                "this program was built without the feature `gpu`".into(),
            )
            .into()),
        }
    }

    fn engine(&self, threads: Option<usize>) -> Result<Box<dyn Engine + '_>, Failure> {
        match self {
            Self::Cpu => Ok(Box::new(CpuEngine::new(threads)?)),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => Ok(trisolar::hermite::on_gpus(gpus)),
        }
    }
}

struct Run<'a> {
    args: &'a Args,
    cluster: Cluster<'a>,
    series: Vec<Vec<f64>>,
    began: Instant,
    /// Operations and blocks before this process.
    before: (f64, u64, u64),
}

impl<'a> Run<'a> {
    fn start(args: &'a Args, device: &'a Where) -> Result<Self, Failure> {
        let positive = |x: f64, option: &str| {
            if x.is_finite() && x > 0.0 {
                return Ok(());
            }
            Err(Failure::value(
                &x.to_string(),
                option,
                "must be a finite number above 0 (time)",
            ))
        };
        positive(args.every, "--every")?;
        positive(args.end, "--end")?;
        if args.end / args.every > MOST_LINES {
            let reason = "there would be more than 10000000 lines up to --end";
            return Err(Failure::value(&args.every.to_string(), "--every", reason));
        }
        args.check_outputs()?;
        let engine = device.engine(args.threads)?;
        let (cluster, series) = match &args.resume {
            Some(path) => {
                let checkpoint =
                    Checkpoint::read(path).map_err(|e| refused(path, "--resume", &e))?;
                if checkpoint.time > args.end {
                    let reason = format!("the checkpoint is at {} already", checkpoint.time);
                    return Err(Failure::value(&args.end.to_string(), "--end", &reason));
                }
                let Checkpoint {
                    specification,
                    stars,
                    parts,
                    time,
                    counters,
                    series,
                } = checkpoint;
                let cluster = Cluster::resumed(specification, stars, parts, time, counters, engine);
                (cluster?, series)
            }
            None => (args.new_cluster(engine)?, Vec::new()),
        };
        let before = (
            cluster.operations(),
            cluster.counters().blocks,
            cluster.counters().steps,
        );
        Ok(Self {
            args,
            cluster,
            series,
            began: Instant::now(),
            before,
        })
    }

    /// Steps from line to line.
    fn go(&mut self) -> Result<(), Failure> {
        let args = self.args;
        if !args.json && !args.quiet {
            self.head()?;
        }
        let mut line = (self.cluster.time() / args.every).floor() as u64;
        loop {
            let time = (line as f64 * args.every).min(args.end);
            if time < self.cluster.time() {
                line += 1;
                continue;
            }
            while self.cluster.next_time() <= time {
                self.cluster.step()?;
                if interrupt::interrupted() {
                    self.save()?;
                    return Err(Failure::Interrupted);
                }
            }
            if self.series.last().is_none_or(|row| row[0] < time) {
                self.look(time, line)?;
                self.save()?;
            }
            if time >= args.end {
                return Ok(());
            }
            line += 1;
        }
    }

    /// Records the state at a time.
    fn look(&mut self, time: f64, number: u64) -> Result<(), Failure> {
        let stars = self.cluster.at(time)?;
        let potentials = self.cluster.potentials(&stars)?;
        let energy = Cluster::energy_of(&stars, &potentials);
        let shape = Shape::of(&stars);
        let total = |row: &[f64]| row[1] + row[2];
        let first = self.series.first().map_or(energy.total(), |row| total(row));
        let last = self.series.last().map_or(first, |row| total(row));
        let counters = self.cluster.counters();
        let mut row = vec![
            time,
            energy.kinetic,
            energy.potential,
            (last - energy.total()) / first + 0.0,
            (first - energy.total()) / first + 0.0,
            counters.blocks as f64,
            counters.steps as f64,
        ];
        row.extend(shape.centre);
        row.push(shape.core_radius);
        row.extend(shape.lagrange);
        if !self.args.json && !self.args.quiet {
            report::to_stdout(&format!(
                "{time:>10.4} {:>+10.2e} {:>+10.2e} {:>10} {:>12} {:>8.2} {:>9.4} {:>9.4}",
                row[3],
                row[4],
                counters.blocks,
                counters.steps,
                counters.steps as f64 / counters.blocks.max(1) as f64,
                shape.core_radius,
                shape.half_mass_radius(),
            ))?;
        }
        self.series.push(row);
        if let Some(folder) = &self.args.snapshots {
            let path = folder.join(format!("{number:05}.npz"));
            write_snapshot(&path, time, &stars).map_err(file_failed)?;
        }
        Ok(())
    }

    fn save(&self) -> Result<(), Failure> {
        let Some(path) = &self.args.checkpoint else {
            return Ok(());
        };
        let checkpoint = Checkpoint {
            specification: self.cluster.specification().clone(),
            stars: self.cluster.stars().to_vec(),
            parts: self.cluster.parts().to_vec(),
            time: self.cluster.time(),
            counters: self.cluster.counters().clone(),
            series: self.series.clone(),
        };
        checkpoint.write(path).map_err(file_failed)
    }

    fn head(&self) -> Result<(), Failure> {
        let spec = self.cluster.specification();
        report::to_stdout(&format!(
            "# {} particles, order {}, {}, softening {}, eta {}, {}\n#{:>9} {:>10} {:>10} {:>10} {:>12} {:>8} {:>9} {:>9}",
            self.cluster.stars().len(),
            spec.order,
            spec.precision,
            spec.softening,
            spec.eta,
            self.cluster.engine().device(),
            "time",
            "dE/E local",
            "dE/E",
            "blocks",
            "steps",
            "active",
            "r core",
            "r half",
        ))
    }

    fn finish(mut self) -> Result<(), Failure> {
        let elapsed = self.began.elapsed().as_secs_f64();
        let args = self.args;
        if !args.out.is_empty() {
            let stars = self.cluster.at(args.end)?;
            for path in &args.out {
                write_snapshot(path, args.end, &stars).map_err(file_failed)?;
            }
        }
        if let Some(path) = &args.series {
            self.write_series(path)?;
        }
        if let Some(prefix) = &args.plots {
            self.draw(prefix)?;
        }
        if args.json {
            return report::json(&self.object(elapsed));
        }
        if args.quiet {
            return Ok(());
        }
        report::to_stdout(&self.summary(elapsed))
    }

    fn column(&self, k: usize) -> Vec<f64> {
        self.series.iter().map(|row| row[k]).collect()
    }

    fn write_series(&self, path: &Path) -> Result<(), Failure> {
        let mut file = NpzWriter::create(path)?;
        for (k, name) in COLUMNS.iter().enumerate() {
            let column = self.column(k);
            file.array(name, &[column.len()], &column)?;
        }
        let radii: Vec<f64> = self
            .series
            .iter()
            .flat_map(|row| row[COLUMNS.len()..].to_vec())
            .collect();
        file.array(
            "lagrange_radii",
            &[self.series.len(), LAGRANGE_FRACTIONS.len()],
            &radii,
        )?;
        file.array(
            "lagrange_fractions",
            &[LAGRANGE_FRACTIONS.len()],
            &LAGRANGE_FRACTIONS,
        )?;
        let counters = self.cluster.counters();
        for (name, counts) in [
            ("active_histogram", &counters.active),
            ("step_histogram", &counters.lengths),
        ] {
            let counts: Vec<f64> = counts.iter().map(|n| *n as f64).collect();
            file.array(name, &[counts.len()], &counts)?;
        }
        file.text("specification.json", &self.specification())?;
        file.finish()?;
        Ok(())
    }

    fn specification(&self) -> String {
        serde_json::to_string(self.cluster.specification()).expect("plain numbers")
    }

    fn draw(&self, prefix: &Path) -> Result<(), Failure> {
        let time = self.column(0);
        let axis = |name: &str, unit: &str, division| PlotAxis {
            name: name.into(),
            unit: unit.into(),
            division,
            range: None,
        };
        let spec = self.specification();
        let line = |x, y, name| Series {
            name,
            x,
            y,
            error: None,
            marks: Marks::Both,
        };
        let [local, total] =
            [3, 4].map(|k| self.column(k).iter().map(|e| e.abs()).collect::<Vec<_>>());
        let write = |name: &str, series: &[Series<'_>], x: PlotAxis, y: PlotAxis| {
            let plot = LinePlot {
                x,
                y,
                ..LinePlot::default()
            };
            // Nothing that a logarithmic axis can show is no failure of the run.
            if series
                .iter()
                .all(|s| s.y.iter().all(|y| !(y.is_finite() && *y > 0.0)))
            {
                return Ok(());
            }
            plot::lines(plot_path(prefix, name), series, &plot, Some(&spec))
        };
        write(
            "energy",
            &[
                line(&time, &total, "since the start"),
                line(&time, &local, "since the line before"),
            ],
            axis("time", "", Division::Linear),
            axis("|dE/E|", "", Division::Logarithmic),
        )?;
        let names = LAGRANGE_FRACTIONS.map(|f| format!("{} %", 100.0 * f));
        let mut columns: Vec<(&str, Vec<f64>)> = vec![("core", self.column(COLUMNS.len() - 1))];
        // As many lines as there are colours.
        for k in [0, 2, 3, 4, 5, 7] {
            let name = names[k].as_str();
            columns.push((name, self.column(COLUMNS.len() + k)));
        }
        let radii: Vec<Series<'_>> = columns
            .iter()
            .map(|(name, y)| line(&time, y, name))
            .collect();
        write(
            "radii",
            &radii,
            axis("time", "", Division::Linear),
            axis("radius", "length", Division::Logarithmic),
        )?;
        let counters = self.cluster.counters();
        let longest = self.cluster.specification().max_step;
        let lengths: Vec<f64> = (0..counters.lengths.len())
            .map(|k| longest * 0.5f64.powi(k as i32))
            .collect();
        let shorter = |k: usize| {
            counters.lengths[k..].iter().sum::<u64>() as f64 / counters.steps.max(1) as f64
        };
        let share: Vec<f64> = (0..lengths.len()).map(shorter).collect();
        write(
            "steps",
            &[line(&lengths, &share, "")],
            axis("time step", "time", Division::Logarithmic),
            axis("share of steps up to it", "", Division::Logarithmic),
        )?;
        Ok(())
    }

    /// Operations per second of this process: over all, and in the forces.
    fn rates(&self, elapsed: f64) -> (f64, f64) {
        let operations = self.cluster.operations() - self.before.0;
        (
            operations / elapsed,
            operations
                / (self.cluster.split().force + self.cluster.split().irregular)
                    .as_secs_f64()
                    .max(1e-9),
        )
    }

    fn object(&self, elapsed: f64) -> serde_json::Value {
        let split = self.cluster.split();
        let row = self.series.last();
        let value = |k: usize| row.map(|row| row[k]);
        let (overall, force) = self.rates(elapsed);
        serde_json::json!({
            "specification": self.cluster.specification(),
            "particles": self.cluster.stars().len(),
            "device": self.cluster.engine().device(),
            "time": self.args.end,
            "kinetic": value(1),
            "potential": value(2),
            "energy_error": value(4),
            "core_radius": value(10),
            "lagrange_radii": row.map(|row| &row[COLUMNS.len()..]),
            "counters": self.cluster.counters(),
            "worst_step": self.cluster.abrupt().map(|worst| serde_json::json!({
                "time": worst.time,
                "body": worst.body,
                "neighbour": worst.neighbour,
                "distance": worst.distance,
                "ratio": worst.ratio,
            })),
            "seconds": elapsed,
            "split": {
                "predict": split.predict.as_secs_f64(),
                "force": split.force.as_secs_f64(),
                "irregular": split.irregular.as_secs_f64(),
                "correct": split.correct.as_secs_f64(),
                "schedule": split.schedule.as_secs_f64(),
            },
            "flops": overall,
            "flops_force": force,
        })
    }

    fn summary(&self, elapsed: f64) -> String {
        let mut lines = Lines::default();
        let counters = self.cluster.counters();
        let split = self.cluster.split();
        let (blocks, steps) = (
            counters.blocks - self.before.1,
            counters.steps - self.before.2,
        );
        lines.add("time", &report::seconds(elapsed));
        lines.add("block steps", &report::grouped(blocks));
        lines.add("steps", &report::grouped(steps));
        let share = |d: std::time::Duration| 100.0 * d.as_secs_f64() / elapsed;
        let rest = [
            split.predict,
            split.force,
            split.irregular,
            split.correct,
            split.schedule,
        ]
        .map(share);
        lines.add(
            "split",
            &format!(
                "predict {:.1} %, force {:.1} %, neighbours' force {:.1} %, correct {:.1} %, schedule {:.1} %, diagnostics and files {:.1} %",
                rest[0],
                rest[1],
                rest[2],
                rest[3],
                rest[4],
                100.0 - rest.iter().sum::<f64>(),
            ),
        );
        let (overall, force) = self.rates(elapsed);
        let operations = self.cluster.specification().order.operations();
        lines.add(
            "rate",
            &format!(
                "{:.1} Gflop/s, {:.1} in the forces ({operations} operations a pair)",
                overall / 1e9,
                force / 1e9
            ),
        );
        if counters.regular_steps > 0 {
            let text = format!(
                "{} regular steps, {:.1} neighbours in the mean, {} lists too long and taken again",
                report::grouped(counters.regular_steps),
                counters.irregular_pairs as f64
                    / (counters.steps + counters.regular_steps).max(1) as f64,
                report::grouped(counters.overflows),
            );
            lines.add("neighbours", &text);
        }
        if counters.noisy > 0 {
            let text = format!(
                "{} steps were not shortened: the highest derivatives were rounding noise",
                report::grouped(counters.noisy)
            );
            lines.add("note", &text);
        }
        if let Some(worst) = self.cluster.abrupt() {
            let text = format!(
                "{} steps were more than 8 times too long; the worst at time {}: bodies {} and {}, {:.3e} apart. \
                 Close pairs are not regularised: look at the energy error, take a smaller --eta or a --softening",
                report::grouped(counters.abrupt),
                worst.time,
                worst.body,
                worst.neighbour,
                worst.distance
            );
            lines.add("warning", &text);
        }
        if counters.clamped > 0 {
            let text = format!(
                "{} steps were lengthened to --min-step",
                report::grouped(counters.clamped)
            );
            lines.add("note", &text);
        }
        lines.as_str().to_owned()
    }
}

fn plot_path(prefix: &Path, name: &str) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    path.push(format!("-{name}.png"));
    path.into()
}

impl Args {
    fn new_cluster<'e>(&self, engine: Box<dyn Engine + 'e>) -> Result<Cluster<'e>, Failure> {
        let bodies = match &self.input {
            Some(path) => read_bodies(path).map_err(|e| refused(path, "--input", &e))?,
            None => self.model()?,
        };
        let ahmad_cohen = self.ahmad_cohen(bodies.len())?;
        let order = match ahmad_cohen {
            Some(_) => Order::Four,
            None => Order::Six,
        };
        let usual = Specification::new(self.order.unwrap_or(order));
        let usual_softening = match self.model.and_then(StartModel::problem) {
            Some(_) => 0.0,
            None => 4.0 / bodies.len().max(1) as f64,
        };
        let specification = Specification {
            softening: self.softening.unwrap_or(usual_softening),
            eta: self.eta.unwrap_or(usual.eta),
            eta_start: self.eta_start.unwrap_or(usual.eta_start),
            max_step: self.max_step.unwrap_or(usual.max_step),
            min_step: self.min_step,
            iterations: self.iterations.unwrap_or(usual.iterations),
            precision: self.precision.unwrap_or(usual.precision),
            ahmad_cohen,
            ..usual
        };
        let start = specification
            .validate(bodies)
            .map_err(|e| Failure::value(&e.given, e.option, &e.allowed))?;
        Ok(Cluster::new(&start, engine)?)
    }

    /// The options of the Ahmad–Cohen scheme, if it is asked for.
    fn ahmad_cohen(&self, particles: usize) -> Result<Option<AhmadCohen>, Failure> {
        let usual = AhmadCohen::new(particles);
        if self.scheme == Some(Scheme::AhmadCohen) {
            return Ok(Some(AhmadCohen {
                neighbours: self.neighbours.unwrap_or(usual.neighbours),
                eta_regular: self.eta_regular.unwrap_or(usual.eta_regular),
            }));
        }
        let reason = "goes with --scheme ahmad-cohen";
        if let Some(n) = self.neighbours {
            return Err(Failure::value(&n.to_string(), "--neighbours", reason));
        }
        if let Some(eta) = self.eta_regular {
            return Err(Failure::value(&eta.to_string(), "--eta-regular", reason));
        }
        Ok(None)
    }

    /// The bodies of the start model.
    fn model(&self) -> Result<Vec<Body>, Failure> {
        let (n, seed) = (self.n.unwrap_or(1024), self.seed.unwrap_or(1));
        if let Some(problem) = self.model.and_then(StartModel::problem) {
            for (option, given) in [
                ("--n", self.n.map(|n| n.to_string())),
                ("--w0", self.w0.map(|w| w.to_string())),
            ] {
                if let Some(given) = given {
                    let reason = format!("does not go with --model {}", problem.name());
                    return Err(Failure::value(&given, option, &reason));
                }
            }
            return models::few(problem)
                .map_err(|e| Failure::value(&e.given, e.option, &e.allowed));
        }
        let bodies = match (self.model, self.w0) {
            (Some(StartModel::King), w0) => models::king(n, w0.unwrap_or(6.0), seed),
            (_, Some(w0)) => {
                let reason = "goes with --model king";
                return Err(Failure::value(&w0.to_string(), "--w0", reason));
            }
            (_, None) => models::plummer(n, seed),
        };
        bodies.map_err(|e| Failure::value(&e.given, e.option, &e.allowed))
    }

    /// That every file can be written, before long work starts.
    fn check_outputs(&self) -> Result<(), Failure> {
        let writable =
            |path: &Path, option: &str| check_writable(path).map_err(|e| refused(path, option, &e));
        for path in &self.out {
            is_npz(path).map_err(|reason| refused(path, "--out", &reason))?;
            writable(path, "--out")?;
        }
        for (path, option) in [
            (&self.series, "--series"),
            (&self.checkpoint, "--checkpoint"),
        ] {
            if let Some(path) = path {
                writable(path, option)?;
            }
        }
        if let Some(prefix) = &self.plots {
            writable(&plot_path(prefix, "energy"), "--plots")?;
        }
        if let Some(folder) = &self.snapshots {
            std::fs::create_dir_all(folder).map_err(|e| refused(folder, "--snapshots", &e))?;
            writable(&folder.join("00000.npz"), "--snapshots")?;
        }
        Ok(())
    }
}

fn refused(path: &Path, option: &str, reason: &dyn std::fmt::Display) -> Failure {
    Failure::value(&path.display().to_string(), option, &reason.to_string())
}

fn file_failed(error: FileError) -> Failure {
    Failure::Failed(error.to_string())
}
