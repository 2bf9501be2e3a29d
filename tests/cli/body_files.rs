//! Bodies that are written can be read back: their numbers, and also the parameters that give these a meaning.

use crate::support;

use std::path::Path;

use serde_json::Value;
use support::trisolar;
use trisolar::nbody::files::{BodyFile, read};

/// Runs a command with `--json`.
#[track_caller]
fn json(folder: &Path, arguments: &str) -> Value {
    let output = trisolar(folder)
        .args(arguments.split_whitespace())
        .arg("--json")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn notes(object: &Value) -> Vec<&str> {
    let list = object["notes"].as_array().unwrap();
    list.iter().map(|note| note.as_str().unwrap()).collect()
}

fn file(folder: &Path, name: &str) -> BodyFile {
    read(&folder.join(name)).unwrap()
}

/// Starts with unusual units, softening and dimensions.
const STARTS: [&str; 3] = [
    "--model outer-planets --integrator velocity-verlet --steps 30",
    "--model plummer --n 20 --g 2.5 --softening 0.05 --dt 0.01 --steps 30",
    "--model line --n 5 --steps 30 --softening 1e3",
];

#[test]
fn a_king_model_is_the_same_in_nbody_and_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // A step so short that no position changes, and clusters of which the start is written as their first snapshot.
    let king = "--model king --w0 5 --n 200 --seed 3 --softening 0.02";
    json(
        path,
        &format!("nbody {king} --steps 1 --dt 1e-300 --out n.npz"),
    );
    json(
        path,
        &format!("cluster {king} --end 0.0625 --every 0.0625 --snapshots shots --out c.csv"),
    );
    let [nbody, cluster] = ["n.npz", "shots/00000.npz"].map(|name| file(path, name).bodies);
    assert_eq!(nbody, cluster);
    // The CSV and the npz file of a cluster hold the same bodies.
    let [csv, npz] = ["c.csv", "shots/00001.npz"].map(|name| file(path, name));
    assert_eq!(csv.bodies, npz.bodies);
    assert_eq!(csv.carried, npz.carried);
}

#[test]
fn bodies_are_read_back_with_their_physics() {
    for start in STARTS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let outs = "--out a.txt --out a.csv --out a.npz";
        let left = json(path, &format!("nbody {start} {outs}"));
        for name in ["a.txt", "a.csv", "a.npz"] {
            let back = json(path, &format!("nbody --input {name} --steps 1"));
            for key in ["g", "softening", "dt", "dimensions"] {
                let [there, here] = [&left, &back].map(|o| &o["specification"][key]);
                assert_eq!(there, here, "{start} {name} {key}");
            }
            // The numbers are equal bit for bit, in the same units.
            assert_eq!(
                left["diagnostics"]["total"], back["start_energy"],
                "{start} {name}"
            );
            assert_eq!(
                left["time"], back["specification"]["start_time"],
                "{start} {name}"
            );
            let [dt, before, after] = [&left["specification"]["dt"], &left["time"], &back["time"]]
                .map(|x| x.as_f64().unwrap());
            assert_eq!(after, before + dt);
            assert!(notes(&back).is_empty(), "{:?}", notes(&back));
        }
    }
}

#[test]
fn a_run_continued_from_a_file_has_the_bits_of_an_uninterrupted_run() {
    for start in STARTS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        json(
            path,
            &format!("nbody {start} --out half.txt --out half.csv --out half.npz"),
        );
        let whole = start.replace("--steps 30", "--steps 60");
        json(path, &format!("nbody {whole} --out whole.npz"));
        let expected = file(path, "whole.npz").bodies;
        for name in ["half.txt", "half.csv", "half.npz"] {
            json(
                path,
                &format!("nbody --input {name} --steps 30 --out end.npz"),
            );
            assert_eq!(file(path, "end.npz").bodies, expected, "{start} {name}");
        }
    }
}

