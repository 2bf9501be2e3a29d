//! `trisolar zoom` gives the same files, however it is interrupted.

use crate::support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use predicates::prelude::*;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use trisolar::divergence::{Backend, RunOptions, Specification, Unattended, run as compute};
use trisolar::io::npy;

fn zoom(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = support::trisolar(directory);
    command.args(["zoom", "--backend", "cpu"]).args(arguments);
    command
}

fn json(command: &mut Command) -> Value {
    let output = command.arg("--json").output().expect("runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Every file of a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("reads");
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("reads").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, std::fs::read(&path).expect("reads"))
    };
    entries.map(file).collect()
}

/// Small maps at the rate of the published schedule, whatever the number of frames.
const SMALL: [&str; 10] = [
    "--size",
    "24x16",
    "--set",
    "span=span/2^(frame/30)",
    "--steps",
    "400",
    "--dt",
    "0.02",
    "--critical-distance",
    "0.01",
];

#[test]
fn frames_are_the_maps_of_the_published_schedule() {
    let directory = tempfile::tempdir().expect("a folder");
    let object = json(&mut zoom(
        directory.path(),
        &[
            "--size",
            "12",
            "--frames",
            "3",
            "--npy",
            "--set",
            "span=span/2^(frame/30)",
            "--set",
            "steps=2000+350000*frame/400",
        ],
    ));
    assert_eq!(object["computed"], 3);
    for i in 0..3_u32 {
        let x = f64::from(i);
        let half = 2f64.powf(x / 30.0);
        let spec = Specification {
            size: [12, 12],
            center: [5.30031, -0.45].into(),
            span: [40.0 / half; 2],
            shift: glam::DVec3::splat(0.001 / half),
            steps: (2000.0 + 350_000.0 * x / 400.0) as u64,
            ..Specification::default()
        };
        let options = RunOptions {
            backend: Backend::Cpu,
            threads: Some(1),
            ..RunOptions::default()
        };
        let map =
            compute(&spec.validate().expect("valid"), &options, &Unattended).expect("computes");
        let path = directory.path().join(format!("zoom/frame-{i:05}.npy"));
        assert_eq!(
            npy::read::<u32>(path).expect("there").values,
            map.steps_together()
        );
        assert_eq!(
            object["maps"][i as usize]["never_parted"],
            map.statistics.never_parted.expect("of divergence")
        );
    }
}

/// A zoom that takes seconds, with many bands per frame.
const LONG: [&str; 10] = [
    "--size",
    "48x40",
    "--steps",
    "60000",
    "--frames",
    "4",
    "--checkpoint",
    "0.1",
    "--npy",
    "--quiet",
];

#[test]
fn a_repeatedly_killed_zoom_ends_with_the_same_bytes() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let start = Instant::now();
    zoom(path, &LONG)
        .args(["--in-flight", "1", "--out", "whole"])
        .assert()
        .success();
    let whole = start.elapsed();
    let mut kills = 0_u32;
    let mut inside = 0;
    // The pauses are unrelated to the program's own timing, and short fractions of the time that a whole run takes here, because
    // it becomes faster when other tests end meanwhile.
    for share in [0.1, 0.14, 0.08, 0.16, 0.12].into_iter().cycle() {
        let mut child = Process::new(assert_cmd::cargo::cargo_bin("trisolar"))
            .current_dir(path)
            .args(["zoom", "--backend", "cpu", "--out", "killed"])
            .args(LONG)
            .spawn()
            .expect("starts");
        let moment = whole.mul_f64(share * (1.0 + 0.15 * f64::from(kills)));
        let end = Instant::now() + moment.max(Duration::from_millis(120));
        let status = loop {
            if let Some(status) = child.try_wait().expect("waits") {
                break Some(status);
            }
            if Instant::now() >= end {
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        if let Some(status) = status {
            assert!(status.success());
            break;
        }
        child.kill().expect("kills");
        child.wait().expect("ends");
        kills += 1;
        if path.join("killed").is_dir() {
            let kept = files(&path.join("killed"));
            inside += kept
                .iter()
                .filter(|(name, bytes)| name.ends_with(".part") && bytes.iter().any(|b| *b > 0))
                .count();
        }
        assert!(kills < 200, "no end in sight");
    }
    assert!(kills >= 2, "it was killed {kills} times");
    assert!(inside > 0, "never inside a frame");
    let killed = files(&path.join("killed"));
    assert!(killed == files(&path.join("whole")), "{:?}", killed.keys());
}

#[test]
fn ctrl_c_ends_with_130_and_the_next_run_resumes() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let arguments = [
        "--size",
        "64x50",
        "--steps",
        "20000",
        "--frames",
        "4",
        "--checkpoint",
        "0.1",
    ];
    let child = Process::new(assert_cmd::cargo::cargo_bin("trisolar"))
        .current_dir(path)
        .args(["zoom", "--backend", "cpu", "--in-flight", "1"])
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let started = Instant::now();
    while !path.join("zoom/frame-00000.json").exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "no frame");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("resume with the same command"), "{said}");
    assert!(
        !files(&path.join("zoom"))
            .keys()
            .any(|name| name.ends_with(".tmp"))
    );
    let object = json(&mut zoom(path, &arguments));
    assert!(object["computed"].as_u64().expect("a number") < 4);
    assert_eq!(object["maps"].as_array().expect("a list").len(), 4);
    let object = json(&mut zoom(path, &arguments));
    assert_eq!(object["computed"], 0);
}

