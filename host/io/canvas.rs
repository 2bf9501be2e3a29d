//! A sheet to draw on: rectangles, lines, text and images, for [`picture`](super::picture) and [`plot`](super::plot). The sheet keeps
//! what is drawn, so that one drawing becomes pixels ([`raster`]), SVG ([`svg`]) or PDF ([`pdf`]) with the same lengths.

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

use tiny_skia::Pixmap;

use super::colour::Rgb;

mod font;
pub(super) mod pdf;
mod raster;
mod shapes;
mod subset;
pub(super) mod svg;

pub use font::missing_glyphs;
pub(super) use font::{text_width, wrap};
use shapes::Shape;
pub(super) use shapes::{Align, Image, PixelRect, Sheet, TextStyle};

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

crate::names!(Theme {
    Dark = "dark",
    Light = "light",
});

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

    /// The colours of lines and bodies: a hue has the same place in both themes. Colour-blind readers can distinguish the first seven.
    pub(super) const fn palette(self) -> &'static [Rgb; 10] {
        match self {
            Self::Dark => &[
                [252, 165, 10],
                [86, 180, 233],
                [226, 120, 178],
                [52, 199, 140],
                [240, 228, 66],
                [221, 81, 58],
                [160, 140, 245],
                [210, 210, 215],
                [150, 215, 60],
                [176, 124, 86],
            ],
            Self::Light => &[
                [213, 94, 0],
                [0, 114, 178],
                [190, 80, 145],
                [0, 135, 100],
                [140, 110, 0],
                [175, 25, 35],
                [90, 60, 170],
                [70, 70, 70],
                [105, 160, 0],
                [125, 55, 20],
            ],
        }
    }

    /// The colour of a body in every picture; `body` counts from 0, so that body 1 of a legend has the colour of 0.
    pub const fn colour_of_body(self, body: usize) -> Rgb {
        let palette = self.palette();
        palette[body % palette.len()]
    }
}

pub(super) struct Canvas {
    sheet: Sheet,
    /// The pixels, once they are asked for.
    pixels: OnceLock<Pixmap>,
}

impl Canvas {
    /// `None` for a size of zero or beyond what can be addressed.
    pub fn new(width: u32, height: u32, background: Rgb) -> Option<Self> {
        let bytes = u64::from(width) * u64::from(height) * 4;
        let addressed = isize::try_from(bytes).is_ok() && width.max(height) <= MAX_SIDE_PIXELS;
        let sheet = Sheet {
            width,
            height,
            background,
            shapes: Vec::new(),
        };
        (bytes > 0 && addressed).then_some(Self {
            sheet,
            pixels: OnceLock::new(),
        })
    }

    pub fn width(&self) -> u32 {
        self.sheet.width
    }

    pub fn height(&self) -> u32 {
        self.sheet.height
    }

    /// Row `y` as RGB. The first call draws the sheet, and what is added later is not shown.
    pub fn rgb_row(&self, y: usize, row: &mut [u8]) {
        let pixels = self.pixels.get_or_init(|| {
            raster::draw(&self.sheet).expect("the size of the sheet has been checked")
        });
        let width = self.sheet.width as usize;
        let pixels = &pixels.data()[4 * y * width..4 * (y + 1) * width];
        for (to, from) in row.chunks_exact_mut(3).zip(pixels.chunks_exact(4)) {
            to.copy_from_slice(&from[..3]);
        }
    }

    /// Everything that has been drawn.
    pub fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn add(&mut self, shape: Shape) {
        self.sheet.shapes.push(shape);
    }

    /// Draws an image with its upper left corner at `at`, enlarged to `size`.
    pub fn image(&mut self, at: [usize; 2], size: [usize; 2], image: Image) {
        if size[0] > 0 && size[1] > 0 && !image.rgb.is_empty() {
            self.add(Shape::Image { at, size, image });
        }
    }

    pub fn fill(&mut self, frame: PixelRect, colour: Rgb) {
        self.add(Shape::Fill { frame, colour });
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
        let mut lines: Vec<Vec<[f32; 2]>> = Vec::new();
        let mut pen: Option<[f32; 2]> = None;
        for pair in points.windows(2) {
            let Some((a, b)) = clip(pair[0], pair[1], within) else {
                pen = None;
                continue;
            };
            match lines.last_mut() {
                Some(line) if pen == Some(a) => line.push(b),
                _ => lines.push(vec![a, b]),
            }
            pen = Some(b);
        }
        if !lines.is_empty() {
            self.add(Shape::Lines {
                lines,
                thickness,
                dashes: dashes.to_vec(),
                colour,
            });
        }
    }

    pub fn dot(&mut self, centre: [f32; 2], radius: f32, colour: Rgb) {
        self.circle(centre, radius, None, colour);
    }

    /// A circle that is not filled.
    pub fn ring(&mut self, centre: [f32; 2], radius: f32, thickness: f32, colour: Rgb) {
        self.circle(centre, radius, Some(thickness), colour);
    }

    fn circle(&mut self, centre: [f32; 2], radius: f32, thickness: Option<f32>, colour: Rgb) {
        if centre.iter().all(|c| c.is_finite()) {
            self.add(Shape::Circle {
                centre,
                radius,
                thickness,
                colour,
            });
        }
    }

    /// Writes `text` with the middle of its capitals at height `y` (upwards: at `x`).
    pub fn text(&mut self, text: &str, at: [f32; 2], style: TextStyle) {
        if !text.is_empty() {
            let text = text.to_owned();
            self.add(Shape::Text { text, at, style });
        }
    }
}

/// The longest side of a sheet.
const MAX_SIDE_PIXELS: u32 = i32::MAX as u32 / 4;

/// The part of a segment inside of a rectangle (Liang and Barsky 1984).
pub(super) fn clip(a: [f32; 2], b: [f32; 2], f: PixelRect) -> Option<([f32; 2], [f32; 2])> {
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
}
