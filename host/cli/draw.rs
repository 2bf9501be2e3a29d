//! `trisolar draw`: pictures of results that were computed before.

use std::path::{Path, PathBuf};

use trisolar::hermite::PreparedCluster;
use trisolar::io::format::Format;
use trisolar::io::npz::{NpzReader, SPECIFICATION};
use trisolar::io::{IoError, PictureFormat};
use trisolar::nbody::{self, PreparedNbody, Watch};
use trisolar::output::Drawable;
use trisolar::planets::{self, Observable};
use trisolar::run::plots::PLOTS;
use trisolar::run::{Backend, EngineError, Outputs, Unattended};
use trisolar::time_run::Files;
use trisolar::{divergence, encounters, hermite};

use super::divergence::{PictureArgs, outputs};
use super::{Failure, config, report};

/// Draw a result again: pictures of a map, of encounters or of planetary systems from the .npz file that the command has written, and those of
/// nbody and cluster from the checkpoint of the run, with other colours, limits, titles or formats. Nothing is computed again.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The pictures of encounters and planets have --theme and --y-axis, those of runs --theme; all other options of pictures are those of maps.\n\
                  Without a sample of the computation, a picture does not say how many of its values change with the step."
)]
pub(crate) struct Args {
    /// The result: an .npz file of divergence, encounters or planets, the checkpoint of a run of nbody or cluster, or the .npy file of a map
    /// with --config
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The specification of a map in an .npy file: the TOML file of --save-config
    #[arg(long, value_name = "FILE.toml", help_heading = "Files")]
    config: Option<PathBuf>,
    /// Write the map to .png, .svg, .pdf or .tif; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    out: Vec<PathBuf>,
    /// Of encounters: draw the distributions of e², velocities and lifetimes in this folder; of runs: their pictures
    #[arg(long, value_name = "FOLDER", help_heading = "Files")]
    plots: Option<PathBuf>,
    /// Format of the pictures in the folder of --plots: png, svg or pdf
    #[arg(long, value_name = "NAME", help_heading = "Files", default_value_t = PictureFormat::Png)]
    plot_format: PictureFormat,
    /// Of runs: make a film of the moving bodies, .gif, .webp or .mp4; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    film: Vec<PathBuf>,
    /// Of planets: draw this observable instead of the one that was computed for: megno, lyapunov, time or energy-error
    #[arg(long, value_name = "NAME", help_heading = "Picture", value_parser = str::parse::<Observable>)]
    observable: Option<Observable>,
    #[command(flatten)]
    picture: PictureArgs,
    /// Print neither the files nor warnings
    #[arg(short, long, help_heading = "Report")]
    quiet: bool,
}

/// The commands whose results can be drawn.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Map,
    Encounters,
    Planets,
    Nbody,
    Cluster,
}

impl Kind {
    /// The command that has written an .npz file, by a key of its specification that no other has.
    fn of(path: &Path) -> Result<Self, Failure> {
        let mut file = NpzReader::open(path).map_err(unreadable)?;
        let text = file.text(SPECIFICATION).map_err(unreadable)?;
        let keys: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let kinds = [
            ("critical_distance", Self::Map),
            ("escape_radius", Self::Encounters),
            ("planets", Self::Planets),
            ("solver", Self::Nbody),
            ("eta_start", Self::Cluster),
        ];
        let found = kinds.iter().find(|(key, _)| keys.get(key).is_some());
        found.map(|(_, kind)| *kind).ok_or_else(|| {
            Failure::BadInput(format!(
                "{}: it is no result of divergence, encounters or planets, and no checkpoint of a run",
                path.display()
            ))
        })
    }
}

