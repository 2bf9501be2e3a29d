//! Sequences of ensembles of equations that are given as text.

use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};

use super::framed::Style;
use super::named::{Named, NamedAxis, WINDOW, is_an_axis};
use super::recorded::{
    Curves, Figures, FrameSummary, Observed, Recorded, Spread, observed_cells, shares_or_medians,
};
use trisolar_ensemble::{ClassShare, Records, Repeated};
use trisolar_equation_text::{Text, kept};
use trisolar_io::IoError;
use trisolar_io::npz::NpzReader;
use trisolar_io::picture::PictureStyle;
use trisolar_run::partial::Mapped;
use trisolar_run::{EngineError, Monitor, RunOptions};
use trisolar_spec::{Choice, SpecError};
use trisolar_system::files::{self, Format};
use trisolar_system::{Equations as _, Overrides, Specification, Summary, Validated};

/// The numbers that are not those of the equations.
const INTEGRATION: [&str; 3] = ["end", "step", "tolerance"];

/// Equations as text with their specification.
#[derive(Clone, Debug)]
pub struct TextSpecification {
    equations: Text,
    specification: Specification,
}

impl TextSpecification {
    /// The equations and the specification of these options.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn new(overrides: &Overrides) -> Result<Self, SpecError> {
        let valid = Text::validated(overrides)?;
        Ok(Self {
            equations: valid.equations().clone(),
            specification: valid.specification().clone(),
        })
    }

    /// Gives a number of the equations that a sweep changes this value, if the options have none: only then it is known to be a parameter.
    pub fn add_number(overrides: &mut Overrides, name: &str, value: f64) {
        let given = [&overrides.set, &overrides.draw, &overrides.map];
        let named = |text: &String| text.split('=').next().map(str::trim) == Some(name);
        let is_given = given.into_iter().flatten().any(named);
        if !is_given && !WINDOW.contains(&name) && !INTEGRATION.contains(&name) {
            overrides.set.push(format!("{name}={value}"));
        }
    }

    /// The number of the integration with this name.
    fn of_integration(&mut self, name: &str) -> Option<&mut f64> {
        let s = &mut self.specification;
        let all = [&mut s.end, &mut s.step, &mut s.tolerance];
        let mut all = INTEGRATION.into_iter().zip(all);
        all.find(|(known, _)| *known == name).map(|(_, x)| x)
    }
}

impl Named for TextSpecification {
    type Of = Validated<Text>;

    const MAP: &'static str = "a map (--map)";

    /// Equations have numbers of any names.
    fn name(text: &str) -> Option<&'static str> {
        let starts = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let is_name = starts && text.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_name.then(|| kept(text))
    }

    fn names() -> String {
        let others = INTEGRATION.join(", ");
        format!("{others}, and the parameters and start values of the equations")
    }

    fn number(&self, name: &str) -> f64 {
        let Ok(parameter) = self.equations.about().find(name).copied() else {
            return self.clone().of_integration(name).map_or(f64::NAN, |x| *x);
        };
        match self.specification.parameters.get(name) {
            None => parameter.default,
            Some(Choice::Fixed(x)) => *x,
            Some(_) => f64::NAN,
        }
    }

    fn set_number(&mut self, name: &'static str, value: f64) -> Result<(), String> {
        if let Err(unknown) = self.equations.about().find(name) {
            let number = self.of_integration(name).ok_or(unknown)?;
            *number = value;
            return Ok(());
        }
        let parameters = &mut self.specification.parameters;
        if let Some(Choice::Columns(_) | Choice::Rows(_)) = parameters.get(name) {
            return Err(is_an_axis(name));
        }
        parameters.insert(name.to_owned(), Choice::Fixed(value));
        Ok(())
    }

    fn map_axes(&self) -> [Option<NamedAxis>; 2] {
        let [columns, rows] = self.specification.axes();
        let [width, height] = self.specification.size.unwrap_or([1; 2]);
        [(columns, width), (rows, height)]
            .map(|(axis, pixels)| axis.map(|(name, range)| (name.to_owned(), range, pixels)))
    }

    fn set_axis(&mut self, axis: usize, range: [f64; 2]) {
        let name = self.specification.axes()[axis].map(|(name, _)| name.to_owned());
        if let Some(name) = name {
            let choice = [Choice::Columns(range), Choice::Rows(range)][axis];
            self.specification.parameters.insert(name, choice);
        }
    }

    fn validated(self) -> Result<Validated<Text>, SpecError> {
        self.equations.with(self.specification)
    }
}

impl Recorded for Validated<Text> {
    type Computed = Records<f64>;
    type Sample = Repeated<f64>;
    type Figures = Observed<Summary>;

    fn specification_json(&self) -> Value {
        json!(self.specification())
    }

    fn is_drawn(&self) -> bool {
        self.specification().axes()[1].is_some()
    }

    fn computed(&self, records: Mapped) -> Records<f64> {
        records.into()
    }

    fn sampled(
        &self,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Option<Repeated<f64>>, EngineError> {
        self.sample(options, monitor)
    }

    fn figures(&self, columns: &Records<f64>, sample: Option<Repeated<f64>>) -> Observed<Summary> {
        let names = self.columns();
        let place = usize::from(files::shows_outcomes(self));
        let numbers = columns.iter().skip(place).step_by(self.width()).copied();
        let name = names.get(place);
        Observed {
            summary: Summary::of(self, columns, sample.as_ref()),
            observed: name.map(|name| Spread::of(name, numbers)),
        }
    }

    fn steps_of(&self, _: &Records<f64>, spans: &[Range<u64>]) -> u64 {
        spans.iter().map(|span| span.end - span.start).sum()
    }

    fn write_records(&self, path: &Path, columns: &Records<f64>) -> Result<(), IoError> {
        Format::Npz.write(path, self, columns)
    }

    fn draw(&self, path: &Path, columns: &Records<f64>, style: &Style) -> Result<(), IoError> {
        let first: Vec<f64> = columns.iter().step_by(self.width()).copied().collect();
        files::picture(path, self, &first, (style.theme, style.y), style.axes)
    }

    fn colours(&self) -> Option<(String, PictureStyle)> {
        let are_numbers = self.is_drawn() && !files::shows_outcomes(self);
        are_numbers.then(|| files::colours(self))
    }

    fn coloured(&self, path: &Path) -> Result<Vec<f64>, IoError> {
        let column = NpzReader::open(path)?.array::<f64>(self.columns()[0])?;
        Ok(column.values)
    }
}

impl Figures for Observed<Summary> {
    const ITEMS: &'static str = "items";

    fn items(&self) -> u64 {
        self.summary.items
    }

    fn cells(&self) -> [Vec<(String, String)>; 2] {
        observed_cells(self, [])
    }

    fn shares(&self) -> Vec<(String, ClassShare)> {
        let counts = self.summary.outcomes.iter().filter(|(_, n)| *n > 0);
        let share = |(name, count): &(String, u64)| {
            let share = ClassShare::new(name.clone(), *count, self.summary.items);
            (name.clone(), share)
        };
        counts.map(share).collect()
    }

    fn curves(all: &[FrameSummary<Self>]) -> Curves {
        shares_or_medians(all)
    }

    fn warnings(&self) -> Vec<Option<(f64, String)>> {
        let all = self.summary.warnings().into_iter();
        all.map(|found| found.map(|(count, text)| (count as f64, text)))
            .collect()
    }

    fn failed(&self) -> u64 {
        let Summary {
            not_finite, stiff, ..
        } = self.summary;
        not_finite + stiff.unwrap_or_default()
    }
}
