//! Streamed maps: the files are the same as those of maps in memory, whatever interrupts the run.

use crate::support;

use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::{contents, names, overriding, trisolar};
use trisolar::io::npy;

/// A map that takes a second or two on one thread, with early and late partings.
const MAP: [&str; 10] = [
    "--size",
    "161x120",
    "--steps",
    "20000",
    "--dt",
    "0.001",
    "--backend",
    "cpu",
    "--threads",
    "1",
];
const FILES: [&str; 8] = [
    "--out", "m.npy", "--out", "m.png", "--out", "m.tif", "--out", "m.npz",
];

/// The files of the map without `--stream`.
fn reference() -> &'static [(String, Vec<u8>)] {
    static FILES_OF: std::sync::OnceLock<Vec<(String, Vec<u8>)>> = std::sync::OnceLock::new();
    FILES_OF.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        trisolar(directory.path())
            .arg("divergence")
            .args(MAP)
            .args(FILES)
            .arg("--quiet")
            .assert()
            .success();
        contents(directory.path())
    })
}

fn assert_same_files(directory: &Path) {
    let found = contents(directory);
    let name = |files: &[(String, Vec<u8>)]| files.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
    assert_eq!(name(&found), name(reference()));
    for ((name, bytes), (_, expected)) in found.iter().zip(reference()) {
        assert!(bytes == expected, "{name} differs");
    }
}

