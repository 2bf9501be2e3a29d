//! TIFF encoding of palette pictures, strip by strip: for maps that are too large for other programs to open as PNG.

use std::io::{Seek, Write};

use tiff::TiffResult;
use tiff::encoder::colortype::ColorType;
use tiff::encoder::{ImageEncoder, TiffEncoder, TiffKind};
use tiff::tags::{PhotometricInterpretation, SampleFormat, Tag};

use super::colour::Rgb;

/// One byte per pixel, an entry of the palette.
struct Palette;

impl ColorType for Palette {
    type Inner = u8;
    const TIFF_VALUE: PhotometricInterpretation = PhotometricInterpretation::RGBPalette;
    const BITS_PER_SAMPLE: &'static [u16] = &[8];
    const SAMPLE_FORMAT: &'static [SampleFormat] = &[SampleFormat::Uint];

    /// Entries of a palette are not amounts, so there is nothing to predict.
    fn horizontal_predict(row: &[u8], result: &mut Vec<u8>) {
        result.extend_from_slice(row);
    }
}

/// Approximate number of pixels of a strip.
const STRIP_PIXELS: usize = 1 << 20;
/// Pixels up to which a file is plain TIFF, whose offsets have 32 bits; larger ones are BigTIFF.
const MAX_PLAIN_PIXELS: u64 = 1 << 31;

/// Writes a picture whose rows, top first, `fill` provides.
pub(super) fn encode(
    w: impl Write + Seek,
    (width, height): (u32, u32),
    palette: &[Rgb],
    specification: Option<&str>,
    fill: impl FnMut(usize, &mut [u8]),
) -> TiffResult<()> {
    encode_up_to(
        MAX_PLAIN_PIXELS,
        w,
        (width, height),
        palette,
        specification,
        fill,
    )
}

/// As [`encode`], with another limit of plain TIFF.
fn encode_up_to(
    plain: u64,
    w: impl Write + Seek,
    (width, height): (u32, u32),
    palette: &[Rgb],
    specification: Option<&str>,
    fill: impl FnMut(usize, &mut [u8]),
) -> TiffResult<()> {
    // Not compressed: the encoder compresses whole pictures only.
    let (size, about) = ((width, height), (palette, specification));
    if u64::from(width) * u64::from(height) < plain {
        let mut encoder = TiffEncoder::new(w)?;
        strips(
            encoder.new_image::<Palette>(width, height)?,
            size,
            about,
            fill,
        )
    } else {
        let mut encoder = TiffEncoder::new_big(w)?;
        strips(
            encoder.new_image::<Palette>(width, height)?,
            size,
            about,
            fill,
        )
    }
}

fn strips<W: Write + Seek, K: TiffKind>(
    mut image: ImageEncoder<'_, W, Palette, K>,
    (width, height): (u32, u32),
    (palette, specification): (&[Rgb], Option<&str>),
    mut fill: impl FnMut(usize, &mut [u8]),
) -> TiffResult<()> {
    image.encoder().write_tag(Tag::Software, "Trisolar")?;
    if let Some(specification) = specification {
        // The format's texts are ASCII, and so is the JSON of numbers and names.
        image
            .encoder()
            .write_tag(Tag::ImageDescription, specification)?;
    }
    // All 256 reds, then greens, then blues, in 16 bits.
    let channel =
        |k: usize| (0..256).map(move |i| palette.get(i).map_or(0, |c| u16::from(c[k]) * 257));
    let map: Vec<u16> = (0..3).flat_map(channel).collect();
    image.encoder().write_tag(Tag::ColorMap, &map[..])?;
    let (width, height) = (width as usize, height as usize);
    let rows = (STRIP_PIXELS / width).clamp(1, height);
    image.rows_per_strip(rows as u32)?;
    let mut strip = vec![0; rows * width];
    for first in (0..height).step_by(rows) {
        let count = rows.min(height - first);
        for (n, row) in strip.chunks_exact_mut(width).take(count).enumerate() {
            fill(first + n, row);
        }
        image.write_strip(&strip[..count * width])?;
    }
    image.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use tiff::decoder::{Decoder, DecodingResult};

    use super::*;

    /// The same file with another tag PhotometricInterpretation (262): one value of 16 bits, 3 for a palette, 1 for grey.
    fn as_grey(mut bytes: Vec<u8>, big: bool) -> Vec<u8> {
        let mut entry = vec![6, 1, 3, 0, 1, 0, 0, 0];
        entry.extend(if big {
            &[0, 0, 0, 0, 3, 0][..]
        } else {
            &[3, 0]
        });
        let found = bytes.windows(entry.len()).position(|w| w == entry);
        let value = found.expect("a palette picture") + entry.len() - 2;
        bytes[value] = 1;
        bytes
    }

    #[test]
    fn plain_and_big_files_hold_every_entry_the_palette_and_the_specification() {
        let (width, height) = (1000_u32, 2500_u32);
        let palette: Vec<Rgb> = (0..200).map(|i| [i, 255 - i, i / 2]).collect();
        let entry = |x: usize, y: usize| ((x * 7 + y * 13) % 200) as u8;
        for (plain, magic) in [(u64::MAX, 42), (0, 43)] {
            let mut file = Cursor::new(Vec::new());
            let fill = |y: usize, row: &mut [u8]| {
                for (x, pixel) in row.iter_mut().enumerate() {
                    *pixel = entry(x, y);
                }
            };
            let size = (width, height);
            encode_up_to(
                plain,
                &mut file,
                size,
                &palette,
                Some("{\"steps\":5}"),
                fill,
            )
            .unwrap();
            let bytes = file.into_inner();
            assert_eq!(bytes[2], magic);
            let mut decoder = Decoder::new(Cursor::new(&bytes)).unwrap();
            assert_eq!(decoder.dimensions().unwrap(), size);
            let text = decoder.get_tag_ascii_string(Tag::ImageDescription).unwrap();
            assert_eq!(text, "{\"steps\":5}");
            let map = decoder.get_tag_u16_vec(Tag::ColorMap).unwrap();
            assert_eq!(map.len(), 768);
            for i in 0..200 {
                let colour = [map[i], map[256 + i], map[512 + i]].map(|c| (c >> 8) as u8);
                assert_eq!(colour, palette[i]);
            }
            // The decoder knows no palettes: of a grey picture it gives the entries as they are.
            let grey = as_grey(bytes, magic == 43);
            let mut decoder = Decoder::new(Cursor::new(grey)).unwrap();
            let DecodingResult::U8(pixels) = decoder.read_image().unwrap() else {
                panic!("not bytes")
            };
            for (i, pixel) in pixels.into_iter().enumerate() {
                assert_eq!(pixel, entry(i % 1000, i / 1000));
            }
        }
    }
}
