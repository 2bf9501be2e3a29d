//! The outputs of a run (files, summary, JSON, or none), and the ways in which a run can end.

use crate::support;

use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::{names, overriding, trisolar};
use trisolar::io::npy;

#[test]
fn the_headline_map_has_the_published_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let output = trisolar(directory.path())
        .args([
            "divergence",
            "--size",
            "10",
            "--json",
            "--out",
            "m.npy",
            "--out",
            "m.npz",
        ])
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let object: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(object["pixel_steps"], 4_509_164);
    assert_eq!(object["never_parted"], 66);
    assert_eq!(object["files"], serde_json::json!(["m.npy", "m.npz"]));
    assert_eq!(object["specification"]["steps"], 50_000);
    for key in ["engine", "device"] {
        assert!(object[key].as_str().is_some_and(|s| !s.is_empty()), "{key}");
    }
    let seconds = object["seconds"].as_f64().unwrap();
    let rate = object["rate"].as_f64().unwrap();
    assert!(seconds > 0.0 && (rate * seconds / 4_509_164.0 - 1.0).abs() < 1e-9);
    let map = npy::read::<u32>(directory.path().join("m.npy")).unwrap();
    assert_eq!(map.shape, [10, 10]);
    assert_eq!(map.values.iter().min(), Some(&15616));
    assert_eq!(
        map.values.iter().map(|t| u64::from(*t)).sum::<u64>(),
        4_509_164
    );
    let mut npz = trisolar::io::npz::NpzReader::open(directory.path().join("m.npz")).unwrap();
    assert_eq!(npz.array::<u32>("steps_together").unwrap(), map);
    let specification: Value =
        serde_json::from_str(&npz.text("specification.json").unwrap()).unwrap();
    assert_eq!(specification, object["specification"]);
}

#[test]
fn without_out_a_picture_and_an_array_are_written_and_listed() {
    let directory = tempfile::tempdir().unwrap();
    let output = trisolar(directory.path())
        .args(["divergence", "--size", "20x10", "--steps", "300"])
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(
        output.stderr.is_empty(),
        "no progress if standard error is not a terminal"
    );
    let summary = String::from_utf8(output.stdout).unwrap();
    assert!(
        summary.lines().all(|line| line.chars().count() <= 80),
        "{summary}"
    );
    for word in [
        "engine",
        "pixel-steps   60 000",
        "time",
        "rate",
        "100.00 % (200 of 200 pixels)",
        "divergence.png",
        "divergence.npy",
    ] {
        assert!(summary.contains(word), "{word} is not in {summary}");
    }
    assert_eq!(
        names(directory.path()),
        ["divergence.npy", "divergence.png"]
    );
    let map = npy::read::<u32>(directory.path().join("divergence.npy")).unwrap();
    assert_eq!(map.shape, [10, 20], "height before width");
}

#[test]
fn a_bare_picture_has_one_pixel_per_pixel_and_older_files_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let picture = directory.path().join("m.png");
    std::fs::write(&picture, "old").unwrap();
    trisolar(directory.path())
        .args([
            "divergence",
            "--size",
            "20x10",
            "--steps",
            "300",
            "--bare",
            "--out",
            "m.png",
            "--colormap",
            "viridis",
        ])
        .assert()
        .success();
    let bytes = std::fs::read(&picture).unwrap();
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[1..4], b"PNG");
    assert_eq!((number(16), number(20)), (20, 10));
    trisolar(directory.path())
        .args([
            "divergence",
            "--size",
            "20x10",
            "--steps",
            "300",
            "--title",
            "-a title",
            "--out",
            "m.png",
        ])
        .assert()
        .success();
    assert_ne!(std::fs::read(&picture).unwrap(), bytes);
    let kept = ["m.png", "m.png.~1~", "m.png.~2~"];
    assert_eq!(names(directory.path()), kept);
}