#[test]
fn a_streamed_map_has_the_files_of_a_map_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let output = trisolar(directory.path())
        .arg("divergence")
        .args(MAP)
        .args(FILES)
        .args(["--stream", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_same_files(directory.path());
    let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let times = npy::read::<u32>(directory.path().join("m.npy"))
        .unwrap()
        .values;
    let sum: u64 = times.iter().map(|t| u64::from(*t)).sum();
    assert_eq!(object["pixel_steps"], sum);
    assert_eq!(
        object["never_parted"],
        times.iter().filter(|t| **t == 20000).count()
    );
    assert_eq!(object["devices"][0]["pixels"], 161 * 120);
    assert_eq!(object["resumed_pixels"], Value::Null);
}

/// Waits until the run has recorded some pixels.
fn recorded(directory: &Path) {
    let start = Instant::now();
    loop {
        let record = std::fs::read_to_string(directory.join("m.npy.part.json"));
        let some = record.ok().and_then(|text| {
            let record: Value = serde_json::from_str(&text).ok()?;
            record["done"].as_array().map(|spans| !spans.is_empty())
        });
        if some == Some(true) {
            return;
        }
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "nothing was recorded"
        );
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_interrupted_map_says_how_to_resume_and_another_run_does_not_overwrite_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Process::new(assert_cmd::cargo::cargo_bin("trisolar"));
    let run = command
        .current_dir(directory.path())
        .arg("divergence")
        .args(MAP)
        .args(FILES)
        .args(["--stream"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    recorded(directory.path());

    let refused = |more: &[&str], said: &str| {
        let output = trisolar(directory.path())
            .arg("divergence")
            .args(overriding(&MAP, more))
            .args(FILES)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(said), "{message}");
    };
    kill_process(Pid::from_child(&run), Signal::STOP).unwrap();
    refused(&["--resume"], "is being written by another run");
    kill_process(Pid::from_child(&run), Signal::CONT).unwrap();
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let output = run.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(
        message.contains("m.npy.part; resume with the same command and --resume"),
        "{message}"
    );
    assert_eq!(names(directory.path()), ["m.npy.part", "m.npy.part.json"]);

    refused(&["--stream"], "resume it with --resume");
    refused(
        &["--resume", "--dt", "0.002"],
        "belongs to another map: --dt (0.001 there, 0.002 here) differs",
    );
    let output = trisolar(directory.path())
        .arg("divergence")
        .args(MAP)
        .args(FILES)
        .args(["--resume", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let there = object["resumed_pixels"].as_u64().expect("some");
    let computed = object["devices"][0]["pixels"].as_u64().expect("some");
    assert!(there > 0 && computed > 0);
    assert_eq!(there + computed, 161 * 120);
    assert_same_files(directory.path());
}

#[test]
fn resuming_where_nothing_was_begun_starts_a_new_map_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let output = trisolar(directory.path())
        .args([
            "divergence",
            "--size",
            "8",
            "--steps",
            "5",
            "--resume",
            "--out",
            "only.png",
        ])
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("a new map was begun"), "{text}");
    assert_eq!(names(directory.path()), ["only.png"]);
}

/// The limit applies to the shell that starts the program.
#[cfg(target_os = "linux")]
fn limited(directory: &Path, limit: &str, arguments: &str) -> std::process::Output {
    let script = format!("{limit}; exec \"$0\" divergence --backend cpu --threads 1 {arguments}");
    Process::new("sh")
        .current_dir(directory)
        .args(["-c", &script])
        .arg(assert_cmd::cargo::cargo_bin("trisolar"))
        .output()
        .unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_map_larger_than_memory_is_computed_on_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    // The map needs 56 MiB, of which 40 MiB may be used.
    let limit = "ulimit -d 40000";
    let map = "--size 4096x3584 --steps 1 --quiet --out m.npy --out m.tif --shrink 4";
    let output = limited(directory.path(), limit, map);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("out of memory") && message.contains("--stream"),
        "{message}"
    );
    assert!(names(directory.path()).is_empty());

    let output = limited(directory.path(), limit, &format!("{map} --stream"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    assert_eq!(names(directory.path()), ["m.npy", "m.tif"]);
    let array = npy::read::<u32>(directory.path().join("m.npy")).unwrap();
    assert_eq!(array.shape, [3584, 4096]);
    assert!(array.values.iter().all(|times| *times == 1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_before_anything_is_computed() {
    let directory = tempfile::tempdir().unwrap();
    // The limit is in blocks of 512 bytes, so a file may have 1 MiB. The accompanying signal must not end the program.
    let limit = "ulimit -f 2048";
    let start = Instant::now();
    let output = limited(directory.path(), limit, "--size 2000 --out m.npy --stream");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.starts_with("error: cannot write m.npy.part: "),
        "{message}"
    );
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(names(directory.path()).is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn computed_pixels_are_kept_when_a_picture_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", directory.path().join("full.png")).unwrap();
    let arguments = "--size 40 --steps 50 --out m.npy --out full.png --stream";
    let output = limited(directory.path(), "true", arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("the disk is full"), "{message}");
    assert!(
        message.contains("m.npy.part; resume with the same command and --resume"),
        "{message}"
    );
    std::fs::remove_file(directory.path().join("full.png")).unwrap();
    let output = limited(
        directory.path(),
        "true",
        "--size 40 --steps 50 --out m.npy --out full.png --resume",
    );
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("all pixels were already computed"));
    assert_eq!(names(directory.path()), ["full.png", "m.npy"]);
}

#[test]
fn options_override_the_panorama_preset() {
    let directory = tempfile::tempdir().unwrap();
    trisolar(directory.path())
        .args([
            "divergence",
            "--preset",
            "panorama",
            "--size",
            "51x8",
            "--steps",
            "3",
            "--quiet",
        ])
        .args(["--out", "p.npy", "--save-config", "p.toml"])
        .assert()
        .success();
    let text = std::fs::read_to_string(directory.path().join("p.toml")).unwrap();
    let given = trisolar::config::parse(&text).unwrap();
    let specification = trisolar::divergence::Specification::from(given);
    assert_eq!(specification.size, [51, 8]);
    assert_eq!(
        (specification.center, specification.span),
        ([215.0, 0.0].into(), [510.0, 80.0])
    );
    assert_eq!(specification.steps, 3);
}
