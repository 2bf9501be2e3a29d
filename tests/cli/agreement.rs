//! What commands have in common: names of options, forms of numbers, files, reports, and help.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use trisolar::bodies::Model;
use trisolar::io::npz::NpzReader;

fn trisolar(folder: &Path, words: &str) -> Command {
    let mut command = Command::cargo_bin("trisolar").expect("the binary is built with the tests");
    command.current_dir(folder).args(words.split_whitespace());
    command
}

fn stdout(folder: &Path, words: &str) -> String {
    let output = trisolar(folder, words).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(folder: &Path, words: &str) -> Value {
    serde_json::from_str(&stdout(folder, &format!("{words} --json"))).expect("one JSON object")
}

/// Checks a value by the keywords of JSON Schema that the schema of reports uses.
pub(crate) fn check(value: &Value, schema: &Value, place: &str) {
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("{place}: unknown type {other}"),
    };
    match &schema["type"] {
        Value::String(kind) => assert!(is(kind), "{place} is not {kind}: {value}"),
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            assert!(kinds.any(is), "{place}: {value}");
        }
        _ => {}
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        let key = key.as_str().expect("a name");
        assert!(value.get(key).is_some(), "{place} has no {key}");
    }
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = value.get(key) {
            check(value, inner, &format!("{place}.{key}"));
        }
    }
    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
        check(item, &schema["items"], &format!("{place}[{n}]"));
    }
}

/// The schema of reports.
pub(crate) fn schema() -> Value {
    let schema = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/report.schema.json"
    ));
    serde_json::from_str(&schema.expect("there")).expect("JSON")
}

#[test]
fn every_computation_reports_what_the_schema_says() {
    let schema = schema();
    for words in [
        "divergence --size 6 --steps 30 --out map.npy",
        "zoom --frames 2 --size 5 --set steps=50 --out zoom --film zoom.gif",
        "sweep --vary mass2=1:2:2 --size 5 --steps 50 --out sweep",
        "compare --size 5 --steps 50",
        "nbody --n 9 --steps 3 --out end.csv --plots run --snapshots shots",
        "cluster --n 9 --end 0.1 --out end.npz --plots cluster --snapshots shots",
        "encounters --n 3 --out records.npz --plots encounters",
        "encounters zoom --map phase,inclination --to 90,90 --size 4 --frames 2 --out outcomes",
        "encounters sweep --vary distance=50:100:2 --n 3 --out ensembles",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let report = json(folder.path(), &format!("{words} --backend cpu"));
        check(&report, &schema, words);
        let files = report["files"].as_array().expect("files");
        assert!(!files.is_empty(), "{words}");
        for file in files {
            let path = folder.path().join(file.as_str().expect("a path"));
            assert!(path.is_file(), "{words}: {file}");
        }
        assert!(
            !report["devices"].as_array().expect("devices").is_empty(),
            "{words}"
        );
    }
}

#[test]
fn measurements_and_lists_of_devices_report_what_the_schema_says() {
    let schema = schema();
    let folder = tempfile::tempdir().expect("a folder");
    let best = trisolar::simd::Simd::best().name();
    for words in [
        "devices",
        "bench divergence --backend cpu --size 4 --steps 20 --threads 1",
        // One of the tests of clusters measures all engines.
        &format!(
            "bench cluster --backend cpu --n 16 --order 4 --seconds 0.01 --threads 1 --simd {best}"
        ),
        "bench encounters --backend cpu --cpu-n 3 --threads 1",
        "bench planets --backend cpu --cpu-n 3 --steps 20 --threads 1",
        "bench nbody --backend cpu --n 16 --repeats 2 --seconds 0.001 --threads 1 --csv rates.csv",
    ] {
        let report = json(folder.path(), words);
        check(&report, &schema, words);
        assert!(!report["devices"].as_array().expect("a list").is_empty());
        let measured = words.starts_with("bench");
        assert_eq!(report["rate"].is_number(), measured, "{words}");
        let written = words.contains("--csv");
        assert_eq!(report["files"] == serde_json::json!(["rates.csv"]), written);
    }
}

#[test]
fn reports_on_runs_of_bodies_have_their_start_and_end() {
    let folder = tempfile::tempdir().expect("a folder");
    for (words, end) in [
        ("nbody --model king --n 9 --seed 4 --dt 0.25 --steps 2", 0.5),
        ("cluster --model king --n 9 --seed 4 --end 0.5", 0.5),
    ] {
        let report = json(folder.path(), &format!("{words} --backend cpu"));
        let of = |key: &str| &report["specification"][key];
        assert_eq!(*of("model"), "king", "{words}");
        assert_eq!((of("n"), of("seed")), (&9.into(), &4.into()), "{words}");
        assert_eq!(*of("end"), end, "{words}");
    }
}

