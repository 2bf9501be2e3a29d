//! Stores of a part of a number's bits.
//!
//! LLVM stores the lower bits of a register with an instruction for the shorter type. Where a floating-point instruction has
//! written the register, ptxas up to CUDA 13.0 converts the number to an integer instead: a packed structure then contains 27
//! instead of the lower byte of 27.3. A move to another register makes clear that bits are meant; it costs nothing.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::{Instruction, bodies, instruction, rewritten, with_words, words};

/// Returns PTX whose narrow stores store bits.
pub(super) fn of_bits(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut instead = HashMap::new();
    for body in bodies(&lines) {
        let code = || {
            body.clone()
                .filter_map(|i| Some((i, instruction(lines[i])?)))
        };
        let floats: HashSet<&str> = code()
            .filter(|(_, code)| writes_float(code.name))
            .flat_map(|(_, code)| code.targets())
            .collect();
        let narrow = code().filter(|(_, store)| narrows(store, &floats));
        instead.extend(narrow.map(|(i, store)| (i, moved(&store))));
    }
    rewritten(ptx, &instead)
}

/// Whether an instruction's result is a floating-point number, judged by the first of the types at the end of its name.
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

/// Whether an instruction stores only some of the bits of a register that may hold a floating-point number.
fn narrows(store: &Instruction<'_>, floats: &HashSet<&str>) -> bool {
    if store.root() != "st" {
        return false;
    }
    let kind = store.name.split('.').next_back().unwrap_or_default();
    let Ok(bits) = kind.trim_start_matches(['b', 'u', 's']).parse() else {
        return false;
    };
    let sources = || (store.operands[1..].iter()).flat_map(|operand| words(operand));
    sources().any(|(_, source)| width(source).is_some_and(|width| width > bits))
        && sources().any(|(_, source)| floats.contains(source))
}

/// The number of bits of a register that can hold a floating-point number.
fn width(register: &str) -> Option<u32> {
    let name = register.strip_prefix('%')?;
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "r" => Some(32),
        "rd" => Some(64),
        _ => None,
    }
}

/// The store, applied to copies of its sources.
fn moved(store: &Instruction<'_>) -> String {
    let mut text = "\t{ // bits\n".to_owned();
    let mut copies = 0;
    let sources: Vec<String> = (store.operands[1..].iter())
        .map(|operand| {
            with_words(operand, |source| {
                let width = width(source)?;
                let copy = format!("bits{copies}");
                copies += 1;
                let _ = write!(
                    text,
                    "\t.reg .b{width} {copy};\n\tmov.b{width} \t{copy}, {source};\n"
                );
                Some(copy)
            })
        })
        .collect();
    let operands: Vec<String> = std::iter::once(store.operands[0].to_owned())
        .chain(sources)
        .collect();
    format!("{text}{}\n\t}}", store.with(store.name, &operands))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(body: &str) -> String {
        let text = of_bits(&format!(".visible .entry a()\n{{\n{body}\tret;\n}}\n"));
        let body = text.strip_prefix(".visible .entry a()\n{\n").unwrap();
        body.strip_suffix("\tret;\n}\n").unwrap().to_owned()
    }

    #[test]
    fn the_lower_bits_of_a_float_are_stored_from_a_copy() {
        let number = "\tcvt.rn.f32.f64 \t%r9, %rd112;\n";
        assert_eq!(
            passed(&format!("{number}\tst.local.b8 \t[%rd73+11], %r9;\n")),
            format!(
                "{number}\t{{ // bits\n\t.reg .b32 bits0;\n\tmov.b32 \tbits0, %r9;\n\tst.local.b8 \t[%rd73+11], bits0;\n\t}}\n"
            )
        );
        let both = passed(
            "\tadd.rn.f64 \t%rd1, %rd2, %rd3;\n\tst.global.v2.b32 \t[%rd4], {%rd1, %rd1};\n",
        );
        assert!(
            both.contains("\tst.global.v2.b32 \t[%rd4], {bits0, bits1};\n"),
            "{both}"
        );
        assert_eq!(both.matches("mov.b64").count(), 2);
    }

    #[test]
    fn other_stores_do_not_change() {
        for body in [
            "\tcvt.rn.f32.f64 \t%r9, %rd112;\n\tst.global.b32 \t[%rd1], %r9;\n",
            "\tcvt.rzi.s32.f32 \t%r9, %r1;\n\tst.global.b8 \t[%rd1], %r9;\n",
            "\tadd.rn.f32 \t%r1, %r2, %r3;\n\tshr.u32 \t%r9, %r1, 8;\n\tst.shared.b8 \t[%rd1], %r9;\n",
            "\tcvt.rn.f32.f64 \t%r9, %rd112;\n\tcvt.u16.u32 \t%rs1, %r9;\n\tst.b16 \t[%r9], %rs1;\n",
            "\tadd.rn.f32 \t%r1, %r2, %r3;\n\tst.global.b8 \t[%rd1], %r11;\n",
        ] {
            assert_eq!(passed(body), body);
        }
    }
}
