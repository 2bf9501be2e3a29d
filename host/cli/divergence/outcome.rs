//! The report on a computed map: the summary and the JSON object.

use std::path::Path;

use trisolar::divergence::{
    Again, Certificate, Checks, DivergenceMap, Quantity, Resolution, Statistics,
};
use trisolar::ensemble::Report;

use crate::report::{self, Common, Lines};

/// A map without its values.
pub(super) struct MapOutcome {
    pub specification: serde_json::Value,
    /// The method in words.
    pub method: String,
    pub pixels: u64,
    /// Whether its pixels are points that the user gave.
    pub of_points: bool,
    pub report: Report,
    pub quantity: Quantity,
    /// The statistics of the whole map.
    pub statistics: Statistics,
    /// The number of pixel-steps that this run computed.
    pub computed_steps: u64,
    /// Number of pixels that an earlier run computed, if this run resumes it.
    pub resumed: Option<u64>,
    /// The share of pixels for which the step is too long, if it was determined.
    pub resolution: Option<Resolution>,
    /// How many values of samples change with a quarter of the step, and in double-double.
    pub checks: Checks,
    /// The verdicts on all pixels of a certified map.
    pub certificate: Option<Certificate>,
    /// Warnings: reasons why the map may not be what the user intended.
    pub warnings: Vec<String>,
}

impl MapOutcome {
    /// The report on a map that one run computed in memory.
    pub fn of(map: &DivergenceMap) -> Self {
        Self {
            specification: serde_json::from_str(&map.specification_json()).unwrap_or_default(),
            method: map.specification.method(),
            pixels: map.values.len() as u64,
            of_points: map.points.as_ref().is_some_and(|points| !points.are_made()),
            report: map.report.clone(),
            quantity: map.specification.quantity,
            statistics: map.statistics,
            computed_steps: map.statistics.pixel_steps,
            resumed: None,
            resolution: map.resolution,
            checks: map.checks,
            certificate: map.certificate.clone(),
            warnings: map.warnings.clone(),
        }
    }

    /// Adds the share of pixels for which the step is too long.
    pub fn found(&mut self, resolution: Option<Resolution>) {
        self.resolution = resolution;
        self.warnings.extend(resolution.and_then(|r| r.warning()));
    }

    /// Pixel-steps per second of the computation itself.
    fn rate(&self) -> f64 {
        let seconds = self.report.elapsed.as_secs_f64();
        if seconds > 0.0 {
            self.computed_steps as f64 / seconds
        } else {
            0.0
        }
    }

    /// The notes, with what helps if nothing parted.
    fn all_notes(&self) -> impl Iterator<Item = String> {
        let nothing = self.pixels > 0 && self.statistics.never_parted == Some(self.pixels);
        let advice = nothing.then(|| more_steps("", self.warnings.is_empty()));
        self.report.notes.iter().cloned().chain(advice)
    }

    /// The JSON object.
    pub fn object(&self, files: &[&Path]) -> serde_json::Value {
        let common = Common {
            specification: serde_json::json!(self.specification),
            files: files.iter().map(|file| file.to_path_buf()).collect(),
            devices: report::portions(&self.report, "pixels"),
            seconds: self.report.elapsed.as_secs_f64(),
            rate: Some(self.rate()),
            rate_unit: "pixel-steps/s",
            errors: serde_json::json!({
                "unresolved": self.resolution.map(|r| r.share),
                "changed": self.checks.step.map(|found| found.share),
                "rounded": self.checks.rounding.map(|found| found.share),
            }),
            warnings: self.warnings.clone(),
            notes: self.all_notes().collect(),
        };
        let mut object = common.with(serde_json::json!({
            "engine": self.report.engine,
            "device": self.report.device,
            "pixel_steps": self.statistics.pixel_steps,
            "unresolved": self.resolution,
            "step_check": self.checks.step,
            "rounding_check": self.checks.rounding,
        }));
        let found = &self.statistics;
        match found.never_parted {
            Some(never) => object["never_parted"] = never.into(),
            None => {
                object["least"] = found.least.into();
                object["greatest"] = found.greatest.into();
                object["mean"] = found.mean.into();
                object["not_finite"] = found.not_finite.into();
            }
        }
        if let Some(certificate) = &self.certificate {
            object["certificate"] = serde_json::json!(certificate);
        }
        if let Some(energy) = self.report.energy {
            object["energy"] = serde_json::json!(energy);
        }
        if let Some(pixels) = self.resumed {
            object["resumed_pixels"] = pixels.into();
        }
        object
    }

