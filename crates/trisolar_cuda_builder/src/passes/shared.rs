//! Statics, arrays and dynamic memory in shared memory.
//!
//! rustc cannot place a static in shared memory, so `cuda_std` marks what belongs there: a static with
//! `#[address_space(shared)]` by a prefix of its symbol, and an array of `shared_array!` by a declaration within the function
//! that returns its address. LLVM places the statics in global memory. This pass turns both into module-level variables in
//! shared memory, and changes every instruction that uses their addresses:
//!
//! - A register that can only hold an address within shared memory holds that address; loads, stores and atomics through it are
//!   `.shared`.
//! - A register that can also hold other addresses holds generic ones. (The generic address of global memory is the address
//!   itself.) Accesses through it are generic.
//! - Where an address of shared memory goes anywhere else (to memory, to other functions, into arithmetic), it is converted to
//!   a generic address first.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::addresses::{Memory, addressed, name_in};
use super::{BEGIN_ASSEMBLY, bodies, function_name, instruction, rewritten, words};
use crate::error::CudaBuilderError;

/// The prefix of the symbols of shared statics. The crate and the name of the static follow, then a number, each after a `$`.
const STATIC: &str = "cuda_std_shared_static$";
/// The name of an array within the function that returns its address.
const ARRAY: &str = "cuda_std_shared_array";
/// The symbol of the memory whose size the launch sets. `cuda_std` declares it, and takes its address by assembly.
const DYNAMIC: &str = "cuda_std_dynamic_shared";
/// The suffix of an array's symbol, which follows the function's symbol.
const ARRAY_SYMBOL: &str = "$array";

/// Returns PTX whose shared statics and arrays are in shared memory, each declared once.
pub(super) fn placed(ptx: &str) -> Result<String, CudaBuilderError> {
    if ![STATIC, ARRAY, DYNAMIC]
        .iter()
        .any(|name| ptx.contains(name))
    {
        return Ok(ptx.to_owned());
    }
    let (ptx, functions) = declared(&dynamic(ptx))?;
    let ptx = addressed(&ptx, Memory::Shared, refusal)?;
    Ok(without_unused(&ptx, &functions))
}

/// Declares the statics and arrays in shared memory, and takes an array's address directly where a function was called for it.
/// The second result is the list of these functions.
fn declared(ptx: &str) -> Result<(String, Vec<String>), CudaBuilderError> {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut instead = HashMap::new();
    let mut arrays: HashMap<&str, String> = HashMap::new();
    let mut declarations: BTreeMap<String, String> = BTreeMap::new();
    for body in bodies(&lines) {
        let Some(at) = body.clone().find(|i| is_array(lines[*i])) else {
            continue;
        };
        let function = function_name(lines[body.start]);
        // Several crates may have a copy of the function; all copies refer to one array.
        let symbol = format!("{}{ARRAY_SYMBOL}", without_crate(function));
        let declaration = lines[at].replace(ARRAY, &symbol);
        let known = declarations.insert(symbol.clone(), declaration.clone());
        if known.is_some_and(|known| known != declaration) {
            return Err(CudaBuilderError::SharedStatic {
                name: readable(function),
                place: format!("is declared as `{declaration}` and with another size elsewhere"),
            });
        }
        instead.insert(at, String::new());
        let uses = (at + 1..body.end).filter(|i| lines[*i].contains(ARRAY));
        instead.extend(uses.map(|i| (i, lines[i].replace(ARRAY, &symbol))));
        arrays.insert(function, symbol);
    }
    for (i, line) in lines.iter().enumerate() {
        if let Some(declaration) = static_declaration(line) {
            instead.insert(i, declaration);
        } else if line.starts_with(".address_size") {
            let declarations = declarations.values().map(String::as_str);
            let text: Vec<&str> = std::iter::once(*line).chain(declarations).collect();
            instead.insert(i, text.join("\n"));
        } else if line.starts_with('.') {
            refuse_in_initial_value(line)?;
        } else if let Some(code) = instruction(line)
            && code.root() == "call"
            && let Some(symbol) = code.operands.iter().find_map(|name| arrays.get(name))
        {
            take_address(&lines, i, symbol, &mut instead);
        }
    }
    let functions = arrays.into_keys().map(str::to_owned).collect();
    Ok((rewritten(ptx, &instead), functions))
}

