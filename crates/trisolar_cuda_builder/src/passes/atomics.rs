//! Atomics in a thread's own memory.
//!
//! A variable of a kernel lies in memory that no other thread can access. PTX has no atomics for it: `atom.local` does not
//! exist, and the effect of `atom` through a generic address into it is undefined. Whether such an access is atomic makes no
//! difference, either. So the pass replaces these instructions by a load, the operation and a store; where an address can be of
//! either kind, the code tests it at run time.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::origin::Origins;
use super::{Instruction, bodies, function_name, instruction, rewritten};
use crate::error::CudaBuilderError;

/// Returns PTX whose atomics work on every address.
pub(super) fn of_own_memory(ptx: &str) -> Result<String, CudaBuilderError> {
    let lines: Vec<&str> = ptx.lines().collect();
    let shared: HashSet<&str> = HashSet::new();
    let is_shared = |word: &str| shared.contains(word);
    let mut instead = HashMap::new();
    for body in bodies(&lines) {
        let found: Vec<(usize, Access<'_>)> = (body.clone())
            .filter_map(|i| Some((i, Access::of(instruction(lines[i])?)?)))
            .collect();
        if found.is_empty() {
            continue;
        }
        let origins = Origins::of(&lines[body.clone()], &is_shared);
        for (i, access) in found {
            let origin = origins.of_operand(access.base);
            let local = access.local || origin.is_local();
            if !local && !origin.may_be_local() {
                continue;
            }
            match access.plain(local) {
                Some(changed) => {
                    instead.insert(i, changed);
                }
                None if local => {
                    let function = function_name(lines[body.start]);
                    return Err(CudaBuilderError::LocalAtomic {
                        function: format!("{:#}", rustc_demangle::demangle(function)),
                        instruction: lines[i].trim().to_owned(),
                    });
                }
                None => {}
            }
        }
    }
    Ok(rewritten(ptx, &instead))
}

/// An atomic access through an address that may be of a thread's own memory.
struct Access<'a> {
    code: Instruction<'a>,
    base: &'a str,
    /// Whether the instruction itself says that it is.
    local: bool,
}

impl<'a> Access<'a> {
    fn of(code: Instruction<'a>) -> Option<Self> {
        let (_, base) = code.addresses().next()?;
        let says = |part: &str| code.name.split('.').any(|p| p == part);
        let atomic = match code.root() {
            "atom" | "red" => true,
            "ld" | "st" => ["relaxed", "acquire", "release"].into_iter().any(says),
            _ => false,
        };
        let local = says("local");
        let elsewhere = (code.name.split('.')).any(|p| {
            matches!(
                p.split("::").next(),
                Some("global" | "shared" | "const" | "param")
            )
        });
        (atomic && !elsewhere).then_some(Self { code, base, local })
    }

    /// The non-atomic form. Unless it is `certain` that the address is in the thread's own memory, the form applies only to
    /// such addresses. `None` if the instruction has no such form.
    fn plain(&self, certain: bool) -> Option<String> {
        if self.code.guard.is_some() {
            return None;
        }
        let (registers, instructions) = self.steps()?;
        let mut text = format!("\t{{ // own memory\n{registers}");
        let mut own = "";
        if !certain {
            let (name, operands) = (self.code.name, self.code.operands.join(", "));
            let _ = write!(
                text,
                "\t.reg .pred own;\n\tisspacep.local \town, {};\n\t@!own {name} \t{operands};\n",
                self.base
            );
            own = "@own ";
        }
        for instruction in instructions {
            let _ = writeln!(text, "\t{own}{instruction};");
        }
        Some(text + "\t}")
    }

    /// Declarations of registers, and the instructions that replace the atomic one.
    fn steps(&self) -> Option<(String, Vec<String>)> {
        let space = if self.local { ".local" } else { "" };
        let kinds: Vec<&str> = (self.code.name.split('.').skip(1))
            .filter(|part| !ORDER_AND_SPACE.contains(part))
            .collect();
        let (root, operands) = (self.code.root(), &self.code.operands[..]);
        if matches!(root, "ld" | "st") {
            let access = format!(
                "{root}{space}.{} \t{}",
                kinds.join("."),
                operands.join(", ")
            );
            return Some((String::new(), vec![access]));
        }
        let [operation, .., kind] = kinds[..] else {
            return None;
        };
        let bits = kind.trim_start_matches(|c: char| c.is_ascii_lowercase());
        if !matches!(bits, "16" | "32" | "64") {
            return None;
        }
        let (target, operands) = match root {
            "red" => (None, operands),
            _ => (Some(operands[0]), &operands[1..]),
        };
        let address = operands[0];
        let mut steps = vec![format!("ld{space}.b{bits} \told, {address}")];
        match (operation, &operands[1..]) {
            ("exch", [value]) => steps.push(format!("mov.b{bits} \tnew, {value}")),
            ("and" | "or" | "xor", [value]) => {
                steps.push(format!("{operation}.b{bits} \tnew, old, {value}"));
            }
            ("add", [value]) if kind.starts_with('f') => {
                steps.push(format!("add.rn.{kind} \tnew, old, {value}"));
            }
            ("add" | "min" | "max", [value]) if kind.starts_with(['u', 's']) => {
                steps.push(format!("{operation}.{kind} \tnew, old, {value}"));
            }
            ("inc", [most]) => steps.extend([
                format!("setp.ge.{kind} \tchosen, old, {most}"),
                format!("add.{kind} \tnew, old, 1"),
                format!("selp.b{bits} \tnew, 0, new, chosen"),
            ]),
            ("dec", [most]) => steps.extend([
                format!("setp.gt.{kind} \tchosen, old, {most}"),
                format!("setp.eq.or.{kind} \tchosen, old, 0, chosen"),
                format!("sub.{kind} \tnew, old, 1"),
                format!("selp.b{bits} \tnew, {most}, new, chosen"),
            ]),
            ("cas", [expected, value]) => steps.extend([
                format!("setp.eq.b{bits} \tchosen, old, {expected}"),
                format!("selp.b{bits} \tnew, {value}, old, chosen"),
            ]),
            _ => return None,
        }
        steps.push(format!("st{space}.b{bits} \t{address}, new"));
        steps.extend(
            target
                .filter(|target| *target != "_")
                .map(|target| format!("mov.b{bits} \t{target}, old")),
        );
        let registers = format!("\t.reg .pred chosen;\n\t.reg .b{bits} old, new;\n");
        Some((registers, steps))
    }
}

