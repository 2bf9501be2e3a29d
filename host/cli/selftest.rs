//! `trisolar selftest`: compares every kernel on every device, and every width of the CPU's lanes, on maps that are sensitive to
//! differences, in every precision and with every integrator, for grids and points; and star clusters, all-pairs runs, three-body
//! encounters and planetary systems on every engine. All must agree bit for bit.

use std::time::Instant;

use glam::DVec3;
use serde_json::json;
use trisolar::divergence::{
    CpuEngine, DivergenceKernel, EmulatorEngine, Engine, Plane, Specification, Validated,
    ValueSlice, ValueVec,
};
use trisolar::ensemble::Slice as _;
use trisolar::gpu;
use trisolar::machine;
use trisolar::run::{EngineError, Unattended};
use trisolar::simd::Simd;

use super::cpu_args::SimdArgs;
use super::report::{self, Common, Lines};
use super::{Failure, interrupt};

mod cluster;
mod encounters;
mod ensembles;
mod methods;
mod nbody;
mod planets;
mod sizes;

use sizes::Sizes;

/// Options of `trisolar selftest`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Compute less of each comparison: small maps, few bodies and runs; every engine and method remains
    #[arg(long)]
    quick: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cpu: SimdArgs,
}

/// An engine under test.
struct Candidate {
    name: String,
    engine: Box<dyn Engine<Validated>>,
    /// Whether it computes `f64` maps of a grid by explicit Euler only.
    plain: bool,
}

impl Candidate {
    fn new(name: impl Into<String>, engine: impl Engine<Validated> + 'static) -> Self {
        Self {
            name: name.into(),
            engine: Box::new(engine),
            plain: false,
        }
    }

    fn of_kernel(
        device: &str,
        kernel: DivergenceKernel,
        engine: impl Engine<Validated> + 'static,
    ) -> Self {
        let name = format!("{device}, {}", kernel.name());
        Self {
            plain: kernel == DivergenceKernel::Plain,
            ..Self::new(name, engine)
        }
    }
}

/// A map to compute.
struct Case {
    name: String,
    valid: Validated,
    /// Whether it is one of many maps that differ in method only, for which the table has one line for all engines.
    brief: bool,
}

/// The result of an engine for a map.
#[derive(Debug, serde::Serialize)]
struct Outcome {
    map: String,
    engine: String,
    pixels: u64,
    /// Pixels that differ from the reference, or why there is no result.
    different: Result<u64, String>,
    seconds: f64,
}

impl Outcome {
    fn agrees(&self) -> bool {
        self.different == Ok(0)
    }

    /// The verdict on values of this name.
    fn verdict(&self, values: &str) -> String {
        match &self.different {
            Ok(0) => "equal".to_owned(),
            Ok(n) => format!("{n} {values} DIFFER"),
            Err(reason) => format!("FAILED: {reason}"),
        }
    }
}

