//! Atomics in a thread's own memory.
//!
//! A variable of a kernel lies in memory that no other thread can access. PTX has no atomics for it, and the effect of one through a
//! generic address into it is undefined. Whether such an access is atomic makes no difference, either. So an atomic instruction becomes a
//! function that asks where the address is. LLVM answers where it knows; the rest is decided at run time.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::text::{operands, unknown};
use crate::error::CudaBuilderError;

/// LLVM's question whether an address is in the thread's own memory.
pub const OWN: &str = "llvm.nvvm.isspacep.local";

/// The functions of a module for its atomic instructions: the text of each, by what follows the name.
#[derive(Default)]
pub struct Atomics(BTreeMap<String, usize>);

/// An atomic instruction.
struct Instruction<'a> {
    /// `atomicrmw add`, `cmpxchg weak`, `load atomic` or `store atomic`.
    head: &'a str,
    pointer: &'a str,
    /// The other operands, each with its type. A load has none.
    values: Vec<(&'a str, &'a str)>,
    /// The type of what is in memory.
    ty: &'a str,
    /// Scope, orderings and alignment.
    tail: &'a str,
}

impl Atomics {
    /// The instruction that takes the place of an atomic one; `None` if the line is none or is about a variable with a name.
    pub fn changed(&mut self, line: &str) -> Result<Option<String>, CudaBuilderError> {
        let code = line.trim_start();
        let (result, code) = match code.split_once(" = ") {
            Some((result, code)) if result.starts_with('%') && !result.contains(' ') => {
                (Some(result), code)
            }
            _ => (None, code),
        };
        let is_atomic = ["atomicrmw ", "cmpxchg ", "load atomic ", "store atomic "]
            .iter()
            .any(|start| code.starts_with(start));
        if !is_atomic {
            return Ok(None);
        }
        let Some(found) = Instruction::of(code) else {
            return Err(unknown("an atomic instruction", line));
        };
        if !found.pointer.starts_with("ptr %") {
            return Ok(None);
        }
        let body = found
            .function()
            .ok_or_else(|| unknown("an atomic instruction", line))?;
        let count = self.0.len();
        let number = *self.0.entry(body).or_insert(count);
        let values: Vec<String> = (found.values.iter())
            .map(|(ty, value)| format!(", {ty} {value}"))
            .collect();
        let result = result.map_or(String::new(), |result| format!("{result} = "));
        // The source line, if lines are asked for.
        let line = (code.split(", ").find(|part| part.starts_with("!dbg !")))
            .map_or(String::new(), |line| format!(", {line}"));
        Ok(Some(format!(
            "  {result}call {} @cuda_builder_atomic_{number}({}{}){line}",
            found.returned(),
            found.pointer,
            values.concat()
        )))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The definitions of the functions.
    pub fn definitions(&self) -> String {
        let mut text = String::new();
        for (body, number) in &self.0 {
            let (returned, rest) = body.split_once('|').expect("it is written so");
            let _ = writeln!(
                text,
                "define internal {returned} @cuda_builder_atomic_{number}{rest}"
            );
        }
        text
    }
}

impl<'a> Instruction<'a> {
    fn of(code: &'a str) -> Option<Self> {
        let parts = operands(code);
        // What follows the alignment is metadata.
        let align = parts.iter().position(|part| part.starts_with("align "))?;
        let end = |part: &str| part.as_ptr() as usize + part.len() - code.as_ptr() as usize;
        let start = |part: &str| part.as_ptr() as usize - code.as_ptr() as usize;
        // The operand before the alignment ends with the orderings and perhaps a scope.
        let last = parts[align - 1];
        let words = [
            "monotonic",
            "acquire",
            "release",
            "acq_rel",
            "seq_cst",
            "unordered",
        ];
        let mut cut = last.len();
        while let Some((before, word)) = last[..cut].rsplit_once(' ') {
            if !words.contains(&word) && !word.starts_with("syncscope(") {
                break;
            }
            cut = before.len();
        }
        let tail = &code[start(last) + cut..end(parts[align])];
        let last = &last[..cut];
        let typed = |part: &'a str| part.split_once(' ');
        if code.starts_with("load atomic ") {
            let [first, _, _] = parts[..=align] else {
                return None;
            };
            let (head, ty) = first.rsplit_once(' ')?;
            return Some(Self {
                head,
                pointer: last,
                values: Vec::new(),
                ty,
                tail,
            });
        }
        if code.starts_with("store atomic ") {
            let [first, _, _] = parts[..=align] else {
                return None;
            };
            let rest = first.strip_prefix("store atomic ")?;
            let rest = rest.strip_prefix("volatile ").unwrap_or(rest);
            let (ty, value) = typed(rest)?;
            return Some(Self {
                head: first[..start(rest) - start(first)].trim_end(),
                pointer: last,
                values: vec![(ty, value)],
                ty,
                tail,
            });
        }
        let (head, pointer) = parts[0].split_at(parts[0].find(" ptr ")? + 1);
        let mut values: Vec<_> = (parts[1..align - 1].iter())
            .map(|part| typed(part))
            .collect::<Option<_>>()?;
        values.push(typed(last)?);
        let ty = values[0].0;
        let expected = if code.starts_with("cmpxchg ") { 2 } else { 1 };
        (values.len() == expected).then_some(Self {
            head: head.trim_end(),
            pointer,
            values,
            ty,
            tail,
        })
    }

