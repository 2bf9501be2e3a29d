//! The glyphs of a TrueType font that a file needs, as a font of their own (ISO/IEC 14496-22; PDF 32000-1, 9.9).

use ttf_parser::{RawFace, Tag};

use super::font;

/// Flags of a glyph that is composed of others.
const ARGUMENTS_ARE_WORDS: u16 = 0x0001;
const HAS_SCALE: u16 = 0x0008;
const MORE_COMPONENTS: u16 = 0x0020;
const HAS_TWO_SCALES: u16 = 0x0040;
const HAS_MATRIX: u16 = 0x0080;

/// The number of bytes of a composite glyph before its components.
const HEADER_BYTES: usize = 10;

/// A font with some of the glyphs, numbered in the order of the list.
pub(super) struct Subset {
    /// The numbers of the glyphs in the whole font: 0 (the box), those that were asked for, and their components.
    pub glyphs: Vec<u16>,
    pub file: Vec<u8>,
}

/// The subset of the font of the pictures with these glyphs; `None` if the font has not the tables that are needed.
pub(super) fn subset(wanted: impl IntoIterator<Item = u16>) -> Option<Subset> {
    let face = RawFace::parse(font::file(), 0).ok()?;
    let table = |name: &[u8; 4]| face.table(Tag::from_bytes(name));
    let (head, maxp, hhea) = (table(b"head")?, table(b"maxp")?, table(b"hhea")?);
    let (loca, glyf, hmtx) = (table(b"loca")?, table(b"glyf")?, table(b"hmtx")?);
    let long_offsets = word(head, 50)? == 1;
    let offset = |glyph: usize| -> Option<usize> {
        if long_offsets {
            let [high, low] = [word(loca, 4 * glyph)?, word(loca, 4 * glyph + 2)?];
            Some(usize::from(high) << 16 | usize::from(low))
        } else {
            Some(2 * usize::from(word(loca, 2 * glyph)?))
        }
    };
    let outline = |glyph: u16| glyf.get(offset(glyph.into())?..offset(usize::from(glyph) + 1)?);

    let mut glyphs = vec![0];
    for glyph in wanted {
        if !glyphs.contains(&glyph) {
            glyphs.push(glyph);
        }
    }
    let mut outlines: Vec<Vec<u8>> = Vec::new();
    // Components are added to the list while it is worked off.
    while let Some(&glyph) = glyphs.get(outlines.len()) {
        let mut data = outline(glyph)?.to_vec();
        let composite = word(&data, 0).is_some_and(|contours| contours > i16::MAX as u16);
        let mut at = HEADER_BYTES;
        let mut more = composite;
        while more {
            let (flags, component) = (word(&data, at)?, word(&data, at + 2)?);
            let place = (glyphs.iter().position(|g| *g == component)).unwrap_or_else(|| {
                glyphs.push(component);
                glyphs.len() - 1
            });
            data[at + 2..at + 4].copy_from_slice(&(place as u16).to_be_bytes());
            at += if flags & ARGUMENTS_ARE_WORDS != 0 {
                8
            } else {
                6
            };
            at += match flags {
                f if f & HAS_SCALE != 0 => 2,
                f if f & HAS_TWO_SCALES != 0 => 4,
                f if f & HAS_MATRIX != 0 => 8,
                _ => 0,
            };
            more = flags & MORE_COMPONENTS != 0;
        }
        data.resize(data.len().next_multiple_of(4), 0);
        outlines.push(data);
    }

    let measured = usize::from(word(hhea, 34)?);
    let mut metrics = Vec::new();
    for glyph in &glyphs {
        let glyph = usize::from(*glyph);
        // The last glyphs share the advance of the last one that has its own.
        let advance = word(hmtx, 4 * glyph.min(measured.checked_sub(1)?))?;
        let bearing = match glyph.checked_sub(measured) {
            None => word(hmtx, 4 * glyph + 2)?,
            Some(further) => word(hmtx, 4 * measured + 2 * further)?,
        };
        metrics.extend(advance.to_be_bytes());
        metrics.extend(bearing.to_be_bytes());
    }
    let count = u16::try_from(glyphs.len()).ok()?;
    let mut offsets = vec![0_u32];
    for data in &outlines {
        offsets.push(offsets.last()? + u32::try_from(data.len()).ok()?);
    }
    let mut tables: Vec<([u8; 4], Vec<u8>)> = Vec::new();
    for name in [b"cvt ", b"fpgm", b"prep"] {
        tables.extend(table(name).map(|data| (*name, data.to_vec())));
    }
    let with = |data: &[u8], at: usize, value: u16| {
        let mut data = data.to_vec();
        data[at..at + 2].copy_from_slice(&value.to_be_bytes());
        data
    };
    tables.extend([
        (*b"glyf", outlines.concat()),
        (*b"head", with(head, 50, 1)),
        (*b"hhea", with(hhea, 34, count)),
        (*b"hmtx", metrics),
        (
            *b"loca",
            offsets.iter().flat_map(|o| o.to_be_bytes()).collect(),
        ),
        (*b"maxp", with(maxp, 4, count)),
    ]);
    tables.sort();
    Some(Subset {
        glyphs,
        file: assembled(&tables),
    })
}