#[test]
fn frames_in_flight_change_no_byte() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    // Every second pixel of a frame is a pixel of the next one along both axes, and the number of steps grows.
    let zoom_in = [
        "--preset",
        "none",
        "--frames",
        "4",
        "--set",
        "span=32/2^frame",
        "--set",
        "steps=100*(frame+1)",
        "--npy",
    ];
    let run = |out: &str, more: &[&str]| {
        let mut command = zoom(path, &SMALL[4..]);
        command
            .args(["--size", "32", "--center", "0,0"])
            .args(zoom_in);
        json(command.args(["--out", out]).args(more))
    };
    run("a", &["--in-flight", "1", "--threads", "1"]);
    run("b", &["--in-flight", "4"]);
    let a = files(&path.join("a"));
    assert_eq!(a.len(), 1 + 3 * 4);
    assert!(a == files(&path.join("b")));
}

#[test]
fn the_rounded_cache_resumes_after_a_kill_and_reports_its_error() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let sequence = [
        "--size",
        "60",
        "--dt",
        "0.01",
        "--frames",
        "6",
        "--set",
        "steps=2000+20*frame",
        "--set",
        "span=span/2^(frame/30)",
        "--cache",
        "rounded",
    ];
    let whole = json(zoom(path, &sequence).args(["--out", "whole"]));
    let report = &whole["cache"];
    assert!(report["reused"].as_u64() > Some(1000), "{report}");
    assert!(report["checked"].as_u64() > Some(10), "{report}");
    assert!(report["mean_error"].as_f64() > Some(0.0), "{report}");
    json(zoom(path, &sequence).args(["--out", "killed"]));
    // Simulates that the run was killed after its third frame.
    for frame in 3..6 {
        for extension in ["png", "npy", "json"] {
            std::fs::remove_file(path.join(format!("killed/frame-{frame:05}.{extension}")))
                .expect("there");
        }
    }
    let object = json(zoom(path, &sequence).args(["--out", "killed"]));
    assert_eq!(object["computed"], 3);
    assert!(files(&path.join("whole")) == files(&path.join("killed")));
}

#[test]
fn a_folder_of_another_zoom_is_left_alone_without_restart() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    zoom(path, &SMALL)
        .args(["--frames", "2", "--quiet"])
        .assert()
        .success()
        .stdout("")
        .stderr("");
    let before = files(&path.join("zoom"));
    for (other, words) in [
        (&["--frames", "1"][..], "--frames (2 there, 1 here)"),
        (&["--frames", "2", "--npy"], "begun without --npy"),
        (&["--frames", "2", "--g", "9"], "--g (9.8 there, 9.0 here)"),
        (
            &[
                "--frames",
                "2",
                "--preset",
                "none",
                "--set",
                "span=40/(frame+1)",
            ],
            "--preset (document there, none here), --set (span=span/2^(frame/30) there, span=span/2^(frame/30), span=40/(frame+1) here)",
        ),
        (
            &["--frames", "2", "--colours", "frame"],
            "--colours share and no arrays",
        ),
        (&["--frames", "2", "--captions"], "at least 120 pixels wide"),
    ] {
        let refused = zoom(path, &SMALL).args(other).assert().code(2);
        let refused = refused.stderr(predicate::str::contains(words));
        if !other.contains(&"--captions") {
            refused.stderr(
                predicate::str::contains("holds another sequence")
                    .and(predicate::str::contains("--restart")),
            );
        }
    }
    assert!(before == files(&path.join("zoom")));
    zoom(path, &SMALL)
        .args(["--frames", "1", "--restart"])
        .assert()
        .success();
    let names: Vec<String> = files(&path.join("zoom")).into_keys().collect();
    assert_eq!(
        names,
        ["frame-00000.json", "frame-00000.png", "sequence.json"]
    );
}

