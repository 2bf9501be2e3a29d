//! The list of entry points matches the bindings in use.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn every_function_of_cust_raw_has_an_entry_point() {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--filter-platform"])
        .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .arg("--manifest-path")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let manifest = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["name"] == "cust_raw")
        .and_then(|p| p["manifest_path"].as_str())
        .expect("cust_raw among the dependencies");
    let bindings = std::path::Path::new(manifest)
        .with_file_name("src")
        .join("cuda.rs");
    let bindings = std::fs::read_to_string(bindings).unwrap();

    let declared: BTreeSet<&str> = bindings
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub fn "))
        .map(|rest| &rest[..rest.find('(').expect("a function has parameters")])
        .collect();
    let ours: BTreeSet<&str> = libcuda_lazy::SYMBOLS.iter().copied().collect();
    assert!(
        declared.contains("cuInit") && declared.contains("cuLaunchKernel"),
        "the bindings could not be parsed"
    );
    assert_eq!(
        ours.len(),
        libcuda_lazy::SYMBOLS.len(),
        "a name is listed twice"
    );
    assert_eq!(ours, declared);
}
