//! `trisolar divergence --points`: start states from files.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use trisolar::io::npy;
use trisolar::io::npz::NpzReader;

const QUICK: [&str; 6] = ["--steps", "3000", "--backend", "cpu", "--threads", "1"];

fn trisolar(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("trisolar"));
    let command = command.current_dir(folder).arg("divergence").args(QUICK);
    command.args(arguments).output().expect("runs")
}

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = trisolar(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).expect("text")
}

fn refused(folder: &Path, arguments: &[&str], said: &str) {
    let output = trisolar(folder, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(
        text.contains(said),
        "{arguments:?}: {said} is not in {text}"
    );
}

/// Start positions of the pixels of a map of 5 × 3 pixels, with a width of 8 and a height of 6, centred on (1, 2).
fn pixels() -> Vec<f64> {
    let at = |i: u32, n: f64, low: f64, span: f64| low + span * (f64::from(i) / n);
    (0..15)
        .flat_map(|i| [at(i % 5, 5.0, -3.0, 8.0), at(i / 5, 3.0, -1.0, 6.0), -11.0])
        .collect()
}

const MAP: [&str; 6] = ["--size", "5x3", "--center", "1,2", "--span", "8,6"];

fn folder_with_points() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let points = pixels();
    npy::write(folder.path().join("list.npy"), &[15, 3], &points).expect("writes");
    npy::write(folder.path().join("rows.npy"), &[3, 5, 3], &points).expect("writes");
    let lines = points
        .chunks(3)
        .map(|p| format!("{:?},{:?},{:?}\n", p[0], p[1], p[2]));
    let text = "x,y,z\n".to_owned() + &lines.collect::<String>();
    std::fs::write(folder.path().join("list.csv"), text).expect("writes");
    folder
}

#[test]
fn files_of_points_give_the_map_of_the_same_grid() {
    let folder = folder_with_points();
    let here = folder.path();
    let times = |name: &str| npy::read::<u32>(here.join(name)).expect("times");
    succeeds(here, &[&MAP[..], &["--out", "map.npy"]].concat());
    let map = times("map.npy");
    for (points, shape) in [
        ("list.npy", &[15][..]),
        ("list.csv", &[15]),
        ("rows.npy", &[3, 5]),
    ] {
        succeeds(here, &["--points", points, "--out", "times.npy"]);
        let found = times("times.npy");
        assert_eq!(found.shape, shape, "{points}");
        assert_eq!(found.values, map.values, "{points}");
    }
}

#[test]
fn an_npz_of_points_contains_everything_to_reproduce_it() {
    let folder = folder_with_points();
    let here = folder.path();
    let said = succeeds(
        here,
        &[
            "--points",
            "list.csv",
            "--out",
            "a.npz",
            "--save-config",
            "a.toml",
            "--masses",
            "9,8,7",
        ],
    );
    assert!(said.contains("of 15 points"), "{said}");
    let mut file = NpzReader::open(here.join("a.npz")).expect("opens");
    assert_eq!(
        file.array::<f64>("points").expect("points").values,
        pixels()
    );
    let json = file.text("specification.json").expect("text");
    assert!(json.contains("\"masses\":[9.0,8.0,7.0]"), "{json}");
    assert!(!json.contains("center") && !json.contains("size"), "{json}");
    // The points come from the result, and all other values from the configuration that was saved with it.
    succeeds(
        here,
        &["--config", "a.toml", "--points", "a.npz", "--out", "b.npz"],
    );
    let bytes = |name: &str| std::fs::read(here.join(name)).expect("reads");
    assert_eq!(bytes("a.npz"), bytes("b.npz"));
}

#[test]
fn only_points_in_rows_have_a_picture() {
    let folder = folder_with_points();
    let here = folder.path();
    succeeds(here, &["--points", "rows.npy"]);
    assert!(here.join("divergence.png").exists() && here.join("divergence.npy").exists());
    std::fs::remove_file(here.join("divergence.png")).expect("there");
    succeeds(here, &["--points", "list.npy"]);
    assert!(!here.join("divergence.png").exists());
    let picture = ["--points", "list.npy", "--out", "p.png"];
    refused(
        here,
        &picture,
        "'p.png' for '--out': only points that are arranged in rows",
    );
}

