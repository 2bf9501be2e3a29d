//! Tests of `trisolar encounters zoom` and `trisolar encounters sweep`.

use crate::encounters::encounters as command;
use crate::support;

use std::path::Path;
use std::time::{Duration, Instant};

use predicates::str::contains;
use serde_json::Value;
use trisolar::io::npz::NpzReader;

#[track_caller]
fn object(folder: &Path, options: &str) -> Value {
    let output = command(folder, options).arg("--json").output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options}: {message}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn times(path: &Path) -> Vec<u64> {
    let mut file = NpzReader::open(path).unwrap();
    let times = file.array::<f64>("time").unwrap().values;
    times.into_iter().map(f64::to_bits).collect()
}

#[test]
fn a_saved_configuration_makes_the_same_sequence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (sequence, given) in [
        (
            "zoom --to 230,27 --frames 2",
            "--map phase,inclination --size 4x3 --seed 7",
        ),
        ("sweep --vary mass3=5,10", "--n 20 --seed 3 --order 8"),
    ] {
        let run = |words: &str| {
            command(path, &format!("{sequence} {words} --quiet"))
                .assert()
                .success();
        };
        run(&format!("{given} --save-config c.toml --out first"));
        run("--config c.toml --out second");
        let [first, second] = ["first", "second"].map(|name| {
            let frame = read_json(&path.join(name).join("frame-00001.json"));
            (frame["specification"].clone(), frame["summary"].clone())
        });
        assert!(
            first.0.is_object() && first == second,
            "{first:?} {second:?}"
        );
        for name in ["first", "second"] {
            std::fs::remove_dir_all(path.join(name)).unwrap();
        }
    }
    command(
        path,
        "zoom --map phase,inclination --to 9,9 --save-config missing/c.toml",
    )
    .assert()
    .code(2)
    .stderr(contains("'--save-config'"));
}

#[test]
fn frames_of_a_zoom_are_the_maps_of_their_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let made = object(
        path,
        "zoom --map phase,inclination --to 230,27 --size 10x8 --frames 3 --set span=span/4^frame --npz --film z.gif",
    );
    assert_eq!(
        (&made["computed"], &made["ensembles"][2]["runs"]),
        (&3.into(), &80.into())
    );
    assert!(path.join("z.gif").exists());
    let frame = read_json(&path.join("zoom/frame-00002.json"));
    let range = |name: &str| {
        let ends = &frame["specification"]["parameters"][name]["range"];
        let [low, high] = [0, 1].map(|i| ends[i].as_f64().unwrap());
        (low, high, format!("{name}={low}:{high}"))
    };
    let (phase, inclination) = (range("phase"), range("inclination"));
    assert!((phase.1 - phase.0 - 22.5).abs() < 1e-12);
    assert!((inclination.1 - inclination.0 - 11.25).abs() < 1e-12);
    assert!(((230.0 - phase.0) / 22.5 - 230.0 / 360.0).abs() < 1e-12);
    object(
        path,
        &format!(
            "--map {},{} --size 10x8 --out one.npz",
            phase.2, inclination.2
        ),
    );
    let of_frame = times(&path.join("zoom/frame-00002.npz"));
    assert_eq!(of_frame, times(&path.join("one.npz")));
    // A second run computes nothing, except a frame whose picture was changed.
    let again = "zoom --map phase,inclination --to 230,27 --size 10x8 --frames 3 --set span=span/4^frame --npz --film z.gif";
    let before = support::contents(&path.join("zoom"));
    assert_eq!(object(path, again)["computed"], 0);
    std::fs::write(path.join("zoom/frame-00001.png"), "x").unwrap();
    let mended = object(path, again);
    assert_eq!(mended["computed"], 1);
    assert!(
        mended["notes"][0]
            .as_str()
            .unwrap()
            .contains("frame-00001.png")
    );
    let frames = |contents: Vec<(String, Vec<u8>)>| -> Vec<(String, Vec<u8>)> {
        contents
            .into_iter()
            .filter(|(name, _)| name != "sequence.json")
            .collect()
    };
    assert_eq!(
        frames(support::contents(&path.join("zoom"))),
        frames(before)
    );
}

/// A zoom whose frames take some seconds.
const LONG: &str =
    "--map phase,inclination --to 230,27 --size 60 --frames 2 --checkpoint 0.1 --npz";

