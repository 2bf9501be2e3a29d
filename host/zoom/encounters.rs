//! Sequences of ensembles of encounters: zooms into maps of outcomes, and sweeps over a parameter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::finished::{self, FORMAT, FoundFrame, FrameParts, FrameState, Wanted};
use super::folder::Folder;
use super::framed::{Error, FrameFiles, FrameValues, Framed, Style};
use super::kind::{Base, SequenceParameter};
use super::schedule::{Rule, scheduled};
use super::sequence::{Frame, FrameError, Setting, zoom};
use super::vary::Vary;
use trisolar_encounters::pictures::{self, Look};
use trisolar_encounters::{Adjustable, Encounters, Specification, Summary, Validated};
use trisolar_ensemble::{ClassShare, Report};
use trisolar_io::atomic::stage;
use trisolar_io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series, Theme};
use trisolar_io::{IoError, PictureFormat};
use trisolar_run::{Monitor, RunOptions};
use trisolar_spec::SpecError;

/// The specification of which the frames are variations.
#[derive(Clone, Debug)]
pub struct EncounterBase {
    /// The specification.
    pub specification: Specification,
    /// The point of a map that keeps its place in all frames: its values along the columns and along the rows.
    pub point: [f64; 2],
}

impl EncounterBase {
    /// The base of a zoom into a map, to the point with a value for each axis of the map, columns first.
    ///
    /// # Errors
    /// What a point must be.
    pub fn towards(specification: Specification, point: &[f64]) -> Result<Self, String> {
        if specification.size.is_none() {
            return Err("only a map (--map) has a point to zoom in on".into());
        }
        let axes = specification.axes();
        let count = axes.iter().flatten().count();
        if point.len() != count {
            return Err(format!(
                "it must have a number for each axis of the map, of which there are {count}"
            ));
        }
        let mut found = [0.0; 2];
        let given = point.iter().zip(axes.into_iter().flatten());
        for (at, (x, (parameter, [low, high]))) in found.iter_mut().zip(given) {
            if !(low..=high).contains(x) {
                let name = parameter.name;
                return Err(format!("{name} must be on the map, from {low} to {high}"));
            }
            *at = *x;
        }
        Ok(Self {
            specification,
            point: found,
        })
    }

    /// The base of a sweep: a map keeps its middle.
    pub fn centred(specification: Specification) -> Self {
        let axes = specification.axes();
        let middle = axes.map(|axis| axis.map(|(_, [low, high])| low / 2.0 + high / 2.0));
        Self {
            specification,
            point: middle.map(Option::unwrap_or_default),
        }
    }

    /// The frames of a zoom by these rules, which override [`ENCOUNTER_ZOOM`]. With fewer than [`ENCOUNTER_ZOOM_FRAMES`] frames, the zoom
    /// covers the same ranges in longer strides.
    ///
    /// # Errors
    /// The first frame that is not valid, and why.
    pub fn zoom(
        &self,
        rules: &[Rule<Adjustable>],
        frames: u32,
    ) -> Result<Vec<EncounterFrame>, FrameError> {
        let usual = ENCOUNTER_ZOOM_FRAMES;
        let rules = scheduled(&[ENCOUNTER_ZOOM], usual, frames, rules.to_vec());
        zoom(self, &rules, frames)
    }
}

/// The rule of a zoom into a map of outcomes.
pub const ENCOUNTER_ZOOM: &str = "span=span/2^(frame/10)";
/// The number of frames of such a zoom.
pub const ENCOUNTER_ZOOM_FRAMES: u32 = 100;

impl SequenceParameter for Adjustable {
    const VARIABLES_IN_WORDS: &'static str = "span and the parameters, with _ for -";

    fn variable(name: &str) -> Option<Self> {
        name.replace('_', "-").parse().ok()
    }
}

impl Base for EncounterBase {
    type Parameter = Adjustable;
    type Validated = Validated;

    fn get(&self, parameter: Adjustable) -> f64 {
        parameter.get(&self.specification)
    }

    fn set(&mut self, parameter: Adjustable, value: f64) -> Result<(), String> {
        parameter.set(&mut self.specification, value, self.point)
    }

