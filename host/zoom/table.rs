//! A sequence on one page: a contact sheet of its maps, and a table of its numbers.

use std::path::Path;

use super::folder::Folder;
use super::frame::{Summary, maps_without_parting, most_steps, title};
use super::framed::Style;
use super::kind::SequenceParameter;
use super::recorded::Recorded;
use super::sequence::Frame;
use super::short::short;
use super::vary::Vary;
use trisolar_io::IoError;
use trisolar_io::colour::{ColourRange, Spacing};
use trisolar_io::picture::{self, PictureStyle, TileLabels, Tiles};
use trisolar_map::{ValueSlice, output};

/// All maps of a sequence on one page.
#[derive(Debug)]
pub struct ContactSheet<'a> {
    frames: &'a [Frame],
    style: &'a Style,
    tiles: Tiles,
    look: PictureStyle,
}

impl<'a> ContactSheet<'a> {
    /// A sheet of these frames with the values of their parameters. For two parameters it is a matrix with the values of the first one
    /// beside its rows and those of the second one above its columns.
    ///
    /// # Errors
    /// The reason why the sheet is not possible: it would be too large.
    pub fn new(
        frames: &'a [Frame],
        vary: &[Vary],
        heading: String,
        style: &'a Style,
    ) -> Result<Self, String> {
        let most = most_steps(frames);
        let s = frames.first().ok_or("there are no maps")?;
        let s = s.specification.specification();
        let steps = frames.iter().map(|frame| {
            let s = frame.specification.specification();
            (s.steps, s.dt)
        });
        let numbers = style.colours.common_times(s.quantity, steps, most);
        let (value, unit) = style.colours.labels(s.quantity, most, numbers);
        let tiles = Tiles {
            size: s.size.map(|n| n as usize),
            aspect: s.span[0] / s.span[1],
            labels: labels(frames, vary),
            title: heading,
            notes: Vec::new(),
            value: if unit.is_empty() {
                value
            } else {
                format!("{value} ({unit})")
            },
            y_upwards: style.y.is_up(),
            beyond: false,
        };
        let look = PictureStyle {
            colour_map: style.colormap,
            range: style.colours.range(most),
            spacing: output::spacing(s.quantity),
            theme: style.theme,
            numbers,
            ..PictureStyle::default()
        };
        picture::check_sheet(&tiles, &look)?;
        Ok(Self {
            frames,
            style,
            tiles,
            look,
        })
    }

    /// Draws the maps, whose arrays are in the folder and whose summaries say in which of them no twins parted.
    ///
    /// # Errors
    /// An array is missing or has another size, or the picture cannot be written.
    pub fn write(
        &self,
        path: &Path,
        folder: &Folder,
        summaries: &[Summary],
    ) -> Result<(), IoError> {
        let Self { frames, style, .. } = self;
        let mut tiles = self.tiles.clone();
        if let Some(maps) = maps_without_parting(summaries) {
            tiles
                .title
                .push_str(&format!("\nno twins parted in {maps}"));
        }
        let note = |s: &Summary| s.nothing_parted().then(|| output::nothing_parted(s.steps));
        tiles.notes = summaries
            .iter()
            .map(|s| note(s).unwrap_or_default())
            .collect();
        let most = most_steps(frames);
        let values = |frame: &Frame| {
            let s = frame.specification.specification();
            let steps = s.steps as u32;
            let path = folder.file(frame.index, "npy");
            let (_, values) = s.quantity.value_type().read_npy(&path)?;
            let shown = |value: f64| {
                let value = if s.quantity.counts_steps() {
                    value.min(f64::from(steps))
                } else {
                    value
                };
                style.colours.value(s.quantity, value, steps, most)
            };
            Ok(values.as_slice().numbers().map(shown).collect::<Vec<f64>>())
        };
        let mut look = self.look;
        let missing = summaries.iter().any(|s| s.not_finite > Some(0));
        look.missing = missing.then_some("not finite");
        let quantity = frames[0].specification.specification().quantity;
        if !quantity.counts_steps() {
            // All maps have the same colours, so that they can be compared.
            let ends = |frame: &Frame| -> Result<Vec<f64>, IoError> {
                let values = values(frame)?;
                Ok(match output::range(quantity, ValueSlice::F64(&values)) {
                    ColourRange::Fixed(low, high) => vec![low, high],
                    ColourRange::Whole => values,
                })
            };
            if let Some([low, high]) = common_range(look.spacing, frames.iter().map(ends))? {
                look.range = ColourRange::Fixed(low, high);
                tiles.beyond = (summaries.iter().filter_map(|s| s.range).flatten())
                    .any(|value| look.spacing.counts(value) && (value < low || value > high));
            }
        }
        picture::sheet(path, &tiles, &look, None, |n| values(&frames[n]))
    }
}

