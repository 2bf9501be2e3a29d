//! `trisolar zoom`: a sequence of maps towards a point, as pictures and as a film.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trisolar::divergence::{Executor, Parameter, Specification, Validated};
use trisolar::io::colour::ColourMap;
use trisolar::io::picture::MIN_CAPTIONED_PIXELS;
use trisolar::run::{Part, Paths};
use trisolar::zoom::{
    self, Cache, CacheReport, Colours, Folder, FolderError, Frame, Outcome, Preset, Rule, Settings,
    Style, variables_in_words,
};

use super::map_sequence::SequenceArgs;
use super::progress::Progress;
use super::report::Lines;
use super::resume::Typed;
use super::sequence::{self, Description, Ended, FilmArgs, ZoomLookArgs};
use super::{Failure, films, report};

/// Compute a sequence of maps towards a point: range, shift of the twin and number of steps change from frame to frame. Run it
/// again to continue an interrupted run, to add frames (--frames), to give existing frames other colours or captions, or to make a
/// film of them.
#[derive(Debug, clap::Args)]
#[command(
    about = "Compute a zoom: a sequence of maps towards a point",
    after_help = schedules()
)]
pub(crate) struct Args {
    /// Schedule: document (the zoom of Badger's study; 500 frames), video (from 1.28 km to 518 nm; 937 frames) or none (100 frames)
    #[arg(long, value_name = "NAME", help_heading = "Zoom", default_value_t = Preset::Document)]
    preset: Preset,
    /// Number of frames, 1 to 99999 [default: the preset's]. Fewer frames than the preset's cover the same ranges in longer strides,
    /// unless --set has a formula of the span; more frames go on beyond them
    #[arg(long, value_name = "N", help_heading = "Zoom", value_parser = films::frames)]
    frames: Option<u32>,
    /// Set a parameter by a formula, such as 'span=40/2^(frame/30)'; can be repeated, and overrides the preset's
    #[arg(
        long,
        value_name = "NAME=FORMULA",
        help_heading = "Zoom",
        allow_hyphen_values = true,
        visible_alias = "schedule"
    )]
    set: Vec<Rule>,
    /// Reuse pixels of earlier frames: none, or rounded (the cache of rounded coordinates of Badger's study, which is wrong; its error
    /// is measured and printed, and the arrays are kept). Needs --quantity divergence
    #[arg(long, value_name = "NAME", help_heading = "Zoom", default_value_t = Cache::None)]
    cache: Cache,

    /// Folder for the frames: frame-00000.png and so on, and a .json with the specification of each. An interrupted run in it is
    /// continued
    #[arg(
        long,
        value_name = "FOLDER",
        help_heading = "Files",
        default_value = "zoom"
    )]
    out: PathBuf,
    /// Write every frame's array as well (.npy, u32, height x width)
    #[arg(long, help_heading = "Files")]
    npy: bool,
    /// Write the values of the parameters that change below every frame, which must be at least 120 pixels wide
    #[arg(long, help_heading = "Picture")]
    captions: bool,
    #[command(flatten)]
    look: ZoomLookArgs,
    #[command(flatten)]
    films: FilmArgs,

    #[command(flatten)]
    sequence: SequenceArgs,
}

fn schedules() -> String {
    let rules = |preset: Preset| {
        let rules: Vec<String> = preset.rules().iter().map(Rule::to_string).collect();
        rules.join("  ")
    };
    format!(
        "A formula can use {}; + - * / ^, and functions such as min(a, b), max(a, b), exp, ln, sqrt, \
         floor. NAME is one of {}.\n\n\
         document: {}\n\
         video:    {}\n\
         Both zoom in on (5.30031, -0.45) unless --center is given.",
        variables_in_words::<Parameter>(),
        Parameter::names(),
        rules(Preset::Document),
        rules(Preset::Video),
    )
}

/// The description of a zoom, which `sequence.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Zoom {
    /// The base of every frame.
    base: Specification,
    /// The largest allowed share of unresolved pixels in each frame.
    max_error: Option<f64>,
    preset: Preset,
    /// Rules in addition to those of the preset.
    set: Vec<String>,
    frames: u32,
    /// The pixels that are reused.
    cache: Cache,
    npy: bool,
    film: Vec<PathBuf>,
    fps: f64,
    colormap: ColourMap,
    colours: Colours,
    /// Zooms of earlier versions have no captions.
    #[serde(default)]
    captions: bool,
    /// Whether all maps are written as one Zarr store.
    #[serde(default)]
    zarr: bool,
    #[serde(flatten)]
    look: ZoomLookArgs,
}