#[test]
fn the_look_of_a_picture_can_be_chosen() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let divergence = |more: &str| {
        let mut command = trisolar(path);
        // Some of the twins part, some do not.
        let base: Vec<&str> = "--backend cpu --size 40x30 --steps 2000 --dt 0.01"
            .split(' ')
            .collect();
        let more: Vec<&str> = more.split(' ').collect();
        command.arg("divergence").args(overriding(&base, &more));
        command
    };
    let bytes = |name: &str| std::fs::read(path.join(name)).unwrap();
    divergence("--bare --out down.png --out down.tif --out m.npy --y-axis down")
        .assert()
        .success();
    divergence("--bare --out up.png").assert().success();
    let decoded = |name: &str| {
        let file = std::io::BufReader::new(std::fs::File::open(path.join(name)).unwrap());
        let mut decoder = png::Decoder::new(file);
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let dpi = reader.info().pixel_dims.map(|d| d.xppu);
        (pixels, dpi)
    };
    let ((down, none), (up, _)) = (decoded("down.png"), decoded("up.png"));
    assert_eq!(none, None);
    let rows = |pixels: &[u8]| {
        pixels
            .chunks(40 * 3)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    let turned: Vec<_> = rows(&up).into_iter().rev().collect();
    assert!(rows(&down) == turned && down != up);

    // The time and the steps until the twins part have the same picture; those that never part have a colour of their own.
    divergence("--bare --out steps.png --show steps")
        .assert()
        .success();
    divergence("--bare --out time.png --show time --dpi 300")
        .assert()
        .success();
    let ((steps, _), (time, dpi)) = (decoded("steps.png"), decoded("time.png"));
    assert_eq!(dpi, Some(11811));
    assert!(steps == time && steps != up);
    let map = npy::read::<u32>(path.join("m.npy")).unwrap().values;
    let grey = steps.chunks(3).map(|p| p == [128; 3]).collect::<Vec<_>>();
    // The last row is on top.
    let never = map.chunks(40).rev().flatten().map(|n| *n == 2000);
    let never = never.collect::<Vec<_>>();
    assert!(grey == never && never.contains(&true) && never.contains(&false));

    // Everything else changes the picture as well.
    let usual = "--out usual.png";
    divergence(usual).assert().success();
    let mut all = vec![bytes("usual.png")];
    for look in [
        "--theme light",
        "--limits 5,500",
        "--scale log",
        "--show time",
        "--show left",
        "--y-axis down",
        "--look study",
    ] {
        divergence(&format!("--out a.png {look}"))
            .assert()
            .success();
        all.push(bytes("a.png"));
        for (i, other) in all[..all.len() - 1].iter().enumerate() {
            assert!(all[all.len() - 1] != *other, "{look} {i}");
        }
    }
    // The study's look is the sum of its parts.
    divergence("--out a.png --y-axis down --show left --colormap inferno")
        .assert()
        .success();
    assert!(bytes("a.png") == all[all.len() - 1]);
    divergence("--out a.png --look study --y-axis up --show parting")
        .assert()
        .success();
    assert!(bytes("a.png") == all[0]);
    for (look, words) in [
        ("--look mine", "must be standard or study"),
        ("--limits 5,1", "the lower first"),
        ("--limits 0,1 --scale log", "both must be above 0"),
        ("--quantity ftle --show time", "needs --quantity divergence"),
        ("--dpi 300 --out a.tif", "no .png, .svg or .pdf"),
        ("--bare --out a.svg", "only .png and .tif can have no axes"),
        ("--dpi 0", "from 1 to 10000"),
        ("--show share", "must be parting, left, steps or time"),
        ("--scale sqrt", "must be linear or log"),
    ] {
        divergence(look)
            .assert()
            .code(2)
            .stderr(predicate::str::contains(words));
    }
    divergence("--out a.png --title 三体")
        .assert()
        .success()
        .stderr(predicate::str::contains(
            "the font of pictures has no 三, 体",
        ));
    // Where nothing parts, the picture and the summary say so.
    divergence("--steps 3 --out a.png")
        .assert()
        .success()
        .stdout(
            predicate::str::contains("no twins parted").and(predicate::str::contains("--steps")),
        );
    // The bar, too, which has no numbers then.
    for (show, said) in [
        ("time", ">never parted<"),
        ("left --scale log", ">0 or less<"),
    ] {
        divergence(&format!("--steps 3 --out a.svg --show {show}"))
            .assert()
            .success();
        let svg = std::fs::read_to_string(directory.path().join("a.svg")).unwrap();
        for text in ["no twins parted within 3 steps", said] {
            assert!(svg.contains(text), "{show}: {text}");
        }
        assert!(!svg.contains("grey: never parted"), "{show}");
    }
}

#[test]
fn quiet_prints_nothing() {
    let directory = tempfile::tempdir().unwrap();
    trisolar(directory.path())
        .args([
            "divergence",
            "--quiet",
            "--size",
            "4",
            "--span",
            "3,4",
            "--steps",
            "9",
        ])
        .assert()
        .success()
        .stdout("")
        .stderr("");
    assert_eq!(names(directory.path()).len(), 2);
}

#[test]
fn negative_numbers_are_values() {
    let directory = tempfile::tempdir().unwrap();
    trisolar(directory.path())
        .args([
            "divergence",
            "--size",
            "4",
            "--steps",
            "9",
            "--center",
            "-1,2",
            "--g",
            "-1",
        ])
        .args([
            "--velocities",
            "-3,0,0:0,0,0:-1,-2,-3",
            "--shift",
            "-0.001",
            "--positions",
            "-1,0,0:-2,0,0:0,0,1",
        ])
        .assert()
        .success();
}

