//! The parameters of a table as options of the command line.

use std::marker::PhantomData;

use clap::builder::{PathBufValueParser, TypedValueParser as _};
use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use trisolar::spec::{AnyValue, Declaration, Parameters, Read};

/// Headings whose options have a place of their own, further down in the help: that of a [`PlacedArgs`].
pub(crate) trait LaterHeadings {
    const HEADING: &str;
}

/// No headings.
#[derive(Clone, Debug)]
pub(crate) struct NoHeadings;

impl LaterHeadings for NoHeadings {
    const HEADING: &str = "";
}

/// Limits of errors.
#[derive(Clone, Debug)]
pub(crate) struct Accuracy;

impl LaterHeadings for Accuracy {
    const HEADING: &str = "Accuracy";
}

/// The options of all parameters, and the values that are given.
#[derive(Clone, Debug)]
pub(crate) struct ParameterArgs<P, L = NoHeadings> {
    pub(crate) values: P,
    later: PhantomData<L>,
}

/// The place in the help of options that are not listed with the others. [`ParameterArgs`] has their values.
#[derive(Clone, Debug)]
pub(crate) struct PlacedArgs<P, L>(PhantomData<(P, L)>);

/// A single option.
fn option(declaration: &Declaration) -> Arg {
    let option = Arg::new(declaration.name)
        // clap keeps static names only, without a feature that would make all names owned.
        .long(declaration.option().leak() as &str)
        .value_name(declaration.value)
        .help(declaration.help())
        .help_heading(declaration.heading)
        .visible_aliases(declaration.aliases)
        .conflicts_with_all(declaration.conflicts);
    let option = match declaration.read {
        Read::Text(read) => option
            .value_parser(move |text: &str| read(text))
            .allow_hyphen_values(true),
        Read::Path => option.value_parser(PathBufValueParser::new().map(AnyValue::new)),
    };
    let option = match declaration.separator {
        Some(separator) => option.value_delimiter(separator).action(ArgAction::Append),
        None => option,
    };
    match declaration.requires {
        Some(other) => option.requires(other),
        None => option,
    }
}

/// Adds the options of some parameters.
fn add(
    command: Command,
    declarations: &[Declaration],
    here: impl Fn(&Declaration) -> bool,
) -> Command {
    let here = declarations.iter().filter(|d| here(d));
    command.args(here.map(option))
}

impl<P: Parameters, L: LaterHeadings> Args for ParameterArgs<P, L> {
    fn augment_args(command: Command) -> Command {
        add(command, P::DECLARATIONS, |d| d.heading != L::HEADING)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: Parameters, L: LaterHeadings> FromArgMatches for ParameterArgs<P, L> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut options = Self {
            values: P::default(),
            later: PhantomData,
        };
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for Declaration { name, .. } in P::DECLARATIONS {
            let given = matches.get_many::<AnyValue>(name).into_iter().flatten();
            if let Some(field) = self.values.field_mut(name) {
                given.for_each(|value| field.put(value));
            }
        }
        Ok(())
    }
}

impl<P: Parameters, L: LaterHeadings> Args for PlacedArgs<P, L> {
    fn augment_args(command: Command) -> Command {
        add(command, P::DECLARATIONS, |d| d.heading == L::HEADING)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P, L> FromArgMatches for PlacedArgs<P, L> {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(PhantomData))
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use trisolar::hermite::Overrides;

    use super::*;

    fn parse(words: &[&str]) -> Result<Overrides, String> {
        let command = Command::new("trisolar");
        let command = ParameterArgs::<Overrides, Accuracy>::augment_args(command);
        let command = PlacedArgs::<Overrides, Accuracy>::augment_args(command);
        let words = ["trisolar"].iter().chain(words).map(OsString::from);
        let matches = command.try_get_matches_from(words);
        let matches = matches.map_err(|error| error.to_string())?;
        let args = ParameterArgs::<Overrides, Accuracy>::from_arg_matches(&matches);
        Ok(args.map_err(|error| error.to_string())?.values)
    }

    #[test]
    fn what_is_typed_is_given() {
        let given = parse(&["--n=8", "--max-error", "1e-3", "--softening", "-1"]);
        let expected = Overrides {
            n: Some(8),
            max_error: Some(1e-3),
            softening: Some(-1.0),
            ..Overrides::default()
        };
        assert_eq!(given, Ok(expected));
        assert_eq!(parse(&[]), Ok(Overrides::default()));
    }

    #[test]
    fn what_cannot_be_read_or_combined_is_refused_by_name() {
        for (words, says) in [
            (
                &["--n", "1"][..],
                "invalid value '1' for '--n <N>': must be a whole number from 2",
            ),
            (
                &["--scheme", "x"],
                "'x' for '--scheme <NAME>': must be plain or ahmad-cohen",
            ),
            (
                &["--n=8", "--n", "16"],
                "'--n <N>' cannot be used multiple times",
            ),
            (
                &["--input", "a", "--seed", "1"],
                "'--input <FILE>' cannot be used with '--seed <SEED>'",
            ),
        ] {
            let said = parse(words).expect_err(says);
            assert!(said.contains(says), "{said}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn paths_need_not_be_text() {
        use std::os::unix::ffi::OsStringExt as _;

        let path = OsString::from_vec(vec![b'a', 0xff]);
        let command = ParameterArgs::<Overrides>::augment_args(Command::new("trisolar"));
        let words = ["trisolar".into(), "--input".into(), path.clone()];
        let matches = command.try_get_matches_from(words).expect("a path");
        let args = ParameterArgs::<Overrides>::from_arg_matches(&matches).expect("a path");
        assert_eq!(args.values.input, Some(path.into()));
    }
}
