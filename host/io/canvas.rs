//! A sheet to draw on: rectangles, lines and text with smooth edges, for [`picture`](super::picture) and
//! [`plot`](super::plot). The font is part of the program, since a bare machine has none.

use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::sync::LazyLock;

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};
use ttf_parser::{Face, OutlineBuilder};

use super::colour::Rgb;

static FONT: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(dejavu::sans::regular(), 0).expect("the font in the program"));

/// The height of a capital letter, in units of the font size.
const CAPITAL: f32 = 0.73;

/// Background and lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// Light lines on near-black: fits inferno.
    #[default]
    Dark,
    /// Dark lines on white: for paper.
    Light,
}

impl FromStr for Theme {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "dark" => Ok(Self::Dark),
            "light" => Ok(Self::Light),
            _ => Err("must be dark or light".into()),
        }
    }
}

impl Theme {
    pub(super) fn background(self) -> Rgb {
        match self {
            Self::Dark => [13, 13, 18],
            Self::Light => [255, 255, 255],
        }
    }

    pub(super) fn text(self) -> Rgb {
        match self {
            Self::Dark => [232, 232, 236],
            Self::Light => [24, 24, 28],
        }
    }

    pub(super) fn frame(self) -> Rgb {
        match self {
            Self::Dark => [176, 176, 186],
            Self::Light => [60, 60, 66],
        }
    }

    pub(super) fn grid(self) -> Rgb {
        match self {
            Self::Dark => [44, 44, 54],
            Self::Light => [224, 224, 230],
        }
    }
}

/// The part of a text that lies at the given point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Centre,
    Right,
}

/// The style of a text; the size is in pixels per em.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextStyle {
    pub size: f32,
    pub colour: Rgb,
    pub align: Align,
    /// Read from bottom to top.
    pub upwards: bool,
}

/// A rectangle in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PixelRect {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

impl PixelRect {
    /// The rectangle with a margin.
    pub fn around(self, margin: f32) -> Self {
        Self {
            x: self.x - margin,
            y: self.y - margin,
            width: self.width + 2.0 * margin,
            height: self.height + 2.0 * margin,
        }
    }
}

pub(super) struct Canvas {
    pixmap: Pixmap,
}

impl Canvas {
    /// `None` for a size of zero or beyond what can be addressed.
    pub fn new(width: u32, height: u32, background: Rgb) -> Option<Self> {
        let mut pixmap = Pixmap::new(width, height)?;
        pixmap.fill(opaque(background));
        Some(Self { pixmap })
    }

    pub fn width(&self) -> u32 {
        self.pixmap.width()
    }

    pub fn height(&self) -> u32 {
        self.pixmap.height()
    }

    /// Row `y` as RGB.
    pub fn rgb_row(&self, y: usize, row: &mut [u8]) {
        let width = self.pixmap.width() as usize;
        let pixels = &self.pixmap.data()[4 * y * width..4 * (y + 1) * width];
        for (to, from) in row.chunks_exact_mut(3).zip(pixels.chunks_exact(4)) {
            to.copy_from_slice(&from[..3]);
        }
    }

    /// The RGBA pixels of row `y` from `x` on, `n` of them.
    pub fn pixels_mut(&mut self, x: usize, y: usize, n: usize) -> &mut [u8] {
        let width = self.pixmap.width() as usize;
        let begin = 4 * (y * width + x);
        &mut self.pixmap.data_mut()[begin..begin + 4 * n]
    }

    pub fn fill(&mut self, frame: PixelRect, colour: Rgb) {
        if let Some(r) = Rect::from_xywh(frame.x, frame.y, frame.width, frame.height) {
            self.pixmap
                .fill_rect(r, &paint(colour), Transform::identity(), None);
        }
    }

    /// The outline of a rectangle, drawn outside of it.
    pub fn outline(&mut self, f: PixelRect, thickness: f32, colour: Rgb) {
        let t = thickness;
        let wide = PixelRect {
            x: f.x - t,
            width: f.width + 2.0 * t,
            height: t,
            ..f
        };
        let high = PixelRect { width: t, ..f };
        for edge in [
            PixelRect { y: f.y - t, ..wide },
            PixelRect {
                y: f.y + f.height,
                ..wide
            },
            PixelRect { x: f.x - t, ..high },
            PixelRect {
                x: f.x + f.width,
                ..high
            },
        ] {
            self.fill(edge, colour);
        }
    }

