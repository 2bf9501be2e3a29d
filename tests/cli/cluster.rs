//! Tests of `trisolar cluster`.

use crate::support;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

fn cluster(folder: &std::path::Path) -> Command {
    let mut command = support::trisolar(folder);
    command.arg("cluster");
    command
}

#[test]
fn a_resumed_run_ends_in_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &str| {
        let mut command = cluster(folder.path());
        command.args(args.split_whitespace()).assert().success();
    };
    run("--n 100 --end 0.75 --out whole.txt --out whole.npz --series whole-series.npz --quiet");
    run("--n 100 --end 0.3125 --checkpoint half.npz --out resumed.txt --threads 1 --quiet");
    run("--resume half.npz --end 0.75 --quiet");
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("whole.txt").len() > 1000);
    assert_eq!(read("whole.txt"), read("resumed.txt"));
    // Text and npz files contain the same bodies.
    let bodies =
        |name: &str| trisolar::hermite::files::read_bodies(&folder.path().join(name)).unwrap();
    assert_eq!(bodies("whole.txt"), bodies("whole.npz"));
    assert_eq!(bodies("whole.txt").len(), 100);
}

#[test]
fn diagnostics_are_printed_saved_and_plotted() {
    let folder = tempfile::tempdir().unwrap();
    cluster(folder.path())
        .args("--n 64 --order 4 --end 0.5 --series s.npz --snapshots shots --plots p".split(' '))
        .assert()
        .success()
        .stdout(
            contains("order 4")
                .and(contains("0.5000"))
                .and(contains("Gflop/s")),
        );
    let exists = |name: &str| folder.path().join(name).exists();
    for name in [
        "shots/00000.npz",
        "shots/00002.npz",
        "p/energy.png",
        "p/radii.png",
        "p/steps.png",
        "p/density.png",
        "p/orbits.png",
    ] {
        assert!(exists(name), "{name}");
    }
    let mut series = trisolar::io::npz::NpzReader::open(folder.path().join("s.npz")).unwrap();
    assert_eq!(
        series.array::<f64>("time").unwrap().values,
        [0.0, 0.25, 0.5]
    );
    assert_eq!(series.array::<f64>("lagrange_radii").unwrap().shape, [3, 8]);
    let steps = series.array::<f64>("step_histogram").unwrap().values;
    let total = series.array::<f64>("steps").unwrap().values[2];
    assert_eq!(steps.iter().sum::<f64>(), total);
}

#[test]
fn orbits_and_films_do_not_change_a_run_and_grow_when_it_is_extended() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &str| {
        let mut command = cluster(folder.path());
        command.args(args.split_whitespace()).assert().success();
    };
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    // Paths of so few particles are also recorded between the lines of diagnostics; the first end is at none of these times.
    let drawn = "--n 20 --plots p --film f.webp --size 240x200 --frames 6 --view xy --quiet";
    run("--n 20 --end 0.8 --out plain.txt --quiet");
    run(&format!("{drawn} --end 0.8 --out whole.txt"));
    let whole = ["whole.txt", "p/orbits.png", "p/density.png", "f.webp"].map(read);
    assert_eq!(read("plain.txt"), whole[0]);
    for png in &whole[1..3] {
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!([side(16), side(20)], [240, 200]);
    }
    std::fs::remove_dir_all(folder.path().join("p")).unwrap();
    std::fs::remove_file(folder.path().join("f.webp")).unwrap();
    run(&format!(
        "{drawn} --end 0.31 --out whole.txt --checkpoint c.npz"
    ));
    assert_ne!(read("p/orbits.png"), whole[1]);
    run("--resume c.npz --end 0.8 --quiet");
    let resumed = ["whole.txt", "p/orbits.png", "p/density.png", "f.webp"].map(read);
    assert!(whole == resumed);
}

