//! `trisolar explore` and `--live` as programs: tiles equal the command line's maps, orbits count the steps that maps count,
//! Ctrl-C ends the server, and watching a run does not change it.

#[path = "../../host/explore/tests/support/mod.rs"]
mod client;
use crate::support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use client::{Place, address, counts, get, post, post_head};
use serde_json::{Value, json};
use support::trisolar;
use trisolar::io::npz::NpzReader;
use trisolar::io::picture::Theme;

/// A server, which is stopped when the test ends.
struct Explorer {
    child: Child,
    at: Place,
}

impl Explorer {
    fn start(options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_trisolar"))
            .args(["explore", "--backend", "cpu"])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut link = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut link).unwrap();
        Self {
            child,
            at: address(link.trim()),
        }
    }

    fn interrupt(&mut self) -> (Option<i32>, Duration) {
        interrupt(&mut self.child)
    }
}

impl Drop for Explorer {
    fn drop(&mut self) {
        // The server may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_report_of_a_server_has_its_link_and_what_the_schema_says() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trisolar"))
        .args(["explore", "--backend", "cpu", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let stdout = child.stdout.take().expect("piped");
    let mut read = serde_json::Deserializer::from_reader(stdout).into_iter::<Value>();
    let report = read.next().expect("an object").expect("JSON");
    let ended = interrupt(&mut child);
    crate::agreement::check(&report, &crate::agreement::schema(), "explore");
    address(report["link"].as_str().expect("a link"));
    assert_eq!(ended.0, Some(130));
}

#[test]
fn gpus_that_are_requested_by_number_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    for options in [
        &["--device", "63"][..],
        &["--gpus", "1", "--backend", "cpu"],
    ] {
        let refused = trisolar(folder.path())
            .arg("explore")
            .args(options)
            .assert();
        refused
            .code(2)
            .stderr(predicates::str::contains(options[0]));
    }
}

/// Sends Ctrl-C; returns the exit code and the time until the process ended.
fn interrupt(child: &mut Child) -> (Option<i32>, Duration) {
    let began = Instant::now();
    let id = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    (status.code(), began.elapsed())
}

/// Pseudorandom numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }

    /// A number from low to high.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.below(1 << 20) as f64 / (1 << 20) as f64
    }
}

/// A value in the form that the command line accepts.
fn word(value: &Value) -> String {
    match value {
        Value::Array(parts) => {
            let separator = if parts.iter().any(Value::is_array) {
                ":"
            } else {
                ","
            };
            parts.iter().map(word).collect::<Vec<_>>().join(separator)
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The bytes of the numbers of an npy file.
fn npy_bytes(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let header = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    bytes[10 + header..].to_vec()
}

/// The numbers of an npy file of u32.
fn npy(path: &Path) -> Vec<u32> {
    counts(&npy_bytes(path))
}

/// A specification with much dynamics in few steps.
fn random_specification(random: &mut Random) -> Value {
    let mut spec = json!({
        "steps": 300 + random.below(1200), "dt": random.pick(&[0.01, 0.02, 0.05]),
        "critical_distance": random.between(0.0022, 0.02), "shift": [random.between(1e-4, 2e-3), 0.001, -0.0005],
        "plane": random.pick(&["xy", "xz", "yz"]), "body": 1 + random.below(3),
    });
    match random.below(4) {
        0 => {
            spec["precision"] = random
                .pick(&[
                    "fast",
                    "mixed",
                    "f32",
                    "fixed:26",
                    "fixed:40",
                    "float-float",
                    "double-double",
                ])
                .into()
        }
        _ => {
            let integrators = [
                "explicit-euler",
                "semi-implicit-euler",
                "leapfrog",
                "adams-bashforth-2",
                "adams-bashforth-4",
                "runge-kutta-4",
                "hermite-4",
            ];
            spec["integrator"] = random.pick(&integrators).into();
            if spec["integrator"]
                .as_str()
                .is_some_and(|name| name.starts_with("adams"))
            {
                spec["start"] = random.pick(&["euler", "runge-kutta"]).into();
            }
            // The other quantities are 64-bit floats.
            spec["quantity"] = random
                .pick(&["divergence", "divergence", "closest-approach", "ftle"])
                .into();
        }
    }
    if random.below(2) == 0 {
        spec["masses"] = json!([random.between(0.0, 20.0), 20, random.between(1.0, 40.0)]);
        spec["softening"] = random.between(0.0, 0.5).into();
        spec["velocities"] = json!([
            [-1, 0.5, 0],
            [0, 0, random.between(-2.0, 2.0)],
            [1, 0, 0.25]
        ]);
    }
    spec
}

#[test]
fn deep_tiles_around_an_origin_equal_the_command_lines_map_in_double_double() {
    let folder = tempfile::tempdir().unwrap();
    let server = Explorer::start(&[]);
    let (level, x, y, n) = (88_i64, 3_i64, -2_i64, 4);
    let side = 1024.0 * (-level as f64).exp2();
    let origin = [
        "4.6969309279759617671516391588352",
        "-0.1795693989361937639353546887507",
    ];
    let spec = json!({
        "integrator": "regularised-6", "steps": 4000, "dt": 0.01, "shift": [1e-3, 1e-3, 1e-3], "center": origin,
    });
    let asked = json!({ "specification": spec, "tiles": [[level, x, y, n]] });
    let answer = post(server.at, "/api/tiles", &asked);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (_, _, _, payload) = answer.frames().remove(0);
    let read: trisolar::divergence::Center = serde_json::from_value(json!(origin)).unwrap();
    let center = read.moved([x, y].map(|k| (k as f64 + 0.5) * side)).texts();
    let mut command = trisolar(folder.path());
    command.args([
        "divergence",
        "--quiet",
        "--backend",
        "cpu",
        "--out",
        "map.npy",
    ]);
    command.args([
        "--integrator",
        "regularised-6",
        "--steps",
        "4000",
        "--dt",
        "0.01",
    ]);
    command.args(["--precision", "double-double", "--shift", "1e-3"]);
    command.args([
        format!("--size={n}"),
        format!("--center={}", center.join(",")),
        format!("--span={side:e}"),
    ]);
    command.assert().success();
    assert_eq!(counts(&payload), npy(&folder.path().join("map.npy")));
    // What the page says and copies is that map.
    let view = json!({ "center": [0.0, 0.0], "span": [side, side], "size": [4, 4] });
    let described = post(
        server.at,
        "/api/describe",
        &json!({ "specification": spec, "view": view }),
    );
    let described: Value = serde_json::from_str(&described.text()).unwrap();
    assert!(
        described["method"]
            .as_str()
            .unwrap()
            .ends_with("double-double"),
        "{described}"
    );
    let copied = described["command"].as_str().unwrap();
    assert!(
        copied.contains(&format!("--center={}", origin.join(","))),
        "{copied}"
    );
}

#[test]
fn tiles_equal_the_command_lines_map_pixel_for_pixel() {
    let folder = tempfile::tempdir().unwrap();
    let server = Explorer::start(&[]);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut equal, mut varied, mut floats) = (0, 0, 0);
    while equal < 50 {
        let spec = random_specification(&mut random);
        let level = random.pick(&[4, 6, 7, 8, 10, 13, 20, 35]) as i64;
        let side = 1024.0 * (-level as f64).exp2();
        let near = |random: &mut Random| (random.between(-20.0, 20.0) / side).floor() as i64;
        let (x, y, n) = (
            near(&mut random),
            near(&mut random),
            random.pick(&[4, 16, 32, 64]),
        );
        let asked = json!({ "specification": spec, "tiles": [[level, x, y, n]] });
        let answer = post(server.at, "/api/tiles", &asked);

        let center = [x, y].map(|k| (k as f64 + 0.5) * side);
        let mut command = trisolar(folder.path());
        command.args([
            "divergence",
            "--quiet",
            "--backend",
            "cpu",
            "--out",
            "map.npy",
        ]);
        command.args([
            format!("--size={n}"),
            format!("--center={},{}", center[0], center[1]),
            format!("--span={side}"),
        ]);
        for (name, value) in spec.as_object().unwrap() {
            command.arg(format!("--{}={}", name.replace('_', "-"), word(value)));
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if answer.status == 422 {
            // Both ways reject a map that cannot be computed.
            assert_eq!(
                output.status.code(),
                Some(2),
                "{asked}: {}: {said}",
                answer.text()
            );
            continue;
        }
        assert_eq!(
            (answer.status, output.status.code()),
            (200, Some(0)),
            "{asked}: {}: {said}",
            answer.text()
        );
        let (tag, _, pixels, payload) = answer.frames().remove(0);
        let is_count = spec["quantity"].as_str().is_none_or(|q| q == "divergence");
        assert_eq!((tag, pixels), (if is_count { 1 } else { 2 }, n as u32));
        let size = if is_count { 4 } else { 8 };
        assert_eq!(payload.len(), size * (n * n) as usize);
        assert!(
            payload == npy_bytes(&folder.path().join("map.npy")),
            "{asked}"
        );
        equal += 1;
        varied += usize::from(payload.chunks(size).any(|value| *value != payload[..size]));
        floats += usize::from(!is_count);
    }
    assert!(varied > 20, "{varied} of them have more than one value");
    assert!(floats > 5, "{floats} of them are of another quantity");
}

/// The head and the numbers of the answer about an orbit.
fn samples(body: &[u8]) -> (Value, Vec<f64>) {
    let length = u32::from_le_bytes(body[..4].try_into().unwrap()) as usize;
    let numbers = body[4 + length..]
        .chunks_exact(8)
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()));
    (
        serde_json::from_slice(&body[4..4 + length]).unwrap(),
        numbers.collect(),
    )
}

/// The classes and times of a tile of encounters.
fn pairs(payload: &[u8]) -> Vec<(u32, u64)> {
    let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap());
    let pair = |bytes: &[u8]| (number(&bytes[..8]) as u32, number(&bytes[8..]).to_bits());
    payload.chunks_exact(16).map(pair).collect()
}