    /// A line through points, cut off at `within`. Points that are not finite interrupt it.
    pub fn line(&mut self, points: &[[f32; 2]], thickness: f32, colour: Rgb, within: PixelRect) {
        self.dashed(points, thickness, &[], colour, within);
    }

    /// As [`line`](Self::line), with dashes and gaps of these lengths in turn; without any, the line is solid.
    pub fn dashed(
        &mut self,
        points: &[[f32; 2]],
        thickness: f32,
        dashes: &[f32],
        colour: Rgb,
        within: PixelRect,
    ) {
        let mut path = PathBuilder::new();
        let mut pen: Option<[f32; 2]> = None;
        for pair in points.windows(2) {
            let Some((a, b)) = clip(pair[0], pair[1], within) else {
                pen = None;
                continue;
            };
            if pen != Some(a) {
                path.move_to(a[0], a[1]);
            }
            path.line_to(b[0], b[1]);
            pen = Some(b);
        }
        let stroke = Stroke {
            width: thickness,
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(dashes.to_vec(), 0.0),
            ..Stroke::default()
        };
        if let Some(path) = path.finish() {
            self.pixmap
                .stroke_path(&path, &paint(colour), &stroke, Transform::identity(), None);
        }
    }

    pub fn dot(&mut self, [x, y]: [f32; 2], radius: f32, colour: Rgb) {
        if let Some(path) = PathBuilder::from_circle(x, y, radius) {
            self.fill_path(&path, colour);
        }
    }

    /// A circle that is not filled.
    pub fn ring(&mut self, [x, y]: [f32; 2], radius: f32, thickness: f32, colour: Rgb) {
        let stroke = Stroke {
            width: thickness,
            ..Stroke::default()
        };
        if let Some(path) = PathBuilder::from_circle(x, y, radius) {
            let place = Transform::identity();
            self.pixmap
                .stroke_path(&path, &paint(colour), &stroke, place, None);
        }
    }

    /// Writes `text` with the middle of its capitals at height `y` (upwards: at `x`).
    pub fn text(&mut self, text: &str, [x, y]: [f32; 2], style: TextStyle) {
        let width = text_width(text, style.size);
        let back = match style.align {
            Align::Left => 0.0,
            Align::Centre => width / 2.0,
            Align::Right => width,
        };
        let scale = style.size / f32::from(FONT.units_per_em());
        let drop = style.size * CAPITAL / 2.0;
        let place = if style.upwards {
            Transform::from_row(0.0, -scale, -scale, 0.0, x + drop, y + back)
        } else {
            Transform::from_row(scale, 0.0, 0.0, -scale, x - back, y + drop)
        };
        let mut pen = Pen {
            path: PathBuilder::new(),
            shift: 0.0,
        };
        for c in text.chars() {
            let glyph = FONT.glyph_index(c).unwrap_or_default();
            FONT.outline_glyph(glyph, &mut pen);
            pen.shift += f32::from(FONT.glyph_hor_advance(glyph).unwrap_or(0));
        }
        if let Some(path) = pen.path.finish().and_then(|p| p.transform(place)) {
            self.fill_path(&path, style.colour);
        }
    }

    fn fill_path(&mut self, path: &Path, colour: Rgb) {
        self.pixmap.fill_path(
            path,
            &paint(colour),
            FillRule::Winding,
            Transform::identity(),
            None,
        );
    }
}

