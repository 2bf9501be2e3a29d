//! The frames of sequences of maps: how they are written, and their summaries.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::animation;
use super::colours::Colours;
use super::finished::{self, FoundFrame, FrameParts, FrameState};
use super::folder::{Folder, remove};
use super::framed::{Error, FrameFiles, FrameValues, Framed, Style};
use super::sequence::{Frame, Setting};
use super::short::short;
use trisolar_io::atomic::stage;
use trisolar_io::colour::ColourMap;
use trisolar_io::picture::{self, Entries, PictureStyle, Theme};
use trisolar_io::{IoError, PictureFormat};
use trisolar_map::output;
use trisolar_map::{Monitor, Resolution, RunOptions, Specification, Validated, ValueSlice};

/// Everything on which a frame's picture depends besides its values. The frame's JSON file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PictureKind {
    colormap: ColourMap,
    colours: Colours,
    axes: bool,
    captions: bool,
    /// Where there are axes.
    theme: Option<Theme>,
    /// The largest number of steps of any frame, if the colours depend on it.
    most_steps: Option<u32>,
    /// Earlier versions, which do not name it, wrote PNG only ([`FORMAT`](finished::FORMAT)).
    #[serde(default, skip_serializing_if = "is_png")]
    format: PictureFormat,
    /// Earlier versions, which do not say it, drew y downwards.
    #[serde(default, skip_serializing_if = "is_false")]
    y_upwards: bool,
}

fn is_png(format: &PictureFormat) -> bool {
    *format == PictureFormat::Png
}

fn is_false(value: &bool) -> bool {
    !value
}

impl PictureKind {
    /// Whether both have one pixel per pixel of the map, and the same entries of the palette have the same values.
    fn has_the_entries_of(&self, other: &Self) -> bool {
        let bare = !self.axes && !other.axes;
        bare && self.colours == other.colours && self.most_steps == other.most_steps
    }
}

impl Style {
    /// Whether the pictures of this style, with up to `most` steps a frame, can be made of those of another
    /// style alone, without the arrays.
    pub fn redraws(&self, there: &Self, [before, most]: [u32; 2]) -> bool {
        let pictures = self.pictures(most);
        let there = there.pictures(before);
        pictures == there || there.has_the_entries_of(&pictures)
    }

    /// The pictures of a sequence of maps with up to `most` steps a frame.
    fn pictures(&self, most: u32) -> PictureKind {
        PictureKind {
            colormap: self.colormap,
            colours: self.colours,
            axes: self.axes,
            captions: self.captions,
            theme: self.axes.then_some(self.theme),
            most_steps: (self.colours == Colours::Steps).then_some(most),
            format: self.picture_format(),
            y_upwards: self.y.is_up(),
        }
    }
}

/// A summary of a finished frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Its place, from 0.
    pub frame: u32,
    /// The parameters that the sequence sets.
    pub set: Vec<Setting>,
    /// Pixels of the map.
    pub pixels: u64,
    /// Steps after which a pixel counts as never parted.
    pub steps: u64,
    /// The sum of the steps of all pixels.
    pub pixel_steps: u64,
    /// Pixels whose twins never parted, for maps of divergence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_parted: Option<u64>,
    /// The smallest number of steps of a pixel, for maps of divergence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest: Option<u32>,
    /// The mean of the finite values; NaN if there are none.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub mean: f64,
    /// The least and the greatest finite value, for maps of other quantities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Pixels whose value is not finite, for maps of other quantities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_finite: Option<u64>,
    /// The share of pixels for which the step is too long.
    pub unresolved: Resolution,
}

impl Summary {
    /// The summary of a frame with these values, whose time step has this resolution.
    pub fn new(frame: &Frame, values: ValueSlice<'_>, unresolved: Resolution) -> Self {
        let s = frame.specification.specification();
        let found = s.quantity.statistics(values, s.steps);
        let of_steps = s.quantity.counts_steps();
        let mean = if of_steps {
            // The sum of whole numbers is exact; only the division rounds.
            found.pixel_steps as f64 / values.len() as f64
        } else {
            found.mean.unwrap_or(f64::NAN)
        };
        Self {
            frame: frame.index,
            set: frame.set.clone(),
            pixels: values.len() as u64,
            steps: s.steps,
            pixel_steps: found.pixel_steps,
            never_parted: found.never_parted,
            shortest: of_steps.then(|| found.least.unwrap_or_default() as u32),
            mean,
            range: found
                .least
                .zip(found.greatest)
                .filter(|_| !of_steps)
                .map(<[f64; 2]>::from),
            not_finite: (!of_steps).then_some(found.not_finite),
            unresolved,
        }
    }