#[test]
fn runs_of_bodies_end_after_a_time_or_after_a_number_of_steps() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let time = |words: &str| json(path, &format!("{words} --backend cpu"))["time"].clone();
    assert_eq!(time("nbody --n 5 --dt 0.1 --end 0.3"), 3.0 * 0.1);
    assert_eq!(time("nbody --n 5 --dt 0.125 --end 0.3"), 0.375);
    assert_eq!(time("cluster --n 5 --steps 3"), 3.0 / 16.0);
    assert_eq!(time("cluster --n 5 --max-step 0.125 --steps 2"), 0.25);
    for words in [
        "nbody --n 5 --steps 3 --end 1",
        "cluster --n 5 --steps 3 --end 1",
        "nbody --n 5 --end 0",
        "nbody --n 5 --end -1",
        "nbody --n 5 --end 1e30",
    ] {
        trisolar(path, words).assert().code(2);
    }
    // The end on the command line takes the place of the steps of a file, and extends a run.
    fs::write(path.join("run.toml"), "n = 5\nsteps = 7\ndt = 0.5\n").expect("written");
    assert_eq!(time("nbody --config run.toml"), 3.5);
    assert_eq!(time("nbody --config run.toml --end 2"), 2.0);
    time("nbody --n 5 --dt 0.5 --steps 2 --checkpoint c.npz");
    assert_eq!(time("nbody --resume c.npz --end 2"), 2.0);
    trisolar(path, "nbody --resume c.npz --end 1")
        .assert()
        .code(2);
    time("cluster --n 5 --end 0.125 --checkpoint k.npz");
    assert_eq!(time("cluster --resume k.npz --steps 4"), 0.25);
}

#[test]
fn common_names_and_forms_of_numbers_are_understood() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let report = json(
        path,
        "nbody --n 1e1 --steps 2e0 --integrator rk4 --eps 0.5 --backend cpu",
    );
    let spec = &report["specification"];
    assert_eq!((&spec["n"], &spec["steps"]), (&10.into(), &2.into()));
    assert_eq!(spec["integrator"], "runge-kutta-4");
    assert_eq!(spec["softening"], 0.5);
    let report = json(path, "cluster --n 1e1 --eps 0.5 --steps 1 --backend cpu");
    assert_eq!(report["specification"]["softening"], 0.5);
    let report = json(
        path,
        "divergence --size 1e1 --steps 1e2 --eps 0.5 --integrator semi-implicit-euler --out m.npy --backend cpu",
    );
    assert_eq!(report["specification"]["softening"], 0.5);
    assert_eq!(report["specification"]["integrator"], "symplectic-euler");
    for words in [
        "nbody --n 1.5",
        "nbody --n 1e-1",
        "divergence --steps 1.5e0",
    ] {
        trisolar(path, words).assert().code(2);
    }
}

#[test]
fn a_cluster_has_a_configuration_file_and_a_theme() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let base = "--backend cpu --quiet";
    stdout(
        path,
        &format!(
            "cluster --n 9 --seed 5 --steps 2 --save-config c.toml --out a.npz --plots dark {base}"
        ),
    );
    stdout(
        path,
        &format!("cluster --config c.toml --out b.npz --plots light --theme light {base}"),
    );
    let read = |name: &str| fs::read(path.join(name)).expect(name);
    assert_eq!(read("a.npz"), read("b.npz"));
    assert_ne!(read("dark/energy.png"), read("light/energy.png"));
    let report = json(path, "cluster --config c.toml --end 0.0625 --backend cpu");
    assert_eq!(report["time"], 0.0625);
    trisolar(path, "cluster --save-config c.txt")
        .assert()
        .code(2);
    trisolar(path, "cluster --config nowhere.toml")
        .assert()
        .code(2);
}

#[test]
fn every_npz_has_its_specification_under_the_same_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    for (words, file) in [
        ("divergence --size 4 --steps 9 --out a.npz", "a.npz"),
        (
            "nbody --n 4 --steps 2 --out b.npz --series c.npz --trajectory d.npz --snapshots n --checkpoint i.npz",
            "b.npz c.npz d.npz i.npz n/00000.npz",
        ),
        (
            "cluster --n 4 --steps 1 --out e.npz --series f.npz --snapshots s --checkpoint g.npz",
            "e.npz f.npz g.npz s/00000.npz",
        ),
        ("encounters --n 2 --out h.npz", "h.npz"),
    ] {
        stdout(path, &format!("{words} --backend cpu --quiet"));
        for name in file.split(' ') {
            let mut npz = NpzReader::open(path.join(name)).expect(name);
            let text = npz.text("specification.json").expect(name);
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{name}");
        }
    }
}

