//! A parameter is declared once: its declaration gives a command-line option with its help, a key in TOML (which C uses as well)
//! and JSON, and a keyword in Python.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde::Serialize;
use serde::de::DeserializeOwned;
use trisolar::spec::{AnyValue, Declaration, Parameters, Read};
use trisolar::{divergence, encounters, hermite, nbody};

/// An example value of a parameter.
fn example(parameter: &Declaration) -> AnyValue {
    let Read::Text(read) = parameter.read else {
        return AnyValue::new(PathBuf::from("bodies.csv"));
    };
    let default = parameter
        .default
        .split([' ', ';'])
        .next()
        .unwrap_or_default();
    let texts = [
        default,
        "4",
        "0.5",
        "1,2",
        "1,2,3",
        "1,2,3:4,5,6:7,8,9",
        "au,yr,msun",
    ];
    let value = texts.into_iter().find_map(|text| read(text).ok());
    value.unwrap_or_else(|| panic!("no example of {}", parameter.name))
}

/// The help text of a command, without line breaks.
fn help(command: &str) -> String {
    let output = Command::cargo_bin("trisolar")
        .expect("the binary is built with the tests")
        .args([command, "--help"])
        .output()
        .unwrap();
    words(&String::from_utf8(output.stdout).unwrap())
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check<P>(command: &str)
where
    P: Parameters + Debug + PartialEq + Serialize + DeserializeOwned,
{
    let help = help(command);
    assert!(P::DECLARATIONS.len() > 15);
    for parameter in P::DECLARATIONS {
        let name = parameter.name;
        let shown = format!(
            "--{} <{}> {}",
            parameter.option(),
            parameter.value,
            parameter.help()
        );
        assert!(help.contains(&words(&shown)), "{shown}\nis not in\n{help}");

        let mut given = P::default();
        assert!(!given.has(name));
        given.field_mut(name).expect(name).put(&example(parameter));
        assert!(given.has(name) && given.has(&parameter.option()), "{name}");
        let values = toml::Table::try_from(&given).unwrap();
        assert!(values.contains_key(name), "{values}");
        let toml: P = toml::from_str(&values.to_string()).expect(name);
        assert_eq!(toml, given, "{name}");
        let json = serde_json::to_value(&given).unwrap();
        assert!(!json[name].is_null(), "{json}");
        assert_eq!(
            serde_json::from_value::<P>(json).expect(name),
            given,
            "{name}"
        );
        assert_eq!(P::default().merged_over(toml), given, "{name}");
        assert_eq!(given.without(parameter.heading), P::default(), "{name}");
    }
}

/// Checks that a Python function has the parameters as keywords, in the order of their declarations, and describes them.
fn check_python<P: Parameters>(file: &str, function: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/package/trisolar");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let (_, rest) = text.split_once(&format!("\ndef {function}(\n")).unwrap();
    let (signature, rest) = rest.split_once("\n) -> ").unwrap();
    let description = rest.split("\"\"\"").nth(1).unwrap();
    let mut previous = 0;
    for parameter in P::DECLARATIONS {
        let name = parameter.name;
        let keyword = signature.find(&format!("\n    {name}: "));
        let keyword =
            keyword.unwrap_or_else(|| panic!("{file}: `{name}: Optional[...] = None` is missing"));
        assert!(
            keyword > previous,
            "{file}: {name} is not where it is declared"
        );
        previous = keyword;
        let line = format!(":param {name}: ");
        assert!(
            description.contains(&line),
            "{file}: {line}{} is missing",
            parameter.help()
        );
    }
}

#[test]
fn every_interface_has_the_parameters_of_nbody() {
    check::<nbody::Overrides>("nbody");
    check_python::<nbody::Overrides>("_nbody.py", "nbody");
}

#[test]
fn every_interface_has_the_parameters_of_cluster() {
    check::<hermite::Overrides>("cluster");
    check_python::<hermite::Overrides>("_cluster.py", "cluster");
}

#[test]
fn every_interface_has_the_parameters_of_encounters() {
    check::<encounters::Overrides>("encounters");
    check_python::<encounters::Overrides>("_encounters.py", "encounters");
}

#[test]
fn every_interface_has_the_parameters_of_maps() {
    for command in ["divergence", "compare", "zoom", "sweep"] {
        check::<divergence::Overrides>(command);
    }
    check_python::<divergence::Overrides>("_divergence.py", "divergence");
}

#[test]
fn documented_defaults_are_those_of_maps() {
    let mut given = divergence::Overrides::default();
    for parameter in divergence::Overrides::DECLARATIONS {
        if let (Read::Text(read), false) = (parameter.read, parameter.default.is_empty()) {
            let value = read(parameter.default).expect(parameter.name);
            given.field_mut(parameter.name).unwrap().put(&value);
        }
    }
    let usual = divergence::Specification::default();
    assert_eq!(divergence::Specification::from(given), usual);
}
