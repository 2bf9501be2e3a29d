//! A kernel for NVIDIA GPUs of traced items.
//!
//! All operations are rounded as IEEE 754 says and never contracted, and functions are those of the CPU, compiled for GPUs, so that a GPU has the
//! bits of a CPU that follows the same graphs.

use std::fmt::Write as _;

use trisolar_equations::Job;

use super::graph::{Function, Node, Operation};
use super::trace::{Input, MOVING, Phase, STEP, Traced};

/// The name of the kernel, whose argument is a [`DeviceJob`](trisolar_equations::DeviceJob).
pub const KERNEL: &str = "trisolar_equations";
/// The kernel whose module has the functions that a kernel calls, and its package.
pub const FUNCTIONS: [&str; 2] = ["equation_functions", "kernels-gpu"];

/// A call of one of these functions. An argument has its type before it.
fn call(text: &mut String, result: &str, function: &str, arguments: &[(&str, &str)]) {
    let numbers = 0..arguments.len();
    text.push_str("\t{\n\t.param .b64 r;\n");
    for (k, (ty, argument)) in arguments.iter().enumerate() {
        let bits = &ty[1..];
        let _ = writeln!(
            text,
            "\t.param .b{bits} a{k};\n\tst.param.{ty} [a{k}], {argument};"
        );
    }
    let names: Vec<String> = numbers.map(|k| format!("a{k}")).collect();
    let _ = writeln!(
        text,
        "\tcall.uni (r), equation_{function}, ({});",
        names.join(", ")
    );
    let _ = writeln!(text, "\tld.param.f64 {result}, [r];\n\t}}");
}

/// The register of an input.
fn input(k: Input, may_end: bool) -> String {
    match k {
        STEP => "%number".into(),
        MOVING if may_end => "%open".into(),
        k => format!("%x{k}"),
    }
}

/// A graph as instructions, whose registers begin with this letter, with the registers of its outputs; a part of a kernel.
fn instructions(text: &mut String, phase: &Phase, letter: char, may_end: bool) -> Vec<String> {
    let Phase { graph, outputs } = phase;
    let nodes = graph.nodes();
    let register = |node: Node| match nodes[node as usize] {
        Operation::Constant(bits) => format!("0d{bits:016X}"),
        Operation::Input(k) => input(k, may_end),
        operation if operation.is_condition() => format!("%q{letter}{node}"),
        _ => format!("%{letter}{node}"),
    };
    for node in graph.needed(outputs) {
        let operation = nodes[node as usize];
        let name = match operation {
            Operation::Constant(_) | Operation::Input(_) => continue,
            Operation::Holds(holds) => {
                let word = if holds { "eq" } else { "ne" };
                let _ = writeln!(text, "\tsetp.{word}.u32 {}, 0, 0;", register(node));
                continue;
            }
            Operation::Minus(_) => "neg.f64",
            Operation::Add(..) => "add.rn.f64",
            Operation::Subtract(..) => "sub.rn.f64",
            Operation::Multiply(..) => "mul.rn.f64",
            Operation::Divide(..) => "div.rn.f64",
            Operation::Call(Function::Abs, _) => "abs.f64",
            Operation::Call(Function::Sqrt, _) => "sqrt.rn.f64",
            Operation::Call(Function::Floor, _) => "cvt.rmi.f64.f64",
            Operation::Less(..) => "setp.lt.f64",
            Operation::Both(..) => "and.pred",
            Operation::Not(_) => "not.pred",
            Operation::Select(mask, yes, no) => {
                let [mask, yes, no] = [mask, yes, no].map(register);
                let _ = writeln!(text, "\tselp.f64 {}, {yes}, {no}, {mask};", register(node));
                continue;
            }
            Operation::Call(function, x) => {
                let named = Function::ALL.iter().find(|(_, other)| *other == function);
                let name = named.map_or("", |(name, _)| *name);
                call(text, &register(node), name, &[("f64", &register(x))]);
                continue;
            }
            Operation::Angle(y, x) => {
                let [y, x] = [y, x].map(register);
                call(text, &register(node), "atan2", &[("f64", &y), ("f64", &x)]);
                continue;
            }
        };
        let arguments: Vec<String> = operation.arguments().map(register).collect();
        let _ = writeln!(
            text,
            "\t{name} {}, {};",
            register(node),
            arguments.join(", ")
        );
    }
    outputs.iter().map(|node| register(*node)).collect()
}

/// Gives the numbers that change from step to step their new values; all are read before any is replaced.
fn renew(text: &mut String, new: &[String], may_end: bool) {
    let kind = |place: usize| if place == 0 && may_end { "pred" } else { "f64" };
    for (place, new) in new.iter().enumerate() {
        let to = if kind(place) == "pred" {
            "%opens".into()
        } else {
            format!("%n{place}")
        };
        let _ = writeln!(text, "\tmov.{} {to}, {new};", kind(place));
    }
    for place in 0..new.len() {
        let old = input(MOVING + place as Input, may_end);
        let from = if kind(place) == "pred" {
            "%opens".into()
        } else {
            format!("%n{place}")
        };
        let _ = writeln!(text, "\tmov.{} {old}, {from};", kind(place));
    }
}

