//! Tests of `trisolar encounters`.

use crate::support;

use std::path::Path;

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;
use trisolar::io::npz::NpzReader;

pub(crate) fn encounters(folder: &Path, options: &str) -> assert_cmd::Command {
    let mut command = support::trisolar(folder);
    command
        .arg("encounters")
        .args(options.split_whitespace())
        .args(["--backend", "cpu"]);
    command
}

/// Expects exit code 2, no file, and all of `words` in the message.
#[track_caller]
fn refused(options: &str, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let output = encounters(folder.path(), options).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{options}: {message}");
    for word in words {
        assert!(
            message.contains(word),
            "{options}: {word:?} not in: {message}"
        );
    }
    assert!(output.stdout.is_empty());
    assert_eq!(support::names(folder.path()), [""; 0]);
}

#[test]
fn invalid_options_are_rejected_by_name() {
    for (options, words) in [
        ("--e 1", &["'1'", "--e", "0 to 0.999999"][..]),
        ("--e -0.1", &["-0.1", "--e"]),
        ("--a 0", &["--a", "above 0"]),
        ("--a nan", &["--a"]),
        ("--masses 1,0,1", &["0", "--masses", "above 0"]),
        ("--masses 1,1,1e-9", &["--masses", "1e-6"]),
        ("--masses 1,-1,1", &["--masses"]),
        ("--inclination 200", &["200", "--inclination", "180"]),
        ("--phase 1e9", &["--phase", "degrees"]),
        ("--distance 5", &["--distance", "apocentre", "5"]),
        ("--distance 9 --e 0.9", &["--distance", "9.5"]),
        ("--v-inf -1", &["--v-inf", "at least 0"]),
        ("--impact 3", &["--impact", "--v-inf"]),
        ("--v-inf 5 --impact 500", &["--impact", "500", "--distance"]),
        ("--x 0.1", &["--x", "binary-single", "phase"]),
        ("--setup free-fall --a 3", &["--a", "free-fall", "mass1"]),
        (
            "--setup burrau --masses 1,1,1",
            &["burrau", "no parameters"],
        ),
        ("--setup free-fall --x 0.5 --y 0", &["bodies coincide"]),
        ("--setup sphere", &["sphere", "free-fall"]),
        ("--draw e", &["--draw", "NAME=LAW"]),
        ("--draw e=gauss", &["--draw", "thermal"]),
        (
            "--draw e=isotropic",
            &["--draw", "e can be drawn by: uniform, thermal"],
        ),
        ("--draw a=uniform", &["--draw", "LOW:HIGH"]),
        ("--draw a=uniform:3:2", &["--draw", "ascend"]),
        ("--draw a=uniform:-3:2", &["--a", "above 0"]),
        ("--draw e=thermal:0:1", &["--e", "0.999999"]),
        ("--draw q=uniform:0:1", &["--draw", "q", "inclination"]),
        ("--draw e=thermal --e 0.5", &["e is given twice"]),
        (
            "--setup free-fall --draw x=region --y 0.3",
            &["x and y together"],
        ),
        ("--map phase,a", &["--map", "LOW:HIGH"]),
        ("--map phase,phase", &["phase is given twice"]),
        ("--map phase,e,inclination", &["--map", "one or two"]),
        ("--map phase --size 0", &["--size", "0x1"]),
        ("--map phase --n 5", &["--n", "--map"]),
        ("--size 5", &["--map"]),
        ("--n 0", &["--n", "4294967296"]),
        ("--n 1.5", &["--n", "1.5"]),
        ("--order 4", &["--order", "2, 6 or 8"]),
        ("--jump 0.1", &["--jump", "1e-4"]),
        ("--jump on", &["--jump", "off"]),
        ("--escape-radius 1", &["--escape-radius", "from 5"]),
        ("--seed -1", &["--seed", "a whole number from 0"]),
        ("--precision f32", &["--precision", "f64 or fast"]),
        ("--radii 1,1,-1", &["--radii", "-1"]),
        ("--max-time 0", &["--max-time", "above 0"]),
        ("--max-steps 0", &["--max-steps"]),
        ("--steps-per-period 1", &["--steps-per-period", "from 10"]),
        ("--max-error -1", &["--max-error"]),
        ("--gpus 2", &["--gpus", "--backend cpu uses no GPU"]),
        ("--gpus 0", &["--gpus"]),
        ("--out a.txt", &["--out", ".npz, .csv, .png, .svg or .pdf"]),
        ("--out a.png", &["--out", "--map"]),
        ("--out a.csv --out ./a.csv", &["--out", "same"]),
        ("--points none.csv", &["none.csv"]),
        ("--points none.csv --setup burrau", &["--points", "--setup"]),
    ] {
        refused(options, words);
    }
}

