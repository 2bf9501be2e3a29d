//! Every run knows its error and reports it; no unreliable result ends with exit code 0 and without a warning.

use crate::support;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use support::{names, trisolar};

fn run(folder: &Path, arguments: &str) -> Output {
    let arguments = arguments.split_whitespace();
    trisolar(folder).args(arguments).output().unwrap()
}

#[track_caller]
fn ends(output: &Output, code: i32, arguments: &str) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments}: {out}{err}");
    (out, err)
}

/// The summary of a successful run, with its lines joined.
#[track_caller]
fn summary(folder: &Path, arguments: &str) -> String {
    let (out, _) = ends(&run(folder, arguments), 0, arguments);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The JSON of a successful run.
#[track_caller]
fn json(folder: &Path, arguments: &str) -> Value {
    let arguments = format!("{arguments} --json");
    let (out, _) = ends(&run(folder, &arguments), 0, &arguments);
    serde_json::from_str(&out).expect(&arguments)
}

fn warnings(object: &Value) -> Vec<String> {
    serde_json::from_value(object["warnings"].clone()).expect("warnings")
}

/// Runs a command that must fail with this code, name these words, and leave these files.
#[track_caller]
fn fails(folder: &Path, code: i32, arguments: &str, words: &[&str], files: &[&str]) {
    let (_, err) = ends(&run(folder, arguments), code, arguments);
    let said = err.lines().find(|line| line.starts_with("error: "));
    let said = said.unwrap_or_else(|| panic!("{arguments}: {err}"));
    for word in words {
        assert!(
            said.contains(word),
            "{arguments}: {word:?} is not in {said}"
        );
    }
    for file in files {
        let there = names(folder).iter().any(|name| name == file);
        assert!(there, "{arguments}: no {file}");
    }
}

const INACCURATE: [&str; 4] = [
    "nbody --model burrau --dt 1e-3 --steps 70000",
    "nbody --model kepler --eccentricity 0.99 --dt 0.01 --steps 500",
    "nbody --model figure-eight --dt 0.05 --steps 400 --integrator explicit-euler",
    "cluster --n 32 --softening 1e-4 --eta 1000 --max-step 4 --end 8 --every 8",
];

#[test]
fn a_large_energy_error_is_a_warning_in_the_summary_and_in_json() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in INACCURATE {
        let said = summary(folder.path(), arguments);
        let words = "warning the relative error of the energy is ";
        assert!(said.contains(words), "{arguments}: {said}");
        let object = json(folder.path(), arguments);
        let largest = object["largest_energy_error"].as_f64().unwrap();
        assert!(largest.abs() > 0.01, "{arguments}: {largest}");
        let last = object["energy_error"].as_f64().unwrap();
        assert!(last.abs() <= largest.abs(), "{arguments}: {last} {largest}");
        let said = warnings(&object).join("\n");
        assert!(said.contains("error of the energy"), "{arguments}: {said}");
    }
    // Where states are printed, warnings go to standard error.
    let arguments = "nbody --model kepler --eccentricity 0.99 --dt 0.01 --steps 500 --format textbook --final-only";
    let (out, err) = ends(&run(folder.path(), arguments), 0, arguments);
    assert!(!out.contains("warning"), "{out}");
    assert!(
        err.contains("warning: the relative error of the energy"),
        "{err}"
    );
}

