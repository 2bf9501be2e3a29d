//! `trisolar compare`: one map in several precisions or by several integrators, each against the first.

use std::path::{Path, PathBuf};

use trisolar::divergence::{
    self, Comparison, DivergenceMap, Integrator, Overrides, Precision, Quantity, Resolution,
    Specification, Validated, grain,
};
use trisolar::io::PictureFormat;
use trisolar::io::colour::{ColourMap, Spacing};
use trisolar::io::picture::{self, Map, PictureStyle, Theme, YDirection};
use trisolar::output;
use trisolar::run::{Backend, Outputs, RunOptions};
use trisolar::spec::{Parameters as _, SpecError};
use trisolar::zoom::short;

use super::cpu_args::{CpuArgs, warn_of_one_lane};
use super::parameters::ParameterArgs;
use super::progress::Progress;
use super::report::{self, Common, Lines};
use super::{Failure, config, interrupt, values};

mod ladder;

/// Compute one map in several modes, and report how many pixels are equal, how much the others differ, and what each mode costs.
#[derive(Debug, clap::Args)]
#[command(
    about = "Compare precision modes or integrators on one map",
    after_help = "equal: share of pixels with the same value as in the first mode (for divergence, the same number of steps).\n\
                  mean, largest: absolute differences (for divergence, in steps).\n\
                  grain: share of pixels that stand out from all eight neighbours by more than a hundredth of the steps, or of the \
                  range of values that are not steps.\n\
                  With --ladder, evaluations: of all forces of a system, per pixel with both twins; right: share of times within 5 % of \
                  the run of the reference's."
)]
pub(crate) struct Args {
    /// Modes, separated by commas: precisions and integrators of `trisolar divergence`; each is compared with the first. The
    /// default modes take about as long as the first; fixed and float-float take many times as long and must be named: `--modes
    /// f64,fixed,float-float` [default: f64,fast,mixed,f32; of other quantities than divergence, which are computed in f64,
    /// explicit-euler,symplectic-euler,leapfrog]
    #[arg(
        long,
        value_name = "A,B,...",
        value_delimiter = ',',
        value_parser = mode
    )]
    modes: Vec<Mode>,
    /// Compare integrators and steps by the share of right times of parting and their cost instead of modes: a sample of the map by all
    /// integrators, or by those of --modes, each with four steps, against order 8 with a very short step. Reports the cheapest of which at most
    /// --max-error (0.01 by default) is wrong, and draws the shares
    #[arg(long)]
    ladder: bool,
    #[command(flatten)]
    specification: ParameterArgs<Overrides>,
    /// Read the specification from a TOML file; options on the command line override it
    #[arg(long, value_name = "FILE.toml", help_heading = "Files")]
    config: Option<PathBuf>,
    /// Write pictures of the differences (.png, .svg or .pdf): one for each mode except the first, with the name of the mode added to
    /// the name of the file
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Files",
        default_value = "compare.png"
    )]
    out: PathBuf,
    /// Colours of the pictures: inferno, viridis, magma, plasma, cividis, grey or turbo
    #[arg(long, value_name = "NAME", help_heading = "Files", default_value_t = ColourMap::Inferno)]
    colormap: ColourMap,
    /// Direction of the vertical axis of the pictures: down or up
    #[arg(long, value_name = "NAME", help_heading = "Files", default_value_t = YDirection::Up)]
    y_axis: YDirection,
    /// Background of the pictures: dark or light
    #[arg(long, value_name = "NAME", help_heading = "Files", default_value = "dark", value_parser = str::parse::<Theme>)]
    theme: Theme,
    /// Write the whole specification of the first mode to a TOML file, for --config
    #[arg(long, value_name = "FILE.toml", help_heading = "Files")]
    save_config: Option<PathBuf>,
    /// Where to compute: auto (a GPU if one can be used, otherwise the CPU), cpu or gpu
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::backend)]
    backend: Backend,
    #[command(flatten)]
    cpu: CpuArgs,
    /// Print one JSON object instead of the table
    #[arg(long, help_heading = "Report")]
    json: bool,
    /// Print neither progress nor table
    #[arg(short, long, help_heading = "Report")]
    quiet: bool,
}

