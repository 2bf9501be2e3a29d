//! The nested cargo that compiles a kernel crate to a single program.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::error::{CudaBuilderError, at};
use crate::toolchain::{Toolchain, isolate};
use crate::{CudaBuilder, TARGET, in_build_script};

/// A compilation: its input, its options and its outputs.
pub struct Job<'a> {
    pub builder: &'a CudaBuilder,
    /// Folder of the kernel crate, absolute.
    pub krate: &'a Path,
    /// Folder in which cargo runs, and whose configuration it uses.
    pub folder: &'a Path,
    /// A private sysroot for the GPU.
    pub sysroot: &'a Path,
    /// cargo's target directory, which builds with other sysroots and flags may share.
    pub target_dir: &'a Path,
    /// Flags for all crates of the build.
    pub flags: &'a [String],
    /// Where to write the merged program, in LLVM's text form and not optimised.
    pub program: &'a Path,
}

/// The files and packages that took part in a build.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Source files of the crates in the tree, absolute, sorted.
    pub sources: Vec<PathBuf>,
    /// Manifests of the crates in the tree, absolute, sorted.
    pub manifests: Vec<PathBuf>,
    /// `name version` of all other crates, sorted.
    pub packages: Vec<String>,
    /// The name of the kernels' package.
    pub package: String,
}

/// Waits for other builds in a folder, and makes them wait until the returned file is dropped.
///
/// Two kernel crates of the same name, or two builds of one crate, use the same file names in cargo's target directory.
pub fn lock(folder: &Path) -> Result<File, CudaBuilderError> {
    fs::create_dir_all(folder).map_err(at(folder))?;
    let path = folder.join("cuda_builder.lock");
    let file = File::create(&path).map_err(at(&path))?;
    file.lock().map_err(at(&path))?;
    Ok(file)
}

/// Runs cargo and passes on its messages to stderr as they arrive. The caller must hold the [`lock`] of the target directory.
pub fn compile(toolchain: &Toolchain, job: &Job) -> Result<Inputs, CudaBuilderError> {
    let (stdout, diagnostics, success) = run(toolchain, command(toolchain, job))?;
    if !success {
        return Err(CudaBuilderError::BuildFailed {
            krate: job.krate.to_owned(),
            is_module: job.builder.module.is_some(),
            diagnostics,
        });
    }
    inputs(job, &stdout)
}

fn command(toolchain: &Toolchain, job: &Job) -> Command {
    // Level 0 would leave all of `core` in the PTX.
    let level = if job.builder.nvvm_opts { "3" } else { "1" };
    let mut rustflags = vec![
        format!("--sysroot={}", job.sysroot.display()),
        // Cargo hashes the flags, and so the path above, into the names of functions, unless one of them remaps paths.
        format!("--remap-path-prefix={}=/sysroot", job.sysroot.display()),
        // This overrides cargo's profiles, also those of single packages, which the user's workspace sets for the host.
        format!("-Copt-level={level}"),
    ];
    rustflags.extend_from_slice(job.flags);
    let emit = format!("--emit=llvm-ir={}", job.program.display());

    let mut command = Command::new(&toolchain.cargo);
    isolate(&mut command);
    let profile = if job.builder.release {
        "RELEASE"
    } else {
        "DEV"
    };
    let checks = if job.builder.release { "false" } else { "true" };
    let settings = [
        ("OPT_LEVEL", level),
        ("DEBUG", "0"),
        ("LTO", "off"),
        ("INCREMENTAL", "false"),
        ("DEBUG_ASSERTIONS", checks),
        ("OVERFLOW_CHECKS", checks),
    ];
    command
        .current_dir(job.folder)
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "CUDA_ARCH",
            format!("{}0", job.builder.arch.capability_value()),
        )
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags.join("\x1f"))
        // The rest of the profile is fixed here: the settings of the user's workspace for the host must not change the kernels. Cargo leaves
        // the checks of level 0 to rustc's defaults, so it is told the level as well.
        .envs(settings.map(|(name, value)| (format!("CARGO_PROFILE_{profile}_{name}"), value)))
        .args([
            "rustc",
            "--lib",
            "--crate-type=cdylib",
            "--message-format=json-render-diagnostics",
        ])
        .arg("--manifest-path")
        .arg(job.krate.join("Cargo.toml"))
        .args(["--target", TARGET, "--target-dir"])
        .arg(job.target_dir)
        .args(job.builder.release.then_some("--release"))
        // What cargo shows of a build script that fails should be the compiler's messages.
        .args(in_build_script().then_some("--quiet"))
        .args(&job.builder.build_args)
        .args([
            "--",
            &emit,
            "-Clto=fat",
            "-Ccodegen-units=1",
            "-Cno-prepopulate-passes",
        ]);
    command
}