/// The classes and times in the records of `trisolar encounters`.
fn recorded(path: &Path) -> Vec<(u32, u64)> {
    let mut file = NpzReader::open(path).unwrap();
    let outcome = file.array::<u32>("outcome").unwrap().values;
    let body = file.array::<u32>("body").unwrap().values;
    let time = file.array::<f64>("time").unwrap().values;
    let class = |k: usize| match outcome[k] {
        0 => body[k] - 1,
        1 | 2 => outcome[k] + 2,
        3 | 4 => 5,
        _ => 6,
    };
    (0..time.len())
        .map(|k| (class(k), time[k].to_bits()))
        .collect()
}

#[test]
fn tiles_of_encounters_equal_the_command_lines_map() {
    let folder = tempfile::tempdir().unwrap();
    let server = Explorer::start(&[]);
    let mut random = Random(0x1234_5678_9abc_def1);
    // The length of 1 in the plane of the map, in the unit of each axis.
    let axes: [(&str, &str, f64, &str, f64, f64); 4] = [
        ("binary-single", "phase", 180.0, "inclination", 180.0, 1.0),
        (
            "binary-single",
            "e",
            1023.0 / 1024.0,
            "argument",
            180.0,
            1.0,
        ),
        ("binary-single", "mass3", 12.5, "a", 5.0, 1.5),
        ("free-fall", "x", 1.0, "y", 1.0, 0.9),
    ];
    let mut several = 0;
    for round in 0..12 {
        let (setup, x_name, x_unit, y_name, y_unit, most) = axes[round % axes.len()];
        let level = random.pick(&[12_i64, 14, 17, 30]);
        let side = 1024.0 * (-level as f64).exp2();
        let near = |random: &mut Random| (random.between(0.3, most - side) / side).floor();
        let (x, y) = (near(&mut random), near(&mut random));
        let n: i64 = random.pick(&[4, 8, 16]);
        let spec = json!({
            "system": "encounters", "setup": setup, "map": [x_name, y_name],
            "max_time": 300, "steps_per_period": random.pick(&[30, 50]), "order": random.pick(&[2, 6]),
        });
        let tile = json!([level, x as i64, y as i64, n]);
        let asked = json!({ "specification": spec, "tiles": [tile] });
        let answer = post(server.at, "/api/tiles", &asked);
        assert_eq!(answer.status, 200, "{asked}: {}", answer.text());
        let (tag, _, pixels, payload) = answer.frames().remove(0);
        assert_eq!((tag, pixels), (3, n as u32));
        let axis = |name: &str, unit: f64, k: f64| {
            format!("{name}={}:{}", k * side * unit, (k + 1.0) * side * unit)
        };
        let [x_axis, y_axis] = [axis(x_name, x_unit, x), axis(y_name, y_unit, y)];
        trisolar(folder.path())
            .args([
                "encounters",
                "--quiet",
                "--backend",
                "cpu",
                "--max-time=300",
            ])
            .args([format!("--setup={setup}"), format!("--size={n}")])
            .args([format!("--map={x_axis},{y_axis}")])
            .args(
                ["order", "steps_per_period"]
                    .map(|name| format!("--{}={}", name.replace('_', "-"), spec[name])),
            )
            .args(["--out", "runs.npz"])
            .assert()
            .success();
        let (tile, map) = (pairs(&payload), recorded(&folder.path().join("runs.npz")));
        assert!(tile == map, "{asked}");
        std::fs::remove_file(folder.path().join("runs.npz")).unwrap();
        several += usize::from(tile.iter().any(|(class, _)| *class != tile[0].0));

        // The orbit of a pixel ends as the pixel says.
        let places = i64::from(n.trailing_zeros());
        let (row, column) = (random.below(n as u64) as i64, random.below(n as u64) as i64);
        let at = json!([level + places, x as i64 * n + column, y as i64 * n + row, 1]);
        let asked = json!({ "specification": spec, "tile": at, "samples": 300 });
        let (head, numbers) = samples(&post(server.at, "/api/orbit", &asked).body);
        let (class, time) = tile[(row * n + column) as usize];
        assert_eq!(head["summary"]["class"], class, "{asked}");
        assert_eq!(head["summary"]["same"], true);
        let columns = head["columns"].as_array().unwrap().len();
        let rows: Vec<&[f64]> = numbers.chunks_exact(columns).collect();
        assert!((2..=300).contains(&rows.len()), "{asked}: {}", rows.len());
        assert_eq!((rows[0][0], rows[0][1]), (0.0, 0.0));
        let last = rows.last().unwrap();
        assert_eq!(
            (last[1].to_bits(), head["columns"][1].as_str()),
            (time, Some("time"))
        );
        assert_eq!(head["summary"]["record"]["steps"], last[0] as u64);

        // The same pixels in a finer tile, which the server makes from the coarser one, and in four smaller tiles.
        let finer = json!({ "specification": spec, "tiles": [[level, x as i64, y as i64, 2 * n]] });
        let finer = pairs(&post(server.at, "/api/tiles", &finer).frames()[0].3);
        let quarter = json!({ "specification": spec, "tiles": [[level + 1, 2 * x as i64 + 1, 2 * y as i64, n]] });
        let quarter = pairs(&post(server.at, "/api/tiles", &quarter).frames()[0].3);
        for row in 0..n as usize {
            for column in 0..n as usize {
                let wide = 2 * n as usize;
                assert_eq!(
                    finer[2 * row * wide + 2 * column],
                    tile[row * n as usize + column]
                );
                let at = row * wide + column + n as usize;
                assert_eq!(finer[at], quarter[row * n as usize + column], "{asked}");
            }
        }
    }
    assert!(several > 3, "{several} of them have more than one outcome");
}

