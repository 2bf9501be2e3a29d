//! `trisolar sweep` computes a map for each value, a contact sheet and a table.

use crate::support;

use std::collections::BTreeMap;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use serde_json::Value;
use trisolar::divergence::{Backend, RunOptions, Specification, Unattended, run as compute};
use trisolar::io::npy;

fn sweep(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = support::trisolar(directory);
    let base = [
        "--backend",
        "cpu",
        "--size",
        "16",
        "--steps",
        "300",
        "--dt",
        "0.02",
    ];
    command
        .args(["sweep", "--critical-distance", "0.01"])
        .args(support::overriding(&base, arguments));
    command
}

#[test]
fn each_value_has_the_map_that_divergence_computes_and_a_line_in_the_tables() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let output = sweep(path, &["--vary", "mass2=10:40:4", "--json"])
        .output()
        .expect("runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let csv = std::fs::read_to_string(path.join("sweep/table.csv")).expect("there");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "frame,mass2,pixels,steps,pixel_steps,never_parted,shortest,mean"
    );
    assert_eq!(lines.len(), 5);
    for (i, mass) in [10.0, 20.0, 30.0, 40.0].into_iter().enumerate() {
        let spec = Specification {
            size: [16, 16],
            steps: 300,
            dt: 0.02,
            critical_distance: 0.01,
            masses: [10.0, mass, 30.0],
            ..Specification::default()
        };
        let options = RunOptions {
            backend: Backend::Cpu,
            threads: Some(1),
            ..RunOptions::default()
        };
        let map =
            compute(&spec.validate().expect("valid"), &options, &Unattended).expect("computes");
        let file = path.join(format!("sweep/frame-{i:05}.npy"));
        assert_eq!(
            npy::read::<u32>(file).expect("there").values,
            map.steps_together()
        );
        assert!(path.join(format!("sweep/frame-{i:05}.png")).exists());
        assert_eq!(object["maps"][i]["pixel_steps"], map.statistics.pixel_steps);
        assert!(lines[i + 1].starts_with(&format!(
            "{i},{mass},256,300,{},",
            map.statistics.pixel_steps
        )));
    }
    let table = std::fs::read(path.join("sweep/table.json")).expect("there");
    let table: Value = serde_json::from_slice(&table).expect("JSON");
    assert_eq!(
        (&table["parameter"], &table["maps"]),
        (&"mass2".into(), &object["maps"])
    );
    let sheet = std::fs::read(path.join("sweep/sheet.png")).expect("there");
    let side = |at: usize| u32::from_be_bytes(sheet[at..at + 4].try_into().expect("four"));
    assert!(
        side(16) > 2 * 260 && side(20) > 260,
        "{} {}",
        side(16),
        side(20)
    );
}

#[test]
fn values_are_spaced_linearly_or_logarithmically_or_listed() {
    let directory = tempfile::tempdir().expect("a folder");
    for (vary, values) in [
        ("shift=1e-4:1e-2:3:log", [1e-4, 1e-3, 1e-2]),
        ("x2=-1:1:3", [-1.0, 0.0, 1.0]),
        ("steps=100,300,200", [100.0, 300.0, 200.0]),
    ] {
        let output = sweep(
            directory.path(),
            &["--vary", vary, "--json", "--restart", "--bare"],
        )
        .output()
        .expect("runs");
        let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for (i, value) in values.into_iter().enumerate() {
            let set = &object["maps"][i]["set"][0];
            let got = set["value"].as_f64().expect("a number");
            assert!(
                (got / value - 1.0).abs() < 1e-12 || got == value,
                "{vary}: {got}"
            );
        }
    }
}

#[test]
fn a_sweep_resumes_and_reports_finished_maps() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let arguments = ["--vary", "g=8,9,10"];
    sweep(path, &arguments)
        .assert()
        .success()
        .stdout(predicate::str::contains("sheet.png"));
    let sheet = std::fs::read(path.join("sweep/sheet.png")).expect("there");
    std::fs::remove_file(path.join("sweep/frame-00001.json")).expect("there");
    sweep(path, &arguments)
        .assert()
        .success()
        .stdout(predicate::str::contains("2 finished before"));
    assert!(std::fs::read(path.join("sweep/sheet.png")).expect("there") == sheet);
    sweep(path, &["--vary", "g=8,9"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("--restart"));
}

