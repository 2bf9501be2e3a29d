//! Runs that are killed or interrupted resume from their checkpoint alone, and every requested file ends with the bytes of an undisturbed run.

use crate::support;

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::process::{Child, Command as Process, Output, Stdio};
use std::time::{Duration, Instant};

use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};
use support::trisolar;

/// All files below a folder, including hidden ones, with their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy();
                all.insert(name.into_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[track_caller]
pub(crate) fn assert_same(a: &Path, b: &Path) {
    let (a, b) = (files(a), files(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in &a {
        assert!(*bytes == b[name], "{name} differs");
    }
}

pub(crate) fn started(folder: &Path, arguments: &str) -> Child {
    Process::new(assert_cmd::cargo::cargo_bin!("trisolar"))
        .current_dir(folder)
        .args(arguments.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn run(folder: &Path, arguments: &str) -> Output {
    let mut command = trisolar(folder);
    command.args(arguments.split_whitespace()).output().unwrap()
}

#[track_caller]
pub(crate) fn succeeds(folder: &Path, arguments: &str) -> String {
    let output = run(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {said}");
    format!("{}{said}", String::from_utf8_lossy(&output.stdout))
}

#[track_caller]
pub(crate) fn refused(folder: &Path, arguments: &str, words: &[&str]) {
    let output = run(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
    for word in words {
        assert!(
            said.contains(word),
            "{arguments}: {word:?} is not in {said}"
        );
    }
}

/// Random numbers from 0 to 1, with a new seed in every test run.
fn random() -> impl FnMut() -> f64 {
    let mut state = RandomState::new().hash_one(0) | 1;
    eprintln!("seed {state}");
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Runs `first` undisturbed in one folder. In another folder it is killed at random moments, and then `resume` is, until it ends.
/// `record` is a file that exists as soon as there is something to resume.
fn survives_kills(first: &str, resume: &str, record: &str, prepare: impl Fn(&Path)) {
    let whole = tempfile::tempdir().unwrap();
    prepare(whole.path());
    let began = Instant::now();
    succeeds(whole.path(), first);
    let mut took = began.elapsed();
    let mut random = random();
    // The machine may have been busy during the first run and may no longer be.
    for _ in 0..8 {
        let killed = tempfile::tempdir().unwrap();
        prepare(killed.path());
        let (kills, resumed) =
            killed_until_it_ends(killed.path(), [first, resume, record], took, &mut random);
        assert_same(whole.path(), killed.path());
        if kills > 1 && resumed > 0 {
            return;
        }
        took /= 2;
    }
    panic!("it was too fast to be killed");
}

/// Returns how often the run was killed, and how often it was resumed.
fn killed_until_it_ends(
    folder: &Path,
    [first, resume, record]: [&str; 3],
    took: Duration,
    random: &mut impl FnMut() -> f64,
) -> (u32, u32) {
    let (mut kills, mut resumed) = (0_u32, 0_u32);
    loop {
        let begun = folder.join(record).exists();
        resumed += u32::from(begun);
        let mut child = started(folder, if begun { resume } else { first });
        // The pauses become longer, so that the run also ends on a busy machine.
        let share = (0.02 + 0.4 * random()) * (1.0 + 0.1 * f64::from(kills));
        let end = Instant::now() + took.mul_f64(share) + Duration::from_millis(15);
        while child.try_wait().unwrap().is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().unwrap().is_some() {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "after {kills} kills: {said}");
            return (kills, resumed);
        }
        let signals = [Signal::KILL, Signal::TERM, Signal::INT];
        let signal = signals[(3.0 * random()) as usize];
        kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
        child.wait().unwrap();
        kills += 1;
        assert!(kills < 300, "no end in sight");
    }
}

#[test]
fn nbody_with_all_its_files() {
    survives_kills(
        "nbody --n 150 --softening 0.01 --backend cpu --threads 1 --steps 16000 --every 200 --checkpoint c.npz --series s.csv \
         --out end.npz --out end.txt --trajectory t.npz --snapshots deep/er/sn --plots p --animation a.gif --size 160x120 --theme light \
         --save-config c.toml",
        "nbody --resume c.npz",
        "c.npz",
        |_| {},
    );
}

#[test]
fn nbody_with_the_usual_spacing_in_every_precision() {
    for (precision, integrator) in [
        ("f64", "runge-kutta-4"),
        ("f32 --solver basic", "forest-ruth"),
        ("float-float --dimensions 2", "leapfrog"),
        (
            "f64 --partials threads --threads 2 --schedule cyclic",
            "symplectic-euler",
        ),
    ] {
        survives_kills(
            &format!(
                "nbody --n 130 --softening 0.01 --backend cpu --steps 2000 --checkpoint c.npz --series s.npz --out end.csv \
                 --precision {precision} --integrator {integrator}"
            ),
            "nbody --resume c.npz --backend cpu",
            "c.npz",
            |_| {},
        );
    }
}

#[test]
fn clusters_with_all_their_files() {
    survives_kills(
        "cluster --n 400 --end 5.3 --every 0.25 --snapshots deep/er/sn --checkpoint c.npz --series s.npz --plots p --film f.webp --size 160x120 --out e.txt \
         --out e.npz --threads 1",
        "cluster --resume c.npz",
        "c.npz",
        |_| {},
    );
}

#[test]
fn clusters_with_neighbours() {
    survives_kills(
        "cluster --model king --n 200 --scheme ahmad-cohen --end 8 --every 0.75 --snapshots sn --checkpoint c.npz --series s.npz",
        "cluster --resume c.npz --quiet",
        "c.npz",
        |_| {},
    );
}

#[test]
fn clusters_with_regularised_pairs() {
    survives_kills(
        "cluster --n 32 --close-pairs regularised --end 40 --every 1.5 --snapshots sn --checkpoint c.npz --series s.npz --threads 1",
        "cluster --resume c.npz --quiet",
        "c.npz",
        |_| {},
    );
}

#[test]
fn maps_on_the_disk() {
    survives_kills(
        "divergence --size 161x120 --steps 20000 --backend cpu --threads 1 --stream --out m.npy --out m.png --out m.tif --out m.npz \
         --title Twins --colormap viridis --save-config c.toml",
        "divergence --resume m.npy",
        "m.npy.part.json",
        |_| {},
    );
}

#[test]
fn points_on_the_disk() {
    survives_kills(
        "divergence --points p.csv --steps 20000 --backend cpu --threads 1 --stream --out m.npz",
        "divergence --resume m.npz",
        "m.npz.part.json",
        |folder| {
            let point = |i: u32| {
                format!(
                    "{},{},-11\n",
                    f64::from(i % 61) / 3.0,
                    f64::from(i / 61) / 8.0
                )
            };
            let text: String = (0..61 * 150).map(point).collect();
            std::fs::write(folder.join("p.csv"), text).unwrap();
        },
    );
}

#[test]
fn zooms_with_their_films() {
    survives_kills(
        "zoom --size 48x40 --steps 60000 --frames 4 --npy --checkpoint 0.1 --backend cpu --out z --film f.gif --film f.webp --fps 7 \
         --set steps=steps --colours steps",
        "zoom --resume z --checkpoint 0.1",
        "z/sequence.json",
        |_| {},
    );
}

#[test]
fn zooms_with_the_rounded_cache() {
    survives_kills(
        "zoom --size 60 --dt 0.01 --frames 6 --set steps=9000+20*frame --cache rounded --checkpoint 0.1 --backend cpu --out z",
        "zoom --resume z --checkpoint 0.1",
        "z/sequence.json",
        |_| {},
    );
}

/// The accuracy of such small maps takes longer than the maps.
#[test]
fn zooms_whose_accuracy_is_being_determined() {
    survives_kills(
        "zoom --size 14x10 --steps 60000 --set steps=steps --frames 4 --checkpoint 0.1 --backend cpu --threads 1 --max-error 0.9 --out z",
        "zoom --resume z --checkpoint 0.1",
        "z/sequence.json",
        |_| {},
    );
}

#[test]
fn sweeps_with_their_tables() {
    survives_kills(
        "sweep --vary mass2=5:40:5 --size 48x40 --steps 30000 --checkpoint 0.1 --backend cpu --out z --colormap cividis",
        "sweep --resume z --checkpoint 0.1",
        "z/sequence.json",
        |_| {},
    );
}

#[test]
fn an_extended_run_has_the_files_of_a_run_with_the_longer_end() {
    for (start, short, long) in [
        (
            "nbody --n 20 --every 30 --series s.csv --out e.npz --trajectory t.npz --snapshots sn --checkpoint c.npz",
            "--steps 100",
            "--steps 250",
        ),
        (
            "cluster --n 40 --every 0.25 --series s.npz --out e.txt --snapshots sn --checkpoint c.npz",
            "--end 0.625",
            "--end 1.125",
        ),
        (
            "cluster --n 40 --every 0.125 --snapshots sn --checkpoint c.npz",
            "--end 1",
            "--end 2",
        ),
    ] {
        let [a, b] = [0; 2].map(|_| tempfile::tempdir().unwrap());
        let command = start.split(' ').next().unwrap();
        succeeds(a.path(), &format!("{start} {long} --quiet"));
        succeeds(b.path(), &format!("{start} {short} --quiet"));
        let ended = succeeds(b.path(), &format!("{command} --resume c.npz"));
        assert!(ended.contains("the run has already ended"), "{ended}");
        succeeds(
            b.path(),
            &format!("{command} --resume c.npz {long} --quiet"),
        );
        assert_same(a.path(), b.path());
    }
}

#[test]
fn options_that_accompany_resume_must_match_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    succeeds(
        here,
        "nbody --model cube --n 30 --speed 0.5 --steps 60 --every 20 --series s.csv --checkpoint n.npz --quiet",
    );
    succeeds(
        here,
        "cluster --n 30 --end 0.5 --snapshots sn --checkpoint c.npz --quiet",
    );
    let before = files(here);
    for same in [
        "nbody --resume n.npz --every 20 --series ./s.csv --n 30 --model cube --speed 0.5 --checkpoint n.npz --dt 0.001",
        "nbody --resume n.npz --steps 60 --theme dark --solver reduced --threads 2 --json",
        "cluster --resume c.npz --every 0.25 --order 6 --seed 1 --snapshots sn/ --scheme plain --threads 1",
        "cluster --resume ./c.npz --end 0.5 --softening 0.13333333333333333 --json",
    ] {
        succeeds(here, same);
        assert!(files(here) == before, "{same}");
    }
    for (other, words) in [
        (
            "nbody --resume n.npz --every 10",
            &["'10' for '--every'", "has 20", "--steps"][..],
        ),
        (
            "nbody --resume n.npz --series t.csv",
            &["t.csv' for '--series'", "s.csv"],
        ),
        (
            "nbody --resume n.npz --out e.npz",
            &["--out", "has no --out"],
        ),
        (
            "nbody --resume n.npz --plots p",
            &["--plots", "has no --plots"],
        ),
        (
            "nbody --resume n.npz --checkpoint o.npz",
            &["--checkpoint", "n.npz"],
        ),
        ("nbody --resume n.npz --n 31", &["'31' for '--n'", "has 30"]),
        (
            "nbody --resume n.npz --seed 5",
            &["'5' for '--seed'", "has 1"],
        ),
        ("nbody --resume n.npz --speed 0.25", &["--speed", "has 0.5"]),
        (
            "nbody --resume n.npz --radius 2",
            &["--radius", "has no --radius"],
        ),
        (
            "nbody --resume n.npz --dt 0.5",
            &["'0.5' for '--dt'", "0.001"],
        ),
        (
            "nbody --resume n.npz --precision f32",
            &["--precision", "has f64"],
        ),
        (
            "nbody --resume n.npz --partials threads",
            &["--partials", "has rows"],
        ),
        (
            "nbody --resume n.npz --format textbook",
            &["--format", "has summary"],
        ),
        (
            "nbody --resume n.npz --steps 59",
            &["'59' for '--steps'", "60 steps already"],
        ),
        ("nbody --resume n.npz --config x.toml", &["--config"]),
        (
            "nbody --resume c.npz",
            &["--resume", "checkpoint of `trisolar cluster`"],
        ),
        (
            "cluster --resume n.npz",
            &["--resume", "checkpoint of `trisolar nbody`"],
        ),
        (
            "cluster --resume c.npz --every 0.125",
            &["--every", "has 0.25", "--end"],
        ),
        (
            "cluster --resume c.npz --snapshots other",
            &["--snapshots", "sn"],
        ),
        (
            "cluster --resume c.npz --order 4",
            &["'4' for '--order'", "has 6"],
        ),
        (
            "cluster --resume c.npz --out e.npz",
            &["--out", "has no --out"],
        ),
        (
            "cluster --resume c.npz --end 0.25",
            &["'0.25' for '--end'", "at 0.5 already"],
        ),
    ] {
        refused(here, other, words);
        assert!(files(here) == before, "{other}");
    }
    refused(
        here,
        "nbody --resume none.npz",
        &["--resume", "no such file"],
    );
}

#[test]
fn options_that_accompany_resume_must_match_maps_and_sequences() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let map = "divergence --size 400 --steps 60000 --backend cpu --bare --out m.npy --out m.png";
    let mut child = started(here, &format!("{map} --stream"));
    wait_for(&here.join("m.npy.part"));
    child.kill().unwrap();
    child.wait().unwrap();
    for (more, words) in [
        (
            "--resume m.npy --colormap turbo",
            &["--colormap", "has inferno"][..],
        ),
        ("--resume m.npy.part --shrink 2", &["--shrink", "has 1"]),
        ("--resume m.npy.part.json --out m.npy", &["--out", "m.png"]),
        (
            "--resume m.npy --steps 5",
            &["--steps (60000 there, 5 here)"],
        ),
        (
            "--resume m.npy --save-config c.toml",
            &["--save-config", "has no"],
        ),
        (
            "--resume o.npy",
            &["o.npy' for '--resume': there is no unfinished map"],
        ),
    ] {
        refused(here, &format!("divergence {more}"), words);
    }
    // The options of the first run, or some of them, may be repeated.
    for more in [
        "--resume m.npy --bare",
        "--resume --out m.npy --out m.png",
        &map[10..],
    ] {
        let resume = if more.contains("--resume") {
            ""
        } else {
            "--resume"
        };
        let mut child = started(here, &format!("divergence {more} {resume}"));
        std::thread::sleep(Duration::from_millis(200));
        assert!(child.try_wait().unwrap().is_none(), "{more}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    succeeds(
        here,
        "zoom --size 8 --steps 30 --frames 2 --out z --backend cpu --film f.gif",
    );
    succeeds(
        here,
        "sweep --size 8 --steps 30 --vary dt=0.001,0.002 --out s --backend cpu",
    );
    let before = files(here);
    for (more, words) in [
        (
            "zoom --resume z --frames 1",
            &["'1' for '--frames'", "has 2"][..],
        ),
        ("zoom --resume z --film g.gif", &["--film", "f.gif"]),
        (
            "zoom --resume z --steps 31",
            &["--steps (30 there, 31 here)"],
        ),
        ("zoom --resume z --npy", &["--npy"]),
        ("zoom --resume z --out y", &["--out"]),
        ("zoom --resume s", &["--resume", "`trisolar sweep`"]),
        ("zoom --resume .", &["--resume", "no sequence"]),
        (
            "sweep --resume s --vary dt=0.001",
            &["--vary", "dt=0.001,0.002"],
        ),
        ("sweep --resume s --bare", &["--bare"]),
    ] {
        refused(here, more, words);
    }
    for same in [
        "zoom --resume z --frames 2 --film f.gif --steps 30 --out z --in-flight 1 --preset document",
        "sweep --resume s --vary dt=0.001:0.002:2 --size 8 --json",
    ] {
        succeeds(here, same);
    }
    assert!(files(here) == before);
}

pub(crate) fn wait_for(path: &Path) {
    let began = Instant::now();
    while !path.exists() {
        assert!(
            began.elapsed().as_secs() < 60,
            "{} does not appear",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_run_resumes_from_any_working_directory_and_its_folder_can_be_moved() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    for name in ["a/run/out", "b/run/out", "elsewhere"] {
        std::fs::create_dir_all(at(name)).unwrap();
    }
    let start = "nbody --n 20 --every 10 --checkpoint run/c.npz --out run/out/e.npz --series run/s.csv --quiet";
    succeeds(&at("a"), &format!("{start} --steps 100"));
    succeeds(&at("b"), &format!("{start} --steps 30"));
    succeeds(
        &at("elsewhere"),
        "nbody --resume ../b/run/c.npz --steps 60 --quiet",
    );
    std::fs::rename(at("b/run"), at("elsewhere/run")).unwrap();
    std::os::unix::fs::symlink(at("elsewhere/run/c.npz"), at("link.npz")).unwrap();
    succeeds(parent.path(), "nbody --resume link.npz --steps 100 --quiet");
    assert_same(&at("a/run"), &at("elsewhere/run"));
    assert!(files(&at("b")).is_empty());
}

#[test]
fn changed_files_are_not_overwritten_and_deleted_files_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let at = |name: &str| here.join(name);
    // A file that existed before the run may be replaced, because the user asked for that.
    std::fs::write(at("e.npz"), "of an earlier run").unwrap();
    succeeds(
        here,
        "cluster --n 30 --end 1 --out e.npz --series s.npz --snapshots sn --checkpoint c.npz --quiet",
    );
    let before = files(here);
    for name in ["e.npz", "s.npz", "sn/00004.npz"] {
        std::fs::remove_file(at(name)).unwrap();
    }
    succeeds(here, "cluster --resume c.npz --quiet");
    assert!(files(here) == before);
    std::fs::write(at("s.npz"), "my own").unwrap();
    refused(
        here,
        "cluster --resume c.npz --end 2",
        &[
            "s.npz' for '--series'",
            "its contents differ from what this run wrote",
        ],
    );
    std::fs::write(at("s.npz"), &before["s.npz"]).unwrap();
    std::fs::write(at("sn/00006.npz"), "my own").unwrap();
    refused(
        here,
        "cluster --resume c.npz --end 2",
        &["sn/00006.npz' for '--snapshots'"],
    );
    std::fs::remove_file(at("sn/00006.npz")).unwrap();
    assert!(files(here) == before);
    // Snapshots that the run has passed are not made again, which is reported.
    std::fs::write(at("sn/00001.npz"), "cut").unwrap();
    std::fs::remove_file(at("sn/00002.npz")).unwrap();
    let said = succeeds(here, "cluster --resume c.npz --end 2");
    let plain = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plain.contains("sn/00001.npz: it has 3 bytes instead of"),
        "{said}"
    );
    assert!(plain.contains("sn/00002.npz: it is missing"), "{said}");
    assert!(at("sn/00008.npz").exists() && !at("sn/00002.npz").exists());
    // Another run can neither use the folder nor begin where a run has not ended.
    refused(
        here,
        "cluster --n 30 --snapshots sn",
        &["--snapshots", "another run", "00000.npz"],
    );
}

#[test]
fn an_unfinished_run_is_not_restarted_by_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let check = |command: &str| {
        let checkpoint = command.split(' ').next_back().unwrap();
        let mut child = started(here, command);
        wait_for(&here.join(checkpoint));
        // Wait until the checkpoint is renewed for the first time.
        let first = std::fs::read(here.join(checkpoint)).unwrap();
        let began = Instant::now();
        while std::fs::read(here.join(checkpoint)).unwrap() == first {
            assert!(began.elapsed().as_secs() < 60, "it is not renewed");
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        refused(
            here,
            command,
            &[
                "for '--checkpoint': it holds an unfinished run",
                "resume it with trisolar",
            ],
        );
    };
    // A checkpoint is renewed after some seconds, for which all wait at once.
    std::thread::scope(|scope| {
        for command in [
            "nbody --n 200 --softening 0.01 --backend cpu --threads 1 --steps 9000000 --checkpoint n.npz",
            "cluster --n 400 --threads 1 --end 1e5 --every 1e4 --checkpoint c.npz",
            // Its paths are taken so often that no stretch between two of them lasts until the checkpoint is due.
            "nbody --model figure-eight --steps 900000000 --every 450000000 --plots p --checkpoint p.npz",
        ] {
            scope.spawn(|| check(command));
        }
    });
}

#[test]
fn ctrl_c_leaves_a_checkpoint_and_says_how_to_resume() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (command, says) in [
        (
            "cluster --n 400 --end 1e5 --every 1e4 --checkpoint c.npz",
            "resume it with: trisolar cluster --resume c.npz",
        ),
        (
            "nbody --n 200 --softening 0.01 --backend cpu --steps 9000000 --out end.npz --checkpoint n.npz",
            "resume it with: trisolar nbody --resume n.npz",
        ),
    ] {
        let child = started(here, command);
        let checkpoint = command.split(' ').next_back().unwrap();
        wait_for(&here.join(checkpoint));
        std::thread::sleep(Duration::from_millis(200));
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.contains(says), "{said}");
    }
    assert_eq!(files(here).len(), 2, "{:?}", files(here).keys());
}

#[test]
fn a_checkpoint_of_an_older_version_is_reported_and_not_changed() {
    use trisolar::nbody::files::Checkpoint;
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    succeeds(here, "nbody --n 20 --steps 20 --checkpoint n.npz --quiet");
    succeeds(here, "cluster --n 20 --end 0.25 --checkpoint c.npz --quiet");
    let path = here.join("n.npz");
    Checkpoint::read(&path).unwrap().write(&path).unwrap();
    let path = here.join("c.npz");
    let old = trisolar::hermite::files::Checkpoint::read(&path).unwrap();
    old.write(&path).unwrap();
    let before = files(here);
    for (command, file) in [("nbody", "n.npz"), ("cluster", "c.npz")] {
        refused(
            here,
            &format!("{command} --resume {file}"),
            &["for '--resume'", "an older version or the library wrote it"],
        );
    }
    assert!(files(here) == before);
    // A damaged checkpoint does not cause a panic, either.
    for cut in [0, 10, 400] {
        std::fs::write(&path, &before["c.npz"][..cut]).unwrap();
        refused(here, "cluster --resume c.npz", &["c.npz"]);
    }
}

#[test]
fn help_says_what_resume_does() {
    for command in ["nbody", "cluster", "divergence", "zoom", "sweep"] {
        trisolar(Path::new("."))
            .args([command, "--help"])
            .assert()
            .success()
            .stdout(contains("--resume"));
    }
}