/// Draws the pictures.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.out.is_empty() && args.plots.is_none() && args.film.is_empty() {
        return Err(Failure::BadInput(
            "name the pictures with --out, or their folder with --plots".into(),
        ));
    }
    let is_npy = |path: &Path| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npy"))
    };
    let kind = match (is_npy(&args.file), &args.config) {
        (true, None) => {
            let reason = "an .npy file has no specification: name that of the map with --config";
            return Err(refused(&args.file, "FILE", reason));
        }
        (true, Some(_)) => Kind::Map,
        (false, Some(path)) => return Err(refused(path, "--config", "it is for .npy files")),
        (false, None) => Kind::of(&args.file)?,
    };
    if kind != Kind::Map && !args.picture.has_theme_and_direction_only() {
        let reason = "pictures of encounters and planets have --theme and --y-axis only, those of runs --theme";
        return Err(Failure::BadInput(reason.into()));
    }
    if let Kind::Nbody | Kind::Cluster = kind {
        let paths = args.of_run(kind)?;
        if !args.quiet {
            for path in paths {
                report::to_stdout(&path.display().to_string())?;
            }
        }
        return Ok(());
    }
    if let Some(film) = args.film.first() {
        return Err(refused(
            film,
            "--film",
            "it is for runs of nbody and cluster",
        ));
    }
    if let (Some(folder), false) = (&args.plots, kind == Kind::Encounters) {
        return Err(refused(folder, "--plots", "it is for encounters"));
    }
    if let (Some(observable), false) = (args.observable, kind == Kind::Planets) {
        let given = observable.to_string();
        return Err(Failure::value(&given, "--observable", "it is for planets"));
    }
    let mut declared = Outputs::new();
    declared.input("FILE", &args.file);
    for path in &args.out {
        declared.file("--out", path);
    }
    if let Some(folder) = &args.plots {
        declared.folder("--plots", folder, PLOTS);
    }
    let _claim = declared.claim()?;
    match kind {
        Kind::Map => args.map()?,
        Kind::Encounters => args.encounters()?,
        // They are drawn above.
        Kind::Nbody | Kind::Cluster => {}
        Kind::Planets => args.planets()?,
    }
    if !args.quiet {
        for path in args.out.iter().chain(&args.plot_paths()) {
            report::to_stdout(&path.display().to_string())?;
        }
    }
    Ok(())
}

fn unreadable(error: IoError) -> Failure {
    Failure::BadInput(error.to_string())
}

fn refused(path: &Path, option: &str, reason: &str) -> Failure {
    Failure::value(&path.display().to_string(), option, reason)
}

impl Args {
    fn plot_paths(&self) -> Vec<PathBuf> {
        let paths = |folder: &PathBuf| {
            encounters::pictures::histogram_paths(folder, self.plot_format).to_vec()
        };
        self.plots.as_ref().map(paths).unwrap_or_default()
    }

    fn map(&self) -> Result<(), Failure> {
        let map = match &self.config {
            None => Drawable::read_npz(&self.file),
            Some(path) => {
                let overrides: divergence::Overrides = config::load(path)?;
                Drawable::read_npy(&self.file, overrides.into())
            }
        };
        let map = map.map_err(unreadable)?;
        let outputs = outputs(&self.out, map.points.as_ref())?;
        for output in &outputs {
            if matches!(
                Format::of(output.path()),
                Ok(Format::Npy | Format::Npz | Format::Zarr)
            ) {
                let reason = "the name of a picture must end in .png, .svg, .pdf or .tif";
                return Err(refused(output.path(), "--out", reason));
            }
        }
        let look = &self.picture;
        look.check_look(map.specification.quantity, &outputs)?;
        if let Some(warning) = look.glyph_warning(&outputs).filter(|_| !self.quiet) {
            report::to_stderr(&format!("warning: {warning}"));
        }
        let style = look.style();
        let write = |output: &trisolar::output::Output| output.write_values(&map.values(), &style);
        Ok(outputs.iter().try_for_each(write)?)
    }

    /// Checks the names of pictures with axes.
    fn check_pictures(&self) -> Result<(), Failure> {
        let other = self
            .out
            .iter()
            .find(|path| PictureFormat::of(path).is_none());
        let reason = "the name of a picture must end in .png, .svg or .pdf";
        other.map_or(Ok(()), |path| Err(refused(path, "--out", reason)))
    }

