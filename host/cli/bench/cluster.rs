//! `trisolar bench cluster`: rates of the forces with all particles active, and the time that an N-body unit takes, for
//! every engine in one run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use trisolar::bodies::Model;
use trisolar::gpu::{Device, Stopwatch};
use trisolar::hermite::{
    BlockSteps, Cluster, CpuEngine, Engine, HermiteError, Options, Order, Precision, Specification,
    Split, on_devices,
};
use trisolar::machine;
use trisolar::run::{Backend, Workers};
use trisolar::simd::Simd;

use crate::cpu_args::CpuArgs;
use crate::report::{self, Lines};
use crate::{Failure, interrupt, values};

/// Measures Plummer models with a softening of 4/N.
#[derive(Debug, clap::Args)]
#[command(
    about = "Measure star clusters: rates of the forces, and the time of an N-body unit on every engine"
)]
pub(crate) struct Args {
    /// Numbers of particles of the runs, separated by commas
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1024,16384,65536", value_parser = values::particles)]
    n: Vec<usize>,
    /// Orders to measure
    #[arg(long, value_name = "P,...", value_delimiter = ',', default_value = "4,6,8", value_parser = values::order)]
    order: Vec<Order>,
    /// Longest time of a run in seconds; the run is ended then
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = values::number)]
    seconds: f64,
    #[command(flatten)]
    cpu: CpuArgs,
    /// What to measure: auto (all there is), cpu or gpu
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = values::backend)]
    backend: Backend,
    /// How many GPUs; with more than 1, runs on all of them together follow those on the first one [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::gpu_count)]
    gpus: Option<u32>,
    /// Print one JSON object instead of the tables
    #[arg(long)]
    json: bool,
}

/// Particles for the rates of one CPU thread: many enough for the loops, few enough to start quickly.
const CPU_PARTICLES: usize = 4096;
/// Particles for the rates of a GPU.
const GPU_PARTICLES: usize = 65536;
/// Largest number of particles in the launch that makes the driver compile a kernel before it is measured.
const WARM_UP_PARTICLES: usize = 256;
/// Shortest time for which forces are measured (seconds).
const MIN_FORCE_SECONDS: f64 = 0.4;

/// Forces of all particles on all.
#[derive(Debug, serde::Serialize)]
struct Rate {
    engine: String,
    order: u32,
    precision: &'static str,
    particles: usize,
    seconds: f64,
    pairs_per_second: f64,
    /// Floating-point operations per second, at 60, 97 or 144 operations per pair.
    flops: f64,
}

/// A run from the start.
#[derive(Debug, serde::Serialize)]
struct Unit {
    engine: String,
    order: u32,
    precision: &'static str,
    particles: usize,
    /// Whether host or device performs block steps.
    block_steps: &'static str,
    /// The time that it reached (N-body units).
    time: f64,
    blocks: u64,
    steps: u64,
    seconds: f64,
    seconds_per_unit: f64,
    seconds_per_block: f64,
    /// Mean number of active particles in a block.
    active_per_block: f64,
    /// Time that the interactions of a mean block take at the rate with all particles active.
    force_seconds_per_block: f64,
    /// The second time divided by the first.
    efficiency: f64,
    flops: f64,
    /// Shares of the time: predict, force, correct, schedule and copies.
    split: [f64; 4],
}

/// A factory of engines.
struct Maker<'a> {
    name: String,
    /// The engine with one of its devices, and their number.
    of_one: String,
    devices: usize,
    particles: usize,
    /// The places where block steps can be performed.
    block_steps: &'static [BlockSteps],
    make: Box<dyn Fn() -> Result<Box<dyn Engine + 'a>, HermiteError> + 'a>,
}

