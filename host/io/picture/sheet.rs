//! Contact sheets: many maps of one size beside each other, each with a line of text, and one colour bar.

use std::path::Path;

use super::layout::{BEYOND, fill_bar, value_ticks};
use super::{Map, PictureStyle, resample};
use crate::IoError;
use crate::axes::{AxesStyle, MINOR_LENGTH, fitting, tick, widest};
use crate::canvas::{Align, Canvas, PixelRect, TextStyle, text_width, wrap};
use crate::colour::{ColourRange, ColourScale, Rgb, Spacing, lightness};
use crate::npy::data_error;
use crate::picture_file::write_canvas;
use crate::ticks::Ticks;

/// The contents of a contact sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Tiles {
    /// Width and height of every map, in values.
    pub size: [usize; 2],
    /// Ratio of the spans of every map, horizontal to vertical.
    pub aspect: f64,
    /// The arrangement and the labels.
    pub labels: TileLabels,
    /// The title above all maps; may be empty.
    pub title: String,
    /// What is to be said in each map, as far as it has room for it; empty for nothing.
    pub notes: Vec<String>,
    /// The meaning of the colours.
    pub value: String,
    /// Whether every map has its last row on top.
    pub y_upwards: bool,
    /// Whether values lie beyond the range of the colours.
    pub beyond: bool,
}

/// The arrangement of the maps of a sheet.
#[derive(Debug, Clone, PartialEq)]
pub enum TileLabels {
    /// As many as there are texts, side by side, each with its text above it.
    Each(Vec<String>),
    /// A matrix, row by row.
    Matrix {
        /// The text to the left of each row.
        rows: Vec<String>,
        /// The text above each column.
        columns: Vec<String>,
    },
}

impl TileLabels {
    /// Number of maps.
    fn count(&self) -> usize {
        match self {
            Self::Each(texts) => texts.len(),
            Self::Matrix { rows, columns } => rows.len() * columns.len(),
        }
    }
}

/// The longer side of a tile.
const TILE_PIXELS: f64 = 260.0;
/// Width of a sheet divided by its height, about.
const SHEET_ASPECT: f64 = 1.4;

/// The longer side of a tile of a matrix with many rows or columns.
const MIN_TILE_PIXELS: f64 = 24.0;
/// Pixels of a matrix's longer side, as long as its tiles do not become too small.
const MATRIX_PIXELS: f64 = 8192.0;

/// Checks that a sheet can be drawn, before its maps are computed.
///
/// # Errors
/// The reason why it cannot.
pub fn check_sheet(tiles: &Tiles, style: &PictureStyle) -> Result<(), String> {
    if tiles.labels.count() == 0 {
        return Err("a sheet needs at least one map".into());
    }
    let (width, height) = SheetLayout::new(tiles, style).size();
    let bytes = 4 * u64::from(width) * u64::from(height);
    let available = crate::system::available_memory();
    if width.max(height) > MAX_SIDE_PIXELS || (available > 0 && bytes > available) {
        return Err(format!(
            "the sheet of {width}x{height} pixels would be too large; vary over fewer values"
        ));
    }
    Ok(())
}

/// The longest side of a picture (pixels).
const MAX_SIDE_PIXELS: u32 = 1 << 20;

/// Writes a contact sheet. `values` gives the values of a map by its number; it is called once for each, in order.
///
/// With [`ColourRange::Whole`] each map has its own range.
///
/// # Errors
/// Those of `values`, [`IoError::Data`] if a map does not have the number of values of `tiles`, and a failed write.
pub fn sheet(
    path: impl AsRef<Path>,
    tiles: &Tiles,
    style: &PictureStyle,
    specification: Option<&str>,
    mut values: impl FnMut(usize) -> Result<Vec<f64>, IoError>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let refuse = |reason: &str| data_error(path, reason.to_owned());
    check_sheet(tiles, style).map_err(|reason| refuse(&reason))?;
    let plan = SheetLayout::new(tiles, style);
    let mut canvas = plan
        .canvas()
        .ok_or_else(|| refuse("the sheet is too large; vary over fewer values"))?;
    plan.label(&mut canvas, &tiles.labels);
    let mut common = None;
    for n in 0..tiles.labels.count() {
        let values = values(n)?;
        let [width, height] = tiles.size;
        let mut map = Map::new(&values, width, height);
        if tiles.y_upwards {
            map = map.upside_down();
        }
        let scale = map.scale(style).map_err(|e| data_error(path, e))?;
        plan.draw(&mut canvas, n, &map, scale, style);
        if let Some(note) = tiles.notes.get(n) {
            let palette = scale.palette(style.colour_map);
            let colour = palette[usize::from(scale.entry(map.first()))];
            plan.note(&mut canvas, n, note, colour);
        }
        common = Some(scale);
    }
    if let Some(mut scale) = common {
        if style.range == ColourRange::Whole {
            // The last map may have one colour only; the bar has all.
            (scale.low, scale.high, scale.spacing) = (0.0, 1.0, Spacing::Linear);
        }
        plan.bar(&mut canvas, scale, style);
    }
    write_canvas(path, &canvas, specification)
}

