//! Tests of `trisolar map`: equations as text.

use crate::support;

use std::path::Path;
use std::process::Output;

use serde_json::Value;
use trisolar::io::npz::NpzReader;

const LORENZ: &str = "x'=s*(y-x); y'=x*(r-z)-y; z'=x*y-b*z";
const NEWTON: &str = "n=x^2+y^2; x'=(2*x+(x^2-y^2)/n^2)/3; y'=(2*y-2*x*y/n^2)/3
    one: (x-1)^2+y^2 < 1e-6
    up: (x+1/2)^2+(y-sqrt(3)/2)^2 < 1e-6
    down: (x+1/2)^2+(y+sqrt(3)/2)^2 < 1e-6";

fn map(folder: &Path, options: &[&str]) -> Output {
    let mut command = support::trisolar(folder);
    command.args(["map", "--backend", "cpu"]).args(options);
    command.output().unwrap()
}

fn columns(folder: &Path, options: &[&str], names: &[&str]) -> Vec<Vec<f64>> {
    let value = names.join(",");
    let more = ["--value", &value, "--out", "map.npz", "--quiet"];
    let output = map(folder, &[options, &more].concat());
    assert!(output.status.success(), "{output:?}");
    let mut file = NpzReader::open(folder.join("map.npz")).unwrap();
    let read = |name: &&str| file.array::<f64>(name).unwrap().values;
    names.iter().map(read).collect()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn lorenz_has_the_state_exponent_and_megno_of_a_computation_with_34_digits() {
    let folder = tempfile::tempdir().unwrap();
    // The first pixel of the axes begins at (1, 1).
    let options = [
        "--ode",
        LORENZ,
        "--set",
        "s=10,r=28,b=8/3",
        "--map",
        "x=1:2,y=1:2",
        "--size",
        "2",
        "--end",
        "10",
        "--tolerance",
        "1e-13",
    ];
    let names = ["x", "y", "z", "lyapunov", "megno"];
    let found = columns(folder.path(), &options, &names);
    let expected = [
        -4.902687541134645732,
        -3.743872921802919616,
        24.69085810279055545,
        0.0563947920606865480,
        0.0286040712624095389,
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found[0] - expected).abs() < 1e-8,
            "{} {expected}",
            found[0]
        );
    }
    // The bits do not depend on the instruction set and the number of threads.
    let again = [&options[..], &["--threads", "1", "--simd", "scalar"]].concat();
    assert_eq!(columns(folder.path(), &again, &names), found);
}

#[test]
fn newtons_fractal_has_the_known_counts_and_entropies() {
    let folder = tempfile::tempdir().unwrap();
    // The centres of 1000 x 1000 pixels of [-2, 2]².
    let options = [
        "--iterate",
        NEWTON,
        "--map",
        "x=-1.998:2.002,y=-1.998:2.002",
        "--size",
        "1000",
        "--end",
        "200",
        "--value",
        "outcome,time",
        "--out",
        "newton.npz",
        "--out",
        "newton.png",
        "--json",
    ];
    let found = json(&map(folder.path(), &options));
    let outcomes = found["outcomes"].as_array().unwrap();
    let count = |name: &str| outcomes.iter().find(|pair| pair[0] == name).unwrap()[1].as_u64();
    let counts = ["one", "up", "down"].map(|name| count(name).unwrap());
    assert_eq!(counts, [352_806, 323_597, 323_597]);
    assert!(folder.path().join("newton.png").exists());
    let mut atlas = support::trisolar(folder.path());
    let found = json(
        &atlas
            .args(["atlas", "newton.npz", "--json"])
            .output()
            .unwrap(),
    );
    assert_eq!(found["basins"][0]["what"], "one", "{found}");
    let entropy = found["entropies"][0]["entropy"]
        .as_f64()
        .unwrap_or_default();
    assert!(
        (entropy - 0.046937956563).abs() < 1e-10,
        "{}",
        found["entropies"]
    );
}

