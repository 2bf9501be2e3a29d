//! `trisolar bench divergence`: pixel-steps per second of every engine, measured one after the other in one run,
//! beside the plain loop and the machine's limit.

use std::time::{Duration, Instant};

use serde_json::json;
use trisolar::divergence::yardstick;
use trisolar::divergence::{CpuEngine, Engine, OneOrTwo, Specification, Validated};
use trisolar::machine;
use trisolar::run::{Backend, EngineError};
use trisolar::simd::Simd;
use trisolar::simd::peak;

use crate::cpu_args::CpuArgs;
use crate::progress::Progress;
use crate::report::{self, Lines};
use crate::{Failure, interrupt, values};

/// Measures the engines on the headline map's square of start positions.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("threads", |threads| threads.help(
        "Largest number of threads of the CPU engines, 1 to 4096 [default: as many as the process may use]"
    )),
    about = "Measure divergence maps: every engine, the plain loop and the limit of the machine"
)]
pub(crate) struct Args {
    /// Pixels: width and height, or one number for a square [default: 100 on the CPU, 24 for its
    /// scalar lanes, 1000 on a GPU]
    #[arg(long, value_name = "W[xH]", allow_hyphen_values = true, value_parser = values::size)]
    size: Option<OneOrTwo<u64>>,
    /// Steps after which a pixel counts as never parted, 1 to 4294967294
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::steps, default_value = "50000")]
    steps: u64,
    #[command(flatten)]
    cpu: CpuArgs,
    /// What to measure: auto (all there is), cpu or gpu
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = values::backend)]
    backend: Backend,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// The measurements of one engine.
#[derive(Debug, serde::Serialize)]
struct Row {
    engine: String,
    threads: Option<usize>,
    pixels: u64,
    pixel_steps: u64,
    seconds: f64,
    rate: f64,
    /// Share of the limit of the same number of CPU threads.
    of_limit: Option<f64>,
    /// Speed relative to the plain loop.
    of_plain: Option<f64>,
}

/// Pixels along a side for scalar lanes, where others are faster: the rate does not depend on it, the time does.
const SCALAR_SIDE: u64 = 24;
/// Duration of the measurement of the limit.
const PEAK_TIME: Duration = Duration::from_millis(500);
/// Longest time for which the plain loop is measured.
const PLAIN_TIME: Duration = Duration::from_secs(5);

/// Measures and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let begin = Instant::now();
    let on_cpu = args.specification(100)?;
    interrupt::watch()?;
    let mut rows = Vec::new();
    let mut limits = Vec::new();
    let mut plain_agrees = None;
    let simds = Simd::chosen_or_all(args.cpu.simd());
    let fastest = args.fastest();
    if args.backend != Backend::Gpu {
        limits = args
            .thread_counts()
            .map(|n| (n, peak::operations_per_second(fastest, n, PEAK_TIME)))
            .collect();
        let (row, sample) = measure_plain(&on_cpu)?;
        let plain_rate = row.rate;
        rows.push(row);
        let mut last = Vec::new();
        let few = args.specification(SCALAR_SIDE)?;
        for simd in simds {
            let slow = simd == Simd::Scalar && simd != fastest;
            let valid = if slow { &few } else { &on_cpu };
            for (threads, limit) in &limits {
                let engine = CpuEngine::with_simd(Some(*threads), simd)?;
                let (mut row, times) = measure(&engine, valid, format!("cpu, {simd}"))?;
                row.threads = Some(*threads);
                row.of_limit = Some(row.rate * peak::OPERATIONS / limit);
                row.of_plain = Some(row.rate / plain_rate);
                rows.push(row);
                last = times;
            }
        }
        let equal = sample
            .iter()
            .filter(|(pixel, times)| last[*pixel as usize] == *times)
            .count();
        plain_agrees = Some((equal, sample.len()));
    }
    if args.backend != Backend::Cpu {
        match measure_gpus(args, rows.first().map(|plain| plain.rate)) {
            Ok(measured) => rows.extend(measured),
            Err(Failure::Failed(message)) if args.backend == Backend::Auto => {
                report::to_stderr(&format!(
                    "note: {}",
                    message.lines().next().unwrap_or_default()
                ));
            }
            Err(failure) => return Err(failure),
        }
    }
    if args.json {
        // Only rows of the CPU have a number of threads.
        let cpu = machine::cpu_name();
        let devices = rows.iter().map(|row| match row.threads {
            Some(_) => cpu.as_str(),
            None => row.engine.as_str(),
        });
        let rates = rows.iter().map(|row| row.rate);
        let specification = json!(on_cpu.specification());
        let common = super::common(begin, specification, devices, rates, "pixel-steps/s");
        return report::json(&common.with(json!({
            "cpu": cpu,
            "steps": args.steps,
            "operations_per_pixel_step": peak::OPERATIONS,
            "limits": limits.iter().map(|(threads, limit)| json!({"threads": threads, "operations_per_second": limit})).collect::<Vec<_>>(),
            "plain_equal_pixels": plain_agrees.map(|(equal, _)| equal),
            "plain_pixels": plain_agrees.map(|(_, all)| all),
            "rows": rows,
        })));
    }
    report::to_stdout(&table(args, &rows, &limits, plain_agrees))
}