#[test]
fn a_zoom_is_extended_recoloured_and_given_captions_without_computing_a_frame_again() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let wide = ["--size", "130x20"];
    for (arrays, colours) in [(None, "share"), (Some("--npy"), "steps"), (None, "frame")] {
        let run = |out: &str, more: &[&str]| {
            let mut command = zoom(path, &SMALL[2..]);
            command.args(wide).args(["--out", out]);
            if out.ends_with('n') {
                command.args(["--colours", colours]);
            }
            json(command.args(arrays).args(more))
        };
        let (old, new) = (format!("{colours}-n"), format!("{colours}-fresh-n"));
        run(&old, &["--frames", "2"]);
        for (step, (more, computed)) in [
            (&["--frames", "3"][..], 1),
            (&["--frames", "3", "--colormap", "viridis"], 0),
            (&["--frames", "3", "--y-axis", "down"], 0),
            (
                &[
                    "--frames",
                    "3",
                    "--colormap",
                    "grey",
                    "--captions",
                    "--y-axis",
                    "down",
                ],
                0,
            ),
            (&["--frames", "4", "--colormap", "turbo", "--captions"], 1),
            (&["--frames", "4"], 0),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(run(&old, more)["computed"], computed, "{colours} {step}");
            let fresh = format!("{step}-{new}");
            run(&fresh, more);
            // The record of the run has the same options, but says nothing of the folder.
            let (old, fresh) = (files(&path.join(&old)), files(&path.join(&fresh)));
            assert_eq!(
                old.keys().collect::<Vec<_>>(),
                fresh.keys().collect::<Vec<_>>()
            );
            for (name, bytes) in &fresh {
                assert!(old[name] == *bytes, "{colours} {step} {name}");
            }
        }
    }
    // With arrays the colours may have another meaning, and --resume can extend a zoom as well.
    let resumed = |more: &[&str]| json(&mut zoom(path, &[&["--resume", "steps-n"], more].concat()));
    assert_eq!(resumed(&["--colours", "frame"])["computed"], 0);
    let (a, b) = ("steps-n/frame-00001.png", "frame-n/frame-00001.png");
    let read = |name| std::fs::read(path.join(name)).expect("there");
    assert!(read(a) == read(b));
    assert_eq!(resumed(&["--frames", "5"])["computed"], 1);
}

#[test]
fn frames_with_axes_have_the_format_and_direction_that_is_wanted() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let run = |out: &str, more: &str| {
        let mut command = zoom(path, &SMALL);
        command.args(["--frames", "2", "--npy", "--out", out]);
        json(command.args(more.split_whitespace()))
    };
    let names = |out: &str| files(&path.join(out)).into_keys().collect::<Vec<_>>();
    let found = run("z", "--axes --plot-format svg --theme light");
    let paths: Vec<&str> = (found["files"].as_array().expect("a list").iter())
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(paths, ["z/frame-00000.svg", "z/frame-00001.svg"]);
    let up = files(&path.join("z"));
    let svg = String::from_utf8_lossy(&up["frame-00001.svg"]);
    assert!(svg.contains("<svg ") && svg.contains("start x of body 1") && svg.contains("#ffffff"));
    assert!(!svg.contains("no twins parted"));
    run("short", "--axes --plot-format svg --set steps=2");
    let short = files(&path.join("short"));
    let svg = String::from_utf8_lossy(&short["frame-00001.svg"]);
    assert!(svg.contains("no twins parted within 2 steps"));
    // Other formats and another direction are drawn from the arrays, and the old pictures go.
    for (more, extension) in [
        ("--axes --plot-format svg --y-axis down", "svg"),
        ("--axes --plot-format pdf", "pdf"),
        ("--axes", "png"),
        ("", "png"),
    ] {
        assert_eq!(run("z", more)["computed"], 0, "{more}");
        run("fresh", &format!("--restart {more}"));
        assert_eq!(names("z"), names("fresh"), "{more}");
        let name = format!("frame-00001.{extension}");
        let [there, fresh] = ["z", "fresh"].map(|out| files(&path.join(out)));
        assert!(there[&name] == fresh[&name], "{more}");
        assert!(up.get(&name) != Some(&there[&name]), "{more}");
    }
    // Without arrays, frames without axes give none with them.
    zoom(path, &SMALL)
        .args(["--frames", "2", "--out", "bare"])
        .assert()
        .success();
    for (more, words) in [
        (
            "--plot-format svg",
            "--plot-format': frames without axes are pixels",
        ),
        ("--theme light", "--theme': frames without axes"),
        (
            "--axes --film a.gif",
            "--film': films are made of frames without axes",
        ),
        ("--axes --captions", "--captions is for frames without axes"),
        ("--y-axis left", "must be down or up"),
        ("--axes --out bare", "without axes and no arrays (--npy)"),
    ] {
        let refused = zoom(path, &SMALL)
            .args(["--frames", "2"])
            .args(more.split_whitespace())
            .assert()
            .code(2);
        refused.stderr(predicate::str::contains(words));
    }
    assert!(!path.join("zoom").exists());
}