#[test]
fn invalid_points_are_rejected_with_a_reason() {
    let folder = folder_with_points();
    let here = folder.path();
    let write = |name: &str, text: &str| std::fs::write(here.join(name), text).expect("writes");
    write("few.csv", "1,2,3\n4,5\n");
    write("text.csv", "1,2,3\n4,5,six\n");
    write("infinite.csv", "1,2,3\n4,inf,6\n");
    npy::write(here.join("four.npy"), &[2, 4], &[0.0; 8]).expect("writes");
    npy::write(here.join("single.npy"), &[1, 3], &[0.0_f32; 3]).expect("writes");
    npy::write(here.join("whole.npy"), &[1, 9], &pixels()[..9]).expect("writes");
    for (file, said) in [
        ("nowhere.npy", "nowhere.npy: no such file"),
        ("few.csv", "few.csv:2: the line has 2 numbers"),
        ("text.csv", "text.csv:2: 'six' is not a number"),
        ("infinite.csv", "'inf of point 1'"),
        ("four.npy", "each point needs 3 numbers"),
        ("single.npy", "float64"),
    ] {
        refused(here, &["--points", file, "--out", "t.npy"], said);
    }
    let sized = ["--points", "list.npy", "--size", "5", "--out", "t.npy"];
    refused(here, &sized, "the points replace --size");
    let placed = [
        "--points",
        "whole.npy",
        "--positions",
        "1,2,3:4,5,6:7,8,9",
        "--out",
        "t.npy",
    ];
    refused(here, &placed, "the points replace --positions");
    let mut massive = [pixels()[..18].to_vec(), vec![1.0, 2.0, 3.0]].concat();
    npy::write(here.join("massive.npy"), &[1, 21], &massive).expect("writes");
    let weighed = ["--points", "massive.npy", "--masses", "1,2,3"];
    refused(here, &weighed, "the points replace --masses");
    massive[20] = -3.0;
    npy::write(here.join("massive.npy"), &[1, 21], &massive).expect("writes");
    refused(
        here,
        &weighed[..2],
        "invalid value 'masses of point 0': each must be at least 0",
    );
}

/// So many points that computing them takes about a second, so that a run can be interrupted on a fast machine, too.
fn many(folder: &Path) {
    const ROWS: u32 = 1500;
    let at = |i: u32| [f64::from(i % 61) / 3.0, f64::from(i / 61) / 8.0, -11.0];
    let values: Vec<f64> = (0..61 * ROWS).flat_map(at).collect();
    npy::write(folder.join("many.npy"), &[ROWS as usize, 61, 3], &values).expect("writes");
    let other: Vec<f64> = values.iter().map(|x| x + 1e-9).collect();
    npy::write(folder.join("other.npy"), &[ROWS as usize, 61, 3], &other).expect("writes");
    npy::write(folder.join("flat.npy"), &[ROWS as usize * 61, 3], &values).expect("writes");
}

const LONG: [&str; 2] = ["--dt", "0.0005"];

#[test]
fn streamed_points_give_the_same_files_as_points_in_memory() {
    let folder = folder_with_points();
    let here = folder.path();
    let times = |name: &str| std::fs::read(here.join(name)).expect("there");
    for points in ["list.npy", "rows.npy"] {
        succeeds(
            here,
            &["--points", points, "--out", "a.npy", "--out", "a.npz"],
        );
        let streamed = [
            "--points", points, "--stream", "--out", "b.npy", "--out", "b.npz",
        ];
        let said = succeeds(here, &streamed);
        assert!(said.contains("of 15 points"), "{said}");
        assert!(times("a.npy") == times("b.npy"), "{points}");
        assert!(times("a.npz") == times("b.npz"), "{points}");
    }
    refused(
        here,
        &["--points", "list.npy", "--stream", "--out", "c.png"],
        "rows and columns",
    );
    succeeds(here, &["--points", "rows.npy", "--out", "a.png"]);
    succeeds(
        here,
        &["--points", "rows.npy", "--stream", "--out", "b.png"],
    );
    assert!(times("a.png") == times("b.png"));
}

