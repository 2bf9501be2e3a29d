//! The font of pictures. It is part of the program, since a bare machine has none.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId};

/// The file of the font. It is not inlined, because every object file that has the call would contain the whole font.
#[inline(never)]
pub(super) fn file() -> &'static [u8] {
    dejavu::sans::regular()
}

pub(super) static FONT: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(file(), 0).expect("the font in the program"));

/// The height of a capital letter, in units of the font size.
const CAPITAL: f32 = 0.73;

/// The distance from the middle of the capitals down to the base line, for a font size.
pub(super) fn drop(size: f32) -> f32 {
    size * CAPITAL / 2.0
}

/// The glyph of a character: a box for one that the font lacks.
pub(super) fn glyph(c: char) -> GlyphId {
    FONT.glyph_index(c).unwrap_or_default()
}

/// The width of a glyph in units of the font.
pub(super) fn advance(glyph: GlyphId) -> u16 {
    FONT.glyph_hor_advance(glyph).unwrap_or(0)
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
pub(crate) fn text_width(text: &str, size: f32) -> f32 {
    let units: u32 = text.chars().map(|c| u32::from(advance(glyph(c)))).sum();
    units as f32 * size / f32::from(FONT.units_per_em())
}

/// Breaks a text between words so that no line is wider than `width`, where words allow it.
pub(crate) fn wrap(text: &str, size: f32, width: f32) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
