//! A kernel for NVIDIA GPUs of traced items.
//!
//! All operations are rounded as IEEE 754 says and never contracted, so that a GPU has the bits of a CPU that follows the same graphs.

use std::fmt::Write as _;

use trisolar_equations::job::MAX_NUMBERS;
use trisolar_equations::{Job, Law};

use super::graph::{Function, Node, Operation};
use super::trace::{Input, MOVING, Phase, STEP, Traced};

/// The name of the kernel, whose argument is a [`DeviceJob`](trisolar_equations::DeviceJob).
pub const KERNEL: &str = "trisolar_equations";

/// The register of an input.
fn input(k: Input, may_end: bool) -> String {
    match k {
        STEP => "%number".into(),
        MOVING if may_end => "%open".into(),
        k => format!("%x{k}"),
    }
}

/// A graph as instructions, whose registers begin with this letter, with the registers of its outputs; a part of a kernel.
fn instructions(
    text: &mut String,
    phase: &Phase,
    letter: char,
    may_end: bool,
) -> Result<Vec<String>, String> {
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
            Operation::Call(function, _) => {
                let named = Function::ALL.iter().find(|(_, other)| *other == function);
                return Err(named.map_or("", |(name, _)| *name).to_owned());
            }
            Operation::Angle(..) => return Err("atan2".into()),
        };
        let arguments: Vec<String> = operation.arguments().map(register).collect();
        let _ = writeln!(
            text,
            "\t{name} {}, {};",
            register(node),
            arguments.join(", ")
        );
    }
    Ok(outputs.iter().map(|node| register(*node)).collect())
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

/// The value of a number of the item `%item`, as [`Job::number`] computes it.
fn number(text: &mut String, job: &Job, k: Input) -> Result<(), String> {
    let place = k as usize;
    let law = match place.checked_sub(MAX_NUMBERS) {
        None => &job.parameters[place],
        Some(place) => &job.start[place],
    };
    let bits = |x: f64| format!("0d{:016X}", x.to_bits());
    let [width, height] = job.size;
    match law.kind {
        Law::COLUMNS | Law::ROWS => {
            let (operation, count) = if law.kind == Law::COLUMNS {
                ("rem", width)
            } else {
                ("div", height)
            };
            let _ = writeln!(text, "\t{operation}.u64 %whole, %item, {width};");
            let _ = writeln!(text, "\tcvt.rn.f64.u64 %x{k}, %whole;");
            let _ = writeln!(text, "\tdiv.rn.f64 %x{k}, %x{k}, {};", bits(count as f64));
        }
        Law::UNIFORM => uniform(text, job.seed, k),
        _ => return Err("numbers that are drawn otherwise than uniformly".into()),
    }
    let _ = writeln!(
        text,
        "\tmul.rn.f64 %x{k}, %x{k}, {};",
        bits(law.high - law.low)
    );
    let _ = writeln!(text, "\tadd.rn.f64 %x{k}, {}, %x{k};", bits(law.low));
    Ok(())
}

/// As [`uniform`](trisolar_equations::random::uniform).
fn uniform(text: &mut String, seed: u64, k: Input) {
    let mut line = |words: &str| {
        let _ = writeln!(text, "\t{words};");
    };
    line("cvt.u32.u64 %w0, %item");
    line("shr.u64 %whole, %item, 32");
    line("cvt.u32.u64 %w1, %whole");
    line(&format!("mov.u32 %w2, {k}"));
    line("mov.u32 %w3, 0");
    let (mut k0, mut k1) = (seed as u32, (seed >> 32) as u32);
    for _ in 0..10 {
        line(&format!("mul.lo.u32 %v1, %w2, {}", 0xCD9E_8D57_u32));
        line(&format!("mul.hi.u32 %v0, %w2, {}", 0xCD9E_8D57_u32));
        line(&format!("mul.lo.u32 %v3, %w0, {}", 0xD251_1F53_u32));
        line(&format!("mul.hi.u32 %v2, %w0, {}", 0xD251_1F53_u32));
        line("xor.b32 %v0, %v0, %w1");
        line(&format!("xor.b32 %w0, %v0, {k0}"));
        line("xor.b32 %v2, %v2, %w3");
        line(&format!("xor.b32 %w2, %v2, {k1}"));
        line("mov.u32 %w1, %v1");
        line("mov.u32 %w3, %v3");
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    line("mov.b64 %whole, {%w0, %w1}");
    line("shr.u64 %whole, %whole, 11");
    line(&format!("cvt.rn.f64.u64 %x{k}, %whole"));
    let unit = 1.0 / (1_u64 << 53) as f64;
    line(&format!(
        "mul.rn.f64 %x{k}, %x{k}, 0d{:016X}",
        unit.to_bits()
    ));
}

/// The most operations of a kernel: the driver's compiler takes seconds for more.
const MAX_OPERATIONS: usize = 20_000;

/// The text of the kernel of a job.
///
/// # Errors
/// What has no sequence of operations whose bits are the same everywhere, or what is too large.
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
        number(&mut body, job, k)?;
    }
    let counts = needs(STEP);
    let line = |text: &mut String, words: &str| text.push_str(&format!("\t{words};\n"));
    let new = instructions(&mut body, phases[0], 'a', may_end)?;
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
    let new = instructions(&mut body, phases[1], 'b', may_end)?;
    renew(&mut body, &new, may_end);
    line(&mut body, "add.u64 %done, %done, 1");
    if counts {
        line(&mut body, "add.rn.f64 %number, %number, 0d3FF0000000000000");
    }
    goes_on(&mut body);
    body.push_str("\t@%goes bra STEP;\nEND:\n");
    let columns = instructions(&mut body, phases[2], 'c', may_end)?;
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
.version 6.0
.target sm_52
.address_size 64

.visible .entry {KERNEL}(.param .align 8 .b8 p[32])
{{
	.reg .pred %goes, %open, %opens, %qa<{a}>, %qb<{b}>, %qc<{c}>;
	.reg .u32 %thread, %block, %count, %width, %w<4>, %v<4>;
	.reg .u64 %out, %item, %whole, %done;
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
	ld.param.u64 %item, [p+16];
	cvt.u64.u32 %whole, %thread;
	add.u64 %item, %item, %whole;
{body}	ret;
}}
"
    ))
}
