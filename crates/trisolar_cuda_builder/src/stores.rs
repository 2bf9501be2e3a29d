//! Stores of a part of a number's bits.
//!
//! LLVM stores the lower bits of a register with an instruction for the shorter type. Where a floating-point instruction has
//! written the register, ptxas up to CUDA 13.0 converts the number to an integer instead: a packed structure then contains 27
//! instead of the lower byte of 27.3. A move to another register makes clear that bits are meant; it costs nothing.

use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;

/// Returns PTX whose narrow stores store bits.
pub fn of_bits(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut floats: HashSet<&str> = HashSet::new();
    let mut function = Vec::new();
    let mut write = |function: &mut Vec<&str>, floats: &mut HashSet<_>| {
        for line in function.drain(..) {
            match instruction(line).filter(|(name, operands)| narrows(name, operands, floats)) {
                Some((name, operands)) => text += &moved(name, operands),
                None => text += line,
            }
            text.push('\n');
        }
        floats.clear();
    };
    for line in ptx.lines() {
        // Registers belong to a function, which starts in the first column.
        if line.starts_with(['.', '}']) {
            write(&mut function, &mut floats);
        }
        if let Some((name, operands)) = instruction(line)
            && writes_float(name)
        {
            let target = operands.split(',').next().unwrap_or_default();
            floats.extend(registers(target).map(|(_, register)| register));
        }
        function.push(line);
    }
    write(&mut function, &mut floats);
    text
}

/// The name of the instruction in a line, and its operands.
pub fn instruction(line: &str) -> Option<(&str, &str)> {
    let code = line.split("//").next()?.trim().strip_suffix(';')?;
    let code = match code.starts_with('@') {
        true => code.split_once(char::is_whitespace)?.1.trim_start(),
        false => code,
    };
    code.split_once(char::is_whitespace)
}

/// The registers of 32 or 64 bits in a text, with their places.
fn registers(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    text.match_indices("%r").map(|(start, _)| {
        let end = text[start + 1..].find(|c: char| !c.is_ascii_alphanumeric());
        let place = start..end.map_or(text.len(), |end| start + 1 + end);
        (place.clone(), &text[place])
    })
}

/// Whether an instruction's result is a floating-point number, judged by the first of the types at the end of its name.
fn writes_float(name: &str) -> bool {
    let is_type = |part: &&str| {
        let digits = part.trim_start_matches(|c: char| c.is_ascii_lowercase());
        matches!(digits, "8" | "16" | "32" | "64") && part.len() > digits.len()
    };
    let ty = name.split('.').skip(1).find(is_type);
    !name.starts_with("st.") && ty.is_some_and(|first| first.starts_with('f'))
}

/// Whether an instruction stores only some of the bits of a register that may hold a floating-point number.
fn narrows(name: &str, operands: &str, floats: &HashSet<&str>) -> bool {
    let kind = name.rsplit('.').next().unwrap_or_default();
    let Ok(bits) = kind.trim_start_matches(['b', 'u', 's']).parse::<u32>() else {
        return false;
    };
    let source = operands.find(']').map_or("", |end| &operands[end..]);
    name.starts_with("st.")
        && registers(source)
            .any(|(_, register)| width(register) > bits && floats.contains(register))
}

/// The number of bits of a register.
fn width(register: &str) -> u32 {
    if register.starts_with("%rd") { 64 } else { 32 }
}

/// The store, applied to copies of its sources.
fn moved(name: &str, operands: &str) -> String {
    let (address, sources) = operands.split_at(operands.find(']').map_or(0, |end| end + 1));
    let mut text = "\t{ // bits\n".to_owned();
    let (mut copied, mut from) = (String::new(), 0);
    for (count, (place, register)) in registers(sources).enumerate() {
        let bits = width(register);
        let _ = write!(
            text,
            "\t.reg .b{bits} bits{count};\n\tmov.b{bits} \tbits{count}, {register};\n"
        );
        let _ = write!(copied, "{}bits{count}", &sources[from..place.start]);
        from = place.end;
    }
    format!(
        "{text}\t{name} \t{}{copied}{};\n\t}}",
        address.trim_start(),
        &sources[from..]
    )
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
