//! Sequences of ensembles of encounters.

use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};

use super::framed::Style;
use super::named::{Named, NamedAxis, is_an_axis};
use super::recorded::{
    Curves, Figures, FrameSummary, Recorded, cell, curves_of_shares, share_names,
};
use trisolar_encounters::pictures::{self, Look};
use trisolar_encounters::{
    Choice, Encounters, Jump, Setup, Specification, Summary, Validated, files,
};
use trisolar_ensemble::{ClassShare, Report};
use trisolar_io::IoError;
use trisolar_run::partial::Mapped;
use trisolar_spec::SpecError;

/// The numbers that say how runs are integrated and end.
const INTEGRATION: [&str; 4] = ["steps-per-period", "jump", "escape-radius", "max-time"];

/// The names of the parameters of all starts, each once.
fn starts() -> Vec<&'static str> {
    let mut names = Vec::new();
    for parameter in Setup::NAMED.into_iter().flat_map(Setup::parameters) {
        if !names.contains(&parameter.name) {
            names.push(parameter.name);
        }
    }
    names
}

impl Named for Specification {
    type Of = Validated;

    const MAP: &'static str = "a map (--map)";

    fn name(text: &str) -> Option<&'static str> {
        let mut all = starts().into_iter().chain(INTEGRATION);
        all.find(|name| *name == text)
    }

    fn names() -> String {
        let [others @ .., last] = INTEGRATION;
        format!("{}, {} or {last}", starts().join(", "), others.join(", "))
    }

    fn unit(name: &str) -> &'static str {
        let mut setups = Setup::NAMED.into_iter();
        let found = setups.find_map(|setup| setup.parameter(name));
        found.map_or("", |(_, parameter)| parameter.unit)
    }

    fn number(&self, name: &str) -> f64 {
        match name {
            "steps-per-period" => self.steps_per_period,
            "escape-radius" => self.escape_radius,
            "max-time" => self.limits.max_time.unwrap_or(f64::NAN),
            "jump" => match self.jump {
                Jump::Tolerance(tolerance) => tolerance,
                Jump::Off => f64::NAN,
            },
            name => match self.setup.parameter(name).map(|(_, p)| self.choice(p)) {
                Some(Choice::Fixed(value)) => value,
                _ => f64::NAN,
            },
        }
    }

    fn set_number(&mut self, name: &'static str, value: f64) -> Result<(), String> {
        match name {
            "steps-per-period" => self.steps_per_period = value,
            "escape-radius" => self.escape_radius = value,
            "max-time" => self.limits.max_time = Some(value),
            "jump" => self.jump = Jump::Tolerance(value),
            name => {
                let Some((_, parameter)) = self.setup.parameter(name) else {
                    return Err(format!("the setup {} has no {name}", self.setup));
                };
                if matches!(self.choice(parameter), Choice::Columns(_) | Choice::Rows(_)) {
                    return Err(is_an_axis(name));
                }
                self.parameters.insert(name, Choice::Fixed(value));
            }
        }
        Ok(())
    }

    fn map_axes(&self) -> [Option<NamedAxis>; 2] {
        let [columns, rows] = self.axes();
        let [width, height] = self.size.unwrap_or([0; 2]);
        [(columns, width), (rows, height)].map(|(axis, pixels)| {
            axis.filter(|_| pixels > 0)
                .map(|(parameter, range)| (parameter.name.to_owned(), range, pixels))
        })
    }

    fn set_axis(&mut self, axis: usize, range: [f64; 2]) {
        if let Some((parameter, _)) = self.axes()[axis] {
            let choice = [Choice::Columns(range), Choice::Rows(range)][axis];
            self.parameters.insert(parameter.name, choice);
        }
    }

    fn validated(self) -> Result<Validated, SpecError> {
        self.validate()
    }
}

impl Recorded for Validated {
    type Computed = Encounters;
    type Sample = ();
    type Figures = Summary;

    fn specification_json(&self) -> Value {
        json!(self.specification())
    }

