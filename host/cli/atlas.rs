//! `trisolar atlas`: the basins of a map of outcomes, and how intricate their boundaries are.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use trisolar::atlas::pictures::{self, Look};
use trisolar::atlas::{Atlas, BOXES, Scaling, files};
use trisolar::io::PictureFormat;
use trisolar::io::picture::{Theme, YDirection};
use trisolar::run::Outputs;
use trisolar::run::plots::PLOTS;

use super::report::{self, Common, Lines};
use super::{Failure, interrupt, values};

/// Analyse a map of outcomes: the shares of the basins, basin entropy, the uncertainty exponent and the dimension of the boundary, and
/// whether all basins have one boundary. The map is a file that `trisolar encounters`, `planets` or `divergence` wrote, or an array of whole
/// numbers of any other program.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Lengths are pixels of the map. Errors of exponents and entropies are standard errors by the jackknife over 8 x 8 areas; \
                  intervals of shares are binomial (95 %)."
)]
pub(crate) struct Args {
    /// The map: a .npy file, or an array of a .npz file, with two axes
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The array of a .npz file [default: outcome, or the only one]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    array: Option<String>,
    /// Make classes of real numbers, such as MEGNO or times: a class for the numbers below the first limit, one for those between each
    /// two, and one for those from the last one on
    #[arg(long, value_name = "A,B,...", help_heading = "Input", value_delimiter = ',', allow_hyphen_values = true, value_parser = values::number)]
    limits: Vec<f64>,
    /// Sides of the boxes whose entropies are computed [default: 5,20]
    #[arg(long = "box", value_name = "A,B,...", help_heading = "Input", value_delimiter = ',', allow_hyphen_values = true, value_parser = side)]
    boxes: Vec<usize>,
    /// Draw the basins to .png, .svg or .pdf; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Vec<PathBuf>,
    /// Draw entropy.png, uncertainty.png, dimension.png and wada.png in this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    plots: Option<PathBuf>,
    /// Format of the pictures in the folder of --plots: png, svg or pdf
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value_t = PictureFormat::Png)]
    plot_format: PictureFormat,
    /// Draw light lines on near-black (dark) or dark lines on white (light)
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value = "dark", value_parser = str::parse::<Theme>)]
    theme: Theme,
    /// Direction of the vertical axis of maps: down or up
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value_t = YDirection::Up)]
    y_axis: YDirection,
    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    json: bool,
    /// Print neither summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    quiet: bool,
}

fn side(text: &str) -> Result<usize, String> {
    let side = text.parse().ok().filter(|side| *side >= 2);
    side.ok_or_else(|| "must be a whole number of pixels, at least 2".into())
}

/// Analyses and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut outputs = Outputs::new();
    outputs.input("FILE", &args.file);
    for path in &args.out {
        outputs.file("--out", path);
        if PictureFormat::of(path).is_none() {
            let given = path.display().to_string();
            return Err(Failure::value(
                &given,
                "--out",
                "the name must end in .png, .svg or .pdf",
            ));
        }
    }
    if let Some(folder) = &args.plots {
        outputs.folder("--plots", folder, PLOTS);
    }
    let _claim = outputs.claim()?;
    interrupt::watch()?;
    let refuse = |reason: String| Failure::value(&args.file.display().to_string(), "FILE", &reason);
    let map = files::read(&args.file, args.array.as_deref(), &args.limits).map_err(refuse)?;
    let boxes = if args.boxes.is_empty() {
        &BOXES[..]
    } else {
        &args.boxes
    };
    let begun = Instant::now();
    let atlas = Atlas::of(&map, boxes).map_err(refuse)?;
    let seconds = begun.elapsed().as_secs_f64();
    interrupt::check()?;
    let look = Look {
        theme: args.theme,
        y: args.y_axis,
    };
    let mut written = Vec::new();
    for path in &args.out {
        pictures::basins(path, &map, &atlas, look)?;
        written.push(path.clone());
    }
    if let Some(folder) = &args.plots {
        written.extend(pictures::all(folder, &atlas, look, args.plot_format)?);
    }
    if args.json {
        let pixels = map.pixels().len() as f64;
        let common = Common {
            specification: json!({
                "file": args.file,
                "array": args.array,
                "limits": args.limits,
                "box": boxes,
            }),
            files: written,
            devices: report::device("CPU"),
            seconds,
            rate: Some(pixels / seconds),
            rate_unit: "pixels/s",
            warnings: atlas.warnings.clone(),
            ..Common::default()
        };
        return report::json(&common.with(json!(atlas)));
    }
    if args.quiet {
        return Ok(());
    }
    for warning in &atlas.warnings {
        report::to_stderr(&format!("warning: {warning}"));
    }
    let (above, mut lines) = summary(&atlas);
    lines.add("time", &report::seconds(seconds));
    for path in &written {
        lines.add_whole("file", &path.display().to_string());
    }
    report::to_stdout(&(above + lines.as_str()))
}

/// A number and its standard error.
fn with_error(value: f64, error: Option<f64>) -> String {
    match error {
        Some(error) => format!("{value:.5} ± {error:.5}"),
        None => format!("{value:.5}"),
    }
}

/// The shares of the basins, and the lines below them.
fn summary(atlas: &Atlas) -> (String, Lines) {
    let [width, height] = atlas.size;
    let title = format!("{width} x {height} pixels");
    let above = report::shares_table(
        &title,
        "pixels",
        atlas.basins.iter().map(|basin| ("  ", basin)),
    );
    let mut lines = Lines::default();
    for found in &atlas.entropies {
        let mut text = format!(
            "boxes of {} pixels: S_b = {}",
            found.side,
            with_error(found.entropy, found.error)
        );
        if let Some(entropy) = found.boundary_entropy {
            text += &format!(
                ", S_bb = {} in {} of {} boxes: {}",
                with_error(entropy, found.boundary_error),
                report::grouped(found.boundary_boxes),
                report::grouped(found.boxes),
                match found.above_ln_2 {
                    true => "above ln 2, the boundary is fractal",
                    false => "not above ln 2, which decides nothing",
                }
            );
        }
        lines.add("entropy", &text);
    }
    let law = |law: &Scaling, exponent: &str| match (&law.fit, &law.refused) {
        (Some(fit), _) => {
            let used: Vec<f64> = (law.points.iter())
                .filter(|p| p.used)
                .map(|p| p.scale)
                .collect();
            format!(
                "{exponent} {}, dimension of the boundary {:.4}, from {} scales of {} to {} pixels (binomial error alone: {:.1e})",
                with_error(fit.exponent, fit.jackknife_error),
                fit.dimension,
                used.len(),
                used[0],
                used[used.len() - 1],
                fit.binomial_error
            )
        }
        (None, reason) => format!("no fit: {}", reason.as_deref().unwrap_or_default()),
    };
    lines.add("pairs", &law(&atlas.uncertainty, "uncertainty exponent"));
    lines.add("boxes", &law(&atlas.boundary, "exponent"));
    match &atlas.wada {
        Some(wada) => {
            let verdict = match wada.passed {
                true => "Wada at this resolution",
                false => "not Wada",
            };
            let text = format!(
                "{verdict}: the boundaries of {} basins agree within {} pixels (at most {} count as agreement)",
                wada.basins, wada.distance, wada.limit
            );
            lines.add("Wada", &text);
        }
        None => lines.add("Wada", "two basins always have one boundary"),
    }
    (above, lines)
}
