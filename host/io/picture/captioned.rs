//! Pictures with one pixel per value and a line of text below, in the colours of the map alone, so that films of 256 colours keep
//! every pixel; and such pictures in other colours.

use std::path::Path;

use super::{Map, PictureStyle};
use crate::IoError;
use crate::atomic;
use crate::canvas::{Align, Canvas, TextStyle, text_width};
use crate::colour::{ColourMap, Rgb, lightness};
use crate::npy::data_error;
use crate::png_file::{self, Pixels, encoding_error};

/// The least width of a picture that can have a caption (pixels).
pub const MIN_CAPTIONED_PIXELS: u64 = 120;

/// The entries of a picture with one pixel per value, without its caption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entries {
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The entry of each pixel in the palette, row-major.
    pub pixels: Vec<u8>,
    /// Whether all values are finite; otherwise the last entry is that of the others.
    pub all_finite: bool,
}

/// Height of the caption of a picture of this width (pixels): an even number, because films are often restricted to these.
pub fn caption_height(width: u32) -> u32 {
    2 * (font_size(width) * 0.85).round() as u32
}

fn font_size(width: u32) -> f32 {
    (width as f32 / 28.0).clamp(11.0, 40.0)
}

/// As [`bare`](super::bare), with a caption below the map.
///
/// # Errors
/// As [`bare`](super::bare).
pub fn captioned(
    path: impl AsRef<Path>,
    map: &Map<'_>,
    style: &PictureStyle,
    caption: &str,
    specification: Option<&str>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let scale = map.scale(style).map_err(|e| data_error(path, e))?;
    let palette = scale.palette(style.colour_map);
    write(
        path,
        map.size(),
        &palette,
        Some(caption),
        specification,
        map.entries(scale),
    )
}

/// Writes a picture with one pixel per value again, in the colours of another map, and with a caption below if there is one.
///
/// # Errors
/// [`IoError::Data`] if there are more or fewer pixels than width × height, and those of [`AtomicFile`](atomic::AtomicFile).
pub fn recoloured(
    path: impl AsRef<Path>,
    entries: &Entries,
    map: ColourMap,
    caption: Option<&str>,
    specification: Option<&str>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let width = entries.width as usize;
    if width == 0 || entries.pixels.len() != width * entries.height as usize {
        let reason = "a picture needs as many pixels as its width times its height";
        return Err(data_error(path, reason.to_owned()));
    }
    let palette = map.entries(entries.all_finite);
    write(
        path,
        (entries.width, entries.height),
        &palette,
        caption,
        specification,
        |y, row| row.copy_from_slice(&entries.pixels[y * width..][..width]),
    )
}

fn write(
    path: &Path,
    (width, height): (u32, u32),
    palette: &[Rgb],
    caption: Option<&str>,
    specification: Option<&str>,
    mut fill: impl FnMut(usize, &mut [u8]),
) -> Result<(), IoError> {
    let strip = match caption {
        None => Vec::new(),
        Some(text) => strip(text, width, palette)
            .ok_or_else(|| data_error(path, "the caption is too wide".to_owned()))?,
    };
    let rows = height + (strip.len() / width as usize) as u32;
    atomic::write_with(path, |file| {
        let pixels = Pixels::Indexed(palette);
        png_file::encode(
            &mut *file,
            (width, rows),
            pixels,
            specification,
            |y, row| match y.checked_sub(height as usize) {
                None => fill(y, row),
                Some(line) => row.copy_from_slice(&strip[line * width as usize..][..row.len()]),
            },
        )
        .map_err(|e| encoding_error(file, e))
    })
}