/// Takes the address of the dynamic memory by an instruction that the other passes follow, instead of by assembly.
fn dynamic(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut instead = HashMap::new();
    for (begin, block) in lines.windows(6).enumerate() {
        let block: Vec<&str> = block.iter().map(|line| line.trim()).collect();
        let [first, "{", ".reg .b64 a;", taken, converted, "}"] = block[..] else {
            continue;
        };
        let target = converted
            .strip_prefix("cvta.shared.u64 ")
            .and_then(|rest| rest.strip_suffix(", a;"));
        let (true, Some(target)) = (
            first == BEGIN_ASSEMBLY && taken == format!("mov.b64 a, {DYNAMIC};"),
            target,
        ) else {
            continue;
        };
        // The line after the block ends the assembly.
        instead.extend((begin..begin + 7).map(|i| (i, String::new())));
        instead.insert(begin, format!("\tmov.b64 \t{target}, {DYNAMIC};"));
    }
    rewritten(ptx, &instead)
}

fn is_array(line: &str) -> bool {
    line.starts_with(".shared ") && line.contains(ARRAY)
}

/// The declaration of a shared static, if the line declares it in global memory. It has no initial value.
fn static_declaration(line: &str) -> Option<String> {
    let declaration = line.split(['=', ';']).next()?.trim_end();
    let (_, after) = declaration.split_once(".global ")?;
    let symbol = name_in(declaration)?;
    (line.starts_with('.') && symbol.starts_with(STATIC)).then(|| format!(".shared {after};"))
}

/// Rejects the address of a shared static as the initial value of another static, because each block has its own.
fn refuse_in_initial_value(line: &str) -> Result<(), CudaBuilderError> {
    let (declaration, value) = line.split_once('=').unwrap_or_default();
    match words(value).find(|(_, word)| word.starts_with(STATIC)) {
        None => Ok(()),
        Some((_, symbol)) => Err(CudaBuilderError::SharedStatic {
            name: readable(symbol),
            place: format!(
                "as the initial value of the static {}, which all blocks share",
                readable(name_in(declaration).unwrap_or_default())
            ),
        }),
    }
}

/// Replaces the call in line `call`, together with its call sequence, by the address of `symbol`.
fn take_address(lines: &[&str], call: usize, symbol: &str, instead: &mut HashMap<usize, String>) {
    let is = |i: &usize, what: &str| lines[*i].contains(what);
    let first = (0..call).rev().find(|i| is(i, "{ // callseq"));
    let last = (call..lines.len()).find(|i| is(i, "} // callseq"));
    let (Some(first), Some(last)) = (first, last) else {
        return;
    };
    for (i, line) in (first..).zip(&lines[first..=last]) {
        let target = instruction(line)
            .filter(|code| code.root() == "ld")
            .map(|code| code.operands[0]);
        match target {
            Some(target) => instead.insert(i, format!("\tmov.b64 \t{target}, {symbol};")),
            None if line.trim_start().starts_with(".loc") => None,
            None => instead.insert(i, String::new()),
        };
    }
}

/// A generic function's symbol without the instantiating crate at its end. The rest is the same in all crates.
fn without_crate(symbol: &str) -> &str {
    let ends = symbol.match_indices('E').map(|(at, _)| &symbol[..=at]);
    ends.into_iter()
        .find(|start| rustc_demangle::try_demangle(start).is_ok())
        .unwrap_or(symbol)
}

/// The name by which its author knows a symbol.
fn readable(symbol: &str) -> String {
    if symbol == DYNAMIC {
        return "dynamic shared memory".into();
    }
    match symbol.strip_prefix(STATIC).map(|rest| rest.split('$')) {
        Some(mut parts) => {
            let (krate, name) = (parts.next(), parts.next());
            format!(
                "{} of the crate {}",
                name.unwrap_or_default(),
                krate.unwrap_or_default()
            )
        }
        None => {
            let function = symbol.strip_suffix(ARRAY_SYMBOL).unwrap_or(symbol);
            format!("{:#}", rustc_demangle::demangle(function))
        }
    }
}

