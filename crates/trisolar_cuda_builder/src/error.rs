//! The errors that can occur between a kernel crate and its PTX.

use std::fmt;
use std::path::PathBuf;

/// The reason why there is no PTX. `Debug` prints the same text as `Display`, so that a build script that calls `unwrap` shows
/// a readable message.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The folder given to [`CudaBuilder::new`](crate::CudaBuilder::new) has no `Cargo.toml`.
    #[error("there is no kernel crate at {}: no Cargo.toml in it", .0.display())]
    CratePathDoesntExist(PathBuf),
    /// The file given to [`CudaBuilder::module`](crate::CudaBuilder::module) is no module, or its package lacks a dependency.
    #[error("the module {} cannot be compiled for the GPU: {why}", path.display())]
    BadModule {
        /// The file, as it was given.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The PTX was built but could not be copied to the path that [`copy_to`](crate::CudaBuilder::copy_to) set.
    #[error("cannot copy the PTX: {0}")]
    FailedToCopyPtxFile(std::io::Error),
    /// cargo or rustc refused the kernel crate.
    #[error("the kernel crate {} does not compile, see the compiler's messages{}", krate.display(), hint(diagnostics))]
    BuildFailed {
        /// The folder of the kernel crate.
        krate: PathBuf,
        /// The messages of cargo and rustc, which have already been written to stderr.
        diagnostics: String,
    },
    /// An option that rustc's NVPTX back end cannot support.
    #[error("option {option} is not supported: {reason}")]
    UnsupportedOption {
        /// The builder's method and value.
        option: &'static str,
        /// Why it is not supported.
        reason: &'static str,
    },
    /// An option's value is not allowed.
    #[error("{option} is {value}; allowed is {allowed}")]
    BadOption {
        /// The builder's method.
        option: &'static str,
        /// The value that was given.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// ptxas refuses the PTX, or the options of [`CudaBuilder::ptxas_option`](crate::CudaBuilder::ptxas_option).
    #[error("ptxas fails with the options {options}, see its messages: {said}")]
    Ptxas {
        /// The options that were given.
        options: String,
        /// What ptxas wrote.
        said: String,
    },
    /// The sources of `core` for this compiler are not installed.
    #[error(
        "GPU kernels need the sources of Rust's core library, version {version}, which are not installed.\n\
         With rustup: rustup component add rust-src\n\
         With Debian's rustc of the same version: apt install rust-src\n\
         Otherwise: unpack them and set CUDA_BUILDER_RUST_SRC to the folder `library`.\n\
         Looked in: {}",
        list(looked_in)
    )]
    NoRustSource {
        /// The compiler's version.
        version: String,
        /// The places that were searched.
        looked_in: Vec<PathBuf>,
    },
    /// The sources that were found belong to a different compiler.
    #[error(
        "the sources of Rust's core library at {} are of version {found}, but the compiler is version {expected}; \
         they must be the same", path.display()
    )]
    RustSourceMismatch {
        /// The folder with the sources.
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
        /// rustc's messages.
        diagnostics: String,
    },
    /// The kernel crate compiles, but has no kernel.
    #[error("the PTX of {} has no entry point: mark its kernels with #[kernel] and make them `pub`", .0.display())]
    NoEntryPoint(PathBuf),
    /// Kernels call functions that do not exist on the device.
    #[error(
        "the kernels call functions that do not exist on the device: {}. \
         (There is no libdevice: functions such as sin, exp and pow need a Rust implementation such as the crate libm. Functions that \
         other PTX defines are named by CudaBuilder::external_functions.)",
        symbols.join(", ")
    )]
    Unresolved {
        /// The functions' names.
        symbols: Vec<String>,
    },
    /// Kernels use a variable of shared memory in a way that PTX does not allow.
    #[error(
        "shared memory cannot be used in this way: {name} {place}. \
         (Take the address within the kernel, and pass or store it from there.)"
    )]
    SharedStatic {
        /// The static's or the array's name.
        name: String,
        /// The place where it is used.
        place: String,
    },
    /// Kernels use a variable of constant memory in a way that PTX does not allow.
    #[error("constant memory cannot be used in this way: {name} {place}")]
    ConstantStatic {
        /// The static's name.
        name: String,
        /// The place where it is used.
        place: String,
    },
    /// Kernels use an atomic instruction on a thread's own memory that has no non-atomic counterpart.
    #[error(
        "the atomic instruction `{instruction}` in {function} cannot access a thread's own memory"
    )]
    LocalAtomic {
        /// The function's name.
        function: String,
        /// The instruction in PTX.
        instruction: String,
    },
    /// A program could not be run or returned no usable output.
    #[error("{what}: {source}")]
    Tool {
        /// The command that was tried.
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

/// Explains those messages of LLVM that do not name their cause.
fn hint(diagnostics: &str) -> &'static str {
    if diagnostics.contains("unsupported library call operation") {
        ". (The compiler does not say where: the kernels convert between a 128-bit integer and a floating-point number, \
         for which a GPU has neither instructions nor a library. Convert the two 64-bit halves.)"
    } else if diagnostics.contains("Unsupported scope \"Thread\"") {
        ". (The compiler does not say where: the kernels have a fence within a thread that is not one of \
         `core`'s `compiler_fence`s.)"
    } else if diagnostics.contains("invalid operand for inline asm constraint 's'") {
        ". (The compiler does not say where: inline assembly in the kernels has an operand `sym`, which LLVM does not support for GPUs. \
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