impl Args {
    fn specification(&self, side: u64) -> Result<Validated, Failure> {
        let size = match self.size.unwrap_or(OneOrTwo::One(side)) {
            OneOrTwo::One(n) => [n, n],
            OneOrTwo::Two(size) => size,
        };
        let specification = Specification {
            size,
            steps: self.steps,
            ..Specification::default()
        };
        specification
            .validate()
            .map_err(|e| Failure::specification(&e, true, None))
    }

    /// The fastest instruction set that is measured.
    fn fastest(&self) -> Simd {
        self.cpu.simd().unwrap_or_else(Simd::best)
    }

    /// One thread, and all of them.
    fn thread_counts(&self) -> impl Iterator<Item = usize> {
        let all = self.cpu.threads.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        std::iter::once(1).chain((all > 1).then_some(all))
    }
}

fn measure(
    engine: &dyn Engine<Validated>,
    valid: &Validated,
    label: String,
) -> Result<(Row, Vec<u32>), EngineError> {
    let progress = Progress::new(&label, false);
    let computed = engine.compute(valid, &progress)?;
    let steps = computed.values.steps_together();
    let pixel_steps = steps.iter().map(|t| u64::from(*t)).sum();
    let row = row(label, valid.pixels(), pixel_steps, computed.report.elapsed);
    Ok((row, steps.to_vec()))
}

fn row(engine: String, pixels: u64, pixel_steps: u64, elapsed: Duration) -> Row {
    let seconds = elapsed.as_secs_f64();
    Row {
        engine,
        threads: None,
        pixels,
        pixel_steps,
        seconds,
        rate: pixel_steps as f64 / seconds,
        of_limit: None,
        of_plain: None,
    }
}

/// Pixels spread over the whole map, as many as fit the time; also returns their values.
fn measure_plain(valid: &Validated) -> Result<(Row, Vec<(u64, u32)>), Failure> {
    let pixels = valid.pixels();
    // A stride without a common factor visits every pixel once, far ones first.
    let stride = (1..=pixels)
        .rev()
        .find(|s| *s <= pixels * 5 / 8 + 1 && common_factor(*s, pixels) == 1)
        .unwrap_or(1);
    let progress = Progress::new("plain loop", false);
    let start = Instant::now();
    let mut sample = Vec::new();
    let mut pixel = 0;
    while start.elapsed() < PLAIN_TIME && (sample.len() as u64) < pixels {
        interrupt::check()?;
        sample.push((pixel, yardstick::steps_together(valid, pixel)));
        pixel = (pixel + stride) % pixels;
        trisolar::run::Monitor::progress(
            &progress,
            start.elapsed().as_millis() as u64,
            PLAIN_TIME.as_millis() as u64,
        );
    }
    let elapsed = start.elapsed();
    let pixel_steps = sample.iter().map(|(_, times)| u64::from(*times)).sum();
    let mut row = row(
        "plain loop, scalar".into(),
        sample.len() as u64,
        pixel_steps,
        elapsed,
    );
    row.threads = Some(1);
    row.of_plain = Some(1.0);
    Ok((row, sample))
}

