//! Writes a sheet as a PDF of one page (PDF 32000-1), with the glyphs of its texts and the characters that they stand for, so that
//! texts look the same everywhere and can be searched.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use flate2::{Compression, write::ZlibEncoder};

use super::font::text_width;
use super::font::{self, FONT};
use super::shapes::{Align, Image, Shape, Sheet, TextStyle};
use super::subset::{Subset, subset};
use super::svg::{number, points};
use crate::colour::Rgb;
use crate::png_file::About;

/// Points in an inch, and pixels in an inch where none are given: those of CSS.
const POINTS: f64 = 72.0;
const PIXELS: f64 = 96.0;

/// The distance of the control points of a quarter of a circle, for a radius of 1.
const QUARTER: f32 = 0.552_284_8;

/// The numbers of the objects that every file has.
const CATALOGUE: usize = 1;
const PAGES: usize = 2;
const PAGE: usize = 3;
const CONTENTS: usize = 4;
const INFORMATION: usize = 5;
const FONT_OBJECT: usize = 6;
const DESCENDANT: usize = 7;
const DESCRIPTOR: usize = 8;
const FONT_FILE: usize = 9;
const CHARACTERS: usize = 10;
const FIRST_IMAGE: usize = 11;

/// Writes the whole file.
pub(in super::super) fn write(
    w: &mut impl Write,
    sheet: &Sheet,
    about: About<'_>,
) -> io::Result<()> {
    let used = characters(sheet);
    let glyphs = used.values().copied();
    let subset = subset(glyphs)
        .ok_or_else(|| io::Error::other("the font in the program is not complete"))?;
    let mut page = Page {
        content: String::new(),
        images: Vec::new(),
        used: &used,
        subset: &subset,
    };
    let scale = POINTS / about.dpi.map_or(PIXELS, f64::from);
    let [width, height] = [sheet.width, sheet.height].map(f64::from);
    let [wide, high] = [width, height].map(|side| number(side * scale));
    // From here on, lengths are in pixels and y grows downwards.
    let content = &mut page.content;
    let _ = writeln!(content, "{scale:.6} 0 0 {:.6} 0 {high} cm 1 J 1 j", -scale);
    let _ = writeln!(
        content,
        "{} rg 0 0 {width} {height} re f",
        colour(sheet.background)
    );
    for shape in &sheet.shapes {
        page.draw(shape);
    }
    let Page {
        content, images, ..
    } = page;

    let mut file = File::new(w)?;
    file.object(
        CATALOGUE,
        &format!("<< /Type /Catalog /Pages {PAGES} 0 R >>"),
    )?;
    file.object(
        PAGES,
        &format!("<< /Type /Pages /Kids [{PAGE} 0 R] /Count 1 >>"),
    )?;
    let mut objects = String::new();
    for i in 0..images.len() {
        let _ = write!(objects, "/I{i} {} 0 R ", FIRST_IMAGE + 2 * i);
    }
    file.object(
        PAGE,
        &format!(
            "<< /Type /Page /Parent {PAGES} 0 R /MediaBox [0 0 {wide} {high}] /Contents {CONTENTS} 0 R \
             /Resources << /Font << /F {FONT_OBJECT} 0 R >> /XObject << {objects}>> >> >>"
        ),
    )?;
    file.stream(CONTENTS, "", content.as_bytes())?;
    let specification = (about.specification).map_or_else(String::new, |json| {
        format!(" /Specification {}", text_string(json))
    });
    file.object(
        INFORMATION,
        &format!("<< /Producer (Trisolar){specification} >>"),
    )?;
    write_font(&mut file, &used, &subset)?;
    for (i, image) in images.into_iter().enumerate() {
        write_image(&mut file, FIRST_IMAGE + 2 * i, &image)?;
    }
    file.finish()
}

/// The characters of all texts with their glyphs.
fn characters(sheet: &Sheet) -> BTreeMap<char, u16> {
    let texts = sheet.shapes.iter().filter_map(|shape| match shape {
        Shape::Text { text, .. } => Some(text),
        _ => None,
    });
    let all = texts.flat_map(|text| text.chars());
    all.map(|c| (c, font::glyph(c).0)).collect()
}

/// What the page shows.
struct Page<'a> {
    content: String,
    images: Vec<Image>,
    used: &'a BTreeMap<char, u16>,
    subset: &'a Subset,
}