#[test]
fn options_have_defaults_which_the_report_names() {
    let folder = tempfile::tempdir().unwrap();
    let options = [
        "--ode",
        LORENZ,
        "--set",
        "s=10,r=28,b=8/3",
        "--size",
        "8",
        "--end",
        "1",
    ];
    let output = map(folder.path(), &options);
    let said = String::from_utf8(output.stdout).unwrap();
    for words in [
        "x from -2 to 2, y from -2 to 2",
        "r = 28, s = 10",
        "z = 1",
        "dop853",
        "lyapunov",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(folder.path().join("map.png").exists());
    // Drawn items are no map.
    let drawn = [
        "--ode",
        "x'=-x",
        "--draw",
        "x=uniform:1:2",
        "--n",
        "50",
        "--value",
        "x",
        "--end",
        "1",
        "--json",
    ];
    let found = json(&map(folder.path(), &drawn));
    let mean = found["columns"][0][1]["mean"].as_f64().unwrap();
    assert!((mean - 1.5 / std::f64::consts::E).abs() < 0.03, "{mean}");
    assert_eq!(found["files"].as_array().unwrap().len(), 0);
}

#[test]
fn a_map_is_resumed_and_made_of_parts_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let options = [
        "--ode",
        LORENZ,
        "--set",
        "s=10,r=28,b=8/3",
        "--size",
        "20",
        "--end",
        "2",
    ];
    let run = |more: &[&str]| {
        let output = map(folder.path(), &[&options[..], &["--quiet"], more].concat());
        assert!(output.status.success(), "{output:?}");
    };
    run(&["--out", "whole.npz", "--save-config", "lorenz.toml"]);
    run(&["--out", "streamed.npz", "--stream"]);
    for part in ["1/3", "2/3", "3/3"] {
        run(&["--out", "parts.npz", "--part", part]);
    }
    let mut merge = support::trisolar(folder.path());
    let parts = [1, 2, 3].map(|k| format!("parts.npz.{k}-of-3.part"));
    let output = merge.arg("merge").args(parts).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut again = support::trisolar(folder.path());
    again.args([
        "map",
        "--backend",
        "cpu",
        "--quiet",
        "--config",
        "lorenz.toml",
        "--out",
        "again.npz",
    ]);
    let output = again.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    for name in ["streamed.npz", "parts.npz", "again.npz"] {
        assert!(bytes(name) == bytes("whole.npz"), "{name}");
    }
}

#[test]
fn what_is_not_allowed_is_refused_with_its_option_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let lorenz = ["--ode", LORENZ, "--set", "s=10,r=28,b=8/3"];
    let with = |more: &[&'static str]| [&lorenz[..], more].concat();
    let deep = format!("x'={}x{}", "(".repeat(20_000), ")".repeat(20_000));
    let long = format!("x'=0{}", "+x".repeat(50_000));
    let signs = format!("x'={}x", "-".repeat(50_000));
    for (options, words) in [
        (vec!["--set", "a=1"], &["--ode", "missing"][..]),
        (vec!["--ode", "x'=1", "--iterate", "x'=1"], &["--iterate"]),
        (
            vec!["--ode", LORENZ],
            &["--ode", "x'", "no s", "parameters need values"],
        ),
        (
            vec!["--ode", "x' = xx"],
            &["did you mean x?", "character 6"],
        ),
        (
            vec!["--ode", "x'=1;x'=2"],
            &["x' is given twice", "character 6"],
        ),
        (vec!["--ode", ""], &["no equation of the form x' = ..."]),
        (
            vec!["--ode", "x'=1/y;y'=1", "--map", "x=0:1", "--set", "y=0"],
            &["x'", "inf", "division by zero"],
        ),
        (vec!["--ode", "x'=ln(-1-x^2)"], &["x'", "NaN", "logarithm"]),
        (vec!["--iterate", "x'=t"], &["no time t"]),
        (
            vec!["--iterate", "x'=x", "--end", "1.5"],
            &["--end", "1.5", "whole number"],
        ),
        (
            with(&["--set", "q=1"]),
            &["q does not occur in the equations"],
        ),
        (
            with(&["--set", "x=1,x=2"]),
            &["'s=10,r=28,b=8/3,x=1,x=2' for '--set'", "x is given twice"],
        ),
        (with(&["--set", "x=nan"]), &["--set", "nan"]),
        (with(&["--map", "sigma=0:1"]), &["sigma does not occur"]),
        (with(&["--map", "x=1:0"]), &["--map", "ascend"]),
        (
            with(&["--map", "x=0:1,x=0:2"]),
            &["--map", "x is given twice"],
        ),
        (with(&["--size", "0"]), &["--size"]),
        (
            with(&["--step", "0", "--method", "rk4"]),
            &["--step", "above 0"],
        ),
        (with(&["--step", "1e-12", "--method", "rk4"]), &["--step"]),
        (with(&["--end", "nan"]), &["--end"]),
        (with(&["--tolerance", "1"]), &["--tolerance"]),
        (
            with(&["--method", "euler"]),
            &["--method", "dop853, rk4, tsit5"],
        ),
        (
            with(&["--value", "q"]),
            &["--value", "lyapunov, megno, x, y, z"],
        ),
        (with(&["--out", "map.txt"]), &["--out", ".npz"]),
        (vec!["--ode", "time'=1"], &["time", "results"]),
        (vec!["--ode", &deep], &["more than 100 parentheses"]),
        (vec!["--ode", &long], &["bytes"]),
    ] {
        let output = map(folder.path(), &options);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{options:?}: {said}");
        }
        assert!(said.len() < 2_000, "{said}");
    }
    let output = map(
        folder.path(),
        &["--ode", &signs, "--size", "2", "--end", "1"],
    );
    assert!(output.status.success(), "{output:?}");
}
