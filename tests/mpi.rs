//! Tests of runs under mpirun on one machine. They are built only with the feature `mpi`.
#![cfg(feature = "mpi")]

mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use support::contents;

const PROGRAM: &str = env!("CARGO_BIN_EXE_trisolar");

/// The program on this number of ranks; with one rank, it runs without mpirun.
fn ranks(n: usize) -> Command {
    if n == 1 {
        return Command::new(PROGRAM);
    }
    let mut command = Command::new("mpirun");
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .args(["--oversubscribe", "-n", &n.to_string(), PROGRAM]);
    command
}

/// Ranks with different options.
fn unequal_ranks(folder: &Path, options: &[&[&str]]) -> Command {
    let mut command = Command::new("mpirun");
    command
        .current_dir(folder)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .arg("--oversubscribe");
    for (rank, options) in options.iter().enumerate() {
        if rank > 0 {
            command.arg(":");
        }
        command.args(["-n", "1", PROGRAM]).args(*options);
    }
    command
}

fn success(command: &mut Command) -> Output {
    let output = command.output().expect("mpirun is installed");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn bodies_have_the_same_bits_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    for (n, solver, integrator) in [
        ("1111", "reduced", "velocity-verlet"),
        ("1111", "basic", "runge-kutta-4"),
        ("700", "reduced", "forest-ruth"),
        ("5", "reduced", "explicit-euler"),
        ("5", "basic", "leapfrog"),
        ("2", "reduced", "velocity-verlet"),
        ("3", "basic", "velocity-verlet"),
    ] {
        let run = |size: usize| {
            let name = format!("{size}.npz");
            success(
                ranks(size)
                    .current_dir(folder.path())
                    .args(["nbody", "--n", n, "--steps", "6", "--every", "2", "--quiet"])
                    .args(["--solver", solver, "--integrator", integrator])
                    .args(["--softening", "0.01", "--out", &name]),
            );
            bytes(folder.path(), &name)
        };
        let expected = run(1);
        for size in [2, 3, 4] {
            assert!(run(size) == expected, "{n} {solver} {integrator} {size}");
        }
    }
}

/// The program on this number of ranks, in a folder, on a machine that has this number of emulated GPUs.
fn emulated(size: usize, gpus: u32, folder: &Path) -> Command {
    let mut command = ranks(size);
    command
        .current_dir(folder)
        .env("TRISOLAR_EMULATED_GPUS", gpus.to_string());
    command
}

#[test]
fn bodies_on_gpus_have_the_same_bytes_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    for (n, options) in [
        // Several rows and, with a small limit of memory, several rounds are tested in the library.
        ("300", "--solver reduced --integrator velocity-verlet"),
        ("300", "--solver basic --integrator runge-kutta-4"),
        ("5", "--solver reduced --integrator leapfrog"),
        ("150", "--solver reduced --precision float-float"),
        ("150", "--solver basic --precision f32"),
    ] {
        let run = |size: usize, gpus: u32, backend: &str| {
            let name = format!("{size}-{gpus}.npz");
            let mut command = emulated(size, gpus, folder.path());
            command
                .args(["nbody", "--n", n, "--steps", "4", "--every", "2", "--quiet"])
                .args(["--softening", "0.01", "--backend", backend, "--out", &name])
                .args(options.split_whitespace());
            if gpus > 1 {
                command.args(["--gpus", &gpus.to_string()]);
            }
            success(&mut command);
            bytes(folder.path(), &name)
        };
        let expected = run(1, 1, "gpu");
        if !options.contains("--precision") {
            assert!(run(1, 0, "cpu") == expected, "{n} {options}: the CPU");
        }
        for (size, gpus) in [(2, 1), (2, 2), (3, 2), (2, 3), (3, 3)] {
            assert!(
                run(size, gpus, "gpu") == expected,
                "{n} {options}: {size} ranks, {gpus} GPUs"
            );
        }
    }
}

