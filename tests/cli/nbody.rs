//! Tests of `trisolar nbody`.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn nbody() -> Command {
    let mut command = Command::cargo_bin("trisolar").unwrap();
    command.arg("nbody");
    command
}

/// The states of four bodies in Pacheco & Malensek (2021), at t = 0 and t = 1.
const TEXTBOOK: &str = "0.00
  0  0.000e+00    0.000e+00    0.000e+00    3.000e+04
  1  1.000e+05    0.000e+00    0.000e+00   -3.000e+04
  2  2.000e+05    0.000e+00    0.000e+00    3.000e+04
  3  3.000e+05    0.000e+00    0.000e+00   -3.000e+04

1.00
  0  2.238e+04    2.672e+04    4.529e+04    2.001e+04
  1  1.039e+05   -2.399e+04    7.725e+03   -1.230e+04
  2  1.961e+05    2.399e+04   -7.725e+03    1.230e+04
  3  2.776e+05   -2.672e+04   -4.529e+04   -2.001e+04

";

#[test]
fn both_solvers_print_the_textbooks_text() {
    for solver in ["basic", "reduced"] {
        nbody()
            .args([
                "--model", "line", "--steps", "100", "--dt", "0.01", "--format", "textbook",
            ])
            .args(["--solver", solver])
            .assert()
            .success()
            .stdout(TEXTBOOK);
    }
}

#[test]
fn perturbed_bodies_start_beside_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let run = |options: &[&str]| {
        nbody()
            .current_dir(folder.path())
            .args(["--quiet", "--model=burrau", "--steps=1", "--dt=1e-9"])
            .args(options)
            .args(["--out", "end.csv"])
            .assert()
    };
    let end = |options: &[&str]| -> String {
        run(options).success();
        fs::read_to_string(folder.path().join("end.csv")).unwrap()
    };
    let (usual, one) = (end(&[]), end(&["--perturb=1e-6"]));
    assert_ne!(one, usual);
    assert_eq!(one, end(&["--perturb=1e-6", "--seed=1"]));
    assert_ne!(one, end(&["--perturb=1e-6", "--seed=2"]));
    for (options, words) in [
        (&["--perturb=0"][..], "above 0, at most 1"),
        (&["--perturb=nan"], "--perturb"),
        (&["--seed=2"], "--perturb makes it so"),
    ] {
        run(options).failure().code(2).stderr(contains(words));
    }
}

#[test]
fn final_only_prints_the_last_state() {
    let last = &TEXTBOOK[TEXTBOOK.find("1.00\n").unwrap()..];
    nbody()
        .args([
            "--model",
            "line",
            "--steps",
            "100",
            "--format",
            "textbook",
            "--final-only",
        ])
        .args(["--every", "10"])
        .assert()
        .success()
        .stdout(last.to_owned());
}

#[test]
fn the_textbooks_input_gives_the_textbooks_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bodies.txt");
    let lines = (0..4).map(|i| {
        let vy = if i % 2 == 0 { 3e4 } else { -3e4 };
        format!("5e24 {} 0 0 {vy}\n", f64::from(i) * 1e5)
    });
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    nbody()
        .args([
            "--format", "textbook", "--steps", "100", "--dt", "0.01", "--n", "4", "--input",
        ])
        .arg(&path)
        .assert()
        .success()
        .stdout(TEXTBOOK);
    nbody()
        .args(["--n", "5", "--input"])
        .arg(&path)
        .assert()
        .code(2)
        .stderr(contains("has 4 bodies"));
}

#[test]
fn a_resumed_run_writes_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = |steps: &str, out: &str, more: [&str; 2]| {
        nbody()
            .current_dir(folder.path())
            .args(["--n", "100", "--every", "20", "--steps", steps])
            .args(["--out", out])
            .args(more)
            .assert()
            .success();
    };
    run("60", "whole.npz", ["--theme", "dark"]);
    run("40", "resumed.npz", ["--checkpoint", "half.npz"]);
    assert_ne!(
        std::fs::read(at("whole.npz")).unwrap(),
        std::fs::read(at("resumed.npz")).unwrap()
    );
    nbody()
        .current_dir(folder.path())
        .args(["--resume", "half.npz", "--steps", "60"])
        .assert()
        .success();
    assert_eq!(
        std::fs::read(at("whole.npz")).unwrap(),
        std::fs::read(at("resumed.npz")).unwrap()
    );
}

