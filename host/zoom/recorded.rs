//! Frames of ensembles whose items have records: encounters, planetary systems, equations as text. Their files, their tables, and the picture of
//! their figures over a parameter.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::finished::{self, FORMAT, FoundFrame, FrameParts, FrameState, Wanted};
use super::folder::Folder;
use super::framed::{Error, FrameFiles, FrameValues, Framed, Style};
use super::named::{Named, Number};
use super::sequence::{Frame, Setting};
use super::vary::Vary;
use trisolar_ensemble::{ClassShare, Ensemble};
use trisolar_io::atomic::stage;
use trisolar_io::picture::{PictureStyle, Theme};
use trisolar_io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series};
use trisolar_io::{IoError, PictureFormat};
use trisolar_run::partial::Mapped;
use trisolar_run::{EngineError, Monitor, RunOptions};

/// An ensemble of records of which there are sequences.
pub trait Recorded: Ensemble {
    /// The records of all items, with what pictures and files need.
    type Computed;
    /// Items that were computed again in another way, to determine the accuracy.
    type Sample;
    /// The figures of a frame.
    type Figures: Figures;

    /// The specification as JSON.
    fn specification_json(&self) -> Value;

    /// Whether frames have a picture.
    fn is_drawn(&self) -> bool;

    /// The records in the file of a finished computation.
    fn computed(&self, records: Mapped) -> Self::Computed;

    /// Computes a sample of the items again in another way.
    ///
    /// # Errors
    /// Those of the computation.
    fn sampled(
        &self,
        _: &RunOptions,
        _: &dyn Monitor,
    ) -> Result<Option<Self::Sample>, EngineError> {
        Ok(None)
    }

    /// The figures of these records.
    fn figures(&self, computed: &Self::Computed, sample: Option<Self::Sample>) -> Self::Figures;

    /// The number of steps of the items with these numbers, or of the items themselves where steps are not counted.
    fn steps_of(&self, computed: &Self::Computed, spans: &[Range<u64>]) -> u64;

    /// Writes the records as `.npz`.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write_records(&self, path: &Path, computed: &Self::Computed) -> Result<(), IoError>;

    /// Draws the map, as the ensemble's own command does with axes, or with one pixel for each of the map.
    ///
    /// # Errors
    /// The file cannot be written.
    fn draw(&self, path: &Path, computed: &Self::Computed, style: &Style) -> Result<(), IoError>;

    /// The meaning of the colours of maps, of which a sheet has many, and their style; `None` unless the colours are those of numbers.
    fn colours(&self) -> Option<(String, PictureStyle)> {
        None
    }

    /// The numbers that are coloured, from the file of [`write_records`](Self::write_records).
    ///
    /// # Errors
    /// The file cannot be read.
    fn coloured(&self, _: &Path) -> Result<Vec<f64>, IoError> {
        Ok(Vec::new())
    }
}

/// The figures of a frame.
pub trait Figures: Clone + Debug + Send + Sync + Serialize + DeserializeOwned {
    /// The items in the plural.
    const ITEMS: &'static str;

    /// Number of items.
    fn items(&self) -> u64;

    /// Names and texts in the columns of a table before the shares, and behind them. All frames have the same names.
    fn cells(&self) -> [Vec<(String, String)>; 2];

    /// Shares of classes, of which frames may have different ones.
    fn shares(&self) -> Vec<(String, ClassShare)>;

    /// The figures of all frames that are drawn over the values of a parameter.
    fn curves(all: &[FrameSummary<Self>]) -> Curves;

    /// Warnings about the records, each with its weight, by which the worst frame is found. All frames have the same kinds in the same places.
    fn warnings(&self) -> Vec<Option<(f64, String)>>;

    /// Checks that no error is larger than the user allows.
    ///
    /// # Errors
    /// Which error it is, and the limit.
    fn check(&self, _most: Option<f64>) -> Result<(), String> {
        Ok(())
    }

    /// The largest relative error of an energy, where there are any.
    fn energy_largest(&self) -> Option<f64> {
        None
    }

    /// Number of items that failed.
    fn failed(&self) -> u64;
}

/// Figures of frames as curves.
#[derive(Clone, Debug)]
pub struct Curves {
    /// What they are, which is also the name of their file.
    pub what: &'static str,
    /// The title.
    pub title: String,
    /// What the vertical axis shows.
    pub y: String,
    /// The curves by their names: in each frame a number and the ends of its interval.
    pub curves: Vec<(String, Vec<[f64; 3]>)>,
}

/// A summary of a finished frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameSummary<F> {
    /// Its place, from 0.
    pub frame: u32,
    /// The parameters that the sequence sets.
    pub set: Vec<Setting>,
    /// The figures of its records.
    #[serde(flatten)]
    pub figures: F,
}

