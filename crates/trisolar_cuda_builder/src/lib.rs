//! Builds a crate of GPU kernels to PTX with the stock Rust toolchain, usually from a build script.
//!
//! The interface is that of rust-cuda's crate of the same name, but the implementation uses rustc's own target
//! `nvptx64-nvidia-cuda`, without a CUDA toolkit or a special compiler. It needs the sources of Rust's core library, from which `core` and
//! `alloc` are compiled for the GPU once, and the programs of the compiler's LLVM: `rustup component add rust-src llvm-tools`, or Debian's
//! packages `rust-src` and `llvm`.
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
//! Where these may be missing, the kernel crate can ship a PTX file: see [`CudaBuilder::build_recorded`] and
//! [`CudaBuilder::check_prebuilt`].
//!
//! Differences from rust-cuda:
//! - floating-point contraction is off unless requested, so that kernels give the same numbers as the CPU;
//! - there is no libdevice, so [`override_libm`](CudaBuilder::override_libm) is off and not supported;
//! - the default architecture is 7.0;
//! - an option that rustc's back end cannot support is an error when building instead of being ignored.

mod arch;
mod compile;
mod error;
mod ir;
mod link;
mod llvm;
mod module;
pub mod modules;
pub mod ptx;
mod ptxas;
mod record;
mod signs;
mod stores;
mod sysroot;
mod toolchain;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use arch::{NvvmArch, UnknownArch};
pub use error::CudaBuilderError;
pub use llvm::LLVM_TOOLS_VARIABLE;
pub use modules::Modules;
pub use ptxas::PTXAS_VARIABLE;
pub use record::{Record, Stale};
pub use sysroot::CACHE_VARIABLE;
pub use toolchain::RUST_SRC_VARIABLE;

use error::at;
use ir::divide::{Division, Program};
use record::Present;
use toolchain::Toolchain;

const TARGET: &str = "nvptx64-nvidia-cuda";

/// rustc marks only the intrinsics themselves as convergent. A call of a function that contains a barrier or a shuffle could then be copied
/// into the branches around it. LLVM removes the mark from functions that contain none.
const CONVERGENT: &str = "-force-attribute=convergent";

/// An instruction that is newer than what [`NvvmArch`] asks for, and its version of PTX: the fence for tensor maps in memory (CUDA 12.3).
const NEWER: (&str, u32) = ("fence.proxy.tensormap::generic", 83);

/// The source information that profilers and debuggers can see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugInfo {
    /// No debug information.
    #[default]
    None,
    /// The source line of each instruction. The code itself does not change.
    LineTables,
}

/// The form of the compiler's intermediate code to keep in addition to the PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitOption {
    /// LLVM's text form, `.ll`.
    LlvmIr,
    /// LLVM's binary form, `.bc`.
    Bitcode,
}