/// Measures and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let begin = Instant::now();
    if !(args.seconds.is_finite() && args.seconds > 0.0) {
        let given = args.seconds.to_string();
        return Err(Failure::value(
            &given,
            "--seconds",
            "must be a finite number above 0 (seconds)",
        ));
    }
    interrupt::watch()?;
    let gpus = open_gpus(args)?;
    let mut rates = Vec::new();
    let mut units = Vec::new();
    for maker in force_makers(args, &gpus) {
        for order in &args.order {
            for precision in Precision::ALL {
                interrupt::check()?;
                rates.push(rate(&maker, *order, precision)?);
            }
        }
    }
    let makers = run_makers(args, &gpus);
    let mut all_active = Vec::new();
    for maker in &makers {
        for order in &args.order {
            interrupt::check()?;
            // The host adds up what several GPUs compute, which their own block steps do not need.
            let same = |r: &&Rate| {
                r.engine == maker.of_one
                    && r.order == order.number()
                    && r.precision == Precision::F64.name()
            };
            let known =
                (rates.iter().find(same)).map(|r| maker.devices as f64 * r.pairs_per_second);
            all_active.push(match known {
                Some(pairs_per_second) => pairs_per_second,
                None => {
                    rates.push(rate(maker, *order, Precision::F64)?);
                    rates[rates.len() - 1].pairs_per_second
                }
            });
        }
    }
    for n in &args.n {
        let mut all_active = all_active.iter();
        for maker in &makers {
            for (order, all_active) in args.order.iter().zip(all_active.by_ref()) {
                for by in maker.block_steps {
                    units.push(unit(maker, *by, *order, *n, args.seconds, *all_active)?);
                }
            }
        }
    }
    if args.json {
        let devices = rates.iter().map(|rate| rate.engine.as_str());
        let flops = rates.iter().map(|rate| rate.flops);
        let orders: Vec<u32> = args.order.iter().map(|order| order.number()).collect();
        let specification = json!({ "n": args.n, "order": orders, "seconds": args.seconds });
        let common = super::common(begin, specification, devices, flops, "operations/s");
        return report::json(&common.with(json!({
            "cpu": machine::cpu_name(),
            "rates": rates,
            "units": units,
        })));
    }
    report::to_stdout(&table(&rates, &units))
}

type Gpus = Vec<Arc<dyn Device>>;

fn open_gpus(args: &Args) -> Result<Gpus, Failure> {
    let options = Options {
        backend: args.backend,
        gpus: args.gpus,
        ..Options::default()
    };
    options
        .check(None)
        .map_err(|e| Failure::value(&e.given, e.option, &e.allowed))?;
    if args.backend == Backend::Cpu {
        return Ok(Vec::new());
    }
    match options.open_gpus() {
        Ok(gpus) => Ok(gpus),
        Err(error) if args.backend == Backend::Auto && args.gpus.is_none() => {
            report::to_stderr(&format!("note: {error}"));
            Ok(Vec::new())
        }
        Err(error) => Err(error.into()),
    }
}

/// The first GPU, and all of them together.
fn on_gpus(gpus: &Gpus, cpu: CpuArgs) -> impl Iterator<Item = Maker<'_>> {
    let first = (!gpus.is_empty()).then_some(1);
    let all = (gpus.len() > 1).then_some(gpus.len());
    first.into_iter().chain(all).map(move |count| Maker {
        name: match count {
            1 => gpus[0].info().name.clone(),
            _ => format!("{count} x {}", gpus[0].info().name),
        },
        of_one: gpus[0].info().name.clone(),
        devices: count,
        particles: GPU_PARTICLES,
        block_steps: &[BlockSteps::Host, BlockSteps::Device],
        make: Box::new(move || {
            let workers = Workers::with_simd(cpu.threads, cpu.simd())?.with_short_tasks()?;
            Ok(on_devices(gpus[..count].to_vec(), workers))
        }),
    })
}