#[test]
fn every_format_converts_to_every_other_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let text = "name,mass,x,y,z,vx,vy,vz,g,softening,time\n\
                Sol,1.5,0.1,0.2,0.3,1,1,1,0.3,0.125,-2.5\n\
                a moon,1e-3,0.4,1,0.7,0.5,-1,0.25,0.3,0.125,-2.5\n";
    std::fs::write(path.join("start.csv"), text).unwrap();
    // A step so short that nothing moves converts the file.
    let turn = |from: &str, to: &str| {
        json(
            path,
            &format!("nbody --input {from} --steps 1 --dt 1e-300 --out {to}"),
        );
    };
    let start = file(path, "start.csv");
    for (n, extension) in ["csv", "txt", "npz"].into_iter().enumerate() {
        turn("start.csv", &format!("first.{extension}"));
        for other in ["csv", "txt", "npz"] {
            turn(&format!("first.{extension}"), &format!("second{n}.{other}"));
            let back = file(path, &format!("second{n}.{other}"));
            assert_eq!(back.bodies, start.bodies, "{extension} {other}");
            assert_eq!(back.dimensions, 3);
            let (told, expected) = (back.carried, start.carried.clone());
            assert_eq!(told.names, expected.names, "{extension} {other}");
            assert_eq!(told.names.unwrap(), ["Sol", "a moon"]);
            assert_eq!((told.g, told.softening), (Some(0.3), Some(0.125)));
            assert_eq!(told.time, Some(-2.5));
        }
    }
}

#[test]
fn options_override_the_parameters_of_a_file_and_a_note_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    json(
        path,
        &format!("nbody {} --out a.npz --out a.txt --out a.csv", STARTS[1]),
    );
    for name in ["a.npz", "a.txt", "a.csv"] {
        let run = json(
            path,
            &format!("nbody --input {name} --steps 1 --g 1 --softening 0.5"),
        );
        assert_eq!(run["specification"]["g"], 1.0);
        assert_eq!(run["specification"]["softening"], 0.5);
        let said = notes(&run).join("\n");
        assert!(
            said.contains(&format!("--g 1 overrides {name}, where G is 2.5")),
            "{said}"
        );
        assert!(said.contains("--softening 0.5 overrides"), "{said}");
        // An option with the same value gives no note.
        let run = json(path, &format!("nbody --input {name} --steps 1 --g 2.5"));
        assert!(notes(&run).is_empty());
    }
    // A saved configuration of such a run gives the same run.
    json(
        path,
        "nbody --input a.npz --steps 3 --save-config a.toml --out b.npz",
    );
    let again = json(path, "nbody --config a.toml --out c.npz");
    assert!(notes(&again).is_empty());
    assert_eq!(file(path, "b.npz"), file(path, "c.npz"));
}

#[test]
fn parameters_missing_from_a_file_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("a.csv"), "mass,x,y,vx,vy\n1,0,0,0,0\n1,1,0,0,1\n").unwrap();
    std::fs::write(path.join("a.txt"), "1 0 0 0 0\n1 1 0 0 1\n").unwrap();
    std::fs::write(path.join("b.txt"), "5 1 0 0 0 0 0 0\n7 1 1 0 0 0 1 0\n").unwrap();
    for (name, g) in [
        ("a.csv", "1"),
        ("a.txt", "0.00000000006673"),
        ("b.txt", "1"),
    ] {
        let run = json(path, &format!("nbody --input {name} --steps 1"));
        let said = notes(&run).join("\n");
        assert!(
            said.contains(&format!("{name} does not contain G: {g} is used; --g")),
            "{said}"
        );
        assert!(
            said.contains("does not contain a softening length: 0 is used"),
            "{said}"
        );
        let run = json(
            path,
            &format!("nbody --input {name} --steps 1 --g 3 --softening 0"),
        );
        assert!(notes(&run).is_empty());
    }
    // The names and the order of a text file are kept.
    json(path, "nbody --input b.txt --steps 1 --out b.csv");
    let names = file(path, "b.csv").carried.names.unwrap();
    assert_eq!(names, ["5", "7"]);
    let textbook = trisolar(path)
        .args("nbody --input a.txt --steps 1 --format textbook".split(' '))
        .assert()
        .success();
    textbook.stderr(predicates::str::contains("note: a.txt does not contain G"));
}

