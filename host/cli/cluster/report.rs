//! The report of a run.

use trisolar::hermite::{Cluster, ClusterRun, Line};
use trisolar::time_run::{Recorder, TimeRun as _};

use super::ADVICE;
use crate::Failure;
use crate::report::{self, Common, Lines};

/// A run that has ended.
pub(super) struct Report<'a, 'r> {
    pub recorder: &'a Recorder<ClusterRun<'r>>,
    pub notes: Vec<String>,
    /// The last line of diagnostics.
    pub last: Option<Line>,
    /// Warnings about the start.
    pub of_start: Vec<String>,
    /// Operations, block steps and steps before this process.
    pub before: (f64, u64, u64),
}

impl Report<'_, '_> {
    pub(super) fn print(&self, json: bool, elapsed: f64) -> Result<(), Failure> {
        match json {
            true => report::json(&self.object(elapsed)),
            false => report::to_stdout(&self.summary(elapsed)),
        }
    }

    fn cluster(&self) -> &Cluster<'_> {
        &self.recorder.run.cluster
    }

    /// Warnings: reasons why the run may not be what the user intended.
    fn warnings(&self) -> Vec<String> {
        [self.of_start.clone(), self.recorder.warnings(ADVICE)].concat()
    }

    /// Operations per second of this process: over all, and in the forces.
    fn rates(&self, elapsed: f64) -> (f64, f64) {
        let operations = self.cluster().operations() - self.before.0;
        (
            operations / elapsed,
            operations
                / (self.cluster().split().force + self.cluster().split().irregular)
                    .as_secs_f64()
                    .max(1e-9),
        )
    }

    fn object(&self, elapsed: f64) -> serde_json::Value {
        let run = &self.recorder.run;
        let split = self.cluster().split();
        let last = self.last.as_ref();
        let (overall, force) = self.rates(elapsed);
        let particles = self.cluster().stars().len();
        let mut specification = report::with_start(self.cluster().specification(), run.overrides());
        specification["n"] = particles.into();
        let common = Common {
            specification,
            files: [self.recorder.written(), self.recorder.snapshots()].concat(),
            devices: report::device(&self.cluster().engine().device()),
            seconds: elapsed,
            rate: Some(overall),
            rate_unit: "operations/s",
            errors: serde_json::json!({
                "energy": last.map(|line| line.error),
                "largest_energy": run.energy_error().map(|e| e.largest()),
                "displacement": run.displacement().map(|found| found.relative),
            }),
            warnings: self.warnings(),
            notes: self.notes.clone(),
        };
        let mut object = serde_json::json!({
            "particles": particles,
            "device": self.cluster().engine().device(),
            "block_steps": self.cluster().block_steps().name(),
            "time": run.shown(self.recorder.stops.end),
            "kinetic": last.map(|line| line.kinetic),
            "potential": last.map(|line| line.potential),
            "energy_error": last.map(|line| line.error),
            "largest_energy_error": run.energy_error().map(|e| e.largest()),
            "core_radius": last.map(|line| line.core_radius),
            "lagrange_radii": last.map(|line| line.lagrange),
            "counters": self.cluster().counters(),
            "worst_step": self.cluster().abrupt().map(|worst| serde_json::json!({
                "time": worst.time,
                "body": worst.body + 1,
                "neighbour": worst.neighbour + 1,
                "distance": worst.distance,
                "ratio": worst.ratio,
            })),
            "split": {
                "predict": split.predict.as_secs_f64(),
                "force": split.force.as_secs_f64(),
                "irregular": split.irregular.as_secs_f64(),
                "correct": split.correct.as_secs_f64(),
                "schedule": split.schedule.as_secs_f64(),
                "pairs": split.pairs.as_secs_f64(),
            },
            "flops": overall,
            "flops_force": force,
        });
        if self.cluster().specification().close_pairs.is_some() {
            let binaries = last.and_then(|line| line.binaries);
            let hardest = binaries.and_then(|found| found.hardest);
            object["binaries"] = binaries.map(|found| found.number as f64).into();
            object["hardest_a"] = hardest.map(|(a, _)| a).into();
            object["hardest_e"] = hardest.map(|(_, e)| e).into();
        }
        common.with(object)
    }

    /// How often pairs were regularised.
    fn pairs_in_words(&self) -> Option<String> {
        self.cluster().specification().close_pairs?;
        let counters = self.cluster().counters();
        Some(format!(
            "{} became single particles, of which {} dissolved",
            report::grouped(counters.pairs_formed),
            report::grouped(counters.pairs_dissolved),
        ))
    }

    fn summary(&self, elapsed: f64) -> String {
        let run = &self.recorder.run;
        let mut lines = Lines::default();
        let counters = self.cluster().counters();
        let split = self.cluster().split();
        let (blocks, steps) = (
            counters.blocks - self.before.1,
            counters.steps - self.before.2,
        );
        lines.add("time", &report::time(elapsed));
        if let Some(error) = run.energy_error() {
            let text = format!(
                "error {:+.3e}, at most {:+.3e}",
                error.last(),
                error.largest()
            );
            lines.add("energy", &text);
        }
        if let Some(found) = run.displacement() {
            let text = format!(
                "errors of the steps displace {}, others less",
                found.in_words(run.names())
            );
            lines.add("positions", &text);
        }
        lines.add("block steps", &report::grouped(blocks));
        lines.add("steps", &report::grouped(steps));
        let share = |d: std::time::Duration| 100.0 * d.as_secs_f64() / elapsed;
        // What a run has not takes no place.
        let all = [
            ("predict", split.predict),
            ("force", split.force),
            ("neighbours' force", split.irregular),
            ("close pairs", split.pairs),
            ("correct", split.correct),
            ("schedule", split.schedule),
        ];
        let spec = self.cluster().specification();
        let shown = all.iter().filter(|(name, _)| match *name {
            "neighbours' force" => spec.ahmad_cohen.is_some(),
            "close pairs" => spec.close_pairs.is_some(),
            _ => true,
        });
        let mut words: Vec<String> = shown
            .map(|(name, time)| format!("{name} {:.1} %", share(*time)))
            .collect();
        let rest = 100.0 - all.iter().map(|(_, time)| share(*time)).sum::<f64>();
        words.push(format!("diagnostics and files {rest:.1} %"));
        lines.add("split", &words.join(", "));
        let (overall, force) = self.rates(elapsed);
        let operations = self.cluster().specification().order.operations();
        lines.add(
            "rate",
            &format!(
                "{:.1} Gflop/s, {:.1} in the forces ({operations} operations a pair)",
                overall / 1e9,
                force / 1e9
            ),
        );
        if counters.regular_steps > 0 {
            let text = format!(
                "{} regular steps, {:.1} neighbours on average, {} lists too long and built again",
                report::grouped(counters.regular_steps),
                counters.irregular_pairs as f64
                    / (counters.steps + counters.regular_steps).max(1) as f64,
                report::grouped(counters.overflows),
            );
            lines.add("neighbours", &text);
        }
        if let Some(pairs) = self.pairs_in_words() {
            lines.add("pairs", &pairs);
        }
        if counters.noisy > 0 {
            let text = format!(
                "{} steps were not shortened: the highest derivatives were rounding noise",
                report::grouped(counters.noisy)
            );
            lines.add("note", &text);
        }
        for warning in self.warnings() {
            lines.add("warning", &warning);
        }
        if counters.clamped > 0 {
            let text = format!(
                "{} steps were lengthened to --min-step",
                report::grouped(counters.clamped)
            );
            lines.add("note", &text);
        }
        for note in &self.notes {
            lines.add("note", note);
        }
        for path in self.recorder.written() {
            lines.add_whole("file", &path.display().to_string());
        }
        if let Some(folder) = &self.recorder.files.snapshots {
            lines.add_whole("folder", &folder.display().to_string());
        }
        lines.as_str().to_owned()
    }
}