#[test]
fn all_files_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    nbody()
        .args([
            "--model",
            "figure-eight",
            "--steps",
            "200",
            "--every",
            "10",
            "--json",
        ])
        .arg("--out")
        .arg(at("end.csv"))
        .arg("--series")
        .arg(at("series.csv"))
        .arg("--trajectory")
        .arg(at("orbits.npz"))
        .arg("--plots")
        .arg(at("eight"))
        .assert()
        .success()
        .stdout(contains("\"energy_error\""));
    let series = std::fs::read_to_string(at("series.csv")).unwrap();
    assert_eq!(series.lines().count(), 22);
    assert!(series.starts_with("step,time,kinetic,potential,total,"));
    assert_eq!(
        std::fs::read_to_string(at("end.csv"))
            .unwrap()
            .lines()
            .count(),
        4
    );
    for name in ["orbits.npz", "eight/energy.png", "eight/orbits.png"] {
        assert!(at(name).is_file(), "{name}");
    }
}

#[test]
fn bad_input_is_rejected_with_exit_code_2() {
    for (options, says) in [
        (vec!["--model", "spiral"], "must be one of plummer"),
        (
            vec!["--model", "burrau", "--n", "4"],
            "the model has 3 bodies",
        ),
        (vec!["--model", "burrau", "--seed", "4"], "not random"),
        (
            vec!["--model", "plummer", "--radius", "4"],
            "--radius cannot be used with --model plummer",
        ),
        (
            vec!["--model", "king", "--w0", "17"],
            "w0 must be from 0.1 to 16, got 17",
        ),
        (
            vec!["--model", "king", "--dimensions", "2"],
            "three dimensions",
        ),
        (vec!["--model", "king", "--n", "1"], "--n must be 2 or more"),
        (
            vec!["--model", "plummer", "--w0", "5"],
            "--w0 cannot be used with --model plummer",
        ),
        (
            vec!["--model", "kepler", "--eccentricity", "1"],
            "eccentricity must be from 0",
        ),
        (
            vec!["--dt", "0"],
            "invalid value '0' for '--dt': must be a finite time other than 0",
        ),
        (vec!["--steps", "0"], "from 1 to"),
        (vec!["--integrator", "rk5"], "must be one of"),
        (
            vec!["--integrator", "hermite-4"],
            "adams-bashforth-4, runge-kutta-4, adaptive\n",
        ),
        (
            vec!["--integrator", "leapfrog,adaptive", "--out", "a.npz"],
            "of files, only pictures",
        ),
        (
            vec!["--tolerance", "1e-9"],
            "must be given with --integrator adaptive",
        ),
        (
            vec![
                "--integrator",
                "leapfrog,forest-ruth",
                "--tolerance",
                "1e-9",
            ],
            "must be given with --integrator adaptive",
        ),
        (
            vec!["--integrator", "adaptive", "--precision", "f32"],
            "must be f64",
        ),
        (vec!["--units", "au,yr"], "such as au,yr,msun"),
        (
            vec!["--integrator", "adams-bashforth-4", "--checkpoint", "c.npz"],
            "invalid value 'c.npz' for '--checkpoint': adams-bashforth-4 continues from earlier steps",
        ),
        (vec!["--out", "a.dat"], ".csv, .npz or .txt"),
        (vec!["--trajectory", "a.csv"], ".npz"),
        (vec!["--backend", "cpu", "--n", "0"], "from 1 to"),
        (vec!["--animation", "a.png"], ".gif"),
        (vec!["--film", "a.avi"], ".gif, .webp and .mp4"),
        (vec!["--view", "xy"], "--view needs --film"),
        (vec!["--fps", "10"], "--fps needs --film"),
        (vec!["--frames", "10"], "--frames needs --film"),
        (vec!["--size", "300x200"], "--size needs --plots or --film"),
        (vec!["--size", "300", "--plots", "p"], "WIDTHxHEIGHT"),
        (vec!["--g", "nan"], "a finite number"),
        (vec!["--softening", "-1"], "length of 0 or more"),
    ] {
        nbody()
            .args(&options)
            .assert()
            .code(2)
            .stderr(contains(says));
    }
}