/// The error for an unsupported use of shared variables, which names function and line.
fn refusal(function: &[&str], line: &str) -> CudaBuilderError {
    let names: BTreeSet<String> = (function.iter())
        .flat_map(|line| words(line))
        .filter(|(_, word)| {
            word.starts_with(STATIC) || word.ends_with(ARRAY_SYMBOL) || *word == DYNAMIC
        })
        .map(|(_, word)| readable(word))
        .collect();
    CudaBuilderError::SharedStatic {
        name: names.into_iter().collect::<Vec<_>>().join(" or "),
        place: format!(
            "in {}, as `{}`",
            readable(function_name(function[0])),
            line.trim()
        ),
    }
}

/// Removes those of the functions that are no longer called, and variables that no function mentions.
fn without_unused(ptx: &str, functions: &[String]) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let name = |body: &Range<usize>| function_name(lines[body.start]);
    let (of_arrays, others): (Vec<_>, Vec<_>) = super::functions(&lines)
        .partition(|(body, _)| functions.iter().any(|function| function == name(body)));
    let mut mentioned: HashSet<&str> = words_of(&lines, others).collect();
    let (used, unused): (Vec<_>, Vec<_>) =
        (of_arrays.into_iter()).partition(|(body, _)| mentioned.contains(name(body)));
    mentioned.extend(words_of(&lines, used));
    let mut instead: HashMap<usize, String> = (unused.into_iter())
        .flat_map(|(body, _)| body)
        .map(|i| (i, String::new()))
        .collect();
    for (i, line) in lines.iter().enumerate() {
        let unused = |name| !mentioned.contains(name);
        if line.starts_with(".shared ") && name_in(line).is_some_and(unused) {
            instead.insert(i, String::new());
        }
    }
    rewritten(ptx, &instead)
}

