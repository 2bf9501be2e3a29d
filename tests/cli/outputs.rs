//! Outputs of a run: none may be another output or an input, and two runs may not write the same output at the same time.

use crate::support;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

use support::{names, trisolar};

/// Runs a command; returns what it writes to the standard error.
fn said(folder: &Path, arguments: &str) -> String {
    let output = trisolar(folder)
        .args(arguments.split(' '))
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments}: {said}");
    said
}

#[test]
fn an_older_file_is_kept_and_the_same_bytes_are_not_kept_twice() {
    for (command, [first, second], files) in [
        (
            "divergence --size 8 --out a.png --out a.npy --save-config c.toml",
            ["--steps 50", "--steps 60"],
            &["a.npy", "a.png", "c.toml"][..],
        ),
        (
            "divergence --size 8 --stream --out a.npy --out b.npz",
            ["--steps 9000", "--steps 9100"],
            &["a.npy", "b.npz"],
        ),
        (
            "nbody --n 9 --steps 40 --every 10 --out e.txt --series s.csv --checkpoint c.npz --plots p",
            ["--dt 0.001", "--dt 0.002"],
            &["c.npz", "e.txt", "s.csv", "p/energy.png"],
        ),
        (
            "cluster --n 9 --end 0.25 --every 0.125 --out e.txt --series s.csv --checkpoint c.npz",
            ["--seed 1", "--seed 2"],
            &["c.npz", "e.txt", "s.csv"],
        ),
        (
            "encounters --n 3 --out r.npz --out r.csv",
            ["--seed 1", "--seed 2"],
            &["r.csv", "r.npz"],
        ),
        (
            "zoom --size 6 --frames 2 --set steps=50 --film f.gif",
            ["--out a", "--colormap viridis --out b"],
            &["f.gif"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let read = |name: &str| std::fs::read(here.join(name)).unwrap();
        let kept =
            |number: u32| move |name: &&str| here.join(format!("{name}.~{number}~")).exists();
        assert!(!said(here, &format!("{command} {first} --backend cpu")).contains("older"));
        let before: Vec<_> = files.iter().map(|name| read(name)).collect();
        let note = said(here, &format!("{command} {second} --backend cpu"));
        for (name, bytes) in files.iter().zip(&before) {
            assert_eq!(read(&format!("{name}.~1~")), *bytes, "{command}: {name}");
            assert_ne!(read(name), *bytes, "{command}: {name}");
            let words = format!("kept as {name}.~1~");
            assert!(note.contains(&words), "{command}: {words}: {note}");
        }
        // The same run again changes nothing, and a third one keeps the second.
        let all = listed(here).len();
        if !command.contains("zoom") {
            said(here, &format!("{command} {second} --backend cpu -q"));
            assert_eq!(listed(here).len(), all, "{command}");
        }
        let last = said(here, &format!("{command} {first} --backend cpu -q"));
        assert_eq!(last, "", "{command}");
        if !command.contains("zoom") {
            assert!(files.iter().all(kept(2)), "{command}");
        }
    }
}

#[test]
fn a_resumed_or_extended_run_replaces_its_own_files_and_keeps_those_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("s.csv"), "mine").unwrap();
    let run = "nbody --n 9 --every 10 --series s.csv --checkpoint c.npz --backend cpu --steps";
    let note = said(here, &format!("{run} 40"));
    assert!(note.contains("kept as s.csv.~1~"), "{note}");
    let extended = said(here, "nbody --resume c.npz --steps 80 --backend cpu");
    assert!(!extended.contains("kept as"), "{extended}");
    assert_eq!(names(here), ["c.npz", "s.csv", "s.csv.~1~"]);
    assert_eq!(std::fs::read(here.join("s.csv.~1~")).unwrap(), b"mine");
    // A film of a longer zoom.
    let zoom =
        "zoom --size 6 --set steps=50 --set span=40/2^frame --film f.gif --backend cpu --frames";
    said(here, &format!("{zoom} 2"));
    let longer = said(here, &format!("{zoom} 3"));
    assert!(!longer.contains("kept as"), "{longer}");
    assert!(!here.join("f.gif.~1~").exists());
}