/// The most operations of a kernel: the driver's compiler takes seconds for more.
const MAX_OPERATIONS: usize = 20_000;

/// The text of the kernel of items, for [`Device::start_text`](trisolar_device::Device::start_text) with [`FUNCTIONS`].
///
/// # Errors
/// What is too large, or what kernels have no function for.
pub fn kernel(traced: &Traced, job: &Job) -> Result<String, String> {
    let may_end = traced.may_end;
    let phases = [&traced.begin, &traced.step, &traced.columns];
    let sizes = phases.map(|phase| phase.graph.nodes().len());
    let size: usize = sizes.iter().sum();
    if size > MAX_OPERATIONS {
        return Err(format!(
            "steps of {size} operations (at most {MAX_OPERATIONS} are allowed)"
        ));
    }
    let mut body = String::new();
    let needs = |k: Input| {
        let has = |phase: &Phase| {
            let needed = phase.graph.needed(&phase.outputs).into_iter();
            let mut operations = needed.map(|node| phase.graph.nodes()[node as usize]);
            operations.any(|operation| operation == Operation::Input(k))
        };
        phases.into_iter().any(has)
    };
    for k in (0..STEP).filter(|k| needs(*k)) {
        let place = k.to_string();
        let arguments = [("u64", "%job"), ("u32", place.as_str()), ("u64", "%item")];
        if !job.law(k as usize).is_even() {
            return Err("numbers that are drawn otherwise than uniformly".into());
        }
        call(&mut body, &input(k, may_end), "number", &arguments);
    }
    let counts = needs(STEP);
    let line = |text: &mut String, words: &str| text.push_str(&format!("\t{words};\n"));
    let new = instructions(&mut body, phases[0], 'a', may_end);
    renew(&mut body, &new, may_end);
    line(&mut body, "mov.u64 %done, 0");
    if counts {
        line(&mut body, "mov.f64 %number, 0d0000000000000000");
    }
    let goes_on = |text: &mut String| {
        let steps = traced.steps;
        text.push_str(&format!("\tsetp.lt.u64 %goes, %done, {steps};\n"));
        if may_end {
            text.push_str("\tand.pred %goes, %goes, %open;\n");
        }
    };
    goes_on(&mut body);
    body.push_str("\t@!%goes bra END;\nSTEP:\n");
    let new = instructions(&mut body, phases[1], 'b', may_end);
    renew(&mut body, &new, may_end);
    line(&mut body, "add.u64 %done, %done, 1");
    if counts {
        line(&mut body, "add.rn.f64 %number, %number, 0d3FF0000000000000");
    }
    goes_on(&mut body);
    body.push_str("\t@%goes bra STEP;\nEND:\n");
    let columns = instructions(&mut body, phases[2], 'c', may_end);
    for (place, x) in columns.iter().enumerate() {
        line(&mut body, &format!("setp.nan.f64 %goes, {x}, {x}"));
        line(
            &mut body,
            &format!("selp.f64 %value, 0d7FF8000000000000, {x}, %goes"),
        );
        line(
            &mut body,
            &format!("st.global.f64 [%out+{}], %value", 8 * place),
        );
    }
    let [a, b, c] = sizes.map(|size| size.max(1));
    let x = MOVING as usize + new.len().max(1);
    Ok(format!(
        "\
.visible .entry {KERNEL}(.param .align 8 .b8 p[32])
{{
	.reg .pred %goes, %open, %opens, %qa<{a}>, %qb<{b}>, %qc<{c}>;
	.reg .u32 %thread, %block, %count, %width;
	.reg .u64 %job, %out, %item, %whole, %done;
	.reg .f64 %number, %value, %x<{x}>, %n<{x}>, %a<{a}>, %b<{b}>, %c<{c}>;
	mov.u32 %block, %ctaid.x;
	mov.u32 %count, %ntid.x;
	mov.u32 %thread, %tid.x;
	mad.lo.u32 %thread, %block, %count, %thread;
	ld.param.u32 %count, [p+24];
	setp.ge.u32 %goes, %thread, %count;
	@%goes ret;
	ld.param.u64 %out, [p+8];
	cvta.to.global.u64 %out, %out;
	ld.param.u32 %width, [p+28];
	mul.wide.u32 %whole, %thread, %width;
	shl.b64 %whole, %whole, 3;
	add.u64 %out, %out, %whole;
	ld.param.u64 %job, [p];
	ld.param.u64 %item, [p+16];
	cvt.u64.u32 %whole, %thread;
	add.u64 %item, %item, %whole;
{body}	ret;
}}
"
    ))
}
