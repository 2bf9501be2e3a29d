//! Checks of the PTX that the library embeds.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use kernels_gpu::encounters::step::{FAST_KICK_OPERATIONS, KICK_OPERATIONS};
use kernels_gpu::integrator::MapIntegrator;
use kernels_gpu::methods::{Compiled, Entries, Visitor};
use kernels_gpu::number::Precision;
use kernels_gpu::quantity::Quantity;
use trisolar::Integrator;
use trisolar::divergence::Precision as MapPrecision;
use trisolar::equation_text::ptx::kernel;
use trisolar::equation_text::{Equations, Text, trace};
use trisolar::system::Overrides;

use super::{parts, unpacked};

static MODULES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let (_, packed) = parts(include_bytes!(concat!(env!("OUT_DIR"), "/kernels.modules")));
    packed.into_iter().map(unpacked).collect()
});
/// All modules in one text.
static PTX: LazyLock<String> = LazyLock::new(|| MODULES.concat());

/// What `ptxas` reports of a text.
fn compiled_by(ptxas: &std::path::Path, arch: &str, text: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("kernels.ptx");
    std::fs::write(&file, text).expect("writes");
    let output = Command::new(ptxas)
        .args(["-v", "-o", "/dev/null", "-arch", arch])
        .arg(&file)
        .output()
        .expect("runs");
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arch}: {report}");
    report
}

/// Lines of code without comments.
fn code() -> impl Iterator<Item = &'static str> {
    PTX.lines()
        .map(|line| line.split("//").next().unwrap_or("").trim())
        .filter(|l| !l.is_empty())
}

/// The body of an entry, from its name to the closing brace.
fn entry(name: &str) -> &'static str {
    let start = PTX
        .find(&format!(".entry {name}("))
        .unwrap_or_else(|| panic!("no entry {name}"));
    let end = PTX[start..].find("\n}").expect("a closing brace");
    &PTX[start..start + end]
}

#[test]
fn every_map_kernel_is_an_entry() {
    for kernel in trisolar::divergence::DivergenceKernel::ALL {
        assert!(!entry(kernel.name()).is_empty());
    }
}

#[test]
fn every_kernel_of_the_ladder_is_an_entry() {
    for rung in trisolar::divergence::Rung::ALL {
        assert!(!entry(rung.entry()).is_empty());
    }
}

/// Checks that the kernels of a method are entries.
struct AreEntries;

impl<Q: Quantity> Visitor<Q> for AreEntries {
    type Output = ();

    fn visit<P: Precision, I: MapIntegrator>(self, entries: Entries<Q, P, I>) {
        let uniform = entries.map_uniform.map(|kernel| kernel.name());
        for name in [entries.map.name()].into_iter().chain(uniform) {
            assert!(!entry(name.expect("it is exported")).is_empty());
        }
    }
}

/// The number of methods of a quantity, over all names of precisions and integrators.
fn methods_of<Q: Compiled>() -> usize {
    let integrators = Integrator::ALL.iter().map(|i| i.name());
    let methods = integrators.flat_map(|i| MapPrecision::ALL.map(|p| (p.kind(), i)));
    methods
        .filter_map(|(precision, integrator)| Q::with_method(precision, integrator, AreEntries))
        .count()
}

#[test]
fn every_method_of_the_table_has_its_kernels() {
    let integrators = Integrator::ALL.len();
    // Double-double has seven integrators more than explicit Euler.
    let others = MapPrecision::ALL.len() - 1 + 7;
    let mut quantities = 0;
    macro_rules! count {
        ([] $($quantity:ident $q:ident $precisions:ident,)*) => {$(
            let all = match stringify!($precisions) {
                "every" => integrators + others,
                _ => integrators,
            };
            assert_eq!(methods_of::<kernels_gpu::quantity::$quantity>(), all);
            quantities += 1;
        )*};
    }
    kernels_gpu::quantities!({count} []);
    let maps = PTX.matches("\n.visible .entry map_").count();
    // Each method has one kernel, a second one in the precisions fast, fixed and float-float.
    assert_eq!(maps, quantities * integrators + others + 3);
}

#[test]
fn no_unresolved_functions_are_left() {
    // The driver itself provides these functions.
    let known = ["vprintf", "malloc", "free", "__assertfail"];
    for line in code().filter(|l| l.starts_with(".extern .func")) {
        assert!(known.iter().any(|k| line.contains(k)), "unresolved: {line}");
    }
}

