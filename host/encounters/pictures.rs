//! Draws the map of outcomes and histograms.

use std::path::{Path, PathBuf};

use kernels_gpu::encounters::{Outcome, Record};

use super::Encounters;
use super::outcome::is_open;
pub use super::outcome::{class, class_of};
use super::summary::{body_name, lifetimes};
use trisolar_ensemble::Verdict;
use trisolar_io::colour::Rgb;
use trisolar_io::picture::{
    Axis, Class, ClassMap, Labels, Theme, YDirection, bare_classes, classes,
};
use trisolar_io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series};
use trisolar_io::{IoError, PictureFormat};

/// The classes of a map's pixels and their colours: the body that escapes, then the other outcomes. Colour-blind readers can
/// distinguish them.
pub const CLASSES: [(&str, Rgb); 7] = [
    ("body 1 escapes", Theme::Dark.colour_of_body(0)),
    ("body 2 escapes", Theme::Dark.colour_of_body(1)),
    ("body 3 escapes", Theme::Dark.colour_of_body(2)),
    ("ionisation", [150, 220, 150]),
    ("collision", [250, 250, 250]),
    ("open", [120, 120, 130]),
    ("failed", [60, 60, 66]),
];

/// Whether pixels of this class are the brighter the sooner they end. Runs that a limit ended, or that failed, have no time of their own.
pub fn is_shaded(class: usize) -> bool {
    class < 5
}

/// The appearance of a map with axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// Background and lines.
    pub theme: Theme,
    /// The direction of the vertical axis.
    pub y: YDirection,
}

/// Draws a map: a colour for the body that escapes, the brighter the sooner.
///
/// # Errors
/// [`IoError::Data`] if the ensemble is not a map, or an error of writing.
pub fn outcome_map(path: &Path, ensemble: &Encounters, look: &Look) -> Result<(), IoError> {
    draw(path, ensemble, look, &Pixels::of(path, ensemble, look.y)?)
}

/// Draws the verdicts on the outcomes of a map: a colour for each, the brighter the sooner the run ends. Returns `None` if there are none.
///
/// # Errors
/// As [`outcome_map`].
pub fn verdict_map(path: &Path, ensemble: &Encounters, look: &Look) -> Result<Option<()>, IoError> {
    let Some(found) = &ensemble.certificate else {
        return Ok(None);
    };
    let mut pixels = Pixels::of(path, ensemble, look.y)?;
    let class = |(name, colour)| Class {
        name,
        colour,
        shaded: true,
    };
    let legend = Verdict::legend(&found.verdicts).into_iter();
    pixels.list = legend.map(class).collect();
    pixels.classes = match look.y.is_up() {
        true => upside_down(&found.of_runs, pixels.size[0]),
        false => found.of_runs.clone(),
    };
    draw(path, ensemble, look, &pixels).map(Some)
}

fn draw(path: &Path, ensemble: &Encounters, look: &Look, pixels: &Pixels) -> Result<(), IoError> {
    let specification = &ensemble.specification;
    let axes = specification.axes();
    let axis = |k: usize| {
        // A map of one axis has a single row.
        let (name, unit, range) =
            axes[k].map_or(("", "", [0.0, 1.0]), |(p, range)| (p.name, p.unit, range));
        Axis::around(name.to_owned(), unit.to_owned(), range, pixels.size[k])
    };
    let (x, y) = (axis(0), axis(1));
    let mut title = title(ensemble);
    if ensemble.records.iter().all(is_open) {
        title.push_str("\nno encounter ended within --max-time and --max-steps");
    }
    let labels = Labels {
        title,
        x,
        y,
        y_upwards: look.y.is_up(),
        value: "time of the end".into(),
        unit: "time".into(),
    };
    let json = specification.json();
    classes(path, &pixels.map(), &labels, look.theme, Some(&json))
}

/// What is said above every picture; it ends with the integrator and its step.
fn title(ensemble: &Encounters) -> String {
    let (spec, runs) = (&ensemble.specification, ensemble.records.len());
    let (order, steps) = (u32::from(spec.order), spec.steps_per_period);
    let changed = ensemble.step_check.map_or(String::new(), |check| {
        format!(
            "\noutcomes that change: {:.1} % with twice the steps",
            100.0 * check.share
        )
    });
    format!(
        "{}, {runs} encounters\norder {order}, {steps} steps per period{changed}",
        spec.setup
    )
}

/// Draws a map with these colours, without axes and with one pixel for each of the map.
///
/// # Errors
/// As [`outcome_map`].
pub fn bare_outcome_map(path: &Path, ensemble: &Encounters, y: YDirection) -> Result<(), IoError> {
    let pixels = Pixels::of(path, ensemble, y)?;
    bare_classes(path, &pixels.map(), Some(&ensemble.specification.json()))
}

