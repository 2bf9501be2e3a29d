//! `trisolar compare` compares modes of one map with each other.

use crate::support;

use std::path::Path;

use support::trisolar;

fn compare(directory: &Path, arguments: &[&str]) -> assert_cmd::assert::Assert {
    trisolar(directory)
        .args([
            "compare",
            "--backend",
            "cpu",
            "--size",
            "24",
            "--steps",
            "2000",
        ])
        .args(["--dt", "0.01", "--critical-distance", "0.1", "--json"])
        .args(arguments)
        .assert()
}

#[test]
fn every_mode_is_compared_with_the_first_and_the_differences_are_drawn() {
    let directory = tempfile::tempdir().expect("a folder");
    let out = compare(
        directory.path(),
        &[
            "--modes",
            "exact,fast,f32,fixed:20,leapfrog",
            "--out",
            "d.png",
        ],
    )
    .success();
    let json: serde_json::Value = serde_json::from_slice(&out.get_output().stdout).expect("JSON");
    let modes = json["modes"].as_array().expect("modes");
    let names: Vec<&str> = modes.iter().filter_map(|m| m["mode"].as_str()).collect();
    assert_eq!(names, ["f64", "fast", "f32", "fixed:20", "leapfrog"]);
    assert!(modes[0]["difference"].is_null() && modes[0]["picture"].is_null());
    let equal: Vec<f64> = modes[1..]
        .iter()
        .filter_map(|m| m["difference"]["equal"].as_f64())
        .collect();
    assert_eq!(equal[0], 1.0, "on a CPU fast is f64");
    assert!(equal[1] < 1.0 && equal[2] < equal[1], "{equal:?}");
    for name in ["fast", "f32", "fixed-20", "leapfrog"] {
        let png = std::fs::read(directory.path().join(format!("d-{name}.png"))).expect(name);
        assert_eq!(&png[1..4], b"PNG");
    }
}

/// The rows of pixels of the map in a picture of the dark theme, without the axes. Each has only some columns in the middle of the map.
fn map_rows(path: &Path) -> Vec<Vec<u8>> {
    /// The colour of the frame around the map.
    const FRAME: [u8; 3] = [176, 176, 186];
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("a picture"));
    let mut decoder = png::Decoder::new(file);
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let width = reader.next_frame(&mut pixels).expect("pixels").width as usize;
    let middle = 3 * (2 * width / 5)..3 * (width / 2);
    let rows = pixels
        .chunks(3 * width)
        .map(|row| row[middle.clone()].to_vec());
    let is_line = |row: &Vec<u8>| row.chunks(3).all(|pixel| pixel == FRAME);
    let inside = rows.skip_while(|row| !is_line(row)).skip_while(is_line);
    inside.take_while(|row| !is_line(row)).collect()
}

#[test]
fn the_direction_of_y_turns_the_picture() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path();
    let drawn = |name: &str, quantity: &str, more: &[&str]| {
        let picture = format!("{name}.png");
        let words = [
            "--modes",
            "f64,leapfrog",
            "--quantity",
            quantity,
            "--out",
            &picture,
        ];
        compare(path, &[&words, more].concat()).success();
        map_rows(&path.join(format!("{name}-leapfrog.png")))
    };
    for quantity in ["divergence", "closest-approach"] {
        let [down, mut up] =
            ["down", "up"].map(|y| drawn(&format!("{quantity}-{y}"), quantity, &["--y-axis", y]));
        assert_eq!(drawn(quantity, quantity, &[]), up);
        assert!(down.len() > 100 && down != up, "{quantity}");
        up.reverse();
        assert!(down == up, "{quantity}");
    }
}

/// On a CPU, fixed takes 20 times as long as f64, and float-float 8 times.
#[test]
fn without_modes_the_comparison_takes_as_long_as_a_few_maps() {
    let directory = tempfile::tempdir().expect("a folder");
    let out = compare(directory.path(), &[]).success();
    let json: serde_json::Value = serde_json::from_slice(&out.get_output().stdout).expect("JSON");
    let modes = json["modes"].as_array().expect("modes");
    let names: Vec<&str> = modes.iter().filter_map(|m| m["mode"].as_str()).collect();
    assert_eq!(names, ["f64", "fast", "mixed", "f32"]);
    for mode in modes {
        assert!(mode["speed"].as_f64().expect("a number") > 0.25, "{mode}");
    }
}