#[test]
fn points_are_checked_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let good = "1 3 0 -2 -1 0 1 -1 0 0 0 0 0 0 0 0 0 0 3 4 5\n";
    for (text, words) in [
        ("1 2 3\n", &["3 numbers", "21"][..]),
        (&good.replace(" 3 4 5", " 3 0 5"), &["masses", "point 0"]),
        (
            &format!("{good}{}", good.replace("-2 -1 0 1 -1 0", "1 -1 0 1 -1 0")),
            &["point 1", "coincide"],
        ),
    ] {
        std::fs::write(folder.path().join("p.csv"), text).unwrap();
        let output = encounters(folder.path(), "--points p.csv")
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(words.iter().all(|w| message.contains(w)), "{message}");
    }
    std::fs::write(folder.path().join("p.csv"), good).unwrap();
    let both = |options: &str| {
        let output = encounters(folder.path(), options).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        object["summary"].clone()
    };
    let (given, named) = (both("--points p.csv --json"), both("--setup burrau --json"));
    assert_eq!(given["lifetimes"], named["lifetimes"]);
    assert_eq!(named["escapers"][0]["what"], "body 1 (mass 3)");
    // An input file cannot be an output as well.
    encounters(folder.path(), "--points p.csv --out p.csv")
        .assert()
        .code(2)
        .stderr(contains("overwritten"));
}

#[test]
fn files_match_the_summary_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let options = "--n 200 --seed 3 --draw inclination=isotropic,e=thermal:0:0.9,phase=uniform --radii 0.1,0.1,0.1";
    let run = |more: &str| {
        let output = encounters(folder.path(), &format!("{options} {more}"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let object: Value =
        serde_json::from_slice(&run("--out a.npz --out a.csv --plots p --json --threads 1"))
            .unwrap();
    run("--out b.npz --out b.csv --quiet --threads 3");
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("a.npz"), read("b.npz"));
    assert_eq!(read("a.csv"), read("b.csv"));
    for name in ["p/e2.png", "p/v-inf.png", "p/lifetime.png"] {
        assert!(read(name).starts_with(b"\x89PNG"), "{name}");
    }
    let mut file = NpzReader::open(folder.path().join("a.npz")).unwrap();
    let outcome = file.array::<u32>("outcome").unwrap();
    assert_eq!(outcome.shape, [200]);
    let count = |code: u32| outcome.values.iter().filter(|o| **o == code).count() as u64;
    for share in object["summary"]["outcomes"].as_array().unwrap() {
        let code = match share["what"].as_str().unwrap() {
            "escape" => 0,
            "collision" => 2,
            other => panic!("{other}"),
        };
        assert_eq!(share["count"], count(code));
    }
    let bodies = file.array::<u32>("body").unwrap().values;
    assert!(bodies.iter().all(|b| (1..=3).contains(b)));
    let e = file.array::<f64>("start_e").unwrap().values;
    assert!(e.iter().all(|e| (0.0..0.9).contains(e)));
    let inclination = file.array::<f64>("start_inclination").unwrap().values;
    assert!(inclination.iter().any(|i| *i > 90.0) && inclination.iter().all(|i| *i < 180.0));
    let spec: Value = serde_json::from_str(&file.text("specification.json").unwrap()).unwrap();
    assert_eq!(spec["parameters"]["inclination"]["law"], "isotropic");
    let text = String::from_utf8(read("a.csv")).unwrap();
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    assert!(
        head.starts_with("run,outcome,body")
            && head.ends_with("start_e,start_inclination,start_phase")
    );
    assert_eq!(lines.count(), 200);
    // The printed summary has the same content and lists the files.
    let text = String::from_utf8(run("--out c.csv")).unwrap();
    assert!(text.contains("escape") && text.contains("c.csv") && text.contains("kicks/s"));
}

#[test]
fn a_map_has_its_shape_and_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    encounters(
        folder.path(),
        "--map phase=10:50,inclination --size 8x5 --out m.png --out m.npz --max-steps 3000",
    )
    .assert()
    .success()
    .stderr(contains("are open").or(contains("warning").not()));
    let mut file = NpzReader::open(folder.path().join("m.npz")).unwrap();
    assert_eq!(file.array::<f64>("time").unwrap().shape, [5, 8]);
    let phase = file.array::<f64>("start_phase").unwrap().values;
    for (k, value) in phase.iter().enumerate() {
        assert!((value - (10.0 + 5.0 * (k % 8) as f64)).abs() < 1e-12);
    }
    let inclination = file.array::<f64>("start_inclination").unwrap().values;
    assert!((inclination[39] - 144.0).abs() < 1e-12 && inclination[7] == 0.0);
    let picture = std::fs::read(folder.path().join("m.png")).unwrap();
    let decoder = png::Decoder::new(std::io::Cursor::new(picture));
    let info = decoder.read_info().unwrap();
    assert!(info.info().width > 900 && info.info().height > 500);
}