#[test]
fn ordinary_runs_give_no_warnings() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        "nbody --n 64 --softening 0.01 --steps 20",
        "nbody --n 128 --steps 50",
        "nbody --model figure-eight --dt 0.001 --steps 6326",
        "nbody --model line --steps 100 --dt 0.01",
        "nbody --model six-bodies --steps 20000",
        "nbody --model outer-planets --dt 10 --steps 200",
        "nbody --model lagrange --steps 500 --dt 1e-3",
        "nbody --model kepler --eccentricity 0.5 --dt 1e-3 --steps 2000 --integrator forest-ruth",
        // On a parabola, the parts of the energy cancel.
        "nbody --model sphere --n 50 --softening 0.1 --dt 1e-3 --steps 100",
        "cluster --n 64 --end 0.5",
        "cluster --model burrau --order 8 --end 1",
        "cluster --model king --n 64 --scheme ahmad-cohen --end 0.25",
        "divergence --size 12 --steps 20000 --out a.png",
        "divergence --size 12 --steps 4500 --dt 0.004 --integrator leapfrog --out a.png",
        "divergence --plane yz --body 3 --masses 20,0,20 --softening 0.05 --size 12 --steps 9000 --out a.png",
        "compare --size 8 --steps 5000",
    ] {
        assert_eq!(
            warnings(&json(folder.path(), arguments)),
            Vec::<String>::new(),
            "{arguments}"
        );
    }
}

#[test]
fn an_energy_error_above_the_limit_is_a_failure_after_all_files_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let kepler = "nbody --model kepler --eccentricity 0.9 --integrator velocity-verlet --dt 0.01 --steps 500";
    let words = ["relative error of the energy is ", "--max-error 0.0001"];
    fails(
        folder.path(),
        1,
        &format!("{kepler} --max-error 1e-4 --out end.csv --series s.csv"),
        &words,
        &["end.csv", "s.csv"],
    );
    fails(
        folder.path(),
        1,
        &format!("{kepler} --max-error 1e-4 --quiet"),
        &words,
        &[],
    );
    summary(folder.path(), &format!("{kepler} --max-error 100"));
    let cluster = "cluster --n 16 --eta 10 --end 1 --max-error";
    fails(
        folder.path(),
        1,
        &format!("{cluster} 1e-300 --out c.txt --quiet"),
        &["--max-error 0.00000"],
        &["c.txt"],
    );
    summary(folder.path(), &format!("{cluster} 1e9"));
    // The limit is in a configuration file, which the command line overrides.
    std::fs::write(folder.path().join("run.toml"), "max_error = 1e-4\n").unwrap();
    let configured = format!("{kepler} --config run.toml");
    fails(folder.path(), 1, &configured, &words, &[]);
    summary(folder.path(), &format!("{configured} --max-error 100"));
    // Values that are not allowed as a limit.
    for command in [kepler, "cluster --n 16", "divergence --size 4 --steps 9"] {
        for bad in ["-1", "nan", "inf", "x"] {
            let arguments = format!("{command} --max-error {bad}");
            fails(folder.path(), 2, &arguments, &["--max-error"], &[]);
        }
    }
    let arguments = format!("{kepler} --max-error 1 --energy none");
    fails(
        folder.path(),
        2,
        &arguments,
        &["max-error", "--energy none"],
        &[],
    );
}

#[test]
fn an_energy_error_that_is_not_evaluated_is_reported_as_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let kepler = "nbody --model kepler --eccentricity 0.99 --dt 0.01 --steps 500 --energy none";
    let said = summary(folder.path(), kepler);
    assert!(
        said.contains("note the energy error is not known: --energy none"),
        "{said}"
    );
    let object = json(folder.path(), kepler);
    assert!(object["energy_error"].is_null() && object["largest_energy_error"].is_null());
    assert!(object["notes"].to_string().contains("--energy none"));
    // A series requires the energy anyway.
    let object = json(folder.path(), &format!("{kepler} --series s.csv"));
    assert!(object["largest_energy_error"].as_f64().unwrap() > 1.0);
}