/// The change of the specification in a mode.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Precision(Precision),
    Integrator(Integrator),
}

fn mode(text: &str) -> Result<Mode, String> {
    let precision = text.parse().map(Mode::Precision);
    precision.or_else(|other: String| {
        let integrator = text.parse().map(Mode::Integrator);
        integrator.map_err(|e: String| format!("{other}; or an integrator: it {e}"))
    })
}

impl Mode {
    fn name(self) -> String {
        match self {
            Self::Precision(precision) => precision.to_string(),
            Self::Integrator(integrator) => integrator.to_string(),
        }
    }

    fn apply(self, specification: &Specification) -> Specification {
        let mut specification = specification.clone();
        match self {
            Self::Precision(precision) => specification.precision = precision,
            Self::Integrator(integrator) => specification.integrator = integrator,
        }
        specification
    }
}

/// Maps with the names of their modes.
type Modes = Vec<(String, Validated)>;

/// The result of a mode.
#[derive(Debug, serde::Serialize)]
struct Row {
    mode: String,
    seconds: f64,
    /// Pixel-steps per second, relative to the first mode.
    speed: f64,
    grain: f64,
    /// `None` for the first mode.
    difference: Option<Comparison>,
    picture: Option<PathBuf>,
    engine: &'static str,
    device: String,
    /// The share of pixels for which the step is too long.
    unresolved: Option<Resolution>,
    warnings: Vec<String>,
    notes: Vec<String>,
}

/// Computes, compares and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let options = RunOptions {
        backend: args.backend,
        threads: args.cpu.threads,
        simd: args.cpu.simd(),
        ..RunOptions::default()
    };
    if args.ladder {
        return ladder::run(args, &options);
    }
    let (modes, most) = args.specifications()?;
    let pictures = args.pictures(&modes)?;
    let mut outputs = Outputs::new();
    for path in pictures.iter().flatten() {
        outputs.file("--out", path);
    }
    args.declare(&mut outputs);
    let _claim = outputs.claim()?;
    interrupt::watch()?;
    if let (Some(path), Some((_, valid))) = (&args.save_config, modes.first()) {
        config::save(path, valid, most)?;
    }
    if !args.quiet {
        warn_of_one_lane(args.backend);
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut first: Option<DivergenceMap> = None;
    for ((name, valid), picture) in modes.iter().zip(pictures) {
        interrupt::check()?;
        let progress = Progress::new(name, args.json || args.quiet);
        let map = divergence::run(valid, &options, &progress)?;
        progress.finish();
        rows.push(row(args, name, &map, first.as_ref(), picture)?);
        first.get_or_insert(map);
    }
    if args.json {
        let shares = rows.iter().filter_map(|row| row.unresolved);
        let mut devices: Vec<&str> = rows.iter().map(|row| row.device.as_str()).collect();
        devices.dedup();
        let devices = devices
            .iter()
            .map(|device| serde_json::json!({ "device": device }));
        let mut notes: Vec<String> = rows.iter().flat_map(|row| row.notes.clone()).collect();
        notes.dedup();
        let common = Common {
            specification: serde_json::json!(modes[0].1.specification()),
            files: rows.iter().filter_map(|row| row.picture.clone()).collect(),
            devices: devices.collect(),
            seconds: rows.iter().map(|row| row.seconds).sum(),
            rate: None,
            rate_unit: "pixel-steps/s",
            errors: serde_json::json!({ "unresolved": shares.map(|found| found.share).reduce(f64::max) }),
            warnings: warnings(&rows),
            notes,
        };
        report::json(&common.with(serde_json::json!({ "modes": rows })))?;
    } else if !args.quiet {
        report::to_stdout(&table(&rows))?;
    }
    for row in &rows {
        Resolution::check(row.unresolved, most)
            .map_err(|reason| Failure::Failed(format!("{}: {reason}", row.mode)))?;
    }
    Ok(())
}

/// The warnings of the modes; equal ones are listed once.
fn warnings(rows: &[Row]) -> Vec<String> {
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        for warning in &row.warnings {
            match said.iter_mut().find(|(text, _)| text == warning) {
                Some((_, modes)) => modes.push(&row.mode),
                None => said.push((warning, vec![&row.mode])),
            }
        }
    }
    let line = |(text, modes): (&str, Vec<&str>)| format!("{}: {text}", modes.join(", "));
    said.into_iter().map(line).collect()
}