#[test]
fn large_errors_and_open_runs_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let options = "--n 30 --order 2 --steps-per-period 30 --max-time 500";
    encounters(folder.path(), options)
        .assert()
        .success()
        .stderr(contains("energy of").and(contains("are open: --max-time")));
    encounters(folder.path(), &format!("{options} --quiet"))
        .assert()
        .success()
        .stderr("")
        .stdout("");
    let out = encounters(folder.path(), &format!("{options} --json"))
        .output()
        .unwrap();
    let object: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let warnings = object["warnings"].as_array().unwrap();
    assert!(warnings[0].as_str().unwrap().contains("energy of"));
    assert!(warnings[1].as_str().unwrap().contains("are open"));
    assert!(warnings[2].as_str().unwrap().contains("of 30 runs failed"));

    // With a limit it is a failure, after all files have been written.
    let limited = format!("{options} --max-error 1e-12 --out e.csv");
    encounters(folder.path(), &limited)
        .assert()
        .code(1)
        .stderr(contains("above --max-error 0.000000000001"));
    assert!(folder.path().join("e.csv").exists());
    encounters(folder.path(), "--n 10 --max-error 1e-3")
        .assert()
        .success();
}

/// Three equal masses at rest at the corners of an equilateral triangle meet in one point, which is the end of every computation.
const MEET: &str = "--setup free-fall --y 0.8660254037844386";

#[test]
fn failed_runs_are_counted_and_are_a_failure_with_max_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let options = format!("{MEET} --map x=0:0.4 --size 2");
    let counted = "1 of 2 runs failed";
    encounters(path, &options)
        .assert()
        .success()
        .stderr(contains(counted))
        .stdout(contains("failed").and(contains("1 runs")));
    let output = encounters(
        path,
        &format!("{options} --max-error 1e300 --json --out a.csv"),
    )
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains(counted) && message.contains("--max-error"),
        "{message}"
    );
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["summary"]["failed"], 1);
    assert!(object["warnings"][0].as_str().unwrap().contains(counted));
    // The other run has errors of its own.
    let largest = object["summary"]["errors"]["energy_largest"].as_f64();
    assert!(largest.is_some_and(|error| error < 1e-6), "{object}");
    assert!(path.join("a.csv").exists());

    let sweep = |more: &str| {
        let options = format!("sweep {MEET} --vary x=0,0.4 --n 1 --out s {more}");
        encounters(path, &options).output().unwrap()
    };
    let output = sweep("");
    let (out, err) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert!(
        output.status.success() && err.contains("1 of 1 runs failed"),
        "{err}"
    );
    assert!(out.contains("median time     failed"), "{out}");
    let table = std::fs::read_to_string(path.join("s/table.csv")).unwrap();
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = head.iter().position(|name| *name == "failed_runs").unwrap();
    let cells: Vec<&str> = lines
        .map(|line| line.split(',').nth(place).unwrap())
        .collect();
    assert_eq!(cells, ["1", "0"]);
    let output = sweep("--max-error 1e300");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn ctrl_c_ends_a_run_without_files() {
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin("trisolar");
    let mut child = std::process::Command::new(program)
        .current_dir(folder.path())
        .args("encounters --n 1000000 --out a.csv --backend cpu --quiet".split(' '))
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let began = Instant::now();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(support::names(folder.path()), [""; 0]);
}

