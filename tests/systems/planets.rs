//! Planetary systems: equal bits on all engines, and physics.

use std::sync::Mutex;

use trisolar::divergence::Unattended;
use trisolar::ensemble::Sink;
use trisolar::planets::{
    CpuEngine, DeviceEngine, Engine, Outcome, Overrides, Record, Task, Validated, step_check,
    with_half_the_step,
};
use trisolar::run::{EngineError, RunOptions};
use trisolar::simd::Simd;

fn valid(planets: &[&str], change: impl FnOnce(&mut Overrides)) -> Validated {
    let mut overrides = Overrides {
        planet: planets.iter().map(|p| p.parse().unwrap()).collect(),
        ..Overrides::default()
    };
    change(&mut overrides);
    overrides.validated().unwrap()
}

fn fastest(spec: &Validated) -> Vec<Record> {
    let engine = CpuEngine::new(None).unwrap();
    engine.compute(spec, &Unattended).unwrap().values
}

fn bits(r: &Record) -> ([u64; 5], [u32; 2]) {
    let reals = [r.time, r.megno, r.mean_megno, r.lyapunov, r.energy_error];
    (reals.map(f64::to_bits), [r.steps, r.outcome])
}

/// Records by the numbers of their systems.
#[derive(Default)]
struct Found(Mutex<Vec<(u64, Record)>>);

impl Sink<Validated> for Found {
    fn put(&self, first: u64, records: &[Record]) -> Result<(), EngineError> {
        let mut all = self.0.lock().unwrap();
        all.extend((first..).zip(records.iter().copied()));
        Ok(())
    }
}

const JUPITER: &str = "m=0.000954,a=5.204,e=0.048,omega=0.257,M=0.6";

