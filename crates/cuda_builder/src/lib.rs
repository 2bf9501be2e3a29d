//! Builds a crate of GPU kernels to PTX with the stock Rust toolchain, usually from a build script.
//!
//! The interface is that of rust-cuda's crate of the same name; the way is another: rustc's own target
//! `nvptx64-nvidia-cuda`, no CUDA toolkit, no special compiler. All it needs is the sources of Rust's core library
//! (`rustup component add rust-src`, or Debian's package `rust-src`), from which `core` and `alloc` are compiled for
//! the GPU, once.
//!
//! ```no_run
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! // in build.rs
//! let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
//! CudaBuilder::new("kernels").arch(NvvmArch::Compute75).copy_to(out.join("kernels.ptx")).build().unwrap();
//! // in the program: include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"))
//! ```
//!
//! Where the sources of `core` may be missing, a PTX file can be shipped with the kernel crate: see
//! [`CudaBuilder::build_recorded`] and [`CudaBuilder::check_prebuilt`].
//!
//! Differences from rust-cuda:
//! - floating-point contraction is off unless asked for, so that kernels give the same numbers as the CPU;
//! - there is no libdevice, so [`override_libm`](CudaBuilder::override_libm) is off and cannot be had;
//! - the default architecture is 7.0;
//! - an option that rustc's back end cannot honour is an error when building, not ignored.

mod arch;
mod compile;
mod error;
mod legacy;
mod passes;
pub mod ptx;
mod record;
mod sysroot;
mod toolchain;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

pub use arch::{NvvmArch, UnknownArch};
pub use error::CudaBuilderError;
pub use record::{Record, Stale};
pub use toolchain::RUST_SRC_VARIABLE;

use error::at;
use toolchain::Toolchain;

const TARGET: &str = "nvptx64-nvidia-cuda";

/// How much a profiler or debugger can see of the kernels' sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugInfo {
    /// No debug information.
    #[default]
    None,
    /// The source line of each instruction; the code stays the same.
    LineTables,
}

/// What to keep of the compiler's intermediate code, beside the PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitOption {
    /// LLVM's text form, `.ll`.
    LlvmIr,
    /// LLVM's binary form, `.bc`.
    Bitcode,
}

/// Compiles one kernel crate. Set options, then call [`build`](Self::build).
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    /// cargo's release profile instead of its dev profile, which checks for overflow. `true` by default.
    pub release: bool,
    /// Where to copy the PTX.
    pub ptx_file_copy_path: Option<PathBuf>,
    /// Whether the PTX tells source lines. `false` by default.
    pub generate_line_info: bool,
    /// Whether LLVM optimises in full (level 3) or little (level 1). `true` by default.
    pub nvvm_opts: bool,
    /// The oldest architecture that the PTX shall run on. 7.0 by default.
    pub arch: NvvmArch,
    /// Flush f32 denormals to zero: not possible here.
    pub ftz: bool,
    /// f32 square roots by approximation. `false` by default.
    pub fast_sqrt: bool,
    /// f32 divisions by approximation. `false` by default.
    pub fast_div: bool,
    /// Fuse `a * b + c` in f32 and f64. `false` by default.
    pub fma_contraction: bool,
    /// Intermediate code to keep.
    pub emit: Option<EmitOption>,
    /// For OptiX: not possible here.
    pub optix: bool,
    /// libdevice instead of libm: not possible here.
    pub override_libm: bool,
    /// Statics in constant memory: not possible here.
    pub use_constant_memory_space: bool,
    /// As [`generate_line_info`](Self::generate_line_info).
    pub debug: DebugInfo,
    /// More arguments for cargo.
    pub build_args: Vec<String>,
    /// Where to write LLVM's text form of the whole program.
    pub final_module_path: Option<PathBuf>,
    cache: Option<PathBuf>,
}