/// A computation that takes some seconds on two threads, and its output files.
const LONG: &str = "--n 6000 --seed 5 --threads 2 --draw inclination=isotropic,phase=uniform";
const FILES: &str = "--out a.npz --out a.csv --plots p";

/// Starts a computation and sends `signal` as soon as its record contains finished runs; returns its exit code, if it had one.
fn interrupted(folder: &Path, options: &str, signal: rustix::process::Signal) -> Option<i32> {
    use std::time::{Duration, Instant};
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("trisolar"))
        .current_dir(folder)
        .arg("encounters")
        .args(options.split(' '))
        .args(["--backend", "cpu", "--quiet"])
        .spawn()
        .unwrap();
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(folder.join("a.npz.part.json")).unwrap_or_default();
        let record: Value = serde_json::from_str(&text).unwrap_or_default();
        if record["done"]
            .as_array()
            .is_some_and(|done| !done.is_empty())
        {
            break;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, signal).unwrap();
    child.wait().unwrap().code()
}

#[test]
fn an_interrupted_computation_resumes_to_the_same_bytes() {
    use rustix::process::Signal;
    let whole = tempfile::tempdir().unwrap();
    encounters(whole.path(), &format!("{LONG} {FILES} --quiet"))
        .assert()
        .success();
    let expected = support::contents(whole.path());
    assert_eq!(expected.len(), 5);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let streamed = format!("{LONG} {FILES} --stream");
    assert_eq!(interrupted(path, &streamed, Signal::INT), Some(130));
    // The folder of the plots is there only when it has plots.
    let begun = ["a.npz.part", "a.npz.part.json"];
    assert_eq!(support::names(path), begun);
    // The computation is neither restarted by mistake nor continued with different options.
    encounters(path, &streamed)
        .assert()
        .code(2)
        .stderr(contains("resume it with --resume"));
    for (other, words) in [
        ("--resume a.npz --seed 6", "--seed (5 there, 6 here)"),
        ("--resume a.npz --order 8", "--order (6 there, 8 here)"),
        ("--resume a.npz --n 7000", "--n (6000 there, 7000 here)"),
        ("--resume a.npz --e 0.5", "--e (0.0 there, 0.5 here)"),
        ("--resume a.npz --out b.csv", "the run of a.npz has"),
        (
            "--resume b.npz",
            "there is no unfinished ensemble of encounters of that name",
        ),
    ] {
        encounters(path, other)
            .assert()
            .code(2)
            .stderr(contains(words));
        assert_eq!(support::names(path), begun);
    }
    // Kills it once more, without giving it a chance to clean up.
    assert_eq!(interrupted(path, "--resume a.npz", Signal::KILL), None);
    // It may have left locks as well.
    let names = support::names(path);
    assert!(
        begun
            .iter()
            .all(|file| names.iter().any(|name| name == file))
    );
    // A file that another program has put there meanwhile is not overwritten.
    std::fs::write(path.join("a.csv"), "mine").unwrap();
    encounters(path, "--resume a.npz")
        .assert()
        .code(2)
        .stderr(contains("a.csv").and(contains("differ from what this run wrote")));
    std::fs::remove_file(path.join("a.csv")).unwrap();
    // Resumes with the same command on a different number of threads.
    let long = LONG.replace("--threads 2", "--threads 3");
    let output = encounters(path, &format!("{long} {FILES} --resume --json"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let before = object["resumed_runs"].as_u64().unwrap();
    assert!((1..6000).contains(&before), "{before}");
    assert_eq!(object["devices"][0]["runs"], 6000 - before);
    assert!(support::contents(path) == expected);
    encounters(path, "--resume a.npz")
        .assert()
        .code(2)
        .stderr(contains("that ensemble of encounters is complete"));
}

#[test]
fn streamed_records_give_the_same_files_as_records_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(
        path.join("p.csv"),
        "1 3 0 -2 -1 0 1 -1 0 0 0 0 0 0 0 0 0 0 3 4 5\n1 3 0 -2 -1 0 1 -1 1 0 0 0 0 0 0 0 0 0 3 4 5\n",
    )
    .unwrap();
    for options in [
        "--map phase,inclination --size 6x5 --max-time 3000 --out a.png --out a.csv",
        "--points p.csv --out a.csv --out a.npz",
        "--n 30 --max-error 1 --out a.npz --plots a",
    ] {
        let run = |more: &str| {
            for name in support::names(path) {
                if name == "a" {
                    std::fs::remove_dir_all(path.join(name)).unwrap();
                } else if name.starts_with('a') {
                    std::fs::remove_file(path.join(name)).unwrap();
                }
            }
            let options = format!("{options} {more} --quiet");
            encounters(path, &options).assert().success();
            support::contents(path)
        };
        let memory = run("");
        assert!(run("--stream") == memory, "{options}");
        assert!(run("--resume") == memory, "{options}");
    }
    encounters(path, "--stream --n 3")
        .assert()
        .code(2)
        .stderr(contains("--out is missing"));
}

#[test]
fn a_saved_configuration_gives_the_same_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let options = "--n 40 --seed 9 --masses 1,2,3 --v-inf 0.3 --draw impact=disc:0:20,e=thermal,inclination=isotropic \
                   --order 8 --jump off --max-steps 50000 --max-error 0.5";
    encounters(
        path,
        &format!("{options} --out a.npz --save-config c.toml --quiet"),
    )
    .assert()
    .success();
    encounters(path, "--config c.toml --out b.npz --quiet")
        .assert()
        .success();
    let read = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert_eq!(read("a.npz"), read("b.npz"));
    let text = String::from_utf8(read("c.toml")).unwrap();
    assert!(
        text.contains("seed = 9") && text.contains("max_error = 0.5"),
        "{text}"
    );
    // The command line overrides the file.
    encounters(path, "--config c.toml --seed 10 --out b.npz --quiet")
        .assert()
        .success();
    assert_ne!(read("a.npz"), read("b.npz"));
    for (text, words) in [
        ("a = -1\n", &["a in c.toml", "above 0"][..]),
        ("order = 3\n", &["c.toml:1: order = 3", "2, 6 or 8"]),
        ("\nexcentricity = 0.5\n", &["c.toml:2", "unknown field"]),
        ("n = [\n", &["c.toml"]),
    ] {
        std::fs::write(path.join("c.toml"), text).unwrap();
        let output = encounters(path, "--config c.toml --n 3").output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(words.iter().all(|w| message.contains(w)), "{message}");
    }
    encounters(path, "--config c.toml --out c.toml")
        .assert()
        .code(2);
}