/// The positions of all parts.
struct SheetLayout {
    columns: usize,
    rows: usize,
    /// Whether rows and columns have labels, instead of the maps.
    matrix: bool,
    tile: (usize, usize),
    title: Vec<String>,
    /// The numbers of the colour bar, and the lines of its label.
    ticks: Ticks,
    label: Vec<String>,
    style: AxesStyle,
}

impl SheetLayout {
    fn new(tiles: &Tiles, style: &PictureStyle) -> Self {
        let aspect = tiles.aspect.clamp(0.125, 8.0);
        let count = tiles.labels.count();
        let (columns, tile) = match &tiles.labels {
            TileLabels::Each(_) => (columns(count, aspect), TILE_PIXELS),
            TileLabels::Matrix { rows, columns } => {
                let longer = rows.len().max(columns.len()) as f64;
                let tile = (MATRIX_PIXELS / longer).clamp(MIN_TILE_PIXELS, TILE_PIXELS);
                (columns.len(), tile)
            }
        };
        let (w, h) = if aspect >= 1.0 {
            (tile, tile / aspect)
        } else {
            (tile * aspect, tile)
        };
        let axes = AxesStyle {
            unit: 1.0,
            theme: style.theme,
        };
        let mut plan = Self {
            columns,
            rows: count.div_ceil(columns),
            matrix: matches!(tiles.labels, TileLabels::Matrix { .. }),
            tile: (w.round().max(1.0) as usize, h.round().max(1.0) as usize),
            title: Vec::new(),
            ticks: own_ranges(),
            label: Vec::new(),
            style: axes,
        };
        // The height of the bar does not depend on the title, but the room for the title on the bar.
        let s = &plan.style;
        let height = plan.bar_height();
        if let ColourRange::Fixed(low, high) = style.range {
            let scale = ColourScale::new(low, high, true, style.spacing);
            plan.ticks = fitting(height, s, false, |n| value_ticks(scale, style.numbers, n));
        }
        plan.label = wrap(&plan.ticks.axis_label(&tiles.value, ""), s.label(), height);
        if let Some(missing) = style.missing {
            let colour = style.colour_map.not_finite_name();
            plan.label.push(format!("{colour}: {missing}"));
        }
        if let Some(numbers) = style.numbers {
            plan.label.push(format!("darkest: {}", numbers.zero));
        }
        if tiles.beyond {
            plan.label.extend(wrap(BEYOND, s.label(), height));
        }
        let width = plan.size().0 as f32 - 2.0 * s.margin();
        plan.title = wrap(&tiles.title, s.title(), width);
        plan
    }

    /// Space between tiles, and for the text above one.
    fn gap(&self) -> f32 {
        2.0 * self.style.gap()
    }

    /// Height of a line of text above tiles, and width of one that runs upwards beside them.
    fn text(&self) -> f32 {
        1.6 * self.style.number()
    }

    /// Distance from one row to the next.
    fn row(&self) -> f32 {
        let text = if self.matrix { 0.0 } else { self.text() };
        self.tile.1 as f32 + self.gap() + text
    }

    /// The left edge of the tiles.
    fn left(&self) -> f32 {
        let text = if self.matrix { self.text() } else { 0.0 };
        self.style.margin() + text
    }

