//! Tests of zooms and sweeps of planetary systems and of equations as text. What they share with those of encounters is tested in
//! `encounter_sequences`.

use crate::support;

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;
use trisolar::io::npz::NpzReader;

const LORENZ: &str = "x'=s*(y-x); y'=x*(r-z)-y; z'=x*y-b*z";
const NEWTON: &str = "n=x^2+y^2; x'=(2*x+(x^2-y^2)/n^2)/3; y'=(2*y-2*x*y/n^2)/3
    one: (x-1)^2+y^2 < 1e-6
    up: (x+1/2)^2+(y-sqrt(3)/2)^2 < 1e-6
    down: (x+1/2)^2+(y+sqrt(3)/2)^2 < 1e-6";
/// A map of a planet of Saturn's place beside Jupiter.
const PLANETS: &str =
    "--planet m=1mjup,a=5.2,e=0.05 --planet m=0.3mjup,a=7:10:8,e=0:0.4:6 --years 100 --stop r>20";

/// Runs a command with these words, after which come the words of `options`.
fn run(folder: &Path, words: &[&str], options: &str) -> Output {
    let mut command = support::trisolar(folder);
    command.args(words).args(options.split_whitespace());
    command.args(["--backend", "cpu"]).output().unwrap()
}

#[track_caller]
fn object(folder: &Path, words: &[&str], options: &str) -> Value {
    let output = run(folder, words, &format!("{options} --json"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?} {options}: {message}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The bits of an array of an `.npz` file.
fn bits(path: &Path, name: &str) -> Vec<u64> {
    let mut file = NpzReader::open(path).unwrap();
    let values = file.array::<f64>(name).unwrap().values;
    values.into_iter().map(f64::to_bits).collect()
}

/// The files of a folder, without the record of its run.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let all = support::contents(folder).into_iter();
    all.filter(|(name, _)| name != "sequence.json").collect()
}

/// A column of the table of a sweep.
fn column(folder: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("table.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let titles = lines.next().unwrap();
    let at = titles.iter().position(|title| *title == name);
    let at = at.unwrap_or_else(|| panic!("{name} is not in {titles:?}"));
    lines.map(|cells| cells[at].to_owned()).collect()
}

#[test]
fn frames_of_a_zoom_of_planets_are_the_maps_of_their_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let zoom = format!(
        "{PLANETS} --to 8.25,0.1 --frames 3 --schedule span=span/4^frame --npz --film z.gif"
    );
    let made = object(path, &["planets", "zoom"], &zoom);
    assert_eq!(made["computed"], 3);
    assert_eq!(made["ensembles"][2]["systems"], 48);
    assert!(path.join("z.gif").exists());
    let frame = read_json(&path.join("zoom/frame-00002.json"));
    let planet = |k: usize| {
        let text = frame["specification"]["planets"][k].as_str();
        text.unwrap().to_owned()
    };
    // The point keeps its place in the picture: 1.25 of 3 au from the left, in a range of 3/16 au.
    let axes: Vec<f64> = (planet(1).split(['=', ':', ',']))
        .filter_map(|word| word.parse().ok())
        .collect();
    let (low, high) = (axes[1], axes[2]);
    assert!((high - low - 0.1875).abs() < 1e-12, "{axes:?}");
    assert!(
        ((8.25 - low) / 0.1875 - 1.25 / 3.0).abs() < 1e-9,
        "{axes:?}"
    );
    let single = format!(
        "--planet {} --planet {} --years 100 --stop r>20 --out one.npz --out one.png",
        planet(0),
        planet(1)
    );
    let one = object(path, &["planets"], &single);
    for name in ["time", "megno", "mean_megno", "energy_error"] {
        let of_frame = bits(&path.join("zoom/frame-00002.npz"), name);
        assert_eq!(of_frame, bits(&path.join("one.npz"), name), "{name}");
    }
    assert_eq!(frame["summary"]["outcomes"], one["outcomes"]);
    let check = &one["errors"]["step_check"];
    assert!(check["sample"] == 48 && frame["summary"]["step_check"] == *check);
    let axes = zoom.replace("--film z.gif", "--axes --out axes");
    object(path, &["planets", "zoom"], &axes);
    let drawn = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert!(drawn("axes/frame-00002.png") == drawn("one.png"));
    // More frames by the same formula are added to those that are there.
    let before = files(&path.join("zoom"));
    let more = zoom.replace("--frames 3", "--frames 4");
    assert_eq!(object(path, &["planets", "zoom"], &more)["computed"], 1);
    let after = files(&path.join("zoom"));
    assert!(after.len() == before.len() + 3 && before.iter().all(|file| after.contains(file)));
}

#[test]
fn a_sweep_of_planets_has_a_sheet_a_table_and_the_single_maps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let sweep = |masses: &str| format!("{PLANETS} --vary m2={masses} --vary step=0.05,0.1");
    let made = object(path, &["planets", "sweep"], &sweep("0,1e-3"));
    assert_eq!(made["computed"], 4);
    let sweep_folder = path.join("sweep");
    let names = support::names(&sweep_folder);
    for name in [
        "frame-00003_m2=0.001_step=0.1.npz",
        "frame-00003_m2=0.001_step=0.1.png",
        "sheet.png",
        "table.json",
    ] {
        assert!(names.iter().any(|n| n == name), "{names:?}");
    }
    let single = PLANETS.replace("m=0.3mjup", "m=0.001");
    let one = object(
        path,
        &["planets"],
        &format!("{single} --step 0.1P --out one.npz"),
    );
    let last = sweep_folder.join("frame-00003_m2=0.001_step=0.1.npz");
    assert_eq!(
        bits(&last, "mean_megno"),
        bits(&path.join("one.npz"), "mean_megno")
    );
    assert_eq!(column(&sweep_folder, "m2"), ["0", "0", "0.001", "0.001"]);
    assert_eq!(
        column(&sweep_folder, "step"),
        ["0.05", "0.1", "0.05", "0.1"]
    );
    let regular = one["regular"].as_u64().unwrap() as f64 / 48.0;
    assert_eq!(column(&sweep_folder, "regular")[3], regular.to_string());
    let largest = &one["errors"]["energy_largest"];
    let in_table = &column(&sweep_folder, "largest_energy_error")[3];
    assert_eq!(in_table.parse::<f64>().unwrap(), largest.as_f64().unwrap());
    // A longer list of values of one parameter adds frames, and the sheet and the table have all.
    let one = |masses: &str| format!("{PLANETS} --vary m2={masses} --out masses");
    let computed = |masses| object(path, &["planets", "sweep"], &one(masses))["computed"].clone();
    assert_eq!(computed("0,1e-4"), 2);
    let before = std::fs::read(path.join("masses/sheet.png")).unwrap();
    assert_eq!(computed("0,1e-4,1e-3"), 1);
    assert_eq!(column(&path.join("masses"), "m2"), ["0", "0.0001", "0.001"]);
    assert!(before != std::fs::read(path.join("masses/sheet.png")).unwrap());
    assert_eq!(computed("0,1e-4,1e-3"), 0);
    assert!(path.join("masses/shares.png").exists());
}

