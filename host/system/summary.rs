//! Columns of items in figures.

use serde::{Deserialize, Serialize};
use trisolar_ensemble::{Repeated, StepCheck};
use trisolar_equations::job::{NOT_FINITE, STIFF};
use trisolar_equations::{Column, Kind};
use trisolar_spec::Choice;

use crate::{Equations, Validated};

/// The finite numbers of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// How many they are.
    pub count: u64,
    /// The least one; NaN if there is none, as the others.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub least: f64,
    /// The greatest one.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub greatest: f64,
    /// Their mean.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub mean: f64,
}

/// What a [step check](Validated::step_check) counts.
pub const CHANGE: &str = "change, to another outcome or by more than 5 % of the range, with half the step or a 32nd of the tolerance";

/// The columns of items in figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of items.
    pub items: u64,
    /// The number of items with each outcome, where outcomes are returned.
    pub outcomes: Vec<(String, u64)>,
    /// The other columns by their names.
    pub columns: Vec<(String, Range)>,
    /// The number of items whose step became too short.
    pub stiff: Option<u64>,
    /// The number of items with a number that is infinite or undefined.
    pub not_finite: u64,
    /// How many first columns of a sample change with half the step, or a 32nd of the tolerance, if it was determined.
    pub step_check: Option<StepCheck>,
}

impl Summary {
    /// The figures of the columns of all items, those of item 0 first, some of which were followed
    /// [again](Validated::sample).
    pub fn of<Q: Equations>(
        spec: &Validated<Q>,
        numbers: &[f64],
        again: Option<&Repeated<f64>>,
    ) -> Self {
        let mut summary = Self {
            items: (numbers.len() / spec.width()) as u64,
            step_check: again.map(|again| spec.step_check(numbers, again)),
            ..Self::default()
        };
        let rows = || numbers.chunks(spec.width());
        for (k, name) in spec.columns().into_iter().enumerate() {
            let column = || rows().map(|row| row[k]);
            let count = |code: f64| column().filter(|x| *x == code).count() as u64;
            if name == Column::NAMES[Column::OUTCOME.0 as usize] {
                summary.stiff = Some(count(STIFF));
                summary.not_finite = count(NOT_FINITE);
                let counts = (STIFF as i32..).zip(spec.about().outcome_names());
                summary.outcomes = counts
                    .map(|(code, name)| (name.to_owned(), count(code.into())))
                    .collect();
                continue;
            }
            let mut range = Range {
                least: f64::NAN,
                greatest: f64::NAN,
                ..Range::default()
            };
            for x in column().filter(|x| x.is_finite()) {
                range.count += 1;
                range.least = range.least.min(x);
                range.greatest = range.greatest.max(x);
                range.mean += x;
            }
            range.mean /= range.count as f64;
            summary.columns.push((name.to_owned(), range));
        }
        if summary.stiff.is_none() {
            summary.not_finite = rows()
                .filter(|row| row.iter().any(|x| !x.is_finite()))
                .count() as u64;
        }
        summary
    }

    /// Warnings about items without finite numbers, and stiff ones, each with the number of these items.
    pub fn warnings(&self) -> [Option<(u64, String)>; 2] {
        let not_finite = (
            self.not_finite,
            "have numbers that are infinite or undefined",
        );
        let why = "are stiff: their steps became too short, or too many";
        let stiff = (self.stiff.unwrap_or_default(), why);
        [not_finite, stiff]
            .map(|(count, why)| (count > 0).then(|| (count, format!("{count} items {why}"))))
    }

    /// Lines of a label and a text.
    pub fn lines(&self) -> Vec<(String, String)> {
        let outcomes = self.outcomes.iter().filter(|(_, count)| *count > 0);
        let outcomes =
            outcomes.map(|(name, count)| ("outcome".to_owned(), format!("{count} {name}")));
        let columns = self.columns.iter().map(|(name, range)| {
            let Range {
                count,
                least,
                greatest,
                mean,
            } = range;
            let text = match count {
                0 => "not finite".to_owned(),
                1 => least.to_string(),
                _ => format!("{least} to {greatest}, mean {mean}"),
            };
            (name.clone(), text)
        });
        let check = self.step_check.iter();
        let check = check.map(|check| ("step check".to_owned(), check.in_words("items", CHANGE)));
        outcomes.chain(columns).chain(check).collect()
    }
}

/// What the items of a specification are, as lines of a label and a text.
pub fn words<Q: Equations>(spec: &Validated<Q>) -> Vec<(String, String)> {
    let (s, about) = (spec.specification(), spec.about());
    let (mut axes, mut drawn, mut fixed) = (Vec::new(), Vec::new(), Vec::new());
    for number in about.numbers() {
        let name = number.name;
        match s
            .parameters
            .get(name)
            .unwrap_or(&Choice::Fixed(number.default))
        {
            // It follows from the others.
            Choice::Fixed(x) if x.is_nan() => {}
            Choice::Fixed(x) => fixed.push(format!("{name} = {x}")),
            Choice::Columns([low, high]) => axes.insert(0, format!("{name} from {low} to {high}")),
            Choice::Rows([low, high]) => axes.push(format!("{name} from {low} to {high}")),
            choice => {
                let [low, high] = choice.range();
                drawn.push(format!("{name} {} from {low} to {high}", choice.name()));
            }
        }
    }
    let time = match (about.kind, spec.job().method.is_adaptive()) {
        (Kind::Map, _) => format!("{} iterations", s.end),
        (_, true) => format!(
            "{}, tolerance {:e}, to t = {}",
            s.method, s.tolerance, s.end
        ),
        (_, false) => format!("{}, step {}, to t = {}", s.method, spec.job().step, s.end),
    };
    let lists = [("axes", axes), ("drawn", drawn), ("fixed", fixed)];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let mut lines: Vec<_> = lists
        .map(|(label, list)| (label.to_owned(), list.join(", ")))
        .collect();
    lines.push(("followed".into(), time));
    lines
}
