//! The size of plots and films.

use std::fmt;
use std::str::FromStr;

/// Width and height in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureSize {
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// The longest side, that of a WebP.
const MAX_SIDE: u32 = 16_384;

impl PictureSize {
    /// How much larger than a picture of this size text and lines are drawn.
    pub(crate) fn unit(self, [width, height]: [f32; 2]) -> f32 {
        (self.width as f32 / width).min(self.height as f32 / height)
    }
}

/// How much smaller text and lines of plots are drawn at most: numbers of 8.5 pixels can still be read.
const LEAST_UNIT: f32 = 0.5;

/// The share of a side of a picture that its frame must have; otherwise what is around it is left out.
const LEAST_FRAME_SHARE: f32 = 0.5;

impl PictureSize {
    /// As [`unit`](Self::unit), for plots whose texts must remain legible.
    pub(crate) fn legible_unit(self, sheet: [f32; 2]) -> f32 {
        self.unit(sheet).max(LEAST_UNIT)
    }

    /// Whether a frame as wide as this is too narrow for the picture.
    pub(crate) fn is_too_narrow(self, frame: f32) -> bool {
        frame < LEAST_FRAME_SHARE * self.width as f32
    }

    /// Whether a frame as high as this is too low for the picture.
    pub(crate) fn is_too_low(self, frame: f32) -> bool {
        frame < LEAST_FRAME_SHARE * self.height as f32
    }
}

impl FromStr for PictureSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |text: &str| {
            let side = text.parse().ok();
            side.filter(|side| (1..=MAX_SIDE).contains(side))
        };
        text.split_once(['x', 'X'])
            .and_then(|(width, height)| {
                Some(Self {
                    width: side(width)?,
                    height: side(height)?,
                })
            })
            .ok_or_else(|| {
                format!(
                    "must be WIDTHxHEIGHT, whole numbers of pixels from 1 to {MAX_SIDE}, such as 1920x1080"
                )
            })
    }
}

impl fmt::Display for PictureSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

crate::as_text!(PictureSize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for text in ["1920x1080", "1x1", "16384x200"] {
            let size: PictureSize = text.parse().expect("a size");
            assert_eq!(size.to_string(), text);
        }
        for text in ["", "100", "0x5", "5x16385", "1e3x5", "-1x2", "5x5x5"] {
            let refused = text.parse::<PictureSize>().expect_err(text);
            assert!(refused.contains("WIDTHxHEIGHT"), "{refused}");
        }
    }
}
