//! Sequences of planetary systems.

use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};

use super::framed::Style;
use super::named::{Named, NamedAxis, is_an_axis};
use super::recorded::{
    Curves, Figures, FrameSummary, Observed, Recorded, Spread, observed_cells, shares_or_medians,
};
use trisolar_ensemble::{ClassShare, Records, Repeated};
use trisolar_equation_text::kept;
use trisolar_io::IoError;
use trisolar_io::picture::PictureStyle;
use trisolar_planets::files::{self, Format, Look};
use trisolar_planets::{
    CHECKED, ELEMENTS, Number, Record, Specification, Step, Summary, Validated, element_of_planet,
    step_check, with_half_the_step,
};
use trisolar_run::partial::Mapped;
use trisolar_run::{EngineError, Monitor, RunOptions};
use trisolar_spec::SpecError;

/// The numbers that are not those of a body.
const OTHERS: [&str; 3] = ["years", "step", "tolerance"];

impl Named for Specification {
    type Of = Validated;

    const MAP: &'static str = "a map (LOW:HIGH:N)";

    fn name(text: &str) -> Option<&'static str> {
        let mut others = OTHERS.into_iter().chain(["star"]);
        let of_planet = || element_of_planet(text).map(|_| kept(text));
        others.find(|name| *name == text).or_else(of_planet)
    }

    fn names() -> String {
        let (elements, others) = (ELEMENTS.join(", "), OTHERS.join(", "));
        format!("star, {others}, or one of {elements} with the number of a planet, as in a2")
    }

    fn unit(name: &str) -> &'static str {
        match name {
            "years" => "years",
            name if OTHERS.contains(&name) => "",
            name => files::unit(name),
        }
    }

    fn number(&self, name: &str) -> f64 {
        match (name, self.step) {
            ("years", _) => self.years,
            ("step", step) => step.length(),
            ("tolerance", _) => self.tolerance.unwrap_or(f64::NAN),
            _ => match self.clone().number_mut(name) {
                Ok(Number::Fixed(x)) => *x,
                _ => f64::NAN,
            },
        }
    }

    fn set_number(&mut self, name: &'static str, value: f64) -> Result<(), String> {
        match (name, self.step) {
            ("years", _) => self.years = value,
            ("step", Step::Years(_)) => self.step = Step::Years(value),
            ("step", Step::Periods(_)) => self.step = Step::Periods(value),
            ("tolerance", _) => self.tolerance = Some(value),
            _ => {
                let number = self.number_mut(name)?;
                if matches!(number, Number::Axis(..)) {
                    return Err(is_an_axis(name));
                }
                *number = Number::Fixed(value);
            }
        }
        Ok(())
    }

    fn map_axes(&self) -> [Option<NamedAxis>; 2] {
        let mut axes = self.axes().into_iter();
        [axes.next(), axes.next()]
    }

    fn set_axis(&mut self, axis: usize, range: [f64; 2]) {
        let found = self.axes().into_iter().nth(axis);
        if let Some((name, _, count)) = found
            && let Ok(number) = self.number_mut(&name)
        {
            *number = Number::Axis(range, count);
        }
    }

    fn validated(self) -> Result<Validated, SpecError> {
        self.validate()
    }
}

impl Recorded for Validated {
    type Computed = Records<Record>;
    type Sample = Repeated<Record>;
    type Figures = Observed<Summary>;

    fn specification_json(&self) -> Value {
        json!(self.specification())
    }

    fn is_drawn(&self) -> bool {
        self.specification().axes().len() == 2
    }

    fn computed(&self, records: Mapped) -> Records<Record> {
        records.into()
    }

    fn sampled(
        &self,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Option<Repeated<Record>>, EngineError> {
        let repeat = with_half_the_step(self, CHECKED);
        repeat
            .map(|r| r.compute(options, monitor, <[Record]>::to_vec))
            .transpose()
    }

    fn figures(
        &self,
        records: &Records<Record>,
        sample: Option<Repeated<Record>>,
    ) -> Observed<Summary> {
        let observable = self.specification().observable;
        let check = sample.map(|again| step_check(records, &again));
        let drawn = records.iter().map(|record| observable.drawn(record));
        Observed {
            summary: Summary::of(self, records, check),
            observed: Some(Spread::of(observable.name(), drawn)),
        }
    }

    fn steps_of(&self, records: &Records<Record>, spans: &[Range<u64>]) -> u64 {
        let all = spans
            .iter()
            .flat_map(|span| &records[span.start as usize..span.end as usize]);
        all.map(|record| u64::from(record.steps)).sum()
    }

    fn write_records(&self, path: &Path, records: &Records<Record>) -> Result<(), IoError> {
        Format::Npz.write(path, self, records, &Look::default())
    }

    fn draw(&self, path: &Path, records: &Records<Record>, style: &Style) -> Result<(), IoError> {
        let look = Look {
            theme: style.theme,
            y: style.y,
        };
        files::picture(path, self.specification(), records, &look, style.axes)
    }

    fn colours(&self) -> Option<(String, PictureStyle)> {
        let specification = self.specification();
        let [label, unit] = specification.observable.label();
        let style = files::style(specification, Default::default());
        Some((with_unit(label, unit), style)).filter(|_| self.is_drawn())
    }

    fn coloured(&self, path: &Path) -> Result<Vec<f64>, IoError> {
        let (specification, records) = files::read_npz(path)?;
        let observable = specification.observable;
        Ok(records.iter().map(|r| observable.drawn(r)).collect())
    }
}

/// A label with a unit, which may be empty.
fn with_unit(label: &str, unit: &str) -> String {
    match unit {
        "" => label.to_owned(),
        unit => format!("{label} ({unit})"),
    }
}

impl Figures for Observed<Summary> {
    const ITEMS: &'static str = "systems";

    fn items(&self) -> u64 {
        self.summary.systems
    }

    fn cells(&self) -> [Vec<(String, String)>; 2] {
        let Summary {
            energy_median,
            energy_largest,
            ..
        } = self.summary;
        let errors = [
            ("median_energy_error", energy_median),
            ("largest_energy_error", energy_largest),
        ];
        observed_cells(self, errors)
    }

    fn shares(&self) -> Vec<(String, ClassShare)> {
        let summary = &self.summary;
        let regular = summary.regular.map(|count| ("regular", count));
        let counts = summary.outcomes.into_iter().chain(regular);
        let counts = counts.filter(|(_, count)| *count > 0);
        let share = |(name, count): (&str, u64)| {
            let share = ClassShare::new(name, count, summary.systems);
            (name.to_owned(), share)
        };
        counts.map(share).collect()
    }

    fn curves(all: &[FrameSummary<Self>]) -> Curves {
        shares_or_medians(all)
    }

    fn warnings(&self) -> Vec<Option<(f64, String)>> {
        let summary = &self.summary;
        let changed = summary.step_check.map_or(0.0, |check| check.share);
        let weight = summary.unsolved as f64 + changed;
        let texts = summary.warnings.join("; ");
        vec![(!texts.is_empty()).then_some((weight, texts))]
    }

    fn check(&self, most: Option<f64>) -> Result<(), String> {
        self.summary.check(most)
    }

    fn energy_largest(&self) -> Option<f64> {
        Some(self.summary.energy_largest)
    }

    fn failed(&self) -> u64 {
        self.summary.unsolved
    }
}
