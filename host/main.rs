//! The command line, see `trisolar_cli`.

use std::process::ExitCode;

// The library has the kernels.
use trisolar as _;

fn main() -> ExitCode {
    trisolar_cli::main()
}
