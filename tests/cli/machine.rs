//! `devices`, `selftest` and `bench`: what hardware a machine has, whether it computes correctly, and how fast.

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

#[test]
fn selftest_finds_every_engine_equal_on_maps_of_all_kinds_of_pixels() {
    let object = json(&["selftest"]);
    assert_eq!(object["passed"], true);
    agreement::check(&object, &agreement::schema(), "selftest");
    assert_eq!(object["errors"]["wrong_results"], 0);
    assert!(object["seconds"].as_f64() > Some(0.0));
    let results = object["results"].as_array().unwrap();
    assert!(results.iter().all(|r| r["different"] == 0), "{results:#?}");
    for engine in [
        "scalar",
        "emulator, divergence_plain",
        "emulator, map_divergence_explicit_euler_f64",
    ] {
        assert!(
            results
                .iter()
                .any(|r| r["engine"].as_str().unwrap().contains(engine)),
            "{engine}"
        );
    }
    for method in [
        "fixed:26, explicit-euler, grid",
        "float-float, explicit-euler, points with masses",
        "f64, hermite-4, points with masses",
    ] {
        let engines = results.iter().filter(|r| r["map"] == method);
        assert!(engines.count() >= 4, "{method}");
    }
    let clusters = object["clusters"].as_array().unwrap();
    assert!(
        clusters.iter().all(|r| r["different"] == 0),
        "{clusters:#?}"
    );
    for engine in ["emulator", "emulator, its block steps"] {
        assert!(clusters.iter().any(|r| r["engine"] == engine), "{engine}");
    }
    let maps = object["maps"].as_array().unwrap();
    let large = &maps[0];
    assert!(large["pixels"].as_u64().unwrap() >= 256 * 256);
    let steps = 200;
    assert!(
        large["earliest"].as_u64().unwrap() < steps / 4,
        "early partings"
    );
    assert!(
        large["latest"].as_u64().unwrap() > steps * 3 / 4,
        "late partings"
    );
    assert!(large["never_parted"].as_u64().unwrap() > 0);
    assert!(
        maps.iter()
            .any(|m| m["pixels"].as_u64().unwrap() % 2 == 1
                && m["earliest"].as_u64().unwrap() < steps)
    );
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
