//! Numbers of a specification by name, for sequences of maps and of other ensembles in which they change from frame to frame.

use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::str::FromStr;

use super::kind::{Base, SequenceParameter};
use super::schedule::{Rule, scheduled};
use super::sequence::{Frame, FrameError, zoom};
use trisolar_ensemble::Ensemble;
use trisolar_spec::SpecError;

/// An axis of a map: its name, its range, and its number of pixels.
pub type NamedAxis = (String, [f64; 2], u64);

/// A specification whose numbers have names, and which may be a map.
pub trait Named: Clone + Debug + Send + Sync + 'static {
    /// The ensemble.
    type Of: Ensemble;

    /// A map in words, with how a user asks for it.
    const MAP: &'static str;

    /// The name, if a specification can have a number of this name.
    fn name(text: &str) -> Option<&'static str>;

    /// The names in words.
    fn names() -> String;

    /// The unit of the number with this name; empty if it has none.
    fn unit(_: &str) -> &'static str {
        ""
    }

    /// A number; NaN if this specification has no single value of that name.
    fn number(&self, name: &str) -> f64;

    /// Gives a number this value in all items, also one that was drawn. [`validated`](Self::validated) checks the value.
    ///
    /// # Errors
    /// There is no such number here, or it is an axis of the map.
    fn set_number(&mut self, name: &'static str, value: f64) -> Result<(), String>;

    /// The axes of the map, that of the columns first.
    fn map_axes(&self) -> [Option<NamedAxis>; 2];

    /// Gives an axis of the map another range.
    fn set_axis(&mut self, axis: usize, range: [f64; 2]);

    /// Checks the specification.
    ///
    /// # Errors
    /// The first value that is not allowed.
    fn validated(self) -> Result<Self::Of, SpecError>;
}

/// The refusal to set a number that differs from pixel to pixel.
pub(super) fn is_an_axis(name: &str) -> String {
    format!("{name} is an axis of the map")
}

/// The names of numbers of every map: the range of the columns, with which that of the rows changes in proportion, and the middles of both.
pub(super) const WINDOW: [&str; 3] = ["span", "center1", "center2"];

/// A number of a specification, by its name.
pub struct Number<S> {
    name: &'static str,
    of: PhantomData<fn() -> S>,
}

impl<S: Named> Number<S> {
    /// The accepted names, in words.
    pub fn names() -> String {
        format!("{}, {}", WINDOW.join(", "), S::names())
    }

    /// Its unit; empty if it has none.
    pub fn unit(self) -> &'static str {
        S::unit(self.name)
    }
}

impl<S> Copy for Number<S> {}

impl<S> Clone for Number<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> PartialEq for Number<S> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<S> Debug for Number<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<S> fmt::Display for Number<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<S: Named> FromStr for Number<S> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let of_map = WINDOW.into_iter().find(|name| *name == text);
        let name = of_map.or_else(|| S::name(text));
        let name =
            name.ok_or_else(|| format!("unknown parameter '{text}'; there are {}", Self::names()))?;
        let of = PhantomData;
        Ok(Self { name, of })
    }
}

impl<S: Named> SequenceParameter for Number<S> {
    const VARIABLES_IN_WORDS: &'static str = "span and the parameters, with _ for -";

    fn variable(name: &str) -> Option<Self> {
        let known = name.parse().or_else(|_| name.replace('_', "-").parse());
        known.ok()
    }
}

/// The specification of which the frames are variations.
#[derive(Clone, Debug)]
pub struct NamedBase<S> {
    /// The specification.
    pub specification: S,
    /// The point of a map that keeps its place in all frames: its values along the columns and along the rows.
    pub point: [f64; 2],
}

/// The rule of a zoom into a map.
pub const NAMED_ZOOM: &str = "span=span/2^(frame/10)";
/// The number of frames of such a zoom.
pub const NAMED_ZOOM_FRAMES: u32 = 100;

impl<S: Named> NamedBase<S> {
    /// The base of a zoom into a map, to the point with a value for each axis of the map, columns first.
    ///
    /// # Errors
    /// What a point must be.
    pub fn towards(specification: S, point: &[f64]) -> Result<Self, String> {
        let axes = specification.map_axes();
        let count = axes.iter().flatten().count();
        if count == 0 {
            return Err(format!("only {} has a point to zoom in on", S::MAP));
        }
        if point.len() != count {
            return Err(format!(
                "it must have a number for each axis of the map, of which there are {count}"
            ));
        }
        let mut found = [0.0; 2];
        let given = point.iter().zip(axes.iter().flatten());
        for (at, (x, (name, [low, high], _))) in found.iter_mut().zip(given) {
            if !(low..=high).contains(&x) {
                return Err(format!("{name} must be on the map, from {low} to {high}"));
            }
            *at = *x;
        }
        Ok(Self {
            specification,
            point: found,
        })
    }

