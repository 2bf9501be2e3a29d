//! What rustc cannot express, put into LLVM's form of the program before it is optimised.
//!
//! - Statics and arrays that `cuda_std` marks are variables of shared or constant memory; whoever takes their address gets the generic one.
//!   From there LLVM follows it, and uses the memory's own instructions where it can.
//! - The directives of `#[kernel]` are attributes of the kernel.
//! - `x % y` is a call of the exact function of `compiler_builtins`; LLVM's back end would compute x - trunc(x / y)·y with a rounded quotient.
//! - Atomics work on a thread's own memory ([`super::atomics`]).
//! - A fence within a thread (`compiler_fence`), for which the back end fails, is empty assembly that may access all memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use super::atomics::{Atomics, OWN};
use super::text::{
    Kind, Variable, bare, bytes, function, global, is_kernel, items, names, unknown,
    with_attributes,
};
use crate::error::CudaBuilderError;

/// The prefix of the symbols of shared statics. The crate and the name of the static follow, then a number, each after a `$`.
const STATIC: &str = "cuda_std_shared_static$";
/// The prefix of the symbols of constants, which the name follows.
const CONSTANT: &str = "cuda_std_constant$";
/// The name of an array within the function that returns its address.
const ARRAY: &str = "cuda_std_shared_array";
/// The symbol of the memory whose size the launch sets.
pub const DYNAMIC: &str = "cuda_std_dynamic_shared";
/// The suffix of an array's symbol, which follows the function's symbol.
const ARRAY_SYMBOL: &str = "$array";
/// The start of the assembly by which `#[kernel]` describes the kernel: its package and its directives follow.
const KERNEL: &str = "// cuda_std kernel ";
/// A variable of shared memory. LLVM must not conclude anything from its initial value, which nobody knows.
const SHARED: &str = "addrspace(3) externally_initialized global";
/// The size of constant memory.
const MOST_CONSTANT_BYTES: usize = 1 << 16;
/// LLVM must not make tables of addresses that are not the same for all threads.
pub const NO_TABLES: &str = "\"no-jump-tables\"=\"true\"";

/// The program in its new form.
pub struct Edited {
    pub text: String,
    /// The kernels in the order of the text: name and package.
    pub kernels: Vec<(String, String)>,
    /// Whether it calls the functions for remainders.
    pub has_remainders: bool,
}

/// A variable that is moved to another memory.
struct Moved {
    /// Its definition there.
    definition: String,
    /// Its generic address.
    address: String,
}