#[test]
fn the_layer_of_certainty_has_the_verdicts_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let server = Explorer::start(&[]);
    let (level, n) = (8, 8);
    let side = 1024.0 * (-f64::from(level)).exp2();
    let tile = |x: i64, y: i64| json!([level, x, y, n]);
    let given = |path: &Path, name: &str| {
        let mut file = NpzReader::open(path).unwrap();
        file.array::<u8>(name).unwrap().values
    };
    let mut seen = std::collections::BTreeSet::new();
    for (x, y) in [(1, 0), (0, 1)] {
        let spec =
            json!({ "integrator": "leapfrog", "dt": 0.01, "steps": 20000, "certainty": true });
        let asked = json!({ "specification": spec, "tiles": [tile(x, y)] });
        let answer = post(server.at, "/api/tiles", &asked);
        let (tag, _, _, payload) = answer.frames().remove(0);
        assert_eq!(tag, 3, "{}", answer.text());
        let [center_x, center_y] = [x, y].map(|k| (k as f64 + 0.5) * side);
        trisolar(folder.path())
            .args(["divergence", "--quiet", "--backend=cpu", "--certify"])
            .args([
                format!("--size={n}"),
                format!("--center={center_x},{center_y}"),
            ])
            .args([format!("--span={side}"), "--integrator=leapfrog".into()])
            .args(["--dt=0.01", "--steps=20000", "--out=map.npz"])
            .assert()
            .success();
        let path = folder.path().join("map.npz");
        let tile: Vec<u8> = pairs(&payload)
            .iter()
            .map(|(class, _)| *class as u8)
            .collect();
        assert_eq!(tile, given(&path, "verdict"));
        seen.extend(tile);
    }
    assert!(seen.len() > 1, "{seen:?}");

    let level = 12;
    let side = 1024.0 * (-f64::from(level)).exp2();
    let spec = json!({ "system": "encounters", "setup": "free-fall", "map": ["x", "y"], "max_time": 300, "certainty": true });
    let asked = json!({ "specification": spec, "tiles": [[level, 1, 2, n]] });
    let payload = post(server.at, "/api/tiles", &asked).frames().remove(0).3;
    let axis = |name: &str, k: f64| format!("{name}={}:{}", k * side, (k + 1.0) * side);
    trisolar(folder.path())
        .args(["encounters", "--quiet", "--backend=cpu", "--certify"])
        .args(["--setup=free-fall", "--max-time=300", "--out=runs.npz"])
        .args([
            format!("--size={n}"),
            format!("--map={},{}", axis("x", 1.0), axis("y", 2.0)),
        ])
        .assert()
        .success();
    let path = folder.path().join("runs.npz");
    let (tile, times) = (pairs(&payload), recorded(&path));
    let verdicts: Vec<u8> = tile.iter().map(|(class, _)| *class as u8).collect();
    assert_eq!(verdicts, given(&path, "verdict"));
    assert!(tile.iter().zip(&times).all(|(tile, run)| tile.1 == run.1));

    // What has no verdicts says so.
    for (system, value) in [(Some("planets"), json!(true)), (None, json!("yes"))] {
        let mut spec = json!({ "certainty": value });
        if let Some(system) = system {
            spec["system"] = json!(system);
        }
        let asked = json!({ "specification": spec, "tiles": [[level, 1, 2, n]] });
        let answer = post(server.at, "/api/tiles", &asked);
        assert_eq!(answer.status, 422);
        assert!(answer.text().contains("certainty"), "{}", answer.text());
    }
}

#[test]
fn maps_of_encounters_are_described_and_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let server = Explorer::start(&[]);
    let spec = json!({ "system": "encounters", "map": ["phase", "inclination"], "e": 0.3, "max_time": 200 });
    // The view reaches beyond the range of the inclination.
    let view = json!({ "center": [1.0, 0.5], "span": [0.5, 2.0], "size": [4, 16] });
    let asked = json!({ "specification": spec, "view": view });
    let described = post(server.at, "/api/describe", &asked).json();
    let command = described["command"].as_str().unwrap();
    assert!(
        command.starts_with("trisolar encounters --")
            && command.contains("--map=phase=135:225,inclination=0:180"),
        "{command}"
    );
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let run = |words: &[&str], out: &str| {
        trisolar(folder.path())
            .args(words)
            .args(["--quiet", "--backend", "cpu", "--out", out])
            .assert()
            .success();
        recorded(&folder.path().join(out))
    };
    let map = run(&words, "a.npz");
    assert_eq!(map.len(), 4 * 8);
    std::fs::write(
        folder.path().join("view.toml"),
        described["toml"].as_str().unwrap(),
    )
    .unwrap();
    assert!(run(&["encounters", "--config", "view.toml"], "b.npz") == map);
    let python = described["python"].as_str().unwrap();
    assert!(
        python.contains("trisolar.encounters(") && python.contains("e=0.3"),
        "{python}"
    );
    assert_eq!(described["labels"]["x"], "phase (degrees)");

    // A pixel's record is that of its tile, and so is a point of a line.
    let tile = json!({ "specification": spec, "tiles": [[14, 20, 9, 4]] });
    let tile = pairs(&post(server.at, "/api/tiles", &tile).frames()[0].3);
    let pixel = json!({ "specification": spec, "tile": [16, 80, 38, 1], "samples": 2 });
    let record = post(server.at, "/api/orbit", &pixel);
    let length = u32::from_le_bytes(record.body[..4].try_into().unwrap()) as usize;
    let head: Value = serde_json::from_slice(&record.body[4..4 + length]).unwrap();
    assert_eq!(head["summary"]["class"], tile[8].0);
    let time = head["summary"]["record"]["time"].as_f64().unwrap();
    assert_eq!(time.to_bits(), tile[8].1);

    let refused = |spec: Value, tile: Value, words: &[&str]| {
        let answer = post(
            server.at,
            "/api/tiles",
            &json!({ "specification": spec, "tiles": [tile] }),
        );
        let said = answer.text();
        assert_eq!(answer.status, 422, "{said}");
        for word in words {
            assert!(said.contains(word), "{word}: {said}");
        }
    };
    let tile = json!([12, 1, 1, 8]);
    refused(
        json!({ "system": "encounters", "map": ["phase", "x"] }),
        tile.clone(),
        &["map", "must be two different of"],
    );
    refused(
        json!({ "system": "encounters", "map": ["phase", "phase"] }),
        tile.clone(),
        &["map"],
    );
    refused(
        json!({ "system": "encounters", "map": 7 }),
        tile.clone(),
        &["map"],
    );
    refused(
        json!({ "system": "encounters", "e": 2 }),
        tile.clone(),
        &["\"e\"", "must be from 0"],
    );
    refused(
        json!({ "system": "encounters", "draw": ["e=thermal"] }),
        tile.clone(),
        &["draw", "unknown parameter"],
    );
    refused(
        json!({ "system": "encounters", "n": 5 }),
        tile.clone(),
        &["unknown parameter"],
    );
    refused(
        json!({ "system": "encounters", "max_steps": 4e9 }),
        tile.clone(),
        &["max_steps", "takes up to"],
    );
    refused(json!({ "system": "nothing" }), tile, &["system"]);
    // Beyond the range of the inclination, and where starts are not exact.
    refused(
        json!({ "system": "encounters" }),
        json!([12, 1, 5, 8]),
        &["inclination"],
    );
    refused(
        json!({ "system": "encounters" }),
        json!([60, 1_i64 << 42, 1_i64 << 42, 8]),
        &["64-bit numbers"],
    );
}