/// Body 2 moves by 7e306 per step: after 26 steps, its coordinate exceeds the largest number.
#[test]
fn nan_coordinates_are_a_failure_that_names_the_step_and_the_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let bodies = "1 0 0 0 0 0 0\n1 3 0 0 7e306 0 0\n1 0 5 0 0 0 0\n";
    std::fs::write(folder.path().join("away.txt"), bodies).unwrap();
    // If forces are evaluated after the coordinates change, the velocities of the other bodies become NaN in the same step.
    for (integrator, lost) in [
        ("explicit-euler", "body 2 are no longer finite numbers"),
        (
            "velocity-verlet",
            "bodies 1, 2, 3 are no longer finite numbers",
        ),
    ] {
        for every in ["1", "7", "25", "100"] {
            for energy in ["--energy none", "--quiet", "--energy none --json"] {
                let arguments = format!(
                    "nbody --input away.txt --g 1 --dt 1 --steps 100 --integrator {integrator} --every {every} {energy}"
                );
                let step = format!("step 26 (time 26): coordinates or velocities of {lost}");
                fails(folder.path(), 1, &arguments, &[&step], &[]);
            }
        }
        let before = format!(
            "nbody --input away.txt --g 1 --dt 1 --steps 25 --integrator {integrator} --energy none"
        );
        summary(folder.path(), &before);
    }
}

#[test]
fn a_nan_energy_is_a_failure_that_names_the_closest_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let bodies = "1 0 0 0 0 0 0\n1 1 0 0 1e200 0 0\n1 0 5 0 0 0 0\n";
    std::fs::write(folder.path().join("fast.txt"), bodies).unwrap();
    for command in ["nbody --g 1 --dt 1e-3 --steps 10", "cluster"] {
        let arguments = format!("{command} --input fast.txt");
        let words = [
            "time 0",
            "energy is NaN",
            "1 and 2, at a distance of 1.000e0",
        ];
        fails(folder.path(), 1, &arguments, &words, &[]);
    }
}

#[test]
fn bodies_whose_pull_cannot_be_computed_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for apart in ["1e-160", "1e-170", "1e-320"] {
        let bodies = format!("1 0 0 0 0 0 0\n1 {apart} 0 0 0 0 0\n1 5 0 0 0 0 0\n");
        std::fs::write(folder.path().join("close.txt"), bodies).unwrap();
        for command in ["nbody --g 1 --dt 1e-3 --steps 10", "cluster --softening 0"] {
            let arguments = format!("{command} --input close.txt --quiet");
            fails(folder.path(), 2, &arguments, &["1 and 2", "apart"], &[]);
        }
        // With softening, the pull can be computed.
        summary(
            folder.path(),
            "nbody --g 1 --dt 1e-3 --steps 10 --input close.txt --softening 0.1",
        );
    }
    // A body of mass 0 exerts no pull.
    let bodies = "0 0 0 0 0 0 0\n0 1e-200 0 0 0 0 0\n1 5 0 0 0 0 0\n";
    std::fs::write(folder.path().join("tests.txt"), bodies).unwrap();
    summary(
        folder.path(),
        "nbody --input tests.txt --g 1 --dt 1e-3 --steps 10",
    );
}

#[test]
fn a_resumed_run_includes_the_earlier_error() {
    let folder = tempfile::tempdir().unwrap();
    for (name, outputs) in [("a.npz", ""), ("b.npz", "--series s.npz")] {
        let kepler = format!(
            "nbody --model kepler --eccentricity 0.99 --dt 0.01 --checkpoint {name} {outputs}"
        );
        let before = json(folder.path(), &format!("{kepler} --steps 400"));
        let resume = format!("nbody --resume {name} --steps 500");
        let resumed = json(folder.path(), &resume);
        assert_eq!(resumed["start_energy"], before["start_energy"], "{name}");
        let error = |run: &Value, key: &str| run[key].as_f64().unwrap();
        assert!(error(&resumed, "energy_error") > 1.0, "{resumed}");
        if !outputs.is_empty() {
            // The series contains the closest approach, at which the error was largest.
            let (was, is) = (
                error(&before, "largest_energy_error"),
                error(&resumed, "largest_energy_error"),
            );
            assert!(is >= was && is > error(&resumed, "energy_error"), "{is}");
        }
        // That of the energy, and that of the positions.
        assert_eq!(warnings(&resumed).len(), 2);
        let arguments = format!("{resume} --max-error 0.01");
        fails(folder.path(), 1, &arguments, &["--max-error 0.01"], &[]);
    }
}

