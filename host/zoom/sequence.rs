//! The maps of a sequence: plain data, every one of them checked before the first is computed.

use serde::{Deserialize, Serialize};

use super::kind::Base;
use super::schedule::Rule;
use super::vary::Vary;
use trisolar_map::Validated;
use trisolar_spec::SpecError;

/// One map of a sequence.
#[derive(Clone, Debug)]
pub struct Frame<V = Validated> {
    /// Its place, from 0.
    pub index: u32,
    /// The specification of the map.
    pub specification: V,
    /// The parameters that the sequence sets, by name.
    pub set: Vec<Setting>,
}

/// A parameter's value in a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The parameter's name.
    pub name: String,
    /// Its value.
    pub value: f64,
}

/// A frame that cannot be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("frame {frame}: {reason}")]
pub struct FrameError {
    /// The number of the frame.
    pub frame: u32,
    /// The reason.
    pub reason: String,
}

/// The warnings about the specifications of the first and the last map, with the frame.
pub fn warnings(frames: &[Frame]) -> Vec<String> {
    let mut found: Vec<(u32, String)> = Vec::new();
    for frame in frames.first().into_iter().chain(frames.last()) {
        for warning in frame.specification.warnings() {
            if !found.iter().any(|(_, text)| *text == warning) {
                found.push((frame.index, warning));
            }
        }
    }
    let with_frame = |(frame, text): (u32, String)| format!("frame {frame}: {text}");
    found.into_iter().map(with_frame).collect()
}

/// The frames of a zoom: `base` with the rules' values. If there are several rules for a parameter, the last one applies.
///
/// # Errors
/// The first frame whose values are not allowed.
pub fn zoom<B: Base>(
    base: &B,
    rules: &[Rule<B::Parameter>],
    frames: u32,
) -> Result<Vec<Frame<B::Validated>>, FrameError> {
    let last = |i: usize| {
        rules[i + 1..]
            .iter()
            .all(|r| r.parameter != rules[i].parameter)
    };
    let rules: Vec<&Rule<_>> = (0..rules.len())
        .filter(|i| last(*i))
        .map(|i| &rules[i])
        .collect();
    (0..frames)
        .map(|index| {
            let fail = |reason| FrameError {
                frame: index,
                reason,
            };
            let values = rules.iter().map(|rule| {
                let value = rule.expression.value(index, frames, base);
                value
                    .map(|value| (rule.parameter, value))
                    .map_err(|e| format!("{}: {e}", rule.parameter))
            });
            let values: Vec<_> = values.collect::<Result<_, String>>().map_err(fail)?;
            frame(base, index, &values, B::checked_at_depth)
        })
        .collect()
}

/// A frame for each value of a parameter, or for each pair of values of two: the values of the last one change fastest.
///
/// # Errors
/// As [`zoom`].
pub fn sweep<B: Base>(
    base: &B,
    vary: &[Vary<B::Parameter>],
) -> Result<Vec<Frame<B::Validated>>, FrameError> {
    let mut sets: Vec<Vec<(B::Parameter, f64)>> = vec![Vec::new()];
    for Vary { parameter, values } in vary {
        let with = |set: &Vec<_>, value: &f64| [set.clone(), vec![(*parameter, *value)]].concat();
        sets = (sets.iter())
            .flat_map(|set| values.iter().map(move |value| with(set, value)))
            .collect();
    }
    let numbered = (0_u32..).zip(&sets);
    numbered
        .map(|(index, set)| frame(base, index, set, B::checked))
        .collect()
}

fn frame<B: Base>(
    base: &B,
    index: u32,
    values: &[(B::Parameter, f64)],
    check: impl FnOnce(B) -> Result<B::Validated, SpecError>,
) -> Result<Frame<B::Validated>, FrameError> {
    let fail = |reason| FrameError {
        frame: index,
        reason,
    };
    let mut specification = base.clone();
    let mut set = Vec::new();
    for (parameter, value) in values {
        specification.set(*parameter, *value).map_err(fail)?;
        set.push(Setting {
            name: parameter.to_string(),
            value: specification.get(*parameter),
        });
    }
    let specification = check(specification).map_err(|e| {
        let SpecError {
            option,
            given,
            allowed,
        } = e;
        fail(format!("{option} {given}: {allowed}"))
    })?;
    Ok(Frame {
        index,
        specification,
        set,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use trisolar_map::Specification;

    #[test]
    fn the_published_zoom_has_its_ranges_shifts_and_steps() {
        let base = Specification {
            size: [30, 20],
            ..Specification::default()
        };
        let frames = zoom(&base, &Preset::Document.rules(), 500).expect("valid");
        let s = frames[30].specification.specification();
        assert_eq!((s.span[0], s.shift.y, s.steps), (20.0, 0.0005, 76_250));
        assert_eq!(s.span[1], 20.0 * (20.0 / 30.0));
        let s = frames[1].specification.specification();
        assert_eq!(s.steps, 50_875);
        assert_eq!(frames[499].set[2].value, 486_625.0);
    }

    #[test]
    fn the_last_rule_for_a_parameter_counts() {
        let mut rules = Preset::Document.rules();
        rules.push("steps=10*(frame+1)".parse().expect("a rule"));
        let frames = zoom(&Specification::default(), &rules, 3).expect("valid");
        let steps: Vec<u64> = frames
            .iter()
            .map(|f| f.specification.specification().steps)
            .collect();
        assert_eq!(steps, [10, 20, 30]);
    }

    #[test]
    fn a_frame_that_cannot_be_computed_is_named() {
        let rules = ["steps=100-10*frame".parse().expect("a rule")];
        let error = zoom(&Specification::default(), &rules, 20).unwrap_err();
        assert_eq!(error.frame, 10, "{error}");
        let masses = ["mass2=1,-2".parse().expect("values")];
        let error = sweep(&Specification::default(), &masses).unwrap_err();
        assert!(
            error.to_string().starts_with("frame 1: masses 10,-2,30: "),
            "{error}"
        );
    }

    #[test]
    fn two_parameters_make_a_matrix_whose_second_runs_along_its_rows() {
        let vary = ["mass2=5,6", "dt=0.1,0.2,0.3"].map(|text| text.parse().expect("values"));
        let frames = sweep(&Specification::default(), &vary).expect("valid");
        let values: Vec<(f64, f64)> = (frames.iter())
            .map(|f| f.specification.specification())
            .map(|s| (s.masses[1], s.dt))
            .collect();
        let expected = [
            (5.0, 0.1),
            (5.0, 0.2),
            (5.0, 0.3),
            (6.0, 0.1),
            (6.0, 0.2),
            (6.0, 0.3),
        ];
        assert_eq!(values, expected);
        for (n, frame) in frames.iter().enumerate() {
            assert_eq!(frame.index as usize, n);
            let set: Vec<(&str, f64)> = frame
                .set
                .iter()
                .map(|s| (s.name.as_str(), s.value))
                .collect();
            assert_eq!(set, [("mass2", expected[n].0), ("dt", expected[n].1)]);
        }
    }
}