/// The numbers of a tile.
fn reals(payload: &[u8]) -> Vec<f64> {
    let number = |b: &[u8]| f64::from_le_bytes(b.try_into().unwrap());
    payload.chunks_exact(8).map(number).collect()
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// What a map shows of the records of `trisolar planets`.
fn planets_recorded(path: &Path, column: &str) -> Vec<f64> {
    let mut file = NpzReader::open(path).unwrap();
    let outcomes = file.array::<u32>("outcome").unwrap().values;
    let numbers = file.array::<f64>(column).unwrap().values;
    let shown = |(outcome, x): (u32, f64)| match column {
        "energy_error" if outcome <= 2 => x.abs(),
        "time" => x,
        _ if outcome <= 2 => x,
        _ => f64::NAN,
    };
    outcomes.into_iter().zip(numbers).map(shown).collect()
}

#[test]
fn tiles_of_planets_equal_the_command_lines_map() {
    let folder = tempfile::tempdir().unwrap();
    let server = Explorer::start(&[]);
    let jupiter = "m=0.000954,a=5.204,e=0.048,omega=0.257,M=0.6";
    let saturn = "m=0.000285,a=8.5,e=0.05,omega=1.616,M=0.871";
    // A specification, its axes, the column of its values, and a tile.
    let cases = [
        (
            json!({ "planet": [jupiter, saturn], "years": 300, "step": "0.79577", "stop": ["r>20"] }),
            ["a2", "e2"],
            "mean_megno",
            [13_i64, 7, 2, 8],
        ),
        (
            json!({ "planet": ["a=3", jupiter], "years": 100, "observable": "lyapunov", "step": 0.3 }),
            ["a1", "e1"],
            "lyapunov",
            [13, 6, 1, 4],
        ),
        (
            json!({ "preset": "kepler-36", "years": 3, "observable": "time", "stop": ["hill<6"] }),
            ["m2", "M2"],
            "time",
            [12, 2, 3, 8],
        ),
        (
            json!({ "planet": [jupiter, saturn], "set": ["e1=0.3", "star=0.9"], "years": 50, "observable": "energy-error", "integrator": "adaptive" }),
            ["star", "omega2"],
            "energy_error",
            [13, 8, 0, 4],
        ),
        (
            json!({ "planet": ["a=3", jupiter], "years": 50, "observable": "e-max", "of": 1 }),
            ["a1", "e1"],
            "e_max",
            [13, 6, 1, 4],
        ),
        (
            json!({ "planet": ["a=3.27,e=0.2", jupiter], "years": 50, "observable": "libration", "angle": "2*lambda2-lambda1-pomega1" }),
            ["a1", "M1"],
            "libration_amplitude",
            [13, 6, 1, 4],
        ),
    ];
    for (spec, axes, column, tile @ [level, x, y, n]) in cases {
        let mut asked = spec.clone();
        asked["system"] = "planets".into();
        asked["map"] = json!(axes);
        let side = 1024.0 * (-level as f64).exp2();
        let view = json!({
            "center": [(x as f64 + 0.5) * side, (y as f64 + 0.5) * side], "span": [side, side], "size": [n, n],
        });
        let described = post(
            server.at,
            "/api/describe",
            &json!({ "specification": asked, "view": view }),
        );
        assert_eq!(described.status, 200, "{asked}: {}", described.text());
        let described = described.json();
        let plane = &described["plane"];
        assert_eq!(plane["names"], json!(axes));
        let all = plane["axes"].as_array().unwrap();
        let axis = |k: usize, place: i64| {
            let axis = all.iter().find(|axis| axis["name"] == axes[k]).unwrap();
            let at = |place: i64| place as f64 * side * axis["factor"].as_f64().unwrap();
            format!("--set={}={}:{}:{n}", axes[k], at(place), at(place + 1))
        };
        let answer = post(
            server.at,
            "/api/tiles",
            &json!({ "specification": asked, "tiles": [tile] }),
        );
        assert_eq!(answer.status, 200, "{asked}: {}", answer.text());
        let (tag, _, pixels, payload) = answer.frames().remove(0);
        assert_eq!((tag, pixels), (2, n as u32), "{asked}: {}", answer.text());
        let values = reals(&payload);

        let run = |arguments: &[String]| {
            trisolar(folder.path())
                .args(arguments)
                .args(["--quiet", "--backend", "cpu", "--out", "found.npz"])
                .assert()
                .success();
            let found = planets_recorded(&folder.path().join("found.npz"), column);
            std::fs::remove_file(folder.path().join("found.npz")).unwrap();
            found
        };
        let mut arguments = vec!["planets".to_owned()];
        for (name, value) in spec.as_object().unwrap() {
            match value.as_array() {
                None => arguments.push(format!("--{name}={}", word(value))),
                Some(list) => list
                    .iter()
                    .for_each(|one| arguments.push(format!("--{name}={}", word(one)))),
            }
        }
        let own = [&arguments[..], &[axis(0, x), axis(1, y)]].concat();
        assert_eq!(bits(&values), bits(&run(&own)), "{asked}");
        assert!(values.iter().any(|x| x.to_bits() != values[0].to_bits()));
        // What the page copies is this map.
        std::fs::write(
            folder.path().join("view.toml"),
            described["toml"].as_str().unwrap(),
        )
        .unwrap();
        let file = ["planets", "--config", "view.toml"].map(str::to_owned);
        assert_eq!(bits(&values), bits(&run(&file)), "{asked}");
        let command = described["command"].as_str().unwrap();
        // No value has a blank.
        let words = command.replace('\'', "");
        let words: Vec<String> = words.split(' ').skip(1).map(str::to_owned).collect();
        assert_eq!(bits(&values), bits(&run(&words)), "{command}");

        // The orbit of a pixel ends as the pixel says, and a line has the pixel's value.
        let places = i64::from(n.trailing_zeros());
        let (row, column_of) = (n - 2, 1);
        let pixel = [x * n + column_of, y * n + row];
        let at = json!([level + places, pixel[0], pixel[1], 1]);
        let request = json!({ "specification": asked, "tile": at, "samples": 200 });
        let (head, numbers) = samples(&post(server.at, "/api/orbit", &request).body);
        let value = values[(row * n + column_of) as usize];
        let record = &head["summary"]["record"][column];
        if value.is_finite() {
            let found = record.as_f64().unwrap();
            let found = if column == "energy_error" {
                found.abs()
            } else {
                found
            };
            assert_eq!(found.to_bits(), value.to_bits(), "{asked}");
        }
        let columns: Vec<&str> = head["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(columns[..4], ["time", "a1", "e1", "inc1"]);
        let rows: Vec<&[f64]> = numbers.chunks_exact(columns.len()).collect();
        assert!((2..=200).contains(&rows.len()));
        assert_eq!(rows[0][0], 0.0);
        if column == "time" {
            assert_eq!(rows.last().unwrap()[0].to_bits(), value.to_bits());
        }
        let fine = side / n as f64;
        let from = pixel.map(|k| k as f64 * fine);
        let line = json!({ "specification": asked, "from": from, "to": [from[0], from[1] - fine], "count": 2 });
        let line = post(server.at, "/api/line", &line);
        let numbers = samples(&line.body).1;
        let below = values[((row - 1) * n + column_of) as usize];
        // A frame of tiles comes first.
        assert_eq!(bits(&numbers[numbers.len() - 2..]), bits(&[value, below]));

        // The same pixels in a finer tile, and in a quarter of the tile.
        let get = |tile: [i64; 4]| {
            let asked = json!({ "specification": asked, "tiles": [tile] });
            reals(&post(server.at, "/api/tiles", &asked).frames()[0].3)
        };
        let (finer, quarter) = (get([level, x, y, 2 * n]), get([level + 1, 2 * x, 2 * y, n]));
        for row in 0..n as usize {
            for column in 0..n as usize {
                let (wide, n) = (2 * n as usize, n as usize);
                let coarse = values[row * n + column].to_bits();
                assert_eq!(finer[2 * row * wide + 2 * column].to_bits(), coarse);
                let quarter = quarter[row * n + column].to_bits();
                assert_eq!(finer[row * wide + column].to_bits(), quarter);
            }
        }
    }
}

#[test]
fn maps_of_planets_are_refused_by_name() {
    let server = Explorer::start(&[]);
    let given = |more: Value| {
        let mut spec = json!({ "system": "planets", "planet": ["m=1e-3,a=5", "a=9"], "years": 10 });
        for (name, value) in more.as_object().unwrap() {
            spec[name] = value.clone();
        }
        spec
    };
    for (more, tile, words) in [
        (json!({}), [13, 7, 1, 4_i64], &[][..]),
        (
            json!({ "map": ["e2", "a2"] }),
            [13, 7, 1, 4],
            &["map", "in this order"],
        ),
        (
            json!({ "map": ["a2", "a3"] }),
            [13, 7, 1, 4],
            &["map", "star, m1, a1"],
        ),
        (
            json!({ "planet": [] }),
            [13, 7, 1, 4],
            &["\"planet\"", "1 to 15"],
        ),
        (
            json!({ "planet": ["a=5:6:7"] }),
            [13, 7, 1, 4],
            &["\"planet\"", "chosen by their names"],
        ),
        (
            json!({ "planet": ["a=5,M=uniform(0,6)"] }),
            [13, 7, 1, 4],
            &["\"planet\""],
        ),
        (
            json!({ "planet": ["b=5"] }),
            [13, 7, 1, 4],
            &["\"planet\"", "there is no b"],
        ),
        (
            json!({ "set": ["e3=0.1"] }),
            [13, 7, 1, 4],
            &["\"set\"", "the numbers are star"],
        ),
        (
            json!({ "preset": "kepler-36" }),
            [13, 7, 1, 4],
            &["preset", "cannot be given"],
        ),
        (
            json!({ "years": 1e12, "step": 1000 }),
            [13, 7, 1, 4],
            &["years", "takes up to"],
        ),
        (
            json!({ "n": 5 }),
            [13, 7, 1, 4],
            &["\"n\"", "unknown parameter"],
        ),
        // Beyond the eccentricity, inside of the other planet, and where numbers are not exact.
        (json!({}), [13, 7, 9, 4], &["e must be from 0"]),
        (json!({}), [13, 3, 1, 4], &["inside out"]),
        (
            json!({}),
            [60, 1_i64 << 42, 1 << 42, 8],
            &["64-bit numbers"],
        ),
    ] {
        let asked = json!({ "specification": given(more), "tiles": [tile] });
        let answer = post(server.at, "/api/tiles", &asked);
        let said = answer.text();
        assert_eq!(
            answer.status,
            if words.is_empty() { 200 } else { 422 },
            "{asked}: {said}"
        );
        for word in words {
            assert!(said.contains(word), "{asked}: {word}: {said}");
        }
    }
}

#[test]
fn tiles_of_equations_equal_the_command_lines_map() {
    let folder = tempfile::tempdir().unwrap();
    let server = Explorer::start(&[]);
    let newton = "p=x^2-y^2; q=2*x*y; n=p^2+q^2; x'=(2*x+p/n)/3; y'=(2*y-q/n)/3; one: (x-1)^2+y^2<1e-6; left: x < -3";
    let cases = [
        (
            json!({ "ode": "x'=s*(y-x)\ny'=x*(r-z)-y\nz'=x*y-b*z", "set": ["s=10", "r=28", "b=8/3"], "value": ["lyapunov"], "method": "rk4", "end": 5 }),
            ["r", "b"],
            [12_i64, 3, 2, 8],
        ),
        (
            json!({ "iterate": newton, "end": 30 }),
            ["x", "y"],
            [11, -1, 0, 16],
        ),
        (
            json!({ "ode": "x'=u; y'=v; u'=-x-2*x*y; v'=-y-x^2+y^2", "set": "x=0,u=0.4", "value": "megno", "end": 20, "tolerance": 1e-8 }),
            ["v", "y"],
            [13, -1, 1, 4],
        ),
    ];
    for (spec, axes, tile @ [level, x, y, n]) in cases {
        let mut asked = spec.clone();
        asked["system"] = "equations".into();
        asked["map"] = json!(axes);
        let side = 1024.0 * (-level as f64).exp2();
        let view = json!({
            "center": [(x as f64 + 0.5) * side, (y as f64 + 0.5) * side], "span": [side, side], "size": [n, n],
        });
        let described = json!({ "specification": asked, "view": view });
        let described = post(server.at, "/api/describe", &described);
        assert_eq!(described.status, 200, "{asked}: {}", described.text());
        let described = described.json();
        let plane = &described["plane"];
        let axis = |k: usize, place: i64| {
            let all = plane["axes"].as_array().unwrap();
            let axis = all.iter().find(|axis| axis["name"] == axes[k]).unwrap();
            let at = |place: i64| place as f64 * side * axis["factor"].as_f64().unwrap();
            format!("{}={}:{}", axes[k], at(place), at(place + 1))
        };
        let answer = json!({ "specification": asked, "tiles": [tile] });
        let answer = post(server.at, "/api/tiles", &answer);
        assert_eq!(answer.status, 200, "{asked}: {}", answer.text());
        let (tag, _, pixels, payload) = answer.frames().remove(0);
        let is_outcome = tag == 3;
        assert_eq!((is_outcome, pixels), (spec["value"].is_null(), n as u32));
        let value = spec["value"].as_str().unwrap_or("lyapunov");

        let run = |arguments: &[String]| {
            trisolar(folder.path())
                .args(arguments)
                .args(["--quiet", "--backend", "cpu", "--out", "found.npz"])
                .assert()
                .success();
            let path = folder.path().join("found.npz");
            let mut file = NpzReader::open(&path).unwrap();
            let mut column = |name: &str| file.array::<f64>(name).unwrap().values;
            let found: Vec<f64> = match is_outcome {
                false => column(value),
                true => {
                    let (outcomes, times) = (column("outcome"), column("time"));
                    let pairs = outcomes.iter().zip(&times);
                    pairs
                        .flat_map(|(outcome, time)| [outcome + 2.0, *time])
                        .collect()
                }
            };
            std::fs::remove_file(path).unwrap();
            bits(&found)
        };
        let values = bits(&reals(&payload));
        assert!(values.chunks(2).any(|pair| *pair != values[..2]), "{asked}");
        let mut arguments = vec!["map".to_owned()];
        for (name, value) in spec.as_object().unwrap() {
            match name.as_str() {
                // The values of the axes are not fixed.
                "set" if axes[0] == "r" => arguments.push("--set=s=10".to_owned()),
                _ => arguments.push(format!("--{name}={}", word(value))),
            }
        }
        if is_outcome {
            arguments.push("--value=outcome,time".to_owned());
        }
        let map = format!("--map={},{}", axis(0, x), axis(1, y));
        let own = [&arguments[..], &[map, format!("--size={n}")]].concat();
        assert_eq!(values, run(&own), "{asked}");
        // What the page copies is this map.
        std::fs::write(
            folder.path().join("view.toml"),
            described["toml"].as_str().unwrap(),
        )
        .unwrap();
        let file = ["map", "--config", "view.toml"].map(str::to_owned);
        assert_eq!(values, run(&file), "{asked}");
        let shell = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "printf '%s\\0' {}",
                described["command"].as_str().unwrap()
            ))
            .output()
            .unwrap();
        let words = String::from_utf8(shell.stdout).unwrap();
        let words: Vec<String> = words
            .trim_end_matches('\0')
            .split('\0')
            .skip(1)
            .map(str::to_owned)
            .collect();
        assert_eq!(values, run(&words), "{words:?}");

        // The orbit begins at the pixel, and a line ends at its values.
        let places = i64::from(n.trailing_zeros());
        let pixel = [x * n + 1, y * n + 2];
        let request = json!({ "specification": asked, "tile": [level + places, pixel[0], pixel[1], 1], "samples": 30 });
        let (head, numbers) = samples(&post(server.at, "/api/orbit", &request).body);
        let columns = head["columns"].as_array().unwrap();
        assert_eq!(columns[0], "time");
        let rows: Vec<&[f64]> = numbers.chunks_exact(columns.len()).collect();
        assert!((2..=30).contains(&rows.len()));
        for k in 0..2 {
            if let Some(place) = columns.iter().position(|name| name == axes[k]) {
                let factor = plane["axes"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|axis| axis["name"] == axes[k])
                    .unwrap()["factor"]
                    .as_f64()
                    .unwrap();
                assert_eq!(rows[0][place], pixel[k] as f64 * side / n as f64 * factor);
            }
        }
        let from = pixel.map(|k| k as f64 * side / n as f64);
        let line = json!({ "specification": asked, "from": from, "to": [from[0], from[1] + side / n as f64], "count": 2 });
        let line = samples(&post(server.at, "/api/line", &line).body).1;
        let width = if is_outcome { 2 } else { 1 };
        let line = &line[line.len() - 2 * width..];
        for (k, of_line) in line.chunks(width).enumerate() {
            let place = ((2 + k) * n as usize + 1) * width;
            let of_tile = reals(&payload)[place..place + width].to_vec();
            for (a, b) in of_line.iter().zip(&of_tile) {
                assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{asked}: {a} {b}");
            }
        }
    }
}