#[test]
fn texts_without_a_constant_have_the_same_in_nbody_and_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let speed = 0.5_f64.sqrt();
    let circle = format!("1 -0.5 0 0 0 {} 0\n1 0.5 0 0 0 {speed} 0\n", -speed);
    std::fs::write(path.join("seven.txt"), &circle).unwrap();
    std::fs::write(
        path.join("names.txt"),
        format!("m x y z vx vy vz\n{circle}"),
    )
    .unwrap();
    // The same in SI units, in the plane.
    let (mass, length) = (1e24_f64, 1e6_f64);
    let v = speed * (6.673e-11 * mass / length).sqrt();
    let five = format!(
        "{mass} {} 0 0 {}\n{mass} {} 0 0 {v}\n",
        -0.5 * length,
        -v,
        0.5 * length
    );
    std::fs::write(path.join("five.txt"), five).unwrap();
    for (name, g, length) in [
        ("seven.txt", "1", 1.0),
        ("names.txt", "1", 1.0),
        ("five.txt", "0.00000000006673", length),
    ] {
        let unit = (length.powi(3) / (if length == 1.0 { 1.0 } else { 6.673e-11 * mass })).sqrt();
        let step = 2.0_f64.powi((unit / 64.0).log2().floor() as i32);
        let nbody = format!("nbody --integrator forest-ruth --dt {}", unit / 1000.0);
        let cluster = format!("cluster --order 8 --eta 0.1 --max-step {step} --every {unit}");
        let ends = [nbody, cluster].map(|command| {
            let run = json(
                path,
                &format!("{command} --input {name} --end {unit} --out end.npz"),
            );
            let said = notes(&run).join("\n");
            let says = format!("{name} does not contain G: {g} is used");
            assert!(said.contains(&says), "{command}: {said}");
            assert_eq!(run["warnings"], serde_json::json!([]), "{command} {name}");
            file(path, "end.npz").bodies.position
        });
        // The angular velocity is √2 in these units.
        let (sin, cos) = 2.0_f64.sqrt().sin_cos();
        for end in ends {
            assert!(
                (end[1].x / length - 0.5 * cos).abs() < 1e-6,
                "{name} {end:?}"
            );
            assert!(
                (end[1].y / length - 0.5 * sin).abs() < 1e-6,
                "{name} {end:?}"
            );
        }
    }
}

#[test]
fn starts_that_are_hardly_meant_give_warnings_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (name, text, says) in [
        (
            "au.txt",
            "1 0 0 0 0 0 0\n3e-6 1 0 0 0 6.2832 0\n9.5e-4 5.2 0 0 0 2.755 0\n",
            "nothing is bound: the kinetic energy is",
        ),
        (
            "light.txt",
            "1 0 0 0 0 0 0\n0 1 0 0 0 6.2832 0\n",
            "nothing is bound: the velocities are far above",
        ),
        (
            "massless.txt",
            "0 0 0 0 0 0 0\n0 1.5e11 0 0 0 3e4 0\n",
            "the total mass is 0",
        ),
        (
            "soft.csv",
            "m,x,y,z,vx,vy,vz,eps\n1,-0.5,0,0,0,-0.7,0,2\n1,0.5,0,0,0,0.7,0,2\n",
            "bodies 0 and 1 are 1.0000e0 apart, less than the softening length 2",
        ),
    ] {
        std::fs::write(path.join(name), text).unwrap();
        for command in ["nbody --steps 1", "cluster --end 0.0625"] {
            let run = json(path, &format!("{command} --input {name}"));
            let said = run["warnings"].to_string();
            assert!(said.contains(says), "{command} {name}: {said}");
            let shown = trisolar(path)
                .args(command.split(' '))
                .args(["--input", name])
                .assert()
                .success();
            let said = String::from_utf8_lossy(&shown.get_output().stderr).into_owned();
            assert!(said.contains(&format!("warning: {says}")), "{said}");
        }
    }
    // The right constant, or a softening of less than the distance, gives none.
    for arguments in [
        "nbody --input au.txt --g 39.478 --dt 0.001 --steps 1",
        "nbody --input soft.csv --softening 0.01 --steps 1",
        "cluster --input soft.csv --softening 0.01 --end 0.0625",
        "cluster --n 8 --end 0.0625",
    ] {
        let run = json(path, arguments);
        assert_eq!(run["warnings"], serde_json::json!([]), "{arguments}");
    }
}

