//! Negations and absolute values of integers whose sign ptxas up to CUDA 13.0 loses.
//!
//! - It computes -x and |x| of 16 bits in 32, and does not wrap the result: -(-32768) becomes 32768.
//! - It takes |x| for positive in comparisons with 0 and in remainders, although |x| of the least number is that number.
//! - It drops the minus in the least and the greatest of three, min(min(x, -y), z), from compute capability 9.0.
//!
//! Each is written in another form here, which costs at most two instructions, in these rare cases.

use std::collections::HashSet;

use crate::stores::instruction;

/// Returns PTX whose negations and absolute values keep their signs.
pub fn kept(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut text = String::with_capacity(ptx.len());
    // Registers belong to a function, which starts in the first column.
    for function in lines.chunk_by(|_, next| !next.starts_with(['.', '}'])) {
        let compared = compared(function);
        for line in function {
            match of_two(line).and_then(|(name, to, from)| rewritten(name, to, from, &compared)) {
                Some(other) => text += &other,
                None => text += line,
            }
            text.push('\n');
        }
    }
    text
}

/// The name of an instruction with a result and one source, and both.
fn of_two(line: &str) -> Option<(&str, &str, &str)> {
    let (name, operands) = instruction(line).filter(|_| !line.contains('@'))?;
    let (to, from) = operands.split_once(',')?;
    let is_one = |text: &str| !text.contains([',', ';', '{']);
    (is_one(to) && is_one(from)).then_some((name, to.trim(), from.trim()))
}

/// The registers of which a least or a greatest number is taken, also by way of copies.
fn compared<'a>(function: &[&'a str]) -> HashSet<&'a str> {
    let mut compared = HashSet::new();
    for (name, operands) in function.iter().filter_map(|line| instruction(line)) {
        if matches!(name, "min.s32" | "max.s32") {
            compared.extend(operands.split(',').skip(1).map(str::trim));
        }
    }
    let copies = function.iter().filter_map(|line| of_two(line));
    let copies: Vec<_> = copies.filter(|(name, ..)| *name == "mov.b32").collect();
    loop {
        let known = compared.len();
        for (_, to, from) in copies.iter().rev() {
            if compared.contains(to) {
                compared.insert(*from);
            }
        }
        if compared.len() == known {
            return compared;
        }
    }
}

/// The form in which ptxas keeps the sign of a negation or an absolute value.
fn rewritten(name: &str, to: &str, from: &str, compared: &HashSet<&str>) -> Option<String> {
    let (operation, ty) = name.split_once('.')?;
    match (operation, ty) {
        ("neg" | "abs", "s16") => Some(format!(
            "\t{{ // sign\n\t.reg .b32 wide;\n\tcvt.s32.s16 \twide, {from};\n\t{operation}.s32 \twide, wide;\n\tcvt.u16.u32 \t{to}, wide;\n\t}}"
        )),
        ("neg", "s32") if compared.contains(to) => Some(format!(
            "\tnot.b32 \t{to}, {from};\n\tadd.s32 \t{to}, {to}, 1;"
        )),
        ("abs", "s32" | "s64") => {
            let bits = &ty[1..];
            Some(format!(
                "\t{{ // sign\n\t.reg .pred below;\n\t.reg .b{bits} negated;\n\tsetp.lt.{ty} \tbelow, {from}, 0;\n\tneg.{ty} \tnegated, {from};\n\
                 \tselp.b{bits} \t{to}, negated, {from}, below;\n\t}}"
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(body: &str) -> String {
        let text = kept(&format!(".visible .entry a()\n{{\n{body}\tret;\n}}\n"));
        let body = text.strip_prefix(".visible .entry a()\n{\n").unwrap();
        body.strip_suffix("\tret;\n}\n").unwrap().to_owned()
    }

    #[test]
    fn sixteen_bits_wrap() {
        assert_eq!(
            passed("\tneg.s16 \t%rs60, %rs57;\n"),
            "\t{ // sign\n\t.reg .b32 wide;\n\tcvt.s32.s16 \twide, %rs57;\n\tneg.s32 \twide, wide;\n\tcvt.u16.u32 \t%rs60, wide;\n\t}\n"
        );
        assert!(passed("\tabs.s16 \t%rs3, %rs39;\n").contains("\tabs.s32 \twide, wide;\n"));
    }

    #[test]
    fn absolute_values_may_be_negative() {
        assert_eq!(
            passed("\tabs.s64 \t%rd350, %rd349;\n"),
            "\t{ // sign\n\t.reg .pred below;\n\t.reg .b64 negated;\n\tsetp.lt.s64 \tbelow, %rd349, 0;\n\tneg.s64 \tnegated, %rd349;\n\
             \tselp.b64 \t%rd350, negated, %rd349, below;\n\t}\n"
        );
        assert!(
            passed("\tabs.s32 \t%r2, %r1;\n").contains("\tselp.b32 \t%r2, negated, %r1, below;")
        );
    }

    #[test]
    fn a_negation_keeps_its_minus_in_a_least_number() {
        let least = "\tmin.s32 \t%r46, %r43, %r37;\n";
        let inverted = "\tnot.b32 \t%r37, %r36;\n\tadd.s32 \t%r37, %r37, 1;\n";
        assert_eq!(
            passed(&format!("\tneg.s32 \t%r37, %r36;\n{least}")),
            format!("{inverted}{least}")
        );
        let copies = "\tmov.b32 \t%r6, %r37;\n\tmov.b32 \t%r5, %r6;\n\tmax.s32 \t%r4, %r5, 0;\n";
        assert_eq!(
            passed(&format!("{copies}\tneg.s32 \t%r37, %r36;\n")),
            format!("{copies}{inverted}")
        );
    }

    #[test]
    fn other_instructions_do_not_change() {
        for body in [
            "\tneg.s32 \t%r37, %r36;\n\tadd.s32 \t%r46, %r43, %r37;\n",
            "\tneg.s64 \t%rd37, %rd36;\n\tmin.s64 \t%rd46, %rd43, %rd37;\n",
            "\tneg.f32 \t%r37, %r36;\n\tabs.f64 \t%rd1, %rd2;\n",
            "\t// neg.s16 %rs1, %rs2;\n\tmov.b64 \t{%r1, %r2}, %rd1;\n",
        ] {
            assert_eq!(passed(body), body);
        }
        // Another function has other registers.
        let two =
            ".func a()\n{\n\tneg.s32 \t%r2, %r1;\n}\n.func b()\n{\n\tmin.s32 \t%r3, %r2, %r1;\n}\n";
        assert_eq!(kept(two), two);
    }
}
