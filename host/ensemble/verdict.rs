//! What decides the value of an item.

use std::path::{Path, PathBuf};

use super::ClassShare;

/// What decides the value of an item. In files it is a number from 0 on, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// The value stays with a finer step and with more or other digits.
    Agrees,
    /// It changes with the step, and stays with the digits.
    Step,
    /// It changes with the digits.
    Rounding,
    /// It is not known which of the two changes the value, or there is none.
    Undecided,
}

trisolar_io::names!(Verdict {
    Agrees = "agrees",
    Step = "step",
    Rounding = "rounding",
    Undecided = "undecided",
});

impl Verdict {
    /// The share of each verdict, in the order of [`Verdict::ALL`]; `of_items` has the number of the verdict on each item.
    pub fn shares(of_items: &[u8]) -> [ClassShare; Self::ALL.len()] {
        Self::ALL.map(|verdict| {
            let count = of_items.iter().filter(|v| **v == verdict as u8).count();
            ClassShare::new(verdict.name(), count as u64, of_items.len() as u64)
        })
    }

    /// The words of each verdict and its colour, in the order of [`Verdict::ALL`]. Colour-blind readers can distinguish them.
    pub const WORDS: [(&str, [u8; 3]); Self::ALL.len()] = [
        ("agrees", [90, 180, 240]),
        ("the step decides", [240, 150, 40]),
        ("rounding decides", [220, 70, 160]),
        ("undecided", [150, 150, 156]),
    ];

    /// The words of a legend, with the share of the verdict, and its colour.
    pub fn legend(shares: &[ClassShare; Self::ALL.len()]) -> Vec<(String, [u8; 3])> {
        let all = Self::WORDS.into_iter().zip(shares);
        all.map(|((name, colour), found)| (format!("{name}: {:.1} %", 100.0 * found.share), colour))
            .collect()
    }

    /// The picture of the verdicts beside this one.
    pub fn picture_beside(picture: &Path) -> Option<PathBuf> {
        let stem = picture.file_stem()?.to_string_lossy();
        let extension = picture.extension()?.to_string_lossy();
        Some(picture.with_file_name(format!("{stem}-verdict.{extension}")))
    }
}