#[test]
fn invalid_input_is_rejected_with_the_option_and_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("short.txt"), "0 1.0 0 0\n").unwrap();
    std::fs::write(
        folder.path().join("twins.txt"),
        "0 1 0 0 0 0 0 0\n1 1 0 0 0 1 0 0\n",
    )
    .unwrap();
    for (args, message) in [
        ("--order 5", "must be 4, 6 or 8"),
        ("--max-step 0.1", "must be a power of two"),
        ("--min-step 0.125", "to the longest step, 0.0625"),
        ("--softening -1", "must be 0 or from"),
        ("--eta 0", "must be from 1e-6 to 1e6"),
        ("--every 0", "must be a finite number above 0"),
        (
            "--end 0",
            "must be a finite time after 0, the time of the start, or before it",
        ),
        ("--n 1", "must be a whole number from 2"),
        ("--out x.foo", "must end in .csv, .npz or .txt"),
        ("--input none.txt", "no such file"),
        (
            "--input short.txt",
            "short.txt:1:10: the line ends after 4 numbers",
        ),
        ("--input twins.txt --softening 0", "they coincide"),
        ("--resume none.npz", "no such file"),
        ("--precision single", "must be f64 or split-f32"),
        ("--w0 5", "needs --model king"),
        ("--model king --w0 20", "must be from 0.1 to 16"),
        ("--model burrau --n 3", "cannot be used with --model burrau"),
        ("--neighbours 9", "needs --scheme ahmad-cohen"),
        (
            "--scheme ahmad-cohen --order 6",
            "must be 4 with --scheme ahmad-cohen",
        ),
        (
            "--scheme ahmad-cohen --neighbours 0",
            "must be from 1 to 4096",
        ),
        ("--gpus 2", "needs --backend gpu"),
        ("--block-step device", "needs --backend gpu"),
        ("--block-step gpu", "must be auto, host or device"),
        (
            "--block-step device --backend gpu --gpus 2 --scheme ahmad-cohen",
            "needs --gpus 1 with --scheme ahmad-cohen",
        ),
        (
            "--model plumer",
            "must be plummer, king, burrau or figure-eight",
        ),
        ("--scheme fast", "must be plain or ahmad-cohen"),
        ("--close-pairs all", "must be plain or regularised"),
        ("--pair-radius 0.1", "needs --close-pairs regularised"),
        (
            "--close-pairs regularised --softening 0.01",
            "must be 0 with --close-pairs regularised",
        ),
        (
            "--close-pairs regularised --scheme ahmad-cohen",
            "cannot be used with --close-pairs regularised",
        ),
        (
            "--close-pairs regularised --block-step device --backend gpu",
            "cannot be used with --close-pairs regularised",
        ),
        (
            "--model burrau --seed 2",
            "cannot be used with --model burrau",
        ),
        (
            "--precision split-f32 --softening 1e10",
            "at most 1e9 with --precision split-f32",
        ),
    ] {
        cluster(folder.path())
            .args(args.split(' '))
            .assert()
            .code(2)
            .stderr(contains(message));
    }
}

#[test]
fn a_step_across_a_head_on_encounter_gives_a_warning_that_names_the_pair() {
    let folder = tempfile::tempdir().unwrap();
    let text = "0 1.0 30 0 0 0 0 0\n1 0.5 0.05 0.0005 0 -5 0 0\n2 0.5 -0.05 -0.0005 0 5 0 0\n";
    std::fs::write(folder.path().join("pair.txt"), text).unwrap();
    let run = |args: &str| {
        let mut command = cluster(folder.path());
        command.args("--input pair.txt --softening 0 --end 0.0625".split(' '));
        command.args(args.split(' ')).assert().success()
    };
    let coarse = "--eta-start 20";
    run(coarse).stdout(
        contains("warning")
            .and(contains("at least 8 times too long"))
            .and(contains("bodies 2 and 3").or(contains("bodies 3 and 2"))),
    );
    let json = run(&format!("{coarse} --json"));
    let object: serde_json::Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    assert!(object["worst_step"]["ratio"].as_f64().unwrap() >= 8.0);
    // Steps that resolve the passage give no warning.
    run("--order 6").stdout(contains("warning").not());
}

#[test]
fn the_neighbour_scheme_resumes_to_the_same_bytes_and_reports_its_lists() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &str| {
        let mut command = cluster(folder.path());
        command.args(args.split_whitespace()).assert().success()
    };
    let start = "--model king --w0 5 --n 150 --scheme ahmad-cohen --neighbours 10";
    run(&format!("{start} --end 0.5 --out whole.txt")).stdout(contains("neighbours on average"));
    run(&format!(
        "{start} --end 0.21875 --checkpoint half.npz --out resumed.txt --quiet"
    ));
    run("--resume half.npz --end 0.5 --quiet");
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("whole.txt") == read("resumed.txt"));
}

