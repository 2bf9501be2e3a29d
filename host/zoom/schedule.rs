//! The parameters of a zoom's frames as expressions of the frame number.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::formula::Formula;
use super::kind::{Base, SequenceParameter};
use trisolar_map::{Center, Parameter};

/// The names that a formula of these parameters can use, in words.
pub fn variables_in_words<P: SequenceParameter>() -> String {
    format!(
        "frame (0, 1, ...), frames (their number), t (0 at the first frame, 1 at the last), and {} (the values given without a schedule)",
        P::VARIABLES_IN_WORDS
    )
}

/// A formula of the frame number, such as `span/2^(frame/30)`.
#[derive(Clone, Debug)]
pub struct Expression<P = Parameter> {
    text: String,
    formula: Formula,
    parameters: PhantomData<P>,
}

impl<P: SequenceParameter> Expression<P> {
    /// Its value at a frame of the sequence that is based on `base`.
    ///
    /// # Errors
    /// The value is not a finite number.
    pub fn value<B: Base<Parameter = P>>(
        &self,
        frame: u32,
        frames: u32,
        base: &B,
    ) -> Result<f64, String> {
        let names = self.formula.variables().iter();
        let values: Vec<f64> = (names.clone())
            .map(|name| variable(name, frame, frames, base))
            .collect();
        let value = self.formula.value(&values);
        let missing = names.clone().zip(&values).find(|(_, value)| value.is_nan());
        if let Some((name, _)) = missing {
            return Err(format!("{name}, which {} needs, has no value", self.text));
        }
        if value.is_finite() {
            Ok(value)
        } else {
            Err(format!("{} is {value}", self.text))
        }
    }
}

/// The names that count frames.
const COUNTS: [&str; 3] = ["frame", "frames", "t"];

/// The value of a name in a formula.
fn variable<B: Base>(name: &str, frame: u32, frames: u32, base: &B) -> f64 {
    match name {
        "frame" => f64::from(frame),
        "frames" => f64::from(frames),
        "t" if frames > 1 => f64::from(frame) / f64::from(frames - 1),
        "t" => 0.0,
        name => B::Parameter::variable(name).map_or(f64::NAN, |p| base.get(p)),
    }
}

impl<P: SequenceParameter> FromStr for Expression<P> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let formula = Formula::parse(text).map_err(|e| format!("not a formula: {e}"))?;
        let unknown = formula
            .variables()
            .iter()
            .find(|name| !COUNTS.contains(&name.as_str()) && P::variable(name).is_none());
        if let Some(name) = unknown {
            let names = variables_in_words::<P>();
            return Err(format!("unknown name '{name}'; there are {names}"));
        }
        Ok(Self {
            text: text.to_owned(),
            formula,
            parameters: PhantomData,
        })
    }
}

impl<P> fmt::Display for Expression<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A parameter with its formula, written `span=40/2^(frame/30)`.
#[derive(Clone, Debug)]
pub struct Rule<P = Parameter> {
    /// The parameter that it sets.
    pub parameter: P,
    /// The formula of the value.
    pub expression: Expression<P>,
}

impl<P: SequenceParameter> FromStr for Rule<P> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, formula) = text
            .split_once('=')
            .ok_or("must be NAME=FORMULA, such as span=40/2^(frame/30)")?;
        Ok(Self {
            parameter: name.trim().parse()?,
            expression: formula.trim().parse()?,
        })
    }
}

impl<P: fmt::Display> fmt::Display for Rule<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.parameter, self.expression)
    }
}

/// A ready-made sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The zoom of Badger's study: range and shift halve every 30 frames, and the number of steps grows by 875 per frame.
    #[default]
    Document,
    /// From 1.28 km to 518 nm, as the video of Badger's study: the same rates, starting with a range that is 32 times as large.
    Video,
    /// Only the given rules change parameters.
    None,
}

trisolar_io::names!(Preset {
    Document = "document",
    Video = "video",
    None = "none",
});

impl Preset {
    /// The number of frames of the preset.
    pub fn frames(self) -> u32 {
        match self {
            Self::Document => 500,
            Self::Video => 937,
            Self::None => 100,
        }
    }

    /// The target of the zoom (length); `None` if the user chooses it.
    pub fn center(self) -> Option<Center> {
        (self != Self::None).then(|| [5.30031, -0.45].into())
    }

    /// Its formulas for its number of frames.
    pub fn rules(self) -> Vec<Rule> {
        self.schedule(self.frames(), Vec::new())
    }

    /// The rules of a zoom of this many frames: its formulas, and then `own`, which override them. With fewer frames than the preset's,
    /// the zoom covers the same ranges in longer strides; with more, it goes on beyond them. If one of `own` sets the span, the preset's
    /// other formulas keep their rates, too.
    pub fn schedule(self, frames: u32, own: Vec<Rule>) -> Vec<Rule> {
        scheduled(self.texts(), self.frames(), frames, own)
    }