#[test]
fn bodies_come_from_the_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let csv = "name,mass,x,y,z,vx,vy,vz\nsun,1,0,0,0,0,0,0\nearth,1e-6,1,0,0,0,1,0\n";
    fs::write(path.join("start.csv"), csv).expect("written");
    let words = "nbody --steps 3 --backend cpu --quiet";
    stdout(path, &format!("{words} --input start.csv --out a.csv"));
    trisolar(path, &format!("{words} --input - --out b.csv"))
        .write_stdin(csv)
        .assert()
        .success();
    let read = |name: &str| fs::read_to_string(path.join(name)).expect(name);
    assert_eq!(read("a.csv"), read("b.csv"));
    assert!(read("a.csv").contains("\nearth,"));
    trisolar(
        path,
        "nbody --steps 3 --backend cpu --quiet --input - --out c.csv",
    )
    .write_stdin("1 0 0 0 0 0 0\n1 1 0 0 0 1 0\n")
    .assert()
    .success();
    trisolar(
        path,
        "divergence --config - --out map.npy --backend cpu --quiet",
    )
    .write_stdin("size = [4, 4]\nsteps = 9\n")
    .assert()
    .success();
}

#[test]
fn a_csv_without_names_of_columns_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("s.csv"), "1,0,0,0,0,0,0\n").expect("written");
    let assert = trisolar(folder.path(), "nbody --input s.csv")
        .assert()
        .code(2);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    let says = "line 1 has numbers instead of the names of the columns: expected mass,x,y,z,vx,vy,vz there";
    assert!(said.contains(says), "{said}");
}

/// Runs a model that shows itself, checks its pictures and its error, and returns the positions at its end.
fn shown(model: &str, more: &str) -> Vec<f64> {
    let folder = tempfile::tempdir().expect("a folder");
    let words = format!("nbody --model {model} {more} --backend cpu");
    let report = json(folder.path(), &words);
    for picture in ["energy.png", "orbits.png"] {
        assert!(folder.path().join(model).join(picture).is_file(), "{model}");
    }
    let error = report["errors"]["largest_energy"]
        .as_f64()
        .expect("an error");
    assert!(error.abs() < 1e-6, "{model}: {error}");
    stdout(folder.path(), &format!("{words} --out end.npz --quiet"));
    let mut npz = NpzReader::open(folder.path().join("end.npz")).expect("an npz");
    npz.array::<f64>("position").expect("positions").values
}

#[test]
fn models_show_what_they_are_known_for() {
    let kepler = Model::Kepler {
        a: 2.0,
        e: 0.5,
        ratio: 1.0,
    };
    for (model, more, within) in [
        (kepler, "--semi-major 2", 1e-6),
        (Model::FigureEight, "", 1e-8),
        (Model::Lagrange, "", 1e-8),
    ] {
        let start = model.build(None, 0, 1.0, 3).expect("bodies");
        let end = shown(model.name(), more);
        for (a, b) in start.position.iter().flat_map(|x| x.to_array()).zip(end) {
            assert!((a - b).abs() < within, "{}: {a} {b}", model.name());
        }
    }
    // The first body of Burrau's problem at t = 10, in quadruple precision.
    let folder = tempfile::tempdir().expect("a folder");
    let report = json(
        folder.path(),
        "nbody --model burrau --out end.npz --backend cpu",
    );
    let error = report["errors"]["energy"].as_f64().expect("an error");
    assert!(error.abs() < 1e-9, "{error}");
    let mut npz = NpzReader::open(folder.path().join("end.npz")).expect("an npz");
    let end = npz.array::<f64>("position").expect("positions").values;
    assert!(
        (end[0] - 0.778_480_410_138_085_5).abs() < 1e-6,
        "{}",
        end[0]
    );
    assert!(
        (end[1] - 0.141_392_300_290_086_17).abs() < 1e-6,
        "{}",
        end[1]
    );
    shown("outer-planets", "");
    shown("solar-system", "");
}

#[test]
fn burraus_problem_is_integrated_to_its_end_by_the_cluster_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = "cluster --model burrau --end 20 --out end.npz --backend cpu";
    json(folder.path(), words);
    let there = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(there, 1, "only what was asked for");
    let mut npz = NpzReader::open(folder.path().join("end.npz")).expect("an npz");
    let x = npz.array::<f64>("position").expect("positions").values;
    // Quadruple precision.
    assert!((x[0] - 3.004_292_636_696_399).abs() < 1e-7, "{}", x[0]);
    assert!((x[1] - 0.511_925_235_024_685_9).abs() < 1e-7, "{}", x[1]);
}

