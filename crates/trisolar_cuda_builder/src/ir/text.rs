//! The parts of LLVM's text form: top-level items, lines of functions, and names.

use std::ops::Range;

use crate::error::CudaBuilderError;

/// What LLVM's text has that this crate does not know, so that the build must end.
pub fn unknown(what: &str, line: &str) -> CudaBuilderError {
    CudaBuilderError::UnknownIr {
        what: what.to_owned(),
        line: line.trim().chars().take(400).collect(),
    }
}

/// Whether a character can be part of a name without quotes.
fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-$._".contains(c)
}

/// A part of a line: a name with its sigil, such as `@x`, `@"a b"`, `%1` or `!7`; or a constant string with its quotes.
pub enum Part<'a> {
    Name(&'a str),
    String(&'a str),
}

/// The names and strings of a line, with their places. A comment ends the line.
pub fn parts(line: &str) -> impl Iterator<Item = (Range<usize>, Part<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line[at..].find(['@', '%', '!', '#', '"', ';'])?;
        // A quote within a string is written as `\22`.
        let quoted = |from: usize| Some(from + line[from..].find('"')? + 1);
        let rest = &line[start + 1..];
        let (end, is_string) = match line.as_bytes()[start] {
            b';' => return None,
            b'"' => (quoted(start + 1)?, true),
            _ if rest.starts_with('"') => (quoted(start + 2)?, false),
            _ => {
                let length = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
                (start + 1 + length, false)
            }
        };
        at = end;
        let text = &line[start..end];
        let part = if is_string {
            Part::String(text)
        } else {
            Part::Name(text)
        };
        Some((start..end, part))
    })
}

/// The names of a line.
pub fn names(line: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    parts(line).filter_map(|(place, part)| match part {
        Part::Name(name) => Some((place, name)),
        Part::String(_) => None,
    })
}

/// A name of a global without sigil and quotes.
pub fn bare(name: &str) -> &str {
    name.trim_start_matches('@').trim_matches('"')
}

/// A global's name with sigil and quotes.
pub fn global(bare: &str) -> String {
    format!("@\"{bare}\"")
}

/// The type at the start of a text, and what follows it.
pub fn ty(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' | '<' | '{' => depth += 1,
            ']' | '>' | '}' => depth -= 1,
            ' ' | ',' if depth == 0 => return Some(text.split_at(at)),
            _ => {}
        }
    }
    (depth == 0 && !text.is_empty()).then_some((text, ""))
}

/// The size of a type of a static in bytes, in which rustc writes bytes and pointers.
pub fn bytes(ty: &str) -> Option<usize> {
    let ty = ty.trim();
    if let Some(fields) = (ty.strip_prefix("<{ ")).and_then(|t| t.strip_suffix(" }>")) {
        return fields.split(", ").map(bytes).sum();
    }
    match ty.strip_prefix('[').and_then(|t| t.strip_suffix(" x i8]")) {
        Some(count) => count.parse().ok(),
        None => (ty == "ptr").then_some(8),
    }
}

/// The parts of a text between the commas that are in no brackets.
pub fn operands(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted) = (0, false);
    let split = text.split(|c: char| {
        quoted ^= c == '"';
        depth += i32::from("([{<".contains(c)) - i32::from(")]}>".contains(c));
        c == ',' && depth == 0 && !quoted
    });
    split.map(str::trim).collect()
}

/// A variable of a module.
pub struct Variable<'a> {
    pub name: &'a str,
    /// Linkage and other words before `global` or `constant`.
    pub words: &'a str,
    pub constant: bool,
    pub ty: &'a str,
    pub value: &'a str,
    pub align: Option<&'a str>,
}

impl<'a> Variable<'a> {
    /// The variable that a line declares or defines, if it is such a line.
    pub fn of(line: &'a str) -> Option<Self> {
        let (place, name) = names(line).next().filter(|(place, _)| place.start == 0)?;
        let rest = line[place.end..]
            .strip_prefix(" = ")
            .filter(|_| name.starts_with('@'))?;
        let (words, constant, rest) = [(" global ", false), (" constant ", true)]
            .into_iter()
            .filter_map(|(word, constant)| {
                let padded = rest.find(word).map(|at| (at, at + word.len()));
                let first = rest
                    .starts_with(word.trim_start())
                    .then_some((0, word.len() - 1));
                let (start, end) = first.or(padded)?;
                Some((&rest[..start], constant, &rest[end..]))
            })
            .min_by_key(|(words, ..)| words.len())?;
        let (ty, rest) = ty(rest)?;
        let align = rest
            .rsplit_once(", align ")
            .map(|(_, n)| n.split(',').next().unwrap_or(n));
        let value = operands(rest).into_iter().next().unwrap_or_default();
        Some(Self {
            name,
            words,
            constant,
            ty,
            value,
            align,
        })
    }
}