#[test]
fn all_engines_give_the_same_bits() {
    let one = valid(&["m=1e-3,a=1,e=uniform(0,0.99)"], |o| {
        o.years = Some(20.0);
        o.n = Some(9);
    });
    let map = valid(
        &[JUPITER, "m=0.000285,a=7:10:7,e=0:0.5:5,omega=1.616,M=0.871"],
        |o| {
            o.years = Some(400.0);
            o.stop = vec!["r>12".parse().unwrap(), "hill<1".parse().unwrap()];
        },
    );
    let three = valid(
        &[
            "m=1e-3,a=1,M=uniform(0,6.28)",
            "m=1e-3,a=1.2,inc=uniform(0,0.3),Omega=1",
            "a=2,e=thermal(0,0.9)",
        ],
        |o| {
            o.n = Some(13);
            o.years = Some(60.0);
            o.stop = vec!["megno>8".parse().unwrap()];
        },
    );
    let many: Vec<String> = (0..15)
        .map(|i| format!("m=1e-6,a={},M={i}", 1.3_f64.powi(i)))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let many = valid(&many, |o| {
        o.years = Some(5.0);
        o.observable = Some("energy-error".parse().unwrap());
    });
    let forces = |change: fn(&mut Overrides)| {
        let e = "m=1e-4,a=1.3,e=uniform(0,0.2),inc=uniform(0,0.3),omega=2";
        valid(&["m=1e-3,a=1,M=uniform(0,6.28)", e], |o| {
            o.n = Some(11);
            o.years = Some(40.0);
            o.relativity = Some("potential".parse().unwrap());
            o.j2 = Some(0.01);
            o.j4 = Some(-0.003);
            o.radius = Some("0.1".parse().unwrap());
            change(o);
        })
    };
    let with_tangent = forces(|_| {});
    let alone = forces(|o| {
        o.form = Some("dkd".parse().unwrap());
        o.observable = Some("time".parse().unwrap());
    });
    let meeting = |count: usize, change: fn(&mut Overrides)| {
        let planet = |i: usize| {
            format!(
                "m=1e-3,a={},e=0.1,M=uniform(0,6.28)",
                1.15_f64.powi(i as i32)
            )
        };
        let planets: Vec<String> = (0..count).map(planet).collect();
        let planets: Vec<&str> = planets.iter().map(String::as_str).collect();
        valid(&planets, |o| {
            o.n = Some(9);
            o.years = Some(12.0);
            change(o);
        })
    };
    let adaptive = meeting(2, |o| {
        o.integrator = Some("adaptive".parse().unwrap());
        o.relativity = Some("full".parse().unwrap());
        (o.radius, o.k2) = (Some("0.1".parse().unwrap()), Some(0.1));
        (o.lag, o.spin) = (Some(1e5), Some(20.0));
        o.planet[0] = "m=1e-3,a=1,e=0.2,tau_a=1e3,tau_e=100,beta=0.01,k2=0.1,radius=0.01,lag=1e5"
            .parse()
            .unwrap();
    });
    let hybrid = meeting(3, |o| o.integrator = Some("hybrid".parse().unwrap()));
    let hybrid_alone = meeting(6, |o| {
        o.integrator = Some("hybrid".parse().unwrap());
        o.observable = Some("energy-error".parse().unwrap());
    });
    let eight = meeting(8, |o| o.stop = vec!["hill<0.3".parse().unwrap()]);
    let five = meeting(5, |o| o.observable = Some("time".parse().unwrap()));
    let mut seen = [false; 6];
    for valid in [
        one,
        map,
        three,
        many,
        with_tangent,
        alone,
        adaptive,
        hybrid,
        hybrid_alone,
        eight,
        five,
    ] {
        let reference = CpuEngine::with_simd(Some(1), Simd::Scalar).unwrap();
        let expected = reference.compute(&valid, &Unattended).unwrap().values;
        (expected.iter()).for_each(|r| seen[r.outcome as usize] = true);
        let mut engines: Vec<(String, Box<dyn Engine<Validated>>)> = Vec::new();
        for simd in Simd::available() {
            let engine = CpuEngine::with_simd(Some(3), simd).unwrap();
            engines.push((simd.to_string(), Box::new(engine)));
        }
        for (most, steps, seed) in [(100, 1000, None), (8, 77, Some(1)), (5, 1, Some(2))] {
            let engine = DeviceEngine::emulated(most, steps, seed);
            engines.push((
                format!("emulator {most} {steps} {seed:?}"),
                Box::new(engine),
            ));
        }
        for (name, engine) in engines {
            let got = engine.compute(&valid, &Unattended).unwrap().values;
            for (item, (a, b)) in got.iter().zip(&expected).enumerate() {
                assert_eq!(bits(a), bits(b), "{name}, system {item}: {a:?}\n{b:?}");
            }
        }
    }
    // Point masses that collide are not solved.
    let [open, ended @ .., _] = seen;
    assert!(ended == [true; 4] && !open, "{seen:?}");
}

#[test]
fn a_device_follows_scattered_systems_together() {
    let map = valid(&[JUPITER, "m=0.000285,a=7:10:40"], |o| o.years = Some(30.0));
    let expected = fastest(&map);
    let (spans, found) = ([3..4, 7..20, 39..40], Found::default());
    let engine = DeviceEngine::emulated(8, 50, None);
    let task = Task::new(&map, &spans, &found);
    engine.stream(&task, &Unattended).unwrap();
    let mut found = found.0.into_inner().unwrap();
    found.sort_unstable_by_key(|(item, _)| *item);
    let items: Vec<u64> = found.iter().map(|(item, _)| *item).collect();
    assert_eq!(items, spans.into_iter().flatten().collect::<Vec<_>>());
    for (item, record) in &found {
        assert_eq!(bits(record), bits(&expected[*item as usize]), "{item}");
    }
}

