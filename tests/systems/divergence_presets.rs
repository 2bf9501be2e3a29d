//! Presets are checked like results: the share of their values that stay with a quarter of the step is what the documentation states.

use trisolar::divergence::{
    Devices, Overrides, Preset, Quantity, RunOptions, Specification, StepCheck, Unattended,
    step_check,
};

/// The share of values that stay, in percent.
fn kept(overrides: Overrides) -> f64 {
    let valid = Specification::from(overrides).validate().expect("valid");
    let checked = step_check(
        &Devices::new(),
        &valid,
        256,
        &RunOptions::default(),
        &Unattended,
    );
    let StepCheck { share, sample, .. } = checked.expect("computed").expect("possible");
    assert!(sample >= 250, "{sample}");
    100.0 * (1.0 - share)
}

/// The number in a page between two texts.
fn stated(page: &str, before: &str) -> f64 {
    let (_, rest) = page.split_once(before).expect(before);
    let (number, _) = rest.split_once(" %").expect(before);
    number.trim().parse().expect(before)
}

const PAGE: &str = include_str!("../../docs/accuracy.md");

#[test]
fn every_preset_keeps_the_share_of_its_values_that_is_documented() {
    for preset in Preset::ALL {
        let measured = kept(preset.overrides());
        let said = stated(PAGE, &format!("| `{preset}` |"));
        assert!((measured - said).abs() < 1.0, "{preset}: {measured} {said}");
        // The accurate map is accurate, and those of the study are not.
        assert_eq!(measured >= 85.0, preset == Preset::Accurate, "{preset}");
    }
}

#[test]
fn the_accurate_method_also_keeps_other_quantities() {
    let others = Quantity::ALL.iter().filter(|q| **q != Quantity::default());
    for quantity in others {
        let measured = kept(Overrides {
            quantity: Some(*quantity),
            ..Preset::Accurate.overrides()
        });
        let said = stated(PAGE, &format!("| `accurate`, `--quantity {quantity}` |"));
        assert!(
            (measured - said).abs() < 1.0,
            "{quantity}: {measured} {said}"
        );
    }
}

#[test]
fn the_check_of_steps_sees_the_step_and_not_the_form_of_the_starts() {
    let wing = |dt: f64, integrator: &str| {
        let text = format!(
            "size = 24\ncenter = [17.0, -7.0]\nspan = 6.0\ndt = {dt}\nsteps = {}\nintegrator = \"{integrator}\"",
            (50.0 / dt) as u64
        );
        trisolar::config::parse(&text).expect("a specification")
    };
    // The wing of symplectic Euler does not exist.
    assert!(kept(wing(0.05, "symplectic-euler")) < 20.0);
    let bulk = kept(wing(0.004, "leapfrog"));
    assert!(bulk > 80.0, "{bulk}");
    // A run whose finer steps are too many is not checked.
    let most = Specification {
        size: [2, 2],
        steps: trisolar::divergence::MAX_STEPS,
        ..Specification::default()
    };
    let valid = most.validate().expect("valid");
    let options = RunOptions::default();
    let none = step_check(&Devices::new(), &valid, 1, &options, &Unattended);
    assert_eq!(none.expect("no failure"), None);
}
