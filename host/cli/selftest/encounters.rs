//! Encounters in the self test: the records of every engine for all kinds of starts.

use std::time::Instant;

use trisolar::bodies::Points;
use trisolar::encounters::{
    Choice, CpuEngine, DeviceEngine, Engine, Jump, Order, Record, Setup, Specification, Validated,
    same_bits,
};
use trisolar::ensemble::GpuEngine as _;
use trisolar::run::{EngineError, Unattended};
use trisolar::simd::Simd;

use super::{Failure, Outcome, Sizes, interrupt};

/// Encounters to compare.
struct Case {
    name: &'static str,
    specification: Specification,
    points: Option<Points>,
}

fn cases(sizes: &Sizes) -> Vec<Case> {
    let usual = Specification {
        n: sizes.runs,
        ..Specification::default()
    };
    let of = |name, specification| Case {
        name,
        specification,
        points: None,
    };
    let scattered = Specification {
        order: Order::Eight,
        parameters: [
            ("phase", Choice::Uniform([0.0, 360.0])),
            ("inclination", Choice::Isotropic([0.0, 180.0])),
            ("node", Choice::Uniform([0.0, 360.0])),
            ("e", Choice::Square([0.0, 0.99])),
            ("mass3", Choice::Uniform([1.0, 30.0])),
            ("v-inf", Choice::Uniform([0.1, 4.0])),
            ("impact", Choice::Square([0.0, 20.0])),
        ]
        .into(),
        radii: [0.05; 3],
        ..usual.clone()
    };
    let free_fall = Specification {
        setup: Setup::FreeFall,
        parameters: [("x", Choice::Region), ("y", Choice::Region)].into(),
        ..usual.clone()
    };
    let map = Specification {
        size: Some(sizes.encounters_map),
        parameters: [
            ("phase", Choice::Columns([0.0, 360.0])),
            ("inclination", Choice::Rows([0.0, 180.0])),
        ]
        .into(),
        jump: Jump::Off,
        order: Order::Two,
        steps_per_period: 200.0,
        limits: trisolar::encounters::Limits {
            max_time: Some(2000.0),
            max_steps: 20_000,
        },
        ..usual.clone()
    };
    // Burrau's triangle with its third body displaced.
    let mut values = Vec::new();
    for i in 0..sizes.points {
        let shift = i as f64 * 1e-3;
        values.extend([1.0, 3.0, 0.0, -2.0, -1.0, shift, 1.0, -1.0 + shift, 0.0]);
        values.extend([0.0; 9]);
        values.extend([3.0, 4.0, 5.0]);
    }
    let points = Points::new(&[sizes.points as usize, 21], values).expect("plain numbers");
    vec![
        of("encounters, at rest", usual.clone()),
        of("encounters, drawn, order 8", scattered),
        of("encounters, free fall", free_fall),
        of("encounters, a map, order 2", map),
        Case {
            name: "encounters, points",
            specification: usual,
            points: Some(points),
        },
    ]
}

impl Case {
    fn valid(&self) -> Result<Validated, Failure> {
        let valid = match &self.points {
            None => self.specification.clone().validate(),
            Some(points) => self.specification.clone().validate_points(points),
        };
        valid.map_err(|e| Failure::Failed(format!("{} of the self test: {e}", self.name)))
    }
}

fn different(got: &[Record], expected: &[Record]) -> u64 {
    let pairs = got.iter().zip(expected);
    pairs.filter(|(a, b)| !same_bits(a, b)).count() as u64
}

/// Every engine on every case, against one lane on one thread.
pub(super) fn outcomes(simds: &[Simd], sizes: &Sizes) -> Result<Vec<Outcome>, Failure> {
    let mut list = Vec::new();
    let gpus: Vec<_> = (trisolar::gpu::devices().unwrap_or_default().iter())
        .map(|device| {
            let engine = trisolar::gpu::open(device.index).map(DeviceEngine::on);
            (device.index, engine.map_err(EngineError::from))
        })
        .collect();
    for case in cases(sizes) {
        let valid = case.valid()?;
        let reference = CpuEngine::with_simd(Some(1), Simd::Scalar)?;
        let expected = reference.compute(&valid, &Unattended)?.values;
        let mut add = |name: String,
                       engine: Result<&dyn Engine<Validated>, EngineError>,
                       valid: &Validated| {
            let start = Instant::now();
            let got = engine.and_then(|engine| engine.compute(valid, &Unattended));
            list.push(Outcome {
                map: case.name.into(),
                engine: name,
                pixels: valid.runs(),
                different: got
                    .map(|got| different(&got.values, &expected))
                    .map_err(|e| e.to_string()),
                seconds: start.elapsed().as_secs_f64(),
            });
            interrupt::check()
        };
        for &simd in simds {
            let engine = CpuEngine::with_simd(Some(2), simd)?;
            add(format!("cpu, {simd}, 2 threads"), Ok(&engine), &valid)?;
        }
        // All points are computed. Of the other cases, the first runs do not depend on the number of runs.
        if case.points.is_none() && case.specification.size.is_none() {
            let few = Specification {
                n: sizes.emulated_runs,
                ..case.specification.clone()
            };
            let few = Case {
                specification: few,
                ..case
            };
            let engine = DeviceEngine::emulated(2, 32, None);
            add(
                format!("emulator, {} runs", sizes.emulated_runs),
                Ok(&engine),
                &few.valid()?,
            )?;
        } else {
            add(
                "emulator".into(),
                Ok(&DeviceEngine::emulated(2, 32, None)),
                &valid,
            )?;
        }
        for (index, engine) in &gpus {
            let engine = engine.as_ref().map(|e| e as &dyn Engine<Validated>);
            add(format!("gpu {index}"), engine.map_err(Clone::clone), &valid)?;
        }
    }
    Ok(list)
}

/// The outcomes as text.
pub(super) fn table(outcomes: &[Outcome], sizes: &Sizes) -> String {
    let (runs, points) = (sizes.runs, sizes.points);
    let mut text = format!("encounters, {runs} runs ({points} points)\n");
    for outcome in outcomes {
        let verdict = match &outcome.different {
            Ok(0) => "equal".to_owned(),
            Ok(n) => format!("{n} RECORDS DIFFER"),
            Err(reason) => format!("FAILED: {reason}"),
        };
        text.push_str(&format!(
            "  {:<30} {:<28} {:>9.3} s  {verdict}\n",
            outcome.map, outcome.engine, outcome.seconds
        ));
    }
    text.push('\n');
    text
}
