//! Runs that independent processes compute in parts: what `trisolar merge` makes of them has the bytes of one run.

use std::fs;
use std::path::Path;

use crate::resume::{assert_same, refused, started, succeeds, wait_for};

/// The parts of a run with these options in a folder, in no particular order.
fn compute(folder: &Path, words: &str, order: &[u32]) {
    for part in order {
        let of = order.len();
        succeeds(folder, &format!("{words} --part {part}/{of} -q"));
    }
}

/// Removes files that are left of parts.
fn remove_parts(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if name.contains("-of-") {
            if path.is_dir() {
                fs::remove_dir_all(&path).expect("removed");
            } else {
                fs::remove_file(&path).expect("removed");
            }
        }
    }
}

/// Compares a run with its parts, the names of which are `parts`.
fn merged_is_whole(words: &str, order: &[u32], names: &str) {
    let [whole, divided] = [(), ()].map(|()| tempfile::tempdir().expect("a folder"));
    let (whole, divided) = (whole.path(), divided.path());
    succeeds(whole, &format!("{words} -q"));
    compute(divided, words, order);
    let of = order.len();
    let names: Vec<String> = (order.iter())
        .map(|part| names.replace('*', &format!("{part}-of-{of}")))
        .collect();
    let report = succeeds(divided, &format!("merge {} --json", names.join(" ")));
    let report: serde_json::Value = serde_json::from_str(&report).expect("one JSON object");
    for file in report["files"].as_array().expect("files") {
        assert!(divided.join(file.as_str().expect("a path")).is_file());
    }
    for name in &names {
        assert!(divided.join(name).exists(), "{name} remains");
    }
    remove_parts(divided);
    assert_same(whole, divided);
}

#[test]
fn merged_maps_have_the_bytes_of_one_run_in_every_format() {
    let formats = "--out map.npz --out map.png --out map.npy --out map.tif --out map.zarr.zip --save-config map.toml";
    merged_is_whole(
        &format!("divergence --size 23x7 --steps 300 --backend cpu {formats}"),
        &[3, 1, 2],
        "map.npy.*.part",
    );
    merged_is_whole(
        "divergence --quantity ftle --size 9 --steps 50 --backend cpu --out map.png",
        &[1, 2, 3, 4, 5],
        "map.png.*.part",
    );
}

#[test]
fn merged_encounters_have_the_bytes_of_one_run_in_every_format() {
    merged_is_whole(
        "encounters --map phase,inclination --size 7 --backend cpu --out runs.npz --out runs.csv --out map.png --plots plots",
        &[2, 1, 3],
        "runs.npz.*.part",
    );
}

#[test]
fn merged_zooms_and_sweeps_have_the_bytes_of_one_run() {
    let zoom = "zoom --preset none --frames 5 --size 6 --set span=40/2^frame --set steps=50*(frame+1) --colours steps";
    for (words, order, names) in [
        (format!("{zoom} --npy --zarr --film zoom.gif --out zoom"), &[2, 1][..], "zoom.*"),
        (
            "sweep --vary mass1=5:9:2 --vary dt=0.001,0.002 --size 6 --steps 50 --zarr --out matrix".into(),
            &[1, 3, 2],
            "matrix.*",
        ),
        (
            "encounters zoom --map phase,inclination --to 90,90 --size 4 --frames 3 --npz --out outcomes --film o.webp".into(),
            &[3, 2, 1],
            "outcomes.*",
        ),
        (
            "encounters sweep --vary distance=50:100:2 --n 3 --out ensembles".into(),
            &[1, 2],
            "ensembles.*",
        ),
    ] {
        merged_is_whole(&format!("{words} --backend cpu"), order, names);
    }
}

#[test]
fn arrays_with_more_tasks_than_items_have_empty_parts() {
    let zoom = "zoom --preset none --frames 2 --size 5 --set span=40/2^frame --steps 40";
    for (words, names) in [
        (
            "divergence --size 2x1 --steps 30 --out map.npy --out map.zarr.zip".to_owned(),
            "map.npy.*.part",
        ),
        (
            "encounters --n 2 --out runs.npz --out runs.csv".to_owned(),
            "runs.npz.*.part",
        ),
        (format!("{zoom} --npy --film zoom.gif --out zoom"), "zoom.*"),
        (
            "encounters sweep --vary distance=50,60 --n 3 --out ensembles".to_owned(),
            "ensembles.*",
        ),
    ] {
        merged_is_whole(&format!("{words} --backend cpu"), &[2, 1, 3], names);
    }
    // A task that is started again finds that there is nothing to do.
    let folder = tempfile::tempdir().expect("a folder");
    let again = "divergence --size 1 --steps 30 --backend cpu --out map.npy --part 1/2";
    for _ in 0..2 {
        let report = succeeds(folder.path(), &format!("{again} --json"));
        let report: serde_json::Value = serde_json::from_str(&report).expect("one JSON object");
        assert_eq!(
            (&report["part"], &report["pixel_steps"]),
            (&"1/2".into(), &0.into())
        );
        assert_eq!(report["notes"], serde_json::json!([]));
    }
}

