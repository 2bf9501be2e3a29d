//! Programs that are easily compiled wrongly, in their modules, and with other compilers than the one of this workspace.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::LazyLock;

use common::{builder, has, kernels, said};
use cuda_builder::{LLVM_TOOLS_VARIABLE, Modules, NvvmArch, RUST_SRC_VARIABLE, ptx};

/// The probes in their modules, or `None` where kernels cannot be built.
fn probes(arch: NvvmArch) -> Option<Modules> {
    match builder(kernels("probes")).arch(arch).build_modules() {
        Ok((modules, _)) => Some(modules),
        Err(error) if error.lacks_toolchain() => {
            common::skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The probes for the oldest architecture, which are compiled once.
fn oldest() -> Option<&'static Modules> {
    static MODULES: LazyLock<Option<Modules>> = LazyLock::new(|| probes(NvvmArch::Compute70));
    MODULES.as_ref()
}

/// The text of a kernel, and that of its module.
fn kernel<'a>(modules: &'a Modules, name: &str) -> (&'a str, &'a str) {
    let found = modules.kernels.iter().find(|kernel| kernel.name == name);
    let text = &modules.texts[found.unwrap().module];
    (ptx::entry(text, name).unwrap(), text)
}

#[test]
fn kernels_that_share_a_static_are_one_module_and_all_assemble() {
    let Some(modules) = oldest() else {
        return;
    };
    let mut together: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for kernel in &modules.kernels {
        assert_eq!(kernel.package, "probes");
        together
            .entry(kernel.module)
            .or_default()
            .insert(&kernel.name);
    }
    let together: BTreeSet<_> = together
        .into_values()
        .filter(|names| names.len() > 1)
        .collect();
    let expected = [["count", "counted"], ["plain_get", "plain_set"]].map(BTreeSet::from);
    assert_eq!(together, BTreeSet::from(expected));
    for text in &modules.texts {
        common::assemble(text, &["sm_75", "sm_90", "sm_120"]);
    }
}

/// Whether the value of a register is made from an address that was converted to a generic one, and from a variable's own address.
fn origins(text: &str, register: &str) -> (bool, bool) {
    let words = |text| {
        let split = str::split(text, |c: char| {
            !(c.is_ascii_alphanumeric() || "%_$.".contains(c))
        });
        split.filter(|word| !word.is_empty()).collect::<Vec<&str>>()
    };
    let (mut converted, mut raw) = (false, false);
    let (mut next, mut seen) = (vec![register], BTreeSet::new());
    while let Some(register) = next.pop() {
        if !seen.insert(register) {
            continue;
        }
        // A line in braces can hold several instructions.
        for line in text.split([';', '\n']) {
            let line = line.trim_start_matches(['{', ' ', '\t']);
            let Some((name, operands)) = line.split_once(char::is_whitespace) else {
                continue;
            };
            // The results are the first operand, which may be several in braces.
            let operands = operands.trim();
            let end = operands.find(if operands.starts_with('{') { '}' } else { ',' });
            let (results, sources) = operands.split_at(end.unwrap_or(operands.len()));
            if !words(results).contains(&register) || name.starts_with("st.") {
                continue;
            }
            if name.starts_with("cvta.") && !name.starts_with("cvta.to.") {
                converted = true;
                continue;
            }
            for source in words(sources) {
                match source.starts_with('%') {
                    true => next.push(source),
                    false => {
                        raw |= name.starts_with("mov") && source.starts_with(char::is_alphabetic)
                    }
                }
            }
        }
    }
    (converted, raw)
}

#[test]
fn an_address_in_other_memory_is_generic_wherever_it_goes() {
    let newer = probes(NvvmArch::Compute90);
    for modules in [oldest(), newer.as_ref()] {
        let Some(modules) = modules else { return };
        let (shuffled, _) = kernel(modules, "shuffled_addresses");
        let sources: Vec<(bool, bool)> = (shuffled.lines())
            .filter_map(|line| line.trim().strip_prefix("shfl.sync.idx.b32"))
            .map(|operands| origins(shuffled, operands.split(", ").nth(1).unwrap()))
            .collect();
        assert_eq!(sources.len(), 8, "{shuffled}");
        assert!(
            sources.iter().all(|(_, raw)| !raw),
            "{sources:?} {shuffled}"
        );
        // That of the global array may be used as it comes from the host.
        let converted = sources.iter().filter(|(converted, _)| *converted);
        assert!(converted.count() >= 6, "{sources:?} {shuffled}");
        assert!(shuffled.matches("\tld.b32").count() >= 4, "{shuffled}");
        let (stored, _) = kernel(modules, "stored_addresses");
        // The choice and both addresses from memory may be in any memory.
        assert_eq!(stored.matches("\tld.b32").count(), 3, "{stored}");
    }
}

#[test]
fn a_choice_of_arrays_is_no_table_in_memory() {
    let Some(modules) = oldest() else {
        return;
    };
    for name in ["matched", "matched_arrays"] {
        let (_, text) = kernel(modules, name);
        assert!(!text.contains("generic("), "{text}");
        assert_eq!(text.matches(".shared .align 4 .b8").count(), 4, "{text}");
    }
}

#[test]
fn a_reduction_is_left_as_it_is_written_and_a_remainder_is_exact() {
    let Some(modules) = oldest() else {
        return;
    };
    let (reduced, text) = kernel(modules, "reduced");
    assert_eq!(reduced.matches("fma.rn.f64").count(), 2, "{reduced}");
    assert_eq!(reduced.matches("fma.rn.f32").count(), 1, "{reduced}");
    has(text, " fmod(| fmodf(");
}

#[test]
fn what_only_a_table_names_is_in_the_module() {
    let Some(modules) = oldest() else {
        return;
    };
    let (_, text) = kernel(modules, "called");
    has(text, "doubled|halved|same|4area");
    assert!(!kernel(modules, "braces").1.contains("doubled"));
    let (braces, _) = kernel(modules, "braces");
    has(braces, "17|st.global.b32");
    let (wide, _) = kernel(modules, "wide_argument");
    has(wide, ".param .align 16 .b8 wide_argument_param_1[64]");
}

/// Builds the probes in a process of its own for each compiler that rustup knows, as far as it has the parts.
#[test]
#[ignore = "compiles core for each compiler; .ci/run has it"]
fn other_compilers_build_the_probes() {
    let output = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    };
    let mut seen: BTreeSet<String> = output("rustc", &["-vV"]).into_iter().collect();
    let known = output("rustup", &["toolchain", "list"]).unwrap_or_default();
    for name in known.lines().filter_map(|line| line.split(' ').next()) {
        let which = |tool| output("rustup", &["which", "--toolchain", name, tool]);
        let (Some(rustc), Some(cargo)) = (which("rustc"), which("cargo")) else {
            continue;
        };
        if !seen.insert(output(&rustc, &["-vV"]).unwrap()) {
            continue;
        }
        let arguments = [
            "--exact",
            "with_another_compiler",
            "--ignored",
            "--nocapture",
        ];
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .env_remove(RUST_SRC_VARIABLE)
            .env_remove(LLVM_TOOLS_VARIABLE);
        command.env("RUSTC", rustc).env("CARGO", cargo);
        let (built, said) = said(command.args(arguments));
        assert!(built, "{name}: {said}");
    }
}

#[test]
#[ignore = "a part of other_compilers_build_the_probes"]
fn with_another_compiler() {
    let first = common::crate_of(include_str!(
        "../../../examples/first_kernel/src/kernels.rs"
    ));
    let manifest = first.path().join("Cargo.toml");
    let mut text = std::fs::read_to_string(&manifest).unwrap();
    text += &format!(
        "[dependencies]\ncuda_std = {{ package = \"trisolar-cuda-std\", path = \"{}/../trisolar_cuda_std\" }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::write(manifest, text).unwrap();
    for krate in [first.path(), &kernels("probes")] {
        match builder(krate).build_modules() {
            Ok((modules, _)) => {
                for text in &modules.texts {
                    common::assemble(text, &["sm_75", "sm_90"]);
                }
            }
            // No machine must have another compiler than the pinned one.
            Err(error) if error.lacks_toolchain() => println!("{error}"),
            Err(error) => panic!("{error}"),
        }
    }
}
