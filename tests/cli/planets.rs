//! Tests of `trisolar planets`.

use crate::support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use trisolar::io::npz::NpzReader;

fn planets(folder: &Path, options: &str) -> std::process::Output {
    let mut command = support::trisolar(folder);
    command
        .arg("planets")
        .args(options.split_whitespace())
        .args(["--backend", "cpu"]);
    command.output().unwrap()
}

/// Runs the command, which must succeed; returns what it prints.
#[track_caller]
fn printed(folder: &Path, options: &str) -> String {
    let output = planets(folder, options);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{options}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

const MAP: &str =
    "--planet m=1mjup,a=5.2,e=0.05 --planet m=0.3mjup,a=7:10:12,e=0:0.4:8 --years 200 --stop r>20";

#[test]
fn invalid_options_are_rejected_by_name() {
    for (options, words) in [
        ("", &["--planet", "1 to 15 times"][..]),
        ("--planet m=1", &["'m=1'", "--planet", "needs a"]),
        ("--planet a=1,q=2", &["--planet", "there is no q", "Omega"]),
        ("--planet a=1,x=2", &["--planet", "only one of a and x"]),
        ("--planet a=1:2", &["--planet", "LOW:HIGH:N"]),
        ("--planet a=1,e=1.5", &["--planet", "planet 1", "0.999999"]),
        ("--planet a=1,m=-1", &["--planet", "planet 1", "mass"]),
        (
            "--planet a=2 --planet a=1",
            &["--planet", "inside out", "planet 2"],
        ),
        ("--planet a=1 --star 0", &["--star", "0", "1e-6"]),
        ("--planet a=1 --years 0", &["--years", "0", "above 0"]),
        ("--planet a=1 --step 0", &["--step", "'0'", "0.05P"]),
        (
            "--planet a=1 --step 1e9",
            &["--step", "1000000000", "1 to 4e9 steps"],
        ),
        (
            "--planet a=1 --stop r<5",
            &["--stop", "'r<5'", "r>DISTANCE"],
        ),
        (
            "--planet a=1 --observable x",
            &["--observable", "'x'", "megno, lyapunov, time, energy-error"],
        ),
        (
            "--planet a=1 --out x.csv",
            &["--out", "x.csv", ".npz, .npy"],
        ),
        (
            "--planet a=1:2:4 --out x.png",
            &["--out", "x.png", "two axes"],
        ),
        ("--planet a=1:2:4 --n 5", &["--n", "5", "map"]),
        ("--planet a=1 --max-error -1", &["--max-error", "-1"]),
        ("--planet a=1 --stream", &["--stream", "--out is missing"]),
        (
            "--planet a=1 --relativity x",
            &["--relativity", "'x'", "potential, full"],
        ),
        (
            "--planet a=1 --relativity full",
            &["--relativity", "full", "velocities", "adaptive"],
        ),
        (
            "--planet a=1,beta=0.1 --integrator hybrid",
            &["--planet", "planet 1", "beta", "velocities"],
        ),
        (
            "--planet a=1 --integrator x",
            &["--integrator", "'x'", "wisdom-holman, adaptive, hybrid"],
        ),
        (
            "--planet a=1 --tolerance 1e-9",
            &["--tolerance", "--integrator adaptive or hybrid"],
        ),
        (
            "--planet a=1 --form dkd --integrator hybrid",
            &["--form", "dkd", "wisdom-holman"],
        ),
        (
            "--planet a=1 --integrator adaptive --k2 0.1",
            &["--k2", "0.1", "--radius"],
        ),
        (
            "--preset x",
            &["--preset", "'x'", "solar-system", "trappist-1"],
        ),
        ("--preset giants --planet a=1", &["--preset", "--planet"]),
        ("--preset giants --set a5=1", &["--set", "a5=1", "a1 to a4"]),
        ("--preset giants --set a", &["--set", "NAME=NUMBER"]),
        ("--planet a=1 --form x", &["--form", "'x'", "kdk, dkd"]),
        ("--planet a=1 --j2 0.1", &["--j2", "0.1", "--radius"]),
        (
            "--planet a=1 --j4 2 --radius 0.1",
            &["--j4", "2", "-1 to 1"],
        ),
        ("--planet a=1 --radius 0.1", &["--radius", "0.1", "--j2"]),
        (
            "--planet a=1 --angle lambda1",
            &["--angle", "lambda1", "the sum is 1"],
        ),
        (
            "--planet a=1 --observable e-max --of 2",
            &["--of", "2", "from 1 to 1"],
        ),
        (
            "--planet a=1 --j2 0.1 --radius 0:1:4",
            &["--radius", "0:1:4", "one number"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = planets(folder.path(), options);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}: {message}");
        for word in words {
            assert!(
                message.contains(word),
                "{options}: {word:?} not in: {message}"
            );
        }
        assert!(output.stdout.is_empty());
        assert_eq!(support::names(folder.path()), [""; 0]);
    }
}

#[test]
fn a_map_is_written_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        format!("{MAP} --out map.npz --out map.npy --out map.png --json --save-config map.toml");
    let report: Value = serde_json::from_str(&printed(folder.path(), &options)).unwrap();
    assert_eq!(report["systems"], 96);
    assert_eq!(report["errors"]["step_check"]["sample"], 64);
    let outcomes = report["outcomes"].as_object().unwrap().values();
    assert_eq!(outcomes.map(|n| n.as_u64().unwrap()).sum::<u64>(), 96);
    assert!(report["rate"].as_f64().unwrap() > 0.0);
    let mut npz = NpzReader::open(folder.path().join("map.npz")).unwrap();
    let megno = npz.array::<f64>("mean_megno").unwrap();
    assert_eq!(megno.shape, [8, 12]);
    let observable = trisolar::io::npy::read::<f64>(folder.path().join("map.npy")).unwrap();
    let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&observable.values), bits(&megno.values));
    // The saved specification gives the same bytes.
    printed(folder.path(), "--config map.toml --out again.npz");
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("map.npz"), read("again.npz"));
}

