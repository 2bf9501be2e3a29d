//! Builds `kernels-gpu` to PTX, which the library embeds.
//!
//! Where the sources of `core` are missing it takes `kernels-gpu/prebuilt.ptx`, if that was made from the kernels as
//! they are. `TRISOLAR_REFRESH_PREBUILT=1 cargo build` writes that file anew; a test compares it with what is built.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch};

const KERNELS: &str = "kernels-gpu";
const PREBUILT: &str = "kernels-gpu/prebuilt.ptx";
const REFRESH: &str = "TRISOLAR_REFRESH_PREBUILT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={REFRESH}");
    // The CPU engine needs no PTX: without the feature a machine without sources of `core` builds too.
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

/// Writes `kernels.ptx` to the output folder; tells whether it was built or is the prebuilt one.
fn embed() -> Result<&'static str, String> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let embedded = out.join("kernels.ptx");
    let builder = CudaBuilder::new(KERNELS).arch(NvvmArch::Compute70);
    match builder.clone().build_recorded() {
        Ok((ptx, record)) => {
            let text = record.header() + &read(&ptx)?;
            write(&embedded, &text)?;
            if std::env::var_os(REFRESH).is_some_and(|v| v == "1") {
                write(Path::new(PREBUILT), &text)?;
            }
            Ok("built")
        }
        Err(missing @ CudaBuilderError::NoRustSource { .. }) => {
            if std::env::var_os(REFRESH).is_some_and(|v| v == "1") {
                return Err(format!(
                    "{REFRESH} needs a real build of the kernels.\n{missing}"
                ));
            }
            println!("cargo::rerun-if-changed={PREBUILT}");
            let text = read(Path::new(PREBUILT))?;
            match builder.check_prebuilt(&text).map_err(|e| e.to_string())? {
                Ok(()) => {
                    write(&embedded, &text)?;
                    Ok("prebuilt")
                }
                Err(stale) => Err(format!("{missing}\n{PREBUILT} cannot stand in: {stale}.")),
            }
        }
        Err(other) => Err(other.to_string()),
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
