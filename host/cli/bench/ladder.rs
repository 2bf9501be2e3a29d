//! `trisolar bench ladder`: the kernels of the ladder on one map, over block sizes.

use trisolar::divergence::{OneOrTwo, Specification, Validated};

use crate::{Failure, values};

/// Measures the kernels of the ladder, see docs/ladder.md.
#[derive(Debug, clap::Args)]
#[command(
    about = "Measure the ladder of divergence kernels over block sizes",
    after_help = "Needs a GPU. Each kernel is one launch that cannot be interrupted; the first ones take 10 to 100 times as\n\
                  long as the last, and on a GPU with slow 64-bit arithmetic some minutes with the default size."
)]
pub(crate) struct Args {
    /// Pixels: width and height, or one number for a square, up to 1073741824 (2^30) together
    #[arg(long, value_name = "W[xH]", allow_hyphen_values = true, value_parser = values::size, default_value = "300")]
    size: OneOrTwo<u64>,
    /// Steps after which a pixel counts as never parted, 1 to 4294967294
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::steps, default_value = "50000")]
    steps: u64,
    /// Threads of a block, from 1 to 1024, separated by commas
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = block, default_value = "32,64,128,256,512")]
    blocks: Vec<u32>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

fn block(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        _ => Err("must be a whole number from 1 to 1024".into()),
    }
}

impl Args {
    fn specification(&self) -> Result<Validated, Failure> {
        let size = match self.size {
            OneOrTwo::One(n) => [n, n],
            OneOrTwo::Two(size) => size,
        };
        let specification = Specification {
            size,
            steps: self.steps,
            ..Specification::default()
        };
        let valid = specification
            .validate()
            .map_err(|e| Failure::specification(&e, true, None))?;
        if valid.pixels() > 1 << 30 {
            let given = format!("{}x{}", size[0], size[1]);
            let allowed = "must be at most 1073741824 (2^30) pixels together";
            return Err(Failure::value(&given, "--size", allowed));
        }
        Ok(valid)
    }
}

/// Measures and reports.
#[cfg(not(feature = "gpu"))]
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.specification()?;
    let _ = (&args.blocks, args.json);
    let reason = "this program was built without the feature `gpu`".into();
    Err(trisolar::run::EngineError::NoGpu(reason).into())
}

#[cfg(feature = "gpu")]
pub(crate) use on_gpu::run;

#[cfg(feature = "gpu")]
mod on_gpu {
    use serde_json::json;
    use std::sync::Arc;
    use std::time::Instant;

    use trisolar::divergence::{Rung, Validated, climb};
    use trisolar::run::EngineError;

    use trisolar::gpu::{Device, open};

    use super::Args;
    use crate::report::{self, Lines};
    use crate::{Failure, interrupt};

    /// A rung in blocks of one size.
    #[derive(Debug, serde::Serialize)]
    struct Row {
        kernel: &'static str,
        change: &'static str,
        block: u32,
        seconds: f64,
        /// Time of the first rung at its best block size, divided by this one's.
        ratio: f64,
        registers: u32,
        occupancy: f64,
        /// Pixels that differ from the last rung's.
        different: usize,
    }

    /// Measures and reports.
    pub(crate) fn run(args: &Args) -> Result<(), Failure> {
        let begin = Instant::now();
        let valid = args.specification()?;
        interrupt::watch()?;
        let gpu = open(0).map_err(EngineError::from)?;
        let rows = measure(args, &gpu, &valid)?;
        if args.json {
            let device = &gpu.info().name;
            let specification = json!(valid.specification());
            // The rungs are compared by their times.
            let common = crate::bench::common(begin, specification, [&device[..]], [], "");
            return report::json(&common.with(json!({ "device": device, "rows": rows })));
        }
        report::to_stdout(&table(&valid, &gpu, &rows))
    }

    fn measure(args: &Args, gpu: &Arc<dyn Device>, valid: &Validated) -> Result<Vec<Row>, Failure> {
        let Some(tuned) = climb(gpu, valid, Rung::Tuned, 128)? else {
            return Err(Failure::Failed(
                "the tuned kernel does not fit the GPU".into(),
            ));
        };
        let reference = tuned.steps_together;
        let mut rows = Vec::new();
        for rung in Rung::ALL {
            for &block in &args.blocks {
                interrupt::check()?;
                let Some(climbed) = climb(gpu, valid, rung, block)? else {
                    continue;
                };
                let pairs = climbed.steps_together.iter().zip(&reference);
                rows.push(Row {
                    kernel: rung.entry(),
                    change: rung.change(),
                    block,
                    seconds: climbed.elapsed.as_secs_f64(),
                    ratio: 0.0,
                    registers: climbed.registers,
                    occupancy: climbed.occupancy,
                    different: pairs.filter(|(a, b)| a != b).count(),
                });
            }
        }
        let lowest = rows.iter().filter(|r| r.kernel == Rung::Memory.entry());
        let base = lowest.map(|r| r.seconds).fold(f64::INFINITY, f64::min);
        for row in &mut rows {
            row.ratio = base / row.seconds;
        }
        Ok(rows)
    }

    fn table(valid: &Validated, gpu: &Arc<dyn Device>, rows: &[Row]) -> String {
        let s = valid.specification();
        let mut lines = Lines::default();
        lines.add("gpu", &gpu.info().name);
        let map = format!(
            "the headline map, {}x{} pixels, {} steps",
            s.size[0], s.size[1], s.steps
        );
        lines.add("map", &map);
        let mut text = lines.as_str().to_owned();
        text.push_str(&format!(
            "\n\n{:<24} {:>5} {:>10} {:>8} {:>9} {:>9}  result",
            "rung", "block", "seconds", "ratio", "registers", "occupancy"
        ));
        for row in rows {
            let result = match row.different {
                0 => "the same".to_owned(),
                n => format!("{n} pixels differ"),
            };
            text.push_str(&format!(
                "\n{:<24} {:>5} {:>10.4} {:>8.2} {:>9} {:>7.1} %  {result}",
                row.change,
                row.block,
                row.seconds,
                row.ratio,
                row.registers,
                100.0 * row.occupancy
            ));
        }
        text.push_str(
            "\n\nratio: speed relative to the first rung at its best block size;\n\
             result: comparison with the last rung",
        );
        text
    }
}