#[cfg(unix)]
#[test]
fn the_advice_after_an_interruption_resumes_a_part() {
    use rustix::process::{Pid, Signal, kill_process};
    for (words, file) in [
        (
            "divergence --size 120 --steps 20000 --backend cpu --threads 1 --out m.npz",
            "m.npz",
        ),
        (
            "encounters --n 2000 --seed 5 --backend cpu --threads 1 --out e.npz",
            "e.npz",
        ),
    ] {
        let [whole, divided] = [(), ()].map(|()| tempfile::tempdir().expect("a folder"));
        let (whole, divided) = (whole.path(), divided.path());
        let child = started(divided, &format!("{words} --part 1/2"));
        wait_for(&divided.join(format!("{file}.1-of-2.part.json")));
        std::thread::sleep(std::time::Duration::from_millis(50));
        kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{said}");
        // The line of the advice is a command.
        let advice = (said.lines())
            .find_map(|line| line.strip_prefix("trisolar "))
            .unwrap_or_else(|| panic!("{said}"));
        assert!(
            advice.ends_with(&format!("--resume {file}.1-of-2")),
            "{advice}"
        );
        succeeds(divided, &format!("{advice} -q"));
        succeeds(divided, &format!("{words} --part 2/2 -q"));
        let parts = [1, 2].map(|part| format!("{file}.{part}-of-2.part"));
        succeeds(divided, &format!("merge {} -q", parts.join(" ")));
        remove_parts(divided);
        succeeds(whole, &format!("{words} -q"));
        assert_same(whole, divided);
    }
}

#[test]
fn points_that_are_divided_are_merged() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let points: String = (0..10).map(|n| format!("{n} 1.5 -11\n")).collect();
    fs::write(folder.join("points.txt"), points).expect("written");
    let words = "divergence --points points.txt --steps 80 --backend cpu --out map.npz";
    succeeds(folder, &format!("{words} -q"));
    let whole = fs::read(folder.join("map.npz")).expect("there");
    fs::remove_file(folder.join("map.npz")).expect("there");
    compute(folder, words, &[1, 2, 3]);
    let parts = "map.npz.1-of-3.part map.npz.2-of-3.part map.npz.3-of-3.part";
    succeeds(folder, &format!("merge {parts}"));
    assert!(fs::read(folder.join("map.npz")).expect("there") == whole);
    fs::write(folder.join("points.txt"), "1 2 3\n4 5 6\n7 8 9\n").expect("written");
    refused(folder, &format!("merge {parts}"), &["--points"]);
}

#[test]
fn parts_that_are_wrong_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let map = "divergence --size 6 --backend cpu --out map.npy";
    for part in ["0/2", "3/2", "1/0", "1", "a/b", "1/100001", "-1/2"] {
        refused(folder, &format!("{map} --part {part}"), &["--part", part]);
    }
    refused(folder, "encounters --n 3 --part 1/2", &["--out is missing"]);
    refused(
        folder,
        "zoom --frames 4 --size 5 --cache rounded --part 1/2",
        &["--cache", "earlier frames"],
    );
    refused(
        folder,
        &format!("{map} --part 1/2 --resume map.npy"),
        &["--part"],
    );

    compute(folder, &format!("{map} --steps 50"), &[1, 2, 3]);
    let [one, two, three] = [1, 2, 3].map(|n| format!("map.npy.{n}-of-3.part"));
    let merge = |parts: &[&String], words: &[&str]| {
        let parts: Vec<&str> = parts.iter().map(|p| p.as_str()).collect();
        refused(folder, &format!("merge {}", parts.join(" ")), words);
    };
    merge(&[&two], &["missing: 1/3, 3/3"]);
    merge(
        &[&one, &two, &"other.part".into()],
        &["other.part: there is no such part"],
    );
    fs::copy(folder.join(&one), folder.join("again.part")).expect("copied");
    let json = |name: &str| folder.join(format!("{name}.json"));
    fs::copy(json(&one), json("again.part")).expect("copied");
    merge(
        &[&one, &two, &three, &"again.part".into()],
        &["part 1/3", "so is"],
    );
    // Parts of another number of parts, of another map, and with other outputs.
    succeeds(folder, &format!("{map} --steps 50 --part 2/2 -q"));
    merge(
        &[&one, &"map.npy.2-of-2.part".into()],
        &["part 2/2", "part 1/3", "overlap"],
    );
    succeeds(
        folder,
        "divergence --size 6 --backend cpu --steps 60 --out other.npy --part 3/3 -q",
    );
    merge(
        &[&one, &two, &"other.npy.3-of-3.part".into()],
        &["--steps (50 there, 60 here)"],
    );
    succeeds(
        folder,
        "divergence --size 6 --backend cpu --steps 50 --out map2.npy --part 3/3 -q",
    );
    merge(
        &[&one, &two, &"map2.npy.3-of-3.part".into()],
        &["--out", "map2.npy"],
    );
    // The same part with other options.
    refused(
        folder,
        &format!("{map} --steps 50 --title x --part 3/3"),
        &["--title (none there, x here)"],
    );
    refused(
        folder,
        &format!("{map} --steps 60 --part 3/3"),
        &["--steps (50 there, 60 here)"],
    );
    // An unfinished part.
    let record = fs::read_to_string(json(&three)).expect("there");
    let mut unfinished: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    for key in ["sum", "crc32"] {
        unfinished.as_object_mut().expect("an object").remove(key);
    }
    let unfinished = trisolar::io::sum::sealed(unfinished);
    fs::write(json(&three), unfinished.to_string()).expect("written");
    merge(&[&one, &three], &["missing: 2/3", "not finished: 3/3"]);
    fs::write(json(&three), record).expect("written");
    // Damage.
    let mut bytes = fs::read(folder.join(&three)).expect("there");
    bytes[5] ^= 1;
    fs::write(folder.join(&three), &bytes).expect("written");
    merge(&[&one, &two, &three], &[&three, "its bytes have changed"]);
    // The same command computes the changed pixels again.
    let said = succeeds(folder, &format!("{map} --steps 50 --part 3/3 --json"));
    assert!(
        said.contains("have changed; they are computed again"),
        "{said}"
    );
    fs::remove_file(folder.join(&three)).expect("there");
    merge(&[&one, &two, &three], &[&three, "it is missing"]);
    // The part is computed again.
    succeeds(folder, &format!("{map} --steps 50 --part 3/3"));
    succeeds(folder, &format!("merge {one} {two} {three} {one}.json -q"));
    succeeds(
        folder,
        "divergence --size 6 --backend cpu --steps 50 --out whole.npy -q",
    );
    let read = |name| fs::read(folder.join(name)).expect("there");
    assert!(read("map.npy") == read("whole.npy"));
}