impl Page<'_> {
    fn draw(&mut self, shape: &Shape) {
        let to = &mut self.content;
        // Writing to a string does not fail.
        let _ = match shape {
            Shape::Fill { frame, colour: c } => {
                let [x, y, w, h] = [frame.x, frame.y, frame.width, frame.height].map(short);
                writeln!(to, "{} rg {x} {y} {w} {h} re f", colour(*c))
            }
            Shape::Lines {
                lines,
                thickness,
                dashes,
                colour: c,
            } => {
                let dashes: Vec<String> = dashes.iter().copied().map(short).collect();
                let _ = writeln!(
                    to,
                    "{} RG {} w [{}] 0 d",
                    colour(*c),
                    short(*thickness),
                    dashes.join(" ")
                );
                for line in lines {
                    for (i, [x, y]) in points(line).iter().enumerate() {
                        let _ = writeln!(to, "{x} {y} {}", if i == 0 { "m" } else { "l" });
                    }
                }
                writeln!(to, "S")
            }
            Shape::Circle {
                centre,
                radius,
                thickness,
                colour: c,
            } => {
                let paint = match thickness {
                    None => {
                        let _ = writeln!(to, "{} rg", colour(*c));
                        "f"
                    }
                    Some(t) => {
                        let _ = writeln!(to, "{} RG {} w [] 0 d", colour(*c), short(*t));
                        "s"
                    }
                };
                circle(to, *centre, *radius);
                writeln!(to, "{paint}")
            }
            Shape::Text { text, at, style } => return self.text(text, *at, *style),
            Shape::Image { at, size, image } => {
                let number = self.images.len();
                self.images.push(image.repeated(*size));
                let ([x, y], [w, h]) = (at, size);
                writeln!(to, "q {w} 0 0 -{h} {x} {} cm /I{number} Do Q", y + h)
            }
        };
    }

    fn text(&mut self, text: &str, [x, y]: [f32; 2], style: TextStyle) {
        let back = match style.align {
            Align::Left => 0.0,
            Align::Centre => text_width(text, style.size) / 2.0,
            Align::Right => text_width(text, style.size),
        };
        let drop = font::drop(style.size);
        let place = if style.upwards {
            format!("0 -1 -1 0 {} {}", short(x + drop), short(y + back))
        } else {
            format!("1 0 0 -1 {} {}", short(x - back), short(y + drop))
        };
        let (size, fill) = (short(style.size), colour(style.colour));
        let _ = write!(self.content, "BT {fill} rg /F {size} Tf {place} Tm <");
        for c in text.chars() {
            let code = code(self.subset, self.used[&c]);
            let _ = write!(self.content, "{code:04x}");
        }
        let _ = writeln!(self.content, "> Tj ET");
    }
}

/// The number of a glyph in the subset.
fn code(subset: &Subset, glyph: u16) -> usize {
    let place = subset.glyphs.iter().position(|g| *g == glyph);
    place.unwrap_or_default()
}

fn circle(to: &mut String, [x, y]: [f32; 2], r: f32) {
    let k = QUARTER * r;
    let at = |dx: f32, dy: f32| format!("{} {}", short(x + dx), short(y + dy));
    let _ = writeln!(to, "{} m", at(r, 0.0));
    for [a, b, c] in [
        [(r, k), (k, r), (0.0, r)],
        [(-k, r), (-r, k), (-r, 0.0)],
        [(-r, -k), (-k, -r), (0.0, -r)],
        [(k, -r), (r, -k), (r, 0.0)],
    ] {
        let _ = writeln!(to, "{} {} {} c", at(a.0, a.1), at(b.0, b.1), at(c.0, c.1));
    }
}

/// The font with its widths and the characters of its glyphs.
fn write_font<W: Write>(
    file: &mut File<'_, W>,
    used: &BTreeMap<char, u16>,
    subset: &Subset,
) -> io::Result<()> {
    // Widths and heights are in thousandths of the font size.
    let units = i32::from(FONT.units_per_em());
    let thousandths = |x: i32| x * 1000 / units;
    let bounds = FONT.global_bounding_box();
    let bounds = [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max]
        .map(|x| thousandths(x.into()).to_string());
    let capital = FONT.capital_height().unwrap_or_default();
    let [ascent, descent, capital] =
        [FONT.ascender(), FONT.descender(), capital].map(|x| thousandths(x.into()));
    const NAME: &str = "TRISOL+DejaVuSans";
    file.object(
        FONT_OBJECT,
        &format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /{NAME} /Encoding /Identity-H \
             /DescendantFonts [{DESCENDANT} 0 R] /ToUnicode {CHARACTERS} 0 R >>"
        ),
    )?;
    let advance =
        |glyph: &u16| thousandths(font::advance(ttf_parser::GlyphId(*glyph)).into()).to_string();
    let widths: Vec<String> = subset.glyphs.iter().map(advance).collect();
    file.object(
        DESCENDANT,
        &format!(
            "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{NAME} /CIDToGIDMap /Identity \
             /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> \
             /FontDescriptor {DESCRIPTOR} 0 R /W [0 [{}]] >>",
            widths.join(" ")
        ),
    )?;
    file.object(
        DESCRIPTOR,
        &format!(
            "<< /Type /FontDescriptor /FontName /{NAME} /Flags 4 /FontBBox [{}] /ItalicAngle 0 /Ascent {ascent} \
             /Descent {descent} /CapHeight {capital} /StemV 80 /FontFile2 {FONT_FILE} 0 R >>",
            bounds.join(" ")
        ),
    )?;
    file.stream(
        FONT_FILE,
        &format!("/Length1 {}", subset.file.len()),
        &subset.file,
    )?;
    let mut map = String::from(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n\
         /CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n\
         /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n\
         1 begincodespacerange <0000> <ffff> endcodespacerange\n",
    );
    // A character that the font lacks has the box, which stands for no character.
    let known: Vec<(&char, &u16)> = used.iter().filter(|(_, glyph)| **glyph != 0).collect();
    // The largest number of lines that the format allows.
    for some in known.chunks(100) {
        let _ = writeln!(map, "{} beginbfchar", some.len());
        for (c, glyph) in some {
            let _ = writeln!(
                map,
                "<{:04x}> <{}>",
                code(subset, **glyph),
                utf16(&c.to_string())
            );
        }
        map.push_str("endbfchar\n");
    }
    map.push_str("endcmap CMapName currentdict /CMap defineresource pop end end\n");
    file.stream(CHARACTERS, "", map.as_bytes())
}

