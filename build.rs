//! Embeds `kernels-gpu`, compiled to PTX, in the library.
//!
//! `host/kernels.modules` holds a record of what the PTX was made from and the kernels' modules, each packed for itself, as the program has
//! them. It is used if the record matches the kernels' sources and the compiler, otherwise the kernels are compiled. Where the sources of
//! `core` or LLVM's programs are missing, it is also used with a different compiler. `TRISOLAR_BUILD_KERNELS=1` always compiles the kernels, and
//! `TRISOLAR_REFRESH_PREBUILT=1 cargo build` rewrites the file; a test compares it with a fresh compilation.
//!
//! A package from a registry has the file and not the kernels' sources. It depends on the other packages in exactly its own version, so that the
//! file is what these were compiled to.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, Modules, NvvmArch};
use flate2::Compression;
use flate2::write::ZlibEncoder;

const KERNELS: &str = "kernels-gpu";
const PREBUILT: &str = "host/kernels.modules";
const BUILD: &str = "TRISOLAR_BUILD_KERNELS";
const REFRESH: &str = "TRISOLAR_REFRESH_PREBUILT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={BUILD}");
    println!("cargo::rerun-if-env-changed={REFRESH}");
    // The CPU engines need no PTX, so that without the feature the build does not need the sources of `core`.
    if std::env::var_os("CARGO_FEATURE_GPU").is_none() {
        return;
    }
    match embed() {
        Ok(origin) => println!("cargo::rustc-env=TRISOLAR_PTX_ORIGIN={origin}"),
        Err(message) => {
            for line in message.lines() {
                println!("cargo::error={line}");
            }
            std::process::exit(1);
        }
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|v| v == "1")
}

/// A record of what kernels were made from, and their packed modules.
struct Kernels {
    record: String,
    modules: Vec<u8>,
}

/// Writes `kernels.modules` to the output folder; returns whether they were built or are the prebuilt ones.
fn embed() -> Result<&'static str, String> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let embed = |kernels: &Kernels| write(&out.join("kernels.modules"), &kernels.modules);
    println!("cargo::rerun-if-changed={PREBUILT}");
    let prebuilt = prebuilt();
    if !Path::new(KERNELS).exists() {
        if let Some(variable) = [BUILD, REFRESH].into_iter().find(|v| is_set(v)) {
            return Err(format!(
                "{variable} needs {KERNELS}, which is in Trisolar's repository and not in its package"
            ));
        }
        embed(&prebuilt?)?;
        return Ok("prebuilt");
    }
    let builder = CudaBuilder::new(KERNELS).arch(NvvmArch::Compute70);
    if !is_set(BUILD)
        && !is_set(REFRESH)
        && let Ok(prebuilt) = &prebuilt
        && (builder.check_same(&prebuilt.record))
            .map_err(|e| e.to_string())?
            .is_ok()
    {
        embed(prebuilt)?;
        return Ok("prebuilt");
    }
    match builder.clone().build_modules() {
        Ok((modules, record)) => {
            let kernels = Kernels {
                record: record.header(),
                modules: packed(&modules)?,
            };
            embed(&kernels)?;
            if is_set(REFRESH) {
                let both = [kernels.record.as_bytes(), &kernels.modules].concat();
                write(Path::new(PREBUILT), &both)?;
            }
            Ok("built")
        }
        Err(missing) if missing.lacks_toolchain() => {
            for variable in [BUILD, REFRESH] {
                if is_set(variable) {
                    return Err(format!(
                        "{variable} needs a real build of the kernels.\n{missing}"
                    ));
                }
            }
            let prebuilt = prebuilt?;
            let checked = builder.check_prebuilt(&prebuilt.record);
            match checked.map_err(|e| e.to_string())? {
                Ok(()) => {
                    embed(&prebuilt)?;
                    Ok("prebuilt")
                }
                Err(stale) => Err(format!(
                    "{missing}\n{PREBUILT} cannot be used instead: {stale}."
                )),
            }
        }
        Err(other) => Err(other.to_string()),
    }
}

/// Reads the prebuilt file.
fn prebuilt() -> Result<Kernels, String> {
    let fail = |e: &dyn std::fmt::Display| format!("cannot read {PREBUILT}: {e}");
    let mut record = std::fs::read(PREBUILT).map_err(|e| fail(&e))?;
    let title = Modules::TITLE.as_bytes();
    let start = (record.windows(title.len()).position(|part| part == title))
        .ok_or_else(|| fail(&"it has no modules"))?;
    let modules = record.split_off(start);
    let record = String::from_utf8(record).map_err(|e| fail(&e))?;
    Ok(Kernels { record, modules })
}

/// The modules with each packed for itself.
fn packed(modules: &Modules) -> Result<Vec<u8>, String> {
    let fail = |e: std::io::Error| format!("cannot compress the kernels: {e}");
    let pack = |text: &String| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes())?;
        encoder.finish()
    };
    let each: Result<Vec<Vec<u8>>, _> = modules.texts.iter().map(pack).collect();
    Ok(modules.encoded_with(&each.map_err(fail)?))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
