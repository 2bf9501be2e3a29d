//! What is observed of systems, with the columns of records and the pictures of that. An observable is a row here; one of what happens on the
//! way has a file in [`kernels_gpu::planets::observe`].

use std::fmt;
use std::str::FromStr;

use kernels_gpu::planets::{Observation, Outcome, Record};

use super::YEAR;
use super::number::as_text;
use trisolar_io::colour::{ColourRange, Spacing};

/// What is observed: the colour of a map, and the array of `.npy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observable {
    /// The mean of MEGNO over time.
    #[default]
    Megno,
    /// The Lyapunov exponent.
    Lyapunov,
    /// The time at which the system ended.
    Time,
    /// The error of the energy.
    EnergyError,
    /// The fast Lyapunov indicator.
    Fli,
    /// The range of the semi-major axis.
    ARange,
    /// The largest eccentricity.
    EMax,
    /// The largest inclination.
    IncMax,
    /// The largest angular momentum deficit.
    Amd,
    /// The angular momentum deficit relative to the critical one.
    AmdStability,
    /// The amplitude of an angle.
    Libration,
    /// The change of the mean motion.
    FrequencyDrift,
    /// The least distance of two planets.
    Closest,
}

/// A number of a record.
pub type Real = fn(&Record) -> f64;

/// A real column of records: its name, its unit, and its value with years as the unit of time. Missing values are NaN.
pub type Column = (&'static str, &'static str, Real);

/// The columns of all systems.
const COLUMNS: [Column; 5] = [
    ("time", "years", |r| r.time / YEAR),
    ("megno", "", |r| r.megno),
    ("mean_megno", "", |r| r.mean_megno),
    ("lyapunov", "1 / year", |r| r.lyapunov * YEAR),
    ("energy_error", "", |r| r.energy_error),
];

/// The columns that an observable adds.
const OBSERVED: [Real; 2] = [|r| r.observed[0], |r| r.observed[1]];

/// An observable in words.
struct Row {
    observable: Observable,
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    spacing: Spacing,
    range: ColourRange,
    has_tangent: bool,
    value: Real,
    /// What kernels observe on the way: a constant of [`Observation`].
    kind: u64,
    /// The columns for that with their units.
    columns: &'static [[&'static str; 2]],
    /// What kernels observe if the value ends systems, and the largest value that can.
    stop: Option<(u64, f64)>,
}

/// The largest value that can end systems, if it has no other bound.
const MOST: f64 = 1e9;

/// What most rows have.
const USUAL: Row = Row {
    observable: Observable::Megno,
    name: "",
    label: "",
    unit: "",
    spacing: Spacing::Linear,
    range: ColourRange::Whole,
    has_tangent: false,
    value: |r| r.observed[0],
    kind: Observation::NONE,
    columns: &[],
    stop: None,
};

/// All observables.
const OBSERVABLES: [Row; 13] = [
    Row {
        observable: Observable::Megno,
        name: "megno",
        label: "mean MEGNO (2: regular)",
        range: ColourRange::Fixed(1.0, 6.0),
        has_tangent: true,
        value: |r| r.mean_megno,
        ..USUAL
    },
    Row {
        observable: Observable::Lyapunov,
        name: "lyapunov",
        label: "Lyapunov exponent",
        unit: "1 / year",
        spacing: Spacing::Logarithmic,
        has_tangent: true,
        value: |r| r.lyapunov * YEAR,
        stop: Some((Observation::LYAPUNOV, MOST)),
        ..USUAL
    },
    Row {
        observable: Observable::Time,
        name: "time",
        label: "time of the end",
        unit: "years",
        value: |r| r.time / YEAR,
        ..USUAL
    },
    Row {
        observable: Observable::EnergyError,
        name: "energy-error",
        label: "relative error of the energy",
        spacing: Spacing::Logarithmic,
        value: |r| r.energy_error.abs(),
        ..USUAL
    },
    Row {
        observable: Observable::Fli,
        name: "fli",
        label: "fast Lyapunov indicator",
        spacing: Spacing::Logarithmic,
        has_tangent: true,
        kind: Observation::FLI,
        columns: &[["fli", ""]],
        stop: Some((Observation::FLI, MOST)),
        ..USUAL
    },
    Row {
        observable: Observable::ARange,
        name: "a-range",
        label: "range of the semi-major axis",
        unit: "au",
        spacing: Spacing::Logarithmic,
        value: |r| r.observed[1] - r.observed[0],
        kind: Observation::SEMI_MAJOR_AXIS,
        columns: &[["a_min", "au"], ["a_max", "au"]],
        stop: Some((Observation::SEMI_MAJOR_AXIS, MOST)),
        ..USUAL
    },
    Row {
        observable: Observable::EMax,
        name: "e-max",
        label: "largest eccentricity",
        range: ColourRange::Fixed(0.0, 1.0),
        value: |r| r.observed[1],
        kind: Observation::ECCENTRICITY,
        columns: &[["e_min", ""], ["e_max", ""]],
        stop: Some((Observation::ECCENTRICITY, MOST)),
        ..USUAL
    },
    Row {
        observable: Observable::IncMax,
        name: "inc-max",
        label: "largest inclination",
        unit: "radians",
        value: |r| r.observed[1],
        kind: Observation::INCLINATION,
        columns: &[["inc_min", "radians"], ["inc_max", "radians"]],
        stop: Some((Observation::INCLINATION, std::f64::consts::PI)),
        ..USUAL
    },
    Row {
        observable: Observable::Amd,
        name: "amd",
        label: "largest relative angular momentum deficit",
        spacing: Spacing::Logarithmic,
        value: |r| r.observed[1],
        kind: Observation::AMD,
        columns: &[["amd_min", ""], ["amd_max", ""]],
        stop: Some((Observation::AMD, MOST)),
        ..USUAL
    },
    Row {
        observable: Observable::AmdStability,
        name: "amd-stability",
        label: "angular momentum deficit / critical one (below 1: stable)",
        spacing: Spacing::Logarithmic,
        kind: Observation::AMD_STABILITY,
        columns: &[["amd_stability", ""]],
        stop: Some((Observation::AMD_STABILITY, MOST)),
        ..USUAL
    },
    Row {
        observable: Observable::Libration,
        name: "libration",
        label: "amplitude of the angle (π: it circulates)",
        unit: "radians",
        range: ColourRange::Fixed(0.0, std::f64::consts::PI),
        value: |r| r.observed[1],
        kind: Observation::LIBRATION,
        columns: &[
            ["libration_centre", "radians"],
            ["libration_amplitude", "radians"],
        ],
        stop: Some((Observation::LIBRATION, std::f64::consts::PI)),
        ..USUAL
    },
    Row {
        observable: Observable::FrequencyDrift,
        name: "frequency-drift",
        label: "relative change of the mean motion",
        spacing: Spacing::Logarithmic,
        value: |r| r.observed[1].abs(),
        kind: Observation::FREQUENCY,
        columns: &[["frequency", "1 / year"], ["frequency_drift", ""]],
        ..USUAL
    },
    Row {
        observable: Observable::Closest,
        name: "closest",
        label: "least distance of two planets",
        unit: "au",
        spacing: Spacing::Logarithmic,
        kind: Observation::CLOSEST,
        columns: &[["closest", "au"]],
        ..USUAL
    },
];

