//! What `trisolar encounters zoom` and `trisolar encounters sweep` have in common: the folder of their frames, and how these are
//! computed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use trisolar::encounters::pictures::Look;
use trisolar::encounters::{Executor, Overrides, Specification, Validated, store};
use trisolar::io::PictureFormat;
use trisolar::run::{Part, Paths, Record, RunOptions};
use trisolar::zoom::{self, EncounterFrame, EncounterSettings, EncounterSummary, Folder, Outcome};

use super::specification::{validated, write_config};
use crate::cpu_args::warn_of_one_lane;
use crate::ensemble_devices::EnsembleDevices;
use crate::parameters::{Accuracy, ParameterArgs, PlacedArgs};
use crate::progress::Progress;
use crate::ranks::Communicator;
use crate::report::Common;
use crate::resume::{Typed, differing_options};
use crate::sequence::{FolderArgs, ZoomLookArgs, checkpoint};
use crate::{Failure, interrupt, part, report, sequence};

/// Options of a sequence of ensembles.
#[derive(Debug, clap::Args)]
pub(crate) struct SequenceArgs {
    #[command(flatten)]
    pub(super) overrides: ParameterArgs<Overrides, Accuracy>,
    #[command(flatten)]
    pub(super) folder: FolderArgs,
    /// Write the records of every frame as well (.npz)
    #[arg(long, help_heading = "Files")]
    pub(super) npz: bool,

    #[command(flatten)]
    devices: EnsembleDevices,
    /// Approximate time between two records of the finished runs of an unfinished frame, 0.1 to 86400 (seconds), which is how much a
    /// killed run can lose
    #[arg(long, value_name = "SECONDS", help_heading = "Computation", default_value = "30", value_parser = checkpoint)]
    checkpoint: Duration,

    #[command(flatten)]
    accuracy: PlacedArgs<Overrides, Accuracy>,
    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    pub(super) json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    pub(super) quiet: bool,
}

/// The specification of which the frames are variations, and the largest energy error that the user allows.
pub(super) struct Base {
    pub(super) specification: Specification,
    pub(super) max_error: Option<f64>,
}

/// The description of a sequence, which `sequence.json` holds.
pub(super) trait Description: Paths {
    /// The specification of which the frames are variations.
    fn base(&self) -> &Overrides;

    /// The largest energy error that is allowed.
    fn max_error(&mut self) -> &mut Option<f64>;
}

impl SequenceArgs {
    /// Runs `lead` with the devices of this process, or on rank 0 with those of all that `mpirun` started.
    pub(super) fn on_all_ranks(
        &self,
        lead: impl FnOnce(&dyn Executor<Validated>, RunOptions) -> Result<(), Failure> + Send,
    ) -> Result<(), Failure> {
        let communicator = Communicator::join()?;
        let options = self.devices.options();
        let result = communicator.compute(&options, false, &|| part::points(None), lead);
        communicator.end(result)
    }

    /// The base of every frame: the command line overrides the configuration file, which overrides `under`, the sequence that is
    /// resumed, or else the defaults.
    pub(super) fn base(&self, under: Option<&Overrides>) -> Result<Base, Failure> {
        let config = self.folder.config.as_deref();
        let (valid, max_error) = validated(&self.overrides.values, config, under, None)?;
        Ok(Base {
            specification: valid.specification().clone(),
            max_error,
        })
    }

    /// The sequence of these options with its folder: the one in the folder of `--resume`, or the one that `describe` makes of its base.
    /// `out` is the folder of a new one.
    pub(super) fn described<D: Description>(
        &self,
        command: &str,
        typed: &Typed,
        out: &Path,
        describe: impl Fn(&Overrides, Option<f64>) -> D,
    ) -> Result<(D, PathBuf, Option<Record>), Failure> {
        let Some(path) = &self.folder.resume else {
            let base = self.base(None)?;
            let sequence = describe(&Overrides::of(&base.specification), base.max_error);
            return Ok((sequence, self.folder.of(out), None));
        };
        let (record, mut sequence): (_, D) = self.folder.resumed(command, path)?;
        let base = self.base(Some(sequence.base()))?;
        let most = sequence.max_error();
        *most = base.max_error.or(*most);
        let most = *most;
        let given = Overrides::of(&base.specification);
        let differences = store::differences(sequence.base(), &given);
        if !differences.is_empty() {
            return Err(FolderArgs::differs(path, &differences.join(", ")));
        }
        let here = describe(&given, most);
        let elsewhere = &["Start", "Integration", "Ends", "max_error"];
        FolderArgs::refuse_others(typed, path, [&sequence, &here], out, elsewhere)?;
        Ok((sequence, path.clone(), Some(record)))
    }

    /// Writes the specification of which the frames are variations, if that is requested.
    pub(super) fn save_config(
        &self,
        base: &Overrides,
        max_error: Option<f64>,
    ) -> Result<(), Failure> {
        let Some(path) = &self.folder.save_config else {
            return Ok(());
        };
        write_config(
            path,
            Overrides {
                max_error,
                ..base.clone()
            },
        )
    }

