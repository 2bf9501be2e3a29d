//! Embeds `kernels-gpu`, compiled to PTX, in the library.
//!
//! `host/kernels.ptx.lzma` holds the PTX with a record of what it was made from. It is used if the record matches the
//! kernels' sources and the compiler, otherwise the kernels are compiled. Where the sources of `core` or LLVM's programs are missing,
//! it is also used with a different compiler. `TRISOLAR_BUILD_KERNELS=1` always compiles the kernels, and `TRISOLAR_REFRESH_PREBUILT=1
//! cargo build` rewrites the file; a test compares it with a fresh compilation.
//!
//! A package from a registry has the file and not the kernels' sources. It depends on the other packages in exactly its own version, so that the
//! file is what these were compiled to.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, NvvmArch};
use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};

const KERNELS: &str = "kernels-gpu";
const PREBUILT: &str = "host/kernels.ptx.lzma";
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

/// Writes `kernels.ptx` and `kernels.ptx.lzma` to the output folder; returns whether they were built or are the prebuilt ones.
fn embed() -> Result<&'static str, String> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let write_both = |text: &str, compressed: &[u8]| {
        write(&out.join("kernels.ptx"), text.as_bytes())?;
        write(&out.join("kernels.ptx.lzma"), compressed)
    };
    println!("cargo::rerun-if-changed={PREBUILT}");
    let prebuilt = prebuilt();
    if !Path::new(KERNELS).exists() {
        if let Some(variable) = [BUILD, REFRESH].into_iter().find(|v| is_set(v)) {
            return Err(format!(
                "{variable} needs {KERNELS}, which is in Trisolar's repository and not in its package"
            ));
        }
        let (text, compressed) = prebuilt?;
        write_both(&text, &compressed)?;
        return Ok("prebuilt");
    }
    let builder = CudaBuilder::new(KERNELS).arch(NvvmArch::Compute70);
    if !is_set(BUILD)
        && !is_set(REFRESH)
        && let Ok((text, compressed)) = &prebuilt
        && builder.check_same(text).map_err(|e| e.to_string())?.is_ok()
    {
        write_both(text, compressed)?;
        return Ok("prebuilt");
    }
    match builder.clone().build_recorded() {
        Ok((ptx, record)) => {
            let text = std::fs::read_to_string(&ptx)
                .map_err(|e| format!("cannot read {}: {e}", ptx.display()))?;
            let text = record.header() + &text;
            let compressed = compressed(&text)?;
            write_both(&text, &compressed)?;
            if is_set(REFRESH) {
                write(Path::new(PREBUILT), &compressed)?;
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
            let (text, compressed) = prebuilt?;
            match builder.check_prebuilt(&text).map_err(|e| e.to_string())? {
                Ok(()) => {
                    write_both(&text, &compressed)?;
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

/// Reads the prebuilt file; returns its text and its bytes.
fn prebuilt() -> Result<(String, Vec<u8>), String> {
    let fail = |e: std::io::Error| format!("cannot read {PREBUILT}: {e}");
    let compressed = std::fs::read(PREBUILT).map_err(fail)?;
    let mut text = String::new();
    let mut reader = LzmaReader::new_mem_limit(&compressed[..], u32::MAX, None).map_err(fail)?;
    reader.read_to_string(&mut text).map_err(fail)?;
    Ok((text, compressed))
}

fn compressed(text: &str) -> Result<Vec<u8>, String> {
    let fail = |e: std::io::Error| format!("cannot compress the kernels: {e}");
    let length = Some(text.len() as u64);
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &LzmaOptions::with_preset(6), length)
        .map_err(fail)?;
    writer.write_all(text.as_bytes()).map_err(fail)?;
    writer.finish().map_err(fail)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
