//! Somebody else's first kernel: the session of docs/first-kernel.md in an empty folder outside of the repository, with the crates as they
//! are published; and the program, installed from its packages.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("the program can be run");
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn metadata() -> Value {
    let output = run(Command::new(env!("CARGO"))
        // Downloads what only other systems need: cargo also looks for that in the folder that stands for the registry.
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--all-features",
        ])
        .current_dir(root()));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A folder that stands for the registry: all packages of this repository that are published, as `cargo package` packs them, and all packages
/// that they depend on, on any system and with any feature. It is made once.
fn registry() -> &'static Path {
    static REGISTRY: OnceLock<PathBuf> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (to, packed) = (folder.join("registry"), folder.join("packed"));
        for old in [&to, &packed] {
            if old.exists() {
                fs::remove_dir_all(old).unwrap();
            }
        }
        fs::create_dir_all(&to).unwrap();
        let metadata = metadata();
        let packages = metadata["packages"].as_array().unwrap();
        let (ours, others): (Vec<_>, Vec<_>) = packages.iter().partition(|p| p["source"].is_null());
        let ours = || ours.iter().filter(|package| package["publish"].is_null());
        let name_of = |package: &Value| package["name"].as_str().unwrap().to_owned();
        let mut command = Command::new(env!("CARGO"));
        command.args(["package", "--no-verify", "--allow-dirty", "--offline"]);
        command.arg("--target-dir").arg(&packed);
        command.args(ours().flat_map(|package| ["-p".to_owned(), name_of(package)]));
        run(command.current_dir(root()));
        for package in ours() {
            let name = name_of(package);
            for field in ["description", "license", "readme"] {
                assert!(package[field].is_string(), "{name} has no {field}");
            }
            let full = format!("{name}-{}", package["version"].as_str().unwrap());
            let file = packed.join(format!("package/{full}.crate"));
            run(Command::new("tar")
                .arg("-xzf")
                .arg(&file)
                .arg("-C")
                .arg(&to));
            checksum(&to.join(&full));
        }
        for package in others {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            let source = manifest.parent().unwrap();
            let copy = to.join(source.file_name().unwrap());
            run(Command::new("cp").arg("-r").arg(source).arg(&copy));
            checksum(&copy);
        }
        to
    })
}

/// The folder in which all strangers compile, so that what their projects share is compiled once. It is emptied first: cargo would reuse what an
/// earlier run compiled there as long as the versions of our packages are the same, even if their sources have changed.
fn compiled() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        folder
    })
}

fn checksum(package: &Path) {
    let text = "{\"files\": {}, \"package\": null}";
    fs::write(package.join(".cargo-checksum.json"), text).unwrap();
}

/// The block of commands after this heading of the page.
fn session(heading: &str) -> String {
    let page = fs::read_to_string(root().join("docs/first-kernel.md")).unwrap();
    let (_, section) = page.split_once(&format!("## {heading}\n")).expect(heading);
    let (_, block) = section.split_once("```sh\n").expect("a block of commands");
    block.split_once("\n```").expect("its end").0.to_owned() + "\n"
}

/// A machine as a stranger's: an empty folder, a registry, and no variable that the documentation does not name.
struct Stranger {
    folder: tempfile::TempDir,
}

impl Stranger {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let crates = registry();
        fs::create_dir_all(folder.path().join(".cargo")).unwrap();
        let compiled = compiled();
        let config = format!(
            "[source.crates-io]\nreplace-with = \"packaged\"\n[source.packaged]\ndirectory = {crates:?}\n\
             [build]\ntarget-dir = {compiled:?}\nincremental = false\n[profile.dev]\ndebug = false\n"
        );
        fs::write(folder.path().join(".cargo/config.toml"), config).unwrap();
        Self { folder }
    }

    fn shell(&self, script: &str, source_of_core: bool) -> Command {
        let mut command = Command::new("bash");
        command.args(["-euc", script]).current_dir(&self.folder);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let of_this_build = name.starts_with("CARGO_") && name != "CARGO_HOME";
            if of_this_build || name.starts_with("CUDA_") || name.starts_with("TRISOLAR_") {
                command.env_remove(name);
            }
        }
        // The copies of `core` for GPUs that the tests of this repository have compiled, in place of the user's.
        let cores = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder");
        command.env(cuda_builder::CACHE_VARIABLE, cores);
        // In place of the component rust-src, or of its absence.
        let source = std::env::var_os(cuda_builder::RUST_SRC_VARIABLE);
        match (source_of_core, source) {
            (true, Some(source)) => command.env(cuda_builder::RUST_SRC_VARIABLE, source),
            (true, None) => &mut command,
            (false, _) => command.env(cuda_builder::RUST_SRC_VARIABLE, self.folder.path()),
        };
        // The stranger has the toolchain of this test, and no GPU even if this machine has one.
        let bin = Path::new(env!("CARGO")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", bin.display()));
        command.env("TRISOLAR_LIBCUDA", "none");
        command
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// The PTX that the build script of a project has made.
    fn kernels_of(&self, project: &str) -> String {
        let script = format!("cd {project}; cargo build --message-format=json");
        let output = run(&mut self.shell(&script, true));
        let stdout = String::from_utf8(output.stdout).unwrap();
        let messages = stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let folder = messages
            .filter(|message: &Value| message["reason"] == "build-script-executed")
            .find(|message| {
                let package = message["package_id"].as_str().unwrap();
                package.contains(self.path(project).to_str().unwrap())
            })
            .expect("a build script")["out_dir"]
            .clone();
        fs::read_to_string(Path::new(folder.as_str().unwrap()).join("kernels.modules")).unwrap()
    }
}