/// Width and height of a picture.
fn size_of(picture: &Path) -> [u32; 2] {
    let bytes = std::fs::read(picture).expect("there");
    [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four")))
}

#[test]
fn two_parameters_give_a_matrix_of_all_pairs_of_their_values() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let arguments = ["--vary", "mass2=10:30:3", "--vary", "dt=0.01,0.02"];
    let output = sweep(path, &arguments)
        .arg("--json")
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let pairs = [10.0, 20.0, 30.0].map(|mass| [0.01, 0.02].map(|dt| (mass, dt)));
    let csv = std::fs::read_to_string(path.join("sweep/table.csv")).expect("there");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("frame,mass2,dt,pixels"),
        "{}",
        lines[0]
    );
    assert_eq!(lines.len(), 7);
    for (n, (mass, dt)) in pairs.into_iter().flatten().enumerate() {
        // The map equals that of `divergence` for this pair; its file name contains both values.
        let name = format!("frame-{n:05}_mass2={mass}_dt={dt}");
        let spec = Specification {
            size: [16, 16],
            steps: 300,
            dt,
            critical_distance: 0.01,
            masses: [10.0, mass, 30.0],
            ..Specification::default()
        };
        let options = RunOptions {
            backend: Backend::Cpu,
            threads: Some(1),
            ..RunOptions::default()
        };
        let map =
            compute(&spec.validate().expect("valid"), &options, &Unattended).expect("computes");
        let file = path.join(format!("sweep/{name}.npy"));
        assert!(
            npy::read::<u32>(file).expect("there").values == map.steps_together(),
            "{name}"
        );
        for extension in ["png", "json"] {
            assert!(
                path.join(format!("sweep/{name}.{extension}")).exists(),
                "{name}"
            );
        }
        let expected = serde_json::json!([
            {"name": "mass2", "value": mass}, {"name": "dt", "value": dt}
        ]);
        assert_eq!(object["maps"][n]["set"], expected);
        assert!(
            lines[n + 1].starts_with(&format!("{n},{mass},{dt},256,")),
            "{}",
            lines[n + 1]
        );
    }
    let table = std::fs::read(path.join("sweep/table.json")).expect("there");
    let table: Value = serde_json::from_slice(&table).expect("JSON");
    let expected = serde_json::json!([
        {"name": "mass2", "values": [10.0, 20.0, 30.0]}, {"name": "dt", "values": [0.01, 0.02]}
    ]);
    assert_eq!(
        (&table["parameters"], &table["maps"]),
        (&expected, &object["maps"])
    );
    // The sheet has three rows of two maps, because the first parameter varies from row to row; the swapped arrangement has a
    // different shape.
    let [width, height] = size_of(&path.join("sweep/sheet.png"));
    assert!(width > 2 * 260 && width < 3 * 260 + 100, "{width}");
    assert!(height > 3 * 260 && height < 4 * 260, "{height}");

    // An interrupted sweep resumes to the same bytes.
    let before = support::contents(&path.join("sweep"));
    assert_eq!(before.len(), 3 * 6 + 4);
    for name in [
        "frame-00002_mass2=20_dt=0.01.json",
        "frame-00005_mass2=30_dt=0.02.npy",
    ] {
        std::fs::remove_file(path.join("sweep").join(name)).expect("there");
    }
    sweep(path, &arguments)
        .assert()
        .success()
        .stdout(predicate::str::contains("4 finished before"))
        .stdout(predicate::str::contains("mass2"))
        .stdout(predicate::str::contains("dt"));
    assert!(support::contents(&path.join("sweep")) == before);
    // A sweep with rows and columns exchanged is a different sweep, and a new one leaves no files of the old one.
    let exchanged = ["--vary", "dt=0.01,0.02", "--vary", "mass2=10:30:3"];
    sweep(path, &exchanged)
        .assert()
        .code(2)
        .stderr(predicate::str::contains("--restart"));
    sweep(path, &exchanged).arg("--restart").assert().success();
    assert_eq!(support::names(&path.join("sweep")).len(), before.len());
    sweep(path, &["--vary", "dt=0.01", "--restart"])
        .assert()
        .success();
    assert_eq!(support::names(&path.join("sweep")).len(), 3 + 4);
}

