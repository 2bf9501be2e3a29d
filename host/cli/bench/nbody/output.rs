//! Output of the measurements as text, JSON, CSV and a plot.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use trisolar::io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series};
use trisolar::io::{IoError, atomic};

use super::measure::{Rate, Tables};

/// Operations of an interaction: 20 for `f32` (Nyland, Harris & Prins 2007) and 30 for `f64` (NVIDIA's nbody sample).
const OPERATIONS: [f64; 2] = [20.0, 30.0];

/// The tables.
pub(super) fn text(devices: &[String], repeats: usize, rates: &[Rate], tables: &Tables) -> String {
    let mut text = format!("{}\n\n", devices.join("\n"));
    text.push_str(&format!(
        "{:<8} {:<13} {:<5} {:>8} {:>18} {:>11} {:>11}",
        "engine", "solver", "", "N", "1e9 interactions/s", "GFLOP/s, 20", "GFLOP/s, 30"
    ));
    for rate in rates {
        text.push_str(&format!(
            "\n{:<8} {:<13} {:<5} {:>8} {:>10.2} ± {:>5.2} {:>11.0} {:>11.0}",
            rate.engine,
            rate.solver,
            rate.precision,
            rate.bodies,
            rate.rate,
            rate.deviation,
            rate.gflops(OPERATIONS[0]),
            rate.gflops(OPERATIONS[1]),
        ));
    }
    if !tables.blocks.is_empty() {
        let columns: Vec<String> = tables.blocks.iter().map(|(b, _)| b.to_string()).collect();
        let values = tables.blocks.iter().map(|(_, rate)| rate);
        text.push_str(
            "\n\nbasic, f32, one body per thread, sums not divided among blocks:\n1e9 interactions/s by threads per block",
        );
        text.push_str(&grid(&columns, values));
    }
    if !tables.unroll.is_empty() {
        let columns: Vec<String> = tables
            .unroll
            .iter()
            .map(|([bodies, unrolled], rate)| match rate.solver.as_str() {
                "plain" => "no tiles".into(),
                _ => format!("{bodies} x {unrolled}"),
            })
            .collect();
        let values = tables.unroll.iter().map(|(_, rate)| rate);
        text.push_str(
            "\n\nbasic, f32, blocks of 128, sums divided among blocks:\n1e9 interactions/s by bodies per thread x unrolled steps",
        );
        text.push_str(&grid(&columns, values));
    }
    text.push_str(&format!(
        "\n\nmean and standard deviation of {repeats} measurements of whole steps: N² interactions and the motion;\n\
         reduced evaluates half of them. atomic and equal-masses (which multiplies sums instead of single forces by the\n\
         mass) add in no fixed order, so their last bits differ from run to run."
    ));
    text
}

/// A line for each number of bodies, a column for each launch.
fn grid<'a>(columns: &[String], values: impl Iterator<Item = &'a Rate> + Clone) -> String {
    let mut numbers: Vec<usize> = values.clone().map(|r| r.bodies).collect();
    numbers.dedup();
    let width = columns.len() / numbers.len().max(1);
    let mut text = format!("\n{:>8}", "N");
    for column in &columns[..width] {
        text.push_str(&format!(" {column:>9}"));
    }
    for n in numbers {
        text.push_str(&format!("\n{n:>8}"));
        for rate in values.clone().filter(|r| r.bodies == n) {
            text.push_str(&format!(" {:>9.1}", rate.rate));
        }
    }
    text
}

/// The measurements as one JSON object.
pub(super) fn json(rates: &[Rate], tables: &Tables) -> serde_json::Value {
    json!({
        "operations_per_interaction": OPERATIONS,
        "rates": rates,
        "blocks": tables.blocks,
        "bodies_a_thread_and_unrolled": tables.unroll,
    })
}

/// A line for each measurement.
pub(super) fn csv(path: &Path, rates: &[Rate], tables: &Tables) -> Result<(), IoError> {
    atomic::write_with(path, |file| {
        let mut text = String::from(
            "engine,solver,precision,bodies,block,steps,interactions_per_second,deviation,gflops_20,gflops_30\n",
        );
        let blocks = tables
            .blocks
            .iter()
            .map(|(block, rate)| (Some(block), rate));
        let all = rates.iter().map(|rate| (None, rate));
        let all = all.chain(blocks);
        for (block, r) in all.chain(tables.unroll.iter().map(|(_, rate)| (None, rate))) {
            text.push_str(&format!(
                "{},{},{},{},{},{},{:.6e},{:.6e},{:.6e},{:.6e}\n",
                r.engine,
                r.solver,
                r.precision,
                r.bodies,
                block.map_or(String::new(), u32::to_string),
                r.steps,
                r.rate * 1.0e9,
                r.deviation * 1.0e9,
                r.gflops(OPERATIONS[0]),
                r.gflops(OPERATIONS[1]),
            ));
        }
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))
    })
}

/// Rates over the number of bodies, a line for each engine, solver and precision.
pub(super) fn plot(path: &Path, devices: &[String], rates: &[Rate]) -> Result<(), IoError> {
    let name = |r: &Rate| format!("{}, {}, {}", r.engine, r.solver, r.precision);
    let mut names: Vec<String> = Vec::new();
    for rate in rates {
        if !names.contains(&name(rate)) {
            names.push(name(rate));
        }
    }
    let points: Vec<Points> = names
        .iter()
        .map(|line| Points::of(rates.iter().filter(|r| name(r) == *line)))
        .collect();
    let series: Vec<Series<'_>> = names
        .iter()
        .zip(&points)
        .map(|(name, points)| Series {
            name,
            x: &points.bodies,
            y: &points.rates,
            error: Some(&points.errors),
            marks: Marks::Both,
        })
        .collect();
    let axis = |name: &str, unit: &str| PlotAxis {
        name: name.into(),
        unit: unit.into(),
        division: Division::Logarithmic,
        range: None,
    };
    let plot = LinePlot {
        title: devices.first().cloned().unwrap_or_default(),
        x: axis("bodies", ""),
        y: axis("interactions", "1e9/s"),
        ..LinePlot::default()
    };
    plot::lines(path, &series, &plot, None)
}

/// The points of a line of the plot.
#[derive(Default)]
struct Points {
    bodies: Vec<f64>,
    rates: Vec<f64>,
    /// The standard deviation below and above each rate.
    errors: Vec<[f64; 2]>,
}

impl Points {
    fn of<'a>(rates: impl Iterator<Item = &'a Rate>) -> Self {
        let mut points = Self::default();
        for r in rates {
            points.bodies.push(r.bodies as f64);
            points.rates.push(r.rate);
            points
                .errors
                .push([r.rate - r.deviation, r.rate + r.deviation]);
        }
        points
    }
}
