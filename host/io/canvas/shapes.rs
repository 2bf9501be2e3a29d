//! What a sheet shows, before it becomes pixels or a file.

use crate::colour::Rgb;

/// The part of a text that lies at the given point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Centre,
    Right,
}

/// The style of a text; the size is in pixels per em.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextStyle {
    pub size: f32,
    pub colour: Rgb,
    pub align: Align,
    /// Read from bottom to top.
    pub upwards: bool,
}

/// A rectangle in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PixelRect {
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

/// An image of RGB pixels, row by row, the top row first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<u8>,
}

impl Image {
    /// An image whose rows `fill` provides, from the top.
    pub fn from_rows(width: usize, height: usize, mut fill: impl FnMut(usize, &mut [u8])) -> Self {
        let mut rgb = vec![0; 3 * width * height];
        for (y, row) in rgb.chunks_exact_mut((3 * width).max(1)).enumerate() {
            fill(y, row);
        }
        Self { width, height, rgb }
    }

    /// The image with its pixels repeated as often as they fit into `size`: programs that smooth images then do so at the edges of its
    /// pixels only.
    pub(super) fn repeated(&self, size: [usize; 2]) -> Self {
        let [x, y] = [size[0] / self.width, size[1] / self.height].map(|times| times.max(1));
        Self::from_rows(x * self.width, y * self.height, |line, row| {
            let from = self.row(line / y).chunks_exact(3);
            for (to, pixel) in row.chunks_exact_mut(3 * x).zip(from) {
                to.chunks_exact_mut(3)
                    .for_each(|to| to.copy_from_slice(pixel));
            }
        })
    }

    pub(super) fn row(&self, y: usize) -> &[u8] {
        &self.rgb[3 * y * self.width..][..3 * self.width]
    }

    /// The colours in the order of their first occurrence, and the place of each pixel's colour among them, if there are at most 256.
    pub(super) fn indexed(&self) -> Option<(Vec<Rgb>, Vec<u8>)> {
        let mut palette: Vec<Rgb> = Vec::new();
        let mut places = std::collections::HashMap::new();
        let mut entries = Vec::with_capacity(self.width * self.height);
        for pixel in self.rgb.chunks_exact(3) {
            let colour = [pixel[0], pixel[1], pixel[2]];
            let place = *places.entry(colour).or_insert_with(|| {
                palette.push(colour);
                palette.len() - 1
            });
            entries.push(u8::try_from(place).ok()?);
        }
        Some((palette, entries))
    }
}

/// What is drawn; lengths are in pixels, x to the right and y downwards.
#[derive(Debug)]
pub(super) enum Shape {
    Fill {
        frame: PixelRect,
        colour: Rgb,
    },
    /// Lines of at least two points.
    Lines {
        lines: Vec<Vec<[f32; 2]>>,
        thickness: f32,
        dashes: Vec<f32>,
        colour: Rgb,
    },
    Circle {
        centre: [f32; 2],
        radius: f32,
        /// The thickness of its line; `None` for a disc.
        thickness: Option<f32>,
        colour: Rgb,
    },
    Text {
        text: String,
        at: [f32; 2],
        style: TextStyle,
    },
    /// An image whose pixels are repeated to fill `size`.
    Image {
        at: [usize; 2],
        size: [usize; 2],
        image: Image,
    },
}

/// A sheet with everything that has been drawn on it, in the order in which it covers what is below.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) background: Rgb,
    pub(super) shapes: Vec<Shape>,
}
