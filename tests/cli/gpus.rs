//! GPUs that are requested by number are used, or the command is rejected; the CPU never silently replaces them.

use crate::support;

use predicates::prelude::*;
use predicates::str::contains;
use support::{names, trisolar};

/// Expects bad input with these words in the message, and no files.
#[track_caller]
fn refused(arguments: &str, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let output = trisolar(folder.path())
        .args(arguments.split(' '))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
    assert!(said.starts_with("error: "), "{said}");
    for word in words {
        assert!(
            said.contains(word),
            "{arguments}: {word:?} is not in {said}"
        );
    }
    assert!(output.stdout.is_empty(), "{arguments}");
    assert!(names(folder.path()).is_empty(), "{arguments}");
}

// No machine has a GPU 63 or 64 GPUs.
const MAPS: [&str; 4] = [
    "divergence --size 4 --steps 9",
    "divergence --size 4 --steps 9 --stream",
    "zoom --frames 1 --size 4",
    "sweep --vary dt=1e-3,2e-3 --size 4 --steps 9",
];

#[test]
fn every_command_rejects_missing_gpus() {
    for map in MAPS {
        for backend in ["", " --backend gpu", " --backend gpu+cpu"] {
            refused(&format!("{map} --gpus 63{backend}"), &["--gpus 63: "]);
        }
        refused(&format!("{map} --device 0,63"), &["--device "]);
        for numbers in ["0", "0,2"] {
            let hint = format!("--device {numbers} chooses GPUs by number");
            refused(&format!("{map} --gpus {numbers}"), &["'--gpus", &hint]);
        }
        refused(
            &format!("{map} --gpus 1 --device 0"),
            &["--gpus", "--device"],
        );
    }
    refused(
        "zoom --cache rounded --frames 1 --size 4 --device 63",
        &["--device 63: "],
    );
    refused(
        "divergence --gpus 63 --save-config a.toml",
        &["--gpus 63: "],
    );
    for backend in ["", " --backend gpu"] {
        let nbody = format!("nbody --n 16 --steps 1 --quiet{backend}");
        refused(&format!("{nbody} --device 63"), &["--device 63: "]);
        refused(&format!("{nbody} --gpus 64"), &["--gpus 64: "]);
    }
    refused("cluster --n 16 --backend gpu --gpus 64", &["--gpus 64: "]);
    refused("bench nbody --gpus 64", &["'64' for '--gpus'"]);
    // How many, as everywhere.
    for command in ["nbody --n 16", "cluster --n 16", "encounters --n 4"] {
        for given in ["all", "0,1"] {
            refused(
                &format!("{command} --gpus {given}"),
                &["'--gpus", "how many GPUs, from 1 to 64"],
            );
        }
    }
    refused("bench nbody --gpus 1,64 --backend gpu", &["for '--gpus'"]);
    if trisolar::gpu::devices().is_err() {
        refused("divergence --gpus 1", &["--gpus 1: "]);
        refused("divergence --device 0", &["--device 0: "]);
        refused("nbody --n 16 --device 0", &["--device 0: "]);
        refused("nbody --n 16 --gpus 1", &["--gpus 1: "]);
        refused("cluster --n 16 --gpus 1", &["--gpus 1: "]);
    }
}

#[test]
fn gpus_with_a_backend_that_uses_none_are_rejected() {
    for map in MAPS {
        for gpus in ["--gpus 1", "--gpus all", "--device 0,2"] {
            let words = [&format!("{gpus}: "), "--backend cpu"];
            refused(&format!("{map} --backend cpu {gpus}"), &words);
        }
    }
    refused(
        "nbody --backend cpu --device 0",
        &["--device 0: ", "--backend cpu"],
    );
    refused(
        "nbody --backend cpu --gpus 1",
        &["--gpus 1: ", "--backend cpu"],
    );
    refused(
        "cluster --backend cpu --gpus 1",
        &["'1' for '--gpus'", "--backend cpu"],
    );
    refused(
        "bench nbody --backend cpu --gpus 1",
        &["'1' for '--gpus'", "--backend cpu"],
    );
}

#[test]
fn requesting_all_gpus_of_a_machine_without_any_gives_a_note() {
    if trisolar::gpu::devices().is_ok() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    trisolar(folder.path())
        .args("divergence --size 4 --steps 9 --gpus all --json".split(' '))
        .assert()
        .success()
        .stdout(contains("--gpus all: ").and(contains("the CPU computes instead")));
}