/// A part of a module that stands by itself: a variable, a function, a list of attributes or of metadata, a line at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Variable,
    Definition,
    Other,
}

/// The items of a module: what they are, and their lines.
pub fn items(lines: &[&str]) -> Result<Vec<(Kind, Range<usize>)>, CudaBuilderError> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let (kind, end) = if line.starts_with("define ") {
            let close = (at..lines.len()).find(|i| lines[*i] == "}");
            (
                Kind::Definition,
                close.ok_or_else(|| unknown("a function without an end", line))? + 1,
            )
        } else if line.starts_with('@') {
            (Kind::Variable, at + 1)
        } else {
            (Kind::Other, at + 1)
        };
        found.push((kind, at..end));
        at = end;
    }
    Ok(found)
}

/// The name of the function that a line starting with `define` or `declare` is about.
pub fn function(line: &str) -> Option<&str> {
    names(line)
        .map(|(_, name)| name)
        .find(|name| name.starts_with('@'))
}

/// Whether the line defines a kernel.
pub fn is_kernel(define: &str) -> bool {
    let (head, _) = define.split_once('@').unwrap_or_default();
    head.split(' ')
        .any(|word| matches!(word, "ptx_kernel" | "cc71"))
}

/// What stands in the parentheses with which a text starts.
pub fn in_parentheses(text: &str) -> Option<&str> {
    let mut depth = 0;
    let (close, _) = text.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth == 0
    })?;
    text.get(1..close)
}

/// Adds attributes to the function that this line starts to define.
pub fn with_attributes(define: &str, attributes: &str) -> Result<String, CudaBuilderError> {
    let fail = || unknown("the head of a function", define);
    let (name, _) = names(define)
        .find(|(_, name)| name.starts_with('@'))
        .ok_or_else(fail)?;
    let within = in_parentheses(&define[name.end..]).ok_or_else(fail)?;
    let after = name.end + within.len() + 2;
    let rest = &define[after..];
    let at = match (rest.find(" #"), rest.find("unnamed_addr")) {
        (Some(at), _) => at,
        (None, Some(at)) => at + "unnamed_addr".len(),
        (None, None) => 0,
    };
    let (before, end) = define.split_at(after + at);
    Ok(format!("{before} {attributes}{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_outside_of_strings_and_comments() {
        let line = r#"  %x = call ptr asm "ld [@no];", "=r,r"(ptr @"a$b", i32 %"c d"), !dbg !7 ; @comment"#;
        let found: Vec<&str> = names(line).map(|(_, name)| name).collect();
        assert_eq!(found, ["%x", "@\"a$b\"", "%\"c d\"", "!dbg", "!7"]);
    }

    #[test]
    fn variables_are_taken_apart() {
        let line = r#"@"a$b" = private unnamed_addr constant <{ [8 x i8], ptr }> <{ [8 x i8] c"global \22,", ptr @f }>, align 8, !dbg !3"#;
        let found = Variable::of(line).unwrap();
        assert_eq!(
            (found.name, found.words),
            ("@\"a$b\"", "private unnamed_addr")
        );
        assert!(found.constant && found.ty == "<{ [8 x i8], ptr }>");
        assert_eq!(bytes(found.ty), Some(16));
        assert_eq!(found.value, r#"<{ [8 x i8] c"global \22,", ptr @f }>"#);
        assert_eq!(found.align, Some("8"));
        let plain = Variable::of("@x = global [4 x i8] zeroinitializer, align 4").unwrap();
        assert!(!plain.constant && plain.words.is_empty());
        assert_eq!((plain.ty, plain.value), ("[4 x i8]", "zeroinitializer"));
        assert!(Variable::of("@f = alias void (), ptr @g").is_none());
        assert_eq!(bytes("i128"), None);
    }

    #[test]
    fn attributes_are_added_after_the_parameters() {
        for (define, expected) in [
            (
                "define void @f(ptr captures(address) %p) unnamed_addr #3 !dbg !1 {",
                "define void @f(ptr captures(address) %p) unnamed_addr NEW #3 !dbg !1 {",
            ),
            ("define void @f() {", "define void @f() NEW {"),
            (
                "define void @f() unnamed_addr {",
                "define void @f() unnamed_addr NEW {",
            ),
        ] {
            assert_eq!(with_attributes(define, "NEW").unwrap(), expected);
        }
    }
}
