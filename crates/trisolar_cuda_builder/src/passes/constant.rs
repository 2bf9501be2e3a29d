//! Constant memory that the host sets.
//!
//! rustc places every static in global memory. `cuda_std` marks those with `#[address_space(constant)]` by a prefix of their symbols; this pass
//! declares them in constant memory, under their own names, and loads through their addresses are `.const`. Stores and atomics are
//! errors.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::addresses::{Memory, addressed, name_in};
use super::{function_name, rewritten, with_words, words};
use crate::error::CudaBuilderError;

/// The prefix of the symbols of constants, which the name follows.
const STATIC: &str = "cuda_std_constant$";
/// The size of constant memory.
const MOST_BYTES: usize = 1 << 16;

/// Returns PTX whose constants are in constant memory.
pub(super) fn placed(ptx: &str) -> Result<String, CudaBuilderError> {
    if !ptx.contains(STATIC) {
        return Ok(ptx.to_owned());
    }
    let lines: Vec<&str> = ptx.lines().collect();
    let mut instead = HashMap::new();
    let (mut names, mut bytes) = (HashSet::new(), 0);
    for (i, line) in lines.iter().enumerate() {
        let (declaration, value) = line.split_once('=').unwrap_or((*line, ""));
        let symbol = line
            .starts_with('.')
            .then(|| name_in(declaration))
            .flatten();
        let Some(name) = symbol.and_then(|symbol| symbol.strip_prefix(STATIC)) else {
            if let Some(name) = line
                .starts_with('.')
                .then(|| names_in(value).next())
                .flatten()
            {
                let place = format!(
                    "as the initial value of the static {}",
                    symbol.unwrap_or_default()
                );
                return Err(CudaBuilderError::ConstantStatic {
                    name: name.to_owned(),
                    place,
                });
            }
            continue;
        };
        names.insert(name);
        bytes += size(declaration);
        if bytes > MOST_BYTES {
            let place = format!(
                "needs more than the 64 KiB of constant memory: with the constants before it, {bytes} bytes"
            );
            return Err(CudaBuilderError::ConstantStatic {
                name: name.to_owned(),
                place,
            });
        }
        instead.insert(i, line.replacen(".global ", ".const ", 1));
    }
    let mut others = lines.iter().filter_map(|line| name_of_other(line));
    if let Some(name) = others.find(|name| names.contains(name)) {
        let place = "has the name of a kernel, a function or another static".to_owned();
        return Err(CudaBuilderError::ConstantStatic {
            name: name.to_owned(),
            place,
        });
    }
    let ptx = addressed(&rewritten(ptx, &instead), Memory::Constant, refusal)?;
    Ok(with_words(&ptx, |word| {
        word.strip_prefix(STATIC).map(str::to_owned)
    }))
}

/// The names of the constants in a text.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    words(text).filter_map(|(_, word)| word.strip_prefix(STATIC))
}

/// The name of a function or variable that is no constant.
fn name_of_other(line: &str) -> Option<&str> {
    let first = || line.split_whitespace().take(3);
    let name = match first().any(|word| matches!(word, ".entry" | ".func")) {
        true => function_name(line),
        false if first().any(|word| matches!(word, ".global" | ".shared")) => {
            name_in(line.split('=').next()?)?
        }
        false => return None,
    };
    line.starts_with('.').then_some(name)
}

/// The bytes of a variable such as `.visible .global .align 4 .b8 NAME[16]`.
fn size(declaration: &str) -> usize {
    let bits = declaration.split_whitespace().find_map(|word| {
        let bits = word
            .strip_prefix(['.'])?
            .strip_prefix(['b', 'u', 's', 'f'])?;
        bits.parse::<usize>().ok()
    });
    let count = declaration
        .split_once('[')
        .and_then(|(_, rest)| rest.split(']').next()?.parse().ok());
    bits.unwrap_or(8) / 8 * count.unwrap_or(1)
}

/// The error for an instruction that constant memory does not have, which names function and line.
fn refusal(function: &[&str], line: &str) -> CudaBuilderError {
    let names: BTreeSet<&str> = function.iter().flat_map(|line| names_in(line)).collect();
    CudaBuilderError::ConstantStatic {
        name: names.into_iter().collect::<Vec<_>>().join(" or "),
        place: format!(
            "is only for reading, but {:#} has `{}`",
            rustc_demangle::demangle(function_name(function[0])),
            with_words(line.trim(), |word| word
                .strip_prefix(STATIC)
                .map(str::to_owned))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 7.0\n.address_size 64\n";
    const GLOBAL: &str = ".visible .global .align 4 .b8 cuda_std_constant$TABLE[64] = {1, 2};\n";

    fn passed(body: &str) -> Result<String, CudaBuilderError> {
        let text = placed(&format!(
            "{HEAD}{GLOBAL}.visible .entry a()\n{{\n{body}\tret;\n}}\n"
        ))?;
        let start = format!(
            "{HEAD}.visible .const .align 4 .b8 TABLE[64] = {{1, 2}};\n.visible .entry a()\n{{\n"
        );
        let body = text.strip_prefix(&start).expect(&text);
        Ok(body.strip_suffix("\tret;\n}\n").unwrap().to_owned())
    }

    #[test]
    fn loads_through_the_address_are_from_constant_memory() {
        let text = passed(
            "\tld.global.b32 \t%r1, [cuda_std_constant$TABLE+4];\n\tmov.b64 \t%rd1, cuda_std_constant$TABLE;\n\tadd.s64 \t%rd3, %rd1, %rd2;\n\
             \tld.global.nc.v2.b32 \t{%r2, %r3}, [%rd3+8];\n\tst.global.b64 \t[%rd9], %rd3;\n\tld.global.b32 \t%r4, [%rd9];\n",
        );
        assert_eq!(
            text.unwrap(),
            "\t.reg .b64 \t%generic_const<1>;\n\
             \tld.const.b32 \t%r1, [TABLE+4];\n\tmov.b64 \t%rd1, TABLE;\n\tadd.s64 \t%rd3, %rd1, %rd2;\n\
             \tld.const.v2.b32 \t{%r2, %r3}, [%rd3+8];\n\tcvta.const.u64 \t%generic_const0, %rd3;\n\
             \tst.global.b64 \t[%rd9], %generic_const0;\n\tld.global.b32 \t%r4, [%rd9];\n"
        );
    }

    #[test]
    fn writes_are_errors_that_name_the_constant() {
        for line in [
            "st.global.b32 \t[cuda_std_constant$TABLE], %r1;",
            "atom.global.add.u32 \t%r1, [cuda_std_constant$TABLE], %r2;",
            "ld.relaxed.gpu.global.b32 \t%r1, [cuda_std_constant$TABLE];",
        ] {
            let error = passed(&format!("\t{line}\n")).unwrap_err().to_string();
            assert!(
                error.contains("TABLE is only for reading, but a has"),
                "{error}"
            );
        }
    }

    #[test]
    fn too_much_memory_names_twice_and_addresses_in_statics_are_errors() {
        let large = GLOBAL.replace("TABLE[64] = {1, 2}", "LARGE[65500]");
        let twice = ".visible .entry TABLE()\n{\n\tret;\n}\n".to_owned();
        let held =
            ".global .align 8 .u64 HOLDER[1] = {generic(cuda_std_constant$TABLE)};\n".to_owned();
        for (more, said) in [
            (large, "65564 bytes"),
            (twice, "has the name of a kernel"),
            (held, "static HOLDER"),
        ] {
            let error = placed(&format!("{HEAD}{GLOBAL}{more}"))
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
