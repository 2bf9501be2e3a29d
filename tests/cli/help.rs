//! The help text: it names the defaults that are actually used and gives the unit of every quantity.

use assert_cmd::Command;
use trisolar::divergence::Specification;

fn help(command: &[&str]) -> String {
    let output = Command::cargo_bin("trisolar")
        .expect("the binary is built with the tests")
        .args(command)
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    // Line wrapping does not matter here.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The description of an option.
fn of<'a>(help: &'a str, option: &str) -> &'a str {
    let start = help
        .find(&format!("{option} <"))
        .unwrap_or_else(|| panic!("{option} is not there"));
    let rest = &help[start..];
    let end = rest[2..].find(" --").map_or(rest.len(), |i| i + 2);
    &rest[..end]
}

#[test]
fn the_help_names_the_librarys_defaults() {
    let help = help(&["divergence"]);
    let s = Specification::default();
    let list = |v: &[f64]| v.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let vectors = |v: [glam::DVec3; 3]| v.map(|v| list(&v.to_array())).join(":");
    for (option, default) in [
        ("--size", format!("{}x{}", s.size[0], s.size[1])),
        ("--center", list(&s.center.nearest())),
        ("--span", s.span[0].to_string()),
        ("--plane", s.plane.labels().concat()),
        ("--body", s.body.to_string()),
        ("--masses", list(&s.masses)),
        ("--positions", vectors(s.positions)),
        ("--velocities", vectors(s.velocities)),
        ("--g", s.g.to_string()),
        ("--softening", s.softening.to_string()),
        ("--steps", s.steps.to_string()),
        ("--dt", s.dt.to_string()),
        ("--shift", s.shift.x.to_string()),
        ("--critical-distance", s.critical_distance.to_string()),
        ("--precision", "f64".into()),
        ("--integrator", "explicit-euler".into()),
        ("--start", "euler".into()),
        ("--backend", "auto".into()),
        ("--colormap", "inferno".into()),
        ("--out", "divergence.png and divergence.npy".into()),
    ] {
        let text = of(&help, option);
        assert!(
            text.contains(&format!("[default: {default}]")),
            "{option}: {default} is not in {text}"
        );
    }
}

#[test]
fn quantities_have_units() {
    let help = help(&["divergence"]);
    for (option, unit) in [
        ("--center", "(length)"),
        ("--span", "(length)"),
        ("--masses", "(mass)"),
        ("--positions", "(length)"),
        ("--velocities", "(length / time)"),
        ("--g", "(length^3 / mass / time^2)"),
        ("--softening", "(length)"),
        ("--dt", "(time)"),
        ("--shift", "(length)"),
        ("--critical-distance", "(length)"),
    ] {
        assert!(of(&help, option).contains(unit), "{option}");
    }
}

#[test]
fn every_command_has_help_which_lists_the_exit_codes() {
    for command in [
        &["devices"][..],
        &["selftest"],
        &["bench"],
        &["bench", "divergence"],
        &["bench", "ladder"],
        &["bench", "nbody"],
        &["compare"],
        &["zoom"],
        &["sweep"],
        &["explore"],
        &["draw"],
        &["merge"],
        &["nbody"],
        &["cluster"],
        &["encounters"],
        &["encounters", "zoom"],
        &["encounters", "sweep"],
        &["planets"],
        &["planets", "zoom"],
        &["planets", "sweep"],
        &["map"],
        &["map", "zoom"],
        &["map", "sweep"],
        &["new"],
        &["bench", "encounters"],
        &["bench", "planets"],
    ] {
        assert!(help(command).contains("Usage: trisolar"));
    }
    assert!(help(&[]).contains("130 after Ctrl-C"));
}