    fn texts(self) -> &'static [&'static str] {
        match self {
            Self::Document => &[
                "span=span/2^(frame/30)",
                "shift=shift/2^(frame/30)",
                "steps=steps+350000*frame/400",
            ],
            Self::Video => &[
                "span=32*span/2^(frame/30)",
                "shift=32*shift/2^(frame/30)",
                "steps=steps+350000*max(frame-150,0)/400",
            ],
            Self::None => &[],
        }
    }
}

/// The rules of a sequence of `frames` frames by formulas that are made for `usual` frames; see [`Preset::schedule`].
pub(super) fn scheduled<P: SequenceParameter>(
    texts: &[&str],
    usual: u32,
    frames: u32,
    own: Vec<Rule<P>>,
) -> Vec<Rule<P>> {
    let sets_the_span = own.iter().any(|rule| rule.parameter.to_string() == "span");
    let strides = (2..usual).contains(&frames) && !sets_the_span;
    let rule = |text: &&str| {
        // The last frame is then exactly the last one of the whole sequence.
        let place = format!("({}*frame/{})", usual - 1, frames.max(2) - 1);
        let text = match strides {
            true => text.replace("frame", &place),
            false => (*text).to_owned(),
        };
        text.parse().expect("a rule that a test has read")
    };
    texts.iter().map(rule).chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trisolar_map::Specification;

    fn value(text: &str, frame: u32) -> f64 {
        let e: Expression<Parameter> = text.parse().expect(text);
        e.value(frame, 11, &Specification::default()).expect(text)
    }

    #[test]
    fn formulas_know_the_frame_and_the_values_given() {
        assert_eq!(value("40/2^(frame/30)", 30), 20.0);
        assert_eq!(value("span*t + frames", 5), 31.0);
        assert_eq!(value("max(steps, 1) + dt*0 + shift*0", 3), 50_000.0);
        let single: Expression = "t".parse().unwrap();
        assert_eq!(single.value(0, 1, &Specification::default()), Ok(0.0));
    }

    #[test]
    fn what_is_no_formula_is_refused_with_a_reason() {
        for (text, word) in [
            ("40/2^(frame", "not a formula"),
            ("40/wide", "unknown name 'wide'"),
            ("", "not a formula"),
        ] {
            let message = text.parse::<Expression>().unwrap_err();
            assert!(message.contains(word), "{text}: {message}");
        }
        let e: Expression = "1/frame".parse().unwrap();
        assert!(e.value(0, 2, &Specification::default()).is_err());
        for text in ["span", "wide=3", "span=)"] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }

    #[test]
    fn presets_are_the_published_schedules() {
        let base = Specification::default();
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
        }
        let at = |preset: Preset, frame: u32, name: &str| {
            let rules = preset.rules();
            let rule = rules.iter().find(|r| r.parameter.to_string() == name);
            let e = &rule.expect(name).expression;
            e.value(frame, preset.frames(), &base).expect(name)
        };
        for i in [0_u32, 1, 30, 77, 499] {
            let x = f64::from(i);
            assert_eq!(at(Preset::Document, i, "span"), 40.0 / 2f64.powf(x / 30.0));
            assert_eq!(
                at(Preset::Document, i, "shift"),
                0.001 / 2f64.powf(x / 30.0)
            );
            assert_eq!(
                at(Preset::Document, i, "steps"),
                50_000.0 + 350_000.0 * x / 400.0
            );
        }
        // Fewer frames lead to the same target, and more go on beyond it.
        for preset in [Preset::Document, Preset::Video] {
            let whole = crate::zoom(&base, &preset.rules(), preset.frames()).expect("valid");
            let set = |frame: &crate::Frame| -> Vec<u64> {
                frame.set.iter().map(|s| s.value.to_bits()).collect()
            };
            for frames in [1_u32, 2, 20, 333, preset.frames(), preset.frames() + 7] {
                let rules = preset.schedule(frames, Vec::new());
                let found = crate::zoom(&base, &rules, frames).expect("valid");
                assert_eq!(set(&found[0]), set(&whole[0]), "{frames}");
                let last = frames.clamp(1, preset.frames()) as usize - 1;
                let target = if frames == 1 { 0 } else { whole.len() - 1 };
                assert_eq!(set(&found[last]), set(&whole[target]), "{frames}");
            }
            let own = vec!["span=span/2^frame".parse().expect("a rule")];
            let rules = preset.schedule(3, own);
            let found = crate::zoom(&base, &rules, 3).expect("valid");
            let shift = |frame: &crate::Frame| frame.specification.specification().shift;
            assert_eq!(shift(&found[2]), shift(&whole[2]));
        }
        assert_eq!(at(Preset::Video, 0, "span"), 1280.0);
        assert!((at(Preset::Video, 936, "span") / 518e-9 - 1.0).abs() < 0.01);
        assert_eq!(at(Preset::Video, 150, "span"), 40.0);
        assert_eq!(at(Preset::Video, 100, "steps"), 50_000.0);
    }
}