#[test]
fn bodies_on_gpus_resume_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let steps = |command: &mut Command, steps: &str, name: &str| {
        command.args(["nbody", "--quiet", "--steps", steps, "--every", "3"]);
        command.args([
            "--n",
            "150",
            "--backend",
            "gpu",
            "--precision",
            "float-float",
        ]);
        success(command.args(["--checkpoint", name, "--out", "end.npz"]));
    };
    steps(&mut emulated(1, 1, folder.path()), "9", "whole.npz");
    let expected = bytes(folder.path(), "end.npz");
    for (before, after) in [(1, 2), (3, 1), (2, 3)] {
        for name in ["end.npz", "part.npz"] {
            let _ = std::fs::remove_file(folder.path().join(name));
        }
        steps(&mut emulated(before, 2, folder.path()), "6", "part.npz");
        let mut resumed = emulated(after, 2, folder.path());
        resumed.args(["nbody", "--quiet", "--resume", "part.npz", "--steps", "9"]);
        success(&mut resumed);
        assert!(
            bytes(folder.path(), "end.npz") == expected,
            "{before} ranks, then {after}"
        );
    }
}

#[test]
fn ranks_compute_on_gpus_if_all_have_one_and_otherwise_on_cpus() {
    let folder = tempfile::tempdir().unwrap();
    let rank = |command: &str, backend: &str, gpus: &str| {
        let options = format!(
            "TRISOLAR_EMULATED_GPUS={gpus} {PROGRAM} {command} --backend {backend} --json --out m.npz"
        );
        options
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let run = |ranks: &[Vec<String>]| {
        let mut command = Command::new("mpirun");
        command
            .current_dir(folder.path())
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .arg("--oversubscribe");
        for (number, words) in ranks.iter().enumerate() {
            command.args((number > 0).then_some(":"));
            command.args(["-n", "1", "env"]).args(words);
        }
        command.output().expect("mpirun is installed")
    };
    for command in [
        "nbody --n 40 --steps 2 --precision float-float",
        "cluster --n 16 --gpus 1 --end 0.0625 --every 0.0625",
    ] {
        let device = |ranks: &[Vec<String>]| {
            let output = run(ranks);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command}: {said}");
            let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            (object["device"].to_string(), object["notes"].to_string())
        };
        let (chosen, notes) = device(&[rank(command, "auto", "1"), rank(command, "auto", "2")]);
        assert!(chosen.contains("emulated GPU"), "{command}: {chosen}");
        assert!(!notes.contains("usable GPU"), "{command}: {notes}");
        if command.starts_with("nbody") {
            let (chosen, notes) = device(&[rank(command, "auto", "1"), rank(command, "auto", "0")]);
            assert!(!chosen.contains("emulated GPU"), "{command}: {chosen}");
            let reason = "rank 1 has no usable GPU, so that the CPUs of all ranks compute";
            assert!(notes.contains(reason), "{command}: {notes}");
        }

        let fails = |ranks: &[Vec<String>], code: i32, reason: &str| {
            let output = run(ranks);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{command}: {said}");
            assert_eq!(said.matches(reason).count(), 1, "{command}: {said}");
        };
        let (gpu, none) = (rank(command, "gpu", "1"), rank(command, "gpu", "0"));
        let without = command.replace("--gpus 1", "");
        let (gpu_of_any, none_of_any) = (rank(&without, "gpu", "1"), rank(&without, "gpu", "0"));
        fails(
            &[gpu_of_any, none_of_any.clone()],
            1,
            "error: rank 1: no usable GPU: TRISOLAR_EMULATED_GPUS=0",
        );
        fails(
            &[none_of_any.clone(), none_of_any],
            1,
            "error: rank 0: no usable GPU",
        );
        if command.contains("--gpus") {
            fails(&[gpu, none], 2, "--gpus 1: no usable GPU");
        }
    }
}

#[test]
fn clusters_have_the_same_bytes_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = ["out.npz", "series.npz", "run.npz"];
    for options in [
        "--n 64 --order 6 --end 0.125 --every 0.0625 --softening 0.01",
        "--n 300 --order 4 --end 0.0625 --every 0.03125 --softening 0.1",
        "--n 40 --order 8 --iterations 2 --end 0.0625 --every 0.0625 --softening 0.1 --precision split-f32",
        "--n 64 --scheme ahmad-cohen --neighbours 10 --end 0.0625 --every 0.0625 --softening 0.1",
        "--model burrau --end 1 --every 0.5",
    ] {
        let run = |size: usize, gpus: u32| {
            for name in outputs {
                let _ = std::fs::remove_file(folder.path().join(name));
            }
            let mut command = emulated(size, gpus, folder.path());
            command.args(["cluster", "--quiet", "--out", outputs[0]]);
            command.args(["--series", outputs[1], "--checkpoint", outputs[2]]);
            command.args(options.split_whitespace());
            match gpus {
                0 => command.args(["--backend", "cpu"]),
                n => command.args(["--backend", "gpu", "--gpus", &n.to_string()]),
            };
            success(&mut command);
            outputs.map(|name| bytes(folder.path(), name))
        };
        let expected = run(1, 0);
        for (size, gpus) in [(1, 1), (2, 0), (3, 0), (2, 1), (2, 2), (3, 2), (2, 3)] {
            let got = run(size, gpus);
            for (name, (got, expected)) in outputs.iter().zip(got.iter().zip(&expected)) {
                assert!(
                    got == expected,
                    "{options}: {name} of {size} ranks, {gpus} GPUs"
                );
            }
        }
    }
}

