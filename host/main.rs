//! The command line, see `trisolar_cli`.

#[cfg(feature = "cli")]
fn main() -> std::process::ExitCode {
    // Linkers may leave out the library's kernels, which are found without naming them, unless the program refers to them.
    #[cfg(feature = "gpu")]
    std::hint::black_box(&trisolar::KERNELS);
    trisolar_cli::main()
}

#[cfg(not(feature = "cli"))]
compile_error!(
    "the program needs the feature `cli`: --no-default-features --features cli, or --lib for the library"
);
#[cfg(not(feature = "cli"))]
fn main() {}