#[test]
fn equations_are_refused_at_the_field_that_is_wrong() {
    let server = Explorer::start(&[]);
    let lorenz = "x'=s*(y-x); y'=x*(r-z)-y; z'=x*y-b*z";
    for (spec, words) in [
        (
            json!({ "ode": lorenz, "set": ["s=10", "r=28", "b=2"], "end": 1 }),
            &[][..],
        ),
        (json!({}), &["\"ode\"", "missing"]),
        (json!({ "ode": "x'=(y" }), &["\"ode\""]),
        (json!({ "ode": lorenz, "set": ["s=10"] }), &["\"ode\"", "r"]),
        (
            json!({ "ode": "x'=1", "iterate": "x'=1" }),
            &["iterate", "cannot be"],
        ),
        (json!({ "ode": "x'=1" }), &["map", "two different of x"]),
        (
            json!({ "ode": "x'=y;y'=-x", "map": ["x", "q"] }),
            &["map", "two different of x, y"],
        ),
        (json!({ "ode": "x'=y;y'=-x", "set": ["x=a"] }), &["\"set\""]),
        (
            json!({ "ode": "x'=y;y'=-x", "value": "w" }),
            &["\"value\"", "must be one of outcome"],
        ),
        (
            json!({ "ode": "x'=y;y'=-x", "method": "euler" }),
            &["\"method\"", "dop853"],
        ),
        (
            json!({ "ode": "x'=y;y'=-x", "method": "rk4", "step": 1e-9 }),
            &["\"step\"", "takes up to"],
        ),
        (
            json!({ "iterate": "x'=y;y'=-x", "end": 1e9 }),
            &["\"end\"", "takes up to"],
        ),
        (
            json!({ "ode": "x'=y;y'=-x", "draw": ["x=uniform:0:1"] }),
            &["\"draw\"", "unknown parameter"],
        ),
    ] {
        let mut asked = spec.clone();
        asked["system"] = "equations".into();
        let answer = json!({ "specification": asked, "tiles": [[12, 1, 1, 4]] });
        let answer = post(server.at, "/api/tiles", &answer);
        let said = answer.text();
        let expected = if words.is_empty() { 200 } else { 422 };
        assert_eq!(answer.status, expected, "{asked}: {said}");
        for word in words {
            assert!(said.contains(word), "{asked}: {word}: {said}");
        }
    }
}

