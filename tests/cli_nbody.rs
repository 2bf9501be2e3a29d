//! Promises of `trisolar nbody`.

use assert_cmd::Command;
use predicates::str::contains;

fn nbody() -> Command {
    let mut command = Command::cargo_bin("trisolar").unwrap();
    command.arg("nbody");
    command
}

/// The textbook's states of four bodies, at t = 0 and t = 1.
const TEXTBOOK: &str = "0.00
  0  0.000e+00    0.000e+00    0.000e+00    3.000e+04
  1  1.000e+05    0.000e+00    0.000e+00   -3.000e+04
  2  2.000e+05    0.000e+00    0.000e+00    3.000e+04
  3  3.000e+05    0.000e+00    0.000e+00   -3.000e+04

1.00
  0  2.238e+04    2.672e+04    4.529e+04    2.001e+04
  1  1.039e+05   -2.399e+04    7.725e+03   -1.230e+04
  2  1.961e+05    2.399e+04   -7.725e+03    1.230e+04
  3  2.776e+05   -2.672e+04   -4.529e+04   -2.001e+04

";

#[test]
fn both_solvers_print_the_textbooks_text() {
    for solver in ["basic", "reduced"] {
        nbody()
            .args([
                "--model", "line", "--steps", "100", "--dt", "0.01", "--format", "textbook",
            ])
            .args(["--solver", solver])
            .assert()
            .success()
            .stdout(TEXTBOOK);
    }
}

#[test]
fn final_only_prints_the_last_state() {
    let last = &TEXTBOOK[TEXTBOOK.find("1.00\n").unwrap()..];
    nbody()
        .args([
            "--model",
            "line",
            "--steps",
            "100",
            "--format",
            "textbook",
            "--final-only",
        ])
        .args(["--every", "10"])
        .assert()
        .success()
        .stdout(last.to_owned());
}

#[test]
fn the_textbooks_input_gives_the_textbooks_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bodies.txt");
    let lines = (0..4).map(|i| {
        let vy = if i % 2 == 0 { 3e4 } else { -3e4 };
        format!("5e24 {} 0 0 {vy}\n", f64::from(i) * 1e5)
    });
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    nbody()
        .args([
            "--format", "textbook", "--steps", "100", "--dt", "0.01", "--n", "4", "--input",
        ])
        .arg(&path)
        .assert()
        .success()
        .stdout(TEXTBOOK);
    nbody()
        .args(["--n", "5", "--input"])
        .arg(&path)
        .assert()
        .code(2)
        .stderr(contains("has 4 bodies"));
}

#[test]
fn a_resumed_run_writes_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let base = ["--n", "100", "--steps", "60", "--every", "20"];
    nbody()
        .args(base)
        .arg("--out")
        .arg(at("whole.npz"))
        .assert()
        .success();
    nbody()
        .args([
            "--n",
            "100",
            "--steps",
            "40",
            "--every",
            "20",
            "--checkpoint",
        ])
        .arg(at("half.npz"))
        .assert()
        .success();
    nbody()
        .args(["--steps", "60", "--resume"])
        .arg(at("half.npz"))
        .arg("--out")
        .arg(at("resumed.npz"))
        .assert()
        .success();
    assert_eq!(
        std::fs::read(at("whole.npz")).unwrap(),
        std::fs::read(at("resumed.npz")).unwrap()
    );
}

#[test]
fn all_files_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    nbody()
        .args([
            "--model",
            "figure-eight",
            "--steps",
            "200",
            "--every",
            "10",
            "--json",
        ])
        .arg("--out")
        .arg(at("end.csv"))
        .arg("--series")
        .arg(at("series.csv"))
        .arg("--trajectory")
        .arg(at("orbits.npz"))
        .arg("--plots")
        .arg(at("eight"))
        .assert()
        .success()
        .stdout(contains("\"energy_error\""));
    let series = std::fs::read_to_string(at("series.csv")).unwrap();
    assert_eq!(series.lines().count(), 22);
    assert!(series.starts_with("step,time,kinetic,potential,total,"));
    assert_eq!(
        std::fs::read_to_string(at("end.csv"))
            .unwrap()
            .lines()
            .count(),
        4
    );
    for name in ["orbits.npz", "eight-energy.png", "eight-orbits.png"] {
        assert!(at(name).is_file(), "{name}");
    }
}

#[test]
fn bad_input_is_refused_with_code_2() {
    for (options, says) in [
        (vec!["--model", "spiral"], "must be plummer"),
        (
            vec!["--model", "burrau", "--n", "4"],
            "the model has 3 bodies",
        ),
        (vec!["--model", "burrau", "--seed", "4"], "not random"),
        (
            vec!["--model", "plummer", "--radius", "4"],
            "--radius cannot be used with --model plummer",
        ),
        (
            vec!["--model", "kepler", "--eccentricity", "1"],
            "eccentricity must be from 0",
        ),
        (
            vec!["--dt", "0"],
            "--dt 0: must be a finite time other than 0",
        ),
        (vec!["--steps", "0"], "from 1 to"),
        (vec!["--integrator", "rk5"], "must be one of"),
        (vec!["--out", "a.dat"], ".csv, .npz or .txt"),
        (vec!["--trajectory", "a.csv"], ".npz"),
        (vec!["--backend", "cpu", "--n", "0"], "from 1 to"),
    ] {
        nbody()
            .args(&options)
            .assert()
            .code(2)
            .stderr(contains(says));
    }
}