#[test]
fn frames_and_sheet_have_the_format_and_direction_that_is_wanted() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let run = |more: &str| {
        let mut command = sweep(path, &["--vary", "g=1,2", "--quantity", "ftle", "--json"]);
        let output = command
            .args(more.split_whitespace())
            .output()
            .expect("runs");
        assert!(output.status.success(), "{more}");
        let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        {
            let contents = support::contents(&path.join("sweep"));
            let contents: BTreeMap<String, Vec<u8>> = contents.into_iter().collect();
            (object["computed"].clone(), contents)
        }
    };
    let (computed, usual) = run("");
    assert_eq!(computed, 2);
    for (more, same) in [("--y-axis down", false), ("--y-axis up", true), ("", true)] {
        let (computed, found) = run(more);
        assert_eq!(computed, 0, "{more}");
        for name in ["frame-00001.png", "sheet.png"] {
            assert_eq!(found[name] == usual[name], same, "{more} {name}");
        }
    }
    let (computed, found) = run("--plot-format pdf");
    assert_eq!(computed, 0);
    for name in ["frame-00000.pdf", "frame-00001.pdf", "sheet.pdf"] {
        assert!(found[name].starts_with(b"%PDF"), "{name}");
    }
    // The old pictures go.
    for name in ["frame-00000.png", "sheet.png"] {
        assert!(!found.contains_key(name), "{name}");
    }
    // Pictures without axes remain pixels, and the sheet has the format.
    let (_, found) = run("--plot-format svg --bare");
    assert!(found.contains_key("frame-00000.png") && found.contains_key("sheet.svg"));
}

#[test]
fn the_sheet_says_if_values_lie_beyond_the_ends_of_its_bar() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    // The colours of exponents leave out half a percent of the pixels at either end, those of distances none.
    for (quantity, beyond) in [("ftle", true), ("closest-approach", false)] {
        let words = format!(
            "--quantity {quantity} --integrator leapfrog --vary mass2=10,20 --plot-format svg --out {quantity} -q"
        );
        sweep(path, &words.split(' ').collect::<Vec<_>>())
            .assert()
            .success();
        for name in ["sheet.svg", "frame-00001.svg"] {
            let text = std::fs::read_to_string(path.join(quantity).join(name)).expect("a picture");
            assert_eq!(text.contains("beyond"), beyond, "{quantity} {name}");
        }
    }
}

#[test]
fn a_sheet_of_another_format_goes_unless_somebody_else_changed_it() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let notes = |more: &[&str]| {
        let mut command = sweep(path, &["--vary", "g=1,2", "--json"]);
        let output = command.args(more).output().expect("runs");
        assert!(output.status.success(), "{more:?}");
        let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        object["notes"].to_string()
    };
    let sheets = || -> Vec<String> {
        let mut names = support::names(&path.join("sweep"));
        names.retain(|name| name.starts_with("sheet."));
        names
    };
    let format = |format| ["--plot-format", format];
    for (name, formats) in [
        ("sheet.svg", &["svg"][..]),
        ("sheet.png", &["pdf", "png"]),
        ("sheet.svg", &["svg"]),
    ] {
        for wanted in formats {
            assert!(!notes(&format(wanted)).contains("sheet."));
        }
        assert_eq!(sheets(), [name]);
    }
    let svg = path.join("sweep/sheet.svg");
    std::fs::write(&svg, "a drawing of mine").expect("writes");
    let said = notes(&format("pdf"));
    assert!(said.contains("sheet.svg may differ from"), "{said}");
    assert_eq!(sheets(), ["sheet.pdf", "sheet.svg"]);
    let kept = std::fs::read(&svg).expect("there");
    assert_eq!(kept, b"a drawing of mine");
    // --resume knows what was written, too.
    support::trisolar(path)
        .args(["sweep", "--resume", "sweep", "--quiet"])
        .assert()
        .success();
    assert_eq!(sheets(), ["sheet.pdf", "sheet.svg"]);
}