    /// The base of a sweep: a map keeps its middle.
    pub fn centred(specification: S) -> Self {
        let axes = specification.map_axes();
        let middle = axes.map(|axis| axis.map(|(_, range, _)| middle(range)));
        Self {
            specification,
            point: middle.map(Option::unwrap_or_default),
        }
    }

    /// The frames of a zoom by these rules, which override [`NAMED_ZOOM`]. With fewer than [`NAMED_ZOOM_FRAMES`] frames, the zoom
    /// covers the same ranges in longer strides.
    ///
    /// # Errors
    /// The first frame that is not valid, and why.
    pub fn zoom(
        &self,
        rules: &[Rule<Number<S>>],
        frames: u32,
    ) -> Result<Vec<Frame<S::Of>>, FrameError> {
        let usual = NAMED_ZOOM_FRAMES;
        let rules = scheduled(&[NAMED_ZOOM], usual, frames, rules.to_vec());
        zoom(self, &rules, frames)
    }

    /// The axis of a map on which a number of its window depends, and its place.
    fn axis(&self, name: &str) -> Option<(usize, NamedAxis)> {
        let place = usize::from(name == WINDOW[2]);
        let [columns, rows] = self.specification.map_axes();
        let axis = [columns, rows].into_iter().nth(place).flatten();
        axis.map(|axis| (place, axis))
    }

    /// Gives the columns of a map a range of this width, and the rows one in proportion, about the point that keeps its place.
    fn set_span(&mut self, width: f64, [low, high]: [f64; 2]) -> Result<(), String> {
        let ratio = width / (high - low);
        if !(ratio > 0.0 && ratio.is_finite()) {
            return Err(format!(
                "a span of {width} is not possible; it must be above 0"
            ));
        }
        let axes = self.specification.map_axes().into_iter().enumerate();
        for (axis, found) in axes {
            let Some((name, [low, high], pixels)) = found else {
                continue;
            };
            let at = self.point[axis];
            let range = [at - (at - low) * ratio, at + (high - at) * ratio];
            self.set_range(axis, (name, range, pixels))?;
        }
        Ok(())
    }

    /// Gives an axis of a map this range.
    fn set_range(&mut self, axis: usize, (name, range, pixels): NamedAxis) -> Result<(), String> {
        let pixel = (range[1] - range[0]) / pixels as f64;
        let largest = range[0].abs().max(range[1].abs());
        // A range that is not finite is refused with all others when the specification is checked.
        if pixel < 4.0 * f64::EPSILON * largest {
            let at = self.point[axis];
            return Err(format!(
                "{name}: f64 cannot tell pixels of {pixel:e} at {at} apart"
            ));
        }
        self.specification.set_axis(axis, range);
        Ok(())
    }
}

fn middle([low, high]: [f64; 2]) -> f64 {
    low / 2.0 + high / 2.0
}

impl<S: Named> Base for NamedBase<S> {
    type Parameter = Number<S>;
    type Validated = S::Of;

    fn get(&self, Number { name, .. }: Number<S>) -> f64 {
        if !WINDOW.contains(&name) {
            return self.specification.number(name);
        }
        let range = self.axis(name).map(|(_, (_, range, _))| range);
        range.map_or(f64::NAN, |range| match name == WINDOW[0] {
            true => range[1] - range[0],
            false => middle(range),
        })
    }

    fn set(&mut self, Number { name, .. }: Number<S>, value: f64) -> Result<(), String> {
        if !WINDOW.contains(&name) {
            return self.specification.set_number(name, value);
        }
        let axis = self.axis(name);
        let axis = axis.ok_or_else(|| format!("only {} has a {name}", S::MAP));
        let (place, (axis, range, pixels)) = axis?;
        if name == WINDOW[0] {
            return self.set_span(value, range);
        }
        let half = (range[1] - range[0]) / 2.0;
        self.point[place] = value;
        self.set_range(place, (axis, [value - half, value + half], pixels))
    }

