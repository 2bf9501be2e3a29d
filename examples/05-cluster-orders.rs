//! Shows what higher orders of the Hermite scheme gain, with the plots of Nitadori's slides (docs/references.md).
//!
//! ```sh
//! cargo run --release --example 05-cluster-orders                  # on the CPU, a minute
//! cargo run --release --example 05-cluster-orders -- gpu           # on a GPU, some seconds
//! cargo run --release --example 05-cluster-orders -- series order-4.npz order-6.npz order-8.npz
//! cargo run --release --example 05-cluster-orders -- steps start-4.npz end-4.npz start-6.npz end-6.npz
//! ```
//!
//! The first two integrate a Plummer model of 1024 particles with a softening length of 4/N to time 2, with several accuracy
//! parameters for each order, and plot the energy error against the number of particle steps (`orders-error.png`). The third plots the
//! core radius, energy error and steps of long runs from files of `trisolar cluster --series` (`collapse-core.png`,
//! `collapse-error.png`, `collapse-steps.png`). The fourth plots the distribution of the particles' time steps in checkpoints
//! (`trisolar cluster --checkpoint`), for example before and after core collapse (`orders-steps.png`).

use std::path::Path;

use trisolar::hermite::files::{Checkpoint, read_bodies};
use trisolar::hermite::{Cluster, CpuEngine, Engine, Order, Specification, on_devices};
use trisolar::io::npz::NpzReader;
use trisolar::io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series, Theme};

type Error = Box<dyn std::error::Error>;

/// The Plummer model for which an independent C++ program's steps and errors are known.
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/plummer_1024.txt");
const END: f64 = 2.0;
/// Particle steps and |dE/E| of that program for the orders 4 and 6.
const KNOWN: (&str, [f64; 2], [f64; 2]) = (
    "independent C++ program, 4 and 6",
    [496_195.0, 192_964.0],
    [1.38e-9, 6.5e-9],
);

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &words[..] {
        [] => orders(&|| Ok(Box::new(CpuEngine::new(None)?))),
        ["gpu"] => {
            let gpu = trisolar::gpu::open(0)?;
            orders(&|| Ok(on_devices(vec![gpu.clone()], Default::default())))
        }
        ["series", files @ ..] if !files.is_empty() => series(files),
        ["steps", files @ ..] if !files.is_empty() => steps(files),
        _ => Err(
            "usage: 05-cluster-orders [gpu | series FILE.npz ... | steps CHECKPOINT.npz ...]"
                .into(),
        ),
    }
}

/// Times and core radii of a run of that program with order 6.
const KNOWN_CORES: (&str, [f64; 4], [f64; 4]) = (
    "independent C++ program, order 6",
    [5.0, 185.0, 385.0, 425.0],
    [0.31, 0.154, 0.034, 0.030],
);

/// Accuracy parameters for an order, from coarse to fine.
fn etas(order: Order) -> [f64; 7] {
    match order {
        Order::Four => [0.4, 0.28, 0.2, 0.14, 0.1, 0.07, 0.05],
        Order::Six => [1.2, 1.0, 0.8, 0.65, 0.5, 0.4, 0.3],
        Order::Eight => [1.3, 1.1, 0.95, 0.85, 0.75, 0.65, 0.55],
    }
}

type Make<'a> = &'a dyn Fn() -> Result<Box<dyn Engine + 'a>, Error>;

/// Runs with one accuracy parameter; returns the number of particle steps and the energy error.
fn run(order: Order, eta: f64, make: Make<'_>) -> Result<(f64, f64), Error> {
    let bodies = read_bodies(Path::new(MODEL))?;
    let specification = Specification {
        softening: 4.0 / bodies.len() as f64,
        eta,
        ..Specification::new(order)
    };
    let start = specification.validate(bodies)?;
    let mut cluster = Cluster::new(&start, make()?)?;
    let before = cluster.energy(0.0)?.total();
    cluster.advance_to(END)?;
    let error = ((cluster.energy(END)?.total() - before) / before).abs();
    let steps = cluster.counters().steps as f64;
    println!("order {order}, eta {eta}: {steps} steps, |dE/E| = {error:.2e}");
    Ok((steps, error))
}