#[test]
fn no_kernel_uses_local_memory() {
    let names = PTX
        .lines()
        .filter_map(|l| l.strip_prefix(".visible .entry "))
        .filter_map(|l| l.split('(').next())
        .filter(|name| !has_local_data(name));
    for name in names {
        // An atomic operation may ask whether its address is local.
        for line in entry(name).lines().filter(|l| !l.contains("isspacep")) {
            assert!(
                !line.contains(".local") && !line.contains("__local_depot"),
                "{name}: {line}"
            );
        }
    }
}

#[test]
fn map_kernels_use_fma_only_where_written_and_no_roots_or_approximations() {
    for kernel in trisolar::divergence::DivergenceKernel::ALL {
        let body = entry(kernel.name());
        assert!(body.contains("fma.rn.f64"), "{}", kernel.name());
        for forbidden in ["sqrt", "rsqrt", ".approx", "bar.sync", "mad.f", "fma.rz"] {
            assert!(
                !body.contains(forbidden),
                "{} has {forbidden}",
                kernel.name()
            );
        }
    }
}

/// The instructions of a kernel that start with this.
fn count(name: &str, instruction: &str) -> usize {
    let lines = entry(name).lines().map(str::trim_start);
    lines.filter(|l| l.starts_with(instruction)).count()
}

#[test]
fn a_pair_of_the_reduced_solver_takes_the_expected_instructions() {
    // Eight steps with eight bodies per lane are written out, and one round of pairs within a row.
    let (mutual, one_sided) = (64, 8);
    for (name, products) in [("nbody_reduced_f32", 4), ("nbody_equal_f32", 2)] {
        assert_eq!(
            count(name, "rsqrt.approx.ftz.f32"),
            mutual + one_sided,
            "{name}"
        );
        assert_eq!(
            count(name, "fma.rn.f32"),
            9 * mutual + 6 * one_sided,
            "{name}"
        );
        let most = products * mutual + 3 * one_sided + 64;
        assert!(count(name, "mul.") < most, "{name}");
        // Seven numbers travel per step; the strength travels only where it is needed.
        let travelling = if products == 2 { 6 } else { 7 };
        assert_eq!(count(name, "shfl.sync.bfly"), travelling * 8, "{name}");
    }
    for name in ["nbody_reduced_f64", "nbody_tile_f64_k4", "nbody_steps_f64"] {
        for forbidden in ["sqrt", ".approx", "div.rn"] {
            assert!(!entry(name).contains(forbidden), "{name}: {forbidden}");
        }
    }
}

#[test]
fn barriers_are_neither_dropped_nor_duplicated() {
    // There are two barriers around a tile, and two grid barriers with two each.
    assert_eq!(count("nbody_tile_f32_k4", "bar.sync"), 2);
    assert_eq!(count("nbody_steps_f32", "bar.sync"), 4);
    // There are two barriers around a tile in each of the two forms of its loop, and two around the fold of the rows.
    assert_eq!(count("hermite_tiles_6", "bar.sync"), 6);
    // Chains have one barrier after the first tile, two around every further tile for each of the three kinds of sets, one before the first team
    // that follows other sets, and two around the terms of a team.
    let chains = 1 + 6 + 1 + 2;
    // There are six grid barriers with two each. There is one after each unit of chains, one for the fold of a body with its own block, one before
    // each of the two corrections, and one before folded sums are overwritten.
    assert_eq!(count("hermite_steps_6", "bar.sync"), 12 + chains + 5);
    // There are three grid barriers with two each. There is one after the stars have been read, two in the evaluation of the announcements, one before
    // folded sums are overwritten, one before the correction, one after that of many bodies, and one before the last steps are copied.
    assert_eq!(count("hermite_divided_steps_6", "bar.sync"), 6 + chains + 7);
    // There is one grid barrier with two. There is one after the choice of the time, two around the list of active bodies, one after each thread
    // of a partial sum, and one after the fold.
    assert_eq!(count("hermite_small_steps_6", "bar.sync"), 2 + 5);
    // There are four grid barriers with two each, and those of the tiles.
    assert_eq!(count("hermite_neighbour_steps_4", "bar.sync"), 8 + 6);
}

#[test]
fn the_ptx_contains_no_paths_of_the_build_machine() {
    for place in [env!("CARGO_MANIFEST_DIR"), env!("OUT_DIR")] {
        assert!(!PTX.contains(place), "{place}");
    }
}

/// ptxas, from the variable TRISOLAR_PTXAS or the search path.
fn ptxas() -> Option<PathBuf> {
    let given = std::env::var_os("TRISOLAR_PTXAS").map(PathBuf::from);
    let found = given.unwrap_or_else(|| "ptxas".into());
    let runs = Command::new(&found)
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success());
    runs.then_some(found)
}

