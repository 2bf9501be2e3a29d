//! A sequence on one page: its maps beside each other, and its numbers in a table.

use std::path::Path;

use super::folder::Folder;
use super::frame::{Style, Summary, short, title};
use super::runner::most_steps;
use super::sequence::Frame;
use super::vary::Vary;
use trisolar_io::picture::{self, Look, TileLabels, Tiles};
use trisolar_io::{IoError, npy};

/// All maps of a sequence on one page.
#[derive(Debug)]
pub struct ContactSheet<'a> {
    frames: &'a [Frame],
    style: &'a Style,
    tiles: Tiles,
    look: Look,
}

impl<'a> ContactSheet<'a> {
    /// Of these frames, each under the values of its parameters; of two parameters as a matrix with the first one's values
    /// beside its rows and the second one's above its columns.
    ///
    /// # Errors
    /// Why there can be none: it would be too large.
    pub fn new(
        frames: &'a [Frame],
        vary: &[Vary],
        heading: String,
        style: &'a Style,
    ) -> Result<Self, String> {
        let most = most_steps(frames);
        let s = frames.first().ok_or("there are no maps")?;
        let s = s.specification.specification();
        let (value, unit) = style.colours.labels(most);
        let labels = match vary {
            [rows, columns] => TileLabels::Matrix {
                rows: values(rows),
                columns: values(columns),
            },
            _ => TileLabels::Each(frames.iter().map(title).collect()),
        };
        let tiles = Tiles {
            size: s.size.map(|n| n as usize),
            aspect: s.span[0] / s.span[1],
            labels,
            title: heading,
            value: if unit.is_empty() {
                value
            } else {
                format!("{value} ({unit})")
            },
        };
        let look = Look {
            colour_map: style.colormap,
            range: style.colours.range(most),
            ..Look::default()
        };
        picture::check_sheet(&tiles, &look)?;
        Ok(Self {
            frames,
            style,
            tiles,
            look,
        })
    }

    /// Draws the maps, whose arrays are in the folder.
    ///
    /// # Errors
    /// An array is missing or has another size, or the picture cannot be written.
    pub fn write(&self, path: &Path, folder: &Folder) -> Result<(), IoError> {
        let Self { frames, style, .. } = self;
        let most = most_steps(frames);
        picture::sheet(path, &self.tiles, &self.look, None, |n| {
            let frame = &frames[n];
            let steps = frame.specification.specification().steps as u32;
            let times = npy::read::<u32>(folder.file(frame.index, "npy"))?.values;
            let value = |t: &u32| style.colours.value((*t).min(steps), steps, most);
            Ok(times.iter().map(value).collect())
        })
    }
}

/// A parameter's values, each with its name.
fn values(vary: &Vary) -> Vec<String> {
    let label = |value: &f64| format!("{} {}", vary.parameter, short(*value));
    vary.values.iter().map(label).collect()
}

/// The summaries as comma-separated values: a line of names, then a line a frame.
pub fn csv(summaries: &[Summary]) -> String {
    let mut text = String::from("frame");
    for setting in summaries.first().map_or(&[][..], |s| &s.set) {
        text.push_str(&format!(",{}", setting.name));
    }
    text.push_str(",pixels,steps,pixel_steps,never_parted,shortest,mean\n");
    for s in summaries {
        text.push_str(&s.frame.to_string());
        for setting in &s.set {
            text.push_str(&format!(",{}", setting.value));
        }
        text.push_str(&format!(
            ",{},{},{},{},{},{}\n",
            s.pixels, s.steps, s.pixel_steps, s.never_parted, s.shortest, s.mean
        ));
    }
    text
}
