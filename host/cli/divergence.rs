//! `trisolar divergence`: from options and a configuration file to a map, its files and a summary.

use std::path::{Path, PathBuf};

use clap::FromArgMatches as _;
use serde::{Deserialize, Serialize};
use trisolar::bodies::Points;
use trisolar::divergence::{self, Executor, Overrides, Preset, Quantity, Specification, Validated};
use trisolar::io::colour::{ColourMap, Spacing};
use trisolar::io::picture::{Theme, YDirection};
use trisolar::output::{self, Look, Output, Shown, Style};
use trisolar::run::{Outputs, Paths, RunOptions};
use trisolar::spec::{Parameters as _, SpecError};
use trisolar::store::{self, MapContents};

use self::outcome::MapOutcome;
pub(crate) use self::outcome::more_steps;
use super::cpu_args::warn_of_one_lane;
use super::ensemble::{EnsembleJob, JobArgs, OutputOptions, fields_of_outputs, on_devices};
use super::map_devices::MapDevices;
use super::parameters::ParameterArgs;
use super::part::{self, PartArgs};
use super::progress::Progress;
use super::report;
use super::resume::Typed;
use super::{Failure, config, interrupt, values};

mod outcome;
mod streamed;

/// Compute, for each start position of one body, the number of steps until its trajectory and that of a slightly shifted twin part.
/// Without options this is the headline map, that of Badger's study: 300x300 pixels, 50000 steps of 0.001 by explicit Euler.
#[derive(Debug, clap::Args)]
#[command(
    about = "Compute a map of three-body motion: divergence, closest approach, greatest speed or Lyapunov exponent",
    after_help = "Lengths, times and masses are in any consistent units; --g ties them together.\n\
                  In every precision but fast a map has the same bits on every CPU and GPU, for any number of threads."
)]
pub(crate) struct Args {
    /// Start from the values of a named map: accurate (the region of the headline map by a method that passes the check of steps),
    /// headline (the map of Badger's study, by explicit Euler) or panorama (the study's view of x from -40 to 470, 10200x1600 pixels,
    /// 200000 steps); --config and options override them [default: headline]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Files",
        allow_hyphen_values = true
    )]
    preset: Option<Preset>,
    #[command(flatten)]
    specification: ParameterArgs<Overrides>,

    /// Read start states from a file instead of using a grid: .npy (f64), .npz (its array `points`) or text, with 3 numbers per
    /// point (x, y, z of the grid body), 9 (x, y, z of bodies 1, 2, 3), 18 (also their velocities) or 21 (also their masses)
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    points: Option<PathBuf>,
    /// Read the specification from a TOML file; options on the command line override it
    #[arg(long, value_name = "FILE.toml", help_heading = "Files")]
    config: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,

    /// Write the map to disk while it is computed instead of keeping it in memory, in NAME.part beside the first .npy file (or the
    /// first file): for maps larger than memory, and for runs that may be interrupted
    #[arg(long, help_heading = "Files")]
    stream: bool,
    /// Resume the unfinished map NAME of a run with --stream, with all options of that run, files included; the files get the same
    /// bytes as without the interruption. Options of the run that are given again must have the same values. Without NAME: the map
    /// of the first .npy file, or of the first file, of --out; if there is none, the map is begun as with --stream
    #[arg(long, value_name = "NAME", help_heading = "Files", num_args = 0..=1)]
    resume: Option<Option<PathBuf>>,

    #[command(flatten)]
    part: PartArgs,
    #[command(flatten)]
    devices: MapDevices,

    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    quiet: bool,
}

/// The files of a map and the appearance of pictures, which the record of an unfinished map holds.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
pub(crate) struct OutputArgs {
    /// Write the whole specification to a TOML file, for --config
    #[arg(long, value_name = "FILE.toml", help_heading = "Files")]
    save_config: Option<PathBuf>,
    /// Write the map: .png (picture), .svg or .pdf (picture whose lines and texts stay sharp at any size), .tif (picture without axes,
    /// for very large maps), .npy (array, height x width, u32 or f64), .npz (array and specification) or .zarr.zip (array, coordinates, units and specification, for
    /// xarray); can be repeated. Files of that name are replaced [default: divergence.png and divergence.npy]
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    pub(crate) out: Vec<PathBuf>,
    /// The file of points.
    #[arg(skip)]
    pub(crate) points: Option<PathBuf>,
    /// The largest allowed share of values that depend on the step, and of unresolved pixels.
    #[arg(skip)]
    max_error: Option<f64>,