#[test]
fn maps_without_parting_are_said_on_the_sheet_and_in_the_summary() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    for (vary, place, count) in [
        ("steps=2,300", "in 1 of 2 maps", 2),
        ("steps=2,3", "in any map", 3),
        ("steps=300,400", "", 0),
    ] {
        let folder = path.join(vary);
        let out = folder.to_str().expect("a name");
        let arguments = ["--vary", vary, "--plot-format", "svg", "--out", out];
        let output = sweep(path, &arguments).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
        let words: Vec<&str> = said.split_whitespace().collect();
        let said = words.join(" ");
        let advice = format!("no twins parted {place}, so that");
        assert_eq!(said.contains(&advice), count > 0, "{vary}: {said}");
        assert_eq!(said.contains("more --steps"), count > 0, "{vary}: {said}");
        let svg = std::fs::read_to_string(folder.join("sheet.svg")).expect("there");
        // In the title, and on each of these maps.
        assert_eq!(svg.matches("no twins parted").count(), count, "{vary}");
        let title = format!("no twins parted {place}<");
        assert_eq!(svg.contains(&title), count > 0, "{vary}");
    }
}

#[test]
fn invalid_matrices_are_rejected() {
    let directory = tempfile::tempdir().expect("a folder");
    for (vary, words) in [
        (
            &["dt=0.01,0.02", "dt=0.03,0.04"][..],
            &["'dt' for '--vary'", "varied twice"][..],
        ),
        (
            &["dt=0.01", "g=1", "mass2=3"],
            &["'mass2' for '--vary'", "rows and columns"],
        ),
        (
            &["dt=1:2:101", "g=1:2:100"],
            &["10100 maps", "at most 10000"],
        ),
        // The message names the invalid value of the pair.
        (
            &["mass2=1,-1", "dt=0.01,0.02"],
            &["'mass2=-1' for '--vary'", "at least 0"],
        ),
        (
            &["mass2=1,2", "dt=0.01,-1"],
            &["'dt=-1' for '--vary'", "above 0"],
        ),
    ] {
        let mut arguments = Vec::new();
        vary.iter().for_each(|v| arguments.extend(["--vary", v]));
        let output = sweep(directory.path(), &arguments).output().expect("runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{vary:?}: {message}");
        for word in words {
            assert!(
                message.contains(word),
                "{vary:?}: {word} is not in {message}"
            );
        }
    }
    assert!(support::names(directory.path()).is_empty());
}

#[test]
fn bad_input_is_rejected_before_anything_is_written() {
    let directory = tempfile::tempdir().expect("a folder");
    for (vary, words) in [
        ("mass9=1,2", &["mass9", "mass1 to mass3"][..]),
        ("mass2", &["FROM:TO:COUNT"]),
        ("mass2=1,x", &["'x' is not a number"]),
        ("mass2=1:2", &["FROM:TO:COUNT"]),
        ("mass2=1:2:1", &["COUNT"]),
        ("mass2=1:2:3:lin", &["FROM:TO:COUNT:log"]),
        ("shift=0:1:3:log", &["above 0"]),
        ("mass2=1,-1", &["mass2=-1", "--vary", "at least 0"]),
        ("steps=1,0", &["steps=0", "4294967294"]),
    ] {
        let output = sweep(directory.path(), &["--vary", vary])
            .output()
            .expect("runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{vary}: {message}");
        for word in words {
            assert!(message.contains(word), "{vary}: {word} is not in {message}");
        }
    }
    sweep(directory.path(), &[])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("--vary"));
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("reads").count(),
        0
    );
}