#[test]
fn clusters_resume_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let files = |name: &str| {
        ["npz", "series.npz", "ckpt.npz"].map(|end| bytes(folder.path(), &format!("{name}.{end}")))
    };
    let start = |size: usize, gpus: u32, scheme: &str, name: &str, end: &str| {
        let mut command = emulated(size, gpus, folder.path());
        command.args(["cluster", "--n", "64", "--softening", "0.05", "--quiet"]);
        command.args(["--scheme", scheme, "--every", "0.03125", "--end", end]);
        command.args(["--order", "4"]);
        command.args(["--snapshots", &format!("{name}-snapshots")]);
        for (option, end) in [("--out", "npz"), ("--series", "series.npz")] {
            command.args([option, &format!("{name}.{end}")]);
        }
        command.args(["--checkpoint", &format!("{name}.ckpt.npz")]);
        command.args(["--backend", if gpus == 0 { "cpu" } else { "gpu" }]);
        success(&mut command);
    };
    for scheme in ["plain", "ahmad-cohen"] {
        let whole = format!("{scheme}-whole");
        start(1, 0, scheme, &whole, "0.125");
        let expected = files(&whole);
        for ((before, gpus), (after, gpus_after)) in
            [((1, 0), (3, 1)), ((2, 2), (2, 0)), ((3, 1), (2, 2))]
        {
            let name = format!("{scheme}-{before}-{after}");
            start(before, gpus, scheme, &name, "0.0625");
            // A snapshot that was lost is written again, which needs the engines of all ranks.
            let lost = folder.path().join(format!("{name}-snapshots/00002.npz"));
            let snapshot = std::fs::read(&lost).unwrap();
            std::fs::remove_file(&lost).unwrap();
            let mut resumed = emulated(after, gpus_after, folder.path());
            resumed.args(["cluster", "--quiet", "--end", "0.125", "--resume"]);
            resumed.arg(format!("{name}.ckpt.npz"));
            resumed.args(["--backend", if gpus_after == 0 { "cpu" } else { "gpu" }]);
            success(&mut resumed);
            assert!(std::fs::read(&lost).unwrap() == snapshot, "{name}");
            let got = files(&name);
            assert!(got[0] == expected[0] && got[1] == expected[1], "{name}");
        }
    }
}

#[test]
fn clusters_resume_after_a_lost_rank_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let base = ["cluster", "--n", "128", "--softening", "0.05", "--quiet"];
    let mut run = ranks(3);
    run.current_dir(folder.path())
        .args(base)
        .args(["--end", "10000", "--every", "0.0625", "--threads", "1"])
        .args(["--checkpoint", "c.npz", "--out", "resumed.npz"]);
    let read = || trisolar::hermite::files::Checkpoint::read(&folder.path().join("c.npz"));
    kill_one(run, || read().is_ok_and(|c| c.time > 0.0625));

    let end = ((read().unwrap().time / 0.0625).ceil() + 2.0) * 0.0625;
    let end = end.to_string();
    let mut whole = ranks(1);
    whole.current_dir(folder.path()).args(base);
    success(whole.args(["--end", &end, "--every", "0.0625", "--out", "whole.npz"]));
    let left = bytes(folder.path(), "c.npz");
    for size in [1, 2] {
        let _ = std::fs::remove_file(folder.path().join("resumed.npz"));
        std::fs::write(folder.path().join("c.npz"), &left).unwrap();
        let mut resumed = ranks(size);
        resumed.current_dir(folder.path());
        success(resumed.args(["cluster", "--quiet", "--resume", "c.npz", "--end", &end]));
        assert!(bytes(folder.path(), "resumed.npz") == bytes(folder.path(), "whole.npz"));
    }
}

