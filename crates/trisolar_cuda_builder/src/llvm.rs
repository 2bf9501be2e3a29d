//! LLVM's programs of the component `llvm-tools`, which turn rustc's intermediate code into PTX.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::error::CudaBuilderError;
use crate::toolchain::Toolchain;

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
        let field = |name: &str| {
            let value = |line: &str| line.strip_prefix(name).map(|v| v.trim().to_owned());
            toolchain
                .identity
                .lines()
                .find_map(value)
                .unwrap_or_default()
        };
        let (host, version) = (field("host:"), field("LLVM version:"));
        let major = version.split('.').next().unwrap_or_default();
        let looked_in = match env::var_os(LLVM_TOOLS_VARIABLE).filter(|v| !v.is_empty()) {
            // If the user names a folder, no other is tried.
            Some(given) => vec![PathBuf::from(given)],
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
            let exists = |name| {
                folder
                    .join(format!("{name}{}", env::consts::EXE_SUFFIX))
                    .is_file()
            };
            ["opt", "llc", "llvm-link"].into_iter().all(exists)
        };
        let Some(folder) = looked_in.iter().find(has_all).cloned() else {
            return Err(CudaBuilderError::NoLlvmTools {
                version: toolchain.release.clone(),
                llvm: version,
                looked_in,
            });
        };
        let tools = Self { folder };
        let said = tools.run(
            Command::new(tools.folder.join("opt")).arg("--version"),
            "opt",
        )?;
        let found = said.split_once("LLVM version ").map_or("", |(_, v)| v);
        let found = found.split_whitespace().next().unwrap_or_default();
        if found.split('.').next() != Some(major) {
            return Err(CudaBuilderError::LlvmToolsMismatch {
                path: tools.folder,
                found: found.to_owned(),
                expected: version,
            });
        }
        Ok(tools)
    }

    /// Runs one of the programs on files in `folder`.
    pub fn call(&self, name: &str, arguments: &[String]) -> Result<(), CudaBuilderError> {
        let mut command = Command::new(self.folder.join(name));
        self.run(command.args(arguments), name).map(drop)
    }

    fn run(&self, command: &mut Command, name: &str) -> Result<String, CudaBuilderError> {
        let output = command.output().map_err(|source| CudaBuilderError::Tool {
            what: format!("cannot run {}", self.folder.join(name).display()),
            source,
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(CudaBuilderError::Llvm {
            tool: name.to_owned(),
            said: shortened(&said),
        })
    }
}

/// The lines of an LLVM program's last words that say something: its errors, and the function in which it stopped.
fn shortened(said: &str) -> String {
    let error = |line: &str| {
        ["error", "ERROR", "Assertion"]
            .iter()
            .any(|word| line.contains(word))
    };
    let function = |line: &str| {
        let (_, rest) = line.split_once("on function '@")?;
        let (name, _) = rest.split_once('\'')?;
        Some(format!(
            "in the function {:#}",
            rustc_demangle::demangle(name.trim_matches('"'))
        ))
    };
    let mut lines: Vec<String> = said
        .lines()
        .filter(|line| error(line))
        .map(str::to_owned)
        .collect();
    lines.extend(said.lines().find_map(function));
    match lines.is_empty() {
        true => said.trim().to_owned(),
        false => lines.join("\n"),
    }
}
