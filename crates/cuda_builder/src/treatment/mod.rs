//! What is done to rustc's PTX, where LLVM or the driver's compiler would make something else of it than Rust says.

use std::collections::HashMap;
use std::ops::Range;

mod remainder;
mod stores;

/// Names the treatment; to be changed with it, so that what was made before is made again.
pub(crate) const NAME: &str = "exact remainders, stores of bits";

/// The PTX that means what the Rust program means.
pub(crate) fn treat(ptx: &str) -> String {
    stores::of_bits(&remainder::exact(ptx))
}

/// The text with other lines instead of some, by their numbers.
fn rewritten(ptx: &str, instead: &HashMap<usize, String>) -> String {
    if instead.is_empty() {
        return ptx.to_owned();
    }
    let mut text = String::with_capacity(ptx.len() + 4096);
    for (i, line) in ptx.lines().enumerate() {
        text.push_str(instead.get(&i).map_or(line, String::as_str));
        text.push('\n');
    }
    text
}

/// The lines of each function.
fn bodies<'a>(lines: &'a [&str]) -> impl Iterator<Item = Range<usize>> + 'a {
    let head = |line: &str| {
        let named = |keyword| line.split_whitespace().take(2).any(|word| word == keyword);
        line.starts_with('.') && (named(".entry") || named(".func"))
    };
    let starts: Vec<usize> = (0..lines.len()).filter(|i| head(lines[*i])).collect();
    let ends: Vec<usize> = (starts.iter().skip(1).copied())
        .chain([lines.len()])
        .collect();
    starts.into_iter().zip(ends).map(|(start, end)| start..end)
}

/// An instruction: its name, and what it writes and reads.
type Instruction<'a> = (&'a str, Vec<&'a str>);

fn instruction(line: &str) -> Option<Instruction<'_>> {
    let code = line.split("//").next()?.trim().strip_suffix(';')?;
    let (name, operands) = code.split_once(char::is_whitespace)?;
    Some((name, operands.split(',').map(str::trim).collect()))
}