    /// Compute every pixel again, with a quarter of the step and in double-double, and give a verdict on each: agrees, step (the step
    /// decides the value), rounding (the digits of f64 decide it) or undecided. The shares stand in the summary and in JSON, the verdicts
    /// in the array `verdict` of an .npz file and in a second picture, NAME-verdict. Takes some 15 times as long as the map, and up to 55 times
    #[arg(long, help_heading = "Files", conflicts_with_all = ["stream", "resume", "part"])]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    certify: bool,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) picture: PictureArgs,
}

/// The appearance of pictures of maps.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
pub(crate) struct PictureArgs {
    /// Write the picture without axes and colour bar, with one pixel per pixel of the map
    #[arg(long, help_heading = "Picture")]
    bare: bool,
    /// Average N x N pixels of the map to one pixel of the picture, 1 to 65536
    #[arg(long, value_name = "N", help_heading = "Picture", default_value = "1", allow_hyphen_values = true, value_parser = values::shrink)]
    shrink: usize,
    /// Conventions of the picture: standard, or study (those of Badger's study: y downwards, steps left); other options override them
    #[arg(long, value_name = "NAME", help_heading = "Picture", default_value_t = Look::Standard)]
    #[serde(default)]
    look: Look,
    /// Colours of the picture: inferno, viridis, magma, plasma, cividis, grey or turbo
    #[arg(long, value_name = "NAME", help_heading = "Picture", default_value_t = ColourMap::Inferno)]
    colormap: ColourMap,
    /// Title above the picture [default: none]
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Picture",
        allow_hyphen_values = true
    )]
    title: Option<String>,
    /// Meaning of the colours of a divergence map: parting (the time until the twins parted: the sooner, the brighter, and darkest where
    /// they never parted), left (the same colours, and the bar counts the steps that were left, as in Badger's study), steps or time
    /// (until they parted: the later, the brighter; pixels that never parted have a colour of their own) [default: that of --look,
    /// parting or left]
    #[arg(long, value_name = "NAME", help_heading = "Picture")]
    #[serde(default = "left")]
    show: Option<Shown>,
    /// Spacing of the colours: linear or log [default: that of the quantity]
    #[arg(long, value_name = "NAME", help_heading = "Picture", value_parser = spacing)]
    #[serde(default)]
    scale: Option<Spacing>,
    /// Numbers at the ends of the colour bar; values beyond have the colour of the end [default: those of the map]
    #[arg(
        long,
        value_name = "LOW,HIGH",
        help_heading = "Picture",
        allow_hyphen_values = true,
        value_parser = limits
    )]
    #[serde(default)]
    limits: Option<Limits>,
    /// Direction of the vertical axis of the picture: down or up [default: that of --look, up or down]
    #[arg(long, value_name = "NAME", help_heading = "Picture")]
    #[serde(default = "down")]
    pub(crate) y_axis: Option<YDirection>,
    /// Background of the picture: dark or light
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Picture",
        default_value = "dark"
    )]
    #[serde(default)]
    pub(crate) theme: Theme,
    /// Resolution that a .png, .svg or .pdf states, 1 to 10000 pixels per inch: its pixels are the same, its size on paper is another
    #[arg(long, value_name = "N", help_heading = "Picture", value_parser = dpi)]
    #[serde(default)]
    dpi: Option<u32>,
}

/// The values at the ends of the colours.
type Limits = [f64; 2];

/// The direction of y in maps of earlier versions.
pub(crate) fn down() -> Option<YDirection> {
    Some(YDirection::Down)
}

/// What the colours of maps of earlier versions count.
fn left() -> Option<Shown> {
    Some(Shown::Left)
}

fn spacing(text: &str) -> Result<Spacing, String> {
    match text {
        "linear" => Ok(Spacing::Linear),
        "log" => Ok(Spacing::Logarithmic),
        _ => Err("must be linear or log".into()),
    }
}

fn limits(text: &str) -> Result<Limits, String> {
    let numbers = text.split(',').map(|part| part.trim().parse::<f64>());
    match numbers.collect::<Result<Vec<f64>, _>>().as_deref() {
        Ok(&[low, high]) if low < high && low.is_finite() && high.is_finite() => Ok([low, high]),
        _ => Err("must be two numbers separated by a comma, the lower first".into()),
    }
}

fn dpi(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ 1..=10_000) => Ok(n),
        _ => Err("must be a whole number from 1 to 10000".into()),
    }
}

impl Paths for OutputArgs {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        let others = [&mut self.points, &mut self.save_config];
        self.out
            .iter_mut()
            .chain(others.into_iter().flatten())
            .collect()
    }
}

impl OutputArgs {
    /// The pictures of the verdicts.
    fn verdict_pictures(&self) -> Vec<PathBuf> {
        let style = self.picture.style();
        let outputs = self.out.iter().filter(|_| self.certify);
        let outputs = outputs.filter_map(|path| Output::new(path).ok());
        outputs
            .filter_map(|output| output.verdict_path(&style))
            .collect()
    }
}