    /// Whether no twins parted.
    pub fn nothing_parted(&self) -> bool {
        self.never_parted == Some(self.pixels)
    }
}

/// The maps in which no twins parted, in words: "3 of 5 maps"; `None` if there are none.
pub fn maps_without_parting(summaries: &[Summary]) -> Option<String> {
    let count = summaries.iter().filter(|s| s.nothing_parted()).count();
    match (count, summaries.len()) {
        (0, _) => None,
        (count, all) if count == all => Some("any map".into()),
        (count, all) => Some(format!("{count} of {all} maps")),
    }
}

impl Framed for Validated {
    type Summary = Summary;
    type Found = Resolution;

    fn most_steps(frames: &[Frame]) -> u32 {
        most_steps(frames)
    }

    fn main(frame: u32, folder: &Folder) -> PathBuf {
        folder.file(frame, "npy").with_extension("")
    }

    fn state(frame: &Frame, files: &FrameFiles<'_>) -> Result<FrameState<Summary>, IoError> {
        state(frame, files)
    }

    fn beside<T>(
        &self,
        options: &RunOptions,
        monitor: &dyn Monitor,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Resolution), Error> {
        trisolar_map::beside(self, options, monitor, work)
    }

    fn write(
        frame: &Frame,
        values: FrameValues<Resolution>,
        files: &FrameFiles<'_>,
    ) -> Result<(Summary, u64), IoError> {
        let all = frame.specification.value_type().cast(values.mapped.bytes());
        let s = frame.specification.specification();
        let of = |span: &Range<u64>| all.range(span.start as usize..span.end as usize);
        let computed = values.computed.iter().map(of);
        let steps = computed.map(|values| s.quantity.steps_taken(values, s.steps));
        Ok((write(frame, all, values.found, files)?, steps.sum()))
    }
}

/// The largest number of steps of any frame.
pub fn most_steps(frames: &[Frame]) -> u32 {
    let steps = frames
        .iter()
        .map(|f| f.specification.specification().steps as u32);
    steps.max().unwrap_or(0)
}

/// Writes a frame's files, with the resolution of its time step ([`beside`](trisolar_map::beside)).
pub(super) fn write(
    frame: &Frame,
    values: ValueSlice<'_>,
    unresolved: Resolution,
    files: &FrameFiles<'_>,
) -> Result<Summary, IoError> {
    let FrameFiles {
        style,
        most,
        folder,
    } = *files;
    let specification = frame.specification.specification();
    let [width, height] = specification.size.map(|n| n as usize);
    let ((), staged) = stage(|| {
        if style.npy {
            values.write_npy(folder.file(frame.index, "npy"), &[height, width])?;
        }
        draw(frame, values, most, style, folder)
    })?;
    let summary = Summary::new(frame, values, unresolved);
    let parts = FrameParts {
        specification: json!(specification),
        picture: json!(style.pictures(most)),
        kept: BTreeMap::new(),
    };
    finished::commit(frame.index, parts, &summary, staged, folder)?;
    Ok(summary)
}

fn state(frame: &Frame, files: &FrameFiles<'_>) -> Result<FrameState<Summary>, IoError> {
    let FrameFiles {
        style,
        most,
        folder,
    } = *files;
    let specification = json!(frame.specification.specification());
    let picture = style.pictures(most);
    let wanted = finished::Wanted {
        specification: &specification,
        picture: &json!(picture),
        has_picture: true,
        arrays: style.npy.then_some("npy"),
    };
    let (summary, before, mut kept) =
        match finished::state::<Summary>(frame.index, &wanted, folder)? {
            FoundFrame::State(state) => return Ok(state),
            FoundFrame::OtherPicture {
                summary,
                picture,
                files,
            } => (summary, picture, files),
        };
    let extension = finished::picture_extension(&before).to_owned();
    let drawn_before = folder.file(frame.index, &extension);
    let before: Option<PictureKind> = serde_json::from_value(before).ok();
    let ((), files) = match before {
        _ if style.npy => {
            let quantity = frame.specification.specification().quantity;
            let array = folder.file(frame.index, "npy");
            let (_, values) = quantity.value_type().read_npy(&array)?;
            stage(|| draw(frame, values.as_slice(), most, style, folder))?
        }
        Some(before) if before.has_the_entries_of(&picture) => {
            stage(|| recolour(frame, &before, &picture, style, folder))?
        }
        _ => {
            return Ok(FrameState::Damaged(format!(
                "{}: its colours or its form are others, and there is no array from which it could be drawn again",
                drawn_before.display()
            )));
        }
    };
    let replaced = extension == style.picture_format().extension();
    if !replaced {
        let name = drawn_before.file_name().unwrap_or_default();
        kept.remove(&*name.to_string_lossy());
    }
    let parts = FrameParts {
        specification,
        picture: json!(picture),
        kept,
    };
    finished::commit(frame.index, parts, &summary, files, folder)?;
    if !replaced {
        remove(&drawn_before)?;
    }
    Ok(FrameState::Finished(summary))
}