/// An image in object `number`, with its palette in the next one.
fn write_image<W: Write>(file: &mut File<'_, W>, number: usize, image: &Image) -> io::Result<()> {
    let about = |colours: &str| {
        format!(
            "/Type /XObject /Subtype /Image /Width {} /Height {} /BitsPerComponent 8 /Interpolate false /ColorSpace {colours}",
            image.width, image.height
        )
    };
    match image.indexed() {
        Some((palette, entries)) => {
            let colours = format!(
                "[/Indexed /DeviceRGB {} {} 0 R]",
                palette.len() - 1,
                number + 1
            );
            file.stream(number, &about(&colours), &entries)?;
            file.stream(number + 1, "", &palette.concat())
        }
        None => {
            file.stream(number, &about("/DeviceRGB"), &image.rgb)?;
            file.object(number + 1, "null")
        }
    }
}

/// A file whose objects are written in the order of their numbers.
struct File<'a, W> {
    to: &'a mut W,
    written: usize,
    offsets: Vec<usize>,
}

impl<'a, W: Write> File<'a, W> {
    fn new(to: &'a mut W) -> io::Result<Self> {
        let mut file = Self {
            to,
            written: 0,
            offsets: Vec::new(),
        };
        // The bytes above 127 show that the file is not a text.
        file.bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")?;
        Ok(file)
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len();
        self.to.write_all(bytes)
    }

    fn begin(&mut self, number: usize) -> io::Result<()> {
        self.offsets.push(self.written);
        debug_assert_eq!(self.offsets.len(), number);
        self.bytes(format!("{number} 0 obj\n").as_bytes())
    }

    fn object(&mut self, number: usize, text: &str) -> io::Result<()> {
        self.begin(number)?;
        self.bytes(text.as_bytes())?;
        self.bytes(b"\nendobj\n")
    }

    /// An object of compressed bytes; `about` are further entries of its dictionary.
    fn stream(&mut self, number: usize, about: &str, data: &[u8]) -> io::Result<()> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(data)?;
        let data = encoder.finish()?;
        self.begin(number)?;
        self.bytes(
            format!(
                "<< {about} /Filter /FlateDecode /Length {} >>\nstream\n",
                data.len()
            )
            .as_bytes(),
        )?;
        self.bytes(&data)?;
        self.bytes(b"\nendstream\nendobj\n")
    }

    /// Writes the table of the objects.
    fn finish(mut self) -> io::Result<()> {
        let (start, count) = (self.written, self.offsets.len() + 1);
        let mut table = format!("xref\n0 {count}\n0000000000 65535 f \n");
        for offset in &self.offsets {
            let _ = writeln!(table, "{offset:010} 00000 n ");
        }
        let _ = write!(
            table,
            "trailer\n<< /Size {count} /Root {CATALOGUE} 0 R /Info {INFORMATION} 0 R >>\nstartxref\n{start}\n%%EOF\n"
        );
        self.bytes(table.as_bytes())
    }
}

/// A text outside of the page: UTF-16 with its mark.
fn text_string(text: &str) -> String {
    format!("<feff{}>", utf16(text))
}

fn utf16(text: &str) -> String {
    text.encode_utf16()
        .map(|unit| format!("{unit:04x}"))
        .collect()
}

fn colour(rgb: Rgb) -> String {
    rgb.map(|c| format!("{:.4}", f64::from(c) / 255.0))
        .join(" ")
}

fn short(x: f32) -> String {
    number(f64::from(x))
}