const NONSENSE: &str = "--size 12 --dt 10 --steps 100 --backend cpu";

#[test]
fn every_command_warns_of_maps_whose_step_is_too_long() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("points.txt"),
        "1 2 -11\n3 4 -11\n5 6 -11\n",
    )
    .unwrap();
    for (command, key) in [
        (format!("divergence {NONSENSE} --out a.png"), "/unresolved"),
        (
            format!("divergence {NONSENSE} --stream --out b.npy"),
            "/unresolved",
        ),
        (
            "divergence --points points.txt --dt 10 --steps 100 --out p.npz".into(),
            "/unresolved",
        ),
        (
            format!("compare {NONSENSE} --modes exact,f32"),
            "/modes/1/unresolved",
        ),
        (
            format!("zoom --preset none --frames 2 {NONSENSE} --out z"),
            "/maps/1/unresolved",
        ),
        (
            format!("zoom --preset none --cache rounded --frames 2 {NONSENSE} --out y"),
            "/maps/1/unresolved",
        ),
        (
            format!("sweep --vary mass2=5,20 {NONSENSE} --out s"),
            "/maps/1/unresolved",
        ),
    ] {
        let said = summary(folder.path(), &command);
        let words = ["warning", "time step is too long for 100.0 %"];
        assert!(words.iter().all(|w| said.contains(w)), "{command}: {said}");
        // A second run of a sequence finds the frames of the first.
        let object = json(folder.path(), &command);
        let found = object.pointer(key);
        let found = found.unwrap_or_else(|| panic!("{command}: {object}"));
        assert_eq!(found["share"], 1.0, "{command}");
        assert_eq!(found["sample"], found["unresolved"], "{command}");
        let said = warnings(&object).join("\n");
        assert!(said.contains("too long for 100.0 %"), "{command}: {said}");
    }
}

#[test]
fn more_unresolved_pixels_than_the_limit_are_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.toml"), "max_error = 0.5\n").unwrap();
    let points = "1 2 -11\n3 4 -11\n5 6 -11\n";
    std::fs::write(folder.path().join("points.txt"), points).unwrap();
    for (command, files) in [
        (format!("divergence {NONSENSE} --out a.png"), &["a.png"][..]),
        (
            format!("divergence {NONSENSE} --stream --out b.npy"),
            &["b.npy"],
        ),
        (
            "divergence --points points.txt --dt 10 --steps 100 --out p.npz".into(),
            &["p.npz"],
        ),
        (format!("compare {NONSENSE} --modes exact,f32"), &[]),
        (
            format!("zoom --preset none --frames 2 {NONSENSE} --out z"),
            &["z"],
        ),
        (
            format!("sweep --vary mass2=5,20 {NONSENSE} --out s"),
            &["s"],
        ),
    ] {
        let words = ["unresolved", "100.0 %", "--max-error 0.5"];
        for how in ["--max-error 0.5", "--config m.toml"] {
            let arguments = format!("{command} {how}");
            fails(folder.path(), 1, &arguments, &words, files);
        }
        summary(folder.path(), &format!("{command} --max-error 1"));
    }
    let saved = format!("divergence {NONSENSE} --max-error 0.25 --save-config saved.toml --quiet");
    fails(
        folder.path(),
        1,
        &format!("{saved} --out c.png"),
        &["--max-error 0.25"],
        &["saved.toml", "c.png"],
    );
    fails(
        folder.path(),
        1,
        "divergence --config saved.toml --out d.png",
        &["--max-error 0.25"],
        &["d.png"],
    );
}

/// The sampled pixels do not depend on the devices, the precision or the threads.
#[test]
fn the_share_of_unresolved_pixels_is_the_same_however_the_map_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    let map = "divergence --size 40x30 --dt 0.5 --steps 200 --backend cpu --out a.npy";
    let known = json(folder.path(), map)["unresolved"].clone();
    let share = known["share"].as_f64().unwrap();
    assert!(share > 0.1 && share < 1.0, "{known}");
    for how in ["--threads 1", "--precision f32", "--stream --out b.npy"] {
        let object = json(folder.path(), &format!("{map} {how}"));
        assert_eq!(object["unresolved"], known, "{how}");
    }
}

