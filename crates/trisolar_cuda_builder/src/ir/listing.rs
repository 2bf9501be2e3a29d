//! The lines of a program, and which of them belong together.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::text::{Kind, Part, function, items, names, parts};
use crate::error::CudaBuilderError;

/// The lines of a program, its items, and their names.
pub struct Listing<'a> {
    pub lines: Vec<&'a str>,
    pub items: Vec<(Kind, Range<usize>)>,
    /// The item that defines or declares a name.
    pub defined: HashMap<&'a str, usize>,
}

impl<'a> Listing<'a> {
    pub fn of(text: &'a str) -> Result<Self, CudaBuilderError> {
        let lines: Vec<&str> = text.lines().collect();
        let items = items(&lines)?;
        let mut defined = HashMap::new();
        for (item, (_, range)) in items.iter().enumerate() {
            let line = lines[range.start];
            let name = match line.starts_with("define ") || line.starts_with("declare ") {
                true => function(line),
                false => names(line)
                    .next()
                    .filter(|(place, name)| place.start == 0 && name.starts_with(['@', '!', '%']))
                    .map(|(_, name)| name),
            };
            // `attributes #0 = …` is a line at the head of every module.
            defined.extend(name.map(|name| (name, item)));
        }
        Ok(Self {
            lines,
            items,
            defined,
        })
    }

    /// The first line of an item.
    pub fn first(&self, item: usize) -> &'a str {
        self.lines[self.items[item].1.start]
    }

    /// The items that an item mentions, also within the text of assembly.
    pub fn mentioned(&self, item: usize) -> BTreeSet<usize> {
        let by_assembly = |text: &'a str| {
            text.split(|c: char| !(c.is_ascii_alphanumeric() || "_$.".contains(c)))
                .filter(|word| !word.is_empty())
                .filter_map(|word| self.defined.get(format!("@{word}").as_str()))
        };
        let mut found = BTreeSet::new();
        for line in &self.lines[self.items[item].1.clone()] {
            let is_code = line.contains(" asm ");
            for (_, part) in parts(line) {
                match part {
                    Part::Name(name) => found.extend(self.defined.get(name)),
                    Part::String(text) if is_code => found.extend(by_assembly(text)),
                    Part::String(_) => {}
                }
            }
        }
        found
    }
}