#[test]
fn films_are_made_from_existing_frames() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    zoom(path, &SMALL)
        .args(["--frames", "3", "--film", "a.gif", "--film", "a.webp"])
        .assert()
        .success()
        .stdout(predicate::str::contains("a.webp"));
    assert_eq!(
        &std::fs::read(path.join("a.gif")).expect("there")[..6],
        b"GIF89a"
    );
    assert_eq!(
        &std::fs::read(path.join("a.webp")).expect("there")[8..16],
        b"WEBPVP8X"
    );
    // The frames exist, so nothing is computed.
    let object = json(zoom(path, &SMALL).args(["--frames", "3", "--film", "b.gif", "--fps", "10"]));
    assert_eq!(object["computed"], 0);
    assert!(path.join("b.gif").exists());
}

#[cfg(unix)]
#[test]
fn an_mp4_is_written_by_ffmpeg_or_rejected_before_the_work() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let film = ["--frames", "2", "--film", "a.mp4"];
    zoom(path, &SMALL)
        .args(film)
        .env("PATH", "")
        .assert()
        .code(2)
        .stderr(
            predicate::str::contains("'--film'")
                .and(predicate::str::contains("ffmpeg"))
                .and(predicate::str::contains(".webp")),
        );
    assert_eq!(files(path).len(), 0, "nothing was begun");
    // A program with the name ffmpeg that records its arguments.
    let program = |text: &str| {
        let tools = path.join("tools");
        std::fs::create_dir_all(&tools).expect("creates");
        let ffmpeg = tools.join("ffmpeg");
        std::fs::write(&ffmpeg, text).expect("writes");
        std::fs::set_permissions(&ffmpeg, std::fs::Permissions::from_mode(0o755)).expect("sets");
        tools
    };
    let tools = program("#!/bin/sh\nfor last; do :; done\necho \"$@\" > \"$last\"\n");
    zoom(path, &SMALL)
        .args(film)
        .env("PATH", &tools)
        .assert()
        .success();
    let told = std::fs::read_to_string(path.join("a.mp4")).expect("there");
    let mode = |name: &str| {
        let metadata = std::fs::metadata(path.join(name)).expect("there");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode("a.mp4"), mode("zoom/frame-00000.png"));
    assert!(
        told.contains("-framerate 30") && told.contains("zoom/frame-%05d.png"),
        "{told}"
    );
    std::fs::remove_file(path.join("a.mp4")).expect("there");
    let tools = program("#!/bin/sh\necho no such codec >&2\nexit 1\n");
    zoom(path, &SMALL)
        .args(film)
        .env("PATH", &tools)
        .assert()
        .code(1)
        .stderr(predicate::str::contains("no such codec"));
    assert!(!path.join("a.mp4").exists());
}