/// A map says which share of its values the step decides, however it is computed, and that share is what `--max-error` asks for.
#[test]
fn a_map_says_which_share_of_its_values_the_step_decides() {
    let folder = tempfile::tempdir().unwrap();
    let headline = "divergence --size 40 --backend cpu --out a.npy";
    let object = json(folder.path(), headline);
    let known = object["step_check"].clone();
    let share = known["share"].as_f64().unwrap();
    // Most times of parting of the headline map are wrong (docs/larger-steps.md), though nearly all of its pixels are resolved.
    assert!(share > 0.5, "{known}");
    assert_eq!(object["errors"]["changed"], known["share"]);
    let rounding = object["rounding_check"].clone();
    assert!(rounding["compared"].as_u64().unwrap() > 0, "{rounding}");
    assert_eq!(rounding["changed"], 0, "{rounding}");
    for how in ["--threads 1", "--stream --out b.npy"] {
        let object = json(folder.path(), &format!("{headline} {how}"));
        assert_eq!(object["step_check"], known, "{how}");
        assert_eq!(object["rounding_check"], rounding, "{how}");
    }
    fails(
        folder.path(),
        1,
        "divergence --size 40 --backend cpu --out c.npy --max-error 0.5",
        &["change by more than 5 %", "--max-error 0.5"],
        &["c.npy"],
    );
    let accurate =
        "divergence --preset accurate --size 40 --backend cpu --out d.npy --max-error 0.1";
    assert!(summary(folder.path(), accurate).contains("step check"));
    assert!(
        json(folder.path(), accurate)["step_check"]["share"]
            .as_f64()
            .unwrap()
            < 0.1
    );
}

/// A certified map has a verdict on each pixel in its arrays, a second picture, and the shares in summary and JSON.
#[test]
fn a_certified_map_has_verdicts_in_its_files_and_their_shares_in_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let command = "divergence --size 12x9 --dt 0.01 --steps 4000 --certify --backend cpu";
    let object = json(
        folder.path(),
        &format!("{command} --out a.npz --out a.png --out b.npy"),
    );
    let shares = object["certificate"]["verdicts"].as_array().unwrap();
    let count = |verdict: &Value| verdict["count"].as_u64().unwrap();
    assert_eq!(shares.iter().map(count).sum::<u64>(), 12 * 9);
    assert_eq!(object["step_check"]["sample"], 12 * 9);
    assert_eq!(
        names(folder.path()),
        ["a-verdict.png", "a.npz", "a.png", "b.npy"]
    );
    let files: Vec<&str> = object["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(files.contains(&"a-verdict.png"), "{files:?}");
    let npz = fs::File::open(folder.path().join("a.npz")).unwrap();
    let mut npz = zip::ZipArchive::new(npz).unwrap();
    let mut array = Vec::new();
    std::io::Read::read_to_end(&mut npz.by_name("verdict.npy").unwrap(), &mut array).unwrap();
    let of_pixels = &array[array.len() - 12 * 9..];
    for (number, verdict) in shares.iter().enumerate() {
        let there = of_pixels.iter().filter(|v| usize::from(**v) == number);
        assert_eq!(there.count() as u64, count(verdict), "{verdict}");
    }
    let said = summary(folder.path(), &format!("{command} --out a.npz"));
    for word in ["agrees", "undecided", "predicted", "95 % interval"] {
        assert!(said.contains(word), "{said}");
    }
    // The values of a streamed map are not in memory.
    for other in ["--stream", "--resume", "--part 1/2"] {
        let refused = format!("{command} --out c.npy {other}");
        fails(folder.path(), 2, &refused, &["--certify"], &[]);
    }
    // A picture that would replace another file of the run is refused.
    let twice = format!("{command} --out a.png --out a-verdict.png");
    fails(folder.path(), 2, &twice, &["a-verdict.png"], &[]);
}

