//! Texts of numbers as rows of values: values between commas, semicolons, tabs or blanks, in quotation marks or without, with comments,
//! and numbers as C, Python and Fortran write them.

use std::borrow::Cow;

/// What divides the values of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// Any number of blanks and tabs.
    Blanks,
    /// This character, with or without blanks beside it.
    Character(char),
}

/// A value, and where it begins in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// The value without its quotation marks.
    pub(crate) text: Cow<'a, str>,
    /// The byte at which it begins.
    pub(crate) at: usize,
}

/// Something in a text that cannot be read: the byte at which it begins, and the reason.
pub(crate) type Unreadable = (usize, String);

/// The rows of a text, one after the other.
pub(crate) struct Rows<'a> {
    text: &'a str,
    at: usize,
    /// What divides values; `None`: each line shows it itself.
    separator: Option<Separator>,
    /// Whether `#` begins a comment behind values, too. Between blanks it always does.
    pub(crate) comments_behind: bool,
    /// The comment lines before the latest row.
    pub(crate) comments: Vec<&'a str>,
}

/// What begins a line that is a comment.
const COMMENTS: [&str; 4] = ["#", "%", "!", "//"];

/// The line and the character in it, both from 1, of a byte of the text.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let ends = |s: &str| s.matches('\n').count() + lone_returns(s);
    let line = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    (ends(before) + 1, before[line..].chars().count() + 1)
}

/// Ends of lines in the style of old Macs.
fn lone_returns(text: &str) -> usize {
    text.matches('\r').count() - text.matches("\r\n").count()
}

/// The first line of a text, without its end, and the bytes that it takes with its end.
fn first_line(text: &str) -> (&str, usize) {
    match text.find(['\n', '\r']) {
        None => (text, text.len()),
        Some(end) => {
            let width = if text[end..].starts_with("\r\n") {
                2
            } else {
                1
            };
            (&text[..end], end + width)
        }
    }
}

fn is_comment(line: &str) -> bool {
    COMMENTS.iter().any(|mark| line.starts_with(mark))
}

impl Separator {
    /// What divides the values of a text, as its first line of more than one value shows.
    #[cfg(feature = "all")]
    pub(crate) fn of(mut text: &str) -> Self {
        while !text.is_empty() {
            let (line, width) = first_line(text);
            text = &text[width..];
            let content = line.trim();
            if content.is_empty() || is_comment(content) {
                continue;
            }
            match Self::of_line(content) {
                Self::Blanks if content.split_whitespace().count() < 2 => {}
                separator => return separator,
            }
        }
        Self::Blanks
    }

    /// What divides the values of a line.
    fn of_line(line: &str) -> Self {
        let bare: String = line.split('"').step_by(2).collect();
        let bare = bare.split('#').next().unwrap_or_default();
        if bare.contains(';') {
            return Self::Character(';');
        }
        if bare.contains(',') && !has_decimal_commas(bare) {
            return Self::Character(',');
        }
        // Tabs divide values that have blanks in them, and the names of these. Columns of plain numbers may have tabs and blanks.
        let parts: Vec<&str> = bare.split('\t').map(str::trim).collect();
        let whole = parts.len() > 1 && parts.iter().rev().skip(1).all(|part| !part.is_empty());
        let is_text = |part: &&str| !part.split_whitespace().all(is_like_a_number);
        let has_blanks = |part: &&&str| part.contains(char::is_whitespace);
        let has_blanks = parts.iter().filter(has_blanks).any(is_text);
        let are_names = parts.iter().all(is_text);
        match whole && (has_blanks || are_names) {
            true => Self::Character('\t'),
            false => Self::Blanks,
        }
    }

    /// The name of the character.
    #[cfg(feature = "all")]
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Blanks => "blanks",
            Self::Character(';') => "semicolons",
            Self::Character('\t') => "tabs",
            Self::Character(_) => "commas",
        }
    }
}

