//! PNG encoding from rows, with text chunks that describe how the picture was made.

use std::borrow::Cow;
use std::io::Write;

use png::{BitDepth, ColorType, Compression, EncodingError, PixelDimensions, Unit};

use super::IoError;
use super::atomic::AtomicFile;
use super::colour::Rgb;
use super::npy::data_error;

/// The type of a pixel.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pixels<'a> {
    Rgb,
    /// One byte per pixel, an entry of the palette.
    Indexed(&'a [Rgb]),
}

/// The keyword of the note that holds the specification as JSON.
pub(super) const SPECIFICATION: &str = "Specification";

/// What a picture tells about itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct About<'a> {
    pub specification: Option<&'a str>,
    /// Pixels per inch.
    pub dpi: Option<u32>,
}

impl<'a> From<Option<&'a str>> for About<'a> {
    fn from(specification: Option<&'a str>) -> Self {
        Self {
            specification,
            dpi: None,
        }
    }
}

/// Writes a picture whose rows, top first, `fill` provides.
pub(super) fn encode<'a>(
    w: impl Write,
    (width, height): (u32, u32),
    pixels: Pixels<'_>,
    about: impl Into<About<'a>>,
    mut fill: impl FnMut(usize, &mut [u8]),
) -> Result<(), EncodingError> {
    let About { specification, dpi } = about.into();
    let mut encoder = png::Encoder::new(w, width, height);
    if let Some(dpi) = dpi {
        let per_metre = (f64::from(dpi) / 0.0254).round() as u32;
        encoder.set_pixel_dims(Some(PixelDimensions {
            xppu: per_metre,
            yppu: per_metre,
            unit: Unit::Meter,
        }));
    }
    encoder.set_depth(BitDepth::Eight);
    let bytes = match pixels {
        Pixels::Rgb => {
            encoder.set_color(ColorType::Rgb);
            3
        }
        Pixels::Indexed(palette) => {
            encoder.set_color(ColorType::Indexed);
            encoder.set_palette(Cow::Owned(palette.concat()));
            1
        }
    };
    encoder.set_compression(Compression::Fast);
    encoder.add_text_chunk("Software".to_owned(), "Trisolar".to_owned())?;
    if let Some(specification) = specification {
        encoder.add_itxt_chunk(SPECIFICATION.to_owned(), specification.to_owned())?;
    }
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer_with_size(1 << 16)?;
    let mut row = vec![0; width as usize * bytes];
    for y in 0..height as usize {
        fill(y, &mut row);
        stream.write_all(&row)?;
    }
    stream.finish()?;
    writer.finish()
}

pub(super) fn encoding_error(file: &AtomicFile, e: EncodingError) -> IoError {
    match e {
        EncodingError::IoError(e) => file.error(e),
        e => data_error(file.path(), e.to_string()),
    }
}