impl Paths for Zoom {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        self.film.iter_mut().collect()
    }
}

/// Computes the missing frames and makes the films.
pub(crate) fn run(args: &Args, typed: &Typed) -> Result<(), Failure> {
    let base = |under: Option<&_>| args.sequence.base(under, args.preset.center());
    let describe = |base, most| args.describe(base, most);
    sequence::run(&args.sequence, typed, &args.out, base, describe)
}

impl Args {
    fn describe(&self, base: Specification, max_error: Option<f64>) -> Result<Zoom, Failure> {
        let (colormap, colours) = self.sequence.look(&base)?;
        if self.captions && self.look.axes {
            return Err(Failure::BadInput(
                "--captions is for frames without axes; those of --axes have the values in their title".into(),
            ));
        }
        let width = base.size[0];
        if self.captions && width < MIN_CAPTIONED_PIXELS {
            return Err(Failure::BadInput(format!(
                "--captions needs frames at least {MIN_CAPTIONED_PIXELS} pixels wide; those of --size are {width} wide"
            )));
        }
        Ok(Zoom {
            base,
            max_error,
            preset: self.preset,
            set: self.set.iter().map(Rule::to_string).collect(),
            frames: self.frames.unwrap_or(self.preset.frames()),
            cache: self.cache,
            npy: self.npy,
            film: self.films.film.clone(),
            fps: self.films.fps,
            colormap,
            colours,
            captions: self.captions,
            zarr: self.sequence.zarr,
            look: self.look,
        })
    }
}

impl Description for Zoom {
    type Options = SequenceArgs;
    const COMMAND: &'static str = "zoom";

    fn base(&self) -> &Specification {
        &self.base
    }

    fn max_error(&mut self) -> &mut Option<f64> {
        &mut self.max_error
    }

    /// Takes those typed options that change no frame which exists, and the look of the pictures.
    fn take_over(&mut self, typed: &Typed, here: &Self) {
        if typed.has("frames") {
            self.frames = self.frames.max(here.frames);
        }
        if typed.has("colormap") {
            self.colormap = here.colormap;
        }
        if typed.has("colours") {
            self.colours = here.colours;
        }
        if typed.has("captions") {
            self.captions = here.captions;
        }
        self.zarr |= here.zarr;
        self.look.take_over(typed, &here.look);
    }

    /// More frames are allowed, too.
    fn may_differ(_: &[Frame]) -> Vec<&'static str> {
        vec![
            "film",
            "fps",
            "colormap",
            "colours",
            "captions",
            "axes",
            "plot_format",
            "theme",
            "y_axis",
            "zarr",
        ]
    }

    fn style(&self) -> Style {
        Style {
            colormap: self.colormap,
            colours: self.colours,
            axes: self.look.axes,
            captions: self.captions,
            theme: self.look.look.theme,
            format: self.look.look.plot_format,
            y: self.look.look.y_axis.unwrap_or_default(),
            npy: self.npy || self.cache == Cache::Rounded,
        }
    }

    fn films(&self) -> (&[PathBuf], f64) {
        (&self.film, self.fps)
    }

    fn kind(&self) -> Value {
        json!({ "zoom": { "rounded": self.cache == Cache::Rounded } })
    }

    /// The frames, after checking that the cache can be used for them.
    fn frames(&self) -> Result<Vec<Frame>, Failure> {
        let own: Result<Vec<Rule>, Failure> = (self.set.iter())
            .map(|rule| {
                rule.parse()
                    .map_err(|e: String| Failure::value(rule, "--set", &e))
            })
            .collect();
        let rules = self.preset.schedule(self.frames, own?);
        let frames = zoom::zoom(&self.base, &rules, self.frames).map_err(|e| {
            Failure::BadInput(format!(
                "{e}\nhint: --set, --preset and --frames determine it"
            ))
        })?;
        let checked = (self.cache).check(frames.iter().map(|frame| &frame.specification));
        checked.map_err(|allowed| Failure::value(&self.cache.to_string(), "--cache", allowed))?;
        Ok(frames)
    }

    fn check(&self, _: &[Frame], part: Option<Part>) -> Result<(), Failure> {
        self.look.check(&self.film)?;
        if self.cache == Cache::Rounded && part.is_some() {
            let reason = "it reuses pixels of all earlier frames; remove the option, or --part";
            return Err(Failure::value("rounded", "--cache", reason));
        }
        if self.zarr && !self.style().npy {
            let reason = "--zarr reads the arrays of the frames; add --npy";
            return Err(Failure::BadInput(reason.into()));
        }
        Ok(())
    }

    fn go_on(&mut self, there: &Self, path: &Path, frames: &[Frame]) -> Result<(), Failure> {
        // What is there must not be older than the frames.
        self.zarr |= there.zarr;
        self.check_pictures(there, path, frames)
    }

    fn compute(
        &self,
        executor: &dyn Executor<Validated>,
        frames: &[Frame],
        folder: &Folder,
        settings: &Settings,
        progress: &Progress,
    ) -> Result<Outcome, zoom::Error> {
        match self.cache {
            Cache::Rounded => zoom::run_rounded(executor, frames, folder, settings, progress),
            Cache::None => zoom::run_on(executor, frames, folder, settings, progress),
        }
    }

    fn complete(&self, ended: &mut Ended<'_, Self>) -> Result<(), Failure> {
        let Ended { frames, folder, .. } = *ended;
        match self.zarr {
            true => ended.make_dataset(|path| zoom::write_zoom(path, frames, folder)),
            false => Ok(()),
        }
    }

    fn add_to(&self, object: &mut Value, ended: &Ended<'_, Self>) {
        object["cache"] = json!(ended.outcome.cache);
        object["films"] = json!(self.film);
        object["double_double_from"] = json!(self.deep_frames(ended.frames).first());
    }

    fn summary(&self, mut lines: Lines, ended: &Ended<'_, Self>) -> String {
        if let Some(report) = ended.outcome.cache.filter(|report| report.pixels > 0) {
            lines.add("cache", &cache_in_words(&report));
        }
        if let [first, .., last] | [first @ last] = self.deep_frames(ended.frames)[..] {
            let text = format!(
                "double-double in frames {first} to {last}, where {} does not separate the pixels",
                self.base.precision
            );
            lines.add("precision", &text);
        }
        ended.zoom_summary(lines)
    }
}