impl Args {
    /// Declares the files besides the pictures.
    fn declare(&self, outputs: &mut Outputs) {
        if let Some(path) = &self.config {
            outputs.input("--config", path);
        }
        if let Some(path) = &self.save_config {
            outputs.file("--save-config", path);
        }
    }

    /// The given values, those of the command line before those of the file.
    fn overrides(&self) -> Result<Overrides, Failure> {
        let given = self.specification.values.clone();
        Ok(match &self.config {
            Some(path) => given.merged_over(config::load(path)?),
            None => given,
        })
    }

    /// The refusal of a value.
    fn refused(&self, error: &SpecError) -> Failure {
        let of_mode = matches!(error.option, "integrator" | "precision");
        let on_command_line = self.specification.values.has(error.option) || of_mode;
        Failure::specification(error, on_command_line, self.config.as_deref())
    }

    /// The map in each mode, and the largest allowed share of unresolved pixels.
    fn specifications(&self) -> Result<(Modes, Option<f64>), Failure> {
        let overrides = self.overrides()?;
        let most = overrides
            .checked_max_error()
            .map_err(|e| self.refused(&e))?;
        let specification = Specification::from(overrides);
        let in_mode = |mode: &Mode| {
            let valid = mode.apply(&specification).validate();
            Ok((mode.name(), valid.map_err(|e| self.refused(&e))?))
        };
        let modes = self.modes(specification.quantity);
        let modes = modes.iter().map(in_mode);
        Ok((modes.collect::<Result<_, Failure>>()?, most))
    }

    /// The map of the ladder, and the largest allowed share of wrong times.
    fn specification_of_ladder(&self) -> Result<(Validated, Option<f64>), Failure> {
        let overrides = self.overrides()?;
        let most = overrides
            .checked_max_error()
            .map_err(|e| self.refused(&e))?;
        let specification = Specification::from(overrides);
        let quantity = specification.quantity;
        if !quantity.counts_steps() {
            let reason = "--ladder compares times of parting and needs --quantity divergence";
            return Err(Failure::value(quantity.name(), "--quantity", reason));
        }
        if PictureFormat::of(&self.out).is_none() {
            return Err(self.refused_picture());
        }
        let valid = specification.validate().map_err(|e| self.refused(&e))?;
        Ok((valid, most))
    }

    fn refused_picture(&self) -> Failure {
        let reason = "must end in .png, .svg or .pdf";
        Failure::value(&self.out.display().to_string(), "--out", reason)
    }

    /// The given modes, or the default ones.
    fn modes(&self, quantity: Quantity) -> Vec<Mode> {
        if !self.modes.is_empty() {
            return self.modes.clone();
        }
        let usual = [
            Precision::F64,
            Precision::Fast,
            Precision::Mixed,
            Precision::F32,
        ];
        if quantity == Quantity::Divergence {
            return usual.map(Mode::Precision).to_vec();
        }
        let usual = [
            Integrator::ExplicitEuler,
            Integrator::SymplecticEuler,
            Integrator::Leapfrog,
        ];
        usual.map(Mode::Integrator).to_vec()
    }

    /// A file for each mode except the first.
    fn pictures(&self, modes: &Modes) -> Result<Vec<Option<PathBuf>>, Failure> {
        let Some(format) = PictureFormat::of(&self.out) else {
            return Err(self.refused_picture());
        };
        let stem = self.out.file_stem().unwrap_or_default().to_string_lossy();
        let mut list = vec![None];
        for (name, _) in &modes[1..] {
            let name = name.replace(':', "-");
            list.push(Some(
                self.out.with_file_name(format!("{stem}-{name}.{format}")),
            ));
        }
        Ok(list)
    }
}