    /// The type of its result.
    fn returned(&self) -> String {
        match self.head.split(' ').next() {
            Some("store") => "void".to_owned(),
            Some("cmpxchg") => format!("{{ {}, i1 }}", self.ty),
            _ => self.ty.to_owned(),
        }
    }

    /// The function that does the same for every address, without its name: result, parameters and body.
    fn function(&self) -> Option<String> {
        let (ty, tail, returned) = (self.ty, self.tail, self.returned());
        let align = &tail[tail.find(", align")?..];
        let mut words = self.head.split(' ');
        let root = words.next()?;
        let last = words.rfind(|word| *word != "volatile");
        let parameters: String = (0..self.values.len())
            .map(|i| format!(", {ty} %v{i}"))
            .collect();
        let load = format!("  %old = load {ty}, ptr %p{align}\n");
        let store = |value: &str| format!("  store {ty} {value}, ptr %p{align}\n");
        let (atomic, plain) = match (root, last) {
            ("load", _) => (
                format!("{} {ty}, ptr %p", self.head),
                load + &format!("  ret {ty} %old"),
            ),
            ("store", _) => (
                format!("{} {ty} %v0, ptr %p", self.head),
                store("%v0") + "  ret void",
            ),
            ("cmpxchg", _) => (
                format!("{} ptr %p, {ty} %v0, {ty} %v1", self.head),
                load + &format!(
                    "  %same = icmp eq {ty} %old, %v0\n  %new = select i1 %same, {ty} %v1, {ty} %old\n{}  \
                     %first = insertvalue {returned} poison, {ty} %old, 0\n  \
                     %both = insertvalue {returned} %first, i1 %same, 1\n  ret {returned} %both",
                    store("%new")
                ),
            ),
            ("atomicrmw", Some(operation)) => {
                let chosen = |test: &str| {
                    format!(
                        "  %chosen = icmp {test} {ty} %old, %v0\n  %new = select i1 %chosen, {ty} %old, {ty} %v0\n"
                    )
                };
                let new = match operation {
                    "xchg" => String::new(),
                    "add" | "sub" | "and" | "or" | "xor" | "fadd" | "fsub" => {
                        format!("  %new = {operation} {ty} %old, %v0\n")
                    }
                    "nand" => format!("  %and = and {ty} %old, %v0\n  %new = xor {ty} %and, -1\n"),
                    "max" => chosen("sgt"),
                    "min" => chosen("slt"),
                    "umax" => chosen("ugt"),
                    "umin" => chosen("ult"),
                    _ => return None,
                };
                let value = if new.is_empty() { "%v0" } else { "%new" };
                (
                    format!("{} ptr %p, {ty} %v0", self.head),
                    load + &new + &store(value) + &format!("  ret {ty} %old"),
                )
            }
            _ => return None,
        };
        let end = match root {
            "store" => format!("  {atomic}{tail}\n  ret void"),
            _ => format!("  %result = {atomic}{tail}\n  ret {returned} %result"),
        };
        Some(format!(
            "{returned}|(ptr %p{parameters}) alwaysinline nounwind {{\n  %own = call i1 @{OWN}(ptr %p)\n  \
             br i1 %own, label %plain, label %atomic\nplain:\n{plain}\natomic:\n{end}\n}}\n"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_becomes_a_call_of_its_function() {
        let mut all = Atomics::default();
        for (line, call, plain) in [
            (
                "  %20 = atomicrmw volatile umax ptr %own, i32 2 syncscope(\"device\") seq_cst, align 4, !noundef !2",
                "  %20 = call i32 @cuda_builder_atomic_0(ptr %own, i32 2)",
                "icmp ugt i32 %old, %v0",
            ),
            (
                "  %r = cmpxchg weak ptr %p, i64 %a, i64 7 acq_rel monotonic, align 8",
                "  %r = call { i64, i1 } @cuda_builder_atomic_1(ptr %p, i64 %a, i64 7)",
                "icmp eq i64 %old, %v0",
            ),
            (
                "  %l = load atomic ptr, ptr %p acquire, align 8, !nonnull !1",
                "  %l = call ptr @cuda_builder_atomic_2(ptr %p)",
                "load ptr, ptr %p, align 8\n",
            ),
            (
                "  store atomic volatile i32 0, ptr %p release, align 4",
                "  call void @cuda_builder_atomic_3(ptr %p, i32 0)",
                "  store i32 %v0, ptr %p, align 4\n  ret void",
            ),
        ] {
            assert_eq!(all.changed(line).unwrap().as_deref(), Some(call));
            assert!(all.definitions().contains(plain), "{}", all.definitions());
        }
    }

    #[test]
    fn variables_with_names_stay_and_what_is_not_known_is_an_error() {
        let mut all = Atomics::default();
        for line in [
            "  %1 = atomicrmw add ptr @COUNT, i32 1 monotonic, align 4",
            "  %1 = load i32, ptr %p, align 4",
        ] {
            assert_eq!(all.changed(line).unwrap(), None);
        }
        for line in [
            "  %1 = atomicrmw uinc_wrap ptr %p, i32 1 monotonic, align 4",
            "  %1 = atomicrmw add ptr %p, i32 1 monotonic",
        ] {
            assert!(all.changed(line).is_err(), "{line}");
        }
    }
}