/// Runs a command; returns its stdout, its stderr (which it also passes on line by line), and whether it succeeded.
fn run(
    toolchain: &Toolchain,
    mut command: Command,
) -> Result<(String, String, bool), CudaBuilderError> {
    let fail = |source| CudaBuilderError::Tool {
        what: format!("cannot run {}", toolchain.cargo.display()),
        source,
    };
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(fail)?;
    let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
    let echo = std::thread::spawn(move || {
        let mut text = String::new();
        for line in stderr.split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            let _ = writeln!(std::io::stderr(), "{line}");
            text.push_str(&line);
            text.push('\n');
        }
        text
    });
    let output = child.wait_with_output().map_err(fail)?;
    let diagnostics = echo.join().unwrap_or_default();
    Ok((
        String::from_utf8_lossy(&output.stdout).into_owned(),
        diagnostics,
        output.status.success(),
    ))
}

/// Determines from cargo's messages and its dep-info file what took part in the build.
fn inputs(job: &Job, messages: &str) -> Result<Inputs, CudaBuilderError> {
    let mut found = Inputs::default();
    let mut name = None;
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if message["reason"] != "compiler-artifact" {
            continue;
        }
        let id = message["package_id"].as_str().unwrap_or_default();
        // The form is `address#name@version`, or only the version where the name is the last part of the address.
        let (address, package) = id.rsplit_once('#').unwrap_or((id, ""));
        let (package, version) = package.split_once('@').unwrap_or_else(|| {
            let address = address.split('?').next().unwrap_or_default();
            (address.rsplit('/').next().unwrap_or_default(), package)
        });
        if id.starts_with("path+") {
            found
                .manifests
                .extend(message["manifest_path"].as_str().map(PathBuf::from));
        } else {
            found.packages.push(format!("{package} {version}"));
        }
        if message["target"]["crate_types"]
            .as_array()
            .is_some_and(|t| t.iter().any(|t| t == "cdylib"))
        {
            package.clone_into(&mut found.package);
            name = message["target"]["name"]
                .as_str()
                .map(|n| n.replace('-', "_"));
        }
    }
    let profile = if job.builder.release {
        "release"
    } else {
        "debug"
    };
    let dep_info = job
        .target_dir
        .join(TARGET)
        .join(profile)
        .join(format!("{}.d", name.unwrap_or_default()));
    let text = fs::read_to_string(&dep_info).map_err(at(&dep_info))?;
    found.sources = prerequisites(&text)
        .into_iter()
        .map(|p| job.krate.join(p))
        .collect();
    for list in [&mut found.sources, &mut found.manifests] {
        list.sort();
        list.dedup();
    }
    found.packages.sort();
    found.packages.dedup();
    Ok(found)
}

/// The files after the colon of a makefile rule, in which spaces within a name are escaped.
fn prerequisites(rule: &str) -> Vec<PathBuf> {
    let Some((_, files)) = rule.lines().next().and_then(|l| l.split_once(": ")) else {
        return Vec::new();
    };
    files
        .replace("\\ ", "\0")
        .split(' ')
        .filter(|f| !f.is_empty())
        .map(|f| PathBuf::from(f.replace('\0', " ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_survive_dep_info() {
        assert_eq!(
            prerequisites("/t/k.ptx: /a/b.rs /with\\ blank/c.rs\n"),
            [PathBuf::from("/a/b.rs"), PathBuf::from("/with blank/c.rs")]
        );
    }
}