fn row(
    args: &Args,
    name: &str,
    map: &DivergenceMap,
    first: Option<&DivergenceMap>,
    picture: Option<PathBuf>,
) -> Result<Row, Failure> {
    let rate =
        |map: &DivergenceMap| map.statistics.pixel_steps as f64 / map.report.elapsed.as_secs_f64();
    let width = map.specification.size[0] as usize;
    let steps = map.specification.steps as u32;
    if let (Some(path), Some(first)) = (&picture, first) {
        draw(args, path, name, map, first)?;
    }
    Ok(Row {
        mode: name.to_owned(),
        seconds: map.report.elapsed.as_secs_f64(),
        speed: first.map_or(1.0, |first| rate(map) / rate(first)),
        grain: grain(map.values.as_slice(), width, steps),
        difference: first
            .map(|f| Comparison::new(f.values.as_slice(), map.values.as_slice(), width, steps)),
        picture,
        engine: map.report.engine,
        device: map.report.device.clone(),
        unresolved: map.resolution,
        warnings: map.warnings.clone(),
        notes: map.report.notes.clone(),
    })
}

/// The absolute differences as a picture.
fn draw(
    args: &Args,
    path: &Path,
    name: &str,
    map: &DivergenceMap,
    first: &DivergenceMap,
) -> Result<(), Failure> {
    let pairs = first
        .values
        .as_slice()
        .numbers()
        .zip(map.values.as_slice().numbers());
    let differences: Vec<f64> = pairs.map(|(a, b)| (a - b).abs()).collect();
    let [width, height] = map.specification.size.map(|n| n as usize);
    let of = first.specification.method();
    let title = format!("{name}: difference from {of}");
    let mut labels = output::labels(&map.specification, &title);
    let quantity = map.specification.quantity;
    labels.value = if quantity.counts_steps() {
        "absolute difference of the steps until parting".into()
    } else {
        format!("absolute difference of the {}", quantity.label())
    };
    // Few pixels differ by as much as the run is long, and would make all others black in equal steps.
    let differ = differences.iter().any(|d| d.is_finite() && *d > 0.0);
    let spacing = if differ {
        Spacing::Logarithmic
    } else {
        Spacing::Linear
    };
    let look = PictureStyle {
        colour_map: args.colormap,
        spacing,
        theme: args.theme,
        ..PictureStyle::default()
    };
    let json = serde_json::to_string(&map.specification)
        .expect("a specification is plain numbers and names");
    let mut values = Map::new(&differences, width, height);
    labels.y_upwards = args.y_axis.is_up();
    if labels.y_upwards {
        values = values.upside_down();
    }
    Ok(picture::plot(path, &values, &look, &labels, Some(&json))?)
}

/// Formats counts of steps with all digits.
fn format_largest(largest: f64) -> String {
    if largest == largest.trunc() {
        largest.to_string()
    } else {
        short(largest)
    }
}

/// Formats a number with three significant decimals.
fn format_mean(mean: f64) -> String {
    if mean == 0.0 || mean >= 0.001 {
        format!("{mean:.3}")
    } else {
        format!("{mean:.3e}")
    }
}

fn table(rows: &[Row]) -> String {
    let mut lines = Lines::default();
    lines.add("engine", &format!("{}: {}", rows[0].engine, rows[0].device));
    let mut text = lines.as_str().to_owned();
    text.push_str(&format!(
        "\n\n{:<20} {:>9} {:>6} {:>9} {:>10} {:>9} {:>9}",
        "mode", "seconds", "speed", "equal", "mean", "largest", "grain"
    ));
    for row in rows {
        let [equal, mean, largest] = row.difference.map_or_else(
            || ["-", "-", "-"].map(str::to_owned),
            |d| {
                [
                    format!("{:.3} %", 100.0 * d.equal),
                    format_mean(d.mean),
                    format_largest(d.largest),
                ]
            },
        );
        text.push_str(&format!(
            "\n{:<20} {:>9.3} {:>6.2} {equal:>9} {mean:>10} {largest:>9} {:>7.3} %",
            row.mode,
            row.seconds,
            row.speed,
            100.0 * row.grain
        ));
    }
    let mut lines = Lines::default();
    for path in rows.iter().filter_map(|r| r.picture.as_deref()) {
        lines.add_whole("picture", &path.display().to_string());
    }
    for warning in warnings(rows) {
        lines.add("warning", &warning);
    }
    for note in rows.iter().flat_map(|r| &r.notes) {
        lines.add("note", note);
    }
    if !lines.as_str().is_empty() {
        text.push_str("\n\n");
        text.push_str(lines.as_str());
    }
    text
}