/// Everything below a folder, with inode numbers, which hard links share.
fn listed(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for name in names(folder) {
        let path = folder.join(&name);
        if path.is_dir() && !path.is_symlink() {
            all.extend(
                listed(&path)
                    .into_iter()
                    .map(|inner| format!("{name}/{inner}")),
            );
        }
        all.push(name);
    }
    all
}

#[test]
fn one_file_for_two_purposes_is_rejected_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("d")).unwrap();
    symlink(at("d"), at("e")).unwrap();
    for (name, text) in [("x.npz", ""), ("points.csv", "1,2,3\n"), ("c.toml", "")] {
        std::fs::write(at(name), text).unwrap();
    }
    std::fs::hard_link(at("points.csv"), at("points.npz")).unwrap();
    std::fs::write(at("bodies.npz"), "").unwrap();
    symlink(at("x.npz"), at("link.npz")).unwrap();
    std::fs::hard_link(at("x.npz"), at("hard.npz")).unwrap();
    std::fs::hard_link(at("c.toml"), at("hard.toml")).unwrap();
    let before = listed(folder.path());
    for (arguments, options) in [
        (
            "nbody --n 3 --series a.npz --checkpoint a.npz",
            ["--series", "--checkpoint"],
        ),
        (
            "nbody --n 3 --out a.csv --series a.csv",
            ["--out", "--series"],
        ),
        ("nbody --n 3 --out a.npz --out ./a.npz", ["--out", "--out"]),
        (
            "nbody --n 3 --out d/a.npz --trajectory e/a.npz",
            ["--out", "--trajectory"],
        ),
        (
            "nbody --n 3 --out x.npz --trajectory link.npz",
            ["--out", "--trajectory"],
        ),
        (
            "nbody --n 3 --out x.npz --series hard.npz",
            ["--out", "--series"],
        ),
        (
            "nbody --n 3 --input bodies.npz --out bodies.npz",
            ["--input", "--out"],
        ),
        (
            "nbody --n 3 --config c.toml --save-config ./c.toml",
            ["--config", "--save-config"],
        ),
        (
            "nbody --n 3 --config c.toml --save-config hard.toml",
            ["--config", "--save-config"],
        ),
        (
            "cluster --n 9 --out a.npz --series a.npz",
            ["--out", "--series"],
        ),
        (
            "cluster --n 9 --series d/../a.npz --checkpoint a.npz",
            ["--series", "--checkpoint"],
        ),
        (
            "cluster --n 9 --snapshots d --out e/00007.npz",
            ["--snapshots", "--out"],
        ),
        (
            "cluster --n 9 --snapshots s --out s",
            ["--out", ".npz or .txt"],
        ),
        (
            "cluster --n 9 --input x.npz --checkpoint link.npz",
            ["--input", "--checkpoint"],
        ),
        (
            "divergence --size 4 --out a.png --out e/../a.png",
            ["--out", "--out"],
        ),
        (
            "divergence --size 4 --out a.png --save-config a.png",
            ["--out", "--save-config"],
        ),
        (
            "divergence --size 4 --out a.npy --stream --save-config a.npy.part.json",
            ["--stream", "--save-config"],
        ),
        (
            "divergence --points points.csv --out points.npz",
            ["--points", "--out"],
        ),
        (
            "divergence --size 4 --config c.toml --save-config hard.toml",
            ["--config", "--save-config"],
        ),
        (
            "zoom --size 4 --frames 2 --film a.gif --film a.gif",
            ["--film", "--film"],
        ),
        (
            "zoom --size 4 --frames 2 --out d.gif --film d.gif",
            ["--out", "--film"],
        ),
        (
            "sweep --size 4 --vary dt=1e-3,2e-3 --config d/sequence.json --out e",
            ["--config", "--out"],
        ),
        (
            "compare --size 4 --modes exact,f32,f32",
            ["--out", "compare-f32.png"],
        ),
        (
            "bench nbody --n 64 --backend cpu --csv a --plot ./a",
            ["--csv", "--plot"],
        ),
    ] {
        if arguments.contains("sequence.json") {
            std::fs::write(at("d/sequence.json"), "").unwrap();
        }
        let mut command = trisolar(folder.path());
        let output = command.args(arguments.split(' ')).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        for option in options {
            assert!(
                said.contains(option),
                "{arguments}: {option} is not in {said}"
            );
        }
        let _ = std::fs::remove_file(at("d/sequence.json"));
        assert_eq!(listed(folder.path()), before, "{arguments}");
    }
    // A file may also be the destination of the standard output.
    let out = std::fs::File::create(at("a.csv")).unwrap();
    let mut command = Process::new(assert_cmd::cargo::cargo_bin!("trisolar"));
    let output = command
        .current_dir(folder.path())
        .args("nbody --n 3 --steps 2 --json --out a.csv".split(' '))
        .stdout(out)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("the standard output goes to the same file"),
        "{said}"
    );
}