#[test]
fn an_interrupted_zoom_of_planets_resumes_to_the_same_bytes() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let long = "--planet m=1mjup,a=5.2,e=0.05 --planet m=0.3mjup,a=7:10:40,e=0:0.4:40 --years 600 --to 8,0.1 --frames 2 --checkpoint 0.1";
    object(path, &["planets", "zoom"], &format!("{long} --out whole"));
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("trisolar"))
        .current_dir(path)
        .args(["planets", "zoom"])
        .args(long.split(' '))
        .args(["--out", "part", "--backend", "cpu", "--quiet"])
        .spawn()
        .unwrap();
    let began = Instant::now();
    loop {
        let record = path.join("part/frame-00000.npz.part.json");
        let text = std::fs::read_to_string(record).unwrap_or_default();
        let record: Value = serde_json::from_str(&text).unwrap_or_default();
        let done = record["done"].as_array();
        if done.is_some_and(|done| !done.is_empty()) {
            break;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    object(path, &["planets", "zoom"], "--resume part");
    assert_eq!(files(&path.join("part")), files(&path.join("whole")));
}

#[test]
fn a_sweep_of_equations_is_that_of_their_single_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (sweep, map) = (["map", "sweep", "--ode", LORENZ], ["map", "--ode", LORENZ]);
    let starts = "--draw x=uniform:-20:20 --n 24 --end 20 --value lyapunov,z";
    // The sweep itself says that r is a parameter.
    let made = object(
        path,
        &sweep,
        &format!("--set s=10,b=8/3 {starts} --vary r=10,28 --npz"),
    );
    assert_eq!(made["computed"], 2);
    let frame = read_json(&path.join("sweep/frame-00001.json"));
    let one = object(
        path,
        &map,
        &format!("--set s=10,b=8/3,r=28 {starts} --out one.npz"),
    );
    for name in ["lyapunov", "z"] {
        let of_frame = bits(&path.join("sweep/frame-00001.npz"), name);
        assert_eq!(of_frame, bits(&path.join("one.npz"), name), "{name}");
    }
    assert_eq!(frame["summary"]["columns"], one["columns"]);
    // At r = 10 two fixed points attract all: -0.5955 is the real part of their eigenvalues. At 28 the attractor is chaotic.
    let medians = column(&path.join("sweep"), "median_lyapunov");
    let medians: Vec<f64> = medians.iter().map(|x| x.parse().unwrap()).collect();
    let [stable, chaotic] = medians[..] else {
        panic!("{medians:?}");
    };
    assert!(
        (stable + 0.5955).abs() < 0.05 && chaotic > 0.1,
        "{medians:?}"
    );
    assert!(path.join("sweep/median.png").exists());
    // Maps have a sheet with one colour bar.
    object(
        path,
        &sweep,
        "--set s=10,b=8/3 --map x=-20:20,y=-20:20 --size 6x4 --end 5 --vary r=10:28:3 --out maps",
    );
    let names = support::names(&path.join("maps"));
    for name in ["sheet.png", "frame-00002.npz", "frame-00002.png"] {
        assert!(names.iter().any(|n| n == name), "{names:?}");
    }
}

