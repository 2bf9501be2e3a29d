//! Each package depends only on packages below it. The compiler enforces the manifests, and this test checks the manifests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The host's packages from the bottom up, each with the packages of this workspace on which it may depend.
const LAYERS: &[(&str, &[&str])] = &[
    ("trisolar-io", &[]),
    ("trisolar-simd", &["kernels-gpu"]),
    (
        "trisolar-device",
        &[
            "libcuda_lazy",
            "trisolar-cuda-std",
            "trisolar-driver",
            "trisolar-ptx",
        ],
    ),
    (
        "trisolar-run",
        &["trisolar-device", "trisolar-io", "trisolar-simd"],
    ),
    ("trisolar-spec", &["kernels-gpu", "trisolar-equations"]),
    (
        "trisolar-bodies",
        &[
            "kernels-gpu",
            "trisolar-equations",
            "trisolar-io",
            "trisolar-spec",
        ],
    ),
    ("trisolar-ensemble", GROUND),
    (
        "trisolar-time-run",
        &["trisolar-bodies", "trisolar-io", "trisolar-run"],
    ),
    ("trisolar-map", ENSEMBLE),
    ("trisolar-nbody", BELOW_TIME_RUNS),
    ("trisolar-cluster", BELOW_TIME_RUNS),
    ("trisolar-encounters", ENSEMBLE),
    ("trisolar-planets", ENSEMBLE),
    (
        "trisolar-equation-text",
        &[
            "trisolar-cuda-std",
            "trisolar-device",
            "trisolar-equations",
            "trisolar-simd",
            "trisolar-spec",
            "trisolar-system",
        ],
    ),
    ("trisolar-system", ENSEMBLE),
    // These are the only ones that depend on other systems.
    (
        "trisolar-atlas",
        &[
            "kernels-gpu",
            "trisolar-encounters",
            "trisolar-ensemble",
            "trisolar-io",
            "trisolar-planets",
            "trisolar-run",
        ],
    ),
    (
        "trisolar-zoom",
        &[
            "trisolar-device",
            "trisolar-encounters",
            "trisolar-ensemble",
            "trisolar-equation-text",
            "trisolar-io",
            "trisolar-map",
            "trisolar-planets",
            "trisolar-run",
            "trisolar-spec",
            "trisolar-system",
        ],
    ),
    ("trisolar-explore", &[]),
];

/// The packages below all systems.
const GROUND: &[&str] = &[
    "trisolar-cuda-std",
    "trisolar-equations",
    "kernels-gpu",
    "trisolar-bodies",
    "trisolar-device",
    "trisolar-io",
    "trisolar-run",
    "trisolar-simd",
    "trisolar-spec",
];

/// The packages below the systems whose items do not know one another.
const ENSEMBLE: &[&str] = &[
    "trisolar-cuda-std",
    "trisolar-equations",
    "kernels-gpu",
    "trisolar-bodies",
    "trisolar-device",
    "trisolar-ensemble",
    "trisolar-io",
    "trisolar-run",
    "trisolar-simd",
    "trisolar-spec",
];

/// The packages below N-body runs and clusters.
const BELOW_TIME_RUNS: &[&str] = &[
    "trisolar-cuda-std",
    "trisolar-equations",
    "kernels-gpu",
    "trisolar-bodies",
    "trisolar-device",
    "trisolar-io",
    "trisolar-run",
    "trisolar-simd",
    "trisolar-spec",
    "trisolar-time-run",
];

/// Crates that only one package may depend on.
const EXCLUSIVE: &[(&str, &str)] = &[
    ("nvml-wrapper-sys", "trisolar-device"),
    ("mpi", "trisolar-systems"),
    ("clap", "trisolar-cli"),
];

/// What cargo says of the packages of the workspace.
fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The dependencies of each package of the workspace, without dev-dependencies.
fn packages() -> BTreeMap<String, Vec<String>> {
    let metadata = metadata();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let dependencies = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|d| d["kind"] != "dev")
            .map(|d| text(&d["name"]))
            .collect()
    };
    let all = metadata["packages"].as_array().unwrap().iter();
    all.map(|p| (text(&p["name"]), dependencies(p))).collect()
}

