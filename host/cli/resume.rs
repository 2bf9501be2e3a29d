//! Options given with `--resume`: a checkpoint holds all options of the run, so that they can only repeat these, extend the run, or
//! select devices and reports.

use std::collections::BTreeMap;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use serde::Serialize;
use serde_json::{Map, Value};
use trisolar::run::{Paths, RecordError, Refused};

use super::Failure;

/// Headings of options on which no output depends.
const FREE: [&str; 3] = ["Computation", "Page", "Report"];

/// Headings of options beside which a model that is known for something draws itself without `--plots`.
const SHOWN_WITH: [&str; 3] = ["Start", "Computation", "Report"];

/// The options that were typed, by their names with `_` for `-`.
#[derive(Debug, Default)]
pub(crate) struct Typed {
    /// The options with their headings in the help text.
    options: BTreeMap<String, String>,
}

impl Typed {
    /// The options of the innermost subcommand.
    pub(crate) fn of(command: &Command, matches: &ArgMatches) -> Self {
        let (mut command, mut matches) = (command, matches);
        while let Some((name, inner)) = matches.subcommand()
            && let Some(found) = command.find_subcommand(name)
        {
            (command, matches) = (found, inner);
        }
        let arguments = command.get_arguments();
        let typed = arguments.filter(|argument| {
            let id = argument.get_id().as_str();
            matches.try_contains_id(id).is_ok()
                && matches.value_source(id) == Some(ValueSource::CommandLine)
        });
        let options = typed.map(|argument| {
            let heading = argument.get_help_heading().unwrap_or_default();
            (argument.get_id().to_string(), heading.to_owned())
        });
        Self {
            options: options.collect(),
        }
    }

    /// Whether an option was typed.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.contains_key(option)
    }

    /// Whether a model that is known for something draws itself beside all of them. `--end` changes the end and nothing else.
    pub(crate) fn let_models_show(&self) -> bool {
        let mut all = self.options.iter();
        all.all(|(option, heading)| option == "end" || SHOWN_WITH.contains(&heading.as_str()))
    }

    /// Refuses options given with `--resume FILE` that differ from those of the run.
    pub(crate) fn refuse_others(&self, run: &Resumed<'_>) -> Result<(), Failure> {
        for (option, heading) in &self.options {
            let has = run.has.get(option);
            let given = run.given.get(option);
            let listed = |list: &[&str]| list.contains(&option.as_str());
            if option == "resume"
                || listed(run.extends)
                || listed(run.elsewhere)
                || run.elsewhere.contains(&heading.as_str())
                || (has.is_some() && has == given)
                || (has.is_none() && FREE.contains(&heading.as_str()))
            {
                continue;
            }
            let name = format!("--{}", option.replace('_', "-"));
            let file = run.file.display();
            let what = match has {
                None | Some(Value::Null | Value::Bool(false)) => {
                    format!("the run of {file} has no {name}")
                }
                Some(Value::Array(all)) if all.is_empty() => {
                    format!("the run of {file} has no {name}")
                }
                Some(has) => format!("the run of {file} has {}", in_words(has)),
            };
            let may = match run.extends {
                [] => String::new(),
                extends => {
                    let names: Vec<String> = extends.iter().map(|e| format!("--{e}")).collect();
                    format!("; with --resume, {} can extend it", names.join(", "))
                }
            };
            let given = given.map_or_else(String::new, in_words);
            return Err(Failure::value(&given, &name, &format!("{what}{may}")));
        }
        Ok(())
    }

    /// Refuses options that would change the outputs of the unfinished computation beside `file`. The caller checks the options under the
    /// headings and names `elsewhere`.
    pub(crate) fn refuse_other_outputs<O: Paths>(
        &self,
        file: &Path,
        had: &O,
        given: &O,
        elsewhere: &[&str],
    ) -> Result<(), Failure> {
        let streamed = |outputs| {
            let mut all = with_paths(outputs);
            all.insert("stream".into(), true.into());
            all
        };
        self.refuse_others(&Resumed {
            file,
            has: streamed(had),
            given: streamed(given),
            extends: &[],
            elsewhere,
        })
    }
}

/// A resumed run, and the options given with it.
pub(crate) struct Resumed<'a> {
    pub file: &'a Path,
    /// All options of the run.
    pub has: Map<String, Value>,
    /// All options of the command line, given or not.
    pub given: Map<String, Value>,
    /// Options that may differ.
    pub extends: &'a [&'a str],
    /// Options, or headings of them, that are compared elsewhere.
    pub elsewhere: &'a [&'a str],
}

/// Options under their names, to be compared.
pub(crate) fn plain(options: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(options) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// As [`plain`], with paths in a form in which the same file has the same path.
pub(crate) fn with_paths<T: Paths>(options: &T) -> Map<String, Value> {
    let mut options = options.clone();
    for path in options.paths() {
        *path = trisolar::run::resolved(path);
    }
    plain(&options)
}

/// The options in which two runs differ, with both values, besides those that are compared elsewhere (`base` and `max_error`) and those
/// that may differ.
pub(crate) fn differing_options<T: Paths>(there: &T, here: &T, may: &[&str]) -> Vec<String> {
    let (there, here) = (with_paths(there), with_paths(here));
    let checked = |key: &&String| {
        let elsewhere = ["base", "max_error"];
        !elsewhere.contains(&key.as_str()) && !may.contains(&key.as_str())
    };
    let differing = here.keys().filter(|key| there.get(*key) != here.get(*key));
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::Array(all)) if all.is_empty() => "none".to_owned(),
        Some(value) => in_words(value),
    };
    differing
        .filter(checked)
        .map(|key| {
            let [there, here] = [there.get(key), here.get(key)].map(text);
            let option = key.replace('_', "-");
            format!("--{option} ({there} there, {here} here)")
        })
        .collect()
}

/// A value as it is written on the command line.
pub(crate) fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(in_words).collect();
            all.join(", ")
        }
        value => value.to_string(),
    }
}

impl From<Refused> for Failure {
    fn from(error: Refused) -> Self {
        Self::BadInput(error.to_string())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Io(error) => error.into(),
            error => Self::BadInput(error.to_string()),
        }
    }
}
