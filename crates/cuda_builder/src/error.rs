//! What can go wrong between a kernel crate and its PTX.

use std::fmt;
use std::path::PathBuf;

/// Why there is no PTX. `Debug` gives the same text as `Display`: a build script that calls `unwrap` shows it as it is meant to
/// be read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The folder given to [`CudaBuilder::new`](crate::CudaBuilder::new) has no `Cargo.toml`.
    #[error("there is no kernel crate at {}: no Cargo.toml in it", .0.display())]
    CratePathDoesntExist(PathBuf),
    /// The PTX was built but could not be copied to where [`copy_to`](crate::CudaBuilder::copy_to) said.
    #[error("cannot copy the PTX: {0}")]
    FailedToCopyPtxFile(std::io::Error),
    /// cargo or rustc refused the kernel crate.
    #[error("the kernel crate {} does not compile, see the compiler's messages{}", krate.display(), hint(diagnostics))]
    BuildFailed {
        /// The folder of the kernel crate.
        krate: PathBuf,
        /// What cargo and rustc said; it has been written to stderr already.
        diagnostics: String,
    },
    /// An option that rustc's NVPTX back end cannot honour.
    #[error("option {option} cannot be had here: {reason}")]
    UnsupportedOption {
        /// The builder's method and value.
        option: &'static str,
        /// Why not, and what to do instead.
        reason: &'static str,
    },
    /// There are no sources of `core` for this compiler.
    #[error(
        "GPU kernels need the sources of Rust's core library, version {version}, which are not installed.\n\
         With rustup: rustup component add rust-src\n\
         With Debian's rustc of the same version: apt install rust-src\n\
         Elsewhere: unpack them and let CUDA_BUILDER_RUST_SRC be the folder `library`.\n\
         Looked in: {}",
        list(looked_in)
    )]
    NoRustSource {
        /// The compiler's version.
        version: String,
        /// Where they would have been found.
        looked_in: Vec<PathBuf>,
    },
    /// The sources found are those of another compiler.
    #[error(
        "the sources of Rust's core library at {} are of version {found}, but the compiler is version {expected}; \
         they must be the same", path.display()
    )]
    RustSourceMismatch {
        /// Where the sources are.
        path: PathBuf,
        /// Their version.
        found: String,
        /// The compiler's version.
        expected: String,
    },
    /// A part of Rust's library does not compile for the GPU.
    #[error("cannot compile `{name}` from {} for the GPU:\n{diagnostics}", source_path.display())]
    LibraryFailed {
        /// `core`, `compiler_builtins` or `alloc`.
        name: &'static str,
        /// The folder with the sources.
        source_path: PathBuf,
        /// What rustc said.
        diagnostics: String,
    },
    /// The kernel crate compiles, but has no kernel.
    #[error("the PTX of {} has no entry point: mark its kernels with #[kernel] and make them `pub`", .0.display())]
    NoEntryPoint(PathBuf),
    /// Kernels call functions that do not exist on the device.
    #[error(
        "the kernels call what does not exist on the device: {}. \
         (There is no libdevice: sin, exp, pow and their like need a Rust implementation such as the crate libm.)",
        symbols.join(", ")
    )]
    Unresolved {
        /// The functions' names.
        symbols: Vec<String>,
    },
    /// Kernels use a variable of shared memory in a way that PTX has not.
    #[error(
        "shared memory cannot be used like this: {name} {place}. \
         (Take the address within the kernel, and pass or store it from there.)"
    )]
    SharedStatic {
        /// The static's or the array's name.
        name: String,
        /// Where it is used.
        place: String,
    },
    /// Kernels use an atomic of a thread's own memory that has no counterpart without atomicity.
    #[error(
        "a thread's own memory cannot be used by the atomic instruction `{instruction}` in {function}"
    )]
    LocalAtomic {
        /// The function's name.
        function: String,
        /// The instruction in PTX.
        instruction: String,
    },
    /// A program could not be run or gave no sensible answer.
    #[error("{what}: {source}")]
    Tool {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl fmt::Debug for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What to do about words of LLVM that do not say what they are about.
fn hint(diagnostics: &str) -> &'static str {
    if diagnostics.contains("unsupported library call operation") {
        ". (It does not say where: the kernels convert between a 128-bit integer and a floating-point number, \
         for which a GPU has neither instructions nor a library. Convert the two 64-bit halves.)"
    } else if diagnostics.contains("Unsupported scope \"Thread\"") {
        ". (It does not say where: the kernels have a fence within a thread that is none of \
         `core`'s `compiler_fence`s.)"
    } else if diagnostics.contains("invalid operand for inline asm constraint 's'") {
        ". (It does not say where: inline assembly of the kernels has an operand `sym`, which LLVM lacks for GPUs. \
         Take the address of the static and pass it as `in(reg64)`.)"
    } else {
        ""
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|p| p.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Adds the file's name to an I/O error.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> CudaBuilderError {
    let path = path.into();
    move |source| CudaBuilderError::Io { path, source }
}