#[test]
fn an_interrupted_zoom_resumes_to_the_same_bytes() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    object(path, &format!("zoom {LONG} --out whole"));
    let part = |signal, options: &str| {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("trisolar"))
            .current_dir(path)
            .arg("encounters")
            .args(options.split(' '))
            .args(["--backend", "cpu", "--quiet"])
            .spawn()
            .unwrap();
        let began = Instant::now();
        loop {
            let record = path.join("part/frame-00000.npz.part.json");
            let text = std::fs::read_to_string(record).unwrap_or_default();
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
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap().code()
    };
    assert_eq!(
        part(Signal::INT, &format!("zoom {LONG} --out part")),
        Some(130)
    );
    for (other, words) in [
        ("--e 0.5", "e (0.0 there, 0.5 here)"),
        ("--to 231,27", "--to"),
        ("--frames 3", "--frames"),
    ] {
        command(path, &format!("zoom --resume part {other}"))
            .assert()
            .code(2)
            .stderr(contains(words));
    }
    assert_eq!(part(Signal::KILL, "zoom --resume part"), None);
    object(path, "zoom --resume part");
    let files = |name| -> Vec<(String, Vec<u8>)> {
        let all = support::contents(&path.join(name)).into_iter();
        all.filter(|(name, _)| name != "sequence.json").collect()
    };
    let whole = files("whole");
    assert_eq!(whole.len(), 6);
    assert_eq!(files("part"), whole);
}

#[test]
fn a_sweep_has_a_table_of_the_shares_of_each_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let made = object(path, "sweep --vary mass3=5,20 --n 300 --seed 3");
    assert_eq!(made["computed"], 2);
    let names = support::names(&path.join("sweep"));
    for name in ["frame-00001.json", "shares.png", "table.csv", "table.json"] {
        assert!(names.iter().any(|n| n == name), "{names:?}");
    }
    let text = std::fs::read_to_string(path.join("sweep/table.csv")).unwrap();
    let mut lines = text.lines();
    let titles: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row: Vec<&str> = lines.nth(1).unwrap().split(',').collect();
    assert_eq!((titles.len(), lines.next()), (row.len(), None));
    let cell = |name: &str| {
        let at = titles.iter().position(|title| title.starts_with(name));
        row[at.unwrap_or_else(|| panic!("{name} is not in {titles:?}"))]
    };
    assert_eq!((cell("mass3"), cell("runs")), ("20", "300"));
    // The same encounters without a sequence.
    let one = object(path, "--masses 15,17.5,20 --n 300 --seed 3");
    let share = &one["summary"]["escapers"][2]["share"];
    assert_eq!(cell("body_3"), share.to_string());
    assert_eq!(
        cell("median"),
        one["summary"]["lifetimes"]["median"].to_string()
    );
    // A varied parameter has one value in all runs, even if it is drawn without the sweep. Two parameters give all pairs of values.
    object(
        path,
        "sweep --vary inclination=0,90 --vary e=0,0.5 --n 40 --npz --out pairs",
    );
    let names = support::names(&path.join("pairs"));
    let last = "frame-00003_inclination=90_e=0.5.npz";
    assert!(names.iter().any(|name| name == last), "{names:?}");
    let file = NpzReader::open(path.join("pairs").join(last)).unwrap();
    let columns = file.names().unwrap();
    assert!(
        !columns.contains(&"start_inclination".into()) && columns.contains(&"start_phase".into())
    );
}

#[test]
fn encounters_that_all_remain_open_are_said_in_the_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    for (limit, open) in [("--max-time 1", true), ("", false)] {
        let map = format!("--map phase,inclination --size 5x4 {limit} --out a.svg --quiet");
        command(path, &map).assert().success();
        let svg = read("a.svg");
        assert_eq!(svg.contains("no encounter ended within"), open, "{limit}");
        // Times that differ by rounding have one brightness.
        assert_eq!(svg.contains("time of the end"), !open, "{limit}");
        let sweep = format!("sweep --vary a=5,6 --n 40 {limit} --plot-format svg --restart");
        object(path, &sweep);
        let svg = read("sweep/shares.svg");
        let title = match open {
            true => "Shares of the outcomes, 40 encounters for each value",
            false => "Shares of the escaping bodies, 40 encounters for each value",
        };
        assert!(svg.contains(title), "{limit}");
    }
    // The picture of the shares has the format that is wanted last.
    object(path, "sweep --vary a=5,6 --n 40");
    let names = support::names(&path.join("sweep"));
    assert!(names.contains(&"shares.png".into()) && !names.contains(&"shares.svg".into()));
}

