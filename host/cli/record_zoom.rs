//! Zooms of ensembles of records: a sequence of maps towards a point, as pictures and as a film.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trisolar::run::{Part, Paths};
use trisolar::zoom::{NAMED_ZOOM_FRAMES, NamedBase, Number, Rule, Style, variables_in_words};

use super::films::frames;
use super::record_sequence::{FrameOf, SequenceArgs, SequenceCommand, may_differ, style};
use super::report::Lines;
use super::resume::Typed;
use super::sequence::{self, Description, Ended, FilmArgs, ZoomLookArgs};
use super::{Failure, values};

/// A number of a zoom.
type NumberOf<C> = Number<<C as SequenceCommand>::Specification>;

/// Compute a sequence of maps towards a point, which keeps its place in all pictures. Run it again to continue an interrupted run, or to
/// make a film of existing frames.
#[derive(Debug, clap::Args)]
#[command(
    about = "Compute a zoom: a sequence of maps towards a point",
    after_help = formulas::<C>()
)]
pub(crate) struct Args<C: SequenceCommand> {
    /// The point of the map: its value along the columns, and along the rows if the map has them
    #[arg(
        long,
        value_name = "X[,Y]",
        help_heading = "Zoom",
        allow_hyphen_values = true,
        value_delimiter = ',',
        value_parser = values::number,
        required_unless_present = "resume"
    )]
    to: Vec<f64>,
    /// Number of frames, 1 to 99999. Fewer than 100 frames cover the same ranges in longer strides, unless --schedule has a formula of the
    /// span; more frames go on beyond them
    #[arg(long, value_name = "N", help_heading = "Zoom", value_parser = frames, default_value_t = NAMED_ZOOM_FRAMES)]
    frames: u32,
    /// Set a parameter by a formula, such as 'span=span/2^(frame/5)'; can be repeated. The span is that of the columns, and that of
    /// the rows changes in proportion [default: span=span/2^(frame/10)]
    #[arg(
        long = C::SCHEDULE[0],
        value_name = "NAME=FORMULA",
        help_heading = "Zoom",
        allow_hyphen_values = true,
        visible_aliases = C::SCHEDULE[1..].iter().copied(),
        value_parser = str::parse::<Rule<NumberOf<C>>>
    )]
    schedule: Vec<Rule<NumberOf<C>>>,

    /// Folder for the frames: frame-00000.png and so on, and a .json with the specification and summary of each. An interrupted run
    /// in it is continued
    #[arg(
        long,
        value_name = "FOLDER",
        help_heading = "Files",
        default_value = "zoom"
    )]
    out: PathBuf,
    #[command(flatten)]
    look: ZoomLookArgs,
    #[command(flatten)]
    films: FilmArgs,
    #[command(flatten)]
    sequence: SequenceArgs<C>,
}

fn formulas<C: SequenceCommand>() -> String {
    format!(
        "A formula can use {}; + - * / ^, and functions such as min(a, b), max(a, b), exp, ln, sqrt, floor. NAME is one of {}.",
        variables_in_words::<NumberOf<C>>(),
        NumberOf::<C>::names(),
    )
}

/// The description of a zoom, which `sequence.json` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
struct Zoom<C: SequenceCommand> {
    base: C,
    max_error: Option<f64>,
    to: Vec<f64>,
    frames: u32,
    /// Rules in addition to the usual one.
    set: Vec<String>,
    npz: bool,
    film: Vec<PathBuf>,
    fps: f64,
    #[serde(flatten)]
    look: ZoomLookArgs,
}

impl<C: SequenceCommand> Paths for Zoom<C> {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        self.film.iter_mut().collect()
    }
}

/// Computes the missing frames and makes the films.
pub(crate) fn run<C: SequenceCommand>(args: &Args<C>, typed: &Typed) -> Result<(), Failure> {
    let describe = |base, max_error| {
        Ok(Zoom {
            base,
            max_error,
            to: args.to.clone(),
            frames: args.frames,
            set: args.schedule.iter().map(Rule::to_string).collect(),
            npz: args.sequence.npz,
            film: args.films.film.clone(),
            fps: args.films.fps,
            look: args.look,
        })
    };
    let base = |under: Option<&_>| args.sequence.base(under, std::iter::empty());
    sequence::run(&args.sequence, typed, &args.out, base, describe)
}

impl<C: SequenceCommand> Description for Zoom<C> {
    type Options = SequenceArgs<C>;
    const COMMAND: &'static str = C::ZOOM;

    fn base(&self) -> &C {
        &self.base
    }

    fn max_error(&mut self) -> &mut Option<f64> {
        &mut self.max_error
    }

    fn may_differ(frames: &[FrameOf<C>]) -> Vec<&'static str> {
        may_differ::<C>(frames)
    }

    fn style(&self) -> Style {
        style(self.look, self.npz)
    }

    fn films(&self) -> (&[PathBuf], f64) {
        (&self.film, self.fps)
    }

    fn kind(&self) -> Value {
        json!({ (C::ZOOM): self.to })
    }

    fn frames(&self) -> Result<Vec<FrameOf<C>>, Failure> {
        let base = self.base.specification();
        let base = base.map_err(|e| Failure::BadInput(e.to_string()))?;
        let base = NamedBase::towards(base, &self.to);
        let base = base.map_err(|allowed| {
            let given: Vec<String> = self.to.iter().map(f64::to_string).collect();
            Failure::value(&given.join(","), "--to", &allowed)
        })?;
        let mut rules = Vec::new();
        for rule in &self.set {
            let refuse = |e: String| Failure::value(rule, &format!("--{}", C::SCHEDULE[0]), &e);
            rules.push(rule.parse().map_err(refuse)?);
        }
        base.zoom(&rules, self.frames).map_err(|e| {
            Failure::BadInput(format!(
                "{e}\nhint: --to, --schedule and --frames determine it"
            ))
        })
    }

    fn check(&self, _: &[FrameOf<C>], _: Option<Part>) -> Result<(), Failure> {
        self.look.check(&self.film)
    }

    fn add_to(&self, object: &mut Value, _: &Ended<'_, Self>) {
        object["films"] = json!(self.film);
    }

    fn summary(&self, lines: Lines, ended: &Ended<'_, Self>) -> String {
        ended.zoom_summary(lines)
    }
}

#[cfg(test)]
mod tests {
    use trisolar::encounters::Overrides;

    use super::*;

    #[test]
    fn the_usual_rule_halves_the_span_every_ten_of_a_hundred_frames() {
        let given = Overrides {
            map: vec!["phase=0:360".into(), "inclination=0:180".into()],
            ..Overrides::default()
        };
        let zoom = Zoom {
            base: given,
            max_error: None,
            to: vec![230.0, 27.0],
            frames: 100,
            set: Vec::new(),
            npz: false,
            film: Vec::new(),
            fps: 30.0,
            look: ZoomLookArgs::default(),
        };
        let frames = zoom.frames().expect("valid");
        assert_eq!(frames.len(), 100);
        for (frame, span) in [(0, 360.0), (10, 180.0), (20, 90.0)] {
            let set: f64 = frames[frame].set[0].value;
            assert!((set - span).abs() < 1e-9, "{set}");
        }
        let few = Zoom { frames: 5, ..zoom }.frames().expect("valid");
        assert_eq!(few[4].set, frames[99].set);
    }
}