#[test]
fn few_bodies_of_a_file_have_no_softening_that_nobody_gave() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let softening = |arguments: &str| {
        let run = json(path, &format!("{arguments} --end 0.0625"));
        run["specification"]["softening"].as_f64().unwrap()
    };
    let lines = |n: usize, apart: f64| -> String {
        (0..n)
            .map(|i| {
                format!(
                    "1e-6 {} {} {} 0 0 0\n",
                    apart * (i % 7) as f64,
                    apart * (i / 7 % 7) as f64,
                    apart * (i / 49) as f64
                )
            })
            .collect()
    };
    for (n, apart, expected) in [
        (2, 1.0, 0.0),
        (99, 1.0, 0.0),
        (100, 1.0, 0.04),
        (200, 1.0, 0.02),
        (200, 0.01, 0.0),
    ] {
        std::fs::write(path.join("a.txt"), lines(n, apart)).unwrap();
        assert_eq!(softening("cluster --input a.txt"), expected, "{n} {apart}");
    }
    // Models keep theirs.
    assert_eq!(softening("cluster --n 8"), 0.5);
    assert_eq!(softening("cluster --n 2"), 0.0);
}

#[test]
fn test_bodies_may_begin_at_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let text = "1 0 0 0 0 0 0\n0 1 0 0 0 1 0\n0 1 0 0 0 1.1 0\n0 1 0 0 0 1 0\n";
    std::fs::write(path.join("a.txt"), text).unwrap();
    json(
        path,
        "nbody --input a.txt --integrator forest-ruth --dt 0.0005 --steps 2000 --out n.npz",
    );
    let expected = file(path, "n.npz").bodies;
    for more in [
        "--order 4 --eta 0.02",
        "--order 6 --eta 0.1",
        "--order 8 --eta 0.1",
        "--precision split-f32 --eta 0.1",
        "--scheme ahmad-cohen --eta 0.02 --eta-regular 0.02",
        "--close-pairs regularised --eta 0.1",
    ] {
        json(
            path,
            &format!("cluster --input a.txt --end 1 --out c.npz {more}"),
        );
        let found = file(path, "c.npz").bodies;
        for (a, b) in found.position.iter().zip(&expected.position) {
            assert!((*a - *b).length() < 1e-4, "{more}: {a} {b}");
        }
        let apart = found.position[1].distance(found.position[3]);
        assert!(apart < 1e-6, "{more}: {apart}");
    }
    // A body with mass may not be there.
    std::fs::write(path.join("b.txt"), "1 1 0 0 0 0 0\n0 1 0 0 0 1 0\n").unwrap();
    for command in ["nbody --steps 1", "cluster --end 1"] {
        let refused = trisolar(path)
            .args(command.split(' '))
            .args(["--input", "b.txt"])
            .assert();
        refused.code(2).stderr(predicates::str::contains("1 and 2"));
    }
}