impl Observable {
    fn row(self) -> &'static Row {
        let found = OBSERVABLES.iter().find(|row| row.observable == self);
        found.expect("each has a row")
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        OBSERVABLES.iter().map(|row| row.observable)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The names.
    pub fn names() -> Vec<String> {
        Self::all()
            .map(|observable| observable.to_string())
            .collect()
    }

    /// The value that maps show: none of systems that ended before their time, unless the map shows that time.
    pub fn drawn(self, record: &Record) -> f64 {
        let shown = [Outcome::STABLE.0, Outcome::CHAOTIC.0].contains(&record.outcome);
        // What went beyond its limit is the observable itself, unless the observable needs nothing on the way.
        let limited = record.outcome == Outcome::LIMIT.0 && self.kind() != Observation::NONE;
        match shown || limited || self == Self::Time {
            true => self.value(record),
            false => f64::NAN,
        }
    }

    /// Its value, with years as the unit of time.
    pub fn value(self, record: &Record) -> f64 {
        (self.row().value)(record)
    }

    /// What the colours mean, and the unit.
    pub fn label(self) -> [&'static str; 2] {
        [self.row().label, self.row().unit]
    }

    /// The spacing and the range of the colours.
    pub fn colours(self) -> (Spacing, ColourRange) {
        (self.row().spacing, self.row().range)
    }

    /// What kernels observe on the way: a constant of [`Observation`].
    pub(super) fn kind(self) -> u64 {
        self.row().kind
    }

    /// What kernels observe if its value ends systems, and the largest value that can.
    pub(super) fn stop(self) -> Option<(u64, f64)> {
        self.row().stop
    }

    /// Those whose values can end systems.
    pub(super) fn names_of_stops() -> String {
        let all = OBSERVABLES.iter().filter(|row| row.stop.is_some());
        let names: Vec<&str> = all.map(|row| row.name).collect();
        names.join(", ")
    }

    /// Whether records that were made for `other` have its value.
    pub fn is_in_records_of(self, other: Self) -> bool {
        [Observation::NONE, other.kind()].contains(&self.kind())
    }

    /// The real columns of records.
    pub fn reals(self) -> Vec<Column> {
        let own = self.row().columns.iter().zip(OBSERVED);
        let own = own.map(|([name, unit], value)| (*name, *unit, value));
        COLUMNS.into_iter().chain(own).collect()
    }

    /// Whether it is one of a planet.
    pub(super) fn has_planet(self) -> bool {
        matches!(
            self,
            Self::ARange | Self::EMax | Self::IncMax | Self::FrequencyDrift
        )
    }

    /// Whether it needs two planets.
    pub(super) fn needs_two(self) -> bool {
        matches!(self, Self::AmdStability | Self::Closest)
    }

    /// Whether it needs a tangent vector.
    pub fn has_tangent(self) -> bool {
        self.row().has_tangent
    }
}

impl FromStr for Observable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = OBSERVABLES.iter().find(|row| row.name == text.trim());
        found
            .map(|row| row.observable)
            .ok_or_else(|| format!("must be one of {}", Self::names().join(", ")))
    }
}

impl fmt::Display for Observable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

as_text!(Observable);