    fn is_drawn(&self) -> bool {
        self.specification().size.is_some()
    }

    fn computed(&self, records: Mapped) -> Encounters {
        Encounters {
            specification: self.specification().clone(),
            records: records.into(),
            report: Report::default(),
            step_check: None,
            certificate: None,
        }
    }

    fn figures(&self, computed: &Encounters, _: Option<()>) -> Summary {
        Summary::of(computed)
    }

    fn steps_of(&self, computed: &Encounters, spans: &[Range<u64>]) -> u64 {
        computed.steps(spans)
    }

    fn write_records(&self, path: &Path, computed: &Encounters) -> Result<(), IoError> {
        files::npz(path, self, computed)
    }

    fn draw(&self, path: &Path, computed: &Encounters, style: &Style) -> Result<(), IoError> {
        let look = Look {
            theme: style.theme,
            y: style.y,
        };
        match style.axes {
            true => pictures::outcome_map(path, computed, &look),
            false => pictures::bare_outcome_map(path, computed, style.y),
        }
    }
}

/// Whether this is the name of the share of an escaper.
fn is_escaper(name: &str) -> bool {
    name.ends_with(" escapes")
}

impl Figures for Summary {
    const ITEMS: &'static str = "encounters";

    fn items(&self) -> u64 {
        self.runs
    }

    fn cells(&self) -> [Vec<(String, String)>; 2] {
        let lives = &self.lifetimes;
        let tail = lives.tail.as_ref();
        let before = [("runs", self.runs), ("failed_runs", self.failed)];
        let behind = [
            ("median_lifetime", lives.median),
            ("ninety_percent_lifetime", lives.ninety_percent),
            ("tail_exponent", tail.map(|t| t.exponent)),
            ("tail_error", tail.map(|t| t.error)),
            ("mean_steps", Some(self.steps)),
            ("mean_excursions", Some(self.excursions)),
            ("mean_jumps", Some(self.jumps)),
            ("largest_energy_error", Some(self.errors.energy_largest)),
        ];
        [
            before
                .map(|(name, n)| (name.to_owned(), n.to_string()))
                .into(),
            behind.map(|(name, x)| (name.to_owned(), cell(x))).into(),
        ]
    }

    /// Those of all runs, and of all escapes.
    fn shares(&self) -> Vec<(String, ClassShare)> {
        let outcomes = self.outcomes.iter().map(|s| (s.what.clone(), s.clone()));
        // Bodies are named by their numbers, because masses may differ from frame to frame.
        let escapers = (1..).zip(&self.escapers);
        let escapers = escapers.map(|(body, s)| (format!("body {body} escapes"), s.clone()));
        outcomes.chain(escapers).collect()
    }

    /// The shares of the escapers, or of all outcomes where there are no escapes.
    fn curves(all: &[FrameSummary<Self>]) -> Curves {
        let mut names = share_names(all);
        let [what, of] = match names.iter().any(|name| is_escaper(name)) {
            true => {
                names.retain(|name| is_escaper(name));
                ["escaping bodies", "escapes"]
            }
            false => ["outcomes", Self::ITEMS],
        };
        let runs = all.first().map_or(0, |s| s.figures.runs);
        Curves {
            what: "shares",
            title: format!("Shares of the {what}, {runs} encounters for each value"),
            y: format!("share of the {of}"),
            curves: curves_of_shares(all, names),
        }
    }

    fn warnings(&self) -> Vec<Option<(f64, String)>> {
        let failed = self.failed_warning();
        let errors = self.accuracy_warning();
        let open = self.open_warning();
        vec![
            failed.map(|text| (self.failed as f64, text)),
            errors.map(|text| (self.errors.energy_largest, text)),
            open.map(|text| (self.open as f64, text)),
        ]
    }

    fn check(&self, most: Option<f64>) -> Result<(), String> {
        self.check(most)
    }

    fn energy_largest(&self) -> Option<f64> {
        Some(self.errors.energy_largest)
    }

    fn failed(&self) -> u64 {
        self.failed
    }
}
