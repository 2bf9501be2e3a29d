//! Input that cannot work is rejected before anything is computed: exit code 2, and a message that names the option, the value
//! and what is allowed.

use crate::support;

use predicates::prelude::*;
use support::{overriding, trisolar};

/// Runs `divergence` with these options and expects exit code 2, nothing on stdout, no file, and all of `words` in the message.
#[track_caller]
fn refused(options: &[&str], words: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let output = trisolar(directory.path())
        .arg("divergence")
        .args(overriding(&["--size", "4", "--steps", "10"], options))
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{options:?}: {message}");
    assert!(message.starts_with("error: "), "{message}");
    for word in words {
        assert!(
            message.contains(word),
            "{options:?}: {word:?} is not in: {message}"
        );
    }
    assert!(output.stdout.is_empty());
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

fn size_refused(size: &str, words: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let mut all = vec!["--size"];
    all.extend(words);
    let mut assert = trisolar(directory.path())
        .args(["divergence", "--size", size])
        .assert()
        .code(2);
    for word in all {
        assert = assert.stderr(predicate::str::contains(word));
    }
}

#[test]
fn sizes_of_zero_or_more_than_two_to_the_32_pixels() {
    size_refused("0", &["0x0", "from 1 to"]);
    size_refused("0x5", &["0x5"]);
    size_refused("70000x70000", &["70000x70000", "4294967296"]);
    size_refused("18446744073709551615", &["4294967296"]);
    size_refused("99999999999999999999", &["W or WxH"]);
    size_refused("-3", &["-3", "W or WxH"]);
    size_refused("3x4x5", &["3x4x5"]);
    size_refused("ten", &["ten"]);
    size_refused("", &["W or WxH"]);
}

#[test]
fn numbers_that_are_not_finite() {
    for (option, value) in [
        ("--dt", "nan"),
        ("--dt", "inf"),
        ("--g", "1e400"),
        ("--center", "nan,0"),
        ("--span", "inf"),
        ("--masses", "1,2,NaN"),
        ("--positions", "0,0,0:0,inf,0:1,1,1"),
        ("--velocities", "0,0,0:0,-inf,0:1,1,1"),
        ("--softening", "nan"),
        ("--shift", "nan"),
        ("--critical-distance", "inf"),
    ] {
        refused(&[option, value], &[option]);
    }
}

#[test]
fn lengths_and_times_that_are_not_positive() {
    refused(&["--dt", "0"], &["--dt", "'0'", "above 0"]);
    refused(&["--dt", "-0.1"], &["--dt", "'-0.1'", "above 0"]);
    refused(&["--span", "-1"], &["--span", "above 0"]);
    refused(&["--span", "40,0"], &["--span", "40,0", "above 0"]);
    refused(&["--critical-distance", "0"], &["--critical-distance"]);
    refused(&["--critical-distance=-2"], &["--critical-distance", "-2"]);
    refused(&["--softening", "-1"], &["--softening", "-1"]);
    refused(&["--shift", "0"], &["--shift", "not 0"]);
    refused(&["--steps", "0"], &["--steps", "from 1"]);
    refused(&["--steps", "4294967295"], &["--steps", "4294967294"]);
    refused(&["--steps", "1.5e0"], &["--steps", "whole number"]);
}

#[test]
fn invalid_bodies() {
    refused(
        &["--masses", "1,-2,3"],
        &["--masses", "1,-2,3", "at least 0"],
    );
    refused(
        &["--masses", "1,2"],
        &["--masses", "three numbers", "2 numbers"],
    );
    refused(
        &["--positions", "0,0,0:1,1,1:1,1,1"],
        &["2 and 3 coincide", "--softening"],
    );
    refused(
        &["--body", "3", "--positions", "1,1,1:1,1,1:0,0,0"],
        &["1 and 2 coincide"],
    );
    refused(
        &["--positions", "0,0,0:1,1"],
        &["--positions", "three vectors"],
    );
    refused(&["--positions", "0,0,0:1,1:1,2,3"], &["2 numbers in '1,1'"]);
    refused(&["--body", "4"], &["--body", "1, 2 or 3"]);
    refused(&["--plane", "yx"], &["--plane", "xy, xz or yz"]);
}

#[test]
fn derived_quantities_must_not_overflow_or_vanish() {
    refused(&["--dt", "1e200"], &["--dt", "--dt^2"]);
    refused(&["--dt", "1e-170"], &["--dt", "--dt^2"]);
    refused(
        &["--dt", "1e10", "--velocities", "1e300,0,0:0,0,0:0,0,0"],
        &["--velocities", "--dt"],
    );
    refused(
        &["--critical-distance", "1e200"],
        &["--critical-distance", "1.3e154"],
    );
    refused(
        &["--critical-distance", "1e-200"],
        &["--critical-distance", "1.5e-154"],
    );
    refused(&["--softening", "1e-200"], &["--softening"]);
    refused(&["--center", "1.7e308,0", "--span", "1e308"], &["--span"]);
    refused(
        &["--shift", "1e-30,0,0", "--center", "1e9,0"],
        &["--shift", "rounding"],
    );
}

#[test]
fn choices_and_counts_out_of_range() {
    refused(&["--threads", "0"], &["--threads", "from 1 to 4096"]);
    refused(&["--threads", "-1"], &["--threads", "from 1 to 4096"]);
    refused(
        &["--backend", "fpga"],
        &["--backend", "auto, cpu, gpu or gpu+cpu"],
    );
    refused(&["--precision", "wild"], &["--precision", "f64, fast"]);
    refused(&["--colormap", "jet"], &["--colormap", "inferno"]);
    refused(&["--speed", "9"], &["--speed"]);
}

#[test]
fn files_that_cannot_be_written() {
    refused(
        &["--out", "map.xyz"],
        &[
            "--out",
            "map.xyz",
            ".png, .svg, .pdf, .tif (or .tiff), .npy, .npz and .zarr.zip",
        ],
    );
    refused(&["--out", "map"], &["--out", "no extension"]);
    refused(
        &["--out", "no/such/map.png"],
        &["--out", "no/such", "does not exist"],
    );
    refused(
        &["--out", "/dev/null/map.png"],
        &["--out", "not a directory"],
    );
    refused(
        &["--save-config", "nowhere/a.toml"],
        &["--save-config", "does not exist"],
    );
    // If one of several files is bad, none is written.
    refused(&["--out", "good.npy", "--out", "bad.xyz"], &["bad.xyz"]);
}

#[test]
fn a_directory_without_write_access_is_detected_before_the_work() {
    // Not even root may create files here.
    refused(&["--out", "/proc/map.npy"], &["--out", "/proc/map.npy"]);
}

/// Passes a file with this text as `--config`.
#[track_caller]
fn config_refused(text: &str, words: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("map.toml"), text).unwrap();
    let mut assert = trisolar(directory.path())
        .args(["divergence", "--config", "map.toml"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::starts_with("error: "));
    for word in words {
        assert = assert.stderr(predicate::str::contains(*word));
    }
}

#[test]
fn configuration_files_with_mistakes() {
    config_refused("steps = 10\nsizes = 3\n", &["map.toml:2", "sizes", "size"]);
    config_refused("steps = 10\n\ndt = \"fast\"\n", &["map.toml:3", "dt"]);
    config_refused("steps = = 10\n", &["map.toml:1"]);
    config_refused("masses = [1.0, 2.0]\n", &["map.toml:1"]);
    config_refused("span = [1.0, 2.0, 3.0]\n", &["map.toml:1", "two numbers"]);
    config_refused("size = -3\n", &["map.toml:1"]);
    config_refused("plane = \"zz\"\n", &["map.toml:1", "zz", "xy"]);
    config_refused("dt = nan\n", &["dt in map.toml", "above 0"]);
    config_refused(
        "critical_distance = 0\n",
        &["critical_distance in map.toml"],
    );
    let directory = tempfile::tempdir().unwrap();
    trisolar(directory.path())
        .args(["divergence", "--config", "none.toml"])
        .assert()
        .code(2)
        .stderr(
            predicate::str::contains("none.toml").and(predicate::str::contains("no such file")),
        );
    std::fs::write(directory.path().join("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    trisolar(directory.path())
        .args(["divergence", "--config", "binary.toml"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("not a text file"));
    trisolar(directory.path())
        .args(["divergence", "--config", "."])
        .assert()
        .code(2);
}

#[test]
fn no_command_or_an_unknown_one() {
    let directory = tempfile::tempdir().unwrap();
    trisolar(directory.path()).assert().code(2);
    trisolar(directory.path()).arg("diverge").assert().code(2);
    trisolar(directory.path())
        .args(["bench", "divergence", "--size", "0"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("--size"));
}

#[test]
fn invalid_devices_and_drivers() {
    for given in ["", "x", "-1", "65", "1;2", "All"] {
        let words = ["--gpus", "all, or how many GPUs, from 1 to 64"];
        refused(&["--gpus", given], &words);
        let words = ["--device", "numbers of GPUs from 0 to 63"];
        refused(&["--device", given], &words);
    }
    refused(
        &["--backend", "cpu+gpu"],
        &["--backend", "auto, cpu, gpu or gpu+cpu"],
    );
    refused(
        &["--preset", "wide"],
        &["--preset", "wide", "accurate, headline or panorama"],
    );
    for n in ["0", "-2", "1.5", "65537"] {
        refused(&["--shrink", n], &["--shrink", "from 1 to 65536"]);
    }
}