impl Zoom {
    /// The numbers of the frames that are in double-double because of their depth.
    fn deep_frames(&self, frames: &[Frame]) -> Vec<u32> {
        let precision = |frame: &&Frame| frame.specification.specification().precision;
        let deep = (frames.iter()).filter(|frame| precision(frame) != self.base.precision);
        deep.map(|frame| frame.index).collect()
    }

    /// Refuses pictures that neither the pictures nor the arrays of a begun zoom give, so that its frames would be computed again.
    fn check_pictures(&self, there: &Self, path: &Path, frames: &[Frame]) -> Result<(), Failure> {
        let arrays = [there, self].map(|zoom| zoom.style().npy);
        let what = match arrays {
            [false, true] => {
                Some("it was begun without --npy, so that its frames have no arrays".to_owned())
            }
            [true, false] => {
                Some("it was begun with --npy, and all its frames have arrays".to_owned())
            }
            [true, true] => None,
            [false, false] => self.missing_arrays(there, frames)?,
        };
        let Some(what) = what else { return Ok(()) };
        let path = path.display().to_string();
        let different = FolderError::Different { path, what };
        Err(Failure::BadInput(different.to_string()))
    }

    /// Why the frames of a begun zoom without arrays cannot be drawn as those of this one; `None` if they can.
    fn missing_arrays(&self, there: &Self, frames: &[Frame]) -> Result<Option<String>, Failure> {
        let before = there.frames()?;
        let most = [&before[..], frames].map(zoom::most_steps);
        let [before, now] = [there, self].map(Self::style);
        if now.redraws(&before, most) {
            return Ok(None);
        }
        Ok(Some(if before.colours != now.colours {
            format!(
                "it has --colours {} and no arrays (--npy) from which frames with --colours {} could be drawn",
                before.colours, now.colours
            )
        } else if before.axes || now.axes {
            let axes = |style: &Style| if style.axes { "with" } else { "without" };
            format!(
                "it has frames {} axes and no arrays (--npy) from which frames {} axes of another look could be drawn",
                axes(&before),
                axes(&now)
            )
        } else {
            format!(
                "it has at most {} steps a frame, here it is {}, which with --colours steps changes the colours of all frames, and there are no \
                 arrays (--npy) from which they could be drawn again",
                most[0], most[1]
            )
        }))
    }
}

fn cache_in_words(report: &CacheReport) -> String {
    let share = |n: u64, of: u64| 100.0 * n as f64 / of.max(1) as f64;
    let reused = share(report.reused, report.pixels);
    if report.checked == 0 {
        return format!("{reused:.2} % of the pixels were reused");
    }
    format!(
        "{reused:.2} % of the pixels were reused. Of {} reused pixels that were also computed, {:.2} % were correct; the error is {:.1} steps \
         on average, {} at most",
        report::grouped(report.checked),
        share(report.right, report.checked),
        report.mean_error,
        report.largest_error
    )
}