#[test]
fn a_cluster_goes_back_to_where_it_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    json(
        path,
        "cluster --model burrau --end 3 --every 3 --snapshots shots --out there.npz",
    );
    let run = json(
        path,
        "cluster --input there.npz --softening 0 --order 8 --eta 0.15 --end 0 --every 0.75 --series s.npz --out back.npz --plots p",
    );
    assert_eq!(run["time"], 0.0);
    assert_eq!(run["specification"]["backwards"], true);
    assert_eq!(run["warnings"], serde_json::json!([]));
    let [start, back] = ["shots/00000.npz", "back.npz"].map(|name| file(path, name));
    assert_eq!(back.carried.time, Some(0.0));
    for (a, b) in [
        (&start.bodies.position, &back.bodies.position),
        (&start.bodies.velocity, &back.bodies.velocity),
    ] {
        for (a, b) in a.iter().zip(b) {
            assert!((*a - *b).length() < 1e-7, "{a} {b}");
        }
    }
    let mut series = trisolar::io::npz::NpzReader::open(path.join("s.npz")).unwrap();
    let times = series.array::<f64>("time").unwrap().values;
    assert_eq!(times, [3.0, 2.25, 1.5, 0.75, 0.0]);
    // It agrees with a run of `nbody` with a negative step.
    json(
        path,
        "nbody --model figure-eight --integrator forest-ruth --dt -0.001 --end -1 --out n.npz",
    );
    let model = "cluster --model figure-eight";
    json(
        path,
        &format!("{model} --end -1 --out whole.npz --checkpoint w.npz"),
    );
    let [n, c] = ["n.npz", "whole.npz"].map(|name| file(path, name).bodies);
    for i in 0..3 {
        assert!((n.position[i] - c.position[i]).length() < 1e-8);
        assert!((n.velocity[i] - c.velocity[i]).length() < 1e-8);
    }
    // A resumed run ends with the same bytes, and cannot turn round.
    json(
        path,
        &format!("{model} --end -0.5 --out half.npz --checkpoint h.npz"),
    );
    json(path, "cluster --resume h.npz --end -1");
    let [whole, resumed] = ["whole.npz", "half.npz"].map(|name| file(path, name));
    assert_eq!(whole, resumed);
    for (end, says) in [
        ("1", "must be before 0"),
        ("-0.75", "the checkpoint is at -1 already"),
    ] {
        let refused = trisolar(path)
            .args(["cluster", "--resume", "h.npz", "--end", end])
            .assert();
        refused.code(2).stderr(predicates::str::contains(says));
    }
}

/// A TIPSY file with two dark particles and a star, at a given time and with these softening lengths.
fn tipsy(time: f64, softening: [f32; 3]) -> Vec<u8> {
    let mut bytes = time.to_le_bytes().to_vec();
    for n in [3_u32, 3, 0, 2, 1, 0] {
        bytes.extend(n.to_le_bytes());
    }
    for (i, eps) in softening.into_iter().enumerate() {
        let i = i as f32;
        let body = [1.0 + i, i, 0.3 * i, 0.0, 0.0, 0.25 * i, 0.1];
        let star: &[f32] = if i == 2.0 { &[0.0, 0.0] } else { &[] };
        for x in body.iter().chain(star).chain(&[eps, -1.0]) {
            bytes.extend(x.to_le_bytes());
        }
    }
    bytes
}

#[test]
fn tipsy_files_contain_time_and_softening_and_have_g_1() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("a.tipsy"), tipsy(4.5, [0.125; 3])).unwrap();
    std::fs::copy(path.join("a.tipsy"), path.join("a.STD")).unwrap();
    assert_eq!(file(path, "a.STD"), file(path, "a.tipsy"));
    for command in ["nbody --steps 1 --dt 0.25", "cluster --end 4.75"] {
        let run = json(path, &format!("{command} --input a.tipsy --out a.npz"));
        assert_eq!(run["specification"]["softening"], 0.125, "{command}");
        assert_eq!(run["time"], 4.75, "{command}");
        assert!(notes(&run).is_empty(), "{command}: {:?}", notes(&run));
        let told = file(path, "a.npz").carried;
        let expected = (Some(1.0), Some(0.125), Some(4.75));
        assert_eq!((told.g, told.softening, told.time), expected, "{command}");
    }
    // A run has a single softening length for all bodies.
    std::fs::write(path.join("b.tipsy"), tipsy(0.0, [0.125, 0.5, 0.125])).unwrap();
    for command in ["nbody --steps 1", "cluster --end 0.25"] {
        let refused = trisolar(path)
            .args(command.split(' '))
            .args(["--input", "b.tipsy"])
            .assert()
            .code(2);
        let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(
            said.contains("'--softening'") && said.contains("from 0.125 to 0.5"),
            "{said}"
        );
        json(path, &format!("{command} --input b.tipsy --softening 0.25"));
    }
}