#[test]
fn threads_do_not_change_a_bit() {
    let directory = tempfile::tempdir().unwrap();
    for threads in ["1", "3"] {
        trisolar(directory.path())
            .args([
                "divergence",
                "--size",
                "31x17",
                "--steps",
                "2000",
                "--dt",
                "0.01",
                "--backend",
                "cpu",
            ])
            .args(["--threads", threads, "--out", &format!("{threads}.npy")])
            .assert()
            .success();
    }
    let bytes = |name| std::fs::read(directory.path().join(name)).unwrap();
    assert_eq!(bytes("1.npy"), bytes("3.npy"));
}

/// A run of many hours, which is stopped by `signal` as soon as it has started.
fn stopped(signal: Signal, expected: i32) {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Process::new(assert_cmd::cargo::cargo_bin("trisolar"))
        .current_dir(directory.path())
        .args([
            "divergence",
            "--size",
            "2000",
            "--backend",
            "cpu",
            "--save-config",
            "c.toml",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program writes the configuration after it has installed its signal handlers and before the work.
    let started = Instant::now();
    while !directory.path().join("c.toml").exists() {
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "the run does not start"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    let sent = Instant::now();
    kill_process(Pid::from_child(&child), signal).unwrap();
    let status = child.wait().unwrap();
    let took = sent.elapsed();
    assert_eq!(status.code(), Some(expected));
    assert!(took < Duration::from_millis(1500), "{took:?}");
    assert_eq!(
        names(directory.path()),
        ["c.toml"],
        "no map, neither complete nor partial"
    );
}

#[test]
fn ctrl_c_ends_a_run_within_a_second_and_leaves_no_files() {
    stopped(Signal::INT, 130);
}

#[test]
fn a_missing_gpu_gives_exit_code_1_and_a_message() {
    if trisolar::gpu::devices().is_ok() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    trisolar(directory.path())
        .args(["divergence", "--backend", "gpu", "--size", "4"])
        .assert()
        .code(1)
        .stdout("")
        .stderr(
            predicate::str::starts_with("error: no usable GPU")
                .and(predicate::str::contains("trisolar devices")),
        );
    assert!(names(directory.path()).is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_gives_exit_code_1_and_leaves_no_files() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", directory.path().join("full.npy")).unwrap();
    trisolar(directory.path())
        .args([
            "divergence",
            "--size",
            "4",
            "--steps",
            "5",
            "--out",
            "full.npy",
        ])
        .assert()
        .code(1)
        .stdout("")
        .stderr(
            predicate::str::starts_with("error: ").and(predicate::str::contains("disk is full")),
        );
    assert_eq!(names(directory.path()), ["full.npy"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_pipe_does_not_cause_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        &["divergence", "--size", "4", "--steps", "5"][..],
        &["devices"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Process::new(assert_cmd::cargo::cargo_bin("trisolar"))
            .current_dir(directory.path())
            .args(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.is_empty(), "{arguments:?}: {message}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_printed_is_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        "divergence --size 4 --steps 5",
        "divergence --size 4 --steps 5 --json",
        "zoom --frames 1 --size 4 --steps 5 --out z",
        "sweep --vary dt=0.1,0.2 --size 4 --steps 5 --out s",
        "encounters --n 2",
        "nbody --n 4 --steps 2",
        "nbody --n 4 --steps 2 --format textbook",
        "cluster --n 4 --end 0.01",
        "explore --json",
        "devices",
        "completions bash",
        "--help",
        "nbody --help",
        "--version",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = Process::new(assert_cmd::cargo::cargo_bin("trisolar"))
            .current_dir(directory.path())
            .args(arguments.split(' '))
            .stdout(full.unwrap())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {said}");
        let why = "error: cannot write to the standard output";
        assert!(
            said.lines().any(|l| l.starts_with(why)),
            "{arguments}: {said}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_map_that_does_not_fit_in_memory_gives_exit_code_1() {
    let directory = tempfile::tempdir().unwrap();
    let limited = "ulimit -v 4000000 && exec \"$0\" divergence --backend cpu --threads 1 --size 60000 --steps 1";
    let output = Process::new("sh")
        .current_dir(directory.path())
        .args(["-c", limited])
        .arg(assert_cmd::cargo::cargo_bin("trisolar"))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.starts_with("error: host: out of memory: 14400000000 bytes"),
        "{message}"
    );
    assert!(message.contains("smaller --size"), "{message}");
    assert!(names(directory.path()).is_empty());
}