#[test]
fn interrupted_points_resume_to_the_same_bytes_and_other_points_are_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    many(here);
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("trisolar"))
        .current_dir(here)
        .args([
            "divergence",
            "--points",
            "many.npy",
            "--out",
            "b.npy",
            "--stream",
        ])
        .args(QUICK)
        .args(LONG)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("starts");
    let begun = || {
        let text = std::fs::read_to_string(here.join("b.npy.part.json")).unwrap_or_default();
        text.contains("\"done\"") && !text.contains("\"done\": []")
    };
    while !begun() {
        assert!(
            child.try_wait().expect("waits").is_none(),
            "it ended before"
        );
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().expect("kills");
    child.wait().expect("ends");
    for (points, said) in [
        ("other.npy", "what --points has"),
        ("flat.npy", "what --points has"),
    ] {
        let arguments = [
            &["--points", points, "--out", "b.npy", "--resume"],
            &LONG[..],
        ]
        .concat();
        refused(here, &arguments, said);
    }
    let all = |out: &'static str, more: Option<&'static str>| {
        let mut all = [&["--points", "many.npy", "--out", out], &LONG[..]].concat();
        all.extend(more);
        succeeds(here, &all)
    };
    all("a.npy", None);
    let said = all("b.npy", Some("--resume"));
    assert!(said.contains("are from an earlier run"), "{said}");
    let bytes = |name: &str| std::fs::read(here.join(name)).expect("there");
    assert!(bytes("a.npy") == bytes("b.npy"));
    assert!(!here.join("b.npy.part.json").exists());
}

#[test]
fn maps_over_parameters_stream_and_are_merged_from_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let map = "--size 7x5 --map mass2=5:40,vx1=-5:0 --draw vz3=uniform:-1:1 --seed 3";
    let map: Vec<&str> = map.split(' ').collect();
    let with = |more: &[&'static str]| succeeds(path, &[&map[..], more].concat());
    with(&[
        "--out",
        "whole.npy",
        "--out",
        "whole.npz",
        "--save-config",
        "map.toml",
    ]);
    let whole: npy::Array<u32> = npy::read(path.join("whole.npy")).expect("reads");
    assert_eq!(whole.shape, [5, 7]);
    with(&["--stream", "--out", "streamed.npy"]);
    with(&["--part", "1/2", "--out", "parts.npy"]);
    with(&["--part", "2/2", "--out", "parts.npy"]);
    let mut merge = Command::new(assert_cmd::cargo::cargo_bin!("trisolar"));
    let merge =
        merge
            .current_dir(path)
            .args(["merge", "parts.npy.1-of-2.part", "parts.npy.2-of-2.part"]);
    merge.assert().success();
    succeeds(path, &["--config", "map.toml", "--out", "again.npy"]);
    for name in ["streamed.npy", "parts.npy", "again.npy"] {
        let found: npy::Array<u32> = npy::read(path.join(name)).expect("reads");
        assert_eq!(found.values, whole.values, "{name}");
    }
    // The starts are in the file, as those of points.
    let mut file = NpzReader::open(path.join("whole.npz")).expect("opens");
    assert_eq!(
        file.array::<f64>("points").expect("it has them").shape,
        [5, 7, 21]
    );
    refused(path, &["--map", "q=0:1"], "vx1");
    refused(path, &["--map", "vx1=0:1", "--center", "1,2"], "--center");
    refused(
        path,
        &["--map", "vx1=0:1", "--points", "whole.npz"],
        "the points replace --map",
    );
}