    fn encounters(&self) -> Result<(), Failure> {
        self.check_pictures()?;
        let ensemble = encounters::files::read_npz(&self.file).map_err(unreadable)?;
        let look = encounters::pictures::Look {
            theme: self.picture.theme,
            y: self.picture.y_axis.unwrap_or_default(),
        };
        let draw = |path: &PathBuf| encounters::pictures::outcome_map(path, &ensemble, &look);
        self.out.iter().try_for_each(draw)?;
        if let Some(folder) = &self.plots {
            std::fs::create_dir_all(folder).map_err(|e| IoError::system(folder, "create", e))?;
            encounters::pictures::histograms(folder, &ensemble, look.theme, self.plot_format)?;
        }
        Ok(())
    }

    /// Draws the records of the checkpoint of a run.
    fn of_run(&self, kind: Kind) -> Result<Vec<PathBuf>, Failure> {
        if let Some(path) = self.out.first() {
            let reason =
                "a run has several pictures, which --plots FOLDER draws, and films: --film FILE";
            return Err(refused(path, "--out", reason));
        }
        if self.picture.y_axis.is_some() {
            return Err(Failure::BadInput("--y-axis: it is for maps".into()));
        }
        let file = NpzReader::open(&self.file).and_then(|file| file.names());
        // A checkpoint has the options of its run.
        let is_checkpoint = |name: &String| name == "run.json";
        if !file.map_err(unreadable)?.iter().any(is_checkpoint) {
            let reason = "it has the bodies at one time only; a run that is drawn again needs --checkpoint FILE.npz, beside --plots or --film";
            return Err(refused(&self.file, "FILE", reason));
        }
        let files = Files {
            plots: self.plots.clone(),
            plot_format: self.plot_format,
            film: self.film.clone(),
            theme: self.picture.theme,
            ..Files::default()
        };
        if kind == Kind::Cluster {
            let prepared = PreparedCluster::resume(&self.file, &hermite::Overrides::default())?;
            let options = hermite::Options {
                backend: Backend::Cpu,
                ..hermite::Options::default()
            };
            let devices = options.open(prepared.specification(), prepared.bodies().len())?;
            let (recorder, _) = prepared.start(&devices, None, None, &Unattended)?;
            return Ok(recorder.draw_again(files, &())?);
        }
        let prepared = PreparedNbody::resume(&self.file, &nbody::Overrides::default())?;
        let options = nbody::Options {
            backend: Backend::Cpu,
            ..nbody::Options::default()
        };
        let (engine, _) = nbody::engine(&prepared.problem, &options)?;
        let watch = Watch {
            energies: &|_| Err(EngineError::Cancelled),
            reports_energy: false,
            reports_diagnostics: false,
            is_live: false,
            monitor: &Unattended,
        };
        let (recorder, _) = prepared.start(engine.as_ref(), &options, watch)?;
        Ok(recorder.draw_again(files, &())?)
    }

    fn planets(&self) -> Result<(), Failure> {
        self.check_pictures()?;
        let (mut specification, records) =
            planets::files::read_npz(&self.file).map_err(unreadable)?;
        let observable = self.observable.unwrap_or(specification.observable);
        if !observable.is_in_records_of(specification.observable) {
            let reason = format!(
                "the file was made with --observable {}",
                specification.observable
            );
            let given = observable.to_string();
            return Err(Failure::value(&given, "--observable", &reason));
        }
        specification.observable = observable;
        let look = planets::files::Look {
            theme: self.picture.theme,
            y: self.picture.y_axis.unwrap_or_default(),
        };
        let draw =
            |path: &PathBuf| planets::files::picture(path, &specification, &records, &look, true);
        Ok(self.out.iter().try_for_each(draw)?)
    }
}