/// Whether the commas of a line, such as `1,5 2,5`, divide the digits of numbers and not numbers.
fn has_decimal_commas(line: &str) -> bool {
    let mut words = line
        .split_whitespace()
        .filter(|w| w.contains(','))
        .peekable();
    line.split_whitespace().count() > 1 && words.peek().is_some() && words.all(is_decimal_comma)
}

fn is_decimal_comma(word: &str) -> bool {
    word.matches(',').count() == 1
        && !word.starts_with(',')
        && !word.ends_with(',')
        && number(&word.replace(',', ".")).is_some()
}

impl<'a> Rows<'a> {
    /// The rows of a text. Without a separator, each line may have another one.
    pub(crate) fn new(text: &'a str, separator: Option<Separator>) -> Self {
        Self {
            text,
            at: 0,
            separator,
            comments_behind: true,
            comments: Vec::new(),
        }
    }

    /// The values of the next row that has some. A character at the end of a line that divides values leaves an empty one behind it.
    ///
    /// # Errors
    /// A quotation mark without its counterpart.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Word<'a>>>, Unreadable> {
        self.comments.clear();
        while self.at < self.text.len() {
            let (line, width) = first_line(&self.text[self.at..]);
            let content = line.trim();
            if content.is_empty() || is_comment(content) {
                self.comments
                    .extend((!content.is_empty()).then_some(content));
                self.at += width;
                continue;
            }
            let separator = self
                .separator
                .unwrap_or_else(|| Separator::of_line(content));
            return self.row(separator).map(Some);
        }
        Ok(None)
    }

    fn row(&mut self, separator: Separator) -> Result<Vec<Word<'a>>, Unreadable> {
        let divides = |c: char| match separator {
            Separator::Blanks => c.is_whitespace(),
            Separator::Character(character) => c == character,
        };
        let comments = self.comments_behind || separator == Separator::Blanks;
        let ends = |rest: &str| {
            rest.is_empty() || rest.starts_with(['\n', '\r']) || (comments && rest.starts_with('#'))
        };
        let text = self.text;
        let mut words = Vec::new();
        let mut expected = true;
        loop {
            let blank = |c: char| c.is_whitespace() && !"\n\r".contains(c);
            let may_skip = |c: char| blank(c) && (separator == Separator::Blanks || !divides(c));
            let rest = text[self.at..].trim_start_matches(may_skip);
            self.at = text.len() - rest.len();
            if ends(rest) {
                if expected && separator != Separator::Blanks {
                    let text = Cow::Borrowed("");
                    words.push(Word { text, at: self.at });
                }
                break;
            }
            if !expected && separator != Separator::Blanks {
                if !rest.starts_with(divides) {
                    let reason = "expected the end of the value behind its quotation mark";
                    return Err((self.at, reason.into()));
                }
                self.at += rest.chars().next().map_or(0, char::len_utf8);
                expected = true;
                continue;
            }
            let at = self.at;
            let value = match rest.strip_prefix('"') {
                Some(inside) => self.quoted(inside)?,
                None => {
                    let end = |c: char| divides(c) || "\n\r".contains(c) || (comments && c == '#');
                    let value = &rest[..rest.find(end).unwrap_or(rest.len())];
                    self.at += value.len();
                    Cow::Borrowed(value.trim_end())
                }
            };
            words.push(Word { text: value, at });
            expected = false;
        }
        let (_, width) = first_line(&text[self.at..]);
        self.at += width;
        Ok(words)
    }

    /// The value in quotation marks, of which `inside` begins behind the first. Two of them are one in the value.
    fn quoted(&mut self, inside: &'a str) -> Result<Cow<'a, str>, Unreadable> {
        let (mut from, mut value) = (0, Cow::Borrowed(""));
        loop {
            let Some(end) = inside[from..].find('"').map(|end| from + end) else {
                return Err((self.at, "the quotation mark has no second one".into()));
            };
            value += &inside[from..end];
            from = end + 1;
            if !inside[from..].starts_with('"') {
                self.at += 1 + from;
                return Ok(value);
            }
            value += "\"";
            from += 1;
        }
    }
}