#[test]
fn ctrl_c_says_nothing() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_trisolar"))
            .args(["explore", "--backend", "cpu"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut link = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut link)
            .unwrap();
        let id = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn the_copied_command_makes_the_displayed_map() {
    let folder = tempfile::tempdir().unwrap();
    let server = Explorer::start(&[]);
    let spec = json!({ "integrator": "leapfrog", "dt": 0.02, "steps": 900, "masses": [10, 20.5, 30], "shift": [1e-3, 0, 2e-3] });
    // The tile corresponds to the view from 16 to 24 along x and from -8 to 0 along y.
    let view = json!({ "center": [20, -4], "span": [8, 8], "size": [32, 32] });
    let described = post(
        server.at,
        "/api/describe",
        &json!({ "specification": spec, "view": view }),
    )
    .json();
    let command = described["command"].as_str().unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[..2], ["trisolar", "divergence"]);
    let run = |extra: &[&str]| {
        trisolar(folder.path())
            .args(extra)
            .args(["--quiet", "--backend", "cpu", "--out", "map.npy"])
            .assert()
            .success()
    };
    run(&words[1..]);
    let map = npy(&folder.path().join("map.npy"));
    let tile = post(
        server.at,
        "/api/tiles",
        &json!({ "specification": spec, "tiles": [[7, 2, -1, 32]] }),
    );
    assert!(counts(&tile.frames()[0].3) == map);
    std::fs::write(
        folder.path().join("view.toml"),
        described["toml"].as_str().unwrap(),
    )
    .unwrap();
    std::fs::remove_file(folder.path().join("map.npy")).unwrap();
    run(&["divergence", "--config", "view.toml"]);
    assert!(npy(&folder.path().join("map.npy")) == map);
    let python = described["python"].as_str().unwrap();
    assert!(
        python.contains("integrator=\"leapfrog\"") && python.contains("masses=[10.0,20.5,30.0]"),
        "{python}"
    );
    assert_eq!(described["labels"]["x"], "start x of body 1 (length)");
}

