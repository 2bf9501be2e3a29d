//! The options that zooms and sweeps of ensembles of records have in common: `trisolar encounters zoom`, `trisolar planets sweep` and others.

use std::path::Path;

use serde_json::{Value, json};
use trisolar::ensemble::{self, Ensemble};
use trisolar::io::PictureFormat;
use trisolar::run::RunOptions;
use trisolar::run::partial::Contents as _;
use trisolar::spec::SpecError;
use trisolar::zoom::{Figures, Frame, FrameSummary, Named, Outcome, Recorded, Style};

use super::Failure;
use super::ensemble::OutputOptions;
use super::ensemble_devices::EnsembleDevices;
use super::parameters::{Accuracy, ParameterArgs, PlacedArgs};
use super::records::{RecordCommand, save_config, specified};
use super::report::{self, Lines};
use super::sequence::{FolderArgs, RunArgs, SequenceOptions, ZoomLookArgs};

/// The values of an ensemble of records of which there are zooms and sweeps.
pub(crate) trait SequenceCommand: RecordCommand<Of: Recorded> {
    /// The specification whose numbers frames set.
    type Specification: Named<Of = <Self as RecordCommand>::Of>;

    /// The commands.
    const ZOOM: &'static str;
    const SWEEP: &'static str;
    /// What is counted: steps, or items whose steps are not counted, and the unit of its rate.
    const STEPS: [&'static str; 2];
    /// The names of the option of schedules.
    const SCHEDULE: &'static [&'static str] = &["schedule"];
    /// The titles of the table of a sweep, behind the names of the parameters.
    const TITLES: &'static str;

    /// The checked specification of these values.
    fn specification(&self) -> Result<Self::Specification, SpecError>;

    /// Adds a number of a sweep that nothing else names, with a value.
    fn add_number(&mut self, _name: &str, _value: f64) {}

    /// The row of a frame in that table.
    fn row(figures: &FiguresOf<Self>) -> String;
}

/// The figures of a frame of these sequences.
pub(crate) type FiguresOf<C> = <<C as RecordCommand>::Of as Recorded>::Figures;
/// A frame of these sequences.
pub(crate) type FrameOf<C> = Frame<<C as RecordCommand>::Of>;

/// Options of a sequence of ensembles.
#[derive(Debug, clap::Args)]
pub(crate) struct SequenceArgs<C: SequenceCommand> {
    #[command(flatten)]
    overrides: ParameterArgs<C, Accuracy>,
    #[command(flatten)]
    folder: FolderArgs,
    /// Write the records of every frame as well (.npz)
    #[arg(long, help_heading = "Files")]
    pub(super) npz: bool,

    #[command(flatten)]
    devices: EnsembleDevices,
    #[command(flatten)]
    accuracy: PlacedArgs<C, Accuracy>,
    #[command(flatten)]
    run: RunArgs,
}

impl<C: SequenceCommand> SequenceArgs<C> {
    /// The base of every frame and the largest allowed energy error: the command line overrides the configuration file, which overrides
    /// `under`, the sequence that is resumed, or else the defaults. A new sequence may set `numbers` that only the sweep names.
    pub(super) fn base<'a>(
        &self,
        under: Option<&C>,
        numbers: impl Iterator<Item = (String, f64)> + 'a,
    ) -> Result<(C, Option<f64>), Failure> {
        let config = self.folder.config.as_deref();
        let mut own = self.overrides.values.clone();
        if under.is_none() && config.is_none() {
            numbers.for_each(|(name, value)| own.add_number(&name, value));
        }
        let (valid, most) = specified(&own, config, under.cloned(), None)?;
        Ok((C::of(&valid, None), most))
    }
}

impl<C: SequenceCommand> SequenceOptions for SequenceArgs<C> {
    type Of = C::Of;
    type Base = C;