#[test]
fn the_textbooks_output_is_printed_once() {
    let text = |size| {
        let mut command = ranks(size);
        command.args(["nbody", "--model", "line", "--n", "300", "--steps", "20"]);
        command.args(["--every", "10", "--format", "textbook"]);
        String::from_utf8(success(&mut command).stdout).unwrap()
    };
    let expected = text(1);
    assert_eq!(expected.lines().count(), 3 * 302);
    assert_eq!(text(3), expected);
}

#[test]
fn bad_input_is_reported_once_and_ends_all_ranks() {
    let output = ranks(3)
        .args(["nbody", "--input", "/no/such/file"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert_eq!(said.matches("/no/such/file").count(), 1, "{said}");
    for (option, value) in [
        ("--block-step", "device"),
        ("--close-pairs", "regularised"),
        ("--live", ""),
    ] {
        let mut command = ranks(3);
        command.args(["cluster", "--backend", "gpu", option]);
        command.args(Some(value).filter(|v| !v.is_empty()));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.matches(option).count(), 1, "{said}");
    }
    for command in ["compare", "bench divergence"] {
        let words = command.split_whitespace();
        let output = ranks(3).args(words.clone()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = format!(
            "trisolar {} runs as one process",
            words.clone().next().unwrap()
        );
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(said.matches(&reason).count(), 1, "{said}");
    }
}

/// The processes of this program whose parent is `parent`.
fn children(parent: u32) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // After the name in parentheses come the state and the parent.
        let after = stat.rsplit(')').next().unwrap_or_default();
        let is_child = after.split_whitespace().nth(1) == Some(&parent.to_string());
        if is_child && stat.contains("(trisolar") {
            found.push(pid);
        }
    }
    found
}

/// Kills one rank of a run as soon as `begun` returns true; all ranks must end soon, with a message.
fn kill_one(mut command: Command, begun: impl Fn() -> bool) {
    let mut run = command.stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !begun() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it does not begin"
        );
        assert!(run.try_wait().unwrap().is_none(), "it was too fast");
        std::thread::sleep(Duration::from_millis(10));
    }
    let ranks_running = children(run.id());
    assert_eq!(ranks_running.len(), 3);
    let lost = Pid::from_raw(*ranks_running.iter().max().unwrap()).unwrap();
    kill_process(lost, Signal::KILL).unwrap();
    let began = Instant::now();
    let output = run.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    let message = "ends: the run was cancelled, or another rank was lost";
    assert!(said.contains(message), "{said}");
}

#[test]
fn bodies_resume_after_a_lost_rank_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let base = ["nbody", "--n", "300", "--seed", "3", "--softening", "0.01"];
    let mut run = ranks(3);
    run.current_dir(folder.path())
        .args(base)
        .args(["--steps", "9000000", "--every", "50"])
        .args(["--checkpoint", "c.npz", "--series", "s.csv"])
        .args(["--out", "resumed.npz"]);
    kill_one(run, || folder.path().join("s.csv").exists());

    let checkpoint =
        trisolar::nbody::files::Checkpoint::read(&folder.path().join("c.npz")).unwrap();
    assert!(checkpoint.step >= 50);
    let steps = (checkpoint.step + 100).to_string();
    success(
        ranks(1)
            .current_dir(folder.path())
            .args(base)
            .args(["--quiet", "--steps", &steps, "--every", "50"])
            .args(["--out", "whole.npz", "--series", "t.csv"]),
    );
    let left = ["c.npz", "s.csv"].map(|name| (name, bytes(folder.path(), name)));
    for size in [1, 2, 4] {
        let _ = std::fs::remove_file(folder.path().join("resumed.npz"));
        for (name, bytes) in &left {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        // Resumes from the checkpoint alone, with an earlier end that the test can wait for.
        success(
            ranks(size)
                .current_dir(folder.path())
                .args(["nbody", "--quiet", "--resume", "c.npz", "--steps", &steps]),
        );
        assert!(bytes(folder.path(), "resumed.npz") == bytes(folder.path(), "whole.npz"));
        assert!(bytes(folder.path(), "s.csv") == bytes(folder.path(), "t.csv"));
    }
}

/// A map whose left part takes long while its right part finishes at once.
const UNEVEN: [&str; 6] = [
    "--span",
    "300",
    "--steps",
    "3000",
    "--critical-distance",
    "0.005",
];