#[test]
fn each_package_depends_only_on_those_below_it() {
    let packages = packages();
    for (name, allowed) in LAYERS {
        let known = packages
            .get(*name)
            .unwrap_or_else(|| panic!("there is no package {name}"));
        for other in known.iter().filter(|d| packages.contains_key(*d)) {
            assert!(
                allowed.contains(&other.as_str()),
                "{name} depends on {other}, which is not below it"
            );
        }
    }
    let listed = |name: &str| LAYERS.iter().any(|(known, _)| *known == name);
    let above = ["trisolar-cli", "trisolar-python", "trisolar-systems"];
    // The kernel kit is below all layers and knows nothing of them.
    let kit = [
        "trisolar-cuda-builder",
        "trisolar-cuda-std",
        "trisolar-cuda-std-macros",
        "trisolar-driver",
        "trisolar-equations",
        "trisolar-ptx",
    ];
    for name in packages.keys().filter(|n| n.starts_with("trisolar-")) {
        assert!(
            listed(name) || above.contains(&name.as_str()) || kit.contains(&name.as_str()),
            "{name} has no place among the layers"
        );
    }
}

#[test]
fn mpi_nvml_and_clap_are_used_by_one_package_each() {
    for (name, dependencies) in packages() {
        for (dependency, owner) in EXCLUSIVE {
            assert!(
                name == *owner || !dependencies.iter().any(|d| d == dependency),
                "{name} depends on {dependency}, which is {owner}'s"
            );
        }
    }
}

fn sources(folder: &Path, list: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, list);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "toml") {
            list.push(path);
        }
    }
}

/// Whether a text refers to a crate, in code or in a manifest, in which features may have its name.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut features = false;
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//") && !line.trim_start().starts_with('#'))
        .filter(|line| {
            if line.starts_with('[') {
                features = *line == "[features]";
            }
            !features
        })
        .any(|line| line.split(|c| !is_part(c)).any(|word| word == name))
}

#[test]
fn only_the_device_package_refers_to_cust() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let devices = root.join("host/gpu");
    let mut list = vec![root.join("Cargo.toml"), root.join("build.rs")];
    sources(&root.join("host"), &mut list);
    let naming: Vec<PathBuf> = (list.into_iter())
        .filter(|path| names(&std::fs::read_to_string(path).expect("a text"), "cust"))
        .collect();
    let outside: Vec<&PathBuf> = naming.iter().filter(|p| !p.starts_with(&devices)).collect();
    assert!(outside.is_empty(), "{outside:?}");
    assert!(naming.contains(&devices.join("cuda.rs")));
}

/// Whether a text has a test in its documentation: a block of code without a language is Rust.
fn has_doc_tests(text: &str) -> bool {
    let mut inside = false;
    let lines = text.lines().map(str::trim_start);
    let blocks = lines.filter_map(|line| {
        let comment = line.strip_prefix("///").or(line.strip_prefix("//!"))?;
        comment.trim_start().strip_prefix("```")
    });
    let mut starts = blocks.filter(|_| {
        inside = !inside;
        inside
    });
    let rust = [
        "",
        "rust",
        "no_run",
        "should_panic",
        "compile_fail",
        "ignore",
    ];
    starts.any(|language| rust.contains(&language.split(',').next().unwrap_or_default().trim()))
}

/// Compiling a package once more for no test takes time, and a test that cargo does not look for is never run.
#[test]
fn where_cargo_looks_for_no_tests_there_are_none() {
    let metadata = metadata();
    let mut without = 0;
    for package in metadata["packages"].as_array().unwrap() {
        for target in package["targets"].as_array().unwrap() {
            let kind = target["kind"][0].as_str().unwrap();
            if !["bin", "lib", "rlib", "cdylib", "proc-macro"].contains(&kind) {
                continue;
            }
            let main = Path::new(target["src_path"].as_str().unwrap());
            let folder = main.parent().unwrap();
            let mut list = Vec::new();
            sources(folder, &mut list);
            let manifests: Vec<PathBuf> = (list.iter().filter_map(|path| path.parent()))
                .filter(|inner| *inner != folder && inner.join("Cargo.toml").is_file())
                .map(Path::to_owned)
                .collect();
            let is_own = |path: &&PathBuf| {
                path.extension().is_some_and(|e| e == "rs")
                    && !path.starts_with(folder.join("tests"))
                    && !manifests.iter().any(|inner| path.starts_with(inner))
            };
            for path in list.iter().filter(is_own) {
                let text = std::fs::read_to_string(path).expect("a text");
                let has_tests = text.lines().any(|line| line.trim() == "#[test]");
                assert!(target["test"] == true || !has_tests, "{}", path.display());
                let documented = kind == "bin" || target["doctest"] == true;
                assert!(documented || !has_doc_tests(&text), "{}", path.display());
            }
            without += usize::from(target["test"] == false);
        }
    }
    assert!(without > 0);
}