#[test]
fn the_grid_of_rebounds_tutorial_has_its_escapes_and_chaotic_systems() {
    // REBOUND 5.2.2, WHFast with dt = 5 (a year is 2 π), exit at 20 au, on numpy's linspace(7, 10, 12) and linspace(0, 0.5, 12): 55 of 144
    // systems escape, and of the others 22 have a MEGNO that differs from 2 by more than 1. (With safe_mode = 0 there are 23.)
    let map = valid(
        &[
            JUPITER,
            "m=0.000285,a=7:10.272727272727273:12,e=0:0.5454545454545454:12,omega=1.616,M=0.871",
        ],
        |o| {
            o.years = Some(1e4);
            o.step = Some(format!("{}", 5.0 / std::f64::consts::TAU).parse().unwrap());
            o.stop = vec!["r>20".parse().unwrap()];
        },
    );
    let records = fastest(&map);
    let count = |is: &dyn Fn(&Record) -> bool| records.iter().filter(|r| is(r)).count();
    let escapes = count(&|r| r.outcome == Outcome::ESCAPE.0);
    let stable = |r: &Record| r.outcome == Outcome::STABLE.0;
    let chaotic = count(&|r| stable(r) && (r.mean_megno - 2.0).abs() > 1.0);
    // Chaotic systems escape sooner or later by chance.
    assert!((50..=60).contains(&escapes), "{escapes}");
    assert!((17..=28).contains(&chaotic), "{chaotic}");
    assert_eq!(count(&|r| r.outcome == Outcome::UNSOLVED.0), 0);
    // The rows of small eccentricity are regular there and here.
    for record in &records[..24] {
        assert!(
            stable(record) && (record.mean_megno - 2.0).abs() < 0.5,
            "{record:?}"
        );
    }
    let options = RunOptions::default();
    let repeat = with_half_the_step(&map, 24).unwrap();
    let again = repeat
        .compute(&options, &Unattended, <[Record]>::to_vec)
        .unwrap();
    let check = step_check(&records, &again);
    assert_eq!(check.sample, 24);
    assert!(check.changed < 8, "{check:?}");
}

#[test]
fn other_integrators_follow_planets_that_meet() {
    let of = |integrator: &str| {
        let planet = |a: f64| format!("m=1e-3,a={a},M=uniform(0,6.28)");
        let spec = valid(&[&planet(1.0), &planet(1.2)], |o| {
            o.n = Some(32);
            o.years = Some(50.0);
            o.observable = Some("energy-error".parse().unwrap());
            o.integrator = Some(integrator.parse().unwrap());
        });
        let records = fastest(&spec);
        let solved = records.iter().filter(|r| r.outcome == Outcome::STABLE.0);
        let mut errors: Vec<f64> = solved.map(|r| r.energy_error.abs()).collect();
        errors.sort_by(f64::total_cmp);
        // Point masses in a plane may collide.
        assert!(errors.len() >= 24, "{integrator}: {errors:?}");
        errors[errors.len() / 2]
    };
    let [fixed, hybrid] = ["wisdom-holman", "hybrid"].map(&of);
    assert!(hybrid < 1e-2 * fixed, "{hybrid:e} {fixed:e}");
    let adaptive = of("adaptive");
    assert!(adaptive < 1e-10, "{adaptive:e}");
}

#[test]
fn two_planets_are_stable_beyond_the_limit_of_hill() {
    // Gladman 1993: 2.40 (μ1 + μ2)^(1/3) for circular orbits.
    let mass: f64 = 1e-5;
    let limit = 2.40 * (2.0 * mass).cbrt();
    let ends = |separation: f64| {
        let outer = format!("m={mass},a={},M=uniform(0,6.28)", 1.0 + separation);
        let spec = valid(&[&format!("m={mass},a=1"), &outer], |o| {
            o.n = Some(16);
            o.years = Some(2000.0);
            o.stop = vec!["hill<1".parse().unwrap()];
        });
        let met = fastest(&spec);
        met.iter()
            .filter(|r| r.outcome == Outcome::ENCOUNTER.0)
            .count()
    };
    assert_eq!(ends(1.05 * limit), 0);
    assert!(ends(0.7 * limit) >= 12);
}
