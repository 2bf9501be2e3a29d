//! The integrators of maps and of N-body runs, by name.

use std::fmt;
use std::str::FromStr;

use kernels_gpu::integrator as by;
use serde::{Deserialize, Serialize};

macro_rules! define {
    ([] $($name:ident $entry:ident $bodies:ident,)*) => {
        /// An integrator. It is written as its [`name`](Self::name).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub enum Integrator {
            $(
                #[doc = concat!("See [`", stringify!($name), "`](kernels_gpu::integrator::", stringify!($name), ").")]
                $name,
            )*
        }

        impl Integrator {
            /// All integrators, which are those of maps.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name on the command line and in files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => <by::$name as by::Integrator>::NAME,)* }
            }

            /// Former names, which are still accepted.
            pub fn former_names(self) -> &'static [&'static str] {
                match self { $(Self::$name => <by::$name as by::Integrator>::FORMER_NAMES,)* }
            }

            /// Its costs and benefits in a few words.
            fn help(self) -> &'static str {
                match self { $(Self::$name => <by::$name as by::Integrator>::HELP,)* }
            }

            /// The order: the power of dt with which the error after a fixed time decreases.
            pub fn order(self) -> u32 {
                match self { $(Self::$name => <by::$name as by::Integrator>::ORDER,)* }
            }

            /// Evaluations of the accelerations of all bodies per step.
            pub fn evaluations(self) -> u32 {
                match self { $(Self::$name => <by::$name as by::Integrator>::EVALUATIONS,)* }
            }

            /// Whether its first steps need a method of their own.
            pub fn is_multistep(self) -> bool {
                match self { $(Self::$name => <by::$name as by::Integrator>::IS_MULTISTEP,)* }
            }

            /// Steps per period that it takes unless told otherwise, if its steps have lengths of their own.
            pub fn steps_per_period(self) -> Option<f64> {
                match self { $(Self::$name => <by::$name as by::Integrator>::STEPS_PER_PERIOD,)* }
            }

            /// Whether it integrates any number of bodies, or only the three of a map.
            pub fn is_of_any_bodies(self) -> bool {
                match self { $(Self::$name => define!(@$bodies),)* }
            }
        }
    };
    (@any) => { true };
    (@three) => { false };
    (@own) => { false };
}
kernels_gpu::integrators!({define} []);

impl Integrator {
    /// Names that are in common use elsewhere, which are accepted.
    fn common_names(self) -> &'static [&'static str] {
        match self {
            Self::RungeKutta4 => &["rk4"],
            Self::AdamsBashforth2 => &["ab2"],
            Self::AdamsBashforth4 => &["ab4"],
            Self::Hermite4 => &["hermite"],
            _ => &[],
        }
    }

    /// The integrators of N-body runs.
    pub fn of_any_bodies() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.iter().copied().filter(|i| i.is_of_any_bodies())
    }

    /// A line for each of these, for the help.
    pub fn help_of(these: impl Iterator<Item = Self>) -> String {
        let lines = these.map(|i| format!("{i}: {}", i.help()));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The integrator with this name among some.
    ///
    /// # Errors
    /// A list of the allowed names.
    pub fn named(text: &str, among: impl Iterator<Item = Self> + Clone) -> Result<Self, String> {
        let is_called = |i: &Self| {
            let others = [i.former_names(), i.common_names()];
            i.name() == text || others.iter().any(|names| names.contains(&text))
        };
        among.clone().find(is_called).ok_or_else(|| {
            let names: Vec<&str> = among.map(Self::name).collect();
            format!("must be one of {}", names.join(", "))
        })
    }
}

impl fmt::Display for Integrator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Integrator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text, Self::ALL.iter().copied())
    }
}

impl From<Integrator> for String {
    fn from(integrator: Integrator) -> Self {
        integrator.name().into()
    }
}

impl TryFrom<String> for Integrator {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_former_names_too() {
        for integrator in Integrator::ALL.iter().copied() {
            assert_eq!(integrator.name().parse(), Ok(integrator));
            assert_eq!(serde_json::to_value(integrator).unwrap(), integrator.name());
        }
        assert_eq!(
            "semi-implicit-euler".parse(),
            Ok(Integrator::SymplecticEuler)
        );
        assert_eq!("rk4".parse(), Ok(Integrator::RungeKutta4));
        let refused = "euler".parse::<Integrator>().unwrap_err();
        assert!(
            refused.starts_with("must be one of explicit-euler, symplectic-euler, leapfrog, "),
            "{refused}"
        );
    }

    #[test]
    fn integrators_of_three_bodies_are_not_among_those_of_many() {
        assert_eq!("hermite-4".parse(), Ok(Integrator::Hermite4));
        let refused = Integrator::named("hermite-4", Integrator::of_any_bodies()).unwrap_err();
        assert!(!refused.contains("hermite"), "{refused}");
    }
}
