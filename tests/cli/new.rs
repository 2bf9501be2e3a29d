//! Tests of `trisolar new`, and of the program that it makes.

use crate::support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn new(folder: &Path, options: &[&str]) -> Output {
    support::trisolar(folder)
        .arg("new")
        .args(options)
        .output()
        .unwrap()
}

#[test]
fn a_folder_is_made_and_never_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (options, system) in [
        (&["lorenz"][..], "Lorenz"),
        (&["standard-map"], "StandardMap"),
        (&["mine"], "Lorenz"),
        (&["galaxy", "--template", "henon-heiles"], "HenonHeiles"),
    ] {
        let output = new(path, options);
        assert!(output.status.success(), "{output:?}");
        let read = |file: &str| fs::read_to_string(path.join(options[0]).join(file)).unwrap();
        assert!(read("src/system.rs").contains(&format!("pub struct {system};")));
        assert!(read("src/main.rs").contains(&format!("main::<system::{system}>()")));
        let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some(options[0]));
        assert_eq!(
            manifest["dependencies"]["trisolar-system"].as_str(),
            Some(env!("CARGO_PKG_VERSION"))
        );
    }
    let root = env!("CARGO_MANIFEST_DIR");
    let output = new(path, &["tested", "--checkout", root]);
    assert!(output.status.success(), "{output:?}");
    // The versions are those with which Trisolar is tested.
    assert_eq!(
        fs::read(path.join("tested/Cargo.lock")).unwrap(),
        fs::read(Path::new(root).join("Cargo.lock")).unwrap()
    );
    fs::write(path.join("lorenz/src/system.rs"), "mine").unwrap();
    for (options, words) in [
        (&["lorenz"][..], &["lorenz", "NAME", "exists already"][..]),
        (&["3d"], &["3d", "NAME", "begin with a letter"]),
        (&["a b"], &["a b", "NAME", "letters, digits"]),
        (
            &["x", "--template", "y"],
            &["'y'", "--template", "magnetic-pendulum"],
        ),
        (&["x", "--checkout", "nowhere"], &["nowhere", "--checkout"]),
        (&["x", "--checkout", "."], &["--checkout", "not a clone"]),
    ] {
        let output = new(path, options);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
    assert_eq!(
        fs::read_to_string(path.join("lorenz/src/system.rs")).unwrap(),
        "mine"
    );
    assert!(!path.join("x").exists());
}

/// The page shows the template.
#[test]
fn the_page_has_the_equations_of_the_template() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let template = fs::read_to_string(root.join("host/cli/new/lorenz.rs")).unwrap();
    let page = fs::read_to_string(root.join("docs/own-systems.md")).unwrap();
    assert!(page.contains(&template));
}

#[test]
#[ignore = "takes minutes; .ci/run all has it"]
fn the_program_is_compiled_and_all_its_engines_agree() {
    let folder = tempfile::tempdir().unwrap();
    let root = env!("CARGO_MANIFEST_DIR");
    for template in ["lorenz", "henon-heiles", "newton"] {
        let output = new(folder.path(), &[template, "--checkout", root]);
        assert!(output.status.success(), "{output:?}");
        let program = folder.path().join(template);
        let map = match template {
            "lorenz" => "--map rho=20:40,z=10:20 --size 12x8 --draw x=uniform:0:1 --value megno",
            "henon-heiles" => "--map y=-0.4:0.6,py=-0.4:0.4 --size 10x8 --value lyapunov --end 50",
            _ => "--map x=-2:2,y=-2:2 --size 20",
        };
        let map = &format!("map {map} --out map.png");
        for words in [map, "selftest", "orbit --end 10 --samples 5"] {
            let mut command = Command::new(env!("CARGO"));
            command
                .args(["run", "--release", "--offline", "--"])
                .args(words.split(' '));
            command.env("CARGO_TARGET_DIR", folder.path().join("target"));
            let output = command.current_dir(&program).output().unwrap();
            assert!(output.status.success(), "{words}: {output:?}");
        }
        assert!(program.join("map.png").exists());
    }
}