    /// The summary.
    pub fn summary(&self, files: &[&Path]) -> Lines {
        let mut lines = Lines::default();
        lines.add(
            "engine",
            &format!("{}: {}", self.report.engine, self.report.device),
        );
        lines.add("method", &self.method);
        if let Some(shares) = report::shares(&self.report) {
            lines.add("shares", &shares);
        }
        lines.add("pixel-steps", &report::grouped(self.statistics.pixel_steps));
        lines.add("time", &report::time(self.report.elapsed.as_secs_f64()));
        lines.add("rate", &format!("{:.3e} pixel-steps/s", self.rate()));
        if let Some(energy) = self.report.energy {
            let of = if self.report.engine == "gpu+cpu" {
                " (GPUs alone)"
            } else {
                ""
            };
            let text = format!(
                "{:.1} J, {:.0} W on average{of}",
                energy.joules, energy.watts
            );
            lines.add("energy", &text);
        }
        let share = |count: u64| {
            let share = 100.0 * count as f64 / self.pixels as f64;
            let what = if self.of_points { "points" } else { "pixels" };
            let [count, of] = [count, self.pixels].map(report::grouped);
            format!("{share:.2} % ({count} of {of} {what})")
        };
        let found = &self.statistics;
        if let Some(never) = found.never_parted {
            lines.add("never parted", &share(never));
        } else {
            lines.add("quantity", self.quantity.help());
            if let Some(((least, greatest), mean)) = found.least.zip(found.greatest).zip(found.mean)
            {
                let unit = self.quantity.unit();
                let text = format!("{least:.6e} to {greatest:.6e}, mean {mean:.6e} ({unit})");
                lines.add("values", &text);
            }
            if found.not_finite > 0 {
                lines.add("not finite", &share(found.not_finite));
            }
        }
        for (again, found) in self.checks.made() {
            let label = match again {
                Again::Finer => "step check",
                Again::Exact => "rounding",
            };
            lines.add(label, &again.says(&found));
        }
        if let Some(certificate) = &self.certificate {
            for found in &certificate.verdicts {
                let [low, high] = found.interval.map(|share| 100.0 * share);
                let text = format!(
                    "{}; 95 % interval {low:.2} to {high:.2} %",
                    share(found.count)
                );
                lines.add(&found.what, &text);
            }
            if let Some(predicted) = &certificate.predicted {
                let text = format!(
                    "rounding errors grow to {:.1e} at most; {:.2} % of the pixels reach the tolerance of the check",
                    predicted.largest,
                    100.0 * predicted.above
                );
                lines.add("predicted", &text);
            }
        }
        if let Some(found) = self.resolution {
            lines.add("unresolved", &found.in_words());
        }
        if let Some(resumed) = self.resumed {
            let text = format!(
                "{} pixels are from an earlier run; time and rate are for the others",
                report::grouped(resumed)
            );
            lines.add("resumed", &text);
        }
        for (i, file) in files.iter().enumerate() {
            let label = if i == 0 { "files" } else { "" };
            lines.add_whole(label, &file.display().to_string());
        }
        // Warnings that were known before the run have been printed already.
        if let Some(warning) = self.resolution.and_then(|r| r.warning()) {
            lines.add("warning", &warning);
        }
        for note in self.all_notes() {
            lines.add("note", &note);
        }
        lines
    }
}

/// What helps if no twins parted `place`. Where there are warnings, these may name the reason.
pub(crate) fn more_steps(place: &str, without_warnings: bool) -> String {
    let advice = match without_warnings {
        true => "more --steps give them more time",
        false => {
            "see the warnings; if they are not the reason, more --steps give the twins more time"
        }
    };
    format!("no twins parted{place}, so that the picture has one colour; {advice}")
}