impl CudaBuilder {
    /// A builder for the crate in this folder; relative to the current one, which in a build script is the package's.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate_root.as_ref().to_owned(),
            release: true,
            ptx_file_copy_path: None,
            generate_line_info: false,
            nvvm_opts: true,
            arch: NvvmArch::default(),
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: false,
            emit: None,
            optix: false,
            override_libm: false,
            use_constant_memory_space: false,
            debug: DebugInfo::None,
            build_args: Vec::new(),
            final_module_path: None,
            cache: None,
        }
    }

    /// More arguments for the nested cargo, such as `--features=x`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args
            .extend(args.iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// How much source information the PTX holds.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Whether to use cargo's release profile, or its dev profile, which checks for overflow and
    /// optimises little.
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self.nvvm_opts = release;
        self
    }

    /// Whether the PTX tells the source line of each instruction.
    pub fn generate_line_info(mut self, generate_line_info: bool) -> Self {
        self.generate_line_info = generate_line_info;
        self
    }

    /// Whether LLVM optimises in full (level 3) or little (level 1; without any, code that no kernel needs would stay).
    pub fn nvvm_opts(mut self, nvvm_opts: bool) -> Self {
        self.nvvm_opts = nvvm_opts;
        self
    }

    /// The oldest architecture that the PTX shall run on.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Flush f32 denormals to zero. `true` is an error when building.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// [`ftz`](Self::ftz), [`fast_sqrt`](Self::fast_sqrt), [`fast_div`](Self::fast_div) and
    /// [`fma_contraction`](Self::fma_contraction) at once. As the first cannot be had here, follow with `.ftz(false)`.
    pub fn fast_math(self) -> Self {
        self.ftz(true)
            .fast_sqrt(true)
            .fast_div(true)
            .fma_contraction(true)
    }

    /// Whether f32 square roots are `sqrt.approx.f32`.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.fast_sqrt = fast_sqrt;
        self
    }

    /// Whether f32 divisions are `div.approx.f32`.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.fast_div = fast_div;
        self
    }

    /// Whether `a * b + c` becomes one instruction that rounds once. The numbers then differ from the CPU's.
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.fma_contraction = fma_contraction;
        self
    }

    /// Whether to keep LLVM's text form beside the PTX, as `.ll`.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Whether to keep LLVM's binary form beside the PTX, as `.bc`.
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// Where to copy the PTX; [`build`](Self::build) then returns this path.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// Compile for OptiX. `true` is an error when building.
    pub fn optix(mut self, optix: bool) -> Self {
        self.optix = optix;
        self
    }

    /// Use libdevice where a crate calls libm. `true` is an error when building.
    pub fn override_libm(mut self, override_libm: bool) -> Self {
        self.override_libm = override_libm;
        self
    }

    /// Place statics in constant memory. `true` is an error when building.
    pub fn use_constant_memory_space(mut self, use_constant_memory_space: bool) -> Self {
        self.use_constant_memory_space = use_constant_memory_space;
        self
    }

    /// Where to write LLVM's text form of the whole program, all crates merged and optimised.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Folder for the compiled `core` and the nested cargo's files. By default `cuda-builder` in cargo's target
    /// directory, shared by all kernel crates of a workspace.
    pub fn cache_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.cache = Some(path.as_ref().to_owned());
        self
    }

    /// Compiles the crate and gives the path of the PTX file: that of [`copy_to`](Self::copy_to) if it was set.
    ///
    /// In a build script it also tells cargo which files to watch.
    ///
    /// # Errors
    /// See [`CudaBuilderError`]. The compiler's own messages go to stderr.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        self.build_recorded().map(|(path, _)| path)
    }

    /// As [`build`](Self::build), and tells what the PTX was made from. [`Record::header`] followed by the PTX is a
    /// file that [`check_prebuilt`](Self::check_prebuilt) can judge.
    ///
    /// # Errors
    /// See [`CudaBuilderError`].
    pub fn build_recorded(self) -> Result<(PathBuf, Record), CudaBuilderError> {
        self.reject_unsupported()?;
        let krate = self.krate()?;
        let toolchain = Toolchain::current()?;
        watch_toolchain(&toolchain);
        watch(&krate.join("Cargo.toml"));

        let cache = self.cache_folder(&krate)?;
        let target_flags = self.target_flags();
        let sysroot = sysroot::sysroot(&toolchain, &target_flags, &cache)?;
        let flags = [target_flags, self.crate_flags()].concat();
        let settings = self.settings();
        let sysroot_name = sysroot.file_name().unwrap_or_default().to_string_lossy();
        let target_dir = cache.join(format!(
            "target-{}",
            sysroot::key(&[&sysroot_name, &settings])
        ));
        let output = target_dir
            .join("ptx")
            .join(sysroot::key(&[&krate.to_string_lossy(), &settings]));
        fs::create_dir_all(&output).map_err(at(&output))?;
        let (written_by_rustc, ptx_path) = (output.join("kernels.s"), output.join("kernels.ptx"));
        let _lock = compile::lock(&target_dir)?;

        let mut emit = Vec::new();
        match self.emit {
            Some(EmitOption::LlvmIr) => emit.push(("llvm-ir", output.join("kernels.ll"))),
            Some(EmitOption::Bitcode) => emit.push(("llvm-bc", output.join("kernels.bc"))),
            None => {}
        }
        if self.final_module_path.is_some() && self.emit != Some(EmitOption::LlvmIr) {
            emit.push(("llvm-ir", output.join("kernels.ll")));
        }
        let inputs = compile::compile(
            &toolchain,
            &compile::Job {
                krate: &krate,
                sysroot: &sysroot,
                target_dir: &target_dir,
                flags: &flags,
                arch_number: format!("{}0", self.arch.capability_value()),
                release: self.release,
                optimise: self.nvvm_opts,
                build_args: &self.build_args,
                ptx: &written_by_rustc,
                emit: &emit,
            },
        )?;
        inputs
            .sources
            .iter()
            .chain(&inputs.manifests)
            .for_each(|p| watch(p));
        if let Some(lock) = record::lock_file(&krate) {
            watch(&lock);
        }

        let text = fs::read_to_string(&written_by_rustc).map_err(at(&written_by_rustc))?;
        verify(&text, &krate)?;
        let text = passes::apply(&text)?;
        // Renamed into place: who reads the file while it is built again gets all of it.
        let unfinished = output.join("kernels.part");
        fs::write(&unfinished, &text).map_err(at(&unfinished))?;
        fs::rename(&unfinished, &ptx_path).map_err(at(&ptx_path))?;
        if let Some(path) = &self.final_module_path {
            fs::copy(output.join("kernels.ll"), path).map_err(at(path))?;
        }
        let record = Record::gather(
            &toolchain,
            &krate,
            &settings,
            &inputs.sources,
            &inputs.manifests,
            &inputs.packages,
        )?;
        let path = match &self.ptx_file_copy_path {
            Some(copy) => {
                fs::write(copy, &text).map_err(CudaBuilderError::FailedToCopyPtxFile)?;
                copy.clone()
            }
            None => ptx_path,
        };
        Ok((path, record))
    }

    /// Whether a PTX text with a record was made from the sources as they are now, with these options. For use where
    /// [`build`](Self::build) fails with [`CudaBuilderError::NoRustSource`]; needs no network and no `core`.
    ///
    /// `Ok(Err(_))` says what differs.
    ///
    /// # Errors
    /// [`CudaBuilderError`] if the crate cannot be read.
    pub fn check_prebuilt(&self, ptx: &str) -> Result<Result<(), Stale>, CudaBuilderError> {
        self.check(ptx, false)
    }

    /// Whether a PTX text with a record is what [`build`](Self::build) would give: as [`check_prebuilt`](Self::check_prebuilt), and made
    /// by this compiler and this crate.
    ///
    /// # Errors
    /// As there.
    pub fn check_same(&self, ptx: &str) -> Result<Result<(), Stale>, CudaBuilderError> {
        self.check(ptx, true)
    }

    fn check(&self, ptx: &str, with_tools: bool) -> Result<Result<(), Stale>, CudaBuilderError> {
        self.reject_unsupported()?;
        let krate = self.krate()?;
        let toolchain = Toolchain::current()?;
        watch_toolchain(&toolchain);
        match Record::parse(ptx) {
            None => Ok(Err(Stale {
                differences: vec!["it has no record".into()],
            })),
            Some(record) => {
                record.files(&krate).iter().for_each(|p| watch(p));
                if let Some(lock) = record::lock_file(&krate) {
                    watch(&lock);
                }
                record.check(&toolchain, &krate, &self.settings(), with_tools)
            }
        }
    }

    fn krate(&self) -> Result<PathBuf, CudaBuilderError> {
        let path = &self.path_to_crate;
        if !path.join("Cargo.toml").is_file() {
            return Err(CudaBuilderError::CratePathDoesntExist(path.clone()));
        }
        path.canonicalize().map_err(at(path))
    }

    fn reject_unsupported(&self) -> Result<(), CudaBuilderError> {
        let options = [
            (
                self.ftz,
                "ftz(true)",
                "rustc cannot set the denormal mode of a function; f32 denormals are kept",
            ),
            (self.optix, "optix(true)", "the PTX is for CUDA's driver"),
            (
                self.override_libm,
                "override_libm(true)",
                "libdevice belongs to the CUDA toolkit, which is not used; calls of libm stay calls of the crate libm",
            ),
            (
                self.use_constant_memory_space,
                "use_constant_memory_space(true)",
                "rustc places all statics in global memory",
            ),
        ];
        match options.into_iter().find(|(asked, ..)| *asked) {
            Some((_, option, reason)) => {
                Err(CudaBuilderError::UnsupportedOption { option, reason })
            }
            None => Ok(()),
        }
    }

    /// Flags that `core` must share with the kernels.
    fn target_flags(&self) -> Vec<String> {
        let mut flags = vec![format!("-Ctarget-cpu={}", self.arch.target_cpu())];
        flags.extend(
            self.arch
                .ptx_feature()
                .map(|f| format!("-Ctarget-feature={f}")),
        );
        flags.extend(
            [
                "-Zunstable-options",
                "-Cpanic=immediate-abort",
                "-Cembed-bitcode=yes",
                // This pass copies barriers into the branches before them.
                "-Zmir-enable-passes=-JumpThreading",
            ]
            .map(String::from),
        );
        flags
    }

    /// Flags of the kernel crate and its dependencies only.
    fn crate_flags(&self) -> Vec<String> {
        let mut flags = vec![
            // Kernel crates need not say that they do without std.
            "-Zcrate-attr=no_std".to_owned(),
            "-Aunused_attributes".to_owned(),
            // Shared memory is a `static mut` in rust-cuda's programming model.
            "-Astatic_mut_refs".to_owned(),
            // No path of this machine in the PTX.
            "-Zremap-cwd-prefix=.".to_owned(),
            "-Aexplicit_builtin_cfgs_in_flags".to_owned(),
            // Dependencies are merged only if there is a link step, and those that are cdylibs too have one of their own: give
            // them a linker that does nothing.
            "-Clinker=true".to_owned(),
            // The pass over shared arrays expects symbols of this form.
            "-Csymbol-mangling-version=v0".to_owned(),
        ];
        for feature in self.arch.all_target_features() {
            flags.push(format!("--cfg=target_feature=\"{feature}\""));
        }
        let known: Vec<_> = NvvmArch::ALL
            .iter()
            .map(|a| format!("\"{}\"", a.target_feature()))
            .collect();
        flags.push(format!(
            "--check-cfg=cfg(target_feature, values({}))",
            known.join(", ")
        ));

        let mut llvm = vec![
            format!(
                "-nvptx-fma-level={}",
                if self.fma_contraction { 2 } else { 0 }
            ),
            // This pass takes an index's sign extension of a negated condition for that of the condition less one, which is
            // wrong: `sort_unstable` of integers, for one, then loses its way.
            "-disable-separate-const-offset-from-gep".to_owned(),
        ];
        if self.fast_sqrt {
            llvm.push("-nvptx-prec-sqrtf32=0".into());
        }
        if self.fast_div {
            llvm.push("-nvptx-prec-divf32=0".into());
        }
        flags.push(format!("-Cllvm-args={}", llvm.join(" ")));
        if self.generate_line_info || self.debug == DebugInfo::LineTables {
            // Full line tables would mark the whole program as one for the debugger.
            flags.push("-Cdebuginfo=line-directives-only".into());
        }
        flags
    }

    /// All that changes the PTX and is not a file: the same text means the same PTX.
    fn settings(&self) -> String {
        let mut settings = vec![
            self.arch.to_string(),
            format!("release={}", self.release),
            format!("nvvm_opts={}", self.nvvm_opts),
            format!("fma_contraction={}", self.fma_contraction),
            format!("fast_sqrt={}", self.fast_sqrt),
            format!("fast_div={}", self.fast_div),
            format!(
                "line_info={}",
                self.generate_line_info || self.debug == DebugInfo::LineTables
            ),
        ];
        settings.extend(self.build_args.iter().cloned());
        // The flags hold no path; those that are the same in every build are only in this digest.
        let flags = [self.target_flags(), self.crate_flags()].concat().join(" ");
        settings.push(format!("digest={}", sysroot::key(&[&flags, passes::NAME])));
        settings.join(" ")
    }

    /// Where the compiled `core` and the nested target directories live.
    fn cache_folder(&self, krate: &Path) -> Result<PathBuf, CudaBuilderError> {
        if let Some(cache) = &self.cache {
            fs::create_dir_all(cache).map_err(at(cache))?;
            return cache.canonicalize().map_err(at(cache));
        }
        let folder = match env::var_os("OUT_DIR").map(PathBuf::from) {
            // <target>/<profile>/build/<package>/out
            Some(out) => match out.ancestors().nth(4) {
                Some(target) if out.ancestors().nth(2).is_some_and(|b| b.ends_with("build")) => {
                    target.join("cuda-builder")
                }
                _ => out.join("cuda-builder"),
            },
            None => match env::var_os("CARGO_TARGET_DIR") {
                Some(target) => PathBuf::from(target).join("cuda-builder"),
                None => krate.join("target/cuda-builder"),
            },
        };
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        folder.canonicalize().map_err(at(&folder))
    }
}