/// Edits the text of a merged program. `package` is that of kernels which do not say theirs.
pub fn edited(
    text: &str,
    package: &str,
    max_registers: Option<u32>,
) -> Result<Edited, CudaBuilderError> {
    let lines: Vec<&str> = text.lines().collect();
    let items = items(&lines)?;
    let variables: Vec<(usize, Variable<'_>)> = items
        .iter()
        .filter(|(kind, _)| *kind == Kind::Variable)
        .filter_map(|(_, range)| Some((range.start, Variable::of(lines[range.start])?)))
        .collect();
    let taken: BTreeSet<&str> = (items.iter())
        .filter(|(_, range)| {
            ["define ", "declare "]
                .iter()
                .any(|word| lines[range.start].starts_with(word))
        })
        .filter_map(|(_, range)| function(lines[range.start]))
        .chain(variables.iter().map(|(_, variable)| variable.name))
        .map(bare)
        .collect();
    let mut moved: HashMap<&str, Moved> = HashMap::new();
    for (line, variable) in &variables {
        if let Some(found) = Moved::of(variable, lines[*line])? {
            moved.insert(variable.name, found);
        }
    }
    // Tables of such addresses that LLVM has made for a `match` in a dependency.
    let mut tables: HashMap<&str, String> = HashMap::new();
    for (_, variable) in &variables {
        let held = names(variable.value).find(|(_, name)| moved.contains_key(name));
        let Some((_, held)) = held.filter(|_| !moved.contains_key(variable.name)) else {
            continue;
        };
        let name = bare(variable.name);
        if variable.constant && name.starts_with("switch.table") {
            tables.insert(variable.name, format!("%cuda_builder.{}", tables.len()));
        } else if !name.starts_with("llvm.") {
            return Err(in_initial_value(bare(held), name));
        }
    }

    let replaced = |line: &str| {
        with_names(line, |name| {
            let address = moved.get(name).map(|moved| &moved.address);
            address.or_else(|| tables.get(name)).cloned()
        })
    };
    let copies = |body: &[&str]| -> Result<String, CudaBuilderError> {
        let mut text = String::new();
        for (_, variable) in &variables {
            let Some(copy) = tables.get(variable.name) else {
                continue;
            };
            if body
                .iter()
                .any(|line| names(line).any(|(_, name)| name == variable.name))
            {
                let (ty, value) = (variable.ty, replaced(variable.value));
                let _ = write!(
                    text,
                    "  {copy} = alloca {ty}, align 8\n  store {ty} {value}, ptr {copy}, align 8\n"
                );
            }
        }
        Ok(text)
    };
    let has_moved = !moved.is_empty() || [ARRAY, CONSTANT].iter().any(|name| text.contains(name));
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let (mut arrays, mut atomics) = (BTreeMap::new(), Atomics::default());
    let mut kernels = Vec::new();
    let mut remainders = BTreeSet::new();
    for (kind, range) in &items {
        let body = &lines[range.clone()];
        match kind {
            Kind::Variable => {
                let name = names(body[0]).next().map_or("", |(_, name)| name);
                if let Some(moved) = moved.get(name) {
                    out += &moved.definition;
                } else if !tables.contains_key(name) {
                    out += &replaced(body[0]);
                }
                out.push('\n');
            }
            Kind::Other => {
                out += body[0];
                out.push('\n');
            }
            Kind::Definition => {
                if body.iter().any(|line| line.contains(ARRAY)) {
                    out += &array(body, &mut arrays)?;
                    continue;
                }
                let mut attributes = if has_moved {
                    NO_TABLES.to_owned()
                } else {
                    String::new()
                };
                let mut directives = "";
                let mut text = String::new();
                let copies = copies(body)?;
                for (i, line) in body.iter().enumerate().skip(1) {
                    if i == 1 && !is_label(line) || i == 2 && is_label(body[1]) {
                        text += &copies;
                    }
                    if let Some(marker) = line.split_once(KERNEL).filter(|_| line.contains("asm")) {
                        directives = marker.1.split('"').next().unwrap_or_default();
                        continue;
                    }
                    let changed = replaced(line);
                    let changed = match atomics.changed(&changed)? {
                        Some(call) => call,
                        None => without_remainder(changed, &mut remainders)?,
                    };
                    text += if changed.trim_start().starts_with(FENCE) {
                        "  call void asm sideeffect \"\", \"~{memory}\"()"
                    } else {
                        &changed
                    };
                    text.push('\n');
                }
                if is_kernel(body[0]) {
                    let (from, given) = directives.split_once(':').unwrap_or((package, ""));
                    let name = bare(function(body[0]).unwrap_or_default()).to_owned();
                    kernels.push((name, from.to_owned()));
                    attributes = format!("{attributes} {}", bounds(given, max_registers)?);
                }
                out += &match attributes.trim() {
                    "" => body[0].to_owned(),
                    attributes => with_attributes(body[0], attributes)?,
                };
                out.push('\n');
                out += &text;
            }
        }
    }
    for (symbol, (bytes, align)) in &arrays {
        let _ = writeln!(
            out,
            "{} = internal {SHARED} [{bytes} x i8] undef, align {align}",
            global(symbol)
        );
    }
    out += &atomics.definitions();
    let mut used: Vec<(&str, String)> = (remainders.iter())
        .map(|(ty, function)| (*function, format!("{ty} @{function}({ty}, {ty})")))
        .collect();
    if !atomics.is_empty() {
        used.push((OWN, format!("i1 @{OWN}(ptr)")));
    }
    for (name, signature) in used {
        if !taken.contains(name) {
            let _ = writeln!(out, "declare {signature}");
        }
    }
    Ok(Edited {
        text: out,
        kernels,
        has_remainders: !remainders.is_empty(),
    })
}

impl Moved {
    /// The variable in the memory to which its name assigns it.
    fn of(variable: &Variable<'_>, line: &str) -> Result<Option<Self>, CudaBuilderError> {
        let name = bare(variable.name);
        let generic = |space: u32, name: &str| {
            format!("addrspacecast (ptr addrspace({space}) {name} to ptr)")
        };
        if name == DYNAMIC {
            return Ok(Some(Self {
                definition: dynamic(),
                address: generic(3, variable.name),
            }));
        }
        let Variable {
            ty, align, value, ..
        } = variable;
        if name.starts_with(CONSTANT) {
            // It moves when the program is optimised, because LLVM drops stores to constant memory without a word. Until then LLVM must
            // neither compute with the initial value nor take the variable for one that is never written.
            let align = align.ok_or_else(|| unknown("a constant", line))?;
            return Ok(Some(Self {
                definition: format!(
                    "{} = externally_initialized global {ty} {value}, align {align}",
                    variable.name
                ),
                address: variable.name.to_owned(),
            }));
        }
        if name.starts_with(STATIC) {
            let align = align.ok_or_else(|| unknown("a shared static", line))?;
            return Ok(Some(Self {
                definition: format!(
                    "{} = internal {SHARED} {ty} undef, align {align}",
                    variable.name
                ),
                address: generic(3, variable.name),
            }));
        }
        Ok(None)
    }

    /// A constant in constant memory, under its own name.
    fn constant(
        variable: &Variable<'_>,
        line: &str,
        taken: &BTreeSet<&str>,
        constant_bytes: &mut usize,
    ) -> Result<Option<Self>, CudaBuilderError> {
        let Some(name) = bare(variable.name).strip_prefix(CONSTANT) else {
            return Ok(None);
        };
        let (Some(align), Some(bytes)) = (variable.align, bytes(variable.ty)) else {
            return Err(unknown("a constant", line));
        };
        *constant_bytes += bytes;
        let wrong = if *constant_bytes > MOST_CONSTANT_BYTES {
            format!(
                "needs more than the 64 KiB of constant memory: with the constants before it, {constant_bytes} bytes"
            )
        } else if taken.contains(name) {
            "has the name of a kernel, a function or another static".to_owned()
        } else {
            let (ty, value) = (variable.ty, variable.value);
            return Ok(Some(Self {
                definition: format!(
                    "{} = addrspace(4) externally_initialized global {ty} {value}, align {align}",
                    global(name)
                ),
                address: format!("addrspacecast (ptr addrspace(4) {} to ptr)", global(name)),
            }));
        };
        Err(CudaBuilderError::ConstantStatic {
            name: name.to_owned(),
            place: wrong,
        })
    }
}

/// The optimised program with its constants in constant memory; `None` if it has none.
pub fn with_constants(text: &str) -> Result<Option<String>, CudaBuilderError> {
    if !text.contains(CONSTANT) {
        return Ok(None);
    }
    let lines: Vec<&str> = text.lines().collect();
    let taken: BTreeSet<&str> = (lines.iter())
        .filter_map(|line| match line.starts_with('@') {
            true => names(line).next().map(|(_, name)| name),
            false if line.starts_with("define ") => function(line),
            false => None,
        })
        .map(bare)
        .collect();
    let mut moved: HashMap<&str, Moved> = HashMap::new();
    let mut constant_bytes = 0;
    for line in lines.iter().filter(|line| line.starts_with('@')) {
        let variable = Variable::of(line).ok_or_else(|| unknown("a variable", line))?;
        if let Some(found) = Moved::constant(&variable, line, &taken, &mut constant_bytes)? {
            moved.insert(variable.name, found);
        }
    }
    let mut out = String::with_capacity(text.len() + 4096);
    for line in lines {
        let name = names(line).next().filter(|(place, _)| place.start == 0);
        out += &match name.and_then(|(_, name)| moved.get(name)) {
            Some(moved) => moved.definition.clone(),
            None => with_names(line, |name| Some(moved.get(name)?.address.clone())),
        };
        out.push('\n');
    }
    Ok(Some(out))
}

/// The declaration of the memory whose size the launch sets.
pub fn dynamic() -> String {
    format!("@{DYNAMIC} = external addrspace(3) global [0 x i8], align 16")
}

/// The error for an address that is the initial value of a static, because each block has its own, or the host may set it.
pub fn in_initial_value(variable: &str, holder: &str) -> CudaBuilderError {
    let place = format!(
        "as the initial value of the static {}, which all blocks share",
        readable(holder)
    );
    match variable.strip_prefix(CONSTANT) {
        Some(name) => CudaBuilderError::ConstantStatic {
            name: name.to_owned(),
            place,
        },
        None => CudaBuilderError::SharedStatic {
            name: readable(variable),
            place,
        },
    }
}

/// A line with some of its names replaced.
fn with_names(line: &str, other: impl Fn(&str) -> Option<String>) -> String {
    let mut result = String::with_capacity(line.len());
    let mut from = 0;
    for (place, name) in names(line) {
        if let Some(other) = other(name) {
            result += &line[from..place.start];
            result += &other;
            from = place.end;
        }
    }
    result + &line[from..]
}

fn is_label(line: &str) -> bool {
    let code = line.split(';').next().unwrap_or_default().trim_end();
    !code.starts_with(' ') && code.ends_with(':')
}

/// The start of a fence within a thread.
const FENCE: &str = "fence syncscope(\"singlethread\")";

/// The function that returns the address of an array in shared memory: it is inlined, so that LLVM sees the address.
fn array(
    body: &[&str],
    arrays: &mut BTreeMap<String, (usize, usize)>,
) -> Result<String, CudaBuilderError> {
    let name = function(body[0]).ok_or_else(|| unknown("the head of a function", body[0]))?;
    let size = body.iter().find_map(|line| {
        let (_, rest) = line.split_once(".shared .align ")?;
        let (align, rest) = rest.split_once(" .b8 ")?;
        let count = rest
            .strip_prefix(ARRAY)?
            .strip_prefix('[')?
            .split(']')
            .next()?;
        Some((count.parse().ok()?, align.parse().ok()?))
    });
    let returns_pointer = body[0]
        .split_once(" @")
        .is_some_and(|(head, _)| head.ends_with(" ptr"));
    let Some(size) = size.filter(|_| returns_pointer) else {
        return Err(unknown("an array in shared memory", body.concat().as_str()));
    };
    // Several crates may have a copy of the function; all copies refer to one array.
    let symbol = format!("{}{ARRAY_SYMBOL}", without_crate(bare(name)));
    let known = arrays.insert(symbol.clone(), size);
    if let Some(known) = known.filter(|known| *known != size) {
        return Err(CudaBuilderError::SharedStatic {
            name: readable(bare(name)),
            place: format!("has {} bytes here and {} elsewhere", size.0, known.0),
        });
    }
    let linkage = match body[0].contains("define internal ") {
        true => "internal ",
        false => "",
    };
    Ok(format!(
        "define {linkage}ptr {name}() alwaysinline nounwind {{\n  ret ptr addrspacecast (ptr addrspace(3) {} to ptr)\n}}\n",
        global(&symbol)
    ))
}

/// The attributes for the directives of a kernel. A limit of registers is for kernels without one.
fn bounds(directives: &str, max_registers: Option<u32>) -> Result<String, CudaBuilderError> {
    let mut attributes = String::new();
    let mut limited = false;
    for directive in directives.split(" .").skip(1) {
        let (name, value) = directive.split_once(' ').unwrap_or((directive, ""));
        let attribute = match name {
            "maxntid" => "nvvm.maxntid",
            "minnctapersm" => "nvvm.minctasm",
            "maxnreg" => "nvvm.maxnreg",
            "reqnctapercluster" => "nvvm.cluster_dim",
            _ => return Err(unknown("a directive of a kernel", directive)),
        };
        limited |= matches!(name, "minnctapersm" | "maxnreg");
        let value = value.replace(' ', "");
        let _ = write!(attributes, "\"{attribute}\"=\"{value}\" ");
    }
    if let Some(most) = max_registers.filter(|_| !limited) {
        let _ = write!(attributes, "\"nvvm.maxnreg\"=\"{most}\"");
    }
    Ok(attributes)
}

/// A line in which a remainder is a call; each such function is added to `used`.
fn without_remainder(
    line: String,
    used: &mut BTreeSet<(&'static str, &'static str)>,
) -> Result<String, CudaBuilderError> {
    let Some((result, rest)) = line.split_once(" = frem ") else {
        return Ok(line);
    };
    for function in [("double", "fmod"), ("float", "fmodf"), ("half", "fmodf16")] {
        let (ty, name) = function;
        // Flags may come before the type.
        let Some((_, operands)) = rest.split_once(&format!("{ty} ")) else {
            continue;
        };
        if let Some((x, y)) = operands.split_once(", ").filter(|_| !rest.contains('<')) {
            let y = y.split(',').next().unwrap_or(y);
            used.insert(function);
            return Ok(format!("{result} = call {ty} @{name}({ty} {x}, {ty} {y})"));
        }
    }
    Err(unknown("a remainder", &line))
}

/// A generic function's symbol without the instantiating crate at its end. The rest is the same in all crates.
fn without_crate(symbol: &str) -> &str {
    let ends = symbol.match_indices('E').map(|(at, _)| &symbol[..=at]);
    ends.into_iter()
        .find(|start| rustc_demangle::try_demangle(start).is_ok())
        .unwrap_or(symbol)
}

/// The name by which its author knows a symbol.
pub fn readable(symbol: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: &str = "@\"cuda_std_shared_static$k$TILE$01\"";

    fn text_of(program: &str) -> Result<String, CudaBuilderError> {
        edited(program, "waves", None).map(|edited| edited.text)
    }

    fn kernel(body: &str) -> String {
        format!(
            "{TILE} = global [64 x i8] c\"\\01@x\", align 4\n@\"cuda_std_constant$T\" = global [4 x i8] zeroinitializer, align 4\n\
             define ptx_kernel void @k(ptr %x) unnamed_addr #1 {{\nstart:\n{body}  ret void\n}}\n"
        )
    }

    #[test]
    fn a_table_that_llvm_has_made_is_built_in_the_function_and_others_are_refused() {
        let table = |name: &str| {
            format!("@{name} = private constant [2 x ptr] [ptr {TILE}, ptr null], align 8\n")
        };
        let body = "  %a = getelementptr ptr, ptr @switch.table.k, i64 1\n";
        let text = text_of(&(table("switch.table.k") + &kernel(body))).unwrap();
        let expected = format!(
            "start:\n  %cuda_builder.0 = alloca [2 x ptr], align 8\n  store [2 x ptr] [ptr addrspacecast (ptr addrspace(3) {TILE} to ptr), \
             ptr null], ptr %cuda_builder.0, align 8\n  %a = getelementptr ptr, ptr %cuda_builder.0, i64 1\n"
        );
        assert!(text.contains(&expected), "{text}");
        let error = text_of(&(table("PLACES") + &kernel(""))).err().unwrap();
        let said = error.to_string();
        assert!(
            said.contains("TILE of the crate k") && said.contains("PLACES"),
            "{said}"
        );
    }

    #[test]
    fn constants_have_64_kib_and_names_of_their_own() {
        let large = "@\"cuda_std_constant$LARGE\" = global [65536 x i8] zeroinitializer, align 4\n";
        for (more, said) in [
            (large.to_owned(), "65540 bytes"),
            (
                large.replace("LARGE", "k").replace("65536", "4"),
                "has the name of a kernel",
            ),
        ] {
            let optimised = text_of(&(kernel("") + &more)).unwrap();
            let error = with_constants(&optimised).err().unwrap().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn kernels_say_their_package_and_bounds() {
        let marker = |text: &str| {
            kernel(&format!(
                "  call void asm sideeffect \"// cuda_std kernel tides:{text}\", \"\"() #2\n"
            ))
        };
        let program = marker(" .maxntid 128 .maxnreg 40 .reqnctapercluster 2, 2, 1");
        let found = edited(&program, "waves", Some(64)).unwrap();
        assert_eq!(found.kernels, [("k".to_owned(), "tides".to_owned())]);
        let bounds =
            "\"nvvm.maxntid\"=\"128\" \"nvvm.maxnreg\"=\"40\" \"nvvm.cluster_dim\"=\"2,2,1\" #1 {";
        assert!(found.text.contains(bounds), "{}", found.text);
        assert!(!found.text.contains("cuda_std kernel"), "{}", found.text);
        let plain = edited(&kernel(""), "waves", Some(64)).unwrap();
        assert!(
            plain.text.contains("\"nvvm.maxnreg\"=\"64\" #1 {"),
            "{}",
            plain.text
        );
        assert_eq!(plain.kernels[0].1, "waves");
        assert!(text_of(&marker(" .unheard 3")).is_err());
    }

    #[test]
    fn remainders_are_calls_and_fences_are_empty() {
        let text = text_of(&kernel(
            "  %r = frem reassoc double %a, 3.000000e+00\n  fence syncscope(\"singlethread\") seq_cst\n",
        ))
        .unwrap();
        for line in [
            "  %r = call double @fmod(double %a, double 3.000000e+00)\n",
            "  call void asm sideeffect \"\", \"~{memory}\"()\n",
            "declare double @fmod(double, double)\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        let vector = text_of(&kernel("  %r = frem <2 x float> %a, %b\n"));
        let said = vector.err().unwrap().to_string();
        assert!(said.contains("a remainder in a way"), "{said}");
    }
}