#[test]
fn maps_have_the_same_bytes_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let map = |size: usize, shape: &str| {
        let name = format!("{size}.npz");
        success(
            ranks(size)
                .current_dir(folder.path())
                .args(["divergence", "--size", shape, "--quiet", "--out", &name])
                .args(UNEVEN),
        );
        bytes(folder.path(), &name)
    };
    for (shape, sizes) in [("61x37", 2..=4), ("2x1", 3..=3), ("1x1", 2..=2)] {
        let expected = map(1, shape);
        for size in sizes {
            assert!(map(size, shape) == expected, "{shape} on {size}");
        }
    }
}

#[test]
fn a_map_is_reported_once_with_every_ranks_contribution() {
    let folder = tempfile::tempdir().unwrap();
    let output = success(
        ranks(3)
            .current_dir(folder.path())
            .args(["divergence", "--size", "80", "--steps", "20000", "--json"])
            .args(["--span", "4", "--center", "-6,7", "--threads", "1"]),
    );
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let devices = object["devices"].as_array().unwrap();
    let pixels = |d: &serde_json::Value| d["pixels"].as_u64().unwrap();
    assert_eq!(devices.iter().map(pixels).sum::<u64>(), 80 * 80);
    for (rank, device) in devices.iter().enumerate() {
        let name = device["device"].as_str().unwrap();
        assert!(name.starts_with(&format!("rank {rank}: ")), "{name}");
        // All ranks are equally fast; the number of processors available to them is unknown.
        assert!(pixels(device) > 80 * 80 / 30, "{devices:?}");
    }
    assert_eq!(devices.len(), 3);
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn points_are_computed_on_all_ranks_if_all_read_the_same_points() {
    let folder = tempfile::tempdir().unwrap();
    let points = |name: &str, first: f64| {
        let line = |n: u32| format!("{},{},-11\n", first + f64::from(n) / 7.0, 3.0);
        let text: String = (0..300).map(line).collect();
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    points("a.csv", 1.0);
    points("b.csv", 2.0);
    let options = |file| {
        [
            "divergence",
            "--points",
            file,
            "--steps",
            "2000",
            "--out",
            "m.npy",
        ]
    };
    let options = [options("a.csv"), options("b.csv")];
    success(
        Command::new(PROGRAM)
            .current_dir(folder.path())
            .args(options[0]),
    );
    let expected = bytes(folder.path(), "m.npy");
    success(&mut unequal_ranks(
        folder.path(),
        &[&options[0], &options[0]],
    ));
    assert!(bytes(folder.path(), "m.npy") == expected);
    let streamed = [&options[0][..], &["--stream"]].concat();
    std::fs::remove_file(folder.path().join("m.npy")).unwrap();
    success(&mut unequal_ranks(folder.path(), &[&streamed, &streamed]));
    assert!(bytes(folder.path(), "m.npy") == expected);
    let output = unequal_ranks(folder.path(), &[&options[0], &options[1]])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("error: rank 1: --points: the file is not the one"),
        "{said}"
    );
}

#[test]
fn sweeps_have_the_same_files_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = |size: usize| {
        let name = format!("{size}");
        let output = success(
            ranks(size)
                .current_dir(folder.path())
                .args([
                    "sweep",
                    "--vary",
                    "mass2=5:40:6",
                    "--size",
                    "23x19",
                    "--steps",
                    "1500",
                ])
                .args(["--json", "--out", &name]),
        );
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["computed"], 6);
        contents(&folder.path().join(name))
    };
    let expected = sweep(1);
    assert_eq!(expected.len(), 3 * 6 + 4);
    assert!(sweep(3) == expected);
}

#[test]
fn zooms_resume_after_a_lost_rank_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let zoom = |size: usize, out: &str| {
        let mut command = ranks(size);
        command
            .current_dir(folder.path())
            .args(["zoom", "--size", "40", "--frames", "6", "--steps", "20000"])
            .args([
                "--set",
                "steps=steps",
                "--critical-distance",
                "1000",
                "--npy",
            ])
            .args(["--checkpoint", "0.1", "--quiet", "--out", out]);
        command
    };
    success(&mut zoom(1, "whole"));
    let there = || {
        let parts = (0..6).map(|n| folder.path().join(format!("z/frame-{n:05}.part")));
        // The file of a frame has its whole length from the beginning.
        let computed =
            |path| std::fs::read(path).is_ok_and(|b| b[b.len().min(128)..].iter().any(|b| *b > 0));
        { parts }.any(computed)
    };
    kill_one(zoom(3, "z"), there);
    // The records of an earlier run are used, whichever ranks made them.
    success(
        ranks(2)
            .current_dir(folder.path())
            .args(["zoom", "--resume", "z", "--quiet"]),
    );
    assert!(contents(&folder.path().join("z")) == contents(&folder.path().join("whole")));
}

