//! `--save-config` and `--config`: the file holds the whole specification bit for bit, and the command line overrides it.

use crate::support;

use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use serde_json::Value;

fn divergence(directory: &Path) -> Command {
    let mut command = support::trisolar(directory);
    command.args(["divergence", "--json", "--backend", "cpu", "--out", "m.npy"]);
    command
}

/// The specification of a run as the run reports it.
fn specification(directory: &Path, options: &[&str]) -> Value {
    let output = divergence(directory).args(options).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    object["specification"].clone()
}

#[test]
fn every_option_survives_the_file_to_the_bit() {
    let directory = tempfile::tempdir().unwrap();
    let given = specification(
        directory.path(),
        &[
            "--size",
            "7x5",
            "--center",
            "-0.1,3.3333333333333335",
            "--span",
            "1e-3,2.5",
            "--plane",
            "yz",
            "--body",
            "2",
            "--masses",
            "0,0.30000000000000004,1.7e-290",
            "--positions",
            "-1,2,-3:4,5,6:7,-8,0.1",
            "--velocities",
            "-0.7,0,1:0,0,0:1,2,3",
            "--g",
            "-6.674e-11",
            "--softening",
            "0.01",
            "--steps",
            "12",
            "--dt",
            "0.0625",
            "--shift",
            "-1e-9,0,1e-5",
            "--critical-distance",
            "0.49999999999999994",
            "--precision",
            "exact",
            "--save-config",
            "a.toml",
        ],
    );
    assert_eq!(given["center"][1].as_f64(), Some(3.333_333_333_333_333_5));
    assert_eq!(given["masses"][2].as_f64(), Some(1.7e-290));
    assert_eq!(given["size"], serde_json::json!([7, 5]));
    assert_eq!(given["plane"], "yz");
    assert_eq!(given["precision"], "f64", "read by its former name");
    assert_eq!(given["velocities"][0][0].as_f64(), Some(-0.7));
    let read = specification(
        directory.path(),
        &["--config", "a.toml", "--save-config", "b.toml"],
    );
    assert_eq!(given.to_string(), read.to_string());
    let bytes = |name| std::fs::read(directory.path().join(name)).unwrap();
    assert_eq!(bytes("a.toml"), bytes("b.toml"));
    // A complete file leaves no value to the defaults.
    let text = String::from_utf8(bytes("a.toml")).unwrap();
    for key in given.as_object().unwrap().keys() {
        assert!(
            text.lines().any(|l| l.starts_with(&format!("{key} = "))),
            "{key}"
        );
    }
}

#[test]
fn options_override_the_file_and_the_file_overrides_defaults() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("c.toml"),
        "size = 3\ndt = 1\nsteps = 5\nshift = 0.25\n",
    )
    .unwrap();
    let s = specification(directory.path(), &["--config", "c.toml", "--steps", "6"]);
    assert_eq!(s["size"], serde_json::json!([3, 3]));
    assert_eq!(s["dt"].as_f64(), Some(1.0));
    assert_eq!(s["steps"], 6);
    assert_eq!(s["shift"], serde_json::json!([0.25, 0.25, 0.25]));
    assert_eq!(s["g"].as_f64(), Some(9.8));
}

#[test]
fn one_number_of_span_makes_pixels_square() {
    let directory = tempfile::tempdir().unwrap();
    let steps = ["--steps", "3"];
    let with = |options: &[&str]| {
        specification(directory.path(), &[&steps[..], options].concat())["span"].clone()
    };
    assert_eq!(with(&["--size", "4x2"]), serde_json::json!([40.0, 20.0]));
    assert_eq!(
        with(&["--size", "2x5", "--span", "3"]),
        serde_json::json!([3.0, 7.5])
    );
    assert_eq!(
        with(&["--size", "2x5", "--span", "3,4"]),
        serde_json::json!([3.0, 4.0])
    );
}

#[test]
fn pixels_that_are_not_square_and_lost_shifts_give_warnings() {
    let directory = tempfile::tempdir().unwrap();
    let warned = |options: &[&str], word: &'static str| {
        divergence(directory.path())
            .args(["--size", "4", "--steps", "3"])
            .args(options)
            .assert()
            .success()
            .stderr(predicate::str::starts_with("warning: ").and(predicate::str::contains(word)));
    };
    warned(&["--span", "4,5"], "not square");
    warned(&["--shift", "2"], "before its first step");
    warned(&["--masses", "0,0,0"], "the total mass is 0");
    warned(&["--g", "1e-9"], "nothing is bound");
    warned(&["--shift", "2e-15"], "rounding changes the shift");
    warned(
        &["--span", "1e-16", "--center", "5,5"],
        "start at the same x",
    );
    divergence(directory.path())
        .args(["--size", "4", "--steps", "3"])
        .assert()
        .success()
        .stderr("");
}

#[test]
fn a_mistake_on_the_command_line_is_not_blamed_on_the_file() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("c.toml"), "size = 3\ndt = -1\n").unwrap();
    divergence(directory.path())
        .args(["--config", "c.toml", "--dt", "-2"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("'-2' for '--dt'"));
    divergence(directory.path())
        .args(["--config", "c.toml", "--dt", "2", "--steps", "3"])
        .assert()
        .success();
}
