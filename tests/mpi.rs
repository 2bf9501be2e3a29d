//! Promises of runs under mpirun, on one machine. Built with the feature `mpi` only.
#![cfg(feature = "mpi")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const PROGRAM: &str = env!("CARGO_BIN_EXE_trisolar");

/// The program on so many ranks; one is the plain program.
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

#[test]
fn ranks_print_the_textbooks_text_once() {
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
fn bad_input_is_said_once_and_ends_all_ranks() {
    let output = ranks(3)
        .args(["nbody", "--input", "/no/such/file"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert_eq!(said.matches("/no/such/file").count(), 1, "{said}");
    let output = ranks(2)
        .args(["nbody", "--backend", "gpu"])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("integrated on CPUs"));
    let output = ranks(2).args(["cluster"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("trisolar cluster is one process"));
}

/// Processes of this program whose parent is `parent`.
fn children(parent: u32) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // After the name in parentheses: state, parent.
        let after = stat.rsplit(')').next().unwrap_or_default();
        let is_child = after.split_whitespace().nth(1) == Some(&parent.to_string());
        if is_child && stat.contains("(trisolar") {
            found.push(pid);
        }
    }
    found
}

#[test]
fn a_lost_rank_ends_all_with_a_message_and_leaves_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let base = ["nbody", "--n", "300", "--seed", "3", "--softening", "0.01"];
    let run = ranks(3)
        .current_dir(folder.path())
        .args(base)
        .args(["--steps", "9000000", "--every", "50"])
        .args(["--checkpoint", "c.npz", "--series", "s.csv"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !folder.path().join("s.csv").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(20));
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
    assert!(
        said.contains("ends: the run was cancelled, or another rank was lost"),
        "{said}"
    );
    assert!(children(std::process::id()).is_empty());

    // What is there is whole, and one process goes on from it to the bits of an undisturbed run.
    let checkpoint =
        trisolar::nbody::files::Checkpoint::read(&folder.path().join("c.npz")).unwrap();
    assert!(checkpoint.step >= 50);
    let steps = (checkpoint.step + 100).to_string();
    success(
        ranks(1)
            .current_dir(folder.path())
            .args(["nbody", "--quiet", "--resume", "c.npz", "--steps", &steps])
            .args(["--every", "50", "--out", "resumed.npz", "--series", "s.csv"]),
    );
    success(
        ranks(1)
            .current_dir(folder.path())
            .args(base)
            .args(["--quiet", "--steps", &steps, "--every", "50"])
            .args(["--out", "whole.npz", "--series", "t.csv"]),
    );
    assert!(bytes(folder.path(), "resumed.npz") == bytes(folder.path(), "whole.npz"));
    assert!(bytes(folder.path(), "s.csv") == bytes(folder.path(), "t.csv"));
}

#[test]
fn maps_have_the_same_bytes_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let map = |size: usize| {
        let name = format!("{size}.npz");
        success(
            ranks(size)
                .current_dir(folder.path())
                .args([
                    "divergence",
                    "--size",
                    "31x17",
                    "--steps",
                    "3000",
                    "--quiet",
                ])
                .args(["--critical-distance", "0.005", "--out", &name]),
        );
        bytes(folder.path(), &name)
    };
    let expected = map(1);
    for size in [2, 3, 4] {
        assert!(map(size) == expected, "{size}");
    }
    // More ranks than rows.
    let thin = |size: usize| {
        let name = format!("thin{size}.npy");
        success(
            ranks(size)
                .current_dir(folder.path())
                .args(["divergence", "--size", "40x2", "--steps", "300", "--quiet"])
                .args(["--out", &name]),
        );
        bytes(folder.path(), &name)
    };
    assert!(thin(3) == thin(1));
}