/// The files to write, each of a format that can hold the map.
pub(crate) fn outputs(out: &[PathBuf], points: Option<&Points>) -> Result<Vec<Output>, Failure> {
    let output = |path: &PathBuf| {
        let output = Output::new(path).map_err(|e| refuse(path, "--out", &e.to_string()))?;
        output
            .check(points)
            .map_err(|reason| refuse(path, "--out", reason))?;
        Ok(output)
    };
    out.iter().map(output).collect()
}

impl PictureArgs {
    /// Whether all other options than those of pictures of any ensemble have their defaults.
    pub(crate) fn has_theme_and_direction_only(&self) -> bool {
        let command = <Self as clap::Args>::augment_args(clap::Command::new("draw"));
        let usual = Self::from_arg_matches(&command.get_matches_from(["draw"]));
        usual.is_ok_and(|usual| {
            let (theme, y_axis) = (self.theme, self.y_axis);
            *self
                == Self {
                    theme,
                    y_axis,
                    ..usual
                }
        })
    }

    /// The style of pictures.
    pub(crate) fn style(&self) -> Style {
        let usual = self.look.style();
        Style {
            bare: self.bare,
            colormap: self.colormap,
            title: self.title.clone(),
            shrink: self.shrink,
            shown: self.show.unwrap_or(usual.shown),
            spacing: self.scale,
            limits: self.limits,
            y: self.y_axis.unwrap_or(usual.y),
            theme: self.theme,
            dpi: self.dpi,
        }
    }

    /// The warning about characters of the title for which pictures have only a box.
    pub(crate) fn glyph_warning(&self, outputs: &[Output]) -> Option<String> {
        let title = self.title.as_deref().filter(|_| !self.bare)?;
        output::glyph_warning(title, outputs)
    }

    /// Checks that the picture of a map of this quantity can have this look.
    pub(crate) fn check_look(&self, quantity: Quantity, outputs: &[Output]) -> Result<(), Failure> {
        if let Some(show @ (Shown::Steps | Shown::Time)) = self.show
            && !quantity.counts_steps()
        {
            let reason =
                format!("it needs --quantity divergence; values of {quantity} are no steps");
            return Err(Failure::value(show.name(), "--show", &reason));
        }
        let logarithmic = self.scale.unwrap_or(output::spacing(quantity)) == Spacing::Logarithmic;
        if let Some([low, high]) = self.limits
            && logarithmic
            && low <= 0.0
        {
            let reason = "on a logarithmic scale both must be above 0";
            return Err(Failure::value(&format!("{low},{high}"), "--limits", reason));
        }
        if self.bare
            && let Some(output) = outputs.iter().find(|output| output.has_axes_only())
        {
            return Err(refuse(output.path(), "--out", output::BARE_FORMATS));
        }
        if let Some(dpi) = self.dpi
            && !outputs.iter().any(Output::has_resolution)
        {
            let reason = "no .png, .svg or .pdf is among the files of --out";
            return Err(Failure::value(&dpi.to_string(), "--dpi", reason));
        }
        Ok(())
    }
}

impl Args {
    /// The specification and the largest allowed share of unresolved pixels. The command line overrides the configuration file, which
    /// overrides the preset, which overrides `under` (a resumed map) or the defaults. The points are those of the file.
    fn specification(
        &self,
        under: Option<&Specification>,
        points: Option<&Path>,
    ) -> Result<(Validated, Option<f64>), Failure> {
        let mut overrides = self.specification.values.clone();
        if let Some(path) = &self.config {
            overrides = overrides.merged_over(config::load(path)?);
        }
        if let Some(preset) = self.preset {
            overrides = overrides.merged_over(preset.overrides());
        }
        if let Some(under) = under {
            overrides = overrides.merged_over(under.into());
        }
        let refused = |error: SpecError| {
            let config = self.config.as_deref();
            let on_command_line =
                self.specification.values.has(error.option) || error.option == "points";
            Failure::specification(&error, on_command_line, config)
        };
        let most = overrides.checked_max_error().map_err(refused)?;
        let specification = Specification::from(overrides);
        let valid = match points {
            None => specification.validate(),
            Some(path) => {
                let points = Points::read(path).map_err(|e| refuse(path, "--points", &e))?;
                let replaced = points.replaces().iter().chain(&["map", "draw", "seed"]);
                if let Some(key) = replaced
                    .into_iter()
                    .find(|k| self.specification.values.has(k))
                {
                    let reason =
                        format!("the points replace --{key}; remove one of the two options");
                    return Err(refuse(path, "--points", &reason));
                }
                specification.validate_points(points)
            }
        };
        Ok((valid.map_err(refused)?, most))
    }