/// The words in function bodies.
fn words_of<'a>(
    lines: &[&'a str],
    functions: Vec<(Range<usize>, bool)>,
) -> impl Iterator<Item = &'a str> {
    (functions.into_iter())
        .filter(|(_, defined)| *defined)
        .flat_map(|(body, _)| lines[body].to_vec())
        .flat_map(words)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 7.0\n.address_size 64\n";
    const TILE: &str = "cuda_std_shared_static$k$TILE$0123";
    const GLOBAL: &str =
        ".visible .global .align 4 .b8 cuda_std_shared_static$k$TILE$0123[64] = {1, 2};\n";

    fn passed(body: &str) -> Result<String, CudaBuilderError> {
        let text = placed(&format!(
            "{HEAD}{GLOBAL}.visible .entry a()\n{{\n{body}\tret;\n}}\n"
        ))?;
        let start = format!("{HEAD}.shared .align 4 .b8 {TILE}[64];\n.visible .entry a()\n{{\n");
        let body = text.strip_prefix(&start).expect(&text);
        Ok(body.strip_suffix("\tret;\n}\n").unwrap().to_owned())
    }

    #[test]
    fn accesses_through_address_plus_index_are_shared() {
        let text = passed(&format!(
            "\tmov.b64 \t%rd1, {TILE};\n\tmul.wide.u32 \t%rd2, %r1, 4;\n\tadd.s64 \t%rd3, %rd1, %rd2;\n\
             \tld.global.nc.v2.b32 \t{{%r2, %r3}}, [%rd3+8];\n\tatom.acquire.gpu.global.cas.b32 \t%r4, [%rd3], %r2, %r3;\n\
             \tst.volatile.global.b32 \t[{TILE}+4], %r4;\n\tld.global.b32 \t%r5, [%rd9];\n"
        ));
        assert_eq!(
            text.unwrap(),
            format!(
                "\tmov.b64 \t%rd1, {TILE};\n\tmul.wide.u32 \t%rd2, %r1, 4;\n\tadd.s64 \t%rd3, %rd1, %rd2;\n\
                 \tld.shared.v2.b32 \t{{%r2, %r3}}, [%rd3+8];\n\tatom.acquire.gpu.shared.cas.b32 \t%r4, [%rd3], %r2, %r3;\n\
                 \tst.volatile.shared.b32 \t[{TILE}+4], %r4;\n\tld.global.b32 \t%r5, [%rd9];\n"
            )
        );
    }

    #[test]
    fn an_address_that_may_be_in_either_memory_is_generic() {
        let text = passed(&format!(
            "\tmov.b64 \t%rd1, {TILE};\n\tmov.b64 \t%rd2, OTHER;\n\tselp.b64 \t%rd3, %rd1, %rd2, %p1;\n\
             \tld.global.b32 \t%r1, [%rd3];\n\tcvta.global.u64 \t%rd4, %rd3;\n\tcvta.global.u64 \t%rd5, %rd1;\n\
             \tst.global.v2.b64 \t[%rd2], {{%rd4, %rd5}};\n\tsetp.eq.b64 \t%p2, %rd1, 0;\n\tsetp.eq.b64 \t%p3, %rd1, %rd5;\n"
        ));
        assert_eq!(
            text.unwrap(),
            format!(
                "\t.reg .b64 \t%generic<3>;\n\
                 \tmov.b64 \t%rd1, {TILE};\n\tmov.b64 \t%rd2, OTHER;\n\
                 \tcvta.shared.u64 \t%generic0, %rd1;\n\tselp.b64 \t%rd3, %generic0, %rd2, %p1;\n\
                 \tld.b32 \t%r1, [%rd3];\n\tmov.b64 \t%rd4, %rd3;\n\tmov.b64 \t%rd5, %rd1;\n\
                 \tcvta.shared.u64 \t%generic1, %rd5;\n\tst.global.v2.b64 \t[%rd2], {{%rd4, %generic1}};\n\
                 \tcvta.shared.u64 \t%generic2, %rd1;\n\tsetp.eq.b64 \t%p2, %generic2, 0;\n\
                 \tsetp.eq.b64 \t%p3, %rd1, %rd5;\n"
            )
        );
    }

    #[test]
    fn a_register_that_is_written_twice_has_both_origins() {
        // The second of two loops, which use different memories.
        let text = passed(&format!(
            "\tmov.b64 \t%rd1, {TILE};\n$L1:\n\tld.global.b32 \t%r1, [%rd1];\n\tadd.s64 \t%rd1, %rd1, 4;\n\
             \tmov.b64 \t%rd1, OTHER;\n"
        ));
        let text = text.unwrap();
        assert!(text.contains("\tmov.b64 \t%rd1, %generic0;\n"), "{text}");
        assert!(text.contains("\tld.b32 \t%r1, [%rd1];\n"), "{text}");
    }

    #[test]
    fn a_difference_of_addresses_is_not_an_address() {
        let text = passed(&format!(
            "\tmov.b64 \t%rd1, {TILE};\n\tmov.b64 \t%rd2, OTHER;\n\tsub.s64 \t%rd3, %rd2, %rd1;\n\
             \tadd.s64 \t%rd4, %rd1, %rd3;\n\tld.global.b32 \t%r1, [%rd4];\n"
        ));
        let text = text.unwrap();
        assert!(text.contains("sub.s64 \t%rd3, %rd2, %generic0;"), "{text}");
        assert!(text.contains("add.s64 \t%rd4, %generic1, %rd3;"), "{text}");
        assert!(text.contains("\tld.b32 \t%r1, [%rd4];"), "{text}");
    }

    #[test]
    fn assembly_gets_generic_addresses_and_may_name_the_static() {
        let named =
            format!("\t// begin inline asm\n\tld.shared.b32 %r1, [{TILE}];\n\t// end inline asm\n");
        assert_eq!(passed(&named).unwrap(), named);
        let given = |more: &str| {
            format!(
                "\tmov.b64 \t%rd1, {TILE};\n\t// begin inline asm\n\tcvta.to.shared.u64 %rd2, %rd1; cvt.u32.u64 %r1, %rd2;\n\
                 \tatom.add.u64 %rd3, [%rd1+8], %rd4;\n{more}\t// end inline asm\n"
            )
        };
        assert_eq!(
            passed(&given("")).unwrap(),
            format!(
                "\t.reg .b64 \t%generic<1>;\n\tmov.b64 \t%rd1, {TILE};\n\tcvta.shared.u64 \t%generic0, %rd1;\n\
                 \t// begin inline asm\n\tcvta.to.shared.u64 %rd2, %generic0; cvt.u32.u64 %r1, %rd2;\n\
                 \tatom.shared.add.u64 \t%rd3, [%rd1+8], %rd4;\n\t// end inline asm\n"
            )
        );
        // An instruction that spans several lines may write any of its registers.
        let text = passed(&given("some.instruction {%r1},\n {%rd1};\n")).unwrap();
        assert!(text.contains("mov.b64 \t%rd1, %generic0;"), "{text}");
        assert!(
            text.contains("atom.add.u64 %rd3, [%rd1+8], %rd4;"),
            "{text}"
        );
    }

    #[test]
    fn unsupported_uses_of_shared_memory_are_rejected_with_their_place() {
        let error = passed(&format!("\tprefetch.global.L1 \t[{TILE}];\n")).unwrap_err();
        let message = error.to_string();
        for words in ["TILE of the crate k", "in a, as `prefetch.global.L1"] {
            assert!(message.contains(words), "{words} in {message}");
        }
        let held =
            ".global .align 8 .u64 HOLDER[1] = {generic(cuda_std_shared_static$k$TILE$0123)};\n";
        let error = placed(&format!("{HEAD}{GLOBAL}{held}"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("TILE of the crate k") && error.contains("HOLDER"),
            "{error}"
        );
    }

    #[test]
    fn copies_of_an_array_in_two_crates_become_one() {
        let copy = |krate: &str| {
            format!(
                ".func  (.param .b64 func_retval0) _RINvC8cuda_std3memNtC1k3TagE{krate}()\n{{\n\t.reg .b64 \t%rd<2>;\n\
                 \t// begin inline asm\n\t{{\n.shared .align 4 .b8 cuda_std_shared_array[64];\n.reg .b64 a;\n\
                 mov.b64 a, cuda_std_shared_array;\ncvta.shared.u64 %rd1, a;\n}}\n\t// end inline asm\n\
                 \tst.param.b64 \t[func_retval0], %rd1;\n\tret;\n}}\n"
            )
        };
        let call = |krate: &str, target: &str| {
            format!(
                "\t{{ // callseq 0, 0\n\t.param .b64 \tretval0;\n\
                 \tcall.uni (retval0), _RINvC8cuda_std3memNtC1k3TagE{krate}, ();\n\tld.param.b64 \t{target}, [retval0];\n\
                 \t}} // callseq 0\n"
            )
        };
        let text = placed(&format!(
            "{HEAD}{}{}.visible .entry a()\n{{\n{}{}\tst.b32 \t[%rd1], 1;\n\tst.b32 \t[%rd2], 2;\n}}\n",
            copy("C1b"),
            copy("B4_"),
            call("C1b", "%rd1"),
            call("B4_", "%rd2"),
        ))
        .unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let array = "_RINvC8cuda_std3memNtC1k3TagE$array";
        assert_eq!(
            lines[2..],
            [
                &format!(".shared .align 4 .b8 {array}[64];"),
                ".visible .entry a()",
                "{",
                &format!("\tmov.b64 \t%rd1, {array};"),
                &format!("\tmov.b64 \t%rd2, {array};"),
                "\tst.shared.b32 \t[%rd1], 1;",
                "\tst.shared.b32 \t[%rd2], 2;",
                "}",
            ]
        );
    }

    #[test]
    fn accesses_to_dynamic_memory_are_shared() {
        let declaration = format!(".extern .shared .align 16 .b8 {DYNAMIC}[];\n");
        let assembly = |line: &str| format!("\t// begin inline asm\n{line}\n\t// end inline asm\n");
        let taken = assembly(&format!(
            "\t{{\n.reg .b64 a;\nmov.b64 a, {DYNAMIC};\ncvta.shared.u64 %rd1, a;\n}}"
        ));
        let short = assembly(&format!("mov.b32 %r1, {DYNAMIC};"));
        let rest = "\tadd.s64 \t%rd2, %rd1, %rd9;\n";
        let text = placed(&format!(
            "{HEAD}{declaration}.visible .entry a()\n{{\n{taken}{short}{rest}\tst.b32 \t[%rd2+4], %r1;\n\tst.b64 \t[%rd8], %rd2;\n}}\n"
        ))
        .unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(
            lines[2..].join("\n") + "\n",
            format!(
                "{declaration}.visible .entry a()\n{{\n\t.reg .b64 \t%generic<1>;\n\tmov.b64 \t%rd1, {DYNAMIC};\n{short}{rest}\
                 \tst.shared.b32 \t[%rd2+4], %r1;\n\tcvta.shared.u64 \t%generic0, %rd2;\n\tst.b64 \t[%rd8], %generic0;\n}}\n"
            )
        );
    }

    #[test]
    fn a_module_without_shared_variables_does_not_change() {
        let text = format!(
            "{HEAD}.extern .shared .align 16 .b8 dynamic[];\n.visible .entry a()\n{{\n\tret;\n}}\n"
        );
        assert_eq!(placed(&text).unwrap(), text);
    }
}
