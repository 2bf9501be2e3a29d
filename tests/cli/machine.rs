//! `devices`, `selftest` and `bench`: what hardware a machine has, whether it computes correctly, and how fast.

use std::collections::BTreeSet;

use crate::agreement;

use assert_cmd::Command;
use predicates::prelude::*;
use serde_json::Value;

fn trisolar() -> Command {
    Command::cargo_bin("trisolar").expect("the binary is built with the tests")
}

fn json(arguments: &[&str]) -> Value {
    let output = trisolar().args(arguments).arg("--json").output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn devices_lists_the_cpu_and_says_whether_there_is_a_gpu() {
    let object = json(&["devices"]);
    let simd = object["cpu"]["simd"].as_array().unwrap();
    assert_eq!(
        simd.last().unwrap()["lanes"],
        1,
        "one lane works everywhere"
    );
    assert_eq!(
        object["gpus"].as_array().unwrap().is_empty(),
        object["no_gpu"].is_string()
    );
    let text = trisolar().arg("devices").assert().success();
    let text = String::from_utf8(text.get_output().stdout.clone()).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    for word in ["gpu", "cpu", "threads", "simd", "fma"] {
        assert!(
            text.lines().any(|l| l.starts_with(word)),
            "{word} is not in {text}"
        );
    }
}

/// The values of a key of the results of a system in the self test, without the numbers of runs and of systems.
fn distinct(object: &Value, system: &str, key: &str) -> BTreeSet<String> {
    let results = object[system].as_array().unwrap();
    let values = results.iter().map(|r| r[key].as_str().unwrap());
    values
        .map(|value| match value.split_once(", ") {
            Some((engine, few)) if few.ends_with(" runs") || few.ends_with(" systems") => {
                engine.to_owned()
            }
            _ => value.to_owned(),
        })
        .collect()
}

/// Checks what the whole self test and the quick one have in common.
fn check_selftest(object: &Value) {
    assert_eq!(object["passed"], true);
    agreement::check(object, &agreement::schema(), "selftest");
    assert_eq!(object["errors"]["wrong_results"], 0);
    assert!(object["seconds"].as_f64() > Some(0.0));
    for system in ["results", "clusters", "encounters", "planets", "nbody"] {
        let results = object[system].as_array().unwrap();
        assert!(results.iter().all(|r| r["different"] == 0), "{results:#?}");
    }
    let steps = 200;
    let maps = object["maps"].as_array().unwrap();
    let first = &maps[0];
    let earliest = |map: &Value| map["earliest"].as_u64().unwrap();
    assert!(earliest(first) < steps / 4, "early partings");
    let latest = first["latest"].as_u64().unwrap();
    assert!(latest > steps * 3 / 4, "late partings");
    assert!(first["never_parted"].as_u64().unwrap() > 0);
    assert!(
        maps.iter()
            .any(|m| m["pixels"].as_u64().unwrap() % 2 == 1 && earliest(m) < steps)
    );
}

/// Checks that a self test compares every engine.
fn check_engines(object: &Value) {
    let engines = distinct(object, "results", "engine");
    for engine in [
        "scalar",
        "emulator, divergence_plain",
        "emulator, map_divergence_explicit_euler_f64",
    ] {
        assert!(engines.iter().any(|e| e.contains(engine)), "{engine}");
    }
    let results = object["results"].as_array().unwrap();
    for method in [
        "fixed:26, explicit-euler, grid",
        "float-float, explicit-euler, points with masses",
        "f64, hermite-4, points with masses",
    ] {
        let engines = results.iter().filter(|r| r["map"] == method);
        assert!(engines.count() >= 4, "{method}");
    }
    let clusters = distinct(object, "clusters", "engine");
    for engine in ["emulator", "emulator, its block steps"] {
        assert!(clusters.contains(engine), "{engine}");
    }
    let systems = distinct(object, "planets", "map");
    for case in ["planets_alone, 15 planets", "planets_tangent, 1 planet"] {
        assert!(systems.contains(case), "{case}");
    }
}

#[test]
fn a_quick_selftest_finds_every_engine_equal_on_maps_of_all_kinds_of_pixels() {
    let quick = json(&["selftest", "--quick"]);
    check_selftest(&quick);
    check_engines(&quick);
    assert_eq!(quick["specification"]["quick"], true);
    let notes = quick["notes"].to_string();
    assert!(notes.contains("quick: "), "{notes}");
}

#[test]
#[ignore = "takes minutes; .ci/run all has it"]
fn a_quick_selftest_leaves_out_no_engine_method_or_kind_of_start() {
    let object = json(&["selftest"]);
    check_selftest(&object);
    check_engines(&object);
    assert_eq!(object["specification"]["quick"], false);
    assert!(object["maps"][0]["pixels"].as_u64().unwrap() >= 256 * 256);

    let quick = json(&["selftest", "--quick"]);
    for system in ["results", "clusters", "encounters", "planets", "nbody"] {
        let engines = distinct(&object, system, "engine");
        assert_eq!(engines, distinct(&quick, system, "engine"), "{system}");
    }
    for system in ["clusters", "encounters", "planets"] {
        let cases = distinct(&object, system, "map");
        assert_eq!(cases, distinct(&quick, system, "map"), "{system}");
    }
    let count = |object: &Value| object["maps"].as_array().unwrap().len();
    assert_eq!(count(&object), count(&quick));
    // The name of a problem is a solver, a precision and an integrator.
    let words = |object: &Value, index: usize| -> BTreeSet<String> {
        let problems = distinct(object, "nbody", "problem");
        let words = problems.iter().map(|p| p.split(", ").nth(index).unwrap());
        words.map(str::to_owned).collect()
    };
    for index in 0..3 {
        assert_eq!(words(&object, index), words(&quick, index));
    }
    let pixels = |object: &Value| -> u64 {
        let maps = object["maps"].as_array().unwrap();
        maps.iter().map(|m| m["pixels"].as_u64().unwrap()).sum()
    };
    assert!(8 * pixels(&quick) < pixels(&object));
}

#[test]
fn the_table_of_a_quick_selftest_says_so() {
    let assert = trisolar()
        .args(["selftest", "--quick", "--simd", "scalar"])
        .assert()
        .success()
        .stdout(predicate::str::contains("quick: maps are small"));
    let said = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    assert!(said.contains("equal, bit for bit"), "{said}");
    assert!(said.lines().all(|l| !l.contains("DIFFER")), "{said}");
}

#[test]
fn bench_compares_every_engine_with_the_plain_loop() {
    let arguments = [
        "bench",
        "divergence",
        "--backend",
        "cpu",
        "--size",
        "6",
        "--steps",
        "2000",
        "--threads",
        "2",
    ];
    let object = json(&arguments);
    let rows = object["rows"].as_array().unwrap();
    assert!(
        rows[0]["engine"]
            .as_str()
            .unwrap()
            .starts_with("plain loop")
    );
    assert!(rows.len() >= 3);
    assert!(rows.iter().all(|r| r["rate"].as_f64().unwrap() > 0.0));
    assert_eq!(
        object["plain_equal_pixels"], object["plain_pixels"],
        "the plain loop computes the same map"
    );
    trisolar()
        .args(arguments)
        .assert()
        .success()
        .stdout(predicate::function(|text: &str| {
            text.lines().all(|l| l.chars().count() <= 80)
        }));
}
