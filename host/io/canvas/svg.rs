//! Writes a sheet as SVG. Texts stay texts, which can be searched and edited; each states the width that it has in the picture, so that
//! another font takes the same room where the one of the pictures is missing.

use std::io::{self, Write};

use super::font::{self, missing_glyphs, text_width};
use super::shapes::{Align, Image, Shape, Sheet, TextStyle};
use crate::colour::Rgb;
use crate::png_file::{self, About, Pixels};

/// The font of the pictures, and others with letters of about its widths.
const FONTS: &str = "DejaVu Sans, Bitstream Vera Sans, Verdana, sans-serif";

/// Pixels of CSS in an inch.
const CSS_PIXELS: f64 = 96.0;

/// Writes the whole file.
pub(in super::super) fn write(
    w: &mut impl Write,
    sheet: &Sheet,
    about: About<'_>,
) -> io::Result<()> {
    let (width, height) = (sheet.width, sheet.height);
    let scale = CSS_PIXELS / about.dpi.map_or(CSS_PIXELS, f64::from);
    let [wide, high] = [width, height].map(|side| number(f64::from(side) * scale));
    writeln!(w, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        w,
        r#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.1" width="{wide}" height="{high}" viewBox="0 0 {width} {height}">"#
    )?;
    writeln!(w, r#"<metadata id="software">Trisolar</metadata>"#)?;
    if let Some(json) = about.specification {
        writeln!(
            w,
            r#"<metadata id="specification">{}</metadata>"#,
            escaped(json)
        )?;
    }
    let background = colour(sheet.background);
    writeln!(
        w,
        r#"<rect width="{width}" height="{height}" fill="{background}"/>"#
    )?;
    writeln!(
        w,
        r#"<g font-family="{FONTS}" stroke-linecap="round" stroke-linejoin="round" xml:space="preserve">"#
    )?;
    for shape in &sheet.shapes {
        write_shape(w, shape)?;
    }
    writeln!(w, "</g>\n</svg>")
}

fn write_shape(w: &mut impl Write, shape: &Shape) -> io::Result<()> {
    match shape {
        Shape::Fill { frame, colour: c } => {
            if frame.width <= 0.0 || frame.height <= 0.0 {
                return Ok(());
            }
            let [x, y, width, height] = [frame.x, frame.y, frame.width, frame.height].map(short);
            let fill = colour(*c);
            writeln!(
                w,
                r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"/>"#
            )
        }
        Shape::Lines {
            lines,
            thickness,
            dashes,
            colour: c,
        } => {
            write!(w, r#"<path d=""#)?;
            for line in lines {
                for (i, [x, y]) in points(line).iter().enumerate() {
                    let sign = ["M", "L", " "][i.min(2)];
                    write!(w, "{sign}{x} {y}")?;
                }
            }
            write!(
                w,
                r#"" fill="none" stroke="{}" stroke-width="{}""#,
                colour(*c),
                short(*thickness)
            )?;
            if !dashes.is_empty() {
                let dashes: Vec<String> = dashes.iter().copied().map(short).collect();
                write!(w, r#" stroke-dasharray="{}""#, dashes.join(" "))?;
            }
            writeln!(w, "/>")
        }
        Shape::Circle {
            centre,
            radius,
            thickness,
            colour: c,
        } => {
            let [x, y] = centre.map(short);
            let paint = match thickness {
                None => format!(r#"fill="{}""#, colour(*c)),
                Some(t) => format!(
                    r#"fill="none" stroke="{}" stroke-width="{}""#,
                    colour(*c),
                    short(*t)
                ),
            };
            writeln!(
                w,
                r#"<circle cx="{x}" cy="{y}" r="{}" {paint}/>"#,
                short(*radius)
            )
        }
        Shape::Text { text, at, style } => write_text(w, text, *at, *style),
        Shape::Image { at, size, image } => {
            let ([x, y], [width, height]) = (at, size);
            write!(
                w,
                r#"<image x="{x}" y="{y}" width="{width}" height="{height}" preserveAspectRatio="none" style="image-rendering:pixelated" xlink:href="data:image/png;base64,"#
            )?;
            w.write_all(base64(&png(&image.repeated(*size))?).as_bytes())?;
            writeln!(w, r#""/>"#)
        }
    }
}

fn write_text(
    w: &mut impl Write,
    text: &str,
    [x, y]: [f32; 2],
    style: TextStyle,
) -> io::Result<()> {
    let anchor = match style.align {
        Align::Left => "start",
        Align::Centre => "middle",
        Align::Right => "end",
    };
    let drop = font::drop(style.size);
    if style.upwards {
        let [x, y] = [x + drop, y].map(short);
        write!(w, r#"<text transform="translate({x} {y}) rotate(-90)""#)?;
    } else {
        write!(w, r#"<text x="{}" y="{}""#, short(x), short(y + drop))?;
    }
    write!(
        w,
        r#" font-size="{}" text-anchor="{anchor}" fill="{}""#,
        short(style.size),
        colour(style.colour)
    )?;
    // The width of a sign that the font lacks is unknown: the viewer takes it from another font.
    if missing_glyphs(text).is_empty() {
        let width = short(text_width(text, style.size));
        write!(
            w,
            r#" textLength="{width}" lengthAdjust="spacingAndGlyphs""#
        )?;
    }
    writeln!(w, ">{}</text>", escaped(text))
}

fn png(image: &Image) -> io::Result<Vec<u8>> {
    let side = |n: usize| u32::try_from(n).map_err(io::Error::other);
    let size = (side(image.width)?, side(image.height)?);
    let mut file = Vec::new();
    let encoded = match image.indexed() {
        Some((palette, entries)) => {
            let row = |y: usize, row: &mut [u8]| {
                row.copy_from_slice(&entries[y * image.width..][..image.width])
            };
            png_file::encode(&mut file, size, Pixels::Indexed(&palette), None, row)
        }
        None => png_file::encode(&mut file, size, Pixels::Rgb, None, |y, row| {
            row.copy_from_slice(image.row(y))
        }),
    };
    encoded.map_err(io::Error::other)?;
    Ok(file)
}

fn colour([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn short(x: f32) -> String {
    number(f64::from(x))
}

/// The points of a line as they are written: those that differ from the one before, and at least two, since a line of one point is a dot.
pub(super) fn points(line: &[[f32; 2]]) -> Vec<[String; 2]> {
    let mut points: Vec<[String; 2]> = line.iter().map(|point| point.map(short)).collect();
    points.dedup();
    if let [only] = &points[..] {
        points.push(only.clone());
    }
    points
}

/// A length with at most two decimals.
pub(super) fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

/// A text in XML, which cannot hold control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\t' | '\n' | '\r' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Bytes as text (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |k: usize| u32::from(three.get(k).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for k in 0..4 {
            let sign = SIGNS[(bits >> (18 - 6 * k) & 63) as usize];
            text.push(if k > three.len() {
                '='
            } else {
                char::from(sign)
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_the_standard_says() {
        // The examples of RFC 4648.
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn lengths_are_short_and_texts_are_escaped() {
        let lengths = [1.0, 0.125, -0.001, 12.3456, -1.5].map(number);
        assert_eq!(lengths, ["1", "0.12", "0", "12.35", "-1.5"]);
        assert_eq!(escaped("a<b & \"c\"\u{1}"), "a&lt;b &amp; \"c\"\u{fffd}");
    }
}