/// Adams–Bashforth 4 keeps 96 64-bit numbers per thread (positions and velocities of the twins, and their memory of earlier
/// steps), which exceeds the 255 registers of a thread. The system with its tangent vector needs as many, and Adams–Bashforth 2 in
/// double-double more.
const MAY_SPILL: [&str; 3] = [
    "map_divergence_adams_bashforth_2_double_double",
    "map_divergence_adams_bashforth_4_f64",
    "map_ftle_adams_bashforth_4_f64",
];

/// Bytes that a kernel may spill. Block steps of clusters exceed the registers by some, at order 8 and those by several devices by more;
/// those of the Ahmad–Cohen scheme use all of them, and on some architectures a few more.
fn may_spill(kernel: &str) -> usize {
    if MAY_SPILL.contains(&kernel) {
        usize::MAX
    } else if let Some(rest) = kernel.strip_prefix("hermite_steps_") {
        match (rest.starts_with("together_"), rest.ends_with('8')) {
            (false, false) => 340,
            (false, true) => 720,
            (true, false) => 800,
            (true, true) => 1120,
        }
    } else if let Some(rest) = kernel.strip_prefix("hermite_divided_steps_") {
        if rest.starts_with('8') { 400 } else { 64 }
    } else if let Some(rest) = kernel.strip_prefix("hermite_small_steps_") {
        if rest.starts_with('8') { 400 } else { 64 }
    } else if kernel.starts_with("map_divergence_regularised_")
        && kernel.ends_with("_double_double")
    {
        // They have twice as many numbers, but also twice the registers.
        4000
    } else if kernel.starts_with("hermite_neighbour_steps_") || kernel.ends_with("_double_double") {
        64
    } else if kernel.starts_with("map_divergence_regularised_") {
        // The states of two twins and their polynomials do not fit into the 128 registers of a thread.
        1700
    } else if kernel.starts_with("map_ftle_regularised_") {
        2200
    } else if let Some(rest) = kernel.strip_prefix("planets_") {
        // Systems of three planets and more with tangent vectors have more numbers than 255 registers hold, and so have kicks of eight planets and,
        // by far, the twelve stages of adaptive steps.
        match rest {
            "alone" | "alone_2" | "alone_3" | "alone_4" | "tangent" => 0,
            _ if rest.contains("adaptive_") => 9000,
            _ => 1100,
        }
    } else {
        0
    }
}

/// Whether a kernel keeps data in local memory. Those of an encounter other than its state are accessed by functions between blocks of
/// steps, and the partial sums of a thread of a Hermite kernel that waits for their fold, once for each partial sum.
fn has_local_data(kernel: &str) -> bool {
    is_of_encounters(kernel)
        // The masses of a pixel come from a function that encounters use too.
        || kernel.contains("_regularised_")
        // The table of 2/π for the reduction of large angles.
        || kernel == "equation_functions"
        // The number of planets is known at run time only.
        || kernel.starts_with("planets_")
        // An axis of the grid is an index of its argument.
        || kernel == "divergence_plain"
        || kernel.starts_with("hermite_tiles_")
        || kernel.starts_with("hermite_steps_together_")
        || kernel.starts_with("hermite_neighbour_steps_")
}

/// Whether a kernel integrates encounters; its functions spill.
fn is_of_encounters(kernel: &str) -> bool {
    ENCOUNTERS.iter().any(|(name, _)| *name == kernel)
}

/// The kernels of encounters, with the documented number of operations of a kick.
const ENCOUNTERS: [(&str, f64); 2] = [
    ("encounters_f64", KICK_OPERATIONS),
    ("encounters_fast", FAST_KICK_OPERATIONS),
];

#[test]
fn ptxas_accepts_the_kernels_without_spills() {
    let Some(ptxas) = ptxas() else {
        // .ci/run provides ptxas and sets this variable. (eprintln! is not used because the harness hides its output for tests
        // that pass.)
        assert!(std::env::var_os("TRISOLAR_NO_SKIP").is_none(), "no ptxas");
        let _ = std::io::stderr().write_all(
            b"SKIPPED: no ptxas (set TRISOLAR_PTXAS, or install the PyPI package nvidia-cuda-nvcc)\n",
        );
        return;
    };
    let check = |arch: &str| {
        let report: String = MODULES
            .iter()
            .map(|text| compiled_by(&ptxas, arch, text))
            .collect();
        let mut kernel = "";
        let mut seen = 0;
        let is_entry = |name: &str| PTX.contains(&format!("\n.visible .entry {name}("));
        for line in report.lines() {
            if let Some((_, rest)) = line.split_once("Function properties for ") {
                kernel = rest.trim();
            } else if line.contains("spill stores") && is_entry(kernel) {
                seen += 1;
                if is_of_encounters(kernel) {
                    continue;
                }
                let bytes = |of: &str| -> usize {
                    let (before, _) = line.split_once(of).expect("ptxas reports it");
                    let number = before.trim_end().rsplit([' ', ',']).next();
                    number.and_then(|n| n.parse().ok()).expect("a number")
                };
                let spilled = bytes("bytes spill stores").max(bytes("bytes spill loads"));
                assert!(spilled <= may_spill(kernel), "{kernel} on {arch}: {line}");
                let stack = bytes("bytes stack frame") > 0;
                assert!(
                    !stack || spilled > 0 || has_local_data(kernel),
                    "{kernel} on {arch}: {line}"
                );
            }
        }
        assert_eq!(seen, PTX.matches("\n.visible .entry ").count(), "{arch}");
    };
    // One is more than a minute of work for one core: before a release all, otherwise the one with most figures.
    let architectures: &[&str] = match std::env::var_os("TRISOLAR_ALL_ARCHITECTURES") {
        Some(_) => &["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"],
        None => &["sm_90"],
    };
    std::thread::scope(|scope| {
        for arch in architectures {
            scope.spawn(|| check(arch));
        }
    });
    println!("ptxas ran for {}", architectures.join(", "));
}