#[test]
fn a_zoom_into_newtons_fractal_shows_its_basins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let newton = ["--iterate", NEWTON];
    let zoom = [&["map", "zoom"][..], &newton].concat();
    let made = object(
        path,
        &zoom,
        "--size 12x10 --to 0,0 --frames 3 --schedule span=span/8^frame --npz --film n.webp",
    );
    assert_eq!(made["computed"], 3);
    let frame = read_json(&path.join("zoom/frame-00002.json"));
    let range = &frame["specification"]["parameters"]["x"];
    assert!(range.to_string().contains("-0.03125"), "{range}");
    let one = [&["map"][..], &newton].concat();
    object(
        path,
        &one,
        "--map x=-0.03125:0.03125,y=-0.03125:0.03125 --size 12x10 --out one.npz --out one.png",
    );
    let of_frame = bits(&path.join("zoom/frame-00002.npz"), "outcome");
    assert_eq!(of_frame, bits(&path.join("one.npz"), "outcome"));
    // The three roots of unity are equal but for the place of pixels.
    let outcomes = frame["summary"]["outcomes"].as_array().unwrap();
    let reached = outcomes.iter().filter(|o| o[1].as_u64() > Some(0));
    assert!(reached.count() >= 3, "{outcomes:?}");
    object(
        path,
        &zoom,
        "--size 12x10 --to 0,0 --frames 3 --schedule span=span/8^frame --axes --out axes",
    );
    let drawn = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert!(drawn("axes/frame-00002.png") == drawn("one.png"));
}