/// The characters of a text that the font of pictures does not have, each once; a box takes their place.
pub fn missing_glyphs(text: &str) -> Vec<char> {
    let mut missing: Vec<char> = text
        .chars()
        .filter(|c| !c.is_whitespace() && FONT.glyph_index(*c).is_none())
        .collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// The width of a text in pixels.
pub(super) fn text_width(text: &str, size: f32) -> f32 {
    let units: u32 = text
        .chars()
        .map(|c| {
            let glyph = FONT.glyph_index(c).unwrap_or_default();
            u32::from(FONT.glyph_hor_advance(glyph).unwrap_or(0))
        })
        .sum();
    units as f32 * size / f32::from(FONT.units_per_em())
}

/// Breaks a text between words so that no line is wider than `width`, where words allow it.
pub(super) fn wrap(text: &str, size: f32, width: f32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let longer = if line.is_empty() {
                word.to_owned()
            } else {
                format!("{line} {word}")
            };
            if !line.is_empty() && text_width(&longer, size) > width {
                lines.push(std::mem::replace(&mut line, word.to_owned()));
            } else {
                line = longer;
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

/// The part of a segment inside of a rectangle (Liang and Barsky 1984).
fn clip(a: [f32; 2], b: [f32; 2], f: PixelRect) -> Option<([f32; 2], [f32; 2])> {
    let (low, high) = ([f.x, f.y], [f.x + f.width, f.y + f.height]);
    let (mut enter, mut leave) = (0.0_f32, 1.0_f32);
    for axis in 0..2 {
        let d = b[axis] - a[axis];
        if !d.is_finite() {
            return None;
        }
        if d == 0.0 {
            if a[axis] < low[axis] || a[axis] > high[axis] {
                return None;
            }
            continue;
        }
        let (s, t) = ((low[axis] - a[axis]) / d, (high[axis] - a[axis]) / d);
        enter = enter.max(s.min(t));
        leave = leave.min(s.max(t));
    }
    let at = |t: f32| [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];
    let start = if enter == 0.0 { a } else { at(enter) };
    let end = if leave == 1.0 { b } else { at(leave) };
    (enter <= leave).then_some((start, end))
}

/// Collects the outlines of glyphs side by side, in units of the font.
struct Pen {
    path: PathBuilder,
    shift: f32,
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(x + self.shift, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(x + self.shift, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(x1 + self.shift, y1, x + self.shift, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let s = self.shift;
        self.path.cubic_to(x1 + s, y1, x2 + s, y2, x + s, y);
    }
    fn close(&mut self) {
        self.path.close();
    }
}

fn opaque([r, g, b]: Rgb) -> Color {
    Color::from_rgba8(r, g, b, 255)
}

fn paint(colour: Rgb) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(opaque(colour));
    paint.anti_alias = true;
    paint
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: PixelRect = PixelRect {
        x: 0.0,
        y: 0.0,
        width: 10.0,
        height: 10.0,
    };

    #[test]
    fn lines_end_at_the_frame() {
        assert_eq!(
            clip([-5.0, 5.0], [15.0, 5.0], BOX),
            Some(([0.0, 5.0], [10.0, 5.0]))
        );
        assert_eq!(
            clip([1.0, 2.0], [3.0, 4.0], BOX),
            Some(([1.0, 2.0], [3.0, 4.0]))
        );
        assert_eq!(clip([-5.0, 5.0], [-1.0, 20.0], BOX), None);
        assert_eq!(clip([f32::NAN, 5.0], [1.0, 1.0], BOX), None);
        assert_eq!(clip([1.0, 11.0], [9.0, 11.0], BOX), None);
    }

    #[test]
    fn every_sign_that_labels_need_is_in_the_font() {
        for c in "−×⁻⁰¹²³⁴⁵⁶⁷⁸⁹₀µαλΔ…0aZ".chars() {
            assert!(FONT.glyph_index(c).is_some(), "{c}");
        }
    }

    #[test]
    fn signs_that_the_font_lacks_are_found() {
        assert_eq!(missing_glyphs("Größe µ Ω – three bodies\n"), []);
        assert_eq!(missing_glyphs("三体 b 三"), ['三', '体']);
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        assert_eq!(wrap("one two", 10.0, 1000.0), ["one two"]);
        assert_eq!(wrap("one two", 10.0, 30.0), ["one", "two"]);
        assert_eq!(wrap("unbreakable", 10.0, 5.0), ["unbreakable"]);
        assert_eq!(wrap("", 10.0, 5.0), [""; 0]);
    }
}