#[test]
fn a_start_that_cannot_be_integrated_is_rejected_by_name_and_place() {
    let folder = tempfile::tempdir().unwrap();
    for (text, says) in [
        (
            "1 0 0 0 0\n1 0 0 1 1\n",
            "bodies 1 and 2 are both at (0, 0, 0)",
        ),
        ("1 0 0 0 0\n-1 1 0 1 1\n", "body 2: mass -1 must be 0"),
        (
            "1 0 0 0 0\n1 1 0 inf 1\n",
            ":2:7: 'inf' for vx: expected a finite number",
        ),
        (
            "1 0 0 0 0\n1 1 zero 0 1\n",
            ":2:5: 'zero' for y: expected a number",
        ),
        (
            "1 0 0 0 0\n1 1 0\n",
            ":2:6: the line ends after 3 numbers: expected 5 numbers",
        ),
        ("# nothing\n", "it contains no bodies"),
    ] {
        let path = folder.path().join("bodies.txt");
        std::fs::write(&path, text).unwrap();
        let run = nbody().arg("--input").arg(&path).assert().code(2);
        run.stderr(contains(says));
    }
    // With softening, bodies may be at the same place, and massless bodies move without exerting a pull.
    let path = folder.path().join("bodies.txt");
    std::fs::write(&path, "0 0 0 0 0\n0 0 0 1 1\n1 5 0 0 0\n").unwrap();
    let out = folder.path().join("end.csv");
    nbody()
        .arg("--input")
        .arg(&path)
        .args(["--g", "1", "--out"])
        .arg(&out)
        .assert()
        .success();
    let end = std::fs::read_to_string(&out).unwrap();
    let rows: Vec<Vec<f64>> = end
        .lines()
        .skip(1)
        .map(|l| l.split(',').map(|x| x.parse().unwrap()).collect())
        .collect();
    assert!(rows[0][1] > 0.0 && rows[0][3] > 0.0, "{end}");
    assert_eq!(rows[2][1..5], [5.0, 0.0, 0.0, 0.0]);
}

#[test]
fn a_step_too_long_for_an_orbit_is_warned_about() {
    nbody()
        .args(["--model", "kepler", "--dt", "10", "--steps", "3"])
        .assert()
        .success()
        .stderr(contains("warning: bodies 1 and 2: G·M/r³·dt²"));
    let quiet = ["--model", "kepler", "--dt", "10", "--steps", "3", "--quiet"];
    nbody().args(quiet).assert().success().stderr("").stdout("");
}

#[test]
fn a_saved_configuration_gives_the_same_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    nbody()
        .args([
            "--model", "cube", "--n", "30", "--speed", "0.1", "--seed", "9", "--steps", "40",
        ])
        .args([
            "--integrator",
            "runge-kutta-4",
            "--softening",
            "0.1",
            "--solver",
            "basic",
        ])
        .arg("--save-config")
        .arg(at("run.toml"))
        .arg("--out")
        .arg(at("a.npz"))
        .assert()
        .success();
    let text = std::fs::read_to_string(at("run.toml")).unwrap();
    assert!(text.contains("integrator = \"runge-kutta-4\""), "{text}");
    nbody()
        .arg("--config")
        .arg(at("run.toml"))
        .arg("--out")
        .arg(at("b.npz"))
        .assert()
        .success();
    assert_eq!(
        std::fs::read(at("a.npz")).unwrap(),
        std::fs::read(at("b.npz")).unwrap()
    );
    // The command line overrides the file, and a different model uses nothing of the start in the file.
    nbody()
        .arg("--config")
        .arg(at("run.toml"))
        .args(["--model", "burrau", "--steps", "2", "--json"])
        .assert()
        .success()
        .stdout(contains("\"bodies\": 3").and(contains("\"solver\": \"basic\"")));
    std::fs::write(at("bad.toml"), "steps = 3\nstep = 4\n").unwrap();
    let bad = nbody().arg("--config").arg(at("bad.toml")).assert().code(2);
    bad.stderr(contains("bad.toml:2: unknown field `step`"));
    std::fs::write(at("bad.toml"), "dt = 0.0\n").unwrap();
    let bad = nbody().arg("--config").arg(at("bad.toml")).assert().code(2);
    bad.stderr(contains("for 'dt in ").and(contains("must be a finite time")));
}