fn common_factor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_factor(b, a % b) }
}

/// Every GPU on a map that keeps it busy.
#[cfg(feature = "gpu")]
fn measure_gpus(args: &Args, plain_rate: Option<f64>) -> Result<Vec<Row>, Failure> {
    use trisolar::divergence::{DeviceEngine, MultiDeviceEngine};
    use trisolar::run::{GpuChoice, RunOptions};

    let valid = args.specification(1000)?;
    let devices = trisolar::gpu::devices().map_err(EngineError::from)?;
    let mut rows = Vec::new();
    for device in devices {
        let engine = DeviceEngine::gpu(device.index)?;
        // The driver compiles the kernels for the device at their first use.
        let warm_up = Specification {
            size: [64, 64],
            steps: 100,
            ..Specification::default()
        };
        let warm_up = warm_up
            .validate()
            .map_err(|e| Failure::specification(&e, true, None))?;
        engine.compute(&warm_up, &trisolar::run::Unattended)?;
        let (mut row, _) = measure(&engine, &valid, format!("gpu, {}", device.name))?;
        row.of_plain = plain_rate.map(|plain| row.rate / plain);
        rows.push(row);
    }
    if rows.len() > 1 {
        let all = RunOptions {
            backend: Backend::Gpu,
            gpus: GpuChoice::All,
            ..RunOptions::default()
        };
        let (multi_device, _) = MultiDeviceEngine::open(valid.pixels(), &all)?;
        let (mut row, _) = measure(&multi_device, &valid, format!("gpu, all {}", rows.len()))?;
        row.of_plain = plain_rate.map(|plain| row.rate / plain);
        rows.push(row);
    }
    Ok(rows)
}

#[cfg(not(feature = "gpu"))]
fn measure_gpus(_: &Args, _: Option<f64>) -> Result<Vec<Row>, Failure> {
    Err(EngineError::NoGpu("this program was built without the feature `gpu`".into()).into())
}

fn table(
    args: &Args,
    rows: &[Row],
    limits: &[(usize, f64)],
    plain_agrees: Option<(usize, usize)>,
) -> String {
    let mut lines = Lines::default();
    lines.add("cpu", &machine::cpu_name());
    lines.add(
        "map",
        &format!("the headline map's start positions, {} steps", args.steps),
    );
    for (threads, limit) in limits {
        lines.add(
            "limit",
            &format!(
                "{:.1}e9 f64 operations/s on {threads} thread{} ({}, measured); {} operations a pixel-step",
                limit / 1e9,
                if *threads == 1 { "" } else { "s" },
                args.fastest(),
                peak::OPERATIONS
            ),
        );
    }
    if let Some((equal, all)) = plain_agrees {
        lines.add(
            "plain loop",
            &format!("gives the same numbers in {equal} of {all} pixels"),
        );
    }
    let mut text = lines.as_str().to_owned();
    text.push_str(&format!(
        "\n\n{:<28} {:>7} {:>9} {:>9} {:>7} {:>8}",
        "engine", "threads", "seconds", "steps/s", "limit", "x plain"
    ));
    for row in rows {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let name: String = row.engine.chars().take(28).collect();
        text.push_str(&format!(
            "\n{name:<28} {:>7} {:>9.2} {:>9.3e} {:>7} {:>8}",
            or_dash(row.threads.map(|n| n.to_string())),
            row.seconds,
            row.rate,
            or_dash(row.of_limit.map(|x| format!("{:.0} %", 100.0 * x))),
            or_dash(row.of_plain.map(|x| format!("{x:.2}"))),
        ));
    }
    text.push_str(
        "\n\nsteps/s: pixel-steps per second; a pixel-step advances a system and its twin",
    );
    text
}
