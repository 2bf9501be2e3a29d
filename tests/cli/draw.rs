//! `trisolar draw`: pictures of results again.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

fn trisolar(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("trisolar"));
    let command = command.current_dir(folder).args(line.split(' '));
    command.output().expect("runs")
}

fn succeeds(folder: &Path, line: &str) {
    let output = trisolar(folder, line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
}

/// Whether two files have the same bytes.
fn same(folder: &Path, files: [&str; 2]) -> bool {
    let [a, b] = files.map(|name| std::fs::read(folder.join(name)).expect(name));
    a == b
}

#[test]
fn a_run_is_drawn_again_from_its_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    for (name, command) in [
        ("nbody", "nbody --model figure-eight --steps 200"),
        ("cluster", "cluster --n 16 --end 0.5 --every 0.25"),
    ] {
        let run = format!("{command} --backend cpu -q --plots {name} --checkpoint {name}.npz");
        succeeds(path, &format!("{run} --film {name}.gif --frames 3"));
        succeeds(path, &format!("draw {name}.npz --plots {name}-again"));
        for picture in ["energy.png", "orbits.png"] {
            let files = [
                format!("{name}/{picture}"),
                format!("{name}-again/{picture}"),
            ];
            assert!(
                same(path, files.each_ref().map(String::as_str)),
                "{name} {picture}"
            );
        }
        succeeds(
            path,
            &format!("draw {name}.npz --plots {name}-light --theme light --film {name}-light.gif"),
        );
        assert!(path.join(format!("{name}-light.gif")).exists());
    }
    succeeds(
        path,
        "nbody --n 4 --steps 3 -q --out end.npz --checkpoint bare.npz",
    );
    for (line, said) in [
        ("draw end.npz --plots p", "needs --checkpoint"),
        ("draw bare.npz --plots p", "recorded nothing"),
        ("draw nbody.npz --out p.png", "--plots FOLDER"),
    ] {
        let output = trisolar(path, line);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(said), "{line}: {error}");
    }
}

#[test]
fn every_kind_of_map_is_drawn_again_with_the_same_bytes_and_with_another_look() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let planets =
        "planets --planet m=0.001,a=5.2 --planet a=6:9:4,e=0:0.4:3 --years 200 --backend cpu";
    // The bare picture says nothing of the sample that a file does not contain.
    let commands = [
        (
            "map",
            "divergence --size 12x8 --steps 900 --backend cpu --bare --save-config map.toml",
            "--bare",
        ),
        (
            "axes",
            "divergence --map mass2=5:30 --size 9 --steps 900 --backend cpu --bare",
            "--bare",
        ),
        (
            "exponents",
            "divergence --quantity ftle --size 9 --steps 900 --backend cpu --bare",
            "--bare",
        ),
        ("planets", planets, ""),
    ];
    for (name, command, look) in commands {
        succeeds(
            path,
            &format!("{command} -q --out {name}.npz --out {name}.npy --out {name}.png"),
        );
        succeeds(
            path,
            format!("draw {name}.npz --out {name}-again.png {look}").trim_end(),
        );
        assert!(
            same(path, [&format!("{name}.png"), &format!("{name}-again.png")]),
            "{name}"
        );
    }
    succeeds(
        path,
        "draw map.npy --config map.toml --bare --out from-npy.png",
    );
    assert!(same(path, ["map.png", "from-npy.png"]));
    succeeds(
        path,
        "draw map.npz --out other.svg --out other.png --colormap viridis --title Again",
    );
    assert!(
        std::fs::read_to_string(path.join("other.svg"))
            .expect("a text")
            .contains("<svg")
    );
    succeeds(
        path,
        "draw planets.npz --out exponents-of-planets.png --observable lyapunov",
    );
    assert!(!same(path, ["planets.png", "exponents-of-planets.png"]));
    let refused = trisolar(path, "draw planets.npz --observable fli --out fli.png");
    let message = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(
        message.contains("made with --observable megno"),
        "{message}"
    );
}

#[test]
fn encounters_are_read_back_to_the_bit() {
    use trisolar::encounters::files::{npz, read_npz, same_bits};
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    // A file has no check of steps, which the titles of pictures of more runs tell.
    let runs = "--n 19 --v-inf 0.5 --radii 0.1,0.1,0.1 --max-time 3000";
    let command = format!("encounters {runs} --backend cpu -q --out all.npz --plots first");
    succeeds(path, &command);
    let ensemble = read_npz(&path.join("all.npz")).expect("reads");
    assert_eq!(ensemble.records.len(), 19);
    let valid = ensemble.specification.clone().validate().expect("valid");
    npz(&path.join("again.npz"), &valid, &ensemble).expect("writes");
    assert!(same(path, ["all.npz", "again.npz"]));
    let again = read_npz(&path.join("again.npz")).expect("reads");
    let pairs = ensemble.records.iter().zip(again.records.iter());
    assert!(pairs.into_iter().all(|(a, b)| same_bits(a, b)));
    succeeds(path, "draw all.npz --plots second");
    for name in ["e2.png", "v-inf.png", "lifetime.png"] {
        let files = ["first", "second"].map(|folder| format!("{folder}/{name}"));
        assert!(same(path, [&files[0], &files[1]]), "{name}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    succeeds(
        path,
        "divergence --size 4 --steps 10 --backend cpu -q --out a.npz --out a.npy --save-config a.toml",
    );
    succeeds(
        path,
        "divergence --size 5 --steps 10 --backend cpu -q --out b.npy",
    );
    succeeds(path, "encounters --n 4 --backend cpu -q --out e.npz");
    for (line, said) in [
        ("draw a.npz", "--out"),
        ("draw none.npz --out x.png", "none.npz"),
        ("draw a.toml --out x.png", "a.toml"),
        ("draw a.npz --out x.npy", ".png, .svg, .pdf or .tif"),
        ("draw a.npy --out x.png", "--config"),
        ("draw a.npz --config a.toml --out x.png", "--config"),
        ("draw b.npy --config a.toml --out x.png", "shape [5, 5]"),
        ("draw a.npz --plots x", "--plots"),
        ("draw a.npz --observable megno --out x.png", "--observable"),
        ("draw e.npz --title T --out x.png", "--theme and --y-axis"),
        ("draw e.npz --out x.png", "only a map"),
        ("draw a.npz --limits 3,1 --out x.png", "--limits"),
    ] {
        let output = trisolar(path, line);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.contains(said),
            "{line}: {text}"
        );
    }
    assert!(!path.join("x.png").exists());
}