#[test]
fn parts_of_sequences_that_are_wrong_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let of_steps = |steps: u32| {
        format!("sweep --vary mass2=5:9:4 --size 5 --steps {steps} --backend cpu --out s")
    };
    let sweep = &of_steps(40);
    compute(folder, sweep, &[1, 2]);
    refused(folder, "merge s.2-of-2", &["missing: 1/2"]);
    refused(folder, "merge s.2-of-2 s.2-of-2", &["part 2/2"]);
    // A folder of one part is none of another, nor of the whole.
    fs::rename(folder.join("s.2-of-2"), folder.join("s")).expect("renamed");
    refused(folder, sweep, &["another sequence", "part"]);
    fs::rename(folder.join("s"), folder.join("s.2-of-2")).expect("renamed");
    let frame = folder.join("s.2-of-2/frame-00003.png");
    let mut bytes = fs::read(&frame).expect("there");
    bytes[60] ^= 1;
    fs::write(&frame, bytes).expect("written");
    refused(
        folder,
        "merge s.1-of-2 s.2-of-2",
        &["frame-00003.png", "its bytes have changed"],
    );
    assert!(!folder.join("s").exists());
    succeeds(folder, &format!("{sweep} --part 2/2 -q"));
    fs::remove_file(folder.join("s.2-of-2/frame-00002.json")).expect("there");
    refused(folder, "merge s.1-of-2 s.2-of-2", &["not finished: 2/2"]);
    // A part can be resumed by its folder alone.
    succeeds(folder, "sweep --resume s.2-of-2 --backend cpu -q");
    succeeds(folder, &format!("{} --part 2/2 -q --restart", of_steps(41)));
    refused(folder, "merge s.1-of-2 s.2-of-2", &["s.2-of-2", "differs"]);
    succeeds(folder, &format!("{sweep} --part 2/2 -q --restart"));
    succeeds(folder, "merge s.1-of-2 s.2-of-2/ -q");
    assert!(folder.join("s/sheet.png").exists());
    refused(folder, "merge s", &["whole one"]);
    refused(folder, "merge .", &["no sequence"]);
}

#[test]
fn the_script_for_job_arrays_computes_parts_that_are_merged() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/clusters/part.sh");
    let program = assert_cmd::cargo::cargo_bin!("trisolar");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [program.parent().expect("a folder").to_owned()];
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path)));
    let path = path.expect("names without colons");
    // Slurm and HyperQueue name the variable differently.
    for (part, variable) in [("1", "SLURM_ARRAY_TASK_ID"), ("2", "HQ_TASK_ID")] {
        let words = "divergence --size 5 --steps 50 --backend cpu --out map.npy";
        let status = std::process::Command::new("bash")
            .arg(script)
            .args(words.split(' '))
            .current_dir(folder)
            .env("PATH", &path)
            .env("PARTS", "2")
            .env(variable, part)
            .status();
        assert!(status.expect("bash").success());
    }
    succeeds(folder, "merge map.npy.1-of-2.part map.npy.2-of-2.part -q");
    assert!(folder.join("map.npy").exists());
}