/// One thread of every instruction set, and the GPU.
fn force_makers<'a>(args: &Args, gpus: &'a Gpus) -> Vec<Maker<'a>> {
    let mut list = Vec::new();
    if args.backend != Backend::Gpu {
        for simd in Simd::chosen_or_all(args.cpu.simd()) {
            let name = format!("cpu, {simd}, 1 thread");
            list.push(Maker {
                of_one: name.clone(),
                name,
                devices: 1,
                particles: CPU_PARTICLES,
                block_steps: &[BlockSteps::Host],
                make: Box::new(move || Ok(Box::new(CpuEngine::with_simd(Some(1), simd)?))),
            });
        }
    }
    list.extend(on_gpus(gpus, args.cpu));
    list
}

/// The CPU with all threads, and the GPU.
fn run_makers<'a>(args: &Args, gpus: &'a Gpus) -> Vec<Maker<'a>> {
    let mut list = Vec::new();
    if args.backend != Backend::Gpu {
        let (threads, simd) = (args.cpu.threads, args.cpu.simd());
        let count = threads.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        let s = if count == 1 { "" } else { "s" };
        let name = format!(
            "cpu, {}, {count} thread{s}",
            simd.unwrap_or_else(Simd::best)
        );
        list.push(Maker {
            of_one: name.clone(),
            name,
            devices: 1,
            particles: CPU_PARTICLES,
            block_steps: &[BlockSteps::Host],
            make: Box::new(move || Ok(Box::new(CpuEngine::with_simd(threads, simd)?))),
        });
    }
    list.extend(on_gpus(gpus, args.cpu));
    list
}

fn cluster<'a>(
    maker: &Maker<'a>,
    order: Order,
    precision: Precision,
    n: usize,
) -> Result<Cluster<'a>, Failure> {
    let specification = Specification {
        softening: 4.0 / n as f64,
        precision,
        ..Specification::new(order)
    };
    let bodies = Model::Plummer.build(Some(n), 1, 1.0, 3);
    let bodies = bodies.map_err(|e| Failure::Failed(e.to_string()))?;
    let start = specification
        .validate(bodies)
        .map_err(|e| Failure::value(&e.given, e.option, &e.allowed))?;
    Cluster::new(&start, (maker.make)()?).map_err(Failure::from)
}

/// Measures the forces of all particles on all, for at least [`MIN_FORCE_SECONDS`].
fn rate(maker: &Maker<'_>, order: Order, precision: Precision) -> Result<Rate, Failure> {
    let n = maker.particles;
    let start = cluster(maker, order, precision, n)?;
    let mut engine = (maker.make)()?;
    engine.load(start.specification(), start.stars())?;
    engine.predict(0.0)?;
    let places: Vec<u32> = (0..n as u32).collect();
    let mut forces = vec![[start.stars()[0].taylor[0]; 4]; n];
    // In the first evaluation the driver compiles kernels, and memory is touched for the first time.
    engine.forces(&places, &mut forces)?;
    let begin = Instant::now();
    let (mut time, mut times) = (Duration::ZERO, 0);
    while times == 0 || begin.elapsed().as_secs_f64() < MIN_FORCE_SECONDS {
        // Block steps by the device copy nothing either.
        time += engine.time_forces(&places, &mut forces)?;
        times += 1;
    }
    let seconds = time.as_secs_f64() / f64::from(times);
    let pairs = (n * n) as f64 / seconds;
    Ok(Rate {
        engine: maker.name.clone(),
        order: order.number(),
        precision: precision.name(),
        particles: n,
        seconds,
        pairs_per_second: pairs,
        flops: pairs * f64::from(order.operations()),
    })
}

