//! The optimised program: checks of what a GPU cannot do, and its division into modules.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::addresses::Foreign;
use super::edit::{DYNAMIC, dynamic, in_initial_value, readable};
use super::listing::Listing;
use super::text::{Kind, Variable, bare, function, is_kernel, names, operands, unknown};
use crate::error::CudaBuilderError;

/// Functions that the driver itself provides.
const PROVIDED_BY_DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// An optimised program.
pub struct Program<'a> {
    listing: Listing<'a>,
    /// Whether there is assembly outside of functions.
    has_assembly: bool,
}

impl<'a> Deref for Program<'a> {
    type Target = Listing<'a>;

    fn deref(&self) -> &Listing<'a> {
        &self.listing
    }
}

/// A module: the kernels in it, and its text.
pub struct Division {
    pub kernels: Vec<String>,
    pub text: String,
}

impl<'a> Program<'a> {
    /// Takes the text apart, and refuses what would be wrong on a GPU.
    pub fn checked(text: &'a str) -> Result<Self, CudaBuilderError> {
        let listing = Listing::of(text)?;
        let has_assembly = (listing.lines.iter()).any(|line| line.starts_with("module asm "));
        let program = Self {
            listing,
            has_assembly,
        };
        program.check()?;
        Ok(program)
    }

    fn check(&self) -> Result<(), CudaBuilderError> {
        for (kind, range) in &self.items {
            let body = &self.lines[range.clone()];
            match kind {
                Kind::Variable => {
                    let Some(variable) = Variable::of(body[0]) else {
                        return Err(unknown("a variable", body[0]));
                    };
                    let elsewhere = ["(ptr addrspace(3)", "(ptr addrspace(4)"];
                    if elsewhere.iter().any(|space| variable.value.contains(space)) {
                        let held = names(variable.value).find(|(_, name)| {
                            let of = self.defined.get(name).map(|item| self.first(*item));
                            of.is_some_and(|line| {
                                line.contains("addrspace(3)") || line.contains("addrspace(4)")
                            })
                        });
                        let held = held.map_or("", |(_, name)| bare(name));
                        return Err(in_initial_value(held, bare(variable.name)));
                    }
                }
                Kind::Definition => {
                    for line in &body[1..] {
                        if line.contains(" = frem ") {
                            return Err(unknown("a remainder", line));
                        }
                        if writes_constant(line) {
                            return Err(self.write_refused(body, line));
                        }
                    }
                }
                Kind::Other => {}
            }
        }
        Ok(())
    }