    fn checked(self) -> Result<Validated, SpecError> {
        self.specification.validate()
    }
}

/// An ensemble of a sequence.
pub type EncounterFrame = Frame<Validated>;

/// A summary of a finished frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EncounterSummary {
    /// Its place, from 0.
    pub frame: u32,
    /// The parameters that the sequence sets.
    pub set: Vec<Setting>,
    /// The summary of its records.
    #[serde(flatten)]
    pub summary: Summary,
}

/// The specification of a frame, and everything else on which its picture depends.
fn descriptions(frame: &EncounterFrame, style: &Style) -> [Value; 2] {
    let specification = frame.specification.specification();
    let format = style.picture_format();
    let picture = match specification.size.is_some() && format != PictureFormat::Png {
        true => json!({ FORMAT: format }),
        false => Value::Null,
    };
    [json!(specification), picture]
}

impl Framed for Validated {
    type Summary = EncounterSummary;
    type Found = ();

    fn main(frame: u32, folder: &Folder) -> PathBuf {
        folder.file(frame, "npz")
    }

    fn state(
        frame: &EncounterFrame,
        files: &FrameFiles<'_>,
    ) -> Result<FrameState<EncounterSummary>, IoError> {
        let [specification, picture] = &descriptions(frame, files.style);
        let wanted = Wanted {
            specification,
            picture,
            has_picture: frame.specification.specification().size.is_some(),
            arrays: files.style.npy.then_some("npz"),
        };
        Ok(match finished::state(frame.index, &wanted, files.folder)? {
            FoundFrame::State(state) => state,
            FoundFrame::OtherPicture { .. } => FrameState::Damaged(format!(
                "frame {}: its picture has another format",
                frame.index
            )),
        })
    }

    fn beside<T>(
        &self,
        _: &RunOptions,
        _: &dyn Monitor,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, ()), Error> {
        Ok((work()?, ()))
    }

    fn write(
        frame: &EncounterFrame,
        values: FrameValues<()>,
        files: &FrameFiles<'_>,
    ) -> Result<(EncounterSummary, u64), IoError> {
        let FrameFiles { style, folder, .. } = *files;
        let spec = &frame.specification;
        let ensemble = Encounters {
            specification: spec.specification().clone(),
            records: values.mapped.into(),
            report: Report::default(),
            step_check: None,
            certificate: None,
        };
        let ((), written) = stage(|| {
            if style.npy {
                trisolar_encounters::files::npz(&folder.file(frame.index, "npz"), spec, &ensemble)?;
            }
            if ensemble.specification.size.is_none() {
                return Ok(());
            }
            let path = folder.file(frame.index, style.picture_format().extension());
            let look = Look {
                theme: style.theme,
                y: style.y,
            };
            match style.axes {
                true => pictures::outcome_map(&path, &ensemble, &look),
                false => pictures::bare_outcome_map(&path, &ensemble, style.y),
            }
        })?;
        let summary = EncounterSummary {
            frame: frame.index,
            set: frame.set.clone(),
            summary: Summary::of(&ensemble),
        };
        let [specification, picture] = descriptions(frame, style);
        let parts = FrameParts {
            specification,
            picture,
            kept: BTreeMap::new(),
        };
        finished::commit(frame.index, parts, &summary, written, folder)?;
        Ok((summary, ensemble.steps(&values.computed)))
    }
}

/// The shares in a table: of all runs, and of all escapes.
fn shares(summary: &Summary) -> impl Iterator<Item = (String, &ClassShare)> {
    let outcomes = summary.outcomes.iter().map(|s| (s.what.clone(), s));
    // Bodies are named by their numbers, because masses may differ from frame to frame.
    let escapers = (1..).zip(&summary.escapers);
    outcomes.chain(escapers.map(|(body, s)| (format!("body {body} escapes"), s)))
}

