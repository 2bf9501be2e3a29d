//! Passes over rustc's PTX: for code that LLVM or the driver's compiler would translate incorrectly, and for what rustc cannot express.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::CudaBuilderError;

mod addresses;
mod atomics;
mod bounds;
mod constant;
mod ftz;
mod origin;
mod remainder;
mod shared;
mod stores;
mod version;

/// The version of the passes. It must change whenever they do, so that existing PTX is rebuilt.
pub(crate) const NAME: &str = "launch bounds, constants, shared statics, arrays and dynamic memory, atomics of a thread's own memory, exact remainders, stores of bits, versions for fences of tensor maps";

/// What a build asks of the passes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Whether subnormal `f32` numbers are flushed to zero.
    pub ftz: bool,
    /// The registers of a thread, for kernels without bounds of their own.
    pub max_registers: Option<u32>,
}

/// Applies all passes, after which the PTX means what the Rust program means, except for what the options ask.
pub(crate) fn apply(ptx: &str, options: Options) -> Result<String, CudaBuilderError> {
    let ptx = bounds::declared(ptx);
    let ptx = match options.max_registers {
        Some(most) => bounds::limited(&ptx, most),
        None => ptx,
    };
    let ptx = shared::placed(&ptx)?;
    let ptx = constant::placed(&ptx)?;
    let ptx = atomics::of_own_memory(&ptx)?;
    let ptx = version::sufficient(&stores::of_bits(&remainder::exact(&ptx)));
    Ok(match options.ftz {
        true => ftz::flushed(&ptx),
        false => ptx,
    })
}

/// Replaces lines of a text by their line numbers.
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

/// The lines of each function with a body, from its head to the closing brace.
fn bodies<'a>(lines: &'a [&str]) -> impl Iterator<Item = Range<usize>> + 'a {
    functions(lines).filter_map(|(lines, defined)| defined.then_some(lines))
}

/// The lines of each function, and whether they are a definition or only a declaration.
fn functions<'a>(lines: &'a [&str]) -> impl Iterator<Item = (Range<usize>, bool)> + 'a {
    let code = |i: usize| lines[i].split("//").next().unwrap_or_default();
    let is_head = |line: &str| {
        let named = |keyword| line.split_whitespace().take(2).any(|word| word == keyword);
        line.starts_with('.') && (named(".entry") || named(".func"))
    };
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = (at..lines.len()).find(|i| is_head(lines[*i]))?;
        // Braces nest, because call sequences and inline assembly have their own.
        let (mut depth, mut defined) = (0, false);
        let end = (start..lines.len()).find(|i| {
            let (open, close) = (code(*i).matches('{').count(), code(*i).matches('}').count());
            defined |= open > 0;
            depth += open as i32 - close as i32;
            depth == 0 && (close > 0 || !defined && code(*i).trim_end().ends_with(';'))
        });
        at = end.map_or(lines.len(), |end| end + 1);
        Some((start..at, defined))
    })
}

/// The name of the function whose head this is. A return parameter in parentheses may come before the name.
fn function_name(head: &str) -> &str {
    let after = [".entry", ".func"]
        .iter()
        .find_map(|keyword| Some(head.split_once(keyword)?.1.trim_start()))
        .unwrap_or_default();
    let after = match after.strip_prefix('(') {
        Some(result) => result.split_once(')').map_or("", |(_, rest)| rest),
        None => after,
    };
    words(after).next().map_or("", |(_, name)| name)
}

/// The line that LLVM writes before inline assembly.
const BEGIN_ASSEMBLY: &str = "// begin inline asm";
/// The line that LLVM writes after it.
const END_ASSEMBLY: &str = "// end inline asm";

/// Tells for each line whether it is inline assembly.
fn in_assembly<'a>(lines: &'a [&str]) -> impl Iterator<Item = bool> + 'a {
    lines.iter().scan(false, |inside, line| {
        match line.trim() {
            BEGIN_ASSEMBLY => *inside = true,
            END_ASSEMBLY => *inside = false,
            _ => {}
        }
        Some(*inside)
    })
}

/// A PTX instruction.
#[derive(Clone, Debug, PartialEq)]
struct Instruction<'a> {
    /// The predicate that it depends on, such as `@%p1`.
    guard: Option<&'a str>,
    /// The name with its modifiers, such as `ld.global.b32`.
    name: &'a str,
    /// Registers, symbols, numbers, addresses in brackets and vectors in braces.
    operands: Vec<&'a str>,
}

impl<'a> Instruction<'a> {
    /// The part of the name before the first modifier, such as `ld`.
    fn root(&self) -> &'a str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// The line of this instruction with a different name and different operands.
    fn with(&self, name: &str, operands: &[String]) -> String {
        let guard = self
            .guard
            .map_or(String::new(), |guard| format!("{guard} "));
        format!("\t{guard}{name} \t{};", operands.join(", "))
    }

    /// Whether the instruction writes its first operand.
    fn has_target(&self) -> bool {
        !matches!(self.root(), "st" | "red" | "call" | "bra" | "prefetch")
            && !self.operands[0].starts_with('[')
    }

    /// The operands that are addresses in brackets: their positions, and the registers or symbols at their start.
    fn addresses(&self) -> impl Iterator<Item = (usize, &'a str)> {
        (self.operands.iter().enumerate())
            .filter(|(_, operand)| operand.starts_with('['))
            .filter_map(|(at, operand)| Some((at, words(operand).next()?.1)))
    }

    /// The registers that it writes.
    fn targets(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let first = self.has_target().then_some(self.operands[0]);
        (first.into_iter().flat_map(words))
            .filter_map(|(_, word)| is_register(word).then_some(word))
    }
}

/// The instruction in a line, if there is one.
fn instruction(line: &str) -> Option<Instruction<'_>> {
    let code = line.split("//").next()?.trim().strip_suffix(';')?;
    let (first, rest) = code.split_once(char::is_whitespace)?;
    let (guard, name, operands) = match first.starts_with('@') {
        true => {
            let (name, operands) = rest.trim_start().split_once(char::is_whitespace)?;
            (Some(first), name, operands)
        }
        false => (None, first, rest),
    };
    if name.starts_with(['.', '{']) || operands.contains(';') {
        return None;
    }
    let mut depth = 0;
    let parts = operands.split(|c| {
        depth += i32::from("{[(".contains(c)) - i32::from("}])".contains(c));
        c == ',' && depth == 0
    });
    Some(Instruction {
        guard,
        name,
        operands: parts.map(str::trim).collect(),
    })
}

/// The registers, symbols and numbers in a text, with their positions.
fn words(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let part = |c: char| c.is_ascii_alphanumeric() || "_$%.".contains(c);
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(part)?;
        let end = text[start..]
            .find(|c| !part(c))
            .map_or(text.len(), |n| start + n);
        at = end;
        Some((start..end, &text[start..end]))
    })
}

fn is_register(word: &str) -> bool {
    word.starts_with('%')
}

/// Replaces those words of a text for which `other` returns a replacement.
fn with_words(text: &str, mut other: impl FnMut(&str) -> Option<String>) -> String {
    let mut result = String::with_capacity(text.len() + 16);
    let mut from = 0;
    for (place, word) in words(text) {
        result += &text[from..place.start];
        match other(word) {
            Some(other) => result += &other,
            None => result += word,
        }
        from = place.end;
    }
    result + &text[from..]
}