    /// The functions that are called and are nowhere defined.
    pub fn unresolved(&self) -> Vec<&'a str> {
        let declared = self
            .lines
            .iter()
            .filter(|line| line.starts_with("declare "));
        declared
            .filter_map(|line| function(line).map(bare))
            .filter(|name| !name.starts_with("llvm.") && !PROVIDED_BY_DRIVER.contains(name))
            .collect()
    }

    /// The error for a write to constant memory, which names the function and the constants that it uses.
    fn write_refused(&self, body: &[&str], line: &str) -> CudaBuilderError {
        let constants: BTreeSet<&str> = (body.iter())
            .flat_map(|line| names(line))
            .filter(|(_, name)| {
                let item = self.defined.get(name);
                item.is_some_and(|item| self.first(*item).contains("addrspace(4)"))
            })
            .map(|(_, name)| bare(name))
            .collect();
        CudaBuilderError::ConstantStatic {
            name: constants.into_iter().collect::<Vec<_>>().join(" or "),
            place: format!(
                "is only for reading, but {} has `{}`",
                readable(bare(function(body[0]).unwrap_or_default())),
                line.trim()
            ),
        }
    }

    /// Whether an item belongs to every module: the target, attributes, named metadata.
    fn is_head(&self, item: usize) -> bool {
        let first = self.first(item);
        let metadata = first.strip_prefix('!');
        self.items[item].0 == Kind::Other
            && !first.starts_with("declare ")
            && !first.starts_with(';')
            && !metadata.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// All items that are in the module of each kernel.
    fn needed(&self, roots: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut needed = BTreeSet::new();
        let heads = (0..self.items.len()).filter(|item| self.is_head(*item));
        let mut next: Vec<usize> = roots.into_iter().chain(heads).collect();
        while let Some(item) = next.pop() {
            if needed.insert(item) {
                next.extend(self.mentioned(item));
            }
        }
        needed
    }

    /// Whether an item is a variable that keeps what one kernel writes, or the host, for the next.
    fn keeps_state(&self, item: usize) -> bool {
        self.items[item].0 == Kind::Variable
            && Variable::of(self.first(item)).is_some_and(|variable| {
                !variable.constant && !variable.words.contains("addrspace(3)")
            })
            && !self.first(item).starts_with("@llvm.")
    }

    /// Everything as one module.
    pub fn whole(&self) -> Division {
        let all = (0..self.items.len()).filter(|item| self.items[*item].0 != Kind::Other);
        self.module(&self.needed(all))
    }

    /// One module for each group of kernels that share a variable which can change.
    pub fn divided(&self) -> Result<Vec<Division>, CudaBuilderError> {
        let kernels = (0..self.items.len())
            .filter(|item| self.items[*item].0 == Kind::Definition && is_kernel(self.first(*item)));
        let needed: Vec<(usize, BTreeSet<usize>)> = kernels
            .map(|kernel| (kernel, self.needed([kernel])))
            .collect();
        self.check_addresses(&needed)?;
        if self.has_assembly {
            // What it defines must exist once.
            return Ok(vec![self.whole()]);
        }
        let mut groups: Vec<BTreeSet<usize>> = Vec::new();
        let mut group_of: BTreeMap<usize, usize> = BTreeMap::new();
        for (_, needed) in needed {
            let states: Vec<usize> = (needed.iter().copied())
                .filter(|item| self.keeps_state(*item))
                .collect();
            let mut joined: BTreeSet<usize> = states
                .iter()
                .filter_map(|state| group_of.get(state).copied())
                .collect();
            let into = joined.pop_first().unwrap_or_else(|| {
                groups.push(BTreeSet::new());
                groups.len() - 1
            });
            for other in joined {
                let items = std::mem::take(&mut groups[other]);
                groups[into].extend(items);
                group_of
                    .values_mut()
                    .filter(|g| **g == other)
                    .for_each(|g| *g = into);
            }
            group_of.extend(states.into_iter().map(|state| (state, into)));
            groups[into].extend(needed);
        }
        groups.retain(|group| !group.is_empty());
        Ok(groups.iter().map(|group| self.module(group)).collect())
    }

    /// Refuses the address of a function that one kernel stores and another calls. `kernels` are these with what they need.
    fn check_addresses(
        &self,
        kernels: &[(usize, BTreeSet<usize>)],
    ) -> Result<(), CudaBuilderError> {
        let foreign = Foreign::of(self);
        let name = |item: usize| readable(bare(function(self.first(item)).unwrap_or_default()));
        for (calls, needed) in kernels {
            if needed.is_disjoint(&foreign.calls) {
                continue;
            }
            for (stores, needed) in kernels.iter().filter(|(stores, _)| stores != calls) {
                let mut stored = foreign.stores.iter();
                if let Some((_, function)) = stored.find(|(item, _)| needed.contains(item)) {
                    return Err(CudaBuilderError::ForeignFunction {
                        stores: name(*stores),
                        function: readable(bare(function)),
                        calls: name(*calls),
                    });
                }
            }
        }
        Ok(())
    }

    fn module(&self, needed: &BTreeSet<usize>) -> Division {
        let mut division = Division {
            kernels: Vec::new(),
            text: String::new(),
        };
        let mut named_in_assembly = false;
        let mut declares_dynamic = false;
        for (item, (kind, range)) in self.items.iter().enumerate() {
            let first = self.lines[range.start];
            if !needed.contains(&item) {
                continue;
            }
            if *kind == Kind::Definition {
                if is_kernel(first) {
                    let name = bare(function(first).unwrap_or_default());
                    division.kernels.push(name.to_owned());
                }
                named_in_assembly |= (self.lines[range.clone()].iter())
                    .any(|line| line.contains(" asm ") && line.contains(DYNAMIC));
            }
            declares_dynamic |=
                *kind == Kind::Variable && first.starts_with(&format!("@{DYNAMIC} "));
            for line in &self.lines[range.clone()] {
                division.text += line;
                division.text.push('\n');
            }
        }
        if named_in_assembly && !declares_dynamic {
            division.text += &format!(
                "{}\n@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(3) @{DYNAMIC} to ptr)], \
                 section \"llvm.metadata\"\n",
                dynamic()
            );
        }
        division
    }
}