    /// Opens the folder of these frames; pictures are drawn as `settings` say. `begun` is the sequence that the folder has, and `here`
    /// the one that is wanted.
    pub(super) fn open<D: Description>(
        &self,
        path: &Path,
        frames: &[EncounterFrame],
        settings: &EncounterSettings,
        more: &Value,
        record: Record,
        (begun, here): (Option<D>, &D),
    ) -> Result<Folder, Failure> {
        let first = frames.first().map(|f| f.specification.specification());
        let mut contents = sequence::contents(frames, json!(first), more);
        contents["pictures"] = json!({
            "axes": settings.axes,
            "theme": settings.axes.then_some(settings.look.theme),
            "npz": settings.npz,
        });
        let are_maps = (frames.first())
            .is_some_and(|frame| frame.specification.specification().size.is_some());
        if are_maps {
            // Folders of earlier versions, which do not name them, have PNG with y downwards.
            let pictures = &mut contents["pictures"];
            if settings.look.y.is_up() {
                pictures["y_axis"] = "up".into();
            }
            if settings.picture_format() != PictureFormat::Png {
                pictures["plot_format"] = json!(settings.picture_format());
            }
        }
        let differing = begun.map_or_else(Vec::new, |there| {
            let mut all = store::differences(there.base(), here.base());
            let mut may = vec!["film", "fps"];
            if !are_maps {
                // Only the picture of the shares depends on it.
                may.extend(["plot_format", "y_axis"]);
            }
            all.extend(differing_options(&there, here, &may));
            all
        });
        let part = settings.part;
        self.folder.open(path, &contents, record, &differing, part)
    }

    /// How frames are computed and written.
    pub(super) fn settings(
        &self,
        options: RunOptions,
        pictures: ZoomLookArgs,
        npz: bool,
        part: Option<Part>,
    ) -> EncounterSettings {
        let ZoomLookArgs { axes, look } = pictures;
        EncounterSettings {
            part,
            options,
            checkpoint: self.checkpoint,
            axes,
            look: Look {
                theme: look.theme,
                y: look.y_axis.unwrap_or_default(),
            },
            format: look.plot_format,
            npz,
        }
    }

    /// Computes and writes the frames that are missing.
    pub(super) fn compute(
        &self,
        command: &str,
        executor: &dyn Executor<Validated>,
        frames: &[EncounterFrame],
        folder: &Folder,
        settings: &EncounterSettings,
    ) -> Result<Outcome<EncounterSummary>, Failure> {
        interrupt::watch()?;
        if !self.quiet {
            warn_of_one_lane(self.devices.options().backend);
        }
        let progress = Progress::new(command, self.quiet || self.json);
        // After Ctrl-C what has ended is brought back from the devices and written down.
        let patient = interrupt::patient();
        let outcome = zoom::run_encounters(executor, frames, folder, settings, &progress);
        drop(patient);
        progress.finish();
        let command = format!("encounters {command}");
        let outcome = outcome.map_err(|e| FolderArgs::ended(e, &command, folder, self.quiet))?;
        if !self.quiet {
            for warning in warnings(&outcome) {
                report::to_stderr(&format!("warning: {warning}"));
            }
        }
        Ok(outcome)
    }
}

/// Warnings about frames: the first of each kind, with their number.
fn warnings(outcome: &Outcome<EncounterSummary>) -> Vec<String> {
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

/// The report of the sequence as one JSON object.
pub(super) fn object(
    frames: &[EncounterFrame],
    outcome: &Outcome<EncounterSummary>,
    folder: &Folder,
    format: PictureFormat,
) -> serde_json::Value {
    let effort = &outcome.effort;
    let largest = outcome
        .summaries
        .iter()
        .map(|s| s.summary.errors.energy_largest);
    let common = Common {
        specification: json!(frames.first().map(|f| f.specification.specification())),
        rate_unit: "steps/s",
        errors: json!({ "energy_largest": largest.reduce(f64::max) }),
        warnings: warnings(outcome),
        ..sequence::common(outcome, folder, format)
    };
    common.with(json!({
        "folder": folder.path().to_string_lossy(),
        "ensembles": outcome.summaries,
        "computed": outcome.computed,
        "engine": effort.engine,
        "device": effort.device,
        "steps": effort.steps,
    }))
}

/// The first lines of the summary.
pub(super) fn lines(outcome: &Outcome<EncounterSummary>) -> report::Lines {
    let mut lines = sequence::lines(outcome, "ensembles", "steps");
    let failed: u64 = outcome.summaries.iter().map(|s| s.summary.failed).sum();
    lines.add("failed", &format!("{} runs", report::grouped(failed)));
    lines
}

/// Checks that no frame has a run with a larger energy error than the user allows.
pub(super) fn check(
    outcome: &Outcome<EncounterSummary>,
    max_error: Option<f64>,
) -> Result<(), Failure> {
    for s in &outcome.summaries {
        let checked = s.summary.check(max_error);
        checked.map_err(|reason| Failure::Failed(format!("frame {}: {reason}", s.frame)))?;
    }
    Ok(())
}