#[test]
fn streamed_maps_resume_after_a_lost_rank_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let map = |size: usize, how: &str, out: &str| {
        let mut command = ranks(size);
        command
            .current_dir(folder.path())
            .args(["divergence", "--size", "90x80", "--steps", "60000", how])
            .args(["--critical-distance", "1000", "--quiet", "--threads", "1"])
            .args(["--out", out]);
        command
    };
    success(&mut map(1, "--stream", "whole.npy"));
    let part = folder.path().join("m.npy.part");
    let there = || std::fs::read(&part).is_ok_and(|b| b[b.len().min(128)..].iter().any(|b| *b > 0));
    kill_one(map(3, "--stream", "m.npy"), there);
    // Resumes with only the file name.
    success(ranks(2).current_dir(folder.path()).args([
        "divergence",
        "--resume",
        "m.npy",
        "--quiet",
    ]));
    assert!(bytes(folder.path(), "m.npy") == bytes(folder.path(), "whole.npy"));
    assert!(!part.exists());
}

#[test]
fn a_rank_that_cannot_compute_ends_all_ranks_and_the_run_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let options = |backend, how| {
        let map = [
            "divergence",
            "--size",
            "20",
            "--steps",
            "900",
            "--out",
            "m.npy",
        ];
        [&map[..], &["--backend", backend, how]].concat()
    };
    // No test machine has a GPU that this rank could use.
    let able = options("cpu", "--stream");
    let unable = options("gpu", "--stream");
    let output = unequal_ranks(folder.path(), &[&able, &able, &unable])
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("rank 2: no usable GPU").count(), 1, "{said}");
    let again = options("cpu", "--resume");
    success(&mut unequal_ranks(folder.path(), &[&again, &again]));
    success(ranks(1).current_dir(folder.path()).args([
        "divergence",
        "--size",
        "20",
        "--steps",
        "900",
        "--out",
        "whole.npy",
    ]));
    assert!(bytes(folder.path(), "m.npy") == bytes(folder.path(), "whole.npy"));
}

#[test]
fn unsupported_options_on_several_ranks_are_rejected_once_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (options, reason) in [
        (&["divergence", "--size", "0"][..], "--size"),
        (&["sweep", "--vary", "mass9=1,2"], "unknown parameter"),
        (&["zoom", "--out", "no/such/folder"], "does not exist"),
    ] {
        let output = ranks(2)
            .current_dir(folder.path())
            .args(options)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert_eq!(said.matches(reason).count(), 1, "{options:?}: {said}");
    }
    assert!(contents(folder.path()).is_empty());
}

/// 64-bit values are sent between ranks unchanged.
#[test]
fn maps_of_every_quantity_have_the_same_bytes_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    for quantity in trisolar::divergence::Quantity::ALL {
        let run = |size: usize, more: &[&str]| {
            let name = format!("{quantity}-{size}.npy");
            success(
                ranks(size)
                    .current_dir(folder.path())
                    .args([
                        "divergence",
                        "--quantity",
                        quantity.name(),
                        "--size",
                        "40x30",
                    ])
                    .args(["--steps", "300", "--dt", "0.01", "--integrator", "leapfrog"])
                    .args([
                        "--backend",
                        "cpu",
                        "--threads",
                        "1",
                        "--quiet",
                        "--out",
                        &name,
                    ])
                    .args(more),
            );
            bytes(folder.path(), &name)
        };
        let expected = run(1, &[]);
        let values = 40 * 30 * quantity.value_type().size();
        assert!(
            (values..values + 256).contains(&expected.len()),
            "{quantity}"
        );
        for size in [2, 3] {
            assert!(run(size, &[]) == expected, "{quantity} {size}");
        }
        std::fs::remove_file(folder.path().join(format!("{quantity}-2.npy"))).unwrap();
        assert!(run(2, &["--stream"]) == expected, "{quantity} --stream");
    }
}