    fn of_job(&self) -> JobArgs<'_> {
        JobArgs {
            points: &self.points,
            config: &self.config,
            stream: self.stream,
            resume: &self.resume,
            part: self.part.part,
        }
    }
}

impl OutputOptions for OutputArgs {
    const OF_SPECIFICATION: &'static [&'static str] =
        &["Specification", "max_error", "points", "config", "preset"];

    fields_of_outputs!();

    fn main(&self) -> Option<&Path> {
        match &self.out[..] {
            [] => Some(Path::new("divergence.npy")),
            out => Some(main_of(out)),
        }
    }

    fn declare(&self, outputs: &mut Outputs) {
        for path in self.verdict_pictures() {
            outputs.file("--certify", &path);
        }
    }
}

/// The file in which a map is built: the first npy file, or else the first file.
pub(crate) fn main_of(out: &[PathBuf]) -> &Path {
    let is_npy = |path: &&PathBuf| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npy"))
    };
    out.iter().find(is_npy).unwrap_or(&out[0])
}

fn refuse(path: &Path, option: &str, reason: &str) -> Failure {
    Failure::value(&path.display().to_string(), option, reason)
}

/// Computes a map and writes it.
pub(crate) fn run(args: Args, typed: &Typed) -> Result<(), Failure> {
    let options = args.devices.options();
    on_devices(
        &options,
        &args.of_job(),
        &args.output,
        |executor, options| run_on(&args, typed, executor, options),
    )
}

/// A map, its files, and its unfinished run.
type MapJob = EnsembleJob<Validated, OutputArgs>;

impl MapJob {
    /// The files that this run has written.
    fn written(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = match (self.part, &self.streamed) {
            (Some(part), Some(main)) => store::working_files(&part.path(main))[..1].to_vec(),
            _ => self.output.out.clone(),
        };
        files.extend(self.output.verdict_pictures());
        files.extend(self.output.save_config.clone());
        files
    }
}

/// Adds the files of a map for which nobody has named any.
fn usual_outputs(valid: &Validated, output: &mut OutputArgs) {
    if output.out.is_empty() {
        let usual = ["divergence.png", "divergence.npy"].map(PathBuf::from);
        let picture = valid
            .points()
            .is_none_or(|points| points.shape().len() == 2);
        output.out = usual[if picture { 0 } else { 1 }..].to_vec();
    }
}

fn run_on(
    args: &Args,
    typed: &Typed,
    executor: &dyn Executor<Validated>,
    options: &RunOptions,
) -> Result<(), Failure> {
    let specify = |under: Option<&MapContents>, points: Option<&Path>| {
        args.specification(under.map(|under| &under.specification), points)
    };
    let job = MapJob::new(&args.of_job(), &args.output, typed, specify, usual_outputs)?;
    let valid = &job.valid;
    let outputs = outputs(&job.output.out, valid.points().map(AsRef::as_ref))?;
    job.output
        .picture
        .check_look(valid.specification().quantity, &outputs)?;
    let _claim = job.claim()?;
    interrupt::watch()?;

    if !args.quiet {
        for warning in valid.warnings() {
            report::to_stderr(&format!("warning: {warning}"));
        }
        if let Some(warning) = job.output.picture.glyph_warning(&outputs) {
            report::to_stderr(&format!("warning: {warning}"));
        }
        warn_of_one_lane(args.devices.options().backend);
    }
    let most = job.output.max_error;
    if let Some(path) = job.config_to_save() {
        config::save(path, valid, most)?;
    }

    let style = job.output.picture.style();
    let outcome = match &job.streamed {
        Some(main) => streamed::run(executor, &job, main, &outputs, options, args.quiet)?,
        None => {
            let progress = Progress::new("divergence", args.quiet);
            let mut map = divergence::run_on(executor, valid, options, &progress)?;
            progress.finish();
            if job.output.certify {
                let progress = Progress::new("certify", args.quiet);
                map.certify(executor, valid, options, &progress)?;
                progress.finish();
            }
            for output in &outputs {
                interrupt::check()?;
                output.write(&map, &style)?;
            }
            MapOutcome::of(&map)
        }
    };
    let files = job.written();
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    if args.json {
        let mut object = outcome.object(&files);
        part::add(job.part, &mut object);
        report::json(&object)?;
    } else if !args.quiet {
        let mut lines = outcome.summary(&files);
        if let (Some(part), Some(main)) = (job.part, &job.streamed) {
            part::add_lines(part, main, ".part", &mut lines);
        }
        report::to_stdout(lines.as_str())?;
    }
    if job.part.is_some() {
        // It is determined for the whole map.
        return Ok(());
    }
    let checked = outcome.checks.check(outcome.resolution, most);
    checked.map_err(Failure::Failed)
}