#[test]
fn pictures_and_the_animation_show_all_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (view, name) in [("xy", "a.gif"), ("space", "b.gif")] {
        nbody()
            .args([
                "--model", "lagrange", "--steps", "3627", "--dt", "0.001", "--theme", "light",
            ])
            .args(["--size", "480x400", "--view", view, "--animation"])
            .arg(at(name))
            .assert()
            .success();
        let mut decoder = gif::DecodeOptions::new();
        decoder.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = decoder
            .read_info(std::fs::File::open(at(name)).unwrap())
            .unwrap();
        let mut pictures = Vec::new();
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            pictures.push(frame.buffer.to_vec());
        }
        assert_eq!(pictures.len(), 200);
        // Each picture differs from the previous one and contains the colour of each body.
        assert!(pictures.windows(2).all(|p| p[0] != p[1]));
        for colour in [[213_u8, 94, 0], [0, 114, 178], [190, 80, 145]] {
            let near = |p: &[u8]| (0..3).all(|k| p[k].abs_diff(colour[k]) < 24);
            for picture in [&pictures[0], &pictures[100]] {
                let count = picture.chunks_exact(4).filter(|p| near(p)).count();
                assert!(count > 20, "{name} {colour:?}: {count}");
            }
        }
    }
}

/// Width and height of a PNG.
fn png_size(path: &std::path::Path) -> [u32; 2] {
    let bytes = std::fs::read(path).unwrap();
    [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()))
}

#[test]
fn plots_and_films_have_the_size_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (model, size) in [
        ("figure-eight", [640, 360]),
        ("solar-system", [501, 700]),
        ("six-bodies", [200, 150]),
    ] {
        let text = format!("{}x{}", size[0], size[1]);
        nbody()
            .current_dir(folder.path())
            .args(["--model", model, "--steps", "50", "--size", &text])
            .args(["--plots", model, "--film", "a.webp", "--film", "a.gif"])
            .args(["--frames", "7", "--fps", "4", "--quiet"])
            .assert()
            .success();
        for name in ["orbits.png", "energy.png"] {
            assert_eq!(png_size(&at(model).join(name)), size, "{model} {name}");
        }
        let film = std::io::BufReader::new(std::fs::File::open(at("a.webp")).unwrap());
        let mut film = image_webp::WebPDecoder::new(film).unwrap();
        assert_eq!((film.dimensions(), film.num_frames()), (size.into(), 7));
        let mut pixels = vec![0; film.output_buffer_size().unwrap()];
        assert_eq!(
            film.read_frame(&mut pixels).unwrap(),
            250,
            "a quarter second"
        );
        let mut film = gif::DecodeOptions::new()
            .read_info(std::fs::File::open(at("a.gif")).unwrap())
            .unwrap();
        let frame = film.read_next_frame().unwrap().unwrap();
        assert_eq!([frame.width, frame.height].map(u32::from), size);
        assert_eq!(frame.delay, 25);
    }
    nbody()
        .current_dir(folder.path())
        .args([
            "--model",
            "figure-eight",
            "--plots",
            "small",
            "--size",
            "60x40",
        ])
        .assert()
        .code(1)
        .stderr(contains("choose a larger --size"));
}

#[cfg(unix)]
#[test]
fn an_mp4_of_orbits_is_drawn_for_ffmpeg_or_refused_before_the_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let film = |path: &std::path::Path| {
        let mut command = nbody();
        command
            .current_dir(folder.path())
            .args(["--model", "figure-eight", "--steps", "50", "--quiet"])
            .args(["--film", "a.mp4", "--size", "200x150", "--frames", "5"])
            .env("PATH", path);
        command.assert()
    };
    film(std::path::Path::new("")).code(2).stderr(
        contains("'--film'")
            .and(contains("ffmpeg"))
            .and(contains(".webp")),
    );
    // Programs with the name ffmpeg: one tells its arguments and how many bytes it was given, others fail.
    let program = |name: &str, text: &str| {
        let tools = folder.path().join(name);
        std::fs::create_dir_all(&tools).unwrap();
        let ffmpeg = tools.join("ffmpeg");
        std::fs::write(&ffmpeg, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&ffmpeg, std::fs::Permissions::from_mode(0o755)).unwrap();
        tools
    };
    let told = "for last; do :; done\n(echo \"$@\"; /usr/bin/env wc -c) > \"$last\"";
    let told = told.replace("/usr/bin/env wc", "/usr/bin/wc");
    film(&program("tells", &told)).success();
    let told = std::fs::read_to_string(folder.path().join("a.mp4")).unwrap();
    assert!(
        told.contains("-video_size 200x150 -framerate 20 -i pipe:0"),
        "{told}"
    );
    assert_eq!(
        told.lines().last().unwrap().trim(),
        (5 * 200 * 150 * 3).to_string()
    );
    std::fs::remove_file(folder.path().join("a.mp4")).unwrap();
    for failing in [
        "echo no such codec >&2\nexit 1",
        "cat > /dev/null\necho no such codec >&2\nexit 1",
    ] {
        film(&program("fails", &failing.replace("cat", "/bin/cat")))
            .code(1)
            .stderr(contains("no such codec"));
        assert!(!folder.path().join("a.mp4").exists());
    }
}