#[test]
fn maps_of_sequences_have_the_format_and_direction_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // The maps of sequences have no check of steps, nor has one of less than 20 runs.
    let map = "--map phase,inclination --size 5x3 --seed 7";
    let run = |words: &str| object(path, &format!("{words} {map}"));
    let read = |name: &str| std::fs::read(path.join(name)).unwrap();
    let found = run("zoom --to 230,27 --frames 2 --axes --plot-format svg --out axes");
    assert_eq!(
        found["files"],
        serde_json::json!(["axes/frame-00000.svg", "axes/frame-00001.svg"])
    );
    run("sweep --vary e=0,0.5 --plot-format pdf --out sweep");
    for name in ["sweep/frame-00001.pdf", "sweep/shares.pdf"] {
        assert!(read(name).starts_with(b"%PDF"), "{name}");
    }
    // y grows upwards, unless it is said.
    command(path, &format!("{map} --out up.png --quiet"))
        .assert()
        .success();
    run("sweep --vary e=0,0.5 --out up");
    run("sweep --vary e=0,0.5 --y-axis down --out down");
    assert!(read("up/frame-00000.png") == read("up.png"));
    assert!(read("down/frame-00000.png") != read("up.png"));
    let rows = |name: &str| {
        let file = std::fs::File::open(path.join(name)).unwrap();
        let mut reader = png::Decoder::new(std::io::BufReader::new(file))
            .read_info()
            .unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        pixels.chunks(5).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    run("zoom --to 230,27 --frames 1 --out bare");
    run("zoom --to 230,27 --frames 1 --y-axis down --out turned");
    let (bare, mut turned) = (rows("bare/frame-00000.png"), rows("turned/frame-00000.png"));
    turned.reverse();
    assert!(bare.len() == 3 && bare == turned && bare[0] != bare[2]);
    for (words, reason) in [
        (
            "zoom --to 230,27 --frames 2 --plot-format pdf",
            "which only png can hold",
        ),
        (
            "zoom --to 230,27 --frames 2 --axes --film a.gif",
            "without axes",
        ),
        (
            "sweep --vary e=0,0.5 --plot-format svg --out up",
            "--plot-format (png there, svg here)",
        ),
    ] {
        let refused = command(path, &format!("{words} {map}")).assert().code(2);
        refused.stderr(contains(reason));
    }
}

#[test]
fn what_cannot_be_a_sequence_is_refused_by_name() {
    for (options, words) in [
        ("zoom --map phase,inclination", &["--to"][..]),
        ("zoom --to 1,2", &["--to", "--map"]),
        (
            "zoom --map phase,inclination --to 5",
            &["'5'", "--to", "each axis", "2"],
        ),
        (
            "zoom --map phase=0:10,inclination --to 20,30",
            &["--to", "phase", "from 0 to 10"],
        ),
        ("zoom --map phase --to 5 --frames 0", &["--frames", "99999"]),
        (
            "zoom --map phase --to 5 --set spin=2",
            &["--set", "spin", "span"],
        ),
        ("zoom --map phase --to 5 --set span=2*q", &["--set", "'q'"]),
        (
            "zoom --map phase --to 5 --set span=1-frame",
            &["frame 1", "span", "above 0"],
        ),
        (
            "zoom --map phase,inclination --to 230,27 --frames 600",
            &["f64 cannot tell", "phase"],
        ),
        (
            "zoom --map phase --to 5 --set phase=3",
            &["phase is an axis of the map"],
        ),
        ("zoom --map phase --to 5 --film a.avi", &["--film", ".gif"]),
        ("sweep", &["--vary"]),
        ("sweep --vary e=0,2", &["'e=2'", "--vary", "0 to 0.999999"]),
        ("sweep --vary x=0,1", &["--vary", "binary-single has no x"]),
        ("sweep --vary span=1,2", &["--vary", "--map"]),
        ("sweep --vary e=0 --vary e=1", &["--vary", "varied twice"]),
        ("sweep --vary e=0,0.5 --n 0", &["--n"]),
        (
            "sweep --resume none",
            &["'none'", "--resume", "does not exist"],
        ),
        ("--n 5 sweep --vary e=0", &["sweep"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = command(folder.path(), options).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}: {message}");
        for word in words {
            assert!(
                message.contains(word),
                "{options}: {word:?} not in: {message}"
            );
        }
        assert_eq!(support::names(folder.path()), [""; 0], "{options}");
    }
}
