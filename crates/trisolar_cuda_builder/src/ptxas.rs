//! The check of PTX by ptxas, for builds that set its options.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use crate::error::CudaBuilderError;
use crate::{CudaBuilder, in_build_script};

/// The environment variable that names ptxas.
pub const PTXAS_VARIABLE: &str = "CUDA_BUILDER_PTXAS";

/// Assembles the PTX with the builder's options, if there is a ptxas.
pub(crate) fn check(builder: &CudaBuilder, ptx: &Path) -> Result<(), CudaBuilderError> {
    if in_build_script() {
        println!("cargo::rerun-if-env-changed={PTXAS_VARIABLE}");
    }
    let options = builder.ptxas_options.join(" ");
    let given = env::var_os(PTXAS_VARIABLE).filter(|path| !path.is_empty());
    let ptxas = given.clone().unwrap_or_else(|| OsString::from("ptxas"));
    let mut command = Command::new(&ptxas);
    command
        .arg(format!("-arch={}", builder.arch.target_cpu()))
        // Calls of functions in other files are for the linker.
        .args((!builder.external_functions.is_empty()).then_some("--compile-only"))
        .args(["-o", "/dev/null"])
        .args(&builder.ptxas_options)
        .arg(ptx);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if given.is_none() && error.kind() == io::ErrorKind::NotFound => {
            let _ = writeln!(
                io::stderr(),
                "there is no ptxas to check the options {options}; {PTXAS_VARIABLE} can name one"
            );
            return Ok(());
        }
        Err(source) => {
            return Err(CudaBuilderError::Tool {
                what: format!("cannot run {}", ptxas.display()),
                source,
            });
        }
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    if !output.status.success() {
        return Err(CudaBuilderError::Ptxas { options, said });
    }
    if !said.is_empty() {
        let _ = writeln!(io::stderr(), "{said}");
    }
    Ok(())
}