/// Refuses PTX that cannot be loaded or has nothing to launch.
fn verify(text: &str, krate: &Path) -> Result<(), CudaBuilderError> {
    if ptx::entry_points(text).is_empty() {
        return Err(CudaBuilderError::NoEntryPoint(krate.to_owned()));
    }
    let symbols: Vec<String> = ptx::unresolved(text)
        .iter()
        .map(|s| format!("{:#}", rustc_demangle::demangle(s)))
        .collect();
    if symbols.is_empty() {
        Ok(())
    } else {
        Err(CudaBuilderError::Unresolved { symbols })
    }
}

/// Tells cargo, if this is a build script, to run it again when the file changes.
fn watch(path: &Path) {
    if in_build_script() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn watch_toolchain(toolchain: &Toolchain) {
    if in_build_script() {
        println!("cargo::rerun-if-env-changed={RUST_SRC_VARIABLE}");
        // So that a build that fell back to a prebuilt file is repeated once rust-src is there.
        if let Some(list) = toolchain.component_list() {
            watch(&list);
        }
    }
}

fn in_build_script() -> bool {
    // cargo sets these for build scripts alone.
    env::var_os("OUT_DIR").is_some()
        && env::var_os("HOST").is_some()
        && env::var_os("TARGET").is_some()
}
