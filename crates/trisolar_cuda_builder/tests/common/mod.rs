//! Kernel crates to build, and the tools that the tests need.
#![allow(
    dead_code,
    reason = "each test program uses only some of these functions"
)]

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use cuda_builder::{CudaBuilder, CudaBuilderError, Record};
use tempfile::TempDir;

/// A kernel crate that needs nothing but `core`.
pub const BARE: &str = r#"
#![feature(abi_ptx, core_float_math)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn arithmetic(x: *mut f32, y: *mut f64) {
    unsafe {
        let (a, b, c) = (*x, *x.add(1), *x.add(2));
        *x.add(3) = a * b + c;
        *x.add(4) = core::f32::math::sqrt(a);
        *x.add(5) = a / b;
        *y.add(3) = *y * *y.add(1) + *y.add(2);
        #[cfg(feature = "extra")]
        { *y.add(4) = 42.0; }
    }
}
"#;

/// The cache of compiled `core`s and dependencies, which all test programs share.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder")
}

/// A kernel crate with a single file in a folder of its own.
pub fn crate_of(source: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_crate(dir.path(), source);
    dir
}

pub fn write_crate(dir: &Path, source: &str) {
    fs::create_dir_all(dir.join("src")).unwrap();
    fs::write(
        dir.join("Cargo.toml"),
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[features]\nextra = []\n[workspace]\n",
    )
    .unwrap();
    fs::write(dir.join("src/lib.rs"), source).unwrap();
}

/// The folder of one of the kernel crates of cuda_std's tests.
pub fn kernels(name: &str) -> PathBuf {
    let folder = [
        env!("CARGO_MANIFEST_DIR"),
        "../trisolar_cuda_std/tests/kernels",
        name,
    ];
    folder.iter().collect()
}

/// A builder with the shared cache.
pub fn builder(krate: impl AsRef<Path>) -> CudaBuilder {
    CudaBuilder::new(krate).cache_dir(cache())
}

/// Builds and returns the PTX text, or reports a skipped test and returns `None` where the sources of `core` are missing.
pub fn text_of(builder: CudaBuilder) -> Option<String> {
    built(builder).map(|(path, _)| fs::read_to_string(path).unwrap())
}

/// Builds and returns the PTX file and its record. All tests build their PTX here, and each PTX is assembled if ptxas is
/// available, for both ends of the range of architectures. Where the sources of `core` are missing, it reports a
/// skipped test and returns `None`.
pub fn built(builder: CudaBuilder) -> Option<(PathBuf, Record)> {
    let arch = builder.arch;
    match builder.build_recorded() {
        Ok((path, record)) => {
            let later = |sm: &&str| sm[3..].parse::<u32>().unwrap() >= arch.capability_value();
            let own = arch.target_cpu();
            let some: Vec<&str> = if own.ends_with('a') {
                // Such PTX is for this architecture alone.
                vec![&own]
            } else {
                let some = ["sm_75", "sm_120"].into_iter();
                some.filter(later).collect()
            };
            assemble(&fs::read_to_string(&path).unwrap(), &some);
            Some((path, record))
        }
        Err(error) if error.lacks_toolchain() => {
            skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Fails unless the text has all of the parts, which `|` separates.
#[track_caller]
pub fn has(text: &str, parts: &str) {
    for part in parts.split('|') {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

/// Fails if the text has one of the parts, which `|` separates.
#[track_caller]
pub fn lacks(text: &str, parts: &str) {
    for part in parts.split('|') {
        assert!(!text.contains(part), "no {part} in\n{text}");
    }
}

/// How often a text has a part.
pub fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// What a program prints, to stdout and stderr, and whether it succeeds.
pub fn said(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap();
    let both = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy);
    (output.status.success(), both.concat())
}

/// The error of a build, or `None` with a reported skip where kernels cannot be compiled.
pub fn refused(builder: CudaBuilder) -> Option<CudaBuilderError> {
    match builder.build() {
        Err(error) if error.lacks_toolchain() => {
            skip(&error.to_string());
            None
        }
        Err(error) => Some(error),
        Ok(path) => panic!("{} was built", path.display()),
    }
}

/// Reports that a test is skipped, which is a failure if TRISOLAR_NO_SKIP is set.
pub fn skip(reason: &str) {
    assert!(
        std::env::var_os("TRISOLAR_NO_SKIP").is_none(),
        "must not be skipped here: {reason}"
    );
    // eprintln! is not used because the test harness hides its output for tests that pass.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
}

/// Assembles a PTX text with ptxas for each architecture, and fails if a kernel spills registers. Functions that kernels call,
/// such as number formatting, may spill.
pub fn assemble(ptx: &str, architectures: &[&str]) {
    let given = std::env::var_os("TRISOLAR_PTXAS").filter(|v| !v.is_empty());
    let ptxas = given.clone().unwrap_or_else(|| "ptxas".into());
    if Command::new(&ptxas).arg("--version").output().is_err() {
        assert!(
            given.is_none(),
            "TRISOLAR_PTXAS is {}, which cannot be run",
            ptxas.display()
        );
        return skip(
            "no ptxas; TRISOLAR_PTXAS can name one (it is in the PyPI package nvidia-cuda-nvcc)",
        );
    }
    // Several tests of one program assemble the same text.
    static DONE: Mutex<BTreeSet<(u64, String)>> = Mutex::new(BTreeSet::new());
    let mut hash = DefaultHasher::new();
    ptx.hash(&mut hash);
    let hash = hash.finish();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("kernels.ptx");
    fs::write(&file, ptx).unwrap();
    for arch in architectures {
        let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
        if !done.insert((hash, (*arch).to_owned())) {
            continue;
        }
        drop(done);
        let arguments = ["-v", "-o", "/dev/null", &format!("-arch={arch}")];
        let (accepted, said) = said(Command::new(&ptxas).args(arguments).arg(&file));
        assert!(accepted, "{arch}: {said}");
        for kernel in cuda_builder::ptx::entry_points(ptx) {
            let properties = said.split_once(&format!("Function properties for {kernel}\n"));
            let spills = properties
                .and_then(|(_, rest)| rest.lines().next())
                .unwrap_or_default();
            assert!(
                spills.contains("0 bytes spill stores, 0 bytes spill loads"),
                "{arch}: {kernel}: {said}"
            );
        }
    }
}

pub const ARCHITECTURES: [&str; 6] = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"];