/// The file of these tables, which are sorted by name.
fn assembled(tables: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let count = tables.len() as u16;
    let power = count.ilog2();
    let mut file = vec![0, 1, 0, 0];
    for value in [count, 16 << power, power as u16, 16 * count - (16 << power)] {
        file.extend(value.to_be_bytes());
    }
    let mut offset = (file.len() + 16 * tables.len()) as u32;
    for (name, data) in tables {
        file.extend(name);
        for value in [checksum(data), offset, data.len() as u32] {
            file.extend(value.to_be_bytes());
        }
        offset += data.len().next_multiple_of(4) as u32;
    }
    for (_, data) in tables {
        file.extend(data);
        file.resize(file.len().next_multiple_of(4), 0);
    }
    file
}

/// The sum of the words of 32 bits.
fn checksum(data: &[u8]) -> u32 {
    let words = data.chunks(4).map(|four| {
        let at = |k: usize| u32::from(four.get(k).copied().unwrap_or(0));
        at(0) << 24 | at(1) << 16 | at(2) << 8 | at(3)
    });
    words.fold(0, u32::wrapping_add)
}

fn word(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ttf_parser::{Face, GlyphId, OutlineBuilder};

    /// The points of an outline.
    #[derive(Default, Debug, PartialEq)]
    struct Points(Vec<[f32; 2]>);

    impl OutlineBuilder for Points {
        fn move_to(&mut self, x: f32, y: f32) {
            self.0.push([x, y]);
        }
        fn line_to(&mut self, x: f32, y: f32) {
            self.0.push([x, y]);
        }
        fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
            self.0.extend([[x1, y1], [x, y]]);
        }
        fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
            self.0.extend([[x1, y1], [x2, y2], [x, y]]);
        }
        fn close(&mut self) {}
    }

    #[test]
    fn the_glyphs_of_a_subset_are_those_of_the_font() {
        // ö and ⁻ are composed of other glyphs.
        let wanted: Vec<u16> = "aö⁻²µ−".chars().map(|c| font::glyph(c).0).collect();
        let made = subset(wanted.iter().copied()).unwrap();
        assert!(
            made.file.len() < font::file().len() / 20,
            "{}",
            made.file.len()
        );
        assert!(
            made.glyphs.len() > 1 + wanted.len(),
            "components are part of it"
        );
        let face = Face::parse(&made.file, 0).unwrap();
        assert_eq!(usize::from(face.number_of_glyphs()), made.glyphs.len());
        for (place, whole) in made.glyphs.iter().enumerate() {
            let (new, old) = (GlyphId(place as u16), GlyphId(*whole));
            assert_eq!(
                face.glyph_hor_advance(new),
                font::FONT.glyph_hor_advance(old)
            );
            let outline = |face: &Face<'_>, glyph| {
                let mut points = Points::default();
                face.outline_glyph(glyph, &mut points);
                points
            };
            let expected = outline(&font::FONT, old);
            assert!(!expected.0.is_empty() || *whole == 0, "{whole}");
            assert_eq!(outline(&face, new), expected, "{whole}");
        }
    }
}