/// Runs from the start to one N-body unit, or until the time limit. `all_active` is the engine's number of pairs per second with all
/// particles active.
fn unit(
    maker: &Maker<'_>,
    by: BlockSteps,
    order: Order,
    n: usize,
    limit: f64,
    all_active: f64,
) -> Result<Unit, Failure> {
    if by == BlockSteps::Device {
        let mut few = cluster(maker, order, Precision::F64, n.min(WARM_UP_PARTICLES))?;
        few.set_block_steps(by)?;
        few.advance(0.0, &mut |_| true)?;
    }
    let mut cluster = cluster(maker, order, Precision::F64, n)?;
    cluster.set_block_steps(by)?;
    let begin = Stopwatch::start();
    let mut go_on = |_| begin.elapsed().as_secs_f64() < limit && !interrupt::interrupted();
    cluster.advance(1.0, &mut go_on)?;
    interrupt::check()?;
    let seconds = begin.elapsed().as_secs_f64();
    let Split {
        predict,
        force,
        correct,
        schedule,
        ..
    } = cluster.split();
    let counters = cluster.counters();
    let blocks = counters.blocks as f64;
    let pairs = cluster.operations() / f64::from(order.operations());
    let force_seconds = pairs / all_active;
    Ok(Unit {
        engine: maker.name.clone(),
        order: order.number(),
        precision: Precision::F64.name(),
        particles: n,
        block_steps: by.name(),
        time: cluster.time(),
        blocks: counters.blocks,
        steps: counters.steps,
        seconds,
        seconds_per_unit: seconds / cluster.time(),
        seconds_per_block: seconds / blocks,
        active_per_block: counters.steps as f64 / blocks,
        force_seconds_per_block: force_seconds / blocks,
        efficiency: force_seconds / seconds,
        flops: cluster.operations() / seconds,
        split: [predict, force, correct, schedule].map(|d| d.as_secs_f64() / seconds),
    })
}

fn table(rates: &[Rate], units: &[Unit]) -> String {
    let mut lines = Lines::default();
    lines.add("cpu", &machine::cpu_name());
    lines.add("model", "Plummer, softening 4/N");
    lines.add(
        "count",
        "60, 97, 144 operations a pair at order 4, 6, 8 in every precision; split-f32 does 15 more",
    );
    let mut text = lines.as_str().to_owned();
    text.push_str(&format!(
        "\n\nforces of all particles on all (without copies between GPU and host)\n{:<28} {:>5} {:<11} {:>7} {:>9} {:>9}",
        "engine", "order", "precision", "N", "pairs/s", "Gflop/s"
    ));
    for r in rates {
        let name: String = r.engine.chars().take(28).collect();
        text.push_str(&format!(
            "\n{name:<28} {:>5} {:<11} {:>7} {:>9.2e} {:>9.1}",
            r.order,
            r.precision,
            r.particles,
            r.pairs_per_second,
            r.flops / 1e9
        ));
    }
    text.push_str(&format!(
        "\n\nruns from the start, f64, block steps by host or device; active: mean number of\n\
         particles in a block; times: the time of a block as a multiple of that of its\n\
         interactions at the rate above, or of several GPUs at that of one times their\n\
         number; split: predict, force, correct, rest in %{}\n\
         {:<11} {:>5} {:>7} {:<6} {:>8} {:>7} {:>8} {:>6}  split",
        engines(units),
        "engine",
        "order",
        "N",
        "by",
        "s a unit",
        "active",
        "us/block",
        "times"
    ));
    for u in units {
        let name = short(&u.engine);
        let split = u.split.map(|s| format!("{:.0}", 100.0 * s)).join("/");
        let times = 1.0 / u.efficiency;
        let digits = if times < 100.0 { 2 } else { 0 };
        text.push_str(&format!(
            "\n{name:<11} {:>5} {:>7} {:<6} {:>8.3} {:>7.1} {:>8.1} {times:>6.digits$}  {split}",
            u.order,
            u.particles,
            u.block_steps,
            u.seconds_per_unit,
            u.active_per_block,
            u.seconds_per_block * 1e6,
        ));
    }
    text
}

/// An engine's name up to the first comma, shortened to the width of the column.
fn short(engine: &str) -> String {
    let name = engine.split(',').next().unwrap_or(engine);
    name.chars().take(11).collect()
}

/// The engines whose names are shortened in the table, each on a line.
fn engines(units: &[Unit]) -> String {
    let mut names: Vec<&str> = units.iter().map(|u| u.engine.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let shortened = names.into_iter().filter(|name| short(name) != *name);
    shortened.map(|name| format!("\n{name}")).collect()
}