    /// The upper left corner of a tile.
    fn corner(&self, n: usize) -> (usize, usize) {
        let (column, row) = (n % self.columns, n / self.columns);
        let x = self.left() + column as f32 * (self.tile.0 as f32 + self.gap());
        let y = self.top() + row as f32 * self.row() + self.text();
        (x.round() as usize, y.round() as usize)
    }

    fn top(&self) -> f32 {
        self.style.margin() + self.title.len() as f32 * self.style.title() * 1.4
    }

    /// The right edge of the tiles.
    fn right(&self) -> f32 {
        let width = self.tile.0 as f32 + self.gap();
        self.left() + self.columns as f32 * width - self.gap()
    }

    fn bottom(&self) -> f32 {
        let text = if self.matrix { self.text() } else { 0.0 };
        self.top() + text + self.rows as f32 * self.row() - self.gap()
    }

    /// The height of the colour bar, which is that of all tiles.
    fn bar_height(&self) -> f32 {
        (self.bottom() - self.corner(0).1 as f32).round()
    }

    /// The distance from the right edge of the bar to the middle of the first line of its label.
    fn bar_label(&self) -> f32 {
        let s = &self.style;
        s.line() + s.tick() + 2.5 * s.gap() + widest(&self.ticks, s.number()) + 0.5 * s.label()
    }

    /// Width and height of the sheet (pixels).
    fn size(&self) -> (u32, u32) {
        let s = &self.style;
        let lines = self.label.len() as f32;
        let bar = 3.0 * s.gap() + s.bar() + self.bar_label();
        let label = (1.25 * (lines - 1.0).max(0.0) + 0.5) * s.label();
        let width = (self.right() + bar + label + s.margin()).ceil();
        let height = (self.bottom() + s.margin()).ceil();
        (width as u32, height as u32)
    }

    fn canvas(&self) -> Option<Canvas> {
        let s = &self.style;
        let (width, height) = self.size();
        let mut canvas = Canvas::new(width, height, s.theme.background())?;
        for (i, line) in self.title.iter().enumerate() {
            let y = s.margin() + (i as f32 + 0.4) * s.title() * 1.4;
            canvas.text(line, [s.margin(), y], s.text(s.title(), Align::Left));
        }
        Some(canvas)
    }

    /// Writes the labels of maps, or of rows and columns.
    fn label(&self, canvas: &mut Canvas, labels: &TileLabels) {
        let s = &self.style;
        let above = |(x, y): (usize, usize)| [x as f32, y as f32 - 0.6 * self.text()];
        match labels {
            TileLabels::Each(texts) => {
                for (n, text) in texts.iter().enumerate() {
                    let at = above(self.corner(n));
                    canvas.text(text, at, s.text(s.number(), Align::Left));
                }
            }
            TileLabels::Matrix { rows, columns } => {
                let (half_width, half_height) =
                    (self.tile.0 as f32 / 2.0, self.tile.1 as f32 / 2.0);
                let fitting = |text: &str, room: f32| {
                    let width = text_width(text, s.number());
                    s.number() * (room / width).min(1.0)
                };
                for (n, text) in columns.iter().enumerate() {
                    let [x, y] = above(self.corner(n));
                    let size = fitting(text, 2.0 * half_width + self.gap());
                    canvas.text(text, [x + half_width, y], s.text(size, Align::Centre));
                }
                for (n, text) in rows.iter().enumerate() {
                    let (x, y) = self.corner(n * self.columns);
                    let at = [x as f32 - 0.6 * self.text(), y as f32 + half_height];
                    let size = fitting(text, 2.0 * half_height + self.gap());
                    let upwards = TextStyle {
                        upwards: true,
                        ..s.text(size, Align::Centre)
                    };
                    canvas.text(text, at, upwards);
                }
            }
        }
    }

    fn draw(
        &self,
        canvas: &mut Canvas,
        n: usize,
        map: &Map<'_>,
        scale: ColourScale,
        style: &PictureStyle,
    ) {
        let s = &self.style;
        let (x, y) = self.corner(n);
        let palette = scale.palette(style.colour_map);
        resample::draw(canvas, [x, y], self.tile.into(), map, scale, &palette);
        let frame = PixelRect {
            x: x as f32,
            y: y as f32,
            width: self.tile.0 as f32,
            height: self.tile.1 as f32,
        };
        canvas.outline(frame, s.line(), s.theme.frame());
    }

