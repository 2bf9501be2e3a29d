//! The options that `trisolar encounters zoom` and `trisolar encounters sweep` have in common.

use std::path::Path;

use serde_json::{Value, json};
use trisolar::encounters::{Overrides, Validated, store};
use trisolar::io::PictureFormat;
use trisolar::run::RunOptions;
use trisolar::zoom::{EncounterFrame, EncounterSummary, Outcome, Style};

use crate::ensemble_devices::EnsembleDevices;
use crate::parameters::{Accuracy, ParameterArgs, PlacedArgs};
use crate::records::{save_config, specified};
use crate::report::Lines;
use crate::sequence::{FolderArgs, RunArgs, SequenceOptions, ZoomLookArgs};
use crate::{Failure, report};

/// Options of a sequence of ensembles.
#[derive(Debug, clap::Args)]
pub(crate) struct SequenceArgs {
    #[command(flatten)]
    overrides: ParameterArgs<Overrides, Accuracy>,
    #[command(flatten)]
    folder: FolderArgs,
    /// Write the records of every frame as well (.npz)
    #[arg(long, help_heading = "Files")]
    pub(super) npz: bool,

    #[command(flatten)]
    devices: EnsembleDevices,
    #[command(flatten)]
    accuracy: PlacedArgs<Overrides, Accuracy>,
    #[command(flatten)]
    run: RunArgs,
}

impl SequenceArgs {
    /// The base of every frame and the largest allowed energy error: the command line overrides the configuration file, which overrides
    /// `under`, the sequence that is resumed, or else the defaults.
    pub(super) fn base(
        &self,
        under: Option<&Overrides>,
    ) -> Result<(Overrides, Option<f64>), Failure> {
        let config = self.folder.config.as_deref();
        let (valid, most) = specified(&self.overrides.values, config, under.cloned(), None)?;
        Ok((Overrides::of(valid.specification()), most))
    }
}

impl SequenceOptions for SequenceArgs {
    type Of = Validated;
    type Base = Overrides;

    const ITEMS: &'static str = "ensembles";
    const STEPS: &'static str = "steps";
    const RATE_UNIT: &'static str = "steps/s";
    const OF_SPECIFICATION: &'static [&'static str] =
        &["Start", "Integration", "Ends", "max_error"];
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

    fn differences(there: &Overrides, here: &Overrides) -> Vec<String> {
        store::differences(there, here)
    }

    fn save_config(
        &self,
        path: &Path,
        base: &Overrides,
        max_error: Option<f64>,
    ) -> Result<(), Failure> {
        let values = Overrides {
            max_error,
            ..base.clone()
        };
        save_config(path, &values)
    }

    fn specification(frame: &EncounterFrame) -> Value {
        json!(frame.specification.specification())
    }

    fn describe_pictures(contents: &mut Value, frames: &[EncounterFrame], style: &Style) {
        contents["pictures"] = json!({
            "axes": style.axes,
            "theme": style.axes.then_some(style.theme),
            "npz": style.npy,
        });
        if are_maps(frames) {
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
    fn found_warnings(outcome: &Outcome<EncounterSummary>) -> Vec<String> {
        let all = outcome.summaries.len();
        let worst = |f: &dyn Fn(&EncounterSummary) -> Option<(f64, String)>| {
            let found: Vec<_> = (outcome.summaries.iter())
                .filter_map(|s| Some((s.frame, f(s)?)))
                .collect();
            let (frame, (_, text)) = found.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
            let count = found.len();
            Some(format!(
                "in {count} of {all} ensembles, most in frame {frame}: {text}"
            ))
        };
        let failed = worst(&|s| Some((s.summary.failed as f64, s.summary.failed_warning()?)));
        let errors = worst(&|s| {
            let text = s.summary.accuracy_warning()?;
            Some((s.summary.errors.energy_largest, text))
        });
        let open = worst(&|s| Some((s.summary.open as f64, s.summary.open_warning()?)));
        [failed, errors, open].into_iter().flatten().collect()
    }

    fn errors(outcome: &Outcome<EncounterSummary>) -> Value {
        let all = outcome.summaries.iter();
        let largest = all.map(|s| s.summary.errors.energy_largest);
        json!({ "energy_largest": largest.reduce(f64::max) })
    }

    fn check(summary: &EncounterSummary, most: Option<f64>) -> Result<(), String> {
        summary.summary.check(most)
    }

    fn add_failures(outcome: &Outcome<EncounterSummary>, lines: &mut Lines) {
        let failed: u64 = outcome.summaries.iter().map(|s| s.summary.failed).sum();
        lines.add("failed", &format!("{} runs", report::grouped(failed)));
    }
}

fn are_maps(frames: &[EncounterFrame]) -> bool {
    let first = frames.first();
    first.is_some_and(|frame| frame.specification.specification().size.is_some())
}

/// The options in which a run may differ from the one that began the sequence.
pub(super) fn may_differ(frames: &[EncounterFrame]) -> Vec<&'static str> {
    let mut may = vec!["film", "fps"];
    if !are_maps(frames) {
        // Only the picture of the shares depends on it.
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
