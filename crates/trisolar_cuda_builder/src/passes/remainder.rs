//! Remainders of floating-point numbers, `x % y`.
//!
//! LLVM's back end for NVIDIA GPUs computes x - trunc(x / y)·y. The quotient is rounded: where it is large, all digits of the
//! result are wrong, and where it is close to an integer, the result can be y or have the wrong sign. Rust's remainder is
//! exact. So the pass replaces the last instruction of each such sequence by a call of a function that computes the remainder
//! exactly, bit by bit.
//!
//! For a constant power of two, the sequence multiplies instead of dividing; it is exact and left alone.

use std::collections::HashMap;
use std::fmt::Write;

use super::{Instruction, bodies, instruction, rewritten};

/// Returns PTX in which remainders are exact.
pub(super) fn exact(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let found: Vec<Remainder<'_>> = bodies(&lines)
        .flat_map(|body| remainders(&lines[body.clone()], body.start))
        .collect();
    if found.is_empty() {
        return ptx.to_owned();
    }
    let mut instead = HashMap::new();
    for remainder in &found {
        instead.insert(remainder.last, remainder.call());
        if let Some((line, target)) = remainder.choice {
            instead.insert(line, remainder.moved_to(target));
        }
    }
    // Functions must come before their first use and after the directives at the start of the module.
    if let Some(at) = lines
        .iter()
        .position(|line| line.starts_with(".address_size"))
    {
        let needed = |width: &u32| found.iter().any(|remainder| remainder.width == *width);
        let functions: String = [64, 32].into_iter().filter(needed).map(function).collect();
        instead.insert(at, format!("{}\n{functions}", lines[at]));
    }
    rewritten(ptx, &instead)
}

/// A sequence that computes `result = x % y`.
#[derive(Debug, PartialEq)]
struct Remainder<'a> {
    width: u32,
    result: &'a str,
    x: &'a str,
    y: &'a str,
    /// The line of the sequence's last instruction.
    last: usize,
    /// The line that selects x where y is infinite, and the register that it writes. The exact remainder handles this case
    /// itself, and that of an infinite x.
    choice: Option<(usize, &'a str)>,
}

impl Remainder<'_> {
    fn call(&self) -> String {
        let Self {
            width,
            result,
            x,
            y,
            ..
        } = self;
        format!(
            "\t{{ // {x} % {y}\n\t.param .f{width} rem_x;\n\t.param .f{width} rem_y;\n\t.param .f{width} rem_result;\n\
             \tst.param.f{width} \t[rem_x], {x};\n\tst.param.f{width} \t[rem_y], {y};\n\
             \tcall.uni (rem_result), cuda_builder_rem_f{width}, (rem_x, rem_y);\n\
             \tld.param.f{width} \t{result}, [rem_result];\n\t}}"
        )
    }

    fn moved_to(&self, target: &str) -> String {
        format!("\tmov.f{} \t{target}, {};", self.width, self.result)
    }
}

/// The remainders in a function whose first line has the number `first`.
fn remainders<'a>(body: &[&'a str], first: usize) -> Vec<Remainder<'a>> {
    // The instruction that writes each register, if there is only one. Registers that are written twice, as in loops, do not
    // belong to such a sequence.
    let mut written: HashMap<&str, Option<Instruction<'a>>> = HashMap::new();
    let mut choices: Vec<(usize, [&str; 3])> = Vec::new();
    for (i, line) in body.iter().enumerate() {
        let Some(found) = instruction(line) else {
            continue;
        };
        if let ("selp.f32" | "selp.f64", [target, x, result, _]) = (found.name, &found.operands[..])
        {
            choices.push((first + i, [target, x, result]));
        }
        let target = found.operands[0];
        if target.starts_with('%') {
            let known = written.contains_key(target);
            written.insert(target, (!known).then_some(found));
        }
    }
    let of = |register: &str, name: &str| {
        let found = written.get(register)?.as_ref()?;
        (found.name.starts_with(name)).then(|| found.operands.clone())
    };
    let opposite = |a: &str, b: &str| {
        let negated = |a: &str, b: &str| of(a, "neg.f").is_some_and(|operands| operands[1] == b);
        negated(a, b) || negated(b, a) || negative(a).is_some_and(|negative| negative == b)
    };
    let mut found = Vec::new();
    for (i, line) in body.iter().enumerate() {
        let Some(Instruction { name, operands, .. }) = instruction(line) else {
            continue;
        };
        let width = match name {
            "fma.rn.f64" => 64,
            "fma.rn.f32" | "fma.rn.ftz.f32" => 32,
            _ => continue,
        };
        let [result, a, b, x] = operands[..] else {
            continue;
        };
        for (factor, other) in [(a, b), (b, a)] {
            let negative = of(factor, "neg.f").map(|operands| operands[1]);
            let whole = negative.unwrap_or(factor);
            let Some(quotient) = of(whole, "cvt.rzi.f") else {
                continue;
            };
            let Some(division) = of(quotient[1], "div.") else {
                continue;
            };
            let y = division[2];
            let same_x = division[1] == x || of(division[1], "mov.b").is_some_and(|o| o[1] == x);
            let same_y = match negative {
                Some(_) => y == other,
                None => opposite(y, other),
            };
            // The compiler adds a selection of x for an infinite y, unless y is a constant; a formula written out in the source
            // has none.
            let choice = (choices.iter())
                .find(|(_, choice)| choice[1..] == [x, result])
                .map(|(line, choice)| (*line, choice[0]));
            if same_x && same_y && (choice.is_some() || !y.starts_with('%')) {
                found.push(Remainder {
                    width,
                    result,
                    x,
                    y,
                    last: first + i,
                    choice,
                });
                break;
            }
        }
    }
    found
}