    const ITEMS: &'static str = "ensembles";
    const STEPS: &'static str = C::STEPS[0];
    const RATE_UNIT: &'static str = C::STEPS[1];
    const OF_SPECIFICATION: &'static [&'static str] = C::Output::OF_SPECIFICATION;
    const IN_TURN: bool = false;
    const WARNS_IN_SUMMARY: bool = false;

    fn folder(&self) -> &FolderArgs {
        &self.folder
    }

    fn run_args(&self) -> &RunArgs {
        &self.run
    }

    fn devices(&self) -> RunOptions {
        self.devices.options()
    }

    fn differences(there: &C, here: &C) -> Vec<String> {
        ensemble::differences(there, here)
    }

    fn save_config(&self, path: &Path, base: &C, max_error: Option<f64>) -> Result<(), Failure> {
        let valid = base.validate(None);
        let valid = valid.map_err(|e| Failure::BadInput(e.to_string()))?;
        save_config(path, &C::of(&valid, max_error))
    }

    fn specification(frame: &FrameOf<C>) -> Value {
        frame.specification.specification_json()
    }

    fn describe_pictures(contents: &mut Value, frames: &[FrameOf<C>], style: &Style) {
        contents["pictures"] = json!({
            "axes": style.axes,
            "theme": style.axes.then_some(style.theme),
            "npz": style.npy,
        });
        if are_maps::<C>(frames) {
            // Folders of earlier versions, which do not name them, have PNG with y downwards.
            let pictures = &mut contents["pictures"];
            if style.y.is_up() {
                pictures["y_axis"] = "up".into();
            }
            if style.picture_format() != PictureFormat::Png {
                pictures["plot_format"] = json!(style.picture_format());
            }
        }
    }

    /// Warnings about frames: the first of each kind, with their number.
    fn found_warnings(outcome: &Outcome<FrameSummary<FiguresOf<C>>>) -> Vec<String> {
        let all = outcome.summaries.len();
        let of_frames: Vec<_> = (outcome.summaries.iter())
            .map(|s| (s.frame, s.figures.warnings()))
            .collect();
        let kinds = of_frames.first().map_or(0, |(_, kinds)| kinds.len());
        let worst = |kind: usize| {
            let found: Vec<_> = (of_frames.iter())
                .filter_map(|(frame, kinds)| Some((frame, kinds[kind].as_ref()?)))
                .collect();
            let (frame, (_, text)) = found.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
            let count = found.len();
            Some(format!(
                "in {count} of {all} ensembles, most in frame {frame}: {text}"
            ))
        };
        (0..kinds).filter_map(worst).collect()
    }

    fn errors(outcome: &Outcome<FrameSummary<FiguresOf<C>>>) -> Value {
        let all = outcome.summaries.iter();
        let largest = all.filter_map(|s| s.figures.energy_largest());
        json!({ "energy_largest": largest.reduce(f64::max) })
    }

    fn check(summary: &FrameSummary<FiguresOf<C>>, most: Option<f64>) -> Result<(), String> {
        summary.figures.check(most)
    }

    fn add_failures(outcome: &Outcome<FrameSummary<FiguresOf<C>>>, lines: &mut Lines) {
        let failed: u64 = outcome.summaries.iter().map(|s| s.figures.failed()).sum();
        let items = <C::Of as Ensemble>::Contents::ITEMS;
        lines.add("failed", &format!("{} {items}", report::grouped(failed)));
    }
}

fn are_maps<C: SequenceCommand>(frames: &[FrameOf<C>]) -> bool {
    let first = frames.first();
    first.is_some_and(|frame| frame.specification.is_drawn())
}

/// The options in which a run may differ from the one that began the sequence.
pub(super) fn may_differ<C: SequenceCommand>(frames: &[FrameOf<C>]) -> Vec<&'static str> {
    let mut may = vec!["film", "fps"];
    if !are_maps::<C>(frames) {
        // Only the picture of the curves depends on it.
        may.extend(["plot_format", "y_axis"]);
    }
    may
}

/// The look of the files of frames.
pub(super) fn style(ZoomLookArgs { axes, look }: ZoomLookArgs, npz: bool) -> Style {
    Style {
        axes,
        theme: look.theme,
        y: look.y_axis.unwrap_or_default(),
        format: look.plot_format,
        npy: npz,
        ..Style::default()
    }
}