#[test]
fn an_orbit_has_as_many_steps_as_its_pixel() {
    let server = Explorer::start(&[]);
    let methods = [
        json!({ "integrator": "explicit-euler" }),
        json!({ "integrator": "leapfrog" }),
        json!({ "integrator": "adams-bashforth-4", "start": "runge-kutta" }),
        json!({ "integrator": "hermite-4" }),
        json!({ "integrator": "regularised-6" }),
        json!({ "precision": "f32" }),
        json!({ "precision": "fixed:40" }),
        json!({ "precision": "float-float" }),
        json!({ "precision": "mixed" }),
        json!({ "integrator": "runge-kutta-4", "body": 3, "plane": "xz" }),
    ];
    for mut spec in methods {
        spec["dt"] = json!(0.01);
        spec["steps"] = json!(3000);
        let tile = json!([9, 2, -1, 8]);
        let map = post(
            server.at,
            "/api/tiles",
            &json!({ "specification": spec, "tiles": [tile] }),
        );
        let times = counts(&map.frames()[0].3);
        for pixel in [0, 27, 63] {
            // The pixel is a tile of one pixel, three levels deeper.
            let at = json!([12, 16 + pixel % 8, -8 + pixel / 8, 1]);
            let orbit = post(
                server.at,
                "/api/orbit",
                &json!({ "specification": spec, "tile": at, "samples": 101 }),
            );
            let (head, numbers) = samples(&orbit.body);
            assert_eq!(
                head["summary"]["together"], times[pixel as usize],
                "{spec} pixel {pixel}"
            );
            let columns = head["columns"].as_array().unwrap().len();
            assert_eq!((columns, numbers.len()), (4 + 18, 101 * 22));
            assert_eq!(
                (numbers[0], numbers[100 * 22]),
                (0.0, 30.0),
                "from the start to the end"
            );
            assert!(
                (numbers[1] - 0.001 * 3_f64.sqrt()).abs() < 1e-6,
                "the twins start a shift apart: {}",
                numbers[1]
            );
            assert_eq!(
                (numbers[2], numbers[3]),
                (0.0, 0.0),
                "no energy error at the start"
            );
        }
    }
}

#[test]
fn ctrl_c_ends_the_server_within_a_second_during_any_computation() {
    let mut server = Explorer::start(&[]);
    let body = json!({ "specification": {}, "tiles": [[6, 0, 0, 256]] }).to_string();
    let mut stream = TcpStream::connect(server.at).unwrap();
    stream
        .write_all(format!("{}{body}", post_head("/api/tiles", server.at, body.len())).as_bytes())
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let (code, took) = server.interrupt();
    assert_eq!(code, Some(130));
    assert!(took < Duration::from_secs(1), "{took:?}");
    // The received bytes are the beginning of an answer that is marked as incomplete.
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(!rest.ends_with(b"0\r\n\r\n"));
}

#[test]
fn tiles_in_a_folder_are_reused_by_the_next_server() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("tiles").display().to_string();
    let asked = json!({ "specification": { "steps": 3000, "dt": 0.01 }, "tiles": [[6, 0, 0, 64]] });
    let ask = || {
        let mut server = Explorer::start(&["--cache", &cache]);
        let answer = post(server.at, "/api/tiles", &asked);
        server.interrupt();
        answer.frames().remove(0).3
    };
    let first = ask();
    let files: Vec<_> = std::fs::read_dir(&cache)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1);
    assert!(ask() == first);
    // A damaged file is computed again.
    let mut bytes = std::fs::read(&files[0]).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&files[0], bytes).unwrap();
    assert!(ask() == first);
}

/// Starts a server with `--open`, where a script is the program that opens links; returns the link and the first line of the standard
/// error, if the server is expected to write one.
#[cfg(unix)]
fn opened(folder: &Path, script: Option<&str>, warns: bool) -> (String, String) {
    use std::os::unix::fs::PermissionsExt;
    if let Some(script) = script {
        let path = folder.join("xdg-open");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_trisolar"))
        .args(["explore", "--backend", "cpu", "--open"])
        .env("PATH", folder)
        .env("FOLDER", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut link, mut warning) = (String::new(), String::new());
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut link).unwrap();
    if warns {
        let stderr = child.stderr.take().unwrap();
        BufReader::new(stderr).read_line(&mut warning).unwrap();
    } else {
        let file = folder.join("opened");
        let began = Instant::now();
        while !file.exists() {
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    // The server serves whatever became of the browser.
    assert_eq!(get(address(link.trim()), "/api/about").status, 200);
    assert_eq!(interrupt(&mut child).0, Some(130));
    (link.trim().to_owned(), warning)
}

#[test]
#[cfg(all(unix, not(target_os = "macos")))]
fn the_link_is_opened_in_the_browser() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo \"$1\" > \"$FOLDER/part\"; /bin/mv \"$FOLDER/part\" \"$FOLDER/opened\"";
    let (link, _) = opened(folder.path(), Some(script), false);
    // Without the token, because others see the arguments of programs.
    let seen = std::fs::read_to_string(folder.path().join("opened")).unwrap();
    let (place, token) = link.split_once("?token=").unwrap();
    assert!(seen.starts_with(&format!("{place}?ticket=")), "{seen}");
    assert!(!seen.contains(token), "{seen}");

    let failing = tempfile::tempdir().unwrap();
    let (_, warning) = opened(failing.path(), Some("exit 3"), true);
    assert!(
        warning.contains("xdg-open could not open the link"),
        "{warning}"
    );

    let empty = tempfile::tempdir().unwrap();
    let (_, warning) = opened(empty.path(), None, true);
    assert!(warning.contains("cannot start xdg-open"), "{warning}");
}

#[test]
fn invalid_options_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |options: &[&str], code: i32, words: &[&str]| {
        let output = trisolar(folder.path())
            .arg("explore")
            .args(options)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{options:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{options:?}: {said}");
        }
    };
    refused(&["--port", "65536"], 2, &["--port", "65536", "from 0"]);
    refused(&["--port", "-1"], 2, &["--port", "from 0"]);
    refused(
        &["--bind", "nowhere"],
        2,
        &["--bind", "nowhere", "IP address"],
    );
    refused(
        &["--cache", "x", "--cache-size", "0"],
        2,
        &["--cache-size", "from 1"],
    );
    refused(&["--cache-size", "5"], 2, &["--cache"]);
    refused(&["--memory", "0"], 2, &["--memory", "from 1"]);
    refused(&["--threads", "0"], 2, &["--threads"]);
    let server = Explorer::start(&[]);
    refused(
        &[
            "--backend",
            "cpu",
            "--port",
            &server.at.address.port().to_string(),
        ],
        1,
        &["cannot serve at"],
    );
    std::fs::write(folder.path().join("file"), "no folder").unwrap();
    refused(
        &["--backend", "cpu", "--cache", "file"],
        2,
        &["--cache", "file", "cannot create"],
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("file")).unwrap(),
        "no folder"
    );
    assert_eq!(get(server.at, "/api/about").status, 200);
}

