//! Equations as text: the kernels that are made at run time, with the functions of this program's kernels, have the bits of the CPU.

use std::collections::BTreeSet;
use std::sync::Arc;

use trisolar::ensemble::{CpuEngine, Engine as _, GpuEngine as _};
use trisolar::equation_text::{Text, text};
use trisolar::gpu::Emulator;
use trisolar::run::Unattended;
use trisolar::spec::OneOrTwo;
use trisolar::system::{DeviceEngine, Overrides};

/// The numbers of all items, after a comparison of their bits by the CPU and by the instructions of their kernel.
fn of_both_engines(overrides: &Overrides) -> Vec<f64> {
    let valid = Text::validated(overrides).unwrap();
    let device = Emulator::new("an interpreter of PTX".into()).interpreted();
    let kernel = DeviceEngine::on(Arc::new(device));
    let found = kernel.compute(&valid, &Unattended).unwrap().values;
    let cpu = CpuEngine::new(Some(1)).unwrap();
    let expected = cpu.compute(&valid, &Unattended).unwrap().values;
    assert_eq!(found.numbers.len(), expected.numbers.len());
    let width = expected.width;
    let pairs = found.numbers.iter().zip(&expected.numbers);
    for (place, (found, expected)) in pairs.enumerate() {
        let (item, column) = (place / width, place % width);
        assert_eq!(
            found.to_bits(),
            expected.to_bits(),
            "item {item}, column {column}: {found:e} instead of {expected:e}, {overrides:?}"
        );
    }
    expected.numbers
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

/// The arguments are of all magnitudes, of both signs, infinite and undefined.
#[test]
fn every_function_has_the_bits_of_the_cpu() {
    for name in text::functions() {
        let mut computed = 0;
        // The third entry is the second argument of functions that have two.
        for (exponents, argument, second) in [
            ("k=-770:740", "p", "q"),
            ("k=-770:740", "p - p", "a"),
            ("k=-20:7", "p", "q"),
            ("k=-20:7", "a", "p - p"),
        ] {
            let call = |arguments: String| Overrides {
                iterate: Some(format!(
                    "p = a*exp(k); q = b*exp(k/3); x' = {name}({arguments})"
                )),
                map: texts(&["a=-2:4", exponents]),
                set: texts(&["b=-1.7"]),
                size: Some(OneOrTwo::Two([7, 76])),
                end: Some(1.0),
                value: texts(&["x"]),
                ..Overrides::default()
            };
            for arguments in [argument.to_owned(), format!("{argument}, {second}")] {
                // Refused are a wrong number of arguments, and arguments for which the function is nowhere finite.
                let overrides = call(arguments);
                if Text::validated(&overrides).is_ok() {
                    let numbers = of_both_engines(&overrides);
                    let different: BTreeSet<u64> = numbers.iter().map(|x| x.to_bits()).collect();
                    computed += different.len();
                }
            }
        }
        let least = if name == "sign" { 4 } else { 200 };
        assert!(computed > least, "{name}: {computed}");
    }
}

#[test]
fn drawn_numbers_and_axes_have_the_bits_of_the_cpu() {
    let ensemble = Overrides {
        iterate: Some("a' = a; b' = b; c' = c + p".into()),
        seed: Some(u64::MAX - 5),
        end: Some(1.0),
        value: texts(&["a", "b", "c"]),
        ..Overrides::default()
    };
    let drawn = Overrides {
        draw: texts(&["a=uniform:-2:5", "b=uniform:0:1e-9", "p=uniform:0:1"]),
        n: Some(300),
        ..ensemble.clone()
    };
    let map = Overrides {
        draw: texts(&["p=uniform:0:1e9"]),
        map: texts(&["a=-2:5", "b=6:7"]),
        size: Some(OneOrTwo::Two([7, 30])),
        ..ensemble
    };
    for (overrides, different) in [(drawn, 900), (map, 7 + 30 + 210)] {
        let numbers = of_both_engines(&overrides);
        let found: BTreeSet<u64> = numbers.iter().map(|x| x.to_bits()).collect();
        assert_eq!(found.len(), different, "{overrides:?}");
    }
}

const PENDULUM: &str = "sine = sin(a1 - a2); cosine = cos(a1 - a2); mass = m1 + m2
    share = m1 + m2*sine*sine
    pull1 = g*(m2*sin(a2)*cosine - mass*sin(a1))
    pull2 = g*mass*(sin(a1)*cosine - sin(a2))
    turn1 = m2*sine*(l1*w1*w1*cosine + l2*w2*w2)
    turn2 = sine*(mass*l1*w1*w1 + m2*l2*w2*w2*cosine)
    a1' = w1; a2' = w2; w1' = (pull1 - turn1)/(l1*share); w2' = (pull2 + turn2)/(l2*share)
    left: a2 < -3.5; right: a2 > 3.5";
const DRIVEN: &str = "x' = v; v' = -tanh(x^3) - d*v*abs(v) + ln(1 + exp(-x)) + f*cos(w*t)";

#[test]
fn trajectories_have_the_bits_of_the_cpu() {
    let systems = [
        (
            PENDULUM,
            "m1=1,m2=2,l1=1,l2=0.7,g=9.81,w1=0",
            "a1=-3:3,w2=-5:5",
        ),
        (DRIVEN, "d=0.1,f=3,w=1.2", "x=-2:2,v=-2:2"),
    ];
    for (ode, set, map) in systems {
        for method in ["rk4", "tsit5", "dop853"] {
            for value in ["outcome,time,steps", "lyapunov,megno"] {
                let overrides = Overrides {
                    ode: Some(ode.into()),
                    set: set.split(',').map(str::to_owned).collect(),
                    map: map.split(',').map(str::to_owned).collect(),
                    size: Some(OneOrTwo::Two([5, 3])),
                    method: Some(method.into()),
                    end: Some(3.0),
                    value: value.split(',').map(str::to_owned).collect(),
                    ..Overrides::default()
                };
                let numbers = of_both_engines(&overrides);
                assert!(numbers.iter().all(|x| x.is_finite()), "{numbers:?}");
            }
        }
    }
}
