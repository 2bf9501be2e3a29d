//! A sequence on one page: its maps beside each other, and its numbers in a table.

use std::path::Path;

use super::folder::Folder;
use super::frame::{Style, Summary, title};
use super::runner::most_steps;
use super::sequence::Frame;
use crate::io::picture::{self, Look, Tiles};
use crate::io::{IoError, npy};

/// Writes the maps of a finished sequence, whose arrays are in the folder, beside each other, each with the value of its
/// parameters.
///
/// # Errors
/// An array is missing or has another size, or the picture cannot be written.
pub fn contact_sheet(
    path: &Path,
    frames: &[Frame],
    heading: &str,
    style: &Style,
    folder: &Folder,
) -> Result<(), IoError> {
    let most = most_steps(frames);
    let Some(first) = frames.first() else {
        return Ok(());
    };
    let s = first.specification.specification();
    let (value, unit) = style.colours.labels(most);
    let tiles = Tiles {
        size: s.size.map(|n| n as usize),
        aspect: s.span[0] / s.span[1],
        labels: frames.iter().map(title).collect(),
        title: heading.to_owned(),
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
    picture::sheet(path, &tiles, &look, None, |n| {
        let frame = &frames[n];
        let steps = frame.specification.specification().steps as u32;
        let times = npy::read::<u32>(folder.file(frame.index, "npy"))?.values;
        let value = |t: &u32| style.colours.value((*t).min(steps), steps, most);
        Ok(times.iter().map(value).collect())
    })
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