/// The pixels of a map of outcomes.
struct Pixels {
    size: [usize; 2],
    list: Vec<Class>,
    classes: Vec<u8>,
    times: Vec<f64>,
}

impl Pixels {
    /// The pixels, the top row of the picture first.
    fn of(path: &Path, ensemble: &Encounters, y: YDirection) -> Result<Self, IoError> {
        let Some(size) = ensemble.specification.size else {
            return Err(IoError::Data {
                path: path.to_owned(),
                reason: "only a map has a picture of its outcomes".into(),
            });
        };
        let list = CLASSES
            .iter()
            .enumerate()
            .map(|(number, (name, colour))| Class {
                name: match number {
                    0..3 => format!("{} escapes", body_name(ensemble, number as u8)),
                    _ => (*name).to_owned(),
                },
                colour: *colour,
                shaded: is_shaded(number),
            });
        let size = size.map(|n| n as usize);
        let mut pixels = Self {
            size,
            list: list.collect(),
            classes: ensemble.records.iter().map(class).collect(),
            times: ensemble.records.iter().map(|r| r.time).collect(),
        };
        if y.is_up() {
            pixels.classes = upside_down(&pixels.classes, size[0]);
            pixels.times = upside_down(&pixels.times, size[0]);
        }
        Ok(pixels)
    }

    fn map(&self) -> ClassMap<'_> {
        ClassMap {
            size: self.size,
            classes: &self.list,
            of_pixels: &self.classes,
            values: &self.times,
        }
    }
}

/// Rows of this width, the last one first.
fn upside_down<T: Copy>(pixels: &[T], width: usize) -> Vec<T> {
    pixels.chunks(width).rev().flatten().copied().collect()
}

/// The histograms: name of the file, quantity, unit.
const HISTOGRAMS: [&str; 3] = ["e2", "v-inf", "lifetime"];

/// The paths that [`histograms`] writes in this folder.
pub fn histogram_paths(folder: &Path, format: PictureFormat) -> [PathBuf; 3] {
    HISTOGRAMS.map(|what| folder.join(format!("{what}.{format}")))
}

/// The number of bins of a histogram of so many values: more of fewer values would show chance (Rice's rule).
fn bins_for(values: usize) -> usize {
    let bins = (2.0 * (values as f64).cbrt()).round() as usize;
    bins.clamp(8, 100)
}

