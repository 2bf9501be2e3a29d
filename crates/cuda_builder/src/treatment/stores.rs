//! Stores of some of a number's bits.
//!
//! LLVM stores the lower bits of a register by an instruction for the shorter type. Where an instruction for floating-point numbers has
//! written the register, ptxas up to CUDA 13.0 converts the number to an integer instead: a packed structure then has 27
//! where the lower byte of 27.3 should be. A move in between says that bits are meant; it costs nothing.

use std::collections::HashSet;
use std::fmt::Write;

use super::{bodies, instruction};

/// PTX whose narrow stores are of bits.
pub(super) fn of_bits(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut text = String::with_capacity(ptx.len() + 1024);
    let mut from = 0;
    for body in bodies(&lines) {
        lines[from..body.start]
            .iter()
            .for_each(|line| put(&mut text, line));
        from = body.end;
        let floats: HashSet<&str> = (lines[body.clone()].iter())
            .filter_map(|line| instruction(line))
            .filter(|(name, operands)| operands[0].starts_with('%') && writes_float(name))
            .map(|(_, operands)| operands[0])
            .collect();
        for line in &lines[body] {
            let sources = narrow_store(line).filter(|all| all.iter().any(|s| floats.contains(s)));
            match sources {
                Some(sources) => put(&mut text, &moved(line, &sources)),
                None => put(&mut text, line),
            }
        }
    }
    lines[from..].iter().for_each(|line| put(&mut text, line));
    text
}

fn put(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Whether an instruction's result is a floating-point number: the first of the types that its name ends with.
fn writes_float(name: &str) -> bool {
    let is_type = |part: &&str| {
        let digits = part.trim_start_matches(|c: char| c.is_ascii_lowercase());
        matches!(digits, "8" | "16" | "32" | "64") && part.len() > digits.len()
    };
    name.split('.')
        .skip(1)
        .find(is_type)
        .is_some_and(|first| first.starts_with('f'))
}

/// The registers of a store that takes some of their bits.
fn narrow_store(line: &str) -> Option<Vec<&str>> {
    let code = line.split("//").next()?.trim().strip_suffix(';')?;
    let (name, operands) = code.split_once(char::is_whitespace)?;
    if name.split('.').next() != Some("st") {
        return None;
    }
    let kind = name.rsplit('.').next()?;
    let bits: u32 = kind.trim_start_matches(['b', 'u', 's']).parse().ok()?;
    let (_, sources) = operands.split_once("],")?;
    let sources = sources.trim().trim_matches(['{', '}']);
    let sources: Vec<&str> = sources.split(',').map(str::trim).collect();
    let wider = |source: &&str| width(source).is_some_and(|width| width > bits);
    sources.iter().any(wider).then_some(sources)
}

/// Bits of a register that can hold a floating-point number.
fn width(register: &str) -> Option<u32> {
    let name = register.strip_prefix('%')?;
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "r" => Some(32),
        "rd" => Some(64),
        _ => None,
    }
}

/// The store, of copies of its sources.
fn moved(line: &str, sources: &[&str]) -> String {
    let mut text = "\t{ // bits\n".to_owned();
    let (head, tail) = line.split_at(line.find("],").map_or(0, |at| at + 2));
    let mut store = tail.to_owned();
    for (i, source) in sources.iter().enumerate() {
        let Some(width) = width(source) else { continue };
        let _ = write!(
            text,
            "\t.reg .b{width} bits{i};\n\tmov.b{width} \tbits{i}, {source};\n"
        );
        // From the first to the last: a source that is there twice has two copies.
        store = replace_name(&store, source, &format!("bits{i}"));
    }
    text + head + &store + "\n\t}"
}

/// The first place where `name` stands by itself, replaced.
fn replace_name(text: &str, name: &str, by: &str) -> String {
    let alone = |at: &usize| {
        let after = text[at + name.len()..].chars().next();
        !after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match text.match_indices(name).map(|(at, _)| at).find(alone) {
        Some(at) => format!("{}{by}{}", &text[..at], &text[at + name.len()..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn treated(body: &str) -> String {
        let text = of_bits(&format!(".visible .entry a()\n{{\n{body}\tret;\n}}\n"));
        let body = text.strip_prefix(".visible .entry a()\n{\n").unwrap();
        body.strip_suffix("\tret;\n}\n").unwrap().to_owned()
    }

    #[test]
    fn the_lower_bits_of_a_float_are_stored_from_a_copy() {
        let number = "\tcvt.rn.f32.f64 \t%r9, %rd112;\n";
        assert_eq!(
            treated(&format!("{number}\tst.local.b8 \t[%rd73+11], %r9;\n")),
            format!(
                "{number}\t{{ // bits\n\t.reg .b32 bits0;\n\tmov.b32 \tbits0, %r9;\n\tst.local.b8 \t[%rd73+11], bits0;\n\t}}\n"
            )
        );
        let both = treated(
            "\tadd.rn.f64 \t%rd1, %rd2, %rd3;\n\tst.global.v2.b32 \t[%rd4], {%rd1, %rd1};\n",
        );
        assert!(
            both.contains("\tst.global.v2.b32 \t[%rd4], {bits0, bits1};\n"),
            "{both}"
        );
        assert_eq!(both.matches("mov.b64").count(), 2);
    }

    #[test]
    fn other_stores_stay() {
        for body in [
            "\tcvt.rn.f32.f64 \t%r9, %rd112;\n\tst.global.b32 \t[%rd1], %r9;\n",
            "\tcvt.rzi.s32.f32 \t%r9, %r1;\n\tst.global.b8 \t[%rd1], %r9;\n",
            "\tadd.rn.f32 \t%r1, %r2, %r3;\n\tshr.u32 \t%r9, %r1, 8;\n\tst.shared.b8 \t[%rd1], %r9;\n",
            "\tcvt.rn.f32.f64 \t%r9, %rd112;\n\tcvt.u16.u32 \t%rs1, %r9;\n\tst.b16 \t[%r9], %rs1;\n",
            "\tadd.rn.f32 \t%r1, %r2, %r3;\n\tst.global.b8 \t[%rd1], %r11;\n",
        ] {
            assert_eq!(treated(body), body);
        }
    }
}