/// Compares and reports; any difference is a failure.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    interrupt::watch()?;
    let began = Instant::now();
    let simds = Simd::chosen_or_all(args.cpu.simd);
    let sizes = Sizes::of(args.quick);
    let runs = nbody::outcomes(&simds, sizes)?;
    let mut cases = cases(sizes)?;
    cases.extend(methods::cases(sizes)?);
    let (engines, mut notes) = engines(&simds)?;
    if args.quick {
        notes.push(
            "quick: maps are small, bodies and runs few; without --quick more is compared".into(),
        );
    }
    let mut outcomes = Vec::new();
    let mut spreads = Vec::new();
    for case in &cases {
        // The reference: one lane on one thread.
        let reference = CpuEngine::with_simd(Some(1), Simd::Scalar)?;
        let expected = reference.compute(&case.valid, &Unattended)?.values;
        spreads.push(Spread::of(case, expected.as_slice()));
        for candidate in engines.iter().filter(|e| !(e.plain && case.brief)) {
            interrupt::check()?;
            outcomes.push(compare(case, candidate, &expected));
        }
    }
    let clusters = cluster::outcomes(&simds, sizes)?;
    let encounters = ensembles::outcomes(&encounters::cases(sizes)?, &simds)?;
    let planets = ensembles::outcomes(&planets::cases(sizes)?, &simds)?;
    let others = || clusters.iter().chain(&encounters).chain(&planets);
    let all = || outcomes.iter().chain(others());
    let wrong = all().filter(|o| !o.agrees()).count() + runs.iter().filter(|o| !o.agrees()).count();
    let passed = wrong == 0;
    if args.json {
        let gpus = gpu::devices().unwrap_or_default();
        let names = std::iter::once(machine::cpu_name()).chain(gpus.into_iter().map(|g| g.name));
        let common = Common {
            specification: json!({
                "simd": simds.iter().map(Simd::to_string).collect::<Vec<_>>(),
                "quick": args.quick,
            }),
            devices: names.map(|name| json!({ "device": name })).collect(),
            seconds: began.elapsed().as_secs_f64(),
            errors: json!({ "wrong_results": wrong }),
            notes,
            ..Common::default()
        };
        let rows = |of: &[Outcome]| of.iter().map(Outcome::to_json).collect::<Vec<_>>();
        report::json(&common.with(json!({
            "passed": passed,
            "maps": spreads,
            "results": rows(&outcomes),
            "clusters": rows(&clusters),
            "encounters": rows(&encounters),
            "planets": rows(&planets),
            "nbody": runs.iter().map(nbody::Outcome::to_json).collect::<Vec<_>>(),
        })))?;
    } else {
        let Sizes {
            particles,
            blocks,
            runs: encounters_of_case,
            points,
            systems,
            ..
        } = sizes;
        let text = [
            rows(
                &format!("star clusters, {particles} particles, {blocks} block steps"),
                &clusters,
                "NUMBERS",
            ),
            rows(
                &format!("encounters, {encounters_of_case} runs ({points} points)"),
                &encounters,
                "RECORDS",
            ),
            rows(
                &format!("planetary systems, {systems} of each kind"),
                &planets,
                "RECORDS",
            ),
            nbody::table(&runs),
        ];
        let counts = [all().count() + runs.len(), wrong];
        report::to_stdout(&table(&spreads, &outcomes, &text.concat(), &notes, counts))?;
    }
    if passed {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// All engines of this machine with these instruction sets, and notes about missing ones.
fn engines(simds: &[Simd]) -> Result<(Vec<Candidate>, Vec<String>), Failure> {
    let mut list = Vec::new();
    let mut notes = Vec::new();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for &simd in simds {
        for n in [1, threads.max(2)] {
            // The reference is one lane on one thread.
            if simd == Simd::Scalar && n == 1 {
                continue;
            }
            let s = if n == 1 { "" } else { "s" };
            let name = format!("cpu, {simd}, {n} thread{s}");
            list.push(Candidate::new(name, CpuEngine::with_simd(Some(n), simd)?));
        }
    }
    for kernel in DivergenceKernel::ALL {
        let engine = EmulatorEngine::new(kernel);
        list.push(Candidate::of_kernel("emulator", kernel, engine));
    }
    match gpus() {
        Ok(gpus) => list.extend(gpus),
        Err(EngineError::NoGpu(reason)) => {
            notes.push(format!("no GPU was checked: {reason}"));
        }
        Err(error) => return Err(error.into()),
    }
    Ok((list, notes))
}

/// Every kernel on every GPU.
#[cfg(feature = "gpu")]
fn gpus() -> Result<Vec<Candidate>, EngineError> {
    use trisolar::divergence::{DeviceEngine, MultiDeviceEngine};
    use trisolar::run::{Backend, GpuChoice, RunOptions};

    let mut list = Vec::new();
    for device in trisolar::gpu::devices()? {
        for kernel in DivergenceKernel::ALL {
            let name = format!("gpu {}", device.index);
            let engine = DeviceEngine::gpu_with_kernel(device.index, kernel)?;
            list.push(Candidate::of_kernel(&name, kernel, engine));
        }
    }
    let together = RunOptions {
        backend: Backend::Gpu,
        with_cpu: true,
        gpus: GpuChoice::All,
        ..RunOptions::default()
    };
    let (multi_device, _) = MultiDeviceEngine::open(u64::MAX, &together)?;
    list.push(Candidate::new(
        "all GPUs and the CPU together",
        multi_device,
    ));
    Ok(list)
}

#[cfg(not(feature = "gpu"))]
fn gpus() -> Result<Vec<Candidate>, EngineError> {
    Err(EngineError::NoGpu(
        "this program was built without the feature `gpu`".into(),
    ))
}

/// Maps of all shapes with early and late partings: a coarse time step and a shift near the critical distance
/// show within some hundred steps what the headline map takes 50000 for.
fn cases(sizes: &Sizes) -> Result<Vec<Case>, Failure> {
    let coarse = Specification {
        size: sizes.map,
        span: [40.0, 40.0],
        steps: 200,
        dt: 0.08,
        shift: DVec3::splat(0.1),
        critical_distance: 0.5,
        ..Specification::default()
    };
    let plane = Specification {
        size: sizes.plane,
        plane: Plane::Yz,
        body: 3,
        center: [1.0, -2.0].into(),
        span: [30.0, 20.0],
        masses: [10.0, 0.0, 30.0],
        softening: 0.1,
        shift: DVec3::new(0.0, -0.2, 0.2),
        ..coarse.clone()
    };
    let [width, height] = sizes.map;
    let [odd_width, odd_height] = sizes.odd;
    let list = [
        (format!("{width}x{height}"), coarse.clone()),
        (
            format!("odd sizes, {odd_width}x{odd_height}"),
            Specification {
                size: sizes.odd,
                ..coarse.clone()
            },
        ),
        (
            format!("a single row, {}x1", sizes.row),
            Specification {
                size: [sizes.row, 1],
                center: [0.0, 22.0].into(),
                ..coarse.clone()
            },
        ),
        (
            "one pixel".to_owned(),
            Specification {
                size: [1, 1],
                center: [22.0, 22.0].into(),
                ..coarse.clone()
            },
        ),
        (
            "plane yz of body 3, softened, a test body".to_owned(),
            plane,
        ),
        (
            "bodies that meet and trajectories of NaN".to_owned(),
            meeting(coarse, sizes.meeting),
        ),
    ];
    let mut cases = Vec::new();
    for (name, specification) in list {
        let valid = specification
            .validate()
            .map_err(|e| Failure::Failed(format!("the map {name} of the self test: {e}")))?;
        cases.push(Case {
            name,
            valid,
            brief: false,
        });
    }
    Ok(cases)
}

/// The grid passes exactly through body 2: at that pixel the distance is 0 and everything after it NaN.
fn meeting(coarse: Specification, size: [u64; 2]) -> Specification {
    let mut specification = Specification {
        size,
        center: [0.0, 0.0].into(),
        span: size.map(|pixels| pixels as f64 / 10.0),
        velocities: [DVec3::ZERO; 3],
        ..coarse
    };
    specification.positions[0].z = 0.0;
    if let Ok(valid) = specification.clone().validate() {
        let pixel = valid.pixels() / 2 + 5;
        specification.positions[1] = DVec3::from(valid.job(0, 1).grid.start(pixel));
    }
    specification
}

fn compare(case: &Case, candidate: &Candidate, expected: &ValueVec) -> Outcome {
    let start = Instant::now();
    let different = match candidate.engine.compute(&case.valid, &Unattended) {
        Ok(computed) if computed.values.len() != expected.len() => {
            Err(format!("{} pixels came back", computed.values.len()))
        }
        Ok(computed) => Ok(computed.values.as_slice().different(expected.as_slice())),
        Err(error) => Err(error.to_string()),
    };
    Outcome {
        map: case.name.clone(),
        engine: candidate.name.clone(),
        pixels: expected.len() as u64,
        different,
        seconds: start.elapsed().as_secs_f64(),
    }
}

/// A line for each outcome of systems other than maps, whose values have this name.
fn rows(title: &str, outcomes: &[Outcome], values: &str) -> String {
    let mut text = format!("{title}\n");
    for outcome in outcomes {
        text.push_str(&format!(
            "  {:<34} {:<28} {:>9.3} s  {}\n",
            outcome.map,
            outcome.engine,
            outcome.seconds,
            outcome.verdict(values)
        ));
    }
    text.push('\n');
    text
}

/// The range of the pixels' partings, which shows that the map tests all cases.
#[derive(Debug, serde::Serialize)]
struct Spread {
    map: String,
    #[serde(skip)]
    brief: bool,
    pixels: u64,
    /// The range of a map of divergence, in steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    earliest: Option<u32>,
    latest: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    never_parted: Option<u64>,
}

impl Spread {
    fn of(case: &Case, values: ValueSlice<'_>) -> Self {
        let s = case.valid.specification();
        let steps = s.steps as u32;
        let times = values.of::<u32>().unwrap_or_default();
        Self {
            map: case.name.clone(),
            brief: case.brief,
            pixels: values.len() as u64,
            earliest: times.iter().copied().min(),
            latest: times.iter().copied().filter(|t| *t < steps).max(),
            never_parted: s.quantity.statistics(values, s.steps).never_parted,
        }
    }
}

impl Outcome {
    fn to_json(&self) -> serde_json::Value {
        json!({
            "map": self.map,
            "engine": self.engine,
            "pixels": self.pixels,
            "different": self.different.as_ref().ok(),
            "error": self.different.as_ref().err(),
            "seconds": self.seconds,
        })
    }
}

fn table(
    spreads: &[Spread],
    outcomes: &[Outcome],
    clusters: &str,
    notes: &[String],
    counts: [usize; 2],
) -> String {
    let mut text = String::from("reference: cpu, scalar, 1 thread\n\n");
    for spread in spreads.iter().filter(|s| !s.brief) {
        let latest = spread.latest.map_or("never".into(), |t| t.to_string());
        let (earliest, never) = (spread.earliest, spread.never_parted);
        text.push_str(&format!(
            "{}\n  {} pixels; partings from step {} to {latest}; {} never part\n",
            spread.map,
            spread.pixels,
            earliest.unwrap_or(0),
            never.unwrap_or(0)
        ));
        for outcome in outcomes.iter().filter(|o| o.map == spread.map) {
            text.push_str(&format!(
                "  {:<46} {:>9.3} s  {}\n",
                outcome.engine,
                outcome.seconds,
                outcome.verdict("PIXELS")
            ));
        }
        text.push('\n');
    }
    text.push_str(&methods::table(spreads, outcomes));
    text.push_str(clusters);
    let mut lines = Lines::default();
    for note in notes {
        lines.add("note", note);
    }
    let verdict = match counts {
        [all, 0] => format!("all {all} results are equal, bit for bit"),
        [all, wrong] => format!("{wrong} of {all} results differ or are missing"),
    };
    lines.add("result", &verdict);
    text.push_str(lines.as_str());
    text
}