#[test]
fn six_bodies_are_the_documents_study() {
    let run = nbody()
        .args(["--model", "six-bodies", "--steps", "2000", "--json"])
        .output()
        .unwrap();
    let object: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(object["bodies"], 6);
    assert_eq!(object["specification"]["dt"], 1e-5);
    assert_eq!(object["specification"]["integrator"], "symplectic-euler");
}

#[test]
fn snapshots_are_the_states_of_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &str| {
        let mut command = crate::support::trisolar(folder.path());
        command.args(words.split(' ')).assert()
    };
    // Records at steps 0, 4, 8 and 10.
    run("nbody --n 5 --steps 10 --every 4 --snapshots sn --trajectory t.npz --out end.npz")
        .success();
    let open = |name: &str| trisolar::io::npz::NpzReader::open(folder.path().join(name)).unwrap();
    let positions = |name: &str, array: &str| open(name).array::<f64>(array).unwrap().values;
    let all = positions("t.npz", "position");
    for (n, of_record) in all.chunks(15).enumerate() {
        assert_eq!(positions(&format!("sn/{n:05}.npz"), "position"), of_record);
    }
    assert_eq!(all.len(), 4 * 15);
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("sn/00003.npz"), read("end.npz"));
    assert!(!folder.path().join("sn/00004.npz").exists());
    run("nbody --n 5 --steps 10 --snapshots sn")
        .code(2)
        .stderr(predicates::str::contains("another run"));
}

/// The program in a folder.
fn trisolar(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("trisolar").unwrap();
    command.current_dir(folder);
    command
}

#[test]
fn units_do_not_change_the_forces_of_any_precision() {
    let folder = tempfile::tempdir().unwrap();
    // A binary of period 2π, and the same in other units of length and time, which are powers of two.
    let ends = |precision: &str, length: f64, time: f64| {
        let speed = length / time;
        let (x, v) = (0.5 * length, 0.5 * speed);
        let csv = format!(
            "mass,x,y,z,vx,vy,vz\n0.5,{x:e},0,0,0,{v:e},0\n0.5,{:e},0,0,0,{:e},0\n",
            -x, -v
        );
        fs::write(folder.path().join("pair.csv"), csv).unwrap();
        let (g, dt) = (length * speed * speed, time / 64.0);
        let arguments = format!(
            "nbody --input pair.csv --g {g:e} --dt {dt:e} --steps 400 --precision {precision} --backend cpu --out end.csv --quiet"
        );
        trisolar(folder.path())
            .args(arguments.split(' '))
            .assert()
            .success();
        let end = fs::read_to_string(folder.path().join("end.csv")).unwrap();
        let rows = end
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        let numbers = rows.flat_map(|row| {
            row.split(',')
                .skip(1)
                .take(2)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        numbers
            .map(|x| x.parse::<f64>().unwrap() / length)
            .collect::<Vec<f64>>()
    };
    for precision in ["f64", "f32", "float-float"] {
        let usual = ends(precision, 1.0, 1.0);
        assert_eq!(usual.len(), 4);
        for exponent in [-60, 50, 90] {
            let unit = 2.0_f64.powi(exponent);
            assert_eq!(
                ends(precision, unit, 1.0),
                usual,
                "{precision} 2^{exponent}"
            );
            assert_eq!(
                ends(precision, unit, unit),
                usual,
                "{precision} 2^{exponent}"
            );
        }
    }
    let far =
        "mass,x,y,z,vx,vy,vz\n1,0,0,0,0,0,0\n1,1,0,0,0,0,0\n1,0,1,0,0,0,0\n1,1e15,0,0,0,0,0\n";
    fs::write(folder.path().join("far.csv"), far).unwrap();
    for (command, precision, allowed) in [
        ("nbody", "f32", false),
        ("nbody", "float-float", false),
        ("nbody", "f64", true),
        ("cluster", "split-f32", false),
        ("cluster", "f64", true),
    ] {
        let end = if command == "nbody" {
            "--steps 1"
        } else {
            "--end 0.0625"
        };
        let arguments = format!("{command} --input far.csv {end} --precision {precision} --quiet");
        let run = trisolar(folder.path()).args(arguments.split(' ')).assert();
        match allowed {
            true => run.success(),
            false => run.code(2).stderr(contains("4").and(contains(precision))),
        };
    }
}

#[test]
fn columns_of_a_series_that_are_not_numbers_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let bodies = "mass,x,y,z,vx,vy,vz\n1,0,0,0,0,0,0\n";
    fs::write(at("one.csv"), format!("{bodies}0,1,0,0,0,1,0\n")).unwrap();
    fs::write(at("two.csv"), format!("{bodies}1e-3,1,0,0,0,1,0\n")).unwrap();
    let undefined = "the series has nan where a column is not defined";
    let run = |command: &[&str], input: &str, series: &str| -> Vec<String> {
        let (input, series) = (at(input), at(series));
        let output = Command::cargo_bin("trisolar")
            .unwrap()
            .args(command)
            .args(["--json", "--quiet", "--softening", "0", "--input", &input])
            .args(["--series", &series])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let notes = report["notes"].as_array().unwrap().iter();
        let notes = notes.map(|note| note.as_str().unwrap().to_owned());
        notes.filter(|note| note.starts_with(undefined)).collect()
    };
    let nbody = ["nbody", "--steps", "10"];
    let named = |note: &[String], columns: &str| matches!(note, [note] if note.ends_with(columns));
    // A massless body has no potential energy, to which the virial ratio relates the kinetic one.
    let notes = run(&nbody, "one.csv", "one-series.csv");
    assert!(named(&notes, ": virial_ratio"), "{notes:?}");
    let series = fs::read_to_string(at("one-series.csv")).unwrap();
    let column = series.split(',').position(|name| name == "virial_ratio");
    for line in series.lines().skip(1) {
        for (k, number) in line.split(',').enumerate() {
            assert_eq!(number == "NaN", Some(k) == column, "column {k}: {line}");
        }
    }
    assert_eq!(run(&nbody, "two.csv", "two.csv.npz"), [""; 0]);
    // Two stars have no sixth neighbour, by which the density of the core is estimated.
    let cluster = ["cluster", "--end", "0.25"];
    let notes = run(&cluster, "two.csv", "cluster.npz");
    assert!(named(&notes, ": core_radius"), "{notes:?}");
}

#[test]
fn records_that_fit_on_no_disk_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &str| {
        let mut command = nbody();
        command.current_dir(folder.path());
        let all = "--model figure-eight --dt 1e-3 --steps 4000000000000000 --every 1";
        command.args(all.split(' ')).args(args.split(' ')).assert()
    };
    for args in ["--series s.csv", "--trajectory t.npz", "--snapshots shots"] {
        let refused = run(args).code(2);
        refused.stderr(contains("'1' for '--every'").and(contains("GiB of space in")));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{args}");
    }
}