/// The number of a word: as C and Python write it, or as Fortran does, with D for E (`1.5D+00`), or without a letter before an exponent of
/// three digits (`1.5-103`).
pub(crate) fn number(word: &str) -> Option<f64> {
    let usual = word.parse().ok();
    usual.or_else(|| {
        if !word
            .chars()
            .all(|c| c.is_ascii_digit() || "+-.dD".contains(c))
        {
            return None;
        }
        let (mantissa, exponent) = match word.split_once(['d', 'D']) {
            Some(parts) => parts,
            None => {
                let sign = word.rfind(['+', '-']).filter(|at| word.len() - at == 4)?;
                let (mantissa, exponent) = word.split_at(sign);
                mantissa.contains('.').then_some((mantissa, exponent))?
            }
        };
        format!("{mantissa}e{exponent}").parse().ok()
    })
}

/// Whether a word is a number or would be one with a decimal point.
pub(crate) fn is_like_a_number(word: &str) -> bool {
    number(word).is_some() || is_decimal_comma(word)
}

/// What is wrong with a word that is no number, if a comma is.
pub(crate) fn hint_at_comma(word: &str) -> &'static str {
    match is_decimal_comma(word) {
        true => " (its decimal places need a point, not a comma)",
        false => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let mut rows = Rows::new(text, Some(Separator::of(text)));
        let mut all = Vec::new();
        while let Some(row) = rows.next().expect("readable") {
            all.push(row.into_iter().map(|word| word.text.into_owned()).collect());
        }
        all
    }

    #[test]
    fn values_are_the_same_whatever_divides_them() {
        let expected = [["a b", "1", "-2.5"], ["c", "3", "4"]];
        for text in [
            "a b,1,-2.5\nc,3,4\n",
            "\"a b\", 1 ,-2.5\r\n\r\n c,\"3\",4",
            "a b;1;-2.5\rc;3;4\r",
            "a b\t1\t-2.5\nc\t3\t4\n",
            "\"a b\" 1  -2.5 # comment\n# comment\n  c\t3 4\n",
        ] {
            assert_eq!(rows(text), expected, "{text:?}");
        }
        let text = "x,y\n\"a, \"\"b\"\"\nc\",1,\n";
        assert_eq!(rows(text)[1], ["a, \"b\"\nc", "1", ""]);
    }

    #[test]
    fn a_quotation_mark_has_a_second_one_behind_which_the_value_ends() {
        for (text, at) in [("1,\"a,2\n3", 2), ("1,\"a\"b,2\n", 5)] {
            let error = Rows::new(text, Some(Separator::Character(','))).next();
            assert_eq!(error.expect_err(text).0, at, "{text}");
        }
    }

    #[test]
    fn places_are_counted_in_lines_and_characters() {
        for (text, at, expected) in [
            ("ab", 1, (1, 2)),
            ("é\r\nab", 5, (2, 2)),
            ("a\rb\rc", 4, (3, 1)),
            ("a\n\nb", 3, (3, 1)),
        ] {
            assert_eq!(place(text, at), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_of_fortran_are_numbers_and_other_words_are_not() {
        for (word, expected) in [
            ("1.0D+00", 1.0),
            ("-.5d-3", -5e-4),
            ("1.D2", 100.0),
            ("2.5-103", 2.5e-103),
            ("0.25+101", 0.25e101),
            ("1e-3", 1e-3),
            ("+7", 7.0),
        ] {
            assert_eq!(number(word), Some(expected), "{word}");
        }
        for word in [
            "1-103",
            "1.5-10",
            "D5",
            "1D",
            "1.5D+0-1",
            "1.5-1-103",
            "2024-01-10",
            "1,5",
            "0x1p3",
            "",
        ] {
            assert_eq!(number(word), None, "{word}");
        }
        assert!(hint_at_comma("1,5").contains("point"));
        assert_eq!(hint_at_comma("1,5,2"), "");
    }
}
