//! `--simd`: every command that computes on the CPU takes it, says which instruction set it used, and gives the same bits.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use trisolar::simd::Simd;

fn trisolar(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::cargo_bin("trisolar").expect("the binary is built with the tests");
    command.current_dir(folder).args(words);
    command
}

/// Commands with a small run on the CPU each, and a file of its results where the command writes one.
const RUNS: [(&[&str], Option<&str>); 7] = [
    (
        &["divergence", "--size=9", "--steps=300", "--out=map.npy"],
        Some("map.npy"),
    ),
    (
        &[
            "zoom",
            "--out=zoom",
            "--npy",
            "--frames=2",
            "--size=5",
            "--set=steps=50",
        ],
        Some("zoom/frame-00001.npy"),
    ),
    (
        &[
            "sweep",
            "--out=sweep",
            "--vary=mass2=1:2:2",
            "--size=5",
            "--steps=50",
        ],
        Some("sweep/frame-00001.npy"),
    ),
    (
        &["compare", "--size=5", "--steps=50", "--out=compare.png"],
        None,
    ),
    (
        &["nbody", "--n=20", "--steps=5", "--out=end.npz"],
        Some("end.npz"),
    ),
    (
        &["cluster", "--n=20", "--end=0.1", "--out=end-cluster.npz"],
        Some("end-cluster.npz"),
    ),
    (
        &["encounters", "--n=4", "--out=records.npz"],
        Some("records.npz"),
    ),
];

/// All texts of a JSON value that name an engine or a device.
fn engines(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| engines(value, key, found)),
        Value::Array(all) => all.iter().for_each(|value| engines(value, key, found)),
        Value::String(text) if ["device", "engine"].contains(&key) && text.contains("thread") => {
            found.push(text.clone());
        }
        _ => {}
    }
}

#[test]
fn every_command_computes_with_the_chosen_instruction_set_and_gets_the_same_bits() {
    for (words, file) in RUNS {
        let mut results = Vec::new();
        for simd in Simd::available() {
            let folder = tempfile::tempdir().expect("a folder");
            let mut words = words.to_vec();
            words.extend(["--backend=cpu", "--json", "--simd", simd.name()]);
            let output = trisolar(folder.path(), &words).output().expect("starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words:?}: {said}");
            let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let mut used = Vec::new();
            engines(&object, "", &mut used);
            assert!(!used.is_empty(), "{words:?}: {object}");
            for engine in used {
                assert!(engine.contains(&simd.to_string()), "{words:?}: {engine}");
            }
            results.extend(file.map(|file| fs::read(folder.path().join(file)).expect(file)));
        }
        assert!(
            results.windows(2).all(|pair| pair[0] == pair[1]),
            "{words:?}"
        );
        assert!(file.is_none() || results.len() == Simd::available().len());
    }
}

#[test]
fn benchmarks_measure_the_chosen_instruction_set_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    for simd in Simd::available() {
        let words = [
            "bench",
            "divergence",
            "--backend=cpu",
            "--size=4",
            "--steps=50",
            "--threads=1",
            "--json",
            "--simd",
            simd.name(),
        ];
        let output = trisolar(folder.path(), &words).output().expect("starts");
        let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = object["rows"].as_array().expect("rows");
        let engines = rows.iter().filter_map(|row| row["engine"].as_str());
        let of_lanes: Vec<_> = engines.filter(|e| e.starts_with("cpu")).collect();
        assert_eq!(of_lanes, [format!("cpu, {simd}")]);
    }
}

#[test]
fn an_instruction_set_that_is_not_there_is_refused_by_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands = [
        "divergence",
        "zoom",
        "sweep",
        "compare",
        "nbody",
        "cluster",
        "encounters",
        "encounters zoom",
        "encounters sweep",
        "explore",
        "selftest",
        "bench divergence",
        "bench cluster",
        "bench encounters",
        "bench planets",
        "bench nbody",
        "bench solvers",
    ];
    for command in commands {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.push("--simd=AVX9");
        let assert = trisolar(folder.path(), &words).assert().code(2);
        let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(
            said.contains("'AVX9' for '--simd <NAME>': must be scalar, "),
            "{command}: {said}"
        );
    }
    let lacking = Simd::NAMES
        .iter()
        .find(|name| name.parse::<Simd>().is_err());
    if let Some(name) = lacking {
        let assert = trisolar(folder.path(), &["nbody", "--simd", name])
            .assert()
            .code(2);
        let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(
            said.contains("this machine does not have it; it can use: scalar"),
            "{said}"
        );
    }
}