/// Draws the distributions of e² of the binaries and of the velocities of the escapers, one line for each body that escapes, and the
/// share of runs that survive a time. A picture without data is not drawn. Returns the paths of the pictures.
///
/// # Errors
/// An error of writing the file.
pub fn histograms(
    folder: &Path,
    ensemble: &Encounters,
    theme: Theme,
    format: PictureFormat,
) -> Result<Vec<PathBuf>, IoError> {
    let [e2, v_inf, lifetime] = histogram_paths(folder, format);
    let json = ensemble.specification.json();
    let mut drawn = Vec::new();
    let escapes = |body: u8| {
        let escaped = move |r: &&Record| r.outcome == Outcome::ESCAPE.0 && r.body == body;
        ensemble.records.iter().filter(escaped)
    };
    let names = [0, 1, 2].map(|body| format!("{} escapes", body_name(ensemble, body)));
    let density = |path: &Path,
                   x: PlotAxis,
                   high: f64,
                   law: Option<&Series<'_>>,
                   value: &dyn Fn(&Record) -> f64| {
        // A body that never escapes keeps its place, and thus the others their colours.
        let lines = [0, 1, 2].map(|body| {
            let values: Vec<f64> = escapes(body).map(value).collect();
            match values.is_empty() {
                true => Default::default(),
                false => outline(&values, high),
            }
        });
        let series: Vec<Series<'_>> = lines
            .iter()
            .zip(&names)
            .map(|([x, y], name)| line(if x.is_empty() { "" } else { name }, x, y))
            .chain(law.copied())
            .collect();
        let plot = LinePlot {
            title: title(ensemble),
            x: PlotAxis {
                range: Some((0.0, high)),
                ..x
            },
            y: PlotAxis {
                name: "probability density".into(),
                ..PlotAxis::default()
            },
            theme,
            ..LinePlot::default()
        };
        plot::lines(path, &series, &plot, Some(&json))
    };
    let mut velocities: Vec<f64> = (0..3).flat_map(escapes).map(|r| r.v_inf).collect();
    if !velocities.is_empty() {
        let axis = |name: &str, unit: &str| PlotAxis {
            name: name.into(),
            unit: unit.into(),
            ..PlotAxis::default()
        };
        // The thermal law f(e) = 2e is uniform in e².
        let thermal = line("thermal", &[0.0, 1.0], &[1.0, 1.0]);
        let x = axis("e² of the binary", "");
        density(&e2, x, 1.0, Some(&thermal), &|r| r.e * r.e)?;
        drawn.push(e2);
        // The fastest hundredth is left out, because it would occupy most of the axis.
        velocities.sort_by(f64::total_cmp);
        let high = velocities[(velocities.len() - 1) * 99 / 100] * 1.05;
        if high > 0.0 {
            let x = axis("velocity of the escaper at infinity", "length / time");
            density(&v_inf, x, high, None, &|r| r.v_inf)?;
            drawn.push(v_inf);
        }
    }
    if let Some([x, y]) = survival(&ensemble.records) {
        let axis = |name: &str, unit: &str| PlotAxis {
            name: name.into(),
            unit: unit.into(),
            division: Division::Logarithmic,
            range: None,
        };
        let (from, level) = (x[x.len() / 2], y[y.len() / 2]);
        let to = x[x.len() - 1];
        let slope = [from, to];
        let law = slope.map(|t| level * (t / from).powf(-2.0 / 3.0));
        let mut series = vec![
            line("share of runs", &x[..], &y[..]),
            line("t^(−2/3)", &slope, &law),
        ];
        // The exponent of the summary, through the share that is left where its runs begin.
        let tail = lifetimes(&ensemble.records).tail;
        let fitted = tail.and_then(|tail| {
            let begin = x.partition_point(|t| *t < tail.from);
            let (from, level) = (*x.get(begin)?, *y.get(begin)?);
            let shares = [level, level * (to / from).powf(-tail.exponent)];
            Some((
                format!("t^(−{:.2}), fitted", tail.exponent),
                [from, to],
                shares,
            ))
        });
        if let Some((name, times, shares)) = &fitted {
            series.push(line(name, times, shares));
        }
        let plot = LinePlot {
            title: title(ensemble),
            x: axis("time", ""),
            y: axis("share of runs that last longer", ""),
            theme,
            ..LinePlot::default()
        };
        plot::lines(&lifetime, &series, &plot, Some(&json))?;
        drawn.push(lifetime);
    }
    Ok(drawn)
}

/// A line of a plot.
fn line<'a>(name: &'a str, x: &'a [f64], y: &'a [f64]) -> Series<'a> {
    Series {
        name,
        x,
        y,
        error: None,
        marks: Marks::Line,
    }
}

/// The outline of a histogram from 0 to `high`, as a probability density.
fn outline(values: &[f64], high: f64) -> [Vec<f64>; 2] {
    let bins = bins_for(values.len());
    let mut counts = vec![0_u64; bins];
    let width = high / bins as f64;
    for value in values {
        let bin = (value / width) as usize;
        // A value exactly at the end belongs to the last bin; a larger value belongs to none.
        if *value <= high {
            counts[bin.min(bins - 1)] += 1;
        }
    }
    let (mut x, mut y) = (vec![0.0], vec![0.0]);
    for (bin, count) in counts.iter().enumerate() {
        let level = *count as f64 / values.len() as f64 / width;
        x.extend([bin as f64 * width, (bin + 1) as f64 * width]);
        y.extend([level, level]);
    }
    x.push(high);
    y.push(0.0);
    [x, y]
}

/// Largest number of points of the survival curve.
const CURVE_INTERVALS: usize = 400;

/// Times, and the share of runs that last longer, until the first run that a limit ended; `None` for too few runs.
fn survival(records: &[Record]) -> Option<[Vec<f64>; 2]> {
    let all = records.len() as f64;
    let mut times: Vec<f64> = records.iter().map(|r| r.time).collect();
    times.sort_by(f64::total_cmp);
    let cut = records.iter().filter(|r| is_open(r)).map(|r| r.time);
    let cut = cut.fold(f64::INFINITY, f64::min);
    let known = times.iter().take_while(|t| **t < cut).count();
    // The points have equal ratios of the remaining runs, so that the tail has enough of them.
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for k in 0..=CURVE_INTERVALS {
        let left = all.powf(1.0 - k as f64 / CURVE_INTERVALS as f64);
        let at = (all - left).floor() as usize;
        if at >= known {
            break;
        }
        let (time, share) = (times[at], 1.0 - (at as f64 + 1.0) / all);
        if time > 0.0 && share > 0.0 && x.last() != Some(&time) {
            x.push(time);
            y.push(share);
        }
    }
    (x.len() >= 2).then_some([x, y])
}