/// The parts of an atomic's name other than its operation and type.
const ORDER_AND_SPACE: [&str; 9] = [
    "relaxed", "acquire", "release", "acq_rel", "sys", "gpu", "cta", "cluster", "local",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(head: &str, body: &str) -> Result<String, CudaBuilderError> {
        let text = of_own_memory(&format!("{head}\n{{\n{body}\tret;\n}}\n"))?;
        let body = text.strip_prefix(&format!("{head}\n{{\n")).unwrap();
        Ok(body.strip_suffix("\tret;\n}\n").unwrap().to_owned())
    }

    const KERNEL: &str = ".visible .entry a(.param .u64 a_param_0)";
    const LOCAL: &str = "\tmov.b64 \t%SPL, __local_depot0;\n\tadd.u64 \t%rd1, %SPL, 8;\n";

    #[test]
    fn an_exchange_in_local_memory_becomes_a_choice() {
        let cas = "\tatom.acq_rel.sys.local.cas.b32 \t%r3, [%rd1+4], %r1, 7;\n";
        let text = passed(KERNEL, &format!("{LOCAL}{cas}")).unwrap();
        assert_eq!(
            text,
            format!(
                "{LOCAL}\t{{ // own memory\n\t.reg .pred chosen;\n\t.reg .b32 old, new;\n\tld.local.b32 \told, [%rd1+4];\n\
                 \tsetp.eq.b32 \tchosen, old, %r1;\n\tselp.b32 \tnew, 7, old, chosen;\n\
                 \tst.local.b32 \t[%rd1+4], new;\n\tmov.b32 \t%r3, old;\n\t}}\n"
            )
        );
    }

    #[test]
    fn an_address_passed_to_a_function_is_tested_at_run_time() {
        let known = "\tld.param.b64 \t%rd1, [f_param_0];\n";
        let add = "\tatom.relaxed.gpu.add.f64 %rd2, [%rd1+8], %rd3;\n";
        let text = passed(".func f(.param .b64 f_param_0)", &format!("{known}{add}")).unwrap();
        for line in [
            "\tisspacep.local \town, %rd1;\n",
            "\t@!own atom.relaxed.gpu.add.f64 \t%rd2, [%rd1+8], %rd3;\n",
            "\t@own add.rn.f64 \tnew, old, %rd3;\n",
            "\t@own mov.b64 \t%rd2, old;\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        let load = "\tld.acquire.gpu.v2.b32 \t{%r1, %r2}, [%rd1];\n";
        let text = passed(".func f(.param .b64 f_param_0)", &format!("{known}{load}")).unwrap();
        assert!(
            text.contains("\t@own ld.v2.b32 \t{%r1, %r2}, [%rd1];\n"),
            "{text}"
        );
    }

    #[test]
    fn addresses_from_the_host_and_in_named_memories_are_left_alone() {
        for body in [
            "\tld.param.b64 \t%rd1, [a_param_0];\n\tmul.wide.u32 \t%rd2, %r1, 4;\n\tadd.s64 \t%rd3, %rd1, %rd2;\n\
             \tatom.add.u32 \t%r2, [%rd3], 1;\n",
            "\tld.global.b64 \t%rd1, [%rd4];\n\tatom.global.add.u32 \t%r2, [%rd1], 1;\n",
            "\tmov.b64 \t%rd1, TABLE;\n\tcvta.global.u64 \t%rd2, %rd1;\n\tred.add.u32 \t[%rd2], 1;\n",
            "\tld.shared.b64 \t%rd1, [%rd4];\n\tld.b32 \t%r1, [%rd1];\n\tld.volatile.b32 \t%r1, [%rd1];\n",
        ] {
            assert_eq!(passed(KERNEL, body).unwrap(), body);
        }
        // A loaded pointer may be one that a thread has stored.
        let loaded = "\tld.global.b64 \t%rd1, [%rd4];\n\tatom.add.u32 \t%r2, [%rd1], 1;\n";
        assert!(passed(KERNEL, loaded).unwrap().contains("isspacep.local"));
    }

    #[test]
    fn every_operation_has_a_non_atomic_form_or_is_rejected() {
        for name in [
            "add.u32", "add.f32", "and.b32", "or.b32", "xor.b32", "exch.b32", "min.s32", "max.u32",
            "inc.u32", "dec.u32",
        ] {
            let text = passed(
                KERNEL,
                &format!("{LOCAL}\tatom.local.{name} \t%r3, [%rd1], %r1;\n"),
            );
            assert!(
                text.unwrap().contains("st.local.b32 \t[%rd1], new;"),
                "{name}"
            );
        }
        let unknown = format!("{LOCAL}\tatom.local.exch.b128 \t%rq1, [%rd1], %rq2;\n");
        let error = passed(KERNEL, &unknown).unwrap_err().to_string();
        assert!(
            error.contains("atom.local.exch.b128") && error.contains(" in a"),
            "{error}"
        );
    }
}