#[test]
fn files_with_similar_names_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("d")).unwrap();
    for name in ["null.npz", "null.csv"] {
        symlink("/dev/null", at(name)).unwrap();
    }
    for arguments in [
        "nbody --n 3 --steps 4 --out a.npz --out d/a.npz --series A.csv --checkpoint c.npz",
        "nbody --n 3 --steps 4 --out null.npz --series null.csv",
        "cluster --n 9 --end 0.25 --snapshots d --out d/end.npz --series d/s.npz",
        "zoom --size 4 --steps 9 --frames 2 --out z --film d/z.gif --backend cpu",
        "zoom --size 4 --steps 9 --frames 2 --out z --film z/z.gif --backend cpu",
    ] {
        trisolar(folder.path())
            .args(arguments.split(' '))
            .assert()
            .success();
    }
    let hidden: Vec<_> = listed(folder.path())
        .into_iter()
        .filter(|name| name.contains(".trisolar"))
        .collect();
    assert_eq!(hidden, [""; 0], "litter");
}

/// Starts a run and waits for its lock `name`.
fn begun(folder: &Path, arguments: &str, name: &str) -> Child {
    let child = Process::new(assert_cmd::cargo::cargo_bin!("trisolar"))
        .current_dir(folder)
        .args(arguments.split(' '))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let signed = || std::fs::read(folder.join(name)).is_ok_and(|text| text.ends_with(b"}"));
    while !signed() {
        assert!(began.elapsed().as_secs() < 60, "{name} does not appear");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn a_second_run_reports_which_run_is_writing_its_outputs() {
    use rustix::process::{Pid, Signal, kill_process};
    let check = |first: &str, lock: &str, second: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut child = begun(folder.path(), first, lock);
        // A stopped run keeps its lock, and leaves the cores to other tests while the second run waits for it.
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        let run = || {
            let mut command = trisolar(folder.path());
            command.args(second.split(' ')).output().unwrap()
        };
        let output = run();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{second}: {said}");
        let words = format!(
            "is being written by another run (process {} on ",
            child.id()
        );
        assert!(said.contains(&words) && said.contains("since 2"), "{said}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            folder.path().join(lock).exists(),
            "a killed run cannot remove it"
        );
        if second.contains("--steps") {
            let output = run();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{second}: {said}");
            assert!(!folder.path().join(lock).exists());
        }
    };
    let cases = [
        (
            "nbody --n 3000 --backend cpu --steps 900000 --softening 0.01 --out e.npz",
            ".trisolar-e.npz.lock",
            "nbody --n 3 --steps 2 --trajectory e.npz",
        ),
        (
            "cluster --n 500 --end 1e5 --every 1e4 --snapshots sn",
            "sn/.trisolar-snapshots.lock",
            "cluster --n 9 --end 0.25 --snapshots ./sn",
        ),
        (
            "divergence --size 2000 --backend cpu --out m.npy",
            ".trisolar-m.npy.lock",
            "divergence --size 4 --steps 5 --out m.png --out m.npy",
        ),
        (
            "zoom --size 500 --backend cpu --out z",
            "z/.trisolar-sequence.lock",
            "zoom --size 500 --backend cpu --out z",
        ),
        (
            "sweep --vary dt=0.001,0.002 --size 500 --backend cpu --out s",
            "s/.trisolar-sequence.lock",
            "sweep --vary dt=0.001,0.002 --size 500 --backend cpu --out s",
        ),
    ];
    // They wait most of the time, so that all do it at once.
    std::thread::scope(|scope| {
        for (first, lock, second) in cases {
            scope.spawn(move || check(first, lock, second));
        }
    });
}

#[test]
fn runs_that_end_with_a_signal_or_a_failure_leave_no_locks() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let command = "divergence --size 2000 --backend cpu --out m.npy --out m.png";
    let mut child = begun(here, command, ".trisolar-m.npy.lock");
    std::thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(names(here), [""; 0]);
    symlink("/dev/full", here.join("full.npz")).unwrap();
    for (arguments, code) in [
        ("nbody --n 3 --steps 2 --out a.csv --trajectory full.npz", 1),
        ("nbody --n 3 --steps 2 --out a.csv --dt nan", 2),
        ("divergence --size 4 --out a.npy --masses 1,-2,3", 2),
    ] {
        let mut command = trisolar(here);
        command.args(arguments.split(' ')).assert().code(code);
        assert_eq!(names(here), ["full.npz"], "{arguments}");
    }
}