#[test]
fn the_middle_of_a_map_can_move() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let made = object(
        path,
        &["planets", "sweep"],
        &format!("{PLANETS} --vary center1=8,9"),
    );
    let range = &made["ensembles"][1]["set"];
    assert_eq!(range[0]["value"], 9.0);
    let frame = read_json(&path.join("sweep/frame-00001.json"));
    let planet = frame["specification"]["planets"][1].as_str().unwrap();
    assert!(
        planet.contains("a=7.5:10.5:8") && planet.contains("e=0:0.4:6"),
        "{planet}"
    );
}

#[test]
fn what_cannot_be_a_sequence_is_refused_by_name() {
    let one = "--planet m=1mjup,a=5.2 --planet m=0.3mjup,a=9";
    let lorenz = "--set s=10,r=28,b=8/3 --size 4";
    let planets = |sequence| ["planets", sequence, "", ""];
    let map = |sequence| ["map", sequence, "--ode", LORENZ];
    for (words, options, said) in [
        (planets("zoom"), PLANETS.into(), &["--to"][..]),
        (
            planets("zoom"),
            format!("{one} --to 1,2"),
            &["--to", "LOW:HIGH:N"],
        ),
        (
            planets("zoom"),
            format!("{PLANETS} --to 5,0"),
            &["--to", "a2", "from 7 to 10"],
        ),
        (
            planets("zoom"),
            format!("{PLANETS} --to 8,0.1 --schedule a2=frame"),
            &["a2 is an axis of the map"],
        ),
        (
            planets("zoom"),
            format!("{PLANETS} --to 8,0.1 --schedule q2=frame"),
            &["--schedule", "'q2'", "span", "star", "a, e, inc"],
        ),
        (
            planets("zoom"),
            format!("{PLANETS} --to 8,0.1 --schedule span=tolerance"),
            &["tolerance", "has no value"],
        ),
        (
            planets("zoom"),
            format!("{PLANETS} --to 8,0.1 --frames 900"),
            &["f64 cannot tell", "a2"],
        ),
        (planets("sweep"), one.into(), &["--vary"]),
        (
            planets("sweep"),
            format!("{one} --vary m3=1,2"),
            &["'m3=1'", "--vary", "m1 to m2"],
        ),
        (
            planets("sweep"),
            format!("{one} --vary e2=0,2"),
            &["'e2=2'", "--vary", "0.999999"],
        ),
        (
            planets("sweep"),
            format!("{one} --vary step=0.1,0"),
            &["'step=0'", "--vary", "steps"],
        ),
        (
            planets("sweep"),
            format!("{one} --vary span=1,2"),
            &["--vary", "LOW:HIGH:N"],
        ),
        (
            map("sweep"),
            format!("{lorenz} --vary x=1,2 --vary x=3"),
            &["--vary", "varied twice"],
        ),
        (
            map("sweep"),
            format!("{lorenz} --map x=0:1,y=0:1 --vary x=1,2"),
            &["--vary", "x is an axis"],
        ),
        (map("sweep"), format!("{lorenz} --vary q=1,2"), &["q"]),
        (
            map("zoom"),
            format!("{lorenz} --to 0,0 --schedule q=1"),
            &["q", "s, x, y, z"],
        ),
        (
            map("zoom"),
            format!("{lorenz} --to 9,0"),
            &["--to", "x", "from -2 to 2"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let output = run(folder.path(), &words, &options);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}: {message}");
        for word in said {
            assert!(
                message.contains(word),
                "{options}: {word:?} not in: {message}"
            );
        }
        assert_eq!(support::names(folder.path()), [""; 0], "{options}");
    }
}