#[test]
fn what_is_observed_has_columns_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    for (options, columns) in [
        ("--observable fli", &["fli"][..]),
        ("--observable a-range --of 1", &["a_min", "a_max"]),
        ("--observable amd-stability", &["amd_stability"]),
        (
            "--observable libration --angle 3*lambda2-2*lambda1-pomega1",
            &["libration_centre", "libration_amplitude"],
        ),
    ] {
        let all = format!(
            "{MAP} {options} --out map.npz --out map.npy --out map.png --save-config map.toml -q"
        );
        printed(folder.path(), &all);
        let mut npz = NpzReader::open(folder.path().join("map.npz")).unwrap();
        let last = columns.iter().map(|name| {
            let array = npz.array::<f64>(name).unwrap();
            assert_eq!(array.shape, [8, 12]);
            array.values
        });
        let columns: Vec<Vec<f64>> = last.collect();
        let value = |i: usize| match &columns[..] {
            [low, high] if options.contains("a-range") => high[i] - low[i],
            [.., last] => last[i],
            [] => unreachable!(),
        };
        let path = folder.path().join("map.npy");
        let observable = trisolar::io::npy::read::<f64>(path).unwrap().values;
        for (i, x) in observable.iter().enumerate() {
            assert_eq!(x.to_bits(), value(i).to_bits(), "{options}: {i}");
        }
        assert!(observable.iter().any(|x| x.is_finite()), "{options}");
        printed(folder.path(), "--config map.toml --out again.npz -q");
        printed(
            folder.path(),
            &format!("{MAP} {options} --out stream.npz --stream -q"),
        );
        let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
        assert!(read("map.npz") == read("again.npz"), "{options}");
        assert!(read("map.npz") == read("stream.npz"), "{options}");
    }
    // Others have none of these.
    printed(folder.path(), &format!("{MAP} --out plain.npz -q"));
    let mut npz = NpzReader::open(folder.path().join("plain.npz")).unwrap();
    assert!(npz.array::<f64>("fli").is_err());
}

