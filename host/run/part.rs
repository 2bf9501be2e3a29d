//! Parts of a run that is divided among independent processes, such as the tasks of a job array, and the rule by which work is divided
//! into parts of equal size.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::io::system;

/// A part of a run: number `number` of `of`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    of: u32,
    number: u32,
}

/// Largest number of parts.
pub const MAX_PARTS: u32 = 100_000;

impl Part {
    /// All parts of a run that is divided into this many.
    pub fn all(of: u32) -> impl Iterator<Item = Self> {
        (1..=of).map(move |number| Self { of, number })
    }

    /// The number of parts.
    pub fn of(self) -> u32 {
        self.of
    }

    /// The items of this part, of a run of `items`. Some parts are empty if there are more parts than items.
    pub fn span(self, items: u64) -> Range<u64> {
        let end = |part| boundary(items, part, u64::from(self.of));
        let number = u64::from(self.number);
        end(number - 1)..end(number)
    }

    /// The name of this part of the output `whole`: `whole.3-of-8`.
    pub fn path(self, whole: &Path) -> PathBuf {
        // Of `folder/` the name is `folder`.
        let mut name: std::ffi::OsString = whole.components().as_path().into();
        name.push(self.suffix());
        name.into()
    }

    /// The output whose part has this [`path`](Self::path); `None` if the name is another one.
    pub fn whole(self, path: &Path) -> Option<PathBuf> {
        let whole = system::strip_suffix(path.components().as_path().as_os_str(), &self.suffix())?;
        let whole = PathBuf::from(whole);
        whole.file_name().is_some().then_some(whole)
    }

    fn suffix(self) -> String {
        format!(".{}-of-{}", self.number, self.of)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) && of <= MAX_PARTS => {
                Ok(Self { of, number })
            }
            _ => Err(format!(
                "must be I/N, part I of N parts, with whole numbers I from 1 to N and N from 1 to {MAX_PARTS}"
            )),
        }
    }
}

trisolar_io::as_text!(Part);

/// The end of a part (counted from 1) if `total` items are divided into `parts` whose sizes differ by one item at most.
fn boundary(total: u64, part: u64, parts: u64) -> u64 {
    (u128::from(total) * u128::from(part) / u128::from(parts)) as u64
}

/// Splits spans into `parts` parts whose sizes differ by one item at most.
pub fn evenly(spans: &[Range<u64>], parts: usize) -> Vec<Vec<Range<u64>>> {
    let total: u64 = spans.iter().map(|s| s.end - s.start).sum();
    let mut rest = spans.iter().filter(|s| !s.is_empty()).cloned();
    let mut current = rest.next();
    let mut found = Vec::new();
    for part in 0..parts as u64 {
        let end = |part: u64| boundary(total, part, parts as u64);
        let mut missing = end(part + 1) - end(part);
        let mut taken = Vec::new();
        while missing > 0
            && let Some(span) = &mut current
        {
            let cut = span.end.min(span.start + missing);
            missing -= cut - span.start;
            taken.push(span.start..cut);
            span.start = cut;
            if span.is_empty() {
                current = rest.next();
            }
        }
        found.push(taken);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_equal_and_nothing_is_dropped() {
        for (spans, parts) in [
            (vec![0..10], 3),
            (vec![5..6, 7..20, 100..101], 4),
            (vec![0..2], 4),
            (vec![], 2),
            (vec![0..1 << 32], 7),
        ] {
            let split = evenly(&spans, parts);
            assert_eq!(split.len(), parts);
            let sizes = split
                .iter()
                .map(|p| p.iter().map(|s| s.end - s.start).sum::<u64>());
            let (least, most) = (sizes.clone().min().unwrap(), sizes.clone().max().unwrap());
            assert!(most - least <= 1);
            let whole: u64 = spans.iter().map(|s| s.end - s.start).sum();
            assert_eq!(sizes.sum::<u64>(), whole);
            let mut joined: Vec<Range<u64>> = Vec::new();
            for span in split.into_iter().flatten() {
                match joined.last_mut() {
                    Some(last) if last.end == span.start => last.end = span.end,
                    _ => joined.push(span),
                }
            }
            assert_eq!(joined, spans);
        }
    }

    #[test]
    fn a_part_of_a_run_is_the_part_of_its_span() {
        for (items, of) in [(10, 3), (7, 7), (u64::MAX, 5), (3, 1)] {
            let split = evenly(&[0..items], of as usize);
            for (part, spans) in Part::all(of).zip(split) {
                assert_eq!(spans, [part.span(items)]);
                assert_eq!(part.to_string().parse(), Ok(part));
            }
        }
        let spans: Vec<_> = Part::all(4).map(|part| part.span(2)).collect();
        assert_eq!(spans, [0..0, 0..1, 1..1, 1..2]);
    }

    #[test]
    fn names_of_parts_lead_to_the_output_and_back() {
        let part: Part = "2/12".parse().expect("a part");
        let path = part.path(Path::new("a/map.npy"));
        assert_eq!(path, Path::new("a/map.npy.2-of-12"));
        assert_eq!(part.whole(&path), Some("a/map.npy".into()));
        assert_eq!(part.path(Path::new("zoom/")), Path::new("zoom.2-of-12"));
        assert_eq!(part.whole(Path::new("zoom.2-of-12/")), Some("zoom".into()));
        for other in ["zoom.1-of-12", "zoom", "a/.2-of-12/.."] {
            assert_eq!(part.whole(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for text in [
            "", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/4", "1/100001", "a/b",
        ] {
            assert!(text.parse::<Part>().is_err(), "{text}");
        }
        assert_eq!("3/3".parse::<Part>().map(Part::of), Ok(3));
    }
}