/// Draws the picture of a frame again in other colours, upside down, or with or without a caption.
fn recolour(
    frame: &Frame,
    before: &PictureKind,
    wanted: &PictureKind,
    style: &Style,
    folder: &Folder,
) -> Result<(), IoError> {
    let specification = frame.specification.specification();
    let [width, height] = specification.size.map(|n| n as u32);
    let mut there = animation::read(folder, frame.index)?;
    let caption = if before.captions {
        picture::caption_height(width)
    } else {
        0
    };
    let path = folder.file(frame.index, "png");
    if (there.width, there.height) != (width, height + caption) {
        return Err(IoError::Malformed {
            path,
            reason: format!(
                "it has {}×{} pixels instead of {width}×{}",
                there.width,
                there.height,
                height + caption
            ),
        });
    }
    there.pixels.truncate(width as usize * height as usize);
    if before.y_upwards != wanted.y_upwards {
        let rows = there.pixels.chunks(width as usize).rev();
        there.pixels = rows.flatten().copied().collect();
    }
    let entries = Entries {
        width,
        height,
        pixels: there.pixels,
        all_finite: !there.palette.ends_with(&before.colormap.not_finite()),
    };
    let text = style.captions.then(|| title(frame));
    let json = note(specification);
    picture::recoloured(path, &entries, style.colormap, text.as_deref(), Some(&json))
}

/// The note in a picture.
fn note(specification: &Specification) -> String {
    serde_json::to_string(specification).expect("a specification is plain numbers and names")
}

fn draw(
    frame: &Frame,
    values: ValueSlice<'_>,
    most: u32,
    style: &Style,
    folder: &Folder,
) -> Result<(), IoError> {
    let specification = frame.specification.specification();
    let [width, height] = specification.size.map(|n| n as usize);
    let steps = specification.steps as u32;
    let quantity = specification.quantity;
    let shown = |value| style.colours.value(quantity, value, steps, most);
    let y_upwards = style.y.is_up();
    let mut map = output::picture_of(values, width, height, shown);
    if y_upwards {
        map = map.upside_down();
    }
    let look = PictureStyle {
        colour_map: style.colormap,
        range: if quantity.counts_steps() {
            style.colours.range(most)
        } else {
            output::range(quantity, values)
        },
        spacing: output::spacing(quantity),
        theme: style.theme,
        numbers: (style.colours).times(quantity, specification.steps, specification.dt, most),
        ..PictureStyle::default()
    };
    let json = note(specification);
    let path = folder.file(frame.index, style.picture_format().extension());
    match (style.axes, style.captions) {
        (false, false) => return picture::bare(path, &map, &look, Some(&json)),
        (false, true) => {
            return picture::captioned(path, &map, &look, &title(frame), Some(&json));
        }
        (true, _) => {}
    }
    let lines = [
        Some(title(frame)),
        output::never_parted(specification, values),
    ];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    let mut labels = output::labels(specification, &lines.join("\n"));
    let (value, unit) = style.colours.labels(quantity, most, look.numbers);
    (labels.value, labels.unit) = (value, unit.to_owned());
    labels.y_upwards = y_upwards;
    picture::plot(path, &map, &look, &labels, Some(&json))
}

/// The parameters that the sequence sets, with their values.
pub fn title<V>(frame: &Frame<V>) -> String {
    let words: Vec<String> = frame
        .set
        .iter()
        .map(|s| format!("{} = {}", s.name, short(s.value)))
        .collect();
    words.join(", ")
}