    fn checked(self) -> Result<S::Of, SpecError> {
        self.specification.validated()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextSpecification;
    use trisolar_encounters::{Choice, Setup, Specification as Encounters};
    use trisolar_planets::{Overrides as Planets, Specification as Systems};
    use trisolar_system::Overrides;

    fn encounters(setup: Setup, parameters: &[(&'static str, Choice)]) -> Encounters {
        Encounters {
            setup,
            parameters: parameters.iter().copied().collect(),
            size: Some([8, 4]),
            n: 32,
            ..Encounters::default()
        }
    }

    fn map_of_encounters() -> Encounters {
        let axes = [
            ("phase", Choice::Columns([0.0, 360.0])),
            ("inclination", Choice::Rows([0.0, 180.0])),
        ];
        encounters(Setup::BinarySingle, &axes)
    }

    fn systems() -> Systems {
        let planet = ["a=1,M=uniform(0,6)", "m=1e-3,a=2:3:8,e=0:0.5:4"];
        let values = Planets {
            planet: planet.iter().map(|text| text.parse().unwrap()).collect(),
            ..Planets::default()
        };
        values.validated().unwrap().specification().clone()
    }

    fn equations() -> TextSpecification {
        let values = Overrides {
            ode: Some("x'=y; y'=-k_1*x-end*y".into()),
            set: vec!["k_1=2".into(), "end=0.5".into()],
            ..Overrides::default()
        };
        TextSpecification::new(&values).unwrap()
    }

    /// Sets a number and reads it back; returns the reason if that is refused.
    fn set<S: Named>(specification: S, name: &str, value: f64) -> Result<(), String> {
        let mut base = NamedBase::centred(specification);
        let number: Number<S> = name.parse()?;
        assert_eq!(number.to_string(), name);
        let before = base.get(number);
        base.set(number, value)?;
        let got = base.get(number);
        assert!((got / value - 1.0).abs() < 1e-6 && before != got, "{name}");
        Ok(())
    }

    #[test]
    fn every_number_is_set_and_read_by_its_name() {
        let names = <Encounters as Named>::names().replace(" or ", ", ");
        for name in names.split(", ").chain(WINDOW) {
            let spec = match name {
                "x" | "y" => encounters(Setup::FreeFall, &[("x", Choice::Region)]),
                _ => map_of_encounters(),
            };
            let result = set(spec, name, 1e-5);
            match name {
                "phase" | "inclination" => assert!(result.unwrap_err().contains("axis"), "{name}"),
                _ => assert_eq!(result, Ok(()), "{name}"),
            }
        }
        for name in [
            "star",
            "years",
            "step",
            "tolerance",
            "m2",
            "M1",
            "Omega2",
            "span",
            "center2",
        ] {
            assert_eq!(set(systems(), name, 0.2), Ok(()), "{name}");
        }
        // A parameter hides a number of the integration.
        for name in ["k_1", "end", "step", "tolerance", "span", "center1"] {
            assert_eq!(set(equations(), name, 0.25), Ok(()), "{name}");
        }
        let mut own = equations();
        own.set_number("end", 3.0).unwrap();
        let own = own.validated().unwrap().specification().clone();
        assert_eq!(own.end, 100.0);
        assert_eq!(own.parameters.get("end"), Some(&Choice::Fixed(3.0)));
        for (refused, said) in [
            (
                set(map_of_encounters(), "spin", 1.0),
                "span, center1, center2, mass1",
            ),
            (set(systems(), "a2", 1.0), "a2 is an axis"),
            (set(systems(), "a3", 1.0), "a1 to a2"),
            (set(systems(), "q1", 1.0), "unknown parameter 'q1'"),
            (set(equations(), "x", 1.0), "x is an axis"),
            (set(equations(), "q", 1.0), "k_1, x, y"),
            (set(equations(), "1q", 1.0), "unknown parameter '1q'"),
        ] {
            let refused = refused.unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }

    #[test]
    fn a_point_keeps_its_place_when_the_span_changes() {
        let point = [230.0, 27.0];
        let base = NamedBase::towards(map_of_encounters(), &point).unwrap();
        let span: Number<Encounters> = "span".parse().unwrap();
        let mut zoomed = base.clone();
        zoomed.set(span, 3.6).unwrap();
        for (axis, at, place) in [(0, 230.0, 230.0 / 360.0), (1, 27.0, 27.0 / 180.0)] {
            let [low, high] = zoomed.specification.axes()[axis].unwrap().1;
            assert!(((at - low) / (high - low) - place).abs() < 1e-12);
        }
        for (width, words) in [(1e-13, "apart"), (0.0, "above 0"), (f64::NAN, "above 0")] {
            let refused = base.clone().set(span, width);
            assert!(refused.unwrap_err().contains(words), "{width}");
        }
    }

    #[test]
    fn a_middle_is_that_of_the_map_before_and_after_the_span_is_set() {
        for order in [["span", "center1"], ["center1", "span"]] {
            let mut base = NamedBase::towards(systems(), &[2.1, 0.1]).unwrap();
            for name in order {
                let value = if name == "span" { 0.5 } else { 5.0 };
                base.set(name.parse().unwrap(), value).unwrap();
            }
            let [columns, _] = base.specification.map_axes();
            let (name, [low, high], pixels) = columns.unwrap();
            assert_eq!((name.as_str(), pixels), ("a2", 8));
            assert!(
                (low - 4.75).abs() < 1e-12 && (high - 5.25).abs() < 1e-12,
                "{low} {high}"
            );
        }
    }
}