/// A binary that is attracted by nothing else, at rest and moving at 1000 times its own speed.
#[test]
fn a_system_that_moves_has_the_energy_error_that_it_has_at_rest() {
    let folder = tempfile::tempdir().unwrap();
    for (name, speed) in [("rest", 0.0), ("moving", 1000.0)] {
        let text = format!(
            "a 1 0.5 0 0 {speed} {} 0\nb 1 -0.5 0 0 {speed} {} 0\n",
            speed + 0.5,
            speed - 0.5
        );
        fs::write(folder.path().join(format!("{name}.txt")), text).unwrap();
    }
    for command in [
        "nbody --g 1 --dt 0.2 --end 10 --input",
        "nbody --g 1 --dt 0.05 --end 10 --series s.csv --input",
        "cluster --softening 0 --eta 2 --eta-start 1 --max-step 0.5 --end 10 --every 2 --input",
    ] {
        let [rest, moving] = ["rest", "moving"].map(|name| {
            let object = json(folder.path(), &format!("{command} {name}.txt"));
            (
                object["largest_energy_error"].as_f64().unwrap(),
                warnings(&object).len(),
            )
        });
        assert!(
            (moving.0 / rest.0 - 1.0).abs() < 0.01,
            "{command}: {rest:?} {moving:?}"
        );
        assert_eq!(rest.1, moving.1, "{command}");
    }
}

/// Bodies that the energy does not show: light ones, and test bodies.
#[test]
fn a_body_that_the_steps_lose_is_named_although_the_energy_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let text = "a 1 0 0 0 0 0 0\nb 0 1.99 0 0 0 0.0708881205 0\n";
    fs::write(folder.path().join("thrown.txt"), text).unwrap();
    let mut ring = String::from("sun 1 0 0 0 0 0 0\n");
    for k in 0..20 {
        let (x, v) = (1.0 + f64::from(k), (1.0 + f64::from(k)).sqrt().recip());
        ring += &format!("asteroid{k} 0 {x} 0 0 0 {v} 0\n");
    }
    fs::write(folder.path().join("ring.txt"), ring).unwrap();
    for (command, named) in [
        (
            "nbody --input thrown.txt --dt 0.01 --steps 2000",
            "b (a test body)",
        ),
        (
            "nbody --model solar-system --integrator velocity-verlet --dt 1 --end 365",
            "Mercury",
        ),
        (
            "nbody --input ring.txt --g 1 --dt 0.1 --end 60",
            "asteroid0 (a test body)",
        ),
        (
            "cluster --input thrown.txt --softening 0 --order 4 --eta 2 --max-step 1 --end 60 --every 20",
            "b (a test body)",
        ),
    ] {
        let object = json(folder.path(), command);
        assert!(
            object["largest_energy_error"].as_f64().unwrap().abs() < 1e-6,
            "{command}"
        );
        assert!(
            object["errors"]["displacement"].as_f64().unwrap() > 0.01,
            "{command}"
        );
        let said = warnings(&object).join("\n");
        assert!(
            said.contains(&format!("displace {named} by")),
            "{command}: {said}"
        );
        let arguments = format!("{command} --max-error 1e-3 --quiet");
        fails(
            folder.path(),
            1,
            &arguments,
            &[named, "--max-error 0.001"],
            &[],
        );
    }
    for command in [
        "nbody --input ring.txt --g 1 --dt 0.005 --end 60",
        "nbody --model solar-system --end 365 --max-error 1e-6",
        "cluster --input thrown.txt --softening 0 --end 20 --every 5 --max-error 1e-3",
    ] {
        let object = json(folder.path(), command);
        assert!(
            object["errors"]["displacement"].as_f64().unwrap() < 0.01,
            "{command}"
        );
        assert_eq!(warnings(&object), Vec::<String>::new(), "{command}");
    }
}