/// The names of all shares that occur in any of the frames, in their order.
fn share_names(summaries: &[EncounterSummary]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in summaries.iter().flat_map(|s| shares(&s.summary)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A share of a frame with its interval, in this order; zero runs where it did not occur.
fn share_of(summary: &Summary, name: &str) -> [f64; 3] {
    let found = shares(summary).find(|(found, _)| found == name);
    found.map_or([0.0; 3], |(_, s)| [s.share, s.interval[0], s.interval[1]])
}

/// The summaries as comma-separated values: a line of names, then a line for each frame. Of each share there are the share itself and the
/// ends of its 95 % interval; a value that a frame does not have is empty.
pub fn encounter_csv(summaries: &[EncounterSummary]) -> String {
    let names = share_names(summaries);
    let mut text = String::from("frame");
    for setting in summaries.first().map_or(&[][..], |s| &s.set) {
        text.push_str(&format!(",{}", setting.name));
    }
    text.push_str(",runs,failed_runs");
    for name in &names {
        let name = name.replace([':', ','], "").replace(' ', "_");
        text.push_str(&format!(",{name},{name}_low,{name}_high"));
    }
    text.push_str(",median_lifetime,ninety_percent_lifetime,tail_exponent,tail_error");
    text.push_str(",mean_steps,mean_excursions,mean_jumps,largest_energy_error\n");
    let cell = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for s in summaries {
        text.push_str(&s.frame.to_string());
        for setting in &s.set {
            text.push_str(&format!(",{}", setting.value));
        }
        let summary = &s.summary;
        text.push_str(&format!(",{},{}", summary.runs, summary.failed));
        for name in &names {
            let [share, low, high] = share_of(summary, name);
            text.push_str(&format!(",{share},{low},{high}"));
        }
        let lives = &summary.lifetimes;
        let tail = lives.tail.as_ref();
        for x in [
            lives.median,
            lives.ninety_percent,
            tail.map(|t| t.exponent),
            tail.map(|t| t.error),
            Some(summary.steps),
            Some(summary.excursions),
            Some(summary.jumps),
            Some(summary.errors.energy_largest),
        ] {
            text.push_str(&format!(",{}", cell(x)));
        }
        text.push('\n');
    }
    text
}

/// Draws the shares of the escapers, or of all outcomes where there are no escapes, over the values of a parameter. The error bars are
/// their 95 % intervals. Values of a constant ratio have a logarithmic axis.
///
/// # Errors
/// An error of writing the file.
pub fn draw_shares(
    path: &Path,
    vary: &Vary<Adjustable>,
    summaries: &[EncounterSummary],
    theme: Theme,
) -> Result<(), IoError> {
    let x: Vec<f64> = vary.values.clone();
    let all = share_names(summaries);
    let is_escaper = |name: &&String| name.ends_with(" escapes");
    let escapers: Vec<&String> = all.iter().filter(is_escaper).collect();
    let names = if escapers.is_empty() {
        all.iter().collect()
    } else {
        escapers
    };
    let curves: Vec<(Vec<f64>, Vec<[f64; 2]>)> = (names.iter())
        .map(|name| {
            let found = summaries.iter().map(|s| share_of(&s.summary, name));
            found.map(|[share, low, high]| (share, [low, high])).unzip()
        })
        .collect();
    let series: Vec<Series<'_>> = (names.iter().zip(&curves))
        .map(|(name, (y, error))| Series {
            name,
            x: &x,
            y,
            error: Some(error),
            marks: Marks::Both,
        })
        .collect();
    let [what, of] = match names.iter().any(is_escaper) {
        true => ["escaping bodies", "escapes"],
        false => ["outcomes", "encounters"],
    };
    let runs = summaries.first().map_or(0, |s| s.summary.runs);
    let plot = LinePlot {
        title: format!("Shares of the {what}, {runs} encounters for each value"),
        x: PlotAxis {
            name: vary.parameter.to_string(),
            unit: vary.parameter.unit().into(),
            division: match vary.has_a_constant_ratio() {
                true => Division::Logarithmic,
                false => Division::Linear,
            },
            ..PlotAxis::default()
        },
        y: PlotAxis {
            name: format!("share of the {of}"),
            ..PlotAxis::default()
        },
        theme,
        ..LinePlot::default()
    };
    plot::lines(path, &series, &plot, None)
}