#[test]
fn burraus_problem_agrees_with_the_known_solution_to_eight_digits_at_time_20() {
    let folder = tempfile::tempdir().unwrap();
    cluster(folder.path())
        .args("--model burrau --order 8 --eta 0.06 --eta-start 0.01 --iterations 3".split(' '))
        .args("--end 20 --every 20 --out end.npz --quiet".split(' '))
        .assert()
        .success();
    let bodies = trisolar::hermite::files::read_bodies(&folder.path().join("end.npz")).unwrap();
    for (x, known) in
        bodies.position[0]
            .to_array()
            .iter()
            .zip([3.004292636696399, 0.511925235024686, 0.0])
    {
        assert!((x - known).abs() < 1e-8, "{x} {known}");
    }
}

#[test]
fn bench_measures_rates_and_units_of_every_engine() {
    let folder = tempfile::tempdir().unwrap();
    let bench = |more: &[&str]| {
        let mut command = support::trisolar(folder.path());
        command.args(["bench", "cluster"]);
        command.args("--backend cpu --n 64 --order 4 --seconds 0.05".split(' '));
        let out = command
            .args(more)
            .assert()
            .success()
            .get_output()
            .stdout
            .clone();
        String::from_utf8(out).unwrap()
    };
    let object: serde_json::Value = serde_json::from_str(&bench(&["--json"])).unwrap();
    assert!(object["rates"].as_array().unwrap().len() > 2);
    for rate in object["rates"].as_array().unwrap() {
        let flops = 60.0 * rate["pairs_per_second"].as_f64().unwrap();
        assert!(flops > 0.0 && (rate["flops"].as_f64().unwrap() / flops - 1.0).abs() < 1e-9);
    }
    assert!(object["units"][0]["steps"].as_u64().unwrap() > 0);
    // The table of one engine, since the slower ones take seconds.
    let table = bench(&["--simd", trisolar::simd::Simd::best().name()]);
    assert!(table.lines().all(|l| l.chars().count() <= 80));
}

#[test]
fn a_close_pair_that_takes_most_steps_is_told_how_to_be_regularised() {
    let folder = tempfile::tempdir().unwrap();
    // A pair among stars on a ring, as close as binaries past core collapse are.
    let [mass, distance] = [1.0 / 17.0, 2e-4_f64];
    let speed = (2.0 * mass / distance).sqrt() / 2.0;
    let mut stars = String::from("mass,x,y,z,vx,vy,vz\n");
    for k in 0..16 {
        let (y, x) = (f64::from(k) * std::f64::consts::TAU / 16.0).sin_cos();
        let pair: &[f64] = if k == 0 { &[0.5, -0.5] } else { &[0.0] };
        for side in pair {
            let (x, vy) = (x + side * distance, 0.6 * x + 2.0 * side * speed);
            stars += &format!("{mass},{x},{y},0,{},{vy},0\n", -0.6 * y);
        }
    }
    std::fs::write(folder.path().join("stars.csv"), stars).unwrap();
    let run = |args: &str| {
        let mut command = cluster(folder.path());
        command.args("--input stars.csv --softening 0 --end 0.02 --every 0.01".split(' '));
        let output = command.args(args.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let hint = "--close-pairs regularised, with --softening 0";
    let [summary, said] = run("");
    assert_eq!(said.matches(hint).count(), 1, "{said}");
    // Lines of the summary are broken between words.
    assert!(summary.contains("--close-pairs regularised"), "{summary}");
    let [report, said] = run("--json --quiet");
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let notes = report["notes"].as_array().unwrap();
    let hints = notes
        .iter()
        .filter(|note| note.as_str().unwrap().contains(hint));
    assert_eq!((hints.count(), said.contains(hint)), (1, false), "{report}");
    // With the advice taken, and for a cluster without such a pair, there is none.
    for args in ["--close-pairs regularised", "--softening 0.01"] {
        let mut command = cluster(folder.path());
        command.args("--input stars.csv --end 0.02 --every 0.01".split(' '));
        let softened = args.contains("softening");
        let output = command
            .args(if softened {
                &[][..]
            } else {
                &["--softening", "0"]
            })
            .args(args.split(' '))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains(hint), "{args}: {said}");
    }
}