/// Energies in the first and last line of a cluster's diagnostics.
fn energies(folder: &Path, series: &str) -> [f64; 2] {
    let mut file = trisolar::io::npz::NpzReader::open(folder.join(series)).unwrap();
    let [kinetic, potential] =
        ["kinetic", "potential"].map(|name| file.array::<f64>(name).unwrap().values);
    let total: Vec<f64> = kinetic.iter().zip(&potential).map(|(k, p)| k + p).collect();
    [total[0], total[total.len() - 1]]
}

#[test]
fn clusters_are_read_back_with_softening_time_and_energy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let outs = "--out a.npz --out a.txt --series a-series.npz --snapshots shots";
    let left = json(
        path,
        &format!("cluster --n 40 --softening 0.0625 --end 0.6 {outs}"),
    );
    let [_, energy] = energies(path, "a-series.npz");
    for name in ["a.npz", "a.txt", "shots/00003.npz"] {
        let arguments = format!("cluster --input {name} --end 0.9 --series b.npz --out b.txt");
        let back = json(path, &arguments);
        assert_eq!(
            back["specification"]["softening"],
            left["specification"]["softening"]
        );
        assert_eq!(back["specification"]["start_time"], 0.6);
        assert_eq!(back["time"], 0.9);
        assert!(notes(&back).is_empty(), "{:?}", notes(&back));
        assert_eq!(energies(path, "b.npz")[0], energy, "{name}");
        let mut series = trisolar::io::npz::NpzReader::open(path.join("b.npz")).unwrap();
        assert_eq!(
            series.array::<f64>("time").unwrap().values,
            [0.6, 0.85, 0.9]
        );
        assert_eq!(file(path, "b.txt").carried.time, Some(0.9));
    }
    // A time before that of the file is reached backwards; without --end, a run continues for one unit of time.
    let early = json(path, "cluster --input a.npz --end 0.5 --out early.npz");
    assert_eq!(early["time"], 0.5);
    assert!(notes(&early)[0].contains("backwards in time, from 0.6 to 0.5"));
    assert_eq!(file(path, "early.npz").carried.time, Some(0.5));
    let unit = json(path, "cluster --input a.npz --checkpoint c.npz --out d.npz");
    assert_eq!(unit["time"], 1.6);
    // A checkpoint contains the start time of its run.
    let resumed = json(path, "cluster --resume c.npz --end 2");
    assert_eq!(resumed["time"], 2.0);
    assert_eq!(file(path, "d.npz").carried.time, Some(2.0));
    let late = trisolar(path)
        .args("cluster --resume c.npz --end 1.5".split(' '))
        .assert()
        .code(2);
    late.stderr(predicates::str::contains("the checkpoint is at 2 already"));
    // Parameters that are missing from its file are reported.
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/plummer_1024.txt");
    let run = json(path, &format!("cluster --input {golden} --end 0.01"));
    assert!(notes(&run)[0].contains("does not contain a softening length: 4/n is used"));
}

