//! Flushing of subnormal `f32` numbers to zero. rustc cannot set LLVM's denormal mode, so this pass adds `.ftz` to the instructions.

use std::collections::HashMap;

use super::{bodies, function_name, in_assembly, instruction, rewritten};

/// The instructions that can flush. (`sin`, `cos` and the like have `.ftz` in `cuda_std` anyway.)
const ARITHMETIC: [&str; 13] = [
    "add", "sub", "mul", "fma", "div", "sqrt", "rcp", "rsqrt", "min", "max", "abs", "neg", "setp",
];
/// The start of the names of the functions that passes add, which compute exactly.
const OF_PASSES: &str = "cuda_builder_";

/// Returns PTX whose `f32` instructions flush subnormal arguments and results to zeros of the same sign. Inline assembly says itself
/// what it means, and does not change.
pub(super) fn flushed(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut instead = HashMap::new();
    for body in
        bodies(&lines).filter(|body| !function_name(lines[body.start]).starts_with(OF_PASSES))
    {
        let own = &lines[body.clone()];
        for ((i, line), assembly) in (body.start..).zip(own).zip(in_assembly(own)) {
            let code = (!assembly).then(|| instruction(line)).flatten();
            let Some(name) = code.as_ref().and_then(|code| flushing(code.name)) else {
                continue;
            };
            // The name stands between guard and operands, where nothing else has its form.
            instead.insert(
                i,
                line.replacen(code.expect("it has a name").name, &name, 1),
            );
        }
    }
    rewritten(ptx, &instead)
}

/// The name of an instruction with `.ftz`, if it computes with `f32`.
fn flushing(name: &str) -> Option<String> {
    let mut parts: Vec<&str> = name.split('.').collect();
    let types: Vec<&str> = parts.iter().filter(|part| is_type(part)).copied().collect();
    let is_single = |ty: &&&str| matches!(**ty, "f32" | "f32x2");
    let applies = match (parts[0], &types[..]) {
        // Integers and numbers of 16 bits have no subnormal value as f32.
        ("cvt", [to, from]) => {
            *from == "f32" && !matches!(*to, "f16" | "bf16") || (*to, *from) == ("f32", "f64")
        }
        (root, types) => {
            ARITHMETIC.contains(&root) && types.first().as_ref().is_some_and(is_single)
        }
    };
    if !applies || parts.contains(&"ftz") {
        return None;
    }
    let last = |part: &&str| is_type(part) || matches!(*part, "sat" | "NaN" | "xorsign");
    let at = parts.iter().position(last)?;
    parts.insert(at, "ftz");
    Some(parts.join("."))
}

/// Whether a modifier is a type, such as `f32` or `s64`.
fn is_type(part: &str) -> bool {
    let digits = part.trim_start_matches(|c: char| c.is_ascii_lowercase());
    part.len() > digits.len() && matches!(digits, "8" | "16" | "32" | "64" | "16x2" | "32x2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_of_f32_flush_and_others_do_not() {
        for (name, expected) in [
            ("add.rn.f32", Some("add.rn.ftz.f32")),
            ("fma.rn.sat.f32", Some("fma.rn.ftz.sat.f32")),
            ("mul.rn.f32x2", Some("mul.rn.ftz.f32x2")),
            ("div.approx.f32", Some("div.approx.ftz.f32")),
            ("sqrt.rn.f32", Some("sqrt.rn.ftz.f32")),
            ("max.NaN.f32", Some("max.ftz.NaN.f32")),
            ("setp.lt.and.f32", Some("setp.lt.and.ftz.f32")),
            ("cvt.rn.f32.f64", Some("cvt.rn.ftz.f32.f64")),
            ("cvt.f64.f32", Some("cvt.ftz.f64.f32")),
            ("cvt.rzi.s32.f32", Some("cvt.rzi.ftz.s32.f32")),
            ("cvt.rmi.f32.f32", Some("cvt.rmi.ftz.f32.f32")),
            ("cvt.sat.f32.f32", Some("cvt.ftz.sat.f32.f32")),
            ("cvt.rn.f32.s32", None),
            ("cvt.rn.f16.f32", None),
            ("cvt.f32.f16", None),
            ("add.rn.f64", None),
            ("add.s32", None),
            ("ex2.approx.ftz.f32", None),
            ("rcp.approx.ftz.f32", None),
            ("selp.f32", None),
            ("mov.f32", None),
            ("setp.lt.f64", None),
            ("atom.global.add.f32", None),
        ] {
            assert_eq!(flushing(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn assembly_and_functions_of_passes_keep_subnormal_numbers() {
        let text = ".visible .entry a()\n{\n\t@%p1 mul.rn.f32 \t%r1, %r2, 0f3F800000;\n\t// begin inline asm\n\tadd.rm.f32 %r1, %r2, %r3;\n\
                    \t// end inline asm\n\tret;\n}\n.func (.param .f32 result) cuda_builder_rem_f32()\n{\n\tsub.rn.f32 \tx, x, y;\n\tret;\n}\n";
        assert_eq!(flushed(text), text.replace("mul.rn.f32", "mul.rn.ftz.f32"));
    }
}