macro_rules! options {
    ($($(#[$about:meta])* $name:ident: $ty:ty = $first:expr, from $given:ty;)*) => {
        /// Compiles one kernel crate. Set options, then call [`build`](Self::build).
        #[derive(Clone, Debug)]
        pub struct CudaBuilder {
            path_to_crate: PathBuf,
            /// The file within the crate that is the kernels' module, if they are not the whole crate.
            module: Option<PathBuf>,
            /// The dependencies of the module besides `cuda_std`.
            dependencies: Vec<String>,
            /// Whether to use cargo's release profile; otherwise it is the dev profile, which checks for overflow. `true` by default.
            pub release: bool,
            /// Where to copy the PTX.
            pub ptx_file_copy_path: Option<PathBuf>,
            /// Intermediate code to keep.
            pub emit: Option<EmitOption>,
            /// Functions outside of the PTX that kernels may call.
            pub external_functions: Vec<String>,
            /// Options of ptxas, with which it checks the PTX.
            pub ptxas_options: Vec<String>,
            /// Additional arguments for cargo.
            pub build_args: Vec<String>,
            /// Where to write LLVM's text form of the whole program.
            pub final_module_path: Option<PathBuf>,
            cache: Option<PathBuf>,
            $(#[doc = concat!("What [`", stringify!($name), "`](Self::", stringify!($name), "()) sets.")] pub $name: $ty,)*
        }

        impl CudaBuilder {
            /// A builder for the crate in this folder. A relative path starts from the current folder, which in a build script is the
            /// package's.
            pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
                Self {
                    path_to_crate: path_to_crate_root.as_ref().to_owned(),
                    module: None,
                    dependencies: Vec::new(),
                    release: true,
                    ptx_file_copy_path: None,
                    emit: None,
                    external_functions: Vec::new(),
                    ptxas_options: Vec::new(),
                    build_args: Vec::new(),
                    final_module_path: None,
                    cache: None,
                    $($name: $first,)*
                }
            }

            $($(#[$about])* pub fn $name(mut self, $name: $given) -> Self {
                self.$name = $name.into();
                self
            })*
        }
    };
}

options! {
    /// Sets how much source information the PTX contains; none by default.
    debug: DebugInfo = DebugInfo::None, from DebugInfo;
    /// Sets whether the PTX contains the source line of each instruction; `false` by default.
    generate_line_info: bool = false, from bool;
    /// Sets whether LLVM optimises fully (level 3, the default) or little (level 1; level 0 would leave code that no kernel needs).
    nvvm_opts: bool = true, from bool;
    /// Sets the oldest architecture that the PTX must run on; 7.0 by default.
    arch: NvvmArch = NvvmArch::default(), from NvvmArch;
    /// Sets whether f32 instructions flush denormals, arguments and results, to zeros of the same sign (`.ftz`); `false` by default. The
    /// numbers then differ from those of the CPU and the emulator, which keep denormals. Inline assembly and f64 do not change.
    ftz: bool = false, from bool;
    /// Sets whether f32 square roots are `sqrt.approx.f32`; `false` by default.
    fast_sqrt: bool = false, from bool;
    /// Sets whether f32 divisions are `div.approx.f32`; `false` by default.
    fast_div: bool = false, from bool;
    /// Sets whether `a * b + c` in f32 and f64 becomes one instruction that rounds once; `false` by default. The numbers then differ from
    /// the CPU's.
    fma_contraction: bool = false, from bool;
    /// Limits the registers of a thread, from 16 to 255, in kernels that have neither `max_registers` nor `min_blocks` in their
    /// `#[kernel]` (`ptxas --maxrregcount`). The limit is part of the PTX (`.maxnreg`), so that the driver's compiler obeys it, too.
    max_registers: Option<u32> = None, from u32;
    /// Compiles for OptiX. `true` is an error when building.
    optix: bool = false, from bool;
    /// Uses libdevice where a crate calls libm. `true` is an error when building.
    override_libm: bool = false, from bool;
    /// Places statics in constant memory. `true` is an error when building.
    use_constant_memory_space: bool = false, from bool;
}

impl CudaBuilder {
    /// A builder for kernels that are a module of the package whose build script this is: `CudaBuilder::module("src/kernels.rs")`.
    ///
    /// The module is compiled for the GPU without the rest of the package. It may have modules of its own and use `cuda_std`, as well as
    /// the dependencies that [`dependencies`](Self::dependencies) names.
    pub fn module(file: impl AsRef<Path>) -> Self {
        Self {
            module: Some(file.as_ref().to_owned()),
            ..Self::new(".")
        }
    }

    /// Names dependencies of the package that the [`module`](Self::module) uses, as they are called in `Cargo.toml`.
    pub fn dependencies(mut self, names: &[impl AsRef<str>]) -> Self {
        self.dependencies.extend(owned(names));
        self
    }

    /// Adds arguments for the nested cargo, such as `--features=x`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(owned(args));
        self
    }

    /// Sets whether to use cargo's release profile or its dev profile, which checks for overflow and optimises little.
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self.nvvm_opts = release;
        self
    }

    /// Sets [`ftz`](Self::ftz), [`fast_sqrt`](Self::fast_sqrt), [`fast_div`](Self::fast_div) and
    /// [`fma_contraction`](Self::fma_contraction) at once. The numbers then differ from those of the CPU and the emulator. (Functions such
    /// as `sin` stay those of `libm`; the fast ones are in `cuda_std::approx`.)
    pub fn fast_math(self) -> Self {
        self.ftz(true)
            .fast_sqrt(true)
            .fast_div(true)
            .fma_contraction(true)
    }

    /// Lets kernels call functions that are not in the PTX: those that are declared in `unsafe extern "C"` blocks by these names. The
    /// PTX can only be loaded together with PTX, a cubin or a library that defines them (cust's `Linker`, `nvlink`). A function that
    /// is not named here is an error when building.
    ///
    /// A crate defines such a function by `#[externally_visible] #[unsafe(no_mangle)] pub extern "C" fn`.
    pub fn external_functions(mut self, names: &[impl AsRef<str>]) -> Self {
        self.external_functions.extend(owned(names));
        self
    }

    /// Adds an option of ptxas, such as `--warn-on-spills` or `--opt-level=3`. After the build, ptxas assembles the PTX for
    /// [`arch`](Self::arch) with these options; what it says goes to stderr, and where it fails the build fails. The PTX itself does not
    /// change: the driver compiles it with its own options (`ModuleJitOption` of `trisolar-driver` and cust).
    ///
    /// ptxas is the one that the environment variable `CUDA_BUILDER_PTXAS` names, or that of the `PATH`. Without any, the build says
    /// that the options were not checked.
    pub fn ptxas_option(mut self, option: impl AsRef<str>) -> Self {
        self.ptxas_options.push(option.as_ref().to_owned());
        self
    }

    /// Sets whether to keep LLVM's text form beside the PTX, as `.ll`.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Sets whether to keep LLVM's binary form beside the PTX, as `.bc`.
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// Sets where to copy the PTX; [`build`](Self::build) then returns this path.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// Sets where to write LLVM's text form of the whole program, with all crates merged and optimised.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the folder for the compiled `core` and the nested cargo's files. By default `core` is in the user's cache folder, for all
    /// workspaces of the machine (or where the environment variable `CUDA_BUILDER_CACHE` says), and the other files are in
    /// `cuda-builder` in cargo's target directory, which all kernel crates of a workspace share.
    pub fn cache_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.cache = Some(path.as_ref().to_owned());
        self
    }

    /// Compiles the crate and returns the path of the PTX file, which is that of [`copy_to`](Self::copy_to) if it was set.
    ///
    /// In a build script it also tells cargo which files to watch for changes.
    ///
    /// # Errors
    /// See [`CudaBuilderError`]. The compiler's own messages go to stderr.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        self.build_recorded().map(|(path, _)| path)
    }

    /// Compiles the kernels for `trisolar_device::include_kernels!`, which embeds them in the program. This is all that a build script
    /// has to do:
    ///
    /// ```no_run
    /// cuda_builder::CudaBuilder::module("src/kernels.rs").embed(); // in `main` of build.rs
    /// ```
    ///
    /// Without the sources of `core` or LLVM's programs the build goes on with a warning that says how to install them, and the program runs its kernels
    /// in the emulator. After any other error the process ends with a message and exit code 1.
    pub fn embed(self) {
        let Some(out) = env::var_os("OUT_DIR").filter(|_| in_build_script()) else {
            eprintln!("CudaBuilder::embed is for build scripts, where cargo sets OUT_DIR");
            std::process::exit(1);
        };
        let path = PathBuf::from(out).join("kernels.modules");
        let built = self.build_modules().map(|(modules, _)| modules.encoded());
        let written = match built {
            Err(missing) if missing.lacks_toolchain() => {
                let text = missing.to_string();
                for line in text.lines() {
                    println!("cargo::warning={line}");
                }
                let first = text
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches('.');
                Ok(format!("{}{first}\n", ptx::NOT_COMPILED).into_bytes())
            }
            other => other,
        };
        let written = written.and_then(|bytes| fs::write(&path, bytes).map_err(at(&path)));
        if let Err(error @ CudaBuilderError::BuildFailed { .. }) = &written {
            // Below the compiler's messages.
            eprintln!("{error}");
            std::process::exit(1);
        }
        if let Err(error) = written {
            for line in error.to_string().lines() {
                println!("cargo::error={line}");
            }
            std::process::exit(1);
        }
    }

    /// Does the same as [`build`](Self::build) and also returns a record of what the PTX was made from. [`Record::header`]
    /// followed by the PTX is a file that [`check_prebuilt`](Self::check_prebuilt) can check.
    ///
    /// # Errors
    /// See [`CudaBuilderError`].
    pub fn build_recorded(self) -> Result<(PathBuf, Record), CudaBuilderError> {
        let compiled = self.compile()?;
        Ok((self.whole(&compiled)?, compiled.record))
    }

    /// The PTX of all kernels in one file, which may be a copy.
    fn whole(&self, compiled: &Compiled) -> Result<PathBuf, CudaBuilderError> {
        let program = Program::checked(&compiled.text)?.whole();
        let ptx = self.assemble(compiled, &program, "kernels")?;
        let Some(copy) = &self.ptx_file_copy_path else {
            return Ok(ptx);
        };
        fs::copy(&ptx, copy).map_err(CudaBuilderError::FailedToCopyPtxFile)?;
        Ok(copy.clone())
    }

    /// Compiles the kernels, divided into [`modules`], and also returns a record of what they were made from.
    ///
    /// # Errors
    /// See [`CudaBuilderError`].
    pub fn build_modules(self) -> Result<(Modules, Record), CudaBuilderError> {
        let compiled = self.compile()?;
        if self.ptx_file_copy_path.is_some() {
            self.whole(&compiled)?;
        }
        Ok((self.divided(&compiled)?, compiled.record))
    }

    fn divided(&self, compiled: &Compiled) -> Result<Modules, CudaBuilderError> {
        let divisions = Program::checked(&compiled.text)?.divided()?;
        let texts = self.assemble_all(compiled, &divisions)?;
        let mut kernels = Vec::new();
        for (module, division) in divisions.iter().enumerate() {
            for name in &division.kernels {
                let known = compiled.kernels.iter().find(|(known, _)| known == name);
                let (name, package) = known.expect("it was there before optimisation").clone();
                kernels.push(modules::Kernel {
                    package,
                    name,
                    module,
                });
            }
        }
        Ok(Modules { kernels, texts })
    }

    /// The PTX of several modules, made side by side.
    fn assemble_all(
        &self,
        compiled: &Compiled,
        divisions: &[Division],
    ) -> Result<Vec<String>, CudaBuilderError> {
        let next = AtomicUsize::new(0);
        let texts: Vec<OnceLock<_>> = divisions.iter().map(|_| OnceLock::new()).collect();
        let work = || {
            while let (i, Some(division)) = {
                let i = next.fetch_add(1, Ordering::Relaxed);
                (i, divisions.get(i))
            } {
                let path = self.assemble(compiled, division, &format!("module-{i}"));
                let text = path.and_then(|path| fs::read_to_string(&path).map_err(at(&path)));
                let _ = texts[i].set(text);
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            (0..threads.min(divisions.len())).for_each(|_| drop(scope.spawn(work)));
        });
        let done = texts
            .into_iter()
            .map(|text| text.into_inner().expect("each has been made"));
        done.collect()
    }

    /// Compiles the crate as far as an optimised program in LLVM's text form.
    fn compile(&self) -> Result<Compiled, CudaBuilderError> {
        self.reject_unsupported()?;
        let krate = self.krate()?;
        let toolchain = Toolchain::current()?;
        watch_toolchain(&toolchain);
        let folder = self.folder()?;
        self.watch(&krate, &folder.join("Cargo.toml"));

        let cache = self.cache_folder(&folder)?;
        let target_flags = self.target_flags();
        let tools = llvm::Tools::of(&toolchain)?;
        match toolchain.untested() {
            Some(said) if in_build_script() => println!("cargo::warning={said}"),
            Some(said) => eprintln!("{said}"),
            None => {}
        }
        let of_core = match self.cache {
            Some(_) => cache.clone(),
            None => sysroot::folder().unwrap_or_else(|| cache.clone()),
        };
        if in_build_script() {
            println!("cargo::rerun-if-env-changed={CACHE_VARIABLE}");
        }
        let sysroot = sysroot::sysroot(&toolchain, &target_flags, &of_core)?;
        let flags = [target_flags, self.crate_flags()].concat();
        let settings = self.settings();
        let sysroot_name = sysroot.file_name().unwrap_or_default().to_string_lossy();
        // All settings share it: what runs on the host, such as the macros of dependencies, is compiled once.
        let target_dir = cache.join("target");
        let output = target_dir.join("ptx").join(sysroot::key(&[
            &krate.to_string_lossy(),
            &sysroot_name,
            &settings,
        ]));
        fs::create_dir_all(&output).map_err(at(&output))?;
        let merged = output.join("merged.ll");
        // LLVM works on the files of this build alone, while cargo compiles the next one.
        let lock = compile::lock(&output)?;
        let of_cargo = compile::lock(&target_dir)?;
        let inputs = compile::compile(
            &toolchain,
            &compile::Job {
                builder: self,
                krate: &krate,
                folder: &folder,
                sysroot: &sysroot,
                target_dir: &target_dir,
                flags: &flags,
                program: &merged,
            },
        )?;
        drop(of_cargo);
        inputs
            .sources
            .iter()
            .chain(&inputs.manifests)
            .for_each(|p| self.watch(&krate, p));
        if let Some(lock) = record::lock_file(&folder) {
            watch(&lock);
        }

        let text = fs::read_to_string(&merged).map_err(at(&merged))?;
        let edited = ir::edit::edited(&text, &inputs.package, self.max_registers)?;
        if edited.kernels.is_empty() {
            return Err(CudaBuilderError::NoEntryPoint(krate));
        }
        let mut input = output.join("edited.ll");
        fs::write(&input, &edited.text).map_err(at(&input))?;
        let path = |path: &Path| path.display().to_string();
        if edited.has_remainders {
            let linked = output.join("linked.bc");
            let remainders = sysroot.join(sysroot::REMAINDERS);
            let only = ["--only-needed", "--internalize", "-o"].map(String::from);
            let files = [path(&linked), path(&input), path(&remainders)];
            tools.call("llvm-link", &[&only[..], &files].concat())?;
            input = linked;
        }
        let optimised = output.join("kernels.ll");
        let files = [path(&input), "-S".into(), "-o".into(), path(&optimised)];
        tools.call("opt", &[self.opt_flags(), files.to_vec()].concat())?;
        let text = fs::read_to_string(&optimised).map_err(at(&optimised))?;
        // Jumps by a table of places in the code are good.
        let mut text = text.replace(ir::edit::NO_TABLES, "");
        if let Some(with_constants) = ir::edit::with_constants(&text)? {
            let constants = output.join("constants.ll");
            fs::write(&constants, with_constants).map_err(at(&constants))?;
            let flags = ["-passes=function(infer-address-spaces)", "-S", "-o"].map(String::from);
            let files = [path(&optimised), path(&constants)];
            tools.call("opt", &[&flags[..], &files].concat())?;
            text = fs::read_to_string(&optimised).map_err(at(&optimised))?;
        }
        text = ir::moves::between_spaces(text);
        if self.has_lines() {
            text = ir::lines::of_callers(&text);
        }
        if self.emit == Some(EmitOption::Bitcode) {
            fs::write(&optimised, &text).map_err(at(&optimised))?;
            let flags = ["-passes=verify", "-o"].map(String::from);
            let files = [path(&output.join("kernels.bc")), path(&optimised)];
            tools.call("opt", &[&flags[..], &files].concat())?;
        }
        if let Some(copy) = &self.final_module_path {
            fs::write(copy, &text).map_err(at(copy))?;
        }
        let unresolved: Vec<String> = (Program::checked(&text)?.unresolved().into_iter())
            .filter(|symbol| !self.external_functions.iter().any(|name| name == symbol))
            .map(|symbol| format!("{:#}", rustc_demangle::demangle(symbol)))
            .collect();
        if !unresolved.is_empty() {
            return Err(CudaBuilderError::Unresolved {
                symbols: unresolved,
            });
        }
        let present = Present {
            toolchain: &toolchain,
            krate: &krate,
            flags: &settings,
        };
        let record = present.record(&inputs)?;
        Ok(Compiled {
            text,
            kernels: edited.kernels,
            tools,
            output,
            record,
            _lock: lock,
        })
    }

    /// Writes the PTX of a module and returns its path.
    fn assemble(
        &self,
        compiled: &Compiled,
        module: &Division,
        name: &str,
    ) -> Result<PathBuf, CudaBuilderError> {
        let file = |end: &str| compiled.output.join(format!("{name}.{end}"));
        let (input, output, ptx) = (file("module.ll"), file("s"), file("ptx"));
        fs::write(&input, &module.text).map_err(at(&input))?;
        // Inline assembly can have instructions that are newer than what other kernels need.
        let version = match module.text.contains(NEWER.0) {
            true => self.arch.ptx_version().max(NEWER.1),
            false => self.arch.ptx_version(),
        };
        let mut arguments = self.llc_flags();
        arguments.push(format!("-mattr=+ptx{version}"));
        arguments.extend([&input, &output].map(|path| path.display().to_string()));
        arguments.insert(arguments.len() - 1, "-o".into());
        compiled.tools.call("llc", &arguments)?;
        let text = fs::read_to_string(&output).map_err(at(&output))?;
        // The file is renamed into place, so that a concurrent reader always sees a complete file.
        let text = signs::kept(&stores::of_bits(&text));
        fs::write(&output, text).map_err(at(&output))?;
        fs::rename(&output, &ptx).map_err(at(&ptx))?;
        fs::remove_file(&input).map_err(at(&input))?;
        if !self.ptxas_options.is_empty() {
            ptxas::check(self, &ptx)?;
        }
        Ok(ptx)
    }

    /// Checks whether a PTX text with a record was made from the current sources with these options. It is meant for the case
    /// that [`build`](Self::build) fails with an error that [`CudaBuilderError::lacks_toolchain`], and needs neither the network nor `core`.
    ///
    /// `Ok(Err(_))` lists the differences.
    ///
    /// # Errors
    /// [`CudaBuilderError`] if the crate cannot be read.
    pub fn check_prebuilt(&self, ptx: &str) -> Result<Result<(), Stale>, CudaBuilderError> {
        self.check(ptx, false)
    }

    /// Checks whether a PTX text with a record is what [`build`](Self::build) would return: in addition to
    /// [`check_prebuilt`](Self::check_prebuilt), the compiler and this crate must be the same.
    ///
    /// # Errors
    /// The same as for [`check_prebuilt`](Self::check_prebuilt).
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
                let flags = &self.settings();
                Present {
                    toolchain: &toolchain,
                    krate: &krate,
                    flags,
                }
                .check(&record, with_tools)
            }
        }
    }

    /// The folder of the package that the user has given.
    fn folder(&self) -> Result<PathBuf, CudaBuilderError> {
        let path = &self.path_to_crate;
        if !path.join("Cargo.toml").is_file() {
            return Err(CudaBuilderError::CratePathDoesntExist(path.clone()));
        }
        path.canonicalize().map_err(at(path))
    }

    /// The folder of the package to compile.
    fn krate(&self) -> Result<PathBuf, CudaBuilderError> {
        let folder = self.folder()?;
        match &self.module {
            None => Ok(folder),
            Some(file) => {
                let cache = self.cache_folder(&folder)?;
                let toolchain = Toolchain::current()?;
                module::package(&toolchain, &folder, file, &self.dependencies, &cache)
            }
        }
    }

    /// Watches a file of the package to compile. Of a module's package, that is the file to which a link leads.
    fn watch(&self, krate: &Path, path: &Path) {
        if self.module.is_none() {
            return watch(path);
        }
        let real = path.canonicalize().ok();
        if let Some(real) = real.filter(|real| !real.starts_with(krate)) {
            watch(&real);
        }
    }

    fn reject_unsupported(&self) -> Result<(), CudaBuilderError> {
        let options = [
            (self.optix, "optix(true)", "the PTX is for the CUDA driver"),
            (
                self.override_libm,
                "override_libm(true)",
                "libdevice belongs to the CUDA toolkit, which is not used; calls to libm remain calls to the crate libm",
            ),
            (
                self.use_constant_memory_space,
                "use_constant_memory_space(true)",
                "rustc places statics in global memory; mark those that belong to constant memory by #[address_space(constant)]",
            ),
        ];
        if let Some(most) = self.max_registers.filter(|most| !(16..=255).contains(most)) {
            return Err(CudaBuilderError::BadOption {
                option: "max_registers",
                value: most.to_string(),
                allowed: "16 to 255",
            });
        }
        match options.into_iter().find(|(asked, ..)| *asked) {
            Some((_, option, reason)) => {
                Err(CudaBuilderError::UnsupportedOption { option, reason })
            }
            None => Ok(()),
        }
    }

    /// Flags that `core` and the kernels must share.
    fn target_flags(&self) -> Vec<String> {
        vec![
            format!("-Ctarget-cpu={}", self.arch.target_cpu()),
            "-Zunstable-options".into(),
            "-Cpanic=immediate-abort".into(),
            // Libraries contain LLVM's bitcode and no PTX, which nothing would use.
            "-Clinker-plugin-lto".into(),
            "-Cembed-bitcode=yes".into(),
            // This pass duplicates barriers into the preceding branches.
            "-Zmir-enable-passes=-JumpThreading".into(),
            format!("-Cllvm-args={CONVERGENT}"),
        ]
    }

    /// Flags of `opt`.
    fn opt_flags(&self) -> Vec<String> {
        let level = if self.nvvm_opts { "O3" } else { "O1" };
        let spaces = "function(infer-address-spaces)";
        let mut flags = vec![
            format!(
                "-passes=always-inline,globaldce,lto-pre-link<{level}>,{spaces},lto<{level}>,{spaces}"
            ),
            CONVERGENT.to_owned(),
        ];
        flags.extend(self.machine_flags());
        flags
    }

    /// Flags of `llc`.
    fn llc_flags(&self) -> Vec<String> {
        let contraction = if self.fma_contraction { 2 } else { 0 };
        let mut flags = vec![
            if self.nvvm_opts { "-O3" } else { "-O1" }.to_owned(),
            "-trap-unreachable".to_owned(),
            "-asm-verbose=0".to_owned(),
            format!("-nvptx-fma-level={contraction}"),
            // This pass treats an index that is the sign-extended negation of a condition like one that is the condition minus
            // one, which is wrong; `sort_unstable` of integers, for example, then reads the wrong elements.
            "-disable-separate-const-offset-from-gep".to_owned(),
        ];
        flags.extend(self.fast_sqrt.then(|| "-nvptx-prec-sqrtf32=0".to_owned()));
        flags.extend(self.fast_div.then(|| "-nvptx-prec-divf32=0".to_owned()));
        flags.extend(self.machine_flags());
        flags
    }

    /// Flags of `opt` and `llc`.
    fn machine_flags(&self) -> Vec<String> {
        let mut flags = vec![format!("-mcpu={}", self.arch.target_cpu())];
        flags.extend((self.ftz).then(|| "-denormal-fp-math-f32=preserve-sign".to_owned()));
        flags
    }

    /// Flags of the kernel crate and its dependencies only.
    fn crate_flags(&self) -> Vec<String> {
        let mut flags = vec![
            // Kernel crates do not have to declare `no_std`.
            "-Zcrate-attr=no_std".to_owned(),
            "-Aunused_attributes".to_owned(),
            // In rust-cuda's programming model, shared memory is a `static mut`.
            "-Astatic_mut_refs".to_owned(),
            // The PTX must not contain paths of this machine.
            "-Zremap-cwd-prefix=.".to_owned(),
            "-Aexplicit_builtin_cfgs_in_flags".to_owned(),
            // Dependencies are merged only if there is a link step, and dependencies that are also cdylibs have one of their
            // own, so the linker is a program that does nothing.
            "-Clinker=true".to_owned(),
            // What is known of shared arrays depends on symbols of this form.
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

        if self.has_lines() {
            // Full line tables would mark the whole program as compiled for the debugger.
            flags.push("-Cdebuginfo=line-directives-only".into());
        }
        flags
    }

    /// Whether the PTX has the lines of the source.
    fn has_lines(&self) -> bool {
        self.generate_line_info || self.debug == DebugInfo::LineTables
    }

    /// A text of everything that changes the PTX and is not a file; equal texts mean equal PTX.
    fn settings(&self) -> String {
        let line_info = self.has_lines();
        let mut settings = vec![
            self.arch.to_string(),
            format!("release={}", self.release),
            format!("nvvm_opts={}", self.nvvm_opts),
            format!("fma_contraction={}", self.fma_contraction),
            format!("fast_sqrt={}", self.fast_sqrt),
            format!("fast_div={}", self.fast_div),
            format!("line_info={line_info}"),
        ];
        settings.extend(self.ftz.then(|| "ftz=true".to_owned()));
        settings.extend(
            self.max_registers
                .map(|most| format!("max_registers={most}")),
        );
        settings.extend(
            self.external_functions
                .iter()
                .map(|name| format!("external={name}")),
        );
        settings.extend(self.build_args.iter().cloned());
        // The flags contain no path. Those that every build shares appear only in this digest.
        let flags = [
            self.target_flags(),
            self.crate_flags(),
            self.opt_flags(),
            self.llc_flags(),
        ];
        let digest = sysroot::key(&[&flags.concat().join(" ")]);
        settings.push(format!("digest={digest}"));
        settings.join(" ")
    }

    /// The folder of the nested target directories.
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

fn owned(texts: &[impl AsRef<str>]) -> impl Iterator<Item = String> {
    texts.iter().map(|text| text.as_ref().to_owned())
}

/// A crate's kernels as an optimised program.
struct Compiled {
    /// The program in LLVM's text form.
    text: String,
    /// Name and package of each kernel.
    kernels: Vec<(String, String)>,
    tools: llvm::Tools,
    /// The folder for files.
    output: PathBuf,
    record: Record,
    /// Other builds of the same crate wait.
    _lock: fs::File,
}

/// In a build script, tells cargo to run it again when the file changes.
fn watch(path: &Path) {
    if in_build_script() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn watch_toolchain(toolchain: &Toolchain) {
    if in_build_script() {
        println!("cargo::rerun-if-env-changed={RUST_SRC_VARIABLE}");
        println!("cargo::rerun-if-env-changed={LLVM_TOOLS_VARIABLE}");
        // Repeats a build that fell back to a prebuilt file once rust-src is installed.
        if let Some(list) = toolchain.component_list() {
            watch(&list);
        }
    }
}

fn in_build_script() -> bool {
    // cargo sets this variable only for build scripts.
    env::var_os("OUT_DIR").is_some()
        && env::var_os("HOST").is_some()
        && env::var_os("TARGET").is_some()
}