/// The maps of a sweep of an ensemble of records on one page.
#[derive(Debug)]
pub struct RecordSheet<'a, E> {
    frames: &'a [Frame<E>],
    tiles: Tiles,
    look: PictureStyle,
}

impl<'a, E: Recorded> RecordSheet<'a, E> {
    /// A sheet of these frames, as [`ContactSheet::new`]; `None` unless they are maps of numbers.
    ///
    /// # Errors
    /// The reason why the sheet is not possible: it would be too large.
    pub fn new<P: SequenceParameter>(
        frames: &'a [Frame<E>],
        vary: &[Vary<P>],
        size: [usize; 2],
        heading: String,
        style: &Style,
    ) -> Result<Option<Self>, String> {
        let colours = frames
            .first()
            .and_then(|frame| frame.specification.colours());
        let Some((value, look)) = colours else {
            return Ok(None);
        };
        let look = PictureStyle {
            theme: style.theme,
            ..look
        };
        let tiles = Tiles {
            size,
            aspect: size[0] as f64 / size[1] as f64,
            labels: labels(frames, vary),
            title: heading,
            notes: Vec::new(),
            value,
            y_upwards: style.y.is_up(),
            beyond: false,
        };
        picture::check_sheet(&tiles, &look)?;
        Ok(Some(Self {
            frames,
            tiles,
            look,
        }))
    }

    /// Draws the maps, whose records are in the folder, with the same colours.
    ///
    /// # Errors
    /// A file is missing or has another size, or the picture cannot be written.
    pub fn write(&self, path: &Path, folder: &Folder) -> Result<(), IoError> {
        let coloured = |frame: &Frame<E>| {
            let records = folder.file(frame.index, "npz");
            frame.specification.coloured(&records)
        };
        let (mut tiles, mut look) = (self.tiles.clone(), self.look);
        let all = common_range(look.spacing, self.frames.iter().map(coloured))?;
        match (all, look.range) {
            (Some([low, high]), ColourRange::Whole) => look.range = ColourRange::Fixed(low, high),
            (Some([least, most]), ColourRange::Fixed(low, high)) => {
                tiles.beyond = least < low || most > high;
            }
            (None, _) => {}
        }
        picture::sheet(path, &tiles, &look, None, |n| coloured(&self.frames[n]))
    }
}

/// The range of the numbers of all maps that colours can show; `None` without two different ones.
fn common_range(
    spacing: Spacing,
    maps: impl Iterator<Item = Result<Vec<f64>, IoError>>,
) -> Result<Option<[f64; 2]>, IoError> {
    let mut range: Option<[f64; 2]> = None;
    for map in maps {
        for value in map?.into_iter().filter(|v| spacing.counts(*v)) {
            let [low, high] = range.unwrap_or([value; 2]);
            range = Some([low.min(value), high.max(value)]);
        }
    }
    Ok(range.filter(|[low, high]| low < high))
}

/// The labels of the maps of a sweep.
fn labels<V, P: SequenceParameter>(frames: &[Frame<V>], vary: &[Vary<P>]) -> TileLabels {
    match vary {
        [rows, columns] => TileLabels::Matrix {
            rows: values(rows),
            columns: values(columns),
        },
        _ => TileLabels::Each(frames.iter().map(title).collect()),
    }
}

/// A parameter's values, each with its name.
fn values<P: SequenceParameter>(vary: &Vary<P>) -> Vec<String> {
    let label = |value: &f64| format!("{} = {}", vary.parameter, short(*value));
    vary.values.iter().map(label).collect()
}

/// The summaries as comma-separated values: a line of names, then a line for each frame.
pub fn csv(summaries: &[Summary]) -> String {
    let mut text = String::from("frame");
    for setting in summaries.first().map_or(&[][..], |s| &s.set) {
        text.push_str(&format!(",{}", setting.name));
    }
    let of_steps = summaries.first().is_none_or(|s| s.shortest.is_some());
    text.push_str(",pixels,steps,pixel_steps,");
    text.push_str(if of_steps {
        "never_parted,shortest,mean\n"
    } else {
        "least,greatest,not_finite,mean\n"
    });
    for s in summaries {
        text.push_str(&s.frame.to_string());
        for setting in &s.set {
            text.push_str(&format!(",{}", setting.value));
        }
        text.push_str(&format!(",{},{},{}", s.pixels, s.steps, s.pixel_steps));
        if of_steps {
            let (never, shortest) = (s.never_parted.unwrap_or(0), s.shortest.unwrap_or(0));
            text.push_str(&format!(",{never},{shortest}"));
        } else {
            let [least, greatest] = s.range.unwrap_or([f64::NAN; 2]);
            text.push_str(&format!(
                ",{least},{greatest},{}",
                s.not_finite.unwrap_or(0)
            ));
        }
        text.push_str(&format!(",{}\n", s.mean));
    }
    text
}