/// The entries of the rows of a caption: the brightest colour on the darkest one, with those between at the edges of the letters.
fn strip(text: &str, width: u32, palette: &[Rgb]) -> Option<Vec<u8>> {
    let height = caption_height(width);
    let mut canvas = Canvas::new(width, height, [0; 3])?;
    let room = 0.96 * width as f32;
    let size = font_size(width);
    let style = TextStyle {
        size: size * (room / text_width(text, size)).min(1.0),
        colour: [255; 3],
        align: Align::Centre,
        upwards: false,
    };
    canvas.text(text, [width as f32 / 2.0, height as f32 / 2.0], style);
    let dark = palette.iter().min_by_key(|c| lightness(**c))?;
    let bright = palette.iter().max_by_key(|c| lightness(**c))?;
    let nearest = |cover: u8| {
        let wanted = [0, 1, 2].map(|k| {
            let [from, to] = [dark[k], bright[k]].map(i32::from);
            from + (to - from) * i32::from(cover) / 255
        });
        let distance = |c: &Rgb| -> i32 {
            let squares = (0..3).map(|k| (i32::from(c[k]) - wanted[k]).pow(2));
            squares.sum()
        };
        let found = (0..palette.len()).min_by_key(|&i| distance(&palette[i]));
        found.unwrap_or_default() as u8
    };
    let entries: Vec<u8> = (0..=255).map(nearest).collect();
    let mut rgb = vec![0; 3 * width as usize];
    let mut strip = Vec::with_capacity(width as usize * height as usize);
    for y in 0..height as usize {
        canvas.rgb_row(y, &mut rgb);
        strip.extend(rgb.chunks_exact(3).map(|c| entries[usize::from(c[0])]));
    }
    Some(strip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::bare;

    /// Width, height, palette and pixels of an indexed picture.
    fn decoded(path: &Path) -> (u32, u32, Vec<u8>, Vec<u8>) {
        let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let palette = reader.info().palette.as_ref().unwrap().to_vec();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let info = reader.info();
        (info.width, info.height, palette, pixels)
    }

    #[test]
    fn another_colour_map_gives_the_bytes_of_a_new_picture() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for holed in [false, true] {
            let mut values: Vec<f64> = (0..150 * 4).map(f64::from).collect();
            if holed {
                values[7] = f64::NAN;
            }
            let map = Map::new(&values, 150, 4);
            for colour_map in ColourMap::ALL {
                let style = |colour_map| PictureStyle {
                    colour_map,
                    ..PictureStyle::default()
                };
                bare(at("first.png"), &map, &style(ColourMap::Inferno), None).unwrap();
                let (width, height, _, pixels) = decoded(&at("first.png"));
                let entries = Entries {
                    width,
                    height,
                    pixels,
                    all_finite: !holed,
                };
                bare(at("a.png"), &map, &style(colour_map), None).unwrap();
                recoloured(at("b.png"), &entries, colour_map, None, None).unwrap();
                let bytes = |name| std::fs::read(at(name)).unwrap();
                assert!(bytes("a.png") == bytes("b.png"), "{colour_map} {holed}");
                captioned(at("a.png"), &map, &style(colour_map), "span 3", None).unwrap();
                recoloured(at("b.png"), &entries, colour_map, Some("span 3"), None).unwrap();
                assert!(bytes("a.png") == bytes("b.png"), "{colour_map} {holed}");
            }
        }
    }

    #[test]
    fn a_caption_is_below_the_map_and_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let values: Vec<f64> = (0..200 * 3).map(f64::from).collect();
        let map = Map::new(&values, 200, 3);
        for colour_map in ColourMap::ALL {
            let style = PictureStyle {
                colour_map,
                ..PictureStyle::default()
            };
            let long = "span 40, shift 0.001, steps 50000, and much more than there is room for";
            for text in ["span 40", long] {
                captioned(&path, &map, &style, text, None).unwrap();
                let (width, height, palette, pixels) = decoded(&path);
                assert_eq!((width, height), (200, 3 + caption_height(200)));
                assert_eq!(height % 2, 1);
                assert_eq!((pixels[0], pixels[599]), (0, 255));
                let light = |i: &u8| palette[3 * usize::from(*i) + 1];
                let text = &pixels[600..];
                let (least, most) = (text.iter().map(light).min(), text.iter().map(light).max());
                assert!(most.unwrap() - least.unwrap() > 150, "{colour_map}");
                // Nothing is cut off at the sides.
                let edge = |row: &[u8]| row[0] == text[0] && row[199] == text[0];
                assert!(text.chunks(200).all(edge));
            }
        }
    }
}