/// The metadata of all maps of a sequence: of the store, which has those of the arrays.
fn dataset(folder: &Path) -> Value {
    let file = std::fs::File::open(folder.join("maps.zarr.zip")).expect("the maps");
    let mut zip = zip::ZipArchive::new(file).expect("a zip");
    let member = zip.by_name("zarr.json").expect("metadata");
    serde_json::from_reader(member).expect("JSON")
}

/// Dimensions with their lengths, of an array of a dataset.
fn dimensions(store: &Value, array: &str) -> Vec<(String, u64)> {
    let about = &store["consolidated_metadata"]["metadata"][array];
    let [names, lengths] = [&about["dimension_names"], &about["shape"]];
    let [names, lengths] = [names, lengths].map(|list| list.as_array().expect("a list"));
    let name = |name: &Value| name.as_str().expect("a name").to_owned();
    let length = |length: &Value| length.as_u64().expect("a length");
    let both = names.iter().map(name).zip(lengths.iter().map(length));
    both.collect()
}

#[test]
fn all_maps_are_one_dataset_which_is_kept_up_to_date() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let is = |found: Vec<(String, u64)>, wanted: &[(&str, u64)]| {
        let wanted: Vec<(String, u64)> =
            (wanted.iter().map(|(name, n)| ((*name).into(), *n))).collect();
        assert_eq!(found, wanted);
    };
    // The maps move with the span, and only with it.
    let words = "--vary mass2=10,20 --vary span=4,2,1 --size 7x5 --out m --json --zarr";
    let output = sweep(path, &words.split(' ').collect::<Vec<_>>())
        .output()
        .expect("runs");
    let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let files = object["files"].as_array().expect("files");
    assert!(files.contains(&Value::from("m/maps.zarr.zip")), "{object}");
    let store = dataset(&path.join("m"));
    let maps = [("mass2", 2), ("span", 3), ("row", 5), ("column", 7)];
    is(dimensions(&store, "divergence"), &maps);
    is(dimensions(&store, "x"), &[("span", 3), ("column", 7)]);
    is(dimensions(&store, "y"), &[("span", 3), ("row", 5)]);
    let about = &store["consolidated_metadata"]["metadata"];
    assert_eq!(about["span"]["attributes"]["units"], "length");
    assert_eq!(about["divergence"]["attributes"]["coordinates"], "y x");

    // More values, without the option: the dataset has them as well. Nothing is left of it after --restart.
    sweep(path, &["--vary", "mass2=10,20", "--zarr", "-q"])
        .assert()
        .success();
    sweep(path, &["--vary", "mass2=10,20,30", "-q"])
        .assert()
        .success();
    let store = dataset(&path.join("sweep"));
    is(
        dimensions(&store, "divergence"),
        &[("mass2", 3), ("y", 16), ("x", 16)],
    );
    sweep(path, &["--vary", "mass2=5,20", "-q", "--restart"])
        .assert()
        .success();
    assert!(!path.join("sweep/maps.zarr.zip").exists());
    // It can be wanted afterwards, too.
    support::trisolar(path)
        .args(["sweep", "--resume", "sweep", "--zarr", "-q"])
        .assert()
        .success();
    assert!(path.join("sweep/maps.zarr.zip").exists());
}

#[test]
fn the_maps_of_a_zoom_are_one_dataset_if_it_has_arrays() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let zoom = "zoom --frames 3 --size 6x4 --steps 20 --backend cpu -q --zarr";
    support::trisolar(path)
        .args(zoom.split(' '))
        .assert()
        .code(2)
        .stderr(predicate::str::contains("add --npy"));
    assert!(!path.join("zoom").exists());
    support::trisolar(path)
        .args(zoom.split(' ').chain(["--npy"]))
        .assert()
        .success();
    let store = dataset(&path.join("zoom"));
    let frames = |name| ("frame".to_owned(), dimensions(&store, name));
    for (name, lengths) in [
        ("divergence", &[3, 4, 6][..]),
        ("x", &[3, 6]),
        ("specification", &[3]),
    ] {
        let (first, found) = frames(name);
        assert_eq!(found[0].0, first);
        let found: Vec<u64> = found.iter().map(|(_, length)| *length).collect();
        assert_eq!(found, lengths, "{name}");
    }
}