#[test]
fn the_next_run_removes_temporary_files_of_killed_runs() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::create_dir(here.join("z")).unwrap();
    for name in [
        ".trisolar-e.npz-a1B2c3.tmp",
        ".trisolar-other.npz-a1B2c3.tmp",
        "z/.trisolar-frame-00001.png-a1B2c3.tmp",
        "z/.trisolar-mine.png-a1B2c3.tmp",
        ".trisolar-e.npz.lock",
    ] {
        std::fs::write(here.join(name), "left").unwrap();
    }
    for arguments in [
        "nbody --n 3 --steps 2 --out e.npz --quiet",
        "zoom --size 4 --steps 9 --frames 2 --out z --backend cpu --quiet",
    ] {
        let mut command = trisolar(here);
        command.args(arguments.split(' ')).assert().success();
    }
    let hidden: Vec<_> = listed(here)
        .into_iter()
        .filter(|name| name.contains(".trisolar"))
        .collect();
    assert_eq!(
        hidden,
        [
            ".trisolar-other.npz-a1B2c3.tmp",
            "z/.trisolar-mine.png-a1B2c3.tmp"
        ]
    );
}

#[test]
fn paths_with_spaces_and_without_utf_8_name_every_kind_of_file() {
    let folder = tempfile::tempdir().unwrap();
    let named = |end: &str| {
        let mut name = b"a \xff b".to_vec();
        name.extend_from_slice(end.as_bytes());
        folder.path().join(OsStr::from_bytes(&name))
    };
    let run = |arguments: &[&str]| {
        let mut command = trisolar(folder.path());
        command.args(arguments).args(["--backend", "cpu"]);
        command
    };
    let map = ["divergence", "--size", "4", "--steps", "20"];
    let mut command = run(&map);
    for end in [".npy", ".npz", ".png", ".tif"] {
        command.arg("--out").arg(named(end));
    }
    command.arg("--save-config").arg(named(".toml"));
    command.assert().success();
    let mut again = run(&["divergence"]);
    again.arg("--config").arg(named(".toml"));
    again.arg("--out").arg(named(" 2.npy")).assert().success();
    let read = |end: &str| std::fs::read(named(end)).unwrap();
    assert_eq!(read(".npy"), read(" 2.npy"));

    let bodies = ["nbody", "--n", "5", "--steps", "4", "--dt", "0.01"];
    let mut command = run(&bodies);
    command.args(["--every", "2", "--snapshots"]).arg(named(""));
    command.arg("--out").arg(named(".csv")).assert().success();
    assert_eq!(names(&named("")).len(), 3);
    let mut again = run(&["nbody", "--steps", "1", "--dt", "0.01"]);
    again.arg("--input").arg(named(".csv"));
    again.arg("--out").arg(named(" 2.csv")).assert().success();

    // A checkpoint names the outputs of its run, as text.
    let mut command = run(&bodies);
    command
        .arg("--checkpoint")
        .arg(folder.path().join("run.npz"));
    let refused = command.arg("--out").arg(named(" 3.csv")).assert();
    let said = refused.failure().code(2);
    let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
    assert!(said.contains("not valid UTF-8"), "{said}");
    assert!(!named(" 3.csv").exists());
}