/// A constant with the opposite sign.
fn negative(constant: &str) -> Option<String> {
    let (prefix, digits) = constant.split_at_checked(2)?;
    if !matches!(prefix, "0d" | "0f") {
        return None;
    }
    let bits = u64::from_str_radix(digits, 16).ok()?;
    let sign = 1 << (4 * digits.len() - 1);
    Some(format!(
        "{prefix}{:0width$X}",
        bits ^ sign,
        width = digits.len()
    ))
}

/// The function for the exact remainder: on integers, it reduces |x| below |y| by subtracting |y| times powers of two, largest
/// first.
fn function(width: u32) -> String {
    let (fraction, infinity) = match width {
        64 => (52, 0x7ff0_0000_0000_0000u64),
        _ => (23, 0x7f80_0000),
    };
    let (all, sign) = (u64::MAX >> (64 - width), 1u64 << (width - 1));
    let (magnitude, implicit) = (all ^ sign, 1u64 << fraction);
    // Leading zeros of a number whose first set bit is the implicit one.
    let zeros = width - fraction - 1;
    let nan = infinity | implicit >> 1;
    let to_exponent = |register: &str| match width {
        64 => format!("shr.u64 %t, %{register}, 52;\n\tcvt.u32.u64 %e{register}, %t;"),
        _ => format!("shr.u32 %e{register}, %{register}, 23;"),
    };
    let mut text = format!(
        "\n// x % y of f{width}, exactly.\n.func (.param .f{width} result) cuda_builder_rem_f{width}(.param .f{width} px, .param .f{width} py)\n{{\n\
         \t.reg .pred %p<4>;\n\t.reg .b{width} %x, %y, %s, %d, %t;\n\t.reg .s32 %ex, %ey, %z;\n\
         \tld.param.b{width} %x, [px];\n\tld.param.b{width} %y, [py];\n\
         \tand.b{width} %s, %x, {sign};\n\tand.b{width} %x, %x, {magnitude};\n\tand.b{width} %y, %y, {magnitude};\n\
         \tsetp.ge.u{width} %p1, %x, {infinity};\n\tsetp.gt.u{width} %p2, %y, {infinity};\n\
         \tsetp.eq.u{width} %p3, %y, 0;\n\tor.pred %p1, %p1, %p2;\n\tor.pred %p1, %p1, %p3;\n\
         \t@%p1 bra $REM{width}_NAN;\n\
         \tsetp.lt.u{width} %p1, %x, %y;\n\t@%p1 bra $REM{width}_END;\n",
    );
    // Numbers become integer multiples of a power of two with the implicit bit set, including subnormal ones.
    for register in ["x", "y"] {
        let _ = write!(
            text,
            "\t{exponent}\n\tsetp.eq.s32 %p1, %e{register}, 0;\n\
             \tclz.b{width} %z, %{register};\n\tsub.s32 %z, %z, {zeros};\n\
             \tand.b{width} %t, %{register}, {mask};\n\tor.b{width} %t, %t, {implicit};\n\
             \t@%p1 shl.b{width} %t, %{register}, %z;\n\t@%p1 sub.s32 %e{register}, 1, %z;\n\
             \tmov.b{width} %{register}, %t;\n",
            exponent = to_exponent(register),
            mask = implicit - 1,
        );
    }
    let _ = write!(
        text,
        "$REM{width}_NEXT:\n\
         \tsub.s{width} %d, %x, %y;\n\tsetp.ge.s{width} %p1, %d, 0;\n\tselp.b{width} %x, %d, %x, %p1;\n\
         \tsetp.eq.u{width} %p2, %x, 0;\n\t@%p2 bra $REM{width}_END;\n\
         \tsetp.le.s32 %p3, %ex, %ey;\n\t@%p3 bra $REM{width}_LAST;\n\
         \tshl.b{width} %x, %x, 1;\n\tsub.s32 %ex, %ex, 1;\n\tbra.uni $REM{width}_NEXT;\n\
         $REM{width}_LAST:\n\
         \tclz.b{width} %z, %x;\n\tsub.s32 %z, %z, {zeros};\n\tsub.s32 %ex, %ex, %z;\n\tshl.b{width} %x, %x, %z;\n\
         \tsetp.gt.s32 %p1, %ex, 0;\n\tsub.s32 %z, 1, %ex;\n\
         \t@!%p1 shr.u{width} %x, %x, %z;\n\
         \tsub.s32 %ex, %ex, 1;\n\t{widen}\n\tshl.b{width} %t, %t, {fraction};\n\t@%p1 add.s{width} %x, %x, %t;\n\
         $REM{width}_END:\n\tor.b{width} %x, %x, %s;\n\tst.param.b{width} [result], %x;\n\tret;\n\
         $REM{width}_NAN:\n\tmov.b{width} %x, {nan};\n\tst.param.b{width} [result], %x;\n\tret;\n}}\n",
        widen = match width {
            64 => "cvt.s64.s32 %t, %ex;",
            _ => "mov.b32 %t, %ex;",
        },
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str) -> Vec<(usize, String)> {
        let lines: Vec<&str> = body.lines().collect();
        remainders(&lines, 100)
            .iter()
            .map(|r| {
                (
                    r.last - 100,
                    format!("{} = {} % {} of f{}", r.result, r.x, r.y, r.width),
                )
            })
            .collect()
    }

    #[test]
    fn a_remainder_by_a_variable_is_found_by_its_selection_for_infinite_divisors() {
        let formula = "\tdiv.rn.f64 \t%rd7, %rd1, %rd4;\n\tcvt.rzi.f64.f64 \t%rd8, %rd7;\n\tneg.f64 \t%rd9, %rd8;\n\
                       \tfma.rn.f64 \t%rd10, %rd9, %rd4, %rd1;\n";
        assert_eq!(found(formula), []);
        let chosen = format!(
            "{formula}\ttestp.infinite.f64 \t%p1, %rd4;\n\tselp.f64 \t%rd11, %rd1, %rd10, %p1;\n"
        );
        assert_eq!(
            found(&chosen),
            [(3, "%rd10 = %rd1 % %rd4 of f64".to_owned())]
        );
        // A number other than the one that was divided does not match.
        assert_eq!(
            found(&chosen.replace("%rd4, %rd1;\n\ttestp", "%rd4, %rd2;\n\ttestp")),
            []
        );
    }

    #[test]
    fn constants_and_signs_are_followed() {
        let constant = "\tdiv.rn.f64 \t%rd4, %rd1, 0d4008000000000000;\n\tcvt.rzi.f64.f64 \t%rd5, %rd4;\n\
                        \tfma.rn.f64 \t%rd6, %rd5, 0dC008000000000000, %rd1;\n";
        assert_eq!(
            found(constant),
            [(2, "%rd6 = %rd1 % 0d4008000000000000 of f64".to_owned())]
        );
        assert_eq!(found(&constant.replace("0dC008", "0d4008")), []);
        let negated = "\tneg.f32 \t%r15, %r2;\n\tdiv.full.f32 \t%r16, %r1, %r15;\n\tcvt.rzi.f32.f32 \t%r17, %r16;\n\
                       \tfma.rn.f32 \t%r18, %r17, %r2, %r1;\n\tselp.f32 \t%r19, %r1, %r18, %p2;\n";
        assert_eq!(found(negated), [(3, "%r18 = %r1 % %r15 of f32".to_owned())]);
        let numerator = "\tmov.b32 \t%r3, 0f40E00000;\n\tdiv.rn.f32 \t%r4, %r3, %r1;\n\tcvt.rzi.f32.f32 \t%r5, %r4;\n\
                         \tneg.f32 \t%r6, %r5;\n\tfma.rn.f32 \t%r7, %r6, %r1, 0f40E00000;\n\
                         \tselp.f32 \t%r8, 0f40E00000, %r7, %p1;\n";
        assert_eq!(
            found(numerator),
            [(4, "%r7 = 0f40E00000 % %r1 of f32".to_owned())]
        );
    }

    #[test]
    fn the_formula_becomes_a_call_and_its_selection_a_move() {
        let text = ".version 7.0\n.address_size 64\n.visible .entry a()\n{\n\tdiv.rn.f32 \t%r3, %r1, %r2;\n\
                    \tcvt.rzi.f32.f32 \t%r4, %r3;\n\tneg.f32 \t%r5, %r4;\n\tfma.rn.f32 \t%r6, %r5, %r2, %r1;\n\
                    \ttestp.infinite.f32 \t%p1, %r2;\n\tselp.f32 \t%r7, %r1, %r6, %p1;\n\tret;\n}\n";
        let exact = exact(text);
        let function = exact
            .find(".func (.param .f32 result) cuda_builder_rem_f32")
            .unwrap();
        assert!(function < exact.find(".entry a").unwrap() && !exact.contains("rem_f64"));
        assert!(exact.contains("call.uni (rem_result), cuda_builder_rem_f32, (rem_x, rem_y);"));
        assert!(exact.contains("\tmov.f32 \t%r7, %r6;\n\tret;"));
        assert!(!exact.contains("fma.rn") && !exact.contains("selp.f32"));
    }

    #[test]
    fn a_module_without_remainders_does_not_change() {
        let text = ".version 7.0\n.address_size 64\n.visible .entry a()\n{\n\tret;\n}\n";
        assert_eq!(exact(text), text);
    }
}