#[test]
fn nbody_and_cluster_runs_read_each_others_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let outs = "--out a.npz --out a.txt --out a.csv";
    let start = "--model plummer --n 20 --softening 0.05 --dt 0.01 --steps 30";
    let left = json(path, &format!("nbody {start} {outs}"));
    for name in ["a.npz", "a.txt", "a.csv"] {
        let run = json(
            path,
            &format!("cluster --input {name} --end 0.5 --series s.npz"),
        );
        assert_eq!(run["specification"]["softening"], 0.05);
        assert_eq!(run["time"], 0.5);
        assert!(notes(&run).is_empty(), "{:?}", notes(&run));
        let before = left["diagnostics"]["total"].as_f64().unwrap();
        assert!(
            (energies(path, "s.npz")[0] / before - 1.0).abs() < 1e-12,
            "{name}"
        );
    }
    json(
        path,
        "cluster --n 20 --softening 0.05 --end 0.5 --out b.npz --out b.txt --series s.npz",
    );
    let [_, energy] = energies(path, "s.npz");
    for name in ["b.npz", "b.txt"] {
        let run = json(path, &format!("nbody --input {name} --steps 1"));
        let spec = &run["specification"];
        assert_eq!(
            (&spec["g"], &spec["softening"]),
            (&1.0.into(), &0.05.into()),
            "{name}"
        );
        assert_eq!(spec["start_time"], 0.5, "{name}");
        assert!(notes(&run).is_empty(), "{:?}", notes(&run));
        let start = run["start_energy"].as_f64().unwrap();
        assert!((start / energy - 1.0).abs() < 1e-12, "{name}");
    }
    // A cluster has G = 1; a different G is absorbed in its masses, and the orbits stay the same.
    json(path, &format!("nbody {} --out p.npz", STARTS[0]));
    let run = json(
        path,
        "cluster --input p.npz --end 400 --max-step 64 --every 100 --out q.npz",
    );
    assert!(
        notes(&run)
            .join(" ")
            .contains("masses are multiplied by it")
    );
    let (planets, particles) = (file(path, "p.npz"), file(path, "q.npz"));
    let g = planets.carried.g.unwrap();
    for (m, scaled) in planets.bodies.mass.iter().zip(&particles.bodies.mass) {
        assert_eq!(g * m, *scaled);
    }
    json(
        path,
        "nbody --input p.npz --steps 1000 --dt 0.1 --integrator runge-kutta-4 --out r.npz",
    );
    let expected = file(path, "r.npz");
    assert_eq!(expected.carried.time, particles.carried.time);
    for (a, b) in expected
        .bodies
        .position
        .iter()
        .zip(&particles.bodies.position)
    {
        assert!(a.distance(*b) < 1e-6, "{a:?} {b:?}");
    }
}

#[test]
fn the_bodies_of_a_checkpoint_have_its_physics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let left = json(path, &format!("nbody {} --checkpoint c.npz", STARTS[1]));
    let back = json(path, "nbody --input c.npz --steps 1");
    assert_eq!(left["diagnostics"]["total"], back["start_energy"]);
    assert_eq!(left["time"], back["specification"]["start_time"]);
    // Checkpoints also contain the names.
    std::fs::write(
        path.join("n.csv"),
        "name,mass,x,y,vx,vy,g\nfirst,1,0,0,0,0,1\nsecond,1,1,0,0,1,1\n",
    )
    .unwrap();
    json(
        path,
        "nbody --input n.csv --steps 5 --softening 0 --checkpoint c.npz --out whole.csv",
    );
    json(
        path,
        "nbody --input n.csv --steps 3 --softening 0 --checkpoint c.npz --out resumed.csv",
    );
    json(path, "nbody --resume c.npz --steps 5");
    let bytes = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert!(bytes("whole.csv") == bytes("resumed.csv"));
}

#[test]
fn columns_that_must_be_constant_but_differ_are_rejected_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (name, text, said) in [
        (
            "a.csv",
            "mass,x,y,vx,vy,g\n1,0,0,0,0,1\n1,1,0,0,1,2\n",
            "a.csv:3:11: '2' for g: expected the same",
        ),
        (
            "b.csv",
            "mass,x,y,vx,vy,time\n1,0,0,0,0,x\n",
            "b.csv:2:11: 'x' for time: expected a number",
        ),
        (
            "a.txt",
            "# trisolar {\"g\": }\n1 0 0 0 0\n",
            "a.txt:1:1: the comment with values of the bodies",
        ),
        (
            "b.txt",
            "# trisolar {\"names\": [\"a\"]}\n1 0 0 0 0\n1 1 0 0 0\n",
            "1 names for 2 bodies",
        ),
    ] {
        std::fs::write(path.join(name), text).unwrap();
        trisolar(path)
            .args(["nbody", "--input", name])
            .assert()
            .code(2)
            .stderr(predicates::str::contains(said));
    }
}