/// Runs encounters on one thread.
fn encounters(command: &mut Command, folder: &Path, options: &str) -> Output {
    command
        .current_dir(folder)
        .arg("encounters")
        .args(options.split_whitespace());
    success(command)
}

#[test]
fn encounters_have_the_same_bytes_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    for (options, sizes) in [
        (
            "--n 300 --seed 3 --draw e=thermal:0:0.9,inclination=isotropic --v-inf 0.3",
            2..=4,
        ),
        (
            "--map phase,inclination --size 9x7 --order 8 --max-time 2000",
            2..=2,
        ),
        ("--setup burrau", 3..=3),
    ] {
        let run = |size: usize| {
            let name = format!("{size}.npz");
            let options = format!("{options} --backend cpu --threads 1 --json --out {name}");
            let output = encounters(&mut ranks(size), folder.path(), &options);
            let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let devices = object["devices"].as_array().unwrap().clone();
            let runs: u64 = devices.iter().map(|d| d["runs"].as_u64().unwrap()).sum();
            assert_eq!(Some(runs), object["summary"]["runs"].as_u64());
            assert_eq!(devices.len(), size);
            bytes(folder.path(), &name)
        };
        let expected = run(1);
        for size in sizes {
            assert!(run(size) == expected, "{options} on {size}");
        }
    }
}

#[test]
fn encounters_resume_after_a_lost_rank_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let options = "--n 6000 --seed 8 --threads 1 --backend cpu --quiet";
    encounters(
        &mut ranks(1),
        folder.path(),
        &format!("{options} --out whole.npz --out whole.csv"),
    );
    let record = folder.path().join("m.npz.part.json");
    let begun = || {
        let text = std::fs::read_to_string(&record).unwrap_or_default();
        let record: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let done = record["done"].as_array();
        done.is_some_and(|done| !done.is_empty())
    };
    let mut command = ranks(3);
    command
        .current_dir(folder.path())
        .arg("encounters")
        .args(options.split_whitespace())
        .args("--stream --out m.npz --out m.csv".split_whitespace());
    kill_one(command, begun);
    assert!(record.exists());
    let output = encounters(&mut ranks(2), folder.path(), "--resume m.npz --json");
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(object["resumed_runs"].as_u64().unwrap() > 0);
    for extension in ["npz", "csv"] {
        let [got, expected] =
            ["m", "whole"].map(|name| bytes(folder.path(), &format!("{name}.{extension}")));
        assert!(got == expected, "{extension}");
    }
    assert!(!record.exists());
}

#[test]
fn points_of_encounters_must_agree_on_all_ranks_and_failures_are_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let points = |name: &str, third: f64| {
        let line = |n: u32| {
            let z = third + f64::from(n) / 7.0;
            format!("1 3 0 -2 -1 0 1 -1 {z} 0 0 0 0 0 0 0 0 0 3 4 5\n")
        };
        let text: String = (0..20).map(line).collect();
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    points("a.csv", 0.0);
    points("b.csv", 1.0);
    let options = |file, backend| {
        [
            "encounters",
            "--points",
            file,
            "--backend",
            backend,
            "--out",
            "m.npz",
        ]
    };
    let [same, other, gpu] = [
        options("a.csv", "cpu"),
        options("b.csv", "cpu"),
        options("a.csv", "gpu"),
    ];
    success(Command::new(PROGRAM).current_dir(folder.path()).args(same));
    let expected = bytes(folder.path(), "m.npz");
    success(&mut unequal_ranks(folder.path(), &[&same, &same]));
    assert!(bytes(folder.path(), "m.npz") == expected);
    let said = |list: &[&[&str]], code: i32| {
        // No test machine has a GPU that a rank could use.
        let mut command = unequal_ranks(folder.path(), list);
        let output = command.env("CUDA_VISIBLE_DEVICES", "").output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let text = said(&[&same, &other], 1);
    assert!(
        text.contains("error: rank 1: --points: the file is not the one"),
        "{text}"
    );
    let text = said(&[&same, &gpu], 1);
    assert_eq!(text.matches("rank 1: no usable GPU").count(), 1, "{text}");
    let wrong = ["encounters", "--e", "1"];
    let text = said(&[&wrong, &wrong, &wrong], 2);
    assert_eq!(text.matches("--e").count(), 1, "{text}");
}