/// Runs all orders and plots their errors.
fn orders(make: Make<'_>) -> Result<(), Error> {
    let mut lines = Vec::new();
    for order in Order::ALL {
        let runs = (etas(order).into_iter())
            .map(|eta| run(order, eta, make))
            .collect::<Result<Vec<_>, _>>()?;
        let (x, y) = runs.into_iter().unzip();
        lines.push(Line::of(&format!("order {order}"), x, y));
    }
    let (name, x, y) = KNOWN;
    lines.push(Line {
        marks: Marks::Points,
        ..Line::of(name, x.to_vec(), y.to_vec())
    });
    draw(
        "orders-error.png",
        "1024 particles, softening 4/N, to time 2",
        &lines,
        axis("particle steps", "", Division::Logarithmic),
        axis("|dE/E|", "", Division::Logarithmic),
    )
}

/// Plots the distributions of the time steps in checkpoints.
fn steps(files: &[&str]) -> Result<(), Error> {
    let mut lines = Vec::new();
    for file in files {
        let checkpoint = Checkpoint::read(Path::new(file))?;
        let lengths: Vec<f64> = checkpoint.stars.iter().map(|s| s.step).collect();
        let (x, y) = cumulative(&lengths);
        let name = format!(
            "order {}, t = {}",
            checkpoint.specification.order, checkpoint.time
        );
        lines.push(Line::of(&name, x, y));
    }
    draw(
        "orders-steps.png",
        "distribution of time steps at one time",
        &lines,
        axis("time step", "time", Division::Logarithmic),
        axis("particles with steps up to it", "", Division::Logarithmic),
    )
}

/// The number of particles with at most each step length that occurs.
fn cumulative(lengths: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut sorted = lengths.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let up_to = |x: &f64| lengths.iter().filter(|y| *y <= x).count() as f64;
    let counts = sorted.iter().map(up_to).collect();
    (sorted, counts)
}

/// Plots core radius, energy error and particle steps of long runs.
fn series(files: &[&str]) -> Result<(), Error> {
    let (mut cores, mut errors, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        let mut archive = NpzReader::open(Path::new(file))?;
        let mut column = |name: &str| archive.array::<f64>(name).map(|a| a.values);
        let time = column("time")?;
        let error: Vec<f64> = column("error")?.iter().map(|e| e.abs()).collect();
        let taken = column("steps")?;
        let stem = Path::new(file).file_stem().unwrap_or_default();
        let name = stem.to_string_lossy().replace('-', " ");
        cores.push(Line::of(&name, time.clone(), column("core_radius")?));
        errors.push(Line::of(&name, taken.clone(), error));
        steps.push(Line::of(&name, time, taken));
    }
    let time = || axis("time", "", Division::Linear);
    let logarithmic = |name| axis(name, "", Division::Logarithmic);
    let (name, times, radii) = KNOWN_CORES;
    cores.push(Line {
        marks: Marks::Points,
        ..Line::of(name, times.to_vec(), radii.to_vec())
    });
    let core = PlotAxis {
        range: Some((0.01, 1.0)),
        ..axis("core radius", "length", Division::Logarithmic)
    };
    draw(
        "collapse-core.png",
        "core collapse of 1024 particles",
        &cores,
        time(),
        core,
    )?;
    let title = "energy error against steps, from time 5 to the end";
    let (taken, error) = (logarithmic("particle steps"), logarithmic("|dE/E|"));
    draw("collapse-error.png", title, &errors, taken, error)?;
    let taken = logarithmic("particle steps");
    draw("collapse-steps.png", "", &steps, time(), taken)
}

/// A line of a plot.
struct Line {
    name: String,
    x: Vec<f64>,
    y: Vec<f64>,
    marks: Marks,
}

impl Line {
    fn of(name: &str, x: Vec<f64>, y: Vec<f64>) -> Self {
        let marks = if x.len() < 40 {
            Marks::Both
        } else {
            Marks::Line
        };
        Self {
            name: name.into(),
            x,
            y,
            marks,
        }
    }
}

fn axis(name: &str, unit: &str, division: Division) -> PlotAxis {
    PlotAxis {
        name: name.into(),
        unit: unit.into(),
        division,
        range: None,
    }
}

fn draw(path: &str, title: &str, lines: &[Line], x: PlotAxis, y: PlotAxis) -> Result<(), Error> {
    let series: Vec<Series<'_>> = (lines.iter())
        .map(|line| Series {
            name: &line.name,
            x: &line.x,
            y: &line.y,
            error: None,
            marks: line.marks,
        })
        .collect();
    let plot = LinePlot {
        title: title.into(),
        x,
        y,
        theme: Theme::Light,
        size: None,
    };
    plot::lines(path, &series, &plot, None)?;
    println!("{path}");
    Ok(())
}
