//! Files that are read have a size limit, and devices and directories are rejected instead of being read endlessly.

use crate::support;

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use predicates::str::contains;
use support::{names, trisolar};

/// Every option that reads a file, with the extension of such a file.
const READERS: [(&[&str], &str); 14] = [
    (&["divergence", "--config"], "a.toml"),
    (&["zoom", "--config"], "a.toml"),
    (&["sweep", "--vary", "dt=1e-3,2e-3", "--config"], "a.toml"),
    (&["compare", "--config"], "a.toml"),
    (&["nbody", "--config"], "a.toml"),
    (&["divergence", "--points"], "a.txt"),
    (&["divergence", "--points"], "a.npy"),
    (&["divergence", "--points"], "a.npz"),
    (&["nbody", "--input"], "a.txt"),
    (&["nbody", "--input"], "a.csv"),
    (&["nbody", "--input"], "a.tipsy"),
    (&["nbody", "--input"], "a.npz"),
    (&["cluster", "--input"], "a.txt"),
    (&["cluster", "--input"], "a.npz"),
];

/// Runs every reader on a link to `target`, in a process with limited memory.
#[track_caller]
fn refused(target: &str, says: &str) {
    for (command, name) in READERS.into_iter().chain([
        (&["nbody", "--resume"][..], "a.npz"),
        (&["cluster", "--resume"], "a.npz"),
    ]) {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
        let began = Instant::now();
        let output = std::process::Command::new("sh")
            .current_dir(folder.path())
            .args(["-c", "ulimit -v 4000000 && exec \"$0\" \"$@\""])
            .arg(assert_cmd::cargo::cargo_bin("trisolar"))
            .args(command)
            .arg(name)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?} {name}: {said}");
        assert!(said.contains(says), "{command:?} {name}: {said}");
        let option = command.last().unwrap();
        let named = said.contains(option) || said.contains(name);
        assert!(named, "{command:?} {name}: {said}");
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!(names(folder.path()), [name]);
    }
}

#[test]
fn devices_are_rejected_at_once() {
    refused("/dev/zero", "it is a device");
    refused("/dev/urandom", "it is a device");
}

#[test]
fn directories_are_rejected() {
    refused("/tmp", "it is a directory");
}

#[test]
fn a_configuration_file_has_at_most_a_mebibyte() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("steps = 5\n#{}\n", "x".repeat(1 << 20));
    std::fs::write(folder.path().join("a.toml"), text).unwrap();
    for command in ["divergence", "zoom", "compare", "nbody"] {
        trisolar(folder.path())
            .args([command, "--config", "a.toml"])
            .assert()
            .code(2)
            .stderr(contains("'a.toml' for '--config'"))
            .stderr(contains("a configuration file has at most 1 MiB"));
    }
}

#[test]
fn a_deeply_nested_configuration_does_not_panic() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        "masses = ".to_owned() + &"[".repeat(500_000),
        "a.".repeat(200_000) + "b = 1",
    ] {
        std::fs::write(folder.path().join("a.toml"), text).unwrap();
        for command in ["divergence", "nbody"] {
            trisolar(folder.path())
                .args([command, "--config", "a.toml"])
                .assert()
                .code(2);
        }
    }
}

#[test]
fn the_null_device_and_pipes_are_read() {
    let folder = tempfile::tempdir().unwrap();
    trisolar(folder.path())
        .args([
            "divergence",
            "--size",
            "4",
            "--steps",
            "9",
            "--config",
            "/dev/null",
        ])
        .assert()
        .success();
    for (command, text) in [
        ("divergence --size 4 --config /dev/stdin", "steps = 9\n"),
        ("divergence --steps 9 --points /dev/stdin", "1 2 3\n4 5 6\n"),
        (
            "nbody --steps 2 --g 1 --input /dev/stdin",
            "1 0 0 0 0\n1 1 0 0 0\n",
        ),
    ] {
        trisolar(folder.path())
            .args(command.split(' '))
            .write_stdin(text)
            .assert()
            .success();
    }
}

/// Writes a small file whose header declares arrays larger than the machine's memory.
fn bomb(path: &Path, shape: &str, zeros: u64) {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}");
    header.push_str(&" ".repeat(127 - header.len()));
    header.push('\n');
    let mut npy = b"\x93NUMPY\x01\x00\x80\x00".to_vec();
    npy.extend(header.as_bytes());
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    for name in ["mass", "position", "velocity", "points"] {
        let options = zip::write::SimpleFileOptions::default().large_file(true);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(&npy).unwrap();
        let piece = vec![0; 1 << 20];
        for _ in 0..zeros >> 20 {
            zip.write_all(&piece).unwrap();
        }
    }
    zip.finish().unwrap();
}

#[test]
fn oversized_arrays_are_rejected_by_their_headers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    // Some have more bodies than allowed, others need more memory than any machine has.
    for (shape, commands) in [
        ("90000000,", &["nbody --input", "cluster --input"][..]),
        (
            "3000000000000, 3",
            &["divergence --points", "nbody --input"],
        ),
    ] {
        bomb(&path, shape, 64 << 20);
        for command in commands {
            trisolar(folder.path())
                .args(command.split(' '))
                .arg("a.npz")
                .assert()
                .code(2)
                .stderr(contains("a.npz"))
                .stderr(predicates::prelude::PredicateBooleanExt::or(
                    contains("has more than"),
                    contains("are free"),
                ));
        }
    }
}