    /// Writes a text in the middle of a tile of this colour, if there is room for it.
    fn note(&self, canvas: &mut Canvas, n: usize, text: &str, colour: Rgb) {
        let size = self.style.number();
        let [width, height] = [self.tile.0, self.tile.1].map(|side| side as f32 - self.gap());
        let lines = wrap(text, size, width);
        let line = 1.4 * size;
        let fits = |text: &String| text_width(text, size) <= width;
        if lines.len() as f32 * line > height || !lines.iter().all(fits) {
            return;
        }
        let (x, y) = self.corner(n);
        let x = x as f32 + self.tile.0 as f32 / 2.0;
        let middle = y as f32 + self.tile.1 as f32 / 2.0;
        let style = TextStyle {
            size,
            colour: legible_on(colour),
            align: Align::Centre,
            upwards: false,
        };
        for (i, text) in lines.iter().enumerate() {
            let below = (i as f32 - (lines.len() as f32 - 1.0) / 2.0) * line;
            canvas.text(text, [x, middle + below], style);
        }
    }

    /// The colour bar, along the whole height of the tiles.
    fn bar(&self, canvas: &mut Canvas, scale: ColourScale, style: &PictureStyle) {
        let s = &self.style;
        let bar = PixelRect {
            x: (self.right() + 3.0 * s.gap()).round(),
            y: self.corner(0).1 as f32,
            width: s.bar(),
            height: self.bar_height(),
        };
        let palette: Vec<Rgb> = scale.palette(style.colour_map);
        fill_bar(canvas, bar, scale, &palette, true);
        canvas.outline(bar, s.line(), s.theme.frame());
        let right = bar.x + bar.width;
        let edge = right + s.line();
        for (at, text) in &self.ticks.marks {
            let y = bar.y + (1.0 - *at as f32) * bar.height;
            tick(canvas, [edge, y], true, 1.0, s);
            let x = edge + s.tick() + s.gap();
            canvas.text(text, [x, y], s.text(s.number(), Align::Left));
        }
        for at in &self.ticks.minor {
            let y = bar.y + (1.0 - *at as f32) * bar.height;
            tick(canvas, [edge, y], true, MINOR_LENGTH, s);
        }
        let upwards = TextStyle {
            upwards: true,
            ..s.text(s.label(), Align::Centre)
        };
        for (i, line) in self.label.iter().enumerate() {
            let x = right + self.bar_label() + 1.25 * i as f32 * s.label();
            canvas.text(line, [x, bar.y + bar.height / 2.0], upwards);
        }
    }
}

/// White or black, whichever differs more from a colour.
fn legible_on(colour: Rgb) -> Rgb {
    let dark = 2 * lightness(colour) < lightness([255; 3]);
    if dark { [255; 3] } else { [0; 3] }
}

/// The number of maps side by side, which gives about [`SHEET_ASPECT`] with few empty places.
fn columns(count: usize, aspect: f64) -> usize {
    let ideal = (count as f64 * SHEET_ASPECT / aspect).sqrt();
    let nearest = (ideal.round() as usize).clamp(1, count);
    let near = nearest.saturating_sub(1).max(1)..=(nearest + 1).min(count);
    // The share of empty places, and how far the shape is from the wanted one.
    let cost = |columns: usize| {
        let empty = (count.next_multiple_of(columns) - count) as f64 / count as f64;
        empty + libm::log(columns as f64 / ideal).abs()
    };
    near.min_by(|a, b| cost(*a).total_cmp(&cost(*b)))
        .unwrap_or(nearest)
}

/// Where each map has its own range, the ends of the bar have no numbers.
fn own_ranges() -> Ticks {
    Ticks {
        marks: vec![(0.0, "lowest".into()), (1.0, "highest".into())],
        ..Ticks::default()
    }
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn sheets_have_few_empty_places() {
        for (count, aspect, expected) in [
            (1, 1.0, 1),
            (2, 1.0, 2),
            (4, 1.0, 2),
            (9, 1.0, 3),
            (12, 1.0, 4),
            (16, 1.0, 4),
            (20, 1.0, 5),
            (16, 4.0, 2),
            (6, 0.125, 6),
            (5, 1.5, 2),
            (7, 1.0, 3),
        ] {
            assert_eq!(columns(count, aspect), expected, "{count} {aspect}");
        }
    }
}