/// The specification of a frame, and everything else on which its picture depends.
fn descriptions<E: Recorded>(frame: &Frame<E>, style: &Style) -> [Value; 2] {
    let format = style.picture_format();
    let picture = match frame.specification.is_drawn() && format != PictureFormat::Png {
        true => json!({ FORMAT: format }),
        false => Value::Null,
    };
    [frame.specification.specification_json(), picture]
}

impl<E: Recorded> Framed for E {
    type Summary = FrameSummary<E::Figures>;
    type Found = Option<E::Sample>;

    fn main(frame: u32, folder: &Folder) -> PathBuf {
        folder.file(frame, "npz")
    }

    fn state(
        frame: &Frame<E>,
        files: &FrameFiles<'_>,
    ) -> Result<FrameState<Self::Summary>, IoError> {
        let [specification, picture] = &descriptions(frame, files.style);
        let wanted = Wanted {
            specification,
            picture,
            has_picture: frame.specification.is_drawn(),
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
        options: &RunOptions,
        monitor: &dyn Monitor,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Self::Found), Error> {
        Ok((work()?, self.sampled(options, monitor)?))
    }

    fn write(
        frame: &Frame<E>,
        values: FrameValues<Self::Found>,
        files: &FrameFiles<'_>,
    ) -> Result<(Self::Summary, u64), IoError> {
        let FrameFiles { style, folder, .. } = *files;
        let spec = &frame.specification;
        let computed = spec.computed(values.mapped);
        let ((), written) = stage(|| {
            if style.npy {
                spec.write_records(&folder.file(frame.index, "npz"), &computed)?;
            }
            if !spec.is_drawn() {
                return Ok(());
            }
            let path = folder.file(frame.index, style.picture_format().extension());
            spec.draw(&path, &computed, style)
        })?;
        let summary = FrameSummary {
            frame: frame.index,
            set: frame.set.clone(),
            figures: spec.figures(&computed, values.found),
        };
        let [specification, picture] = descriptions(frame, style);
        let parts = FrameParts {
            specification,
            picture,
            kept: BTreeMap::new(),
        };
        finished::commit(frame.index, parts, &summary, written, folder)?;
        Ok((summary, spec.steps_of(&computed, &values.computed)))
    }
}

/// The names of all shares that occur in any of the frames, in their order.
pub fn share_names<F: Figures>(summaries: &[FrameSummary<F>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in summaries.iter().flat_map(|s| s.figures.shares()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A share of a frame with its interval, in this order; zero items where it did not occur.
pub(super) fn share_of(figures: &impl Figures, name: &str) -> [f64; 3] {
    let found = figures
        .shares()
        .into_iter()
        .find(|(found, _)| found == name);
    found.map_or([0.0; 3], |(_, s)| [s.share, s.interval[0], s.interval[1]])
}

/// Shares of these names as curves.
pub(super) fn curves_of_shares<F: Figures>(
    summaries: &[FrameSummary<F>],
    names: Vec<String>,
) -> Vec<(String, Vec<[f64; 3]>)> {
    let curve = |name: String| {
        let found = summaries.iter().map(|s| share_of(&s.figures, &name));
        let found = found.collect();
        (name, found)
    };
    names.into_iter().map(curve).collect()
}

/// The summaries as comma-separated values: a line of names, then a line for each frame. Of each share there are the share itself and the
/// ends of its 95 % interval; a value that a frame does not have is empty.
pub fn records_csv<F: Figures>(summaries: &[FrameSummary<F>]) -> String {
    let names = share_names(summaries);
    let line = |of: &FrameSummary<F>, are_titles: bool| {
        let [before, behind] = of.figures.cells();
        let text = |(name, text): (String, String)| if are_titles { name } else { text };
        let settings = of.set.iter();
        let settings = settings.map(|s| text((s.name.clone(), s.value.to_string())));
        let shares = names.iter().flat_map(|name| {
            let column = name.replace([':', ','], "").replace(' ', "_");
            let titles = [&column, &format!("{column}_low"), &format!("{column}_high")];
            let titles = titles.map(String::clone);
            let cells = share_of(&of.figures, name).map(|x| x.to_string());
            if are_titles { titles } else { cells }
        });
        let frame = text(("frame".into(), of.frame.to_string()));
        let cells = [frame].into_iter().chain(settings);
        let cells = cells.chain(before.into_iter().map(text)).chain(shares);
        let cells: Vec<String> = cells.chain(behind.into_iter().map(text)).collect();
        format!("{}\n", cells.join(","))
    };
    let titles = summaries.first().map(|first| line(first, true));
    let rows = summaries.iter().map(|summary| line(summary, false));
    titles.into_iter().chain(rows).collect()
}

/// Draws figures of the frames over the values of a parameter, with their intervals. Values of a constant ratio have a logarithmic axis.
///
/// # Errors
/// An error of writing the file.
pub fn draw_curves<S: Named>(
    path: &Path,
    vary: &Vary<Number<S>>,
    curves: &Curves,
    theme: Theme,
) -> Result<(), IoError> {
    let split: Vec<(Vec<f64>, Vec<[f64; 2]>)> = (curves.curves.iter())
        .map(|(_, of)| of.iter().map(|[y, low, high]| (y, [*low, *high])).unzip())
        .collect();
    let series: Vec<Series<'_>> = (curves.curves.iter().zip(&split))
        .map(|((name, _), (y, error))| Series {
            name,
            x: &vary.values,
            y,
            error: Some(error),
            marks: Marks::Both,
        })
        .collect();
    let plot = LinePlot {
        title: curves.title.clone(),
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
            name: curves.y.clone(),
            ..PlotAxis::default()
        },
        theme,
        ..LinePlot::default()
    };
    plot::lines(path, &series, &plot, None)
}

/// The median and other figures of the numbers of a frame that are finite; NaN if none is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// What the numbers are.
    pub name: String,
    /// How many of them are finite.
    pub finite: u64,
    /// The least one.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub least: f64,
    /// A quarter of them are below it.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub lower_quartile: f64,
    /// Half of them are below it; of an even number it is the upper one of the two in the middle.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub median: f64,
    /// Three quarters of them are below it.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub upper_quartile: f64,
    /// The greatest one.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub greatest: f64,
}

impl Spread {
    /// That of these numbers.
    pub(super) fn of(name: &str, numbers: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.filter(|x| x.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len();
        let at = |quarters: usize| {
            let place = (quarters * count / 4).min(count.saturating_sub(1));
            sorted.get(place).copied().unwrap_or(f64::NAN)
        };
        Self {
            name: name.to_owned(),
            finite: count as u64,
            least: at(0),
            lower_quartile: at(1),
            median: at(2),
            upper_quartile: at(3),
            greatest: at(4),
        }
    }

    /// Its columns in a table.
    fn cells(&self) -> impl Iterator<Item = (String, String)> {
        let Self { name, finite, .. } = self;
        let count = (format!("finite_{name}"), finite.to_string());
        let cells = [
            ("least", self.least),
            ("lower_quartile", self.lower_quartile),
            ("median", self.median),
            ("upper_quartile", self.upper_quartile),
            ("greatest", self.greatest),
        ];
        let cells = cells.map(|(which, x)| (format!("{which}_{name}"), cell(Some(x))));
        [count].into_iter().chain(cells)
    }
}

/// The text of a number in a table, which is empty without one.
pub(super) fn cell(x: Option<f64>) -> String {
    x.map_or(String::new(), |x| x.to_string())
}

/// The summary of a frame as the ensemble's own command reports it, with the spread of the numbers that a map shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed<S> {
    /// The summary.
    #[serde(flatten)]
    pub summary: S,
    /// The spread; none if maps show outcomes, and nothing else was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Spread>,
}

/// The [`curves`](Figures::curves) of frames with a spread: the shares, or the median with the quartiles if there are none or only one item.
pub(super) fn shares_or_medians<S>(all: &[FrameSummary<Observed<S>>]) -> Curves
where
    Observed<S>: Figures,
{
    let items = Observed::<S>::ITEMS;
    let names = share_names(all);
    let first = all.first().map(|s| &s.figures);
    let count = first.map_or(0, Figures::items);
    let spread = first.and_then(|figures| figures.observed.as_ref());
    if let Some(Spread { name, .. }) = spread
        && (names.is_empty() || count == 1)
    {
        let median = |s: &FrameSummary<Observed<S>>| {
            let spread = s.figures.observed.as_ref();
            spread.map_or([f64::NAN; 3], |spread| {
                [spread.median, spread.lower_quartile, spread.upper_quartile]
            })
        };
        return Curves {
            what: "median",
            title: match count {
                1 => name.clone(),
                count => format!("Median and quartiles of {name}, {count} {items} for each value"),
            },
            y: name.clone(),
            curves: vec![(name.clone(), all.iter().map(median).collect())],
        };
    }
    Curves {
        what: "shares",
        title: format!("Shares of the outcomes, {count} {items} for each value"),
        y: format!("share of the {items}"),
        curves: curves_of_shares(all, names),
    }
}

/// The columns of a table of such frames.
pub(super) fn observed_cells<S>(
    of: &Observed<S>,
    others: impl IntoIterator<Item = (&'static str, f64)>,
) -> [Vec<(String, String)>; 2]
where
    Observed<S>: Figures,
{
    let others = others.into_iter();
    let others = others.map(|(name, x)| (name.to_owned(), cell(Some(x))));
    [
        vec![(Observed::<S>::ITEMS.to_owned(), of.items().to_string())],
        of.observed
            .iter()
            .flat_map(Spread::cells)
            .chain(others)
            .collect(),
    ]
}