#[test]
fn integrators_are_compared_in_one_table_and_one_picture() {
    let folder = tempfile::tempdir().unwrap();
    let output = nbody()
        .current_dir(folder.path())
        .args(["--model", "kepler", "--integrator", "leapfrog,adaptive"])
        .args(["--end", "5", "--plots", "compared", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(folder.path().join("compared/energy.png").exists());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |k: usize| &report["integrators"][k];
    assert_eq!(of(0)["integrator"], "leapfrog");
    assert_eq!(of(1)["integrator"], "adaptive");
    let largest = |k: usize| of(k)["largest_energy_error"].as_f64().unwrap().abs();
    assert!(largest(1) < 1e-3 * largest(0), "{report:#}");
}

#[test]
fn a_model_in_other_units_takes_the_same_time_to_come_to_the_same_place() {
    let folder = tempfile::tempdir().unwrap();
    let end = |name: &str, more: &[&str]| {
        let path = folder.path().join(name);
        nbody()
            .args(["--model", "solar-system", "--steps", "800", "-q", "--out"])
            .arg(&path)
            .args(more)
            .assert()
            .success();
        trisolar::nbody::files::read(&path).unwrap()
    };
    let (own, years) = (
        end("own.npz", &[]),
        end("years.npz", &["--units", "au,yr,msun"]),
    );
    for (a, b) in own.bodies.position.iter().zip(&years.bodies.position) {
        assert!(a.distance(*b) < 1e-11 * a.length().max(1.0), "{a} {b}");
    }
    for (a, b) in own.bodies.velocity.iter().zip(&years.bodies.velocity) {
        assert!(
            (*a * 365.25).distance(*b) < 1e-11 * b.length().max(1.0),
            "{a} {b}"
        );
    }
    let g = [own, years].map(|file| file.carried.g.unwrap());
    assert!((g[0] * 365.25_f64.powi(2) / g[1] - 1.0).abs() < 1e-14);
}