#[test]
fn bad_input_is_rejected_before_anything_is_written() {
    let directory = tempfile::tempdir().expect("a folder");
    for (arguments, words) in [
        (
            &["--set", "span=40/wide"][..],
            &["--set", "'wide'", "frames"][..],
        ),
        (&["--set", "span=40/(frame"], &["--set", "not a formula"]),
        (
            &["--set", "width=4"],
            &["--set", "width", "critical-distance"],
        ),
        (&["--set", "span"], &["--set", "NAME=FORMULA"]),
        (&["--set", "steps=1000-10*frame"], &["frame 100", "steps"]),
        (&["--set", "span=1/frame"], &["frame 0", "span"]),
        (
            &["--preset", "mandelbrot"],
            &["--preset", "document, video or none"],
        ),
        (&["--frames", "0"], &["--frames", "99999"]),
        (&["--fps", "1000"], &["--fps", "60"]),
        (&["--film", "a.avi"], &["--film", ".webp"]),
        (&["--film", "missing/a.gif"], &["--film", "missing"]),
        (&["--out", "missing/zoom"], &["--out", "missing"]),
        (&["--in-flight", "0"], &["--in-flight", "64"]),
        (&["--checkpoint", "0"], &["--checkpoint", "86400"]),
        (&["--cache", "some"], &["--cache", "none or rounded"]),
        (
            &["--cache", "rounded", "--quantity", "ftle"],
            &["--cache", "--quantity divergence"],
        ),
        (&["--masses", "1,-2,3"], &["--masses", "at least 0"]),
        (
            &["--colours", "red"],
            &["--colours", "share, steps or frame"],
        ),
    ] {
        let output = zoom(directory.path(), arguments).output().expect("runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        for word in words {
            assert!(
                message.contains(word),
                "{arguments:?}: {word} is not in {message}"
            );
        }
        assert_eq!(files(directory.path()).len(), 0, "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_the_next_run_resumes() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    std::fs::create_dir(path.join("zoom")).expect("creates");
    let full = path.join("zoom/frame-00001.png");
    let sequence = ["--frames", "3", "--in-flight", "1"];
    zoom(path, &SMALL).args(sequence).assert().success();
    std::fs::remove_file(path.join("zoom/frame-00001.json")).expect("there");
    std::fs::remove_file(&full).expect("there");
    std::os::unix::fs::symlink("/dev/full", &full).expect("links");
    zoom(path, &SMALL)
        .args(sequence)
        .assert()
        .code(1)
        .stderr(predicate::str::contains("disk is full"));
    assert!(path.join("zoom/frame-00000.json").exists());
    assert!(
        path.join("zoom/frame-00001.part").exists(),
        "computed frames are kept"
    );
    std::fs::remove_file(&full).expect("there");
    let object = json(zoom(path, &SMALL).args(sequence));
    assert_eq!(
        (&object["computed"], &object["pixel_steps"]),
        (&1.into(), &0.into())
    );
    std::os::unix::fs::symlink("/dev/full", path.join("z.gif")).expect("links");
    zoom(path, &SMALL)
        .args(sequence)
        .args(["--film", "z.gif"])
        .assert()
        .code(1)
        .stderr(predicate::str::contains("z.gif").and(predicate::str::contains("disk is full")));
}

#[test]
fn files_left_by_a_kill_right_after_a_frame_are_removed() {
    for cache in ["none", "rounded"] {
        let directory = tempfile::tempdir().expect("a folder");
        let path = directory.path();
        let run = || {
            zoom(path, &SMALL)
                .args(["--frames", "2", "--out", "frames", "--cache", cache])
                .assert()
                .success();
            files(&path.join("frames"))
        };
        let before = run();
        std::fs::write(
            path.join("frames/frame-00001.part"),
            "of a run that was killed",
        )
        .expect("writes");
        assert!(run() == before, "--cache {cache}");
    }
}

/// Runs it again; returns the number of frames that were computed, and the notes that say why.
fn again(path: &Path, arguments: &[&str]) -> (u64, String) {
    let object = json(&mut zoom(path, arguments));
    let computed = object["computed"].as_u64().expect("a number");
    (computed, object["notes"].to_string())
}

#[test]
fn damaged_frames_are_computed_again_and_reported() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let arguments = [&SMALL[..], &["--frames", "3", "--npy"]].concat();
    json(&mut zoom(path, &arguments));
    let folder = path.join("zoom");
    let whole = files(&folder);
    assert_eq!(again(path, &arguments).0, 0);
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 7);
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    };
    type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);
    let damages: [(&str, Damage<'_>, &str); 6] = [
        ("png", &cut, "bytes instead of"),
        ("png", &flip, "its bytes have changed"),
        ("npy", &cut, "bytes instead of"),
        ("npy", &flip, "its bytes have changed"),
        ("json", &cut, "it is incomplete"),
        (
            "json",
            &|bytes| {
                let text = String::from_utf8(bytes.clone()).expect("text");
                *bytes = text
                    .replace("\"shortest\": ", "\"shortest\": 1")
                    .into_bytes();
            },
            "its bytes have changed",
        ),
    ];
    for (extension, damage, says) in damages {
        let name = format!("frame-00001.{extension}");
        let mut bytes = whole[&name].clone();
        damage(&mut bytes);
        std::fs::write(folder.join(&name), bytes).expect("writes");
        let (computed, notes) = again(path, &arguments);
        assert_eq!(computed, 1, "{name}");
        assert!(
            notes.contains(&name) && notes.contains(says) && notes.contains("computed again"),
            "{notes}"
        );
        assert!(files(&folder) == whole, "{name}");
    }
    std::fs::remove_file(folder.join("frame-00000.npy")).expect("there");
    let (computed, notes) = again(path, &arguments);
    assert!(
        computed == 1 && notes.contains("frame-00000.npy: it is missing"),
        "{notes}"
    );
    // A complete set of files of another frame is not accepted for this one.
    for extension in ["png", "npy", "json"] {
        let [from, to] = [0, 2].map(|n| folder.join(format!("frame-0000{n}.{extension}")));
        std::fs::copy(from, to).expect("copies");
    }
    let (computed, notes) = again(path, &arguments);
    assert!(
        computed == 1 && notes.contains("belongs to another map"),
        "{notes}"
    );
    assert!(files(&folder) == whole);
}

