//! LLVM's programs of the component `llvm-tools`, which turn rustc's intermediate code into PTX.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::error::CudaBuilderError;
use crate::toolchain::{Toolchain, field, given, output_of};

/// The variable that names a folder with `opt`, `llc` and `llvm-link` of the compiler's version of LLVM.
pub const LLVM_TOOLS_VARIABLE: &str = "CUDA_BUILDER_LLVM_TOOLS";

/// The folder of the programs.
#[derive(Debug)]
pub struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// Finds the programs that belong to a compiler.
    pub fn of(toolchain: &Toolchain) -> Result<Self, CudaBuilderError> {
        let [host, version] =
            ["host:", "LLVM version:"].map(|name| field(&toolchain.identity, name));
        let major = version.split('.').next().unwrap_or_default();
        let looked_in = match given(LLVM_TOOLS_VARIABLE) {
            // If the user names a folder, no other is tried.
            Some(given) => vec![given],
            None => vec![
                toolchain
                    .sysroot
                    .join("lib/rustlib")
                    .join(&host)
                    .join("bin"),
                format!("/usr/lib/llvm-{major}/bin").into(),
            ],
        };
        let has_all = |folder: &&PathBuf| {
            let file = |name| folder.join(format!("{name}{}", env::consts::EXE_SUFFIX));
            ["opt", "llc", "llvm-link"]
                .into_iter()
                .all(|name| file(name).is_file())
        };
        let Some(folder) = looked_in.iter().find(has_all).cloned() else {
            return Err(CudaBuilderError::Missing {
                what: format!(
                    "the programs of LLVM that belong to Rust {}",
                    toolchain.release
                ),
                how: format!(
                    "With rustup: rustup component add llvm-tools\n\
                     With Debian's rustc: apt install llvm-{major}\n\
                     Otherwise: set {LLVM_TOOLS_VARIABLE} to a folder with opt, llc and llvm-link of LLVM {version}."
                ),
                looked_in,
            });
        };
        let said = output_of(Command::new(folder.join("opt")).arg("--version"))?;
        let found = said.split_once("LLVM version ").map_or("", |(_, v)| v);
        let found = found.split_whitespace().next().unwrap_or_default();
        if found.split('.').next() != Some(major) {
            return Err(CudaBuilderError::Mismatch {
                what: "the programs of LLVM",
                path: folder,
                found: found.to_owned(),
                expected: version,
            });
        }
        Ok(Self { folder })
    }

    /// Runs one of the programs.
    pub fn call(&self, name: &str, arguments: &[String]) -> Result<(), CudaBuilderError> {
        let program = self.folder.join(name);
        let output = Command::new(&program).args(arguments).output();
        let output = output.map_err(|source| CudaBuilderError::Tool {
            what: format!("cannot run {}", program.display()),
            source,
        })?;
        if output.status.success() {
            return Ok(());
        }
        Err(CudaBuilderError::Llvm {
            tool: name.to_owned(),
            said: shortened(&String::from_utf8_lossy(&output.stderr)),
        })
    }
}

/// The lines of an LLVM program's last words that say something: its errors, and the function in which it stopped.
fn shortened(said: &str) -> String {
    let is_error = |line: &&str| {
        ["error", "ERROR", "Assertion"]
            .iter()
            .any(|word| line.contains(word))
    };
    let function = |line: &str| {
        let (name, _) = line.split_once("on function '@")?.1.split_once('\'')?;
        let name = rustc_demangle::demangle(name.trim_matches('"'));
        Some(format!("in the function {name:#}"))
    };
    let mut lines: Vec<String> = said.lines().filter(is_error).map(str::to_owned).collect();
    lines.extend(said.lines().find_map(function));
    match lines.is_empty() {
        true => said.trim().to_owned(),
        false => lines.join("\n"),
    }
}
