//! What the order of a Hermite scheme buys: the plots of Nitadori's "6th/8th-order Hermite integrator & GPU
//! implementations", made anew.
//!
//! ```sh
//! cargo run --release --example 05-cluster-orders                       # on the CPU, some minutes
//! cargo run --release --example 05-cluster-orders -- gpu                # on a GPU, some seconds
//! cargo run --release --example 05-cluster-orders -- series 4.npz 6.npz # of `trisolar cluster --series`
//! ```
//!
//! The first two integrate the Plummer model of 1024 particles with a softening of 4/N to time 1, with several accuracy
//! parameters an order, and write `orders-error.png` (energy error against particle steps) and `orders-steps.png` (the
//! cumulative distribution of time steps). The third draws core radius, energy error and steps of long runs.

use std::path::Path;

use trisolar::hermite::{Cluster, CpuEngine, Engine, Order, Specification, models};
use trisolar::io::npz::NpzReader;
use trisolar::io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series};

type Error = Box<dyn std::error::Error>;

const PARTICLES: usize = 1024;
const END: f64 = 1.0;
const NAMES: [&str; 3] = ["order 4", "order 6", "order 8"];

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &words[..] {
        [] => orders(&|| Ok(Box::new(CpuEngine::new(None)?))),
        #[cfg(feature = "gpu")]
        ["gpu"] => {
            let gpu = [trisolar::gpu::Gpu::open(0)?];
            orders(&|| Ok(trisolar::hermite::on_gpus(&gpu)))
        }
        ["series", files @ ..] if !files.is_empty() => series(files),
        _ => Err("usage: 05-cluster-orders [gpu | series FILE.npz ...]".into()),
    }
}

/// Accuracy parameters of an order, coarse to fine.
fn etas(order: Order) -> [f64; 7] {
    match order {
        Order::Four => [0.4, 0.28, 0.2, 0.14, 0.1, 0.07, 0.05],
        Order::Six => [1.2, 1.0, 0.8, 0.65, 0.5, 0.4, 0.3],
        Order::Eight => [1.3, 1.1, 0.95, 0.85, 0.75, 0.65, 0.55],
    }
}

type Make<'a> = &'a dyn Fn() -> Result<Box<dyn Engine + 'a>, Error>;

/// A run with one accuracy parameter: steps, energy error, and the steps of all particles at the end.
fn run(order: Order, eta: f64, make: Make<'_>) -> Result<(f64, f64, Vec<f64>), Error> {
    let specification = Specification {
        softening: 4.0 / PARTICLES as f64,
        eta,
        ..Specification::new(order)
    };
    let start = specification.validate(models::plummer(PARTICLES, 1)?)?;
    let mut cluster = Cluster::new(&start, make()?)?;
    let before = cluster.energy(0.0)?.total();
    cluster.advance_to(END)?;
    let error = ((cluster.energy(END)?.total() - before) / before).abs();
    let steps = cluster.counters().steps as f64;
    println!("order {order}, eta {eta}: {steps} steps, |dE/E| = {error:.2e}");
    Ok((
        steps,
        error,
        cluster.stars().iter().map(|s| s.step).collect(),
    ))
}

/// Runs all orders and draws both plots.
fn orders(make: Make<'_>) -> Result<(), Error> {
    let mut errors = Vec::new();
    let mut distributions = Vec::new();
    for order in Order::ALL {
        let mut points = (Vec::new(), Vec::new());
        for eta in etas(order) {
            let (steps, error, lengths) = run(order, eta, make)?;
            points.0.push(steps);
            points.1.push(error);
            if eta == order.usual_eta().0 {
                distributions.push(cumulative(&lengths));
            }
        }
        errors.push(points);
    }
    draw(
        "orders-error.png",
        &errors,
        &NAMES,
        axis("particle steps to time 1", "", Division::Logarithmic),
        axis("|dE/E|", "", Division::Logarithmic),
    )?;
    draw(
        "orders-steps.png",
        &distributions,
        &NAMES,
        axis("time step", "time", Division::Logarithmic),
        axis("particles with steps up to it", "", Division::Logarithmic),
    )
}

/// How many particles have a step of at most each length that occurs.
fn cumulative(lengths: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut sorted = lengths.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let up_to = |x: &f64| lengths.iter().filter(|y| *y <= x).count() as f64;
    let counts = sorted.iter().map(up_to).collect();
    (sorted, counts)
}

/// Core radius, energy error and particle steps of long runs.
fn series(files: &[&str]) -> Result<(), Error> {
    let mut names = Vec::new();
    let (mut cores, mut errors, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        let mut archive = NpzReader::open(Path::new(file))?;
        let mut column = |name: &str| archive.array::<f64>(name).map(|a| a.values);
        let time = column("time")?;
        let error: Vec<f64> = column("error")?.iter().map(|e| e.abs()).collect();
        let taken = column("steps")?;
        cores.push((time.clone(), column("core_radius")?));
        errors.push((taken.clone(), error));
        steps.push((time, taken));
        let stem = Path::new(file).file_stem().unwrap_or_default();
        names.push(stem.to_string_lossy().into_owned());
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let time = || axis("time", "", Division::Linear);
    let logarithmic = |name| axis(name, "", Division::Logarithmic);
    draw(
        "collapse-core.png",
        &cores,
        &names,
        time(),
        logarithmic("core radius"),
    )?;
    draw(
        "collapse-error.png",
        &errors,
        &names,
        logarithmic("particle steps"),
        logarithmic("|dE/E|"),
    )?;
    draw(
        "collapse-steps.png",
        &steps,
        &names,
        time(),
        logarithmic("particle steps"),
    )
}

fn axis(name: &str, unit: &str, division: Division) -> PlotAxis {
    PlotAxis {
        name: name.into(),
        unit: unit.into(),
        division,
        range: None,
    }
}

fn draw(
    path: &str,
    lines: &[(Vec<f64>, Vec<f64>)],
    names: &[&str],
    x: PlotAxis,
    y: PlotAxis,
) -> Result<(), Error> {
    let few = lines.iter().all(|(x, _)| x.len() < 40);
    let series: Vec<Series<'_>> = (lines.iter().zip(names))
        .map(|((x, y), name)| Series {
            name,
            x,
            y,
            error: None,
            marks: if few { Marks::Both } else { Marks::Line },
        })
        .collect();
    let plot = LinePlot {
        x,
        y,
        ..LinePlot::default()
    };
    plot::lines(path, &series, &plot, None)?;
    println!("{path}");
    Ok(())
}
