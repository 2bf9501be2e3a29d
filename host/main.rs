//! The command line, see `trisolar_cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Linkers may leave out the library's kernels, which are found without naming them, unless the program refers to them.
    #[cfg(feature = "gpu")]
    std::hint::black_box(&trisolar::KERNELS);
    trisolar_cli::main()
}