#[test]
fn verdicts_are_written_with_the_records_and_drawn_beside_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        "--map phase,inclination --size 9x7 --certify --out a.npz --out a.csv --out a.png --json";
    let output = encounters(folder.path(), options).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdicts = &object["summary"]["certificate"]["verdicts"];
    let mut file = NpzReader::open(folder.path().join("a.npz")).unwrap();
    let array = file.array::<u8>("verdict").unwrap();
    assert_eq!(array.shape, [7, 9]);
    for (number, verdict) in verdicts.as_array().unwrap().iter().enumerate() {
        let count = array.values.iter().filter(|v| usize::from(**v) == number);
        assert_eq!(verdict["count"], count.count(), "{verdict}");
    }
    let csv = std::fs::read_to_string(folder.path().join("a.csv")).unwrap();
    let column: Vec<&str> = csv
        .lines()
        .filter_map(|line| line.rsplit(',').next())
        .collect();
    let expected = array.values.iter().map(u8::to_string);
    assert_eq!(column[0], "verdict");
    assert_eq!(column[1..], expected.collect::<Vec<_>>());
    assert_eq!(
        support::names(folder.path()),
        ["a-verdict.png", "a.csv", "a.npz", "a.png"]
    );
    // Streamed, the same bytes.
    let again = tempfile::tempdir().unwrap();
    let output = encounters(again.path(), &format!("{options} --stream"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    for name in support::names(folder.path()) {
        let [a, b] = [&folder, &again].map(|f| std::fs::read(f.path().join(&name)).unwrap());
        assert!(a == b, "{name}");
    }
    refused(
        "--n 40 --certify --part 1/2 --out a.npz",
        &["--certify", "--part"],
    );
}