/// A kernel that is made of equations at run time, behind the functions that it calls.
#[test]
fn ptxas_accepts_a_kernel_of_equations() {
    let Some(ptxas) = ptxas() else {
        assert!(std::env::var_os("TRISOLAR_NO_SKIP").is_none(), "no ptxas");
        return;
    };
    let text =
        "x' = sin(y) + cos(y); y' = exp(-y) + ln(2 + x^2) + tanh(x) + atan2(y, t); far: x > 9";
    let overrides = Overrides {
        ode: Some(text.into()),
        draw: vec!["x=uniform:0:1".into()],
        ..Overrides::default()
    };
    let valid = Text::validated(&overrides).unwrap();
    let traced = trace(&Equations::parse(text, &[]).unwrap(), valid.job());
    let kernel = kernel(&traced, valid.job()).unwrap();
    let mut modules = MODULES.iter();
    let functions = modules.find(|text| text.contains(".entry equation_functions("));
    let whole = functions.expect("the functions").to_owned() + &kernel;
    for arch in ["sm_75", "sm_90"] {
        compiled_by(&ptxas, arch, &whole);
    }
}

#[test]
fn a_kick_has_as_many_operations_as_documented() {
    for (name, of_a_kick) in ENCOUNTERS {
        // The loop over the stages of a step is the block with the most operations. Three stages are written out.
        let operations = entry(name).split("\n$L__").filter_map(|block| {
            let (label, lines) = block.split_once(':')?;
            let again = lines
                .lines()
                .any(|l| l.contains("bra") && l.ends_with(&format!("$L__{label};")));
            let is_one = |l: &&str| {
                ["fma.rn.f64", "mul.rn.f64", "add.rn.f64", "sub.rn.f64"]
                    .iter()
                    .any(|o| l.contains(o))
            };
            again.then(|| lines.lines().filter(is_one).count())
        });
        let most = operations.max().expect("a loop");
        assert_eq!(most as f64, 3.0 * of_a_kick, "{name}");
    }
}

/// The all-pairs kernels, with the number of resident threads for which the engine compiles them: 512 (384 for `f64`).
#[test]
fn kernels_that_fill_the_registers_do_not_spill() {
    let Some(ptxas) = ptxas() else {
        assert!(std::env::var_os("TRISOLAR_NO_SKIP").is_none(), "no ptxas");
        return;
    };
    let kernels = [
        ("nbody_reduced_f32", 4),
        ("nbody_atomic_f32", 4),
        ("nbody_equal_f32", 4),
        ("nbody_tile_f32_k8", 4),
        ("nbody_reduced_f64", 3),
        ("nbody_atomic_f64", 3),
        ("nbody_equal_f64", 3),
    ];
    for (name, blocks) in kernels {
        let own = MODULES
            .iter()
            .find(|text| text.contains(&format!(".entry {name}(")));
        let own = own.unwrap_or_else(|| panic!("no entry {name}"));
        let told = format!("\n.maxntid 128, 1, 1\n.minnctapersm {blocks}\n{{");
        let body = entry(name);
        let text = own.replacen(body, &body.replacen("\n{", &told, 1), 1);
        for arch in ["sm_75", "sm_80", "sm_90", "sm_120"] {
            let report = compiled_by(&ptxas, arch, &text);
            let spills = report.lines().find(|line| line.contains("spill stores"));
            assert!(
                spills.is_some_and(|l| l.contains("0 bytes stack frame, 0 bytes spill stores")),
                "{name}, {arch}: {report}"
            );
        }
    }
}
