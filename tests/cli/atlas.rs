//! Tests of `trisolar atlas`.

use crate::support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use trisolar::io::npy;
use trisolar::io::npz::NpzWriter;

fn atlas(folder: &Path, options: &str) -> std::process::Output {
    let mut command = support::trisolar(folder);
    command.arg("atlas").args(options.split_whitespace());
    command.output().unwrap()
}

/// Two stripes of three classes on 40 x 64 pixels, and a file with more than one array.
fn write_maps(folder: &Path) {
    let at = |name: &str| folder.join(name);
    let stripes: Vec<u8> = (0..40 * 64).map(|i| (i % 64 / 22) as u8).collect();
    npy::write(at("map.npy"), &[40, 64], &stripes).unwrap();
    npy::write(at("one.npy"), &[40, 64], &vec![3_u8; 40 * 64]).unwrap();
    npy::write(at("line.npy"), &[40 * 64], &stripes).unwrap();
    npy::write(at("small.npy"), &[4, 64], &stripes[..4 * 64]).unwrap();
    let mut real: Vec<f64> = stripes
        .iter()
        .map(|class| f64::from(*class) + 0.25)
        .collect();
    npy::write(at("real.npy"), &[40, 64], &real).unwrap();
    real[70] = f64::NAN;
    npy::write(at("nan.npy"), &[40, 64], &real).unwrap();
    let mut file = NpzWriter::create(at("two.npz")).unwrap();
    file.array("a", &[40, 64], &stripes).unwrap();
    file.array("b", &[40, 64], &real).unwrap();
    file.finish().unwrap();
    fs::write(at("text.npy"), "not an array").unwrap();
}

#[test]
fn files_that_are_no_maps_of_outcomes_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    write_maps(folder.path());
    for (options, words) in [
        ("none.npy", &["none.npy", "no such file"][..]),
        ("text.npy", &["text.npy", "not a"]),
        ("map.csv", &["map.csv", ".npy or .npz"]),
        ("one.npy", &["all pixels have the class 3"]),
        ("line.npy", &["two axes", "[2560]"]),
        ("small.npy", &["a box of 5 pixels", "64 x 4"]),
        ("map.npy --box 41", &["a box of 41 pixels", "64 x 40"]),
        ("map.npy --box 1", &["--box", "at least 2"]),
        (
            "real.npy",
            &["whole numbers", "row 0, column 0", "0.25", "--limits"],
        ),
        ("nan.npy --limits 1", &["row 1, column 6", "NaN"]),
        ("real.npy --limits 2,1", &["ascending"]),
        (
            "real.npy --limits 5",
            &["all pixels have the class below 5"],
        ),
        ("two.npz", &["--array", "a, b"]),
        ("two.npz --array c", &["there is no array c", "a, b"]),
        ("map.npy --array a", &["single array"]),
        ("map.npy --out map.npy", &["--out", "map.npy"]),
        ("map.npy --out map.txt", &["--out", ".png, .svg or .pdf"]),
    ] {
        let output = atlas(folder.path(), options);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}: {said}");
        for word in words {
            assert!(said.contains(word), "{options}: {said}");
        }
    }
}

#[test]
fn a_map_is_analysed_drawn_and_reported_as_text_and_json() {
    let folder = tempfile::tempdir().unwrap();
    write_maps(folder.path());
    let output = atlas(
        folder.path(),
        "map.npy --box 4 --out m.svg --plots p --json",
    );
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts: Vec<u64> = (found["basins"].as_array().unwrap().iter())
        .map(|basin| basin["count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [22 * 40, 22 * 40, 20 * 40]);
    // The columns 20 to 23 are halved by the edge of a stripe; the other edge is between boxes.
    let entropy = &found["entropies"][0];
    assert_eq!(
        (&entropy["box"], &entropy["boundary_boxes"]),
        (&4.into(), &10.into())
    );
    let close = |value: &Value, to: f64| (value.as_f64().unwrap() - to).abs() < 1e-12;
    assert!(close(&entropy["boundary_entropy"], std::f64::consts::LN_2));
    assert!(close(&entropy["entropy"], std::f64::consts::LN_2 / 16.0));
    assert_eq!(entropy["above_ln_2"], false);
    // Pairs in a column never differ; 2 of 63 pairs of neighbours in a row do.
    let first = &found["uncertainty"]["points"][0];
    assert!(close(&first["share"], 80.0 / (40.0 * 63.0 + 39.0 * 64.0)));
    assert_eq!(found["wada"]["passed"], false);
    assert_eq!(found["wada"]["distance"], 22);
    let files = found["files"].as_array().unwrap();
    assert_eq!(files.len(), 5, "{files:?}");
    for file in files {
        assert!(
            folder.path().join(file.as_str().unwrap()).exists(),
            "{file}"
        );
    }
    let text = String::from_utf8(atlas(folder.path(), "real.npy --limits 1,2").stdout).unwrap();
    for words in ["below 1", "1 to 2", "from 2", "34.375%", "not Wada", "S_bb"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn the_outcomes_of_encounters_and_planets_have_their_names() {
    let folder = tempfile::tempdir().unwrap();
    for (command, names) in [
        (
            "encounters --map phase,inclination --size 24x20 --out map.npz",
            &["body 1 escapes", "body 3 escapes"][..],
        ),
        (
            "planets --planet m=1mjup,a=5.2,e=0.05 --planet m=1mjup,a=5.5:9:24,e=0:0.5:20 --years 300 --stop r>20 --out map.npz",
            &["followed to the end", "escape"],
        ),
    ] {
        let mut made = support::trisolar(folder.path());
        made.args(command.split_whitespace())
            .args(["--backend", "cpu", "--quiet"]);
        assert!(made.output().unwrap().status.success(), "{command}");
        let output = atlas(folder.path(), "map.npz --json");
        assert!(output.status.success(), "{output:?}");
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["size"], serde_json::json!([24, 20]));
        let basins = found["basins"].as_array().unwrap();
        let count: u64 = basins.iter().map(|b| b["count"].as_u64().unwrap()).sum();
        assert_eq!(count, 480);
        for name in names {
            assert!(
                basins.iter().any(|b| b["what"] == *name),
                "{name}: {basins:?}"
            );
        }
    }
}