/// Whether this machine lacks the sources of `core`, as a build has printed. Kernels are not compiled for GPUs then, which is an error if
/// nothing must be skipped.
fn lacks_source_of_core(printed: &str) -> bool {
    let lacks = printed.contains("need the sources of Rust's core library");
    if lacks {
        assert!(std::env::var_os("TRISOLAR_NO_SKIP").is_none(), "{printed}");
        // eprintln! is not used because the test harness hides its output for tests that pass.
        let _ = writeln!(std::io::stderr(), "SKIPPED: PTX, without rust-src");
    }
    lacks
}

const RESULT: &str = "emulator: [0.0, 0.5, 1.0, 1.5, 2.0]";

#[test]
fn a_stranger_has_a_kernel_in_ten_steps() {
    let stranger = Stranger::new();
    let session = session("From an empty folder to a kernel");

    let output = run(&mut stranger.shell(&session, true));
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(stdout.contains(RESULT), "{stdout}\n{stderr}");
    let says = |text| assert!(stderr.contains(text), "{stderr}");
    says("the kernels run in the emulator, on the CPU");
    let emulator_only = lacks_source_of_core(&stderr);
    if !emulator_only {
        says("no usable GPU: no NVIDIA driver");
    }
    // The steps are as many as promised: every command of the page is one.
    let mut inside = false;
    let steps: Vec<&str> = (session.lines())
        .filter(|line| {
            let starts = !inside && !line.trim().is_empty();
            inside = (inside || line.contains("<<'END'")) && *line != "END";
            starts
        })
        .collect();
    assert!(steps.len() <= 10, "{steps:?}");

    // The template is what the session makes.
    for file in ["Cargo.toml", "build.rs", "src/kernels.rs", "src/main.rs"] {
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        let template = root().join("examples/first_kernel").join(file);
        let made = read(&stranger.path("first_kernel").join(file));
        assert_eq!(made, read(&template), "{file}");
    }

    // The program has the kernel for a GPU.
    if emulator_only {
        return;
    }
    let ptx = stranger.kernels_of("first_kernel");
    assert_eq!(cuda_builder::ptx::entry_points(&ptx), ["scale"]);
    for folder in [stranger.folder.path(), compiled()] {
        let folder = folder.to_str().unwrap();
        assert!(!ptx.contains(folder), "the PTX names {folder}");
    }

    // Nothing is built again when nothing has changed, and a change of the kernels is seen.
    let again = run(&mut stranger.shell("cd first_kernel; cargo build 2>&1", true));
    let again = String::from_utf8_lossy(&again.stdout);
    assert!(!again.contains("Compiling"), "{again}");
    let change = "cd first_kernel; sed -i 's/\\*= by/*= by + by/' src/kernels.rs; cargo run";
    let changed = run(&mut stranger.shell(change, true));
    let stdout = String::from_utf8_lossy(&changed.stdout);
    assert!(stdout.contains("[0.0, 1.0, 2.0, 3.0, 4.0]"), "{stdout}");
    assert_ne!(stranger.kernels_of("first_kernel"), ptx);

    // Modules within the module, other dependencies, and glam's vectors.
    let nested = r#"cd first_kernel
cargo add libm trisolar-cuda-std
mkdir src/kernels
cat > src/kernels/lengths.rs <<'END'
use cuda_std::{glam::Vec3, prelude::*};
/// # Safety
/// As many lengths as vectors.
#[kernel]
pub unsafe fn lengths(x: &[Vec3], lengths: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        unsafe { *lengths.add(i) = libm::sqrtf(x[i].dot(x[i])) + crate::kernels::ZERO };
    }
}
END
printf 'pub mod lengths;\npub const ZERO: f32 = 0.0;\n' >> src/kernels.rs
cat > build.rs <<'END'
fn main() {
    cuda_builder::CudaBuilder::module("src/kernels.rs").dependencies(&["libm"]).embed();
}
END
cat > src/main.rs <<'END'
mod kernels;
trisolar_device::include_kernels!();
use cuda_std::glam::Vec3;
use trisolar_device::{Buffer, Grid, gpu_or_emulator};
fn main() {
    let device = gpu_or_emulator();
    let x = Buffer::of(&device, &[Vec3::new(3.0, 4.0, 0.0), Vec3::X]).unwrap();
    let lengths = Buffer::<f32>::filled(&device, 2, 0).unwrap();
    unsafe { device.launch::<kernels::lengths::Lengths>(Grid::covering(2, 32), (x.slice(), lengths.as_mut_ptr())) }.unwrap();
    let mut result = [0.0; 2];
    lengths.download(&mut result).unwrap();
    println!("{result:?}");
}
END
cargo run"#;
    let output = run(&mut stranger.shell(nested, true));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(stdout, "[5.0, 1.0]\n");
    let ptx = stranger.kernels_of("first_kernel");
    assert!(ptx.contains(".entry lengths("), "{ptx}");

    // A wrong path is a message, not a panic.
    let wrong = "cd first_kernel; sed -i s,src/kernels.rs,src/kernel.rs, build.rs; cargo build";
    let output = stranger.shell(wrong, true).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        stderr.contains("the module src/kernel.rs cannot be compiled for the GPU")
            && !stderr.contains("panicked"),
        "{stderr}"
    );
}