#[test]
fn damaged_frames_are_computed_again_with_the_cache_and_in_sweeps_too() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let damage = |name: &str| {
        let file = path.join(name);
        let bytes = std::fs::read(&file).expect("there");
        std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("writes");
    };
    let arguments = [
        &SMALL[..],
        &["--frames", "3", "--cache", "rounded", "--out", "rounded"],
    ]
    .concat();
    json(&mut zoom(path, &arguments));
    let whole = files(&path.join("rounded"));
    damage("rounded/frame-00001.png");
    let (computed, notes) = again(path, &arguments);
    assert!(computed == 1 && notes.contains("computed again"), "{notes}");
    assert!(files(&path.join("rounded")) == whole);
    let sweep = || {
        let mut command = support::trisolar(path);
        command.args(["sweep", "--vary", "dt=0.001,0.002", "--backend", "cpu"]);
        command.args(["--size", "8", "--steps", "50"]);
        json(&mut command)
    };
    sweep();
    let whole = files(&path.join("sweep"));
    damage("sweep/frame-00001.npy");
    let object = sweep();
    assert_eq!(object["computed"], 1);
    assert!(files(&path.join("sweep")) == whole);
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    std::fs::write(path.join("table.csv"), "mine").expect("writes");
    let mut command = support::trisolar(path);
    command.args([
        "sweep",
        "--vary",
        "dt=0.001,0.002",
        "--size",
        "4",
        "--steps",
        "9",
    ]);
    command
        .args(["--out", ".", "--restart"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains(
            "table.csv, which would be overwritten",
        ));
    assert_eq!(files(path).len(), 1);
}

#[test]
fn a_zoom_goes_on_in_double_double_below_the_last_digit_of_f64() {
    let directory = tempfile::tempdir().expect("a folder");
    let deep = [
        "--preset",
        "none",
        "--integrator",
        "regularised-6",
        "--center",
        "4.6969309279759617671516391588352,-0.1795693989361937639353546887507",
        "--size",
        "6x4",
        "--frames",
        "3",
        "--steps",
        "1000",
        "--dt",
        "0.01",
        "--set",
        "span=1e-8/10^(6*frame)",
        "--set",
        "shift=1e-11/10^(6*frame)",
    ];
    let object = json(&mut zoom(directory.path(), &deep));
    assert_eq!(object["double_double_from"], 1);
    for (frame, precision) in [(0, "f64"), (1, "double-double"), (2, "double-double")] {
        let path = directory.path().join(format!("zoom/frame-{frame:05}.json"));
        let text = std::fs::read_to_string(path).expect("there");
        let written: Value = serde_json::from_str(&text).expect("JSON");
        let specification = &written["specification"];
        assert_eq!(specification["precision"], precision, "frame {frame}");
        assert_eq!(
            specification["center"][0],
            "4.6969309279759617671516391588352"
        );
    }
    // All frames are there.
    let mut again = zoom(directory.path(), &deep);
    let output = again.output().expect("runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("double-double in frames 1 to 2"), "{said}");
    assert_eq!(json(&mut zoom(directory.path(), &deep))["computed"], 0);
}