/// The fraction of grainy pixels in f64, mixed and f32, in a map around a point of the zoom of Badger's study.
fn grain(size: &str, span: &str, shift: &str, steps: &str) -> [f64; 3] {
    let directory = tempfile::tempdir().expect("a folder");
    let out = trisolar(directory.path())
        .args([
            "compare",
            "--backend",
            "cpu",
            "--modes",
            "f64,mixed,f32",
            "--json",
        ])
        .args(["--center", "5.30031,-0.45", "--size", size, "--span", span])
        .args(["--shift", shift, "--steps", steps])
        .assert()
        .success();
    let json: serde_json::Value = serde_json::from_slice(&out.get_output().stdout).expect("JSON");
    [0, 1, 2].map(|k| json["modes"][k]["grain"].as_f64().expect("a number"))
}

/// A result of Badger's study. Ranges, shifts and steps are those of frames 60 and 300 of its zoom, reduced to a few pixels.
#[test]
fn f32_is_grainy_and_mixed_is_not_until_pixels_are_closer_than_a_millimetre() {
    let [exact, mixed, single] = grain("48", "1.6", "2.5e-4", "102500");
    assert!(mixed < 1.2 * exact, "{mixed} of {exact}");
    assert!(single > 1.5 * exact, "{single} of {exact}");
    let [exact, mixed, single] = grain("24", "0.003125", "9.765625e-7", "312500");
    assert!(mixed > 4.0 * exact, "{mixed} of {exact}");
    assert!(single > 10.0 * exact, "{single} of {exact}");
}

#[test]
fn invalid_modes_and_files_are_rejected_before_anything_is_computed() {
    let directory = tempfile::tempdir().expect("a folder");
    for (arguments, word) in [
        (&["--modes", "f64,single"][..], "float-float"),
        (&["--out", "d.jpg"], ".png"),
        (&["--out", "missing/d.png"], "missing"),
        // Leapfrog does not support f32.
        (
            &["--modes", "leapfrog", "--precision", "f32"],
            "explicit-euler",
        ),
    ] {
        let out = compare(directory.path(), arguments).code(2);
        let text = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
        assert!(text.contains(word), "{arguments:?}: {text}");
    }
    assert_eq!(
        std::fs::read_dir(directory.path())
            .expect("a folder")
            .count(),
        0
    );
}

#[test]
fn a_ladder_names_the_cheapest_right_rung_and_draws_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let ladder = |more: &str| {
        let mut command = trisolar(folder.path());
        let words = "compare --ladder --backend cpu --size 5 --modes leapfrog,regularised-6";
        command.args(words.split(' ')).args(more.split_whitespace());
        command.assert()
    };
    let out = ladder("--out ladder.svg --json").success();
    let json: serde_json::Value = serde_json::from_slice(&out.get_output().stdout).expect("JSON");
    let rungs = json["ladder"]["rungs"].as_array().expect("rungs");
    assert!(rungs.len() >= 7, "{rungs:?}");
    assert_eq!(json["cheapest"]["integrator"], "regularised-6");
    let wrong = json["errors"]["wrong"].as_f64().expect("a share");
    assert!(wrong <= 0.01, "{wrong}");
    let svg = std::fs::read_to_string(folder.path().join("ladder.svg")).expect("a picture");
    assert!(svg.contains(">regularised-6<") && svg.contains(">leapfrog<"));
    let out = ladder("--out ladder.png").success();
    let text = String::from_utf8_lossy(&out.get_output().stdout).into_owned();
    assert!(
        text.contains("≥ 99 % right") && text.contains("per period"),
        "{text}"
    );
    let said = |more: &str, code: i32| {
        let out = ladder(more).code(code);
        String::from_utf8_lossy(&out.get_output().stderr).into_owned()
    };
    assert!(said("--modes f32", 2).contains("--modes"));
    assert!(said("--quantity ftle", 2).contains("--quantity"));
    assert!(said("--out a.npy", 2).contains("--out"));
    assert!(said("--max-error nan", 2).contains("--max-error"));
}
