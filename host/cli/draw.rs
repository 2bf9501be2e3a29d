//! `trisolar draw`: pictures of results that were computed before.

use std::path::{Path, PathBuf};

use trisolar::io::format::Format;
use trisolar::io::npz::{NpzReader, SPECIFICATION};
use trisolar::io::{IoError, PictureFormat};
use trisolar::output::Drawable;
use trisolar::planets::{self, Observable};
use trisolar::run::Outputs;
use trisolar::run::plots::PLOTS;
use trisolar::{divergence, encounters};

use super::divergence::{PictureArgs, outputs};
use super::{Failure, config, report};

/// Draw a result again: pictures of a map, of encounters or of planetary systems from the .npz file that the command has written, with other
/// colours, limits, titles or formats. Nothing is computed again.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The pictures of encounters and planets have --theme and --y-axis; all other options of pictures are those of maps.\n\
                  Without a sample of the computation, a picture does not say how many of its values change with the step."
)]
pub(crate) struct Args {
    /// The result: an .npz file of divergence, encounters or planets, or the .npy file of a map with --config
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The specification of a map in an .npy file: the TOML file of --save-config
    #[arg(long, value_name = "FILE.toml", help_heading = "Files")]
    config: Option<PathBuf>,
    /// Write the map to .png, .svg, .pdf or .tif; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    out: Vec<PathBuf>,
    /// Of encounters: draw the distributions of e², velocities and lifetimes in this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Files")]
    plots: Option<PathBuf>,
    /// Format of the pictures in the folder of --plots: png, svg or pdf
    #[arg(long, value_name = "NAME", help_heading = "Files", default_value_t = PictureFormat::Png)]
    plot_format: PictureFormat,
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
        ];
        let found = kinds.iter().find(|(key, _)| keys.get(key).is_some());
        found.map(|(_, kind)| *kind).ok_or_else(|| {
            Failure::BadInput(format!(
                "{}: it is no result of divergence, encounters or planets",
                path.display()
            ))
        })
    }
}

/// Draws the pictures.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.out.is_empty() && args.plots.is_none() {
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
        let reason = "pictures of encounters and planets have --theme and --y-axis only";
        return Err(Failure::BadInput(reason.into()));
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