/// Whether a line writes to constant memory.
fn writes_constant(line: &str) -> bool {
    const SPACE: &str = "ptr addrspace(4)";
    let code = line.trim_start();
    let code = code.split_once(" = ").map_or(code, |(_, code)| code);
    let operands = operands(code);
    match code.split(' ').next() {
        Some("store") => operands.get(1).is_some_and(|to| to.starts_with(SPACE)),
        Some("atomicrmw" | "cmpxchg") => operands[0].contains(SPACE),
        _ => ["@llvm.memcpy.p4", "@llvm.memmove.p4", "@llvm.memset.p4"]
            .iter()
            .any(|function| code.contains(function)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "\
target triple = \"nvptx64-nvidia-cuda\"
@COUNT = internal global [4 x i8] zeroinitializer, align 4
@TABLE = private constant [2 x ptr] [ptr @one, ptr @two], align 8
@S = internal addrspace(3) global [4 x i8] undef, align 4
@C = addrspace(4) externally_initialized global [4 x i8] zeroinitializer, align 4
define ptx_kernel void @count() #0 {
  call void @add()
  ret void
}
define ptx_kernel void @counted() #0 {
  %1 = load i32, ptr @COUNT, align 4
  ret void
}
define ptx_kernel void @called() #0 {
  %1 = load ptr, ptr @TABLE, align 8, !noundef !1
  %2 = call i32 asm \"ld.shared.b32 $0, [cuda_std_dynamic_shared];\", \"=r\"()
  ret void
}
define internal void @add() {
  store i32 1, ptr @COUNT, align 4
  ret void
}
define internal void @one() {
  ret void
}
define internal void @two() {
  ret void
}
declare float @sinf(float)
declare void @llvm.trap()
attributes #0 = { nounwind }
!llvm.ident = !{!0}
!0 = !{!\"}\"}
!1 = !{}
!2 = !{}
";

    #[test]
    fn kernels_that_share_a_variable_are_together_and_have_what_they_need() {
        let program = Program::checked(PROGRAM).unwrap();
        let divided = program.divided().unwrap();
        let kernels: Vec<_> = divided.iter().map(|d| d.kernels.join(" ")).collect();
        assert_eq!(kernels, ["count counted", "called"]);
        let (first, second) = (&divided[0].text, &divided[1].text);
        assert!(first.contains("@add() {") && !first.contains("@one"));
        for part in [
            "target triple",
            "@one() {",
            "@two() {",
            "!1 = ",
            "!0 = ",
            "attributes #0",
            "@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(3) @cuda_std_dynamic_shared",
        ] {
            assert!(second.contains(part), "{part} in {second}");
        }
        assert!(!second.contains("!2 = ") && !second.contains("@COUNT"));
        assert_eq!(program.whole().kernels.len(), 3);
        assert_eq!(program.unresolved(), ["sinf"]);
        let with_assembly = format!("module asm \".global .u32 x;\"\n{PROGRAM}");
        let one = Program::checked(&with_assembly).unwrap().divided().unwrap();
        assert_eq!(one.len(), 1);
    }

    #[test]
    fn what_a_gpu_cannot_do_is_refused() {
        let with = |line: &str| PROGRAM.replace("  call void @add()\n", line);
        for (line, said) in [
            (
                "  store i32 1, ptr addrspace(4) @C, align 4\n",
                "C is only for reading, but count has `store",
            ),
            (
                "  %r = atomicrmw add ptr addrspace(4) @C, i32 1 monotonic, align 4\n",
                "C is only",
            ),
            ("  %r = frem float %a, %b\n", "a remainder in a way"),
        ] {
            let error = Program::checked(&with(line)).err().unwrap().to_string();
            assert!(error.contains(said), "{error}");
        }
        let address =
            "  store ptr addrspacecast (ptr addrspace(4) @C to ptr), ptr @COUNT, align 8\n";
        assert!(Program::checked(&with(address)).is_ok());
        let held = PROGRAM.replace(
            "ptr @two]",
            "ptr addrspacecast (ptr addrspace(3) @S to ptr)]",
        );
        let error = Program::checked(&held).err().unwrap().to_string();
        assert!(
            error.contains("S as the initial value of the static TABLE"),
            "{error}"
        );
    }
}
