//! How the bodies of a run advance: by steps of one length, or by steps of their own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use trisolar_spec::Integrator;

/// An integrator of N-body runs. It is written as its [`name`](Self::name).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Method {
    /// Steps of one length.
    Fixed(Integrator),
    /// The method of Dormand & Prince of order 8 (Hairer, Nørsett & Wanner 1993, section II.10), by steps that are as long as a tolerance
    /// allows and at most as long as the step of the run. All bodies take the same steps.
    Adaptive,
}

/// The name of [`Method::Adaptive`], and other names that it has elsewhere.
const ADAPTIVE: [&str; 4] = ["adaptive", "dop853", "dormand-prince", "dormand-prince-8"];
/// What a user should know to choose it, for the help.
const HELP: &str = "order 8, as many steps within each --dt as --tolerance asks for (Dormand & Prince), on CPUs; for close encounters of few bodies";

impl Method {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        Integrator::of_any_bodies()
            .map(Self::Fixed)
            .chain([Self::Adaptive])
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed(integrator) => integrator.name(),
            Self::Adaptive => ADAPTIVE[0],
        }
    }

    /// The order: the power of the step with which the error after a fixed time decreases.
    pub fn order(self) -> u32 {
        match self {
            Self::Fixed(integrator) => integrator.order(),
            Self::Adaptive => 8,
        }
    }

    /// Evaluations of the accelerations of all bodies in a step, which may be one of several within a step of the run.
    pub fn evaluations(self) -> u32 {
        match self {
            Self::Fixed(integrator) => integrator.evaluations(),
            Self::Adaptive => 12,
        }
    }

    /// Whether its first steps need a method of their own.
    pub fn is_multistep(self) -> bool {
        matches!(self, Self::Fixed(integrator) if integrator.is_multistep())
    }

    /// A line for each of them, for the help.
    pub fn help() -> String {
        let fixed = Integrator::help_of(Integrator::of_any_bodies());
        format!("{fixed}\n{}: {HELP}", Self::Adaptive)
    }
}

impl From<Integrator> for Method {
    fn from(integrator: Integrator) -> Self {
        Self::Fixed(integrator)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if ADAPTIVE.contains(&text) {
            return Ok(Self::Adaptive);
        }
        let fixed = Integrator::named(text, Integrator::of_any_bodies());
        let fixed = fixed.map_err(|allowed| format!("{allowed}, {}", Self::Adaptive))?;
        Ok(Self::Fixed(fixed))
    }
}

impl From<Method> for String {
    fn from(method: Method) -> Self {
        method.name().into()
    }
}

impl TryFrom<String> for Method {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// One or more methods, which are written with commas between them: the same start is integrated by each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Methods(Vec<Method>);

impl Methods {
    /// The first, which integrates where there is one run.
    pub fn first(&self) -> Method {
        self.0[0]
    }

    /// All of them, at least one.
    pub fn all(&self) -> &[Method] {
        &self.0
    }
}

impl From<Method> for Methods {
    fn from(method: Method) -> Self {
        Self(vec![method])
    }
}

impl From<Integrator> for Methods {
    fn from(integrator: Integrator) -> Self {
        Method::from(integrator).into()
    }
}

impl fmt::Display for Methods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|method| method.name()).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for Methods {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = Vec::new();
        for name in text.split(',') {
            let method: Method = name.trim().parse()?;
            if all.contains(&method) {
                return Err(format!("{method} is given twice"));
            }
            all.push(method);
        }
        Ok(Self(all))
    }
}

impl From<Methods> for String {
    fn from(methods: Methods) -> Self {
        methods.to_string()
    }
}

impl TryFrom<String> for Methods {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_read_back_and_each_is_given_once() {
        for method in Method::all() {
            assert_eq!(method.name().parse(), Ok(method));
        }
        let several = "leapfrog,rk4, dop853".parse::<Methods>().unwrap();
        assert_eq!(several.to_string(), "leapfrog,runge-kutta-4,adaptive");
        assert_eq!(several.first(), Method::Fixed(Integrator::Leapfrog));
        for (text, said) in [
            ("rk4,runge-kutta-4", "runge-kutta-4 is given twice"),
            ("leapfrog,", "must be one of"),
            ("hermite-4", "runge-kutta-4, adaptive"),
        ] {
            let error = text.parse::<Methods>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