#[test]
fn a_stranger_without_rust_src_is_told_and_has_the_emulator() {
    let stranger = Stranger::new();
    let output = run(&mut stranger.shell(&session("From an empty folder to a kernel"), false));
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stdout.contains(RESULT), "{stdout}");
    assert!(stderr.contains("rustup component add rust-src"), "{stderr}");
    assert!(
        stderr.contains(
            "kernels are not compiled for GPUs: GPU kernels need the sources of Rust's core library"
        ),
        "{stderr}"
    );
}

/// The session of README.md, without optimisation, since that takes minutes.
#[test]
#[ignore = "takes minutes; .ci/run all has it"]
fn the_program_installs_from_its_packages() {
    let stranger = Stranger::new();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let session = (readme.lines())
        .find(|line| line.starts_with("cargo install trisolar "))
        .expect("the command of README.md");
    // `cargo install` does not look for the configuration in the folder.
    let script = format!(
        "{session} --config .cargo/config.toml --debug --root installed
cd installed
bin/trisolar devices
bin/trisolar divergence --size 8 --steps 40 --backend cpu --out map.npy"
    );
    let mut command = stranger.shell(&script, false);
    let output = run(command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0"));
    let stdout = String::from_utf8_lossy(&output.stdout);
    // It has the kernels, though neither their sources nor those of `core` are there.
    assert!(stdout.contains("prebuilt"), "{stdout}");
    assert!(stranger.path("installed/map.npy").exists());
}

#[test]
fn kernels_may_be_a_crate_of_their_own() {
    let stranger = Stranger::new();
    let script = r#"cargo new two_crates && cd two_crates
cargo new --lib kernels
(cd kernels && cargo add trisolar-cuda-std)
cp "$EXAMPLE/src/kernels.rs" kernels/src/lib.rs
cp "$EXAMPLE/src/main.rs" src/main.rs
sed -i 's/^mod kernels;//' src/main.rs
cargo add trisolar-device
cargo add --path kernels
cargo add --build trisolar-cuda-builder
cat > build.rs <<'END'
fn main() {
    cuda_builder::CudaBuilder::new("kernels").embed();
}
END
cargo run"#;
    let mut command = stranger.shell(script, true);
    let example = root().join("examples/first_kernel").canonicalize().unwrap();
    command.env("EXAMPLE", example);
    let output = run(&mut command);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains(RESULT), "{stdout}");
    if !lacks_source_of_core(&String::from_utf8_lossy(&output.stderr)) {
        let ptx = stranger.kernels_of("two_crates");
        assert!(ptx.contains(".entry scale("), "{ptx}");
    }
}