#[test]
fn cluster_models_show_what_they_are_known_for() {
    let folder = tempfile::tempdir().expect("a folder");
    for model in ["burrau", "figure-eight"] {
        let said = stdout(
            folder.path(),
            &format!("cluster --model {model} --backend cpu"),
        );
        for picture in ["energy", "steps", "density", "orbits"] {
            let path = Path::new(model).join(format!("{picture}.png"));
            assert!(folder.path().join(&path).is_file(), "{}", path.display());
            let line = format!("file          {}\n", path.display());
            assert!(said.contains(&line), "{line}{said}");
        }
        // The pictures are those of an accurate run.
        let report = json(
            folder.path(),
            &format!("cluster --model {model} --backend cpu"),
        );
        let error = &report["errors"]["largest_energy"];
        let error = error.as_f64().expect("an error");
        assert!(error.abs() < 1e-8, "{model}: {error}");
    }
    // The lightest body escapes from a binary of the other two.
    stdout(
        folder.path(),
        "cluster --model burrau --out end.npz --backend cpu",
    );
    let mut npz = NpzReader::open(folder.path().join("end.npz")).expect("an npz");
    let x = npz.array::<f64>("position").expect("positions").values;
    let apart = |a: usize, b: usize| {
        let squares = (0..3).map(|k| (x[3 * a + k] - x[3 * b + k]).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let (binary, escaper) = (apart(1, 2), apart(0, 1).min(apart(0, 2)));
    assert!(binary < 1.0 && escaper > 10.0, "{binary} {escaper}");
    let folder = tempfile::tempdir().expect("a folder");
    for words in [
        "--model burrau --end 1 --quiet",
        "--model figure-eight --quiet",
        "--model figure-eight --eta 0.3",
    ] {
        stdout(folder.path(), &format!("cluster {words} --backend cpu"));
    }
    let there = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(there, 0);
}

#[test]
fn the_end_changes_the_end_only() {
    let folder = tempfile::tempdir().expect("a folder");
    for (command, end) in [("nbody", "20"), ("cluster", "1")] {
        let words = format!("{command} --model figure-eight --end {end} --backend cpu");
        let report = json(folder.path(), &words);
        let usual = json(
            folder.path(),
            &format!("{command} --model figure-eight --backend cpu"),
        );
        for option in ["integrator", "dt", "order", "eta", "softening"] {
            let [own, usual] = [&report, &usual].map(|report| &report["specification"][option]);
            assert_eq!(own, usual, "{command}: {option}");
        }
        let orbits = folder.path().join("figure-eight/orbits.png");
        fs::remove_file(&orbits).expect("a picture");
        stdout(folder.path(), &words);
        assert!(orbits.is_file(), "{command}");
        fs::remove_dir_all(folder.path().join("figure-eight")).expect("a folder");
    }
}

#[test]
fn a_run_with_further_options_writes_only_what_it_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    stdout(
        folder.path(),
        "nbody --model figure-eight --steps 3 --backend cpu",
    );
    stdout(folder.path(), "nbody --model plummer --n 4 --backend cpu");
    stdout(
        folder.path(),
        "nbody --model figure-eight --quiet --backend cpu",
    );
    let there = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(there, 0);
}

#[test]
fn short_help_is_short_and_both_have_examples() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in [
        "divergence",
        "zoom",
        "sweep",
        "nbody",
        "cluster",
        "encounters",
    ] {
        let [short, long] =
            ["-h", "--help"].map(|flag| stdout(folder.path(), &format!("{command} {flag}")));
        assert!(
            short.len() * 5 < long.len() * 4,
            "{command}: {} {}",
            short.len(),
            long.len()
        );
        let example = format!("Examples:\n  trisolar {command}");
        assert!(
            short.contains(&example) && long.contains(&example),
            "{command}"
        );
    }
}

#[test]
fn shells_and_man_know_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = stdout(folder.path(), &format!("completions {shell}"));
        for word in ["encounters", "simd", "save-config"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    trisolar(folder.path(), "completions tcsh").assert().code(2);
    stdout(folder.path(), "man pages");
    for page in ["trisolar", "trisolar-nbody", "trisolar-bench-solvers"] {
        let text = fs::read_to_string(folder.path().join(format!("pages/{page}.1"))).expect(page);
        assert!(text.contains(".TH") && text.contains(page), "{page}");
    }
}

#[test]
fn outputs_that_cannot_be_written_are_bad_input_everywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("file"), "").expect("written");
    for words in [
        "divergence --out file/a.png",
        "zoom --out file/a",
        "sweep --vary mass2=1:2:2 --out file/a",
        "compare --out file/a.png",
        "nbody --out file/a.csv",
        "nbody --plots file/a",
        "cluster --out file/a.csv",
        "cluster --plots file/a",
        "cluster --snapshots file/a",
        "nbody --snapshots file/a",
        "cluster --save-config file/a.toml",
        "encounters --out file/a.npz",
        "encounters --plots file/a",
        "explore --cache file/a",
        "bench nbody --csv file/a.csv",
        "man file/a",
    ] {
        trisolar(folder.path(), words).assert().code(2);
    }
}