/// Runs a command with `--live`; returns the process and the address of its view.
fn live(folder: &Path, arguments: &[&str]) -> (Child, Place) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trisolar"))
        .current_dir(folder)
        .args(arguments)
        .arg("--live")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let at = address(
        line.trim()
            .strip_prefix("live: ")
            .expect("the link comes first"),
    );
    std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
    (child, at)
}

/// The next frame of a live run.
fn frame(at: Place) -> Value {
    let mut stream = TcpStream::connect(at).unwrap();
    stream
        .write_all(client::head("GET", "/api/live", at, "").as_bytes())
        .unwrap();
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "a frame arrives");
        bytes.extend(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if let (Some(start), Some(_)) = (text.find("{\""), text.find('}'))
            && let Some(Ok(value)) = serde_json::Deserializer::from_str(&text[start..])
                .into_iter::<Value>()
                .next()
        {
            return value;
        }
    }
}

#[test]
fn a_live_run_can_be_watched_and_paused_and_gives_the_same_bytes() {
    let runs: [(&[&str], &str); 2] = [
        (
            &[
                "nbody",
                "--quiet",
                "--backend",
                "cpu",
                "--threads",
                "1",
                "--n",
                "300",
                "--steps",
                "4000",
                "--out",
                "end.npz",
            ],
            "end.npz",
        ),
        (
            &[
                "cluster",
                "--quiet",
                "--backend",
                "cpu",
                "--threads",
                "1",
                "--n",
                "256",
                "--end",
                "3",
                "--out",
                "end.npz",
            ],
            "end.npz",
        ),
    ];
    for (arguments, file) in runs {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        trisolar(folder.path()).args(arguments).assert().success();
        let alone = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let (mut child, at) = live(folder.path(), arguments);
        assert_eq!(
            post(at, "/api/pause", &json!({ "paused": true })).status,
            200
        );
        std::thread::sleep(Duration::from_millis(400));
        let first = frame(at);
        std::thread::sleep(Duration::from_millis(400));
        assert_eq!(
            (&frame(at)["time"], frame(at)["standing"].as_str()),
            (&first["time"], Some("paused"))
        );
        assert!(child.try_wait().unwrap().is_none(), "it waits");
        let about = get(at, "/api/about").json();
        assert!(about["live"]["bodies"].as_u64().unwrap() >= 256);
        post(at, "/api/pause", &json!({ "paused": false }));
        assert!(child.wait().unwrap().success());
        assert!(std::fs::read(&path).unwrap() == alone, "{arguments:?}");
    }
}

#[test]
fn a_paused_run_ends_by_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, at) = live(
        folder.path(),
        &[
            "cluster",
            "--quiet",
            "--n",
            "512",
            "--end",
            "100",
            "--backend",
            "cpu",
        ],
    );
    post(at, "/api/pause", &json!({ "paused": true }));
    std::thread::sleep(Duration::from_millis(200));
    let (code, took) = interrupt(&mut child);
    assert_eq!(code, Some(130));
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn lines_and_accuracy_refuse_bad_values_and_see_what_is_wrong() {
    let server = Explorer::start(&[]);
    let line = |specification: Value, from: Value, to: Value| {
        let asked = json!({ "specification": specification, "from": from, "to": to, "count": 3 });
        post(server.at, "/api/line", &asked)
    };
    let quick = json!({ "steps": 100, "dt": 0.01 });
    let encounters = json!({ "system": "encounters" });
    for (specification, from, to, status) in [
        (quick.clone(), json!([0, 0]), json!([1, 1]), 200),
        (
            json!({ "precision": "f32" }),
            json!([0, 0]),
            json!([1e300, 1]),
            400,
        ),
        (
            encounters.clone(),
            json!([0.5, 0.5]),
            json!([0.6, 0.6]),
            200,
        ),
        // Beyond the range of the inclination.
        (encounters.clone(), json!([0.5, 0.5]), json!([0.5, 7]), 400),
        (json!({ "dt": -1 }), json!([0, 0]), json!([1, 1]), 400),
    ] {
        let answer = line(specification.clone(), from, to.clone());
        let said = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, status, "{specification} {to}: {said}");
    }
    let view = json!({ "center": [17, -7], "span": [6, 6], "size": [64, 64] });
    let accuracy = |specification: Value| {
        let asked = json!({ "specification": specification, "view": view });
        post(server.at, "/api/accuracy", &asked)
    };
    // A wing that does not exist, and the same place by a step that resolves it.
    let wrong = json!({ "dt": 0.05, "steps": 1000, "integrator": "symplectic-euler" });
    let found = accuracy(wrong).json();
    assert!(found["step"]["share"].as_f64().unwrap() > 0.5, "{found}");
    let right = json!({ "dt": 0.004, "steps": 12_500, "integrator": "leapfrog" });
    let found = accuracy(right).json();
    assert!(found["step"]["share"].as_f64().unwrap() < 0.4, "{found}");
    assert!(
        found["unresolved"]["share"].as_f64().unwrap() < 0.1,
        "{found}"
    );
    assert_eq!(accuracy(json!({ "dt": -1 })).status, 422);
    let asked = json!({
        "specification": encounters,
        "view": { "center": [0.5, 0.5], "span": [0.1, 0.1], "size": [8, 8] },
    });
    let found = post(server.at, "/api/accuracy", &asked).json();
    assert_eq!(found, Value::Null);
}

#[test]
fn bodies_have_the_colours_of_pictures_in_both_themes() {
    let style = include_str!("../../host/explore/page/style.css");
    let (dark, light) = style.split_once("data-theme=\"light\"").unwrap();
    for (theme, style) in [(Theme::Dark, dark), (Theme::Light, light)] {
        for body in 0..3 {
            let [r, g, b] = theme.colour_of_body(body);
            let line = format!("--body-{}: #{r:02x}{g:02x}{b:02x};", body + 1);
            assert!(style.contains(&line), "{line}");
        }
    }
}