#[test]
fn parts_and_streams_give_the_bytes_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    printed(folder.path(), &format!("{MAP} --out whole.npz -q"));
    printed(
        folder.path(),
        &format!("{MAP} --out streamed.npz --stream -q"),
    );
    for part in 1..=3 {
        printed(
            folder.path(),
            &format!("{MAP} --out merged.npz --part {part}/3 -q"),
        );
    }
    let mut merge = support::trisolar(folder.path());
    let parts = (1..=3).map(|part| format!("merged.npz.{part}-of-3.part"));
    let merged = merge.arg("merge").args(parts).arg("-q").output().unwrap();
    assert!(merged.status.success(), "{merged:?}");
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("whole.npz") == read("streamed.npz"));
    assert!(read("whole.npz") == read("merged.npz"));
}

#[test]
fn a_single_system_is_reported_with_its_numbers_and_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let said = printed(folder.path(), "--planet m=1mjup,a=1,e=0.1 --years 100");
    for word in [
        "mean megno",
        "lyapunov",
        "followed to the end",
        "step check",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let long = planets(folder.path(), "--planet a=1,e=0.9 --years 100");
    let warning = String::from_utf8(long.stderr).unwrap();
    assert!(
        warning.contains("1/16 of a pericentre passage in 100.0 %"),
        "{warning}"
    );
    let failed = planets(
        folder.path(),
        "--planet m=1mjup,a=1 --planet m=1mjup,a=2 --years 100 --max-error 1e-14",
    );
    assert_eq!(failed.status.code(), Some(1));
    // An error that does not exist is below no limit.
    let options = "--planet a=1 --years 10 --max-error 1 --out kept.npz";
    let massless = planets(folder.path(), options);
    let message = String::from_utf8(massless.stderr).unwrap();
    assert_eq!(massless.status.code(), Some(1), "{message}");
    assert!(
        message.contains("1 systems have no massive planet"),
        "{message}"
    );
    assert!(folder.path().join("kept.npz").exists());
}

#[test]
fn forces_and_forms_are_options_that_other_specifications_do_not_have() {
    let folder = tempfile::tempdir().unwrap();
    let specification = |options: &str| -> Value {
        let options = format!("--planet m=1e-3,a=0.05,inc=0.2 --years 1 --json {options}");
        let report: Value = serde_json::from_str(&printed(folder.path(), &options)).unwrap();
        report["specification"].clone()
    };
    let plain = specification("");
    for name in [
        "form",
        "integrator",
        "tolerance",
        "relativity",
        "j2",
        "j4",
        "radius",
        "k2",
        "lag",
        "spin",
    ] {
        assert!(plain.get(name).is_none(), "{name}");
    }
    let all = specification(
        "--pn potential --j2 2e-7 --j4 -1e-9 --radius 1rsun --form dkd --save-config all.toml",
    );
    assert_eq!(all["relativity"], "potential");
    assert_eq!(all["form"], "dkd");
    assert_eq!(all, specification("--config all.toml"));
    let drags = specification("--integrator adaptive --relativity full --save-config drags.toml");
    assert_eq!(drags["relativity"], "full");
    assert_eq!(drags, specification("--config drags.toml"));
}

#[test]
fn a_preset_is_resumed_and_saved_with_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let options = "--preset kepler-36 --set a2=0.127:0.13:6 --set e1=0.01 --years 1 -q";
    printed(
        folder.path(),
        &format!("{options} --out one.npz --save-config one.toml"),
    );
    printed(
        folder.path(),
        &format!("{options} --out other.npz --stream"),
    );
    printed(folder.path(), "--config one.toml --out again.npz -q");
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("one.npz") == read("other.npz"));
    assert!(read("one.npz") == read("again.npz"));
}
