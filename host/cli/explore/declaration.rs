//! What the page needs to know of parameters, and a specification in the forms that users copy. Names and help are those of the
//! command line's options, defaults those of the library.

use clap::Args as _;
use serde_json::{Map, Value, json};
use trisolar::divergence::{
    Given, Integrator, OneOrTwo, Plane, Precision, Preset, Specification, Start,
};
use trisolar::io::colour::ColourMap;
use trisolar::zoom;

use super::super::divergence::SpecificationArgs;

/// The parameters that the view sets.
pub(super) const RECTANGLE: [&str; 3] = ["size", "center", "span"];

/// What is not on the page: it shows maps of divergence.
const QUANTITY: &str = "quantity";

/// Whether a parameter is on the page.
fn is_shown(name: &str) -> bool {
    !RECTANGLE.contains(&name) && name != QUANTITY
}

/// Where on the page a parameter is.
fn group(name: &str) -> &'static str {
    match name {
        "masses" | "positions" | "velocities" | "g" | "softening" => "Bodies",
        "plane" | "body" | "shift" | "critical_distance" => "Map",
        _ => "Integration",
    }
}

/// The options of the command line.
fn options() -> clap::Command {
    SpecificationArgs::augment_args(clap::Command::new("trisolar"))
}

/// Names of all parameters.
pub(super) fn names() -> Vec<String> {
    let options = options();
    let names = options
        .get_arguments()
        .map(|option| option.get_id().to_string());
    names.filter(|name| is_shown(name)).collect()
}

/// The values a parameter can have, if they can be counted.
fn choices(name: &str) -> Option<Vec<Value>> {
    Some(match name {
        "plane" => [Plane::Xy, Plane::Xz, Plane::Yz]
            .map(|plane| json!(plane))
            .into(),
        "body" => [1, 2, 3].map(Value::from).into(),
        "precision" => Precision::ALL.map(|precision| json!(precision)).into(),
        "integrator" => Integrator::ALL
            .iter()
            .map(|integrator| json!(integrator))
            .collect(),
        "start" => [Start::Euler, Start::RungeKutta]
            .map(|start| json!(start))
            .into(),
        _ => return None,
    })
}

/// What kind of value it is, by its default.
fn kind(default: &Value) -> &'static str {
    match default {
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::Array(rows) if rows.iter().any(Value::is_array) => "vectors",
        Value::Array(_) => "vector",
        _ => "text",
    }
}

/// The unit that a help text names in its first parentheses.
fn unit(help: &str) -> Option<&str> {
    const UNITS: [&str; 5] = ["length", "length^3", "mass", "time", "time^2"];
    let (_, rest) = help.split_once('(')?;
    let (unit, _) = rest.split_once(')')?;
    unit.split(" / ")
        .all(|word| UNITS.contains(&word))
        .then_some(unit)
}

/// Everything.
pub(super) fn of(device: &str, has_gpu: bool) -> Value {
    let defaults = json!(Specification::default());
    let options = options();
    let parameters: Vec<Value> = options
        .get_arguments()
        .filter(|option| is_shown(option.get_id().as_str()))
        .map(|option| {
            let name = option.get_id().as_str();
            let help = option
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let default = &defaults[name];
            json!({
                "name": name, "kind": kind(default), "unit": unit(&help), "default": default,
                "choices": choices(name), "help": help, "group": group(name),
            })
        })
        .collect();
    let palettes = ColourMap::ALL.map(|map| {
        let colours: Vec<u32> = (map.palette(256).iter())
            .map(|[r, g, b]| u32::from_be_bytes([0, *r, *g, *b]))
            .collect();
        json!({ "name": map.name(), "colours": colours, "not_finite": map.not_finite() })
    });
    json!({
        "device": device,
        "gpu": has_gpu,
        "parameters": parameters,
        "quantities": [{
            "name": "divergence", "type": "u32", "label": "time left when the twins part", "unit": "steps",
            // What is shown is the parameter `steps` less the value.
            "shown_from": "steps",
        }],
        "presets": presets(),
        // A laptop shows something sharp in seconds.
        "start": if has_gpu { "headline" } else { "quick" },
        "zoom": zoom_rates(),
        "palettes": palettes,
    })
}

/// Rectangles and values to begin with.
fn presets() -> Vec<Value> {
    let headline = json!({ "center": [0.0, 0.0], "span": Specification::default().span });
    let mut presets = vec![json!({
        "name": "quick", "title": "Headline, quick", "view": headline,
        "help": "The headline map by leapfrog with a twentieth of the steps: the same picture in a fraction of the time.",
        "specification": { "integrator": Integrator::Leapfrog, "dt": 0.02, "steps": 2500 },
    })];
    for preset in Preset::ALL {
        let given = preset.given();
        let mut specification = json!({});
        if let Some(steps) = given.steps {
            specification["steps"] = steps.into();
        }
        presets.push(json!({
            "name": preset.name(), "specification": specification,
            "title": match preset { Preset::Headline => "Headline", Preset::Panorama => "Panorama" },
            "help": match preset {
                Preset::Headline => "The map of Badger's study: explicit Euler, 50000 steps.",
                Preset::Panorama => "The repetitions of the structure to the right, 200000 steps.",
            },
            "view": view_of(&given).unwrap_or_else(|| headline.clone()),
        }));
    }
    if let Some(center) = zoom::Preset::Document.center() {
        presets.push(json!({
            "name": "zoom", "title": "Target of the zoom", "specification": {},
            "help": "The target of the zoom of Badger's study: keep zooming.",
            "view": { "center": center, "span": [1.25, 1.25] },
        }));
    }
    presets
}

/// How the zoom of Badger's study changes parameters with the span: factors and additions for each halving.
fn zoom_rates() -> Value {
    let base = Specification::default();
    let value = |rule: &zoom::Rule, frame| rule.expression.value(frame, frame + 1, &base).ok();
    let rules = zoom::Preset::Document.rules();
    let rule = |name: &str| rules.iter().find(|rule| rule.parameter.to_string() == name);
    // The frame whose span is half that of the first.
    let half = rule("span").and_then(|span| {
        let start = value(span, 0)?;
        (1..1000).find(|frame| value(span, *frame).is_some_and(|x| x <= start / 2.0))
    });
    let change = |name: &str| {
        let (rule, half) = (rule(name)?, half?);
        Some((value(rule, 0)?, value(rule, half)?))
    };
    json!({
        "span": base.span[0],
        "shift_factor": change("shift").map(|(before, after)| after / before),
        "steps_added": change("steps").map(|(before, after)| after - before),
        "steps_at": base.steps,
    })
}

/// The values that differ from their defaults, in the order of the options.
fn differing(specification: &Specification) -> Map<String, Value> {
    let (values, defaults) = (json!(specification), json!(Specification::default()));
    let options = options();
    let names = options
        .get_arguments()
        .map(|option| option.get_id().to_string());
    names
        .filter(|name| values[name] != defaults[name] || RECTANGLE.contains(&name.as_str()))
        .map(|name| {
            let value = values[&name].clone();
            (name, value)
        })
        .collect()
}

/// As the command line takes it.
fn word(name: &str, value: &Value) -> String {
    match value {
        Value::Array(rows) => {
            let separator = match (name, rows.iter().any(Value::is_array)) {
                ("size", _) => "x",
                (_, true) => ":",
                (_, false) => ",",
            };
            let words: Vec<String> = rows.iter().map(|row| word("", row)).collect();
            words.join(separator)
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The command that computes this map.
pub(super) fn command(specification: &Specification) -> String {
    let values = differing(specification);
    let options = values
        .iter()
        .map(|(name, value)| format!(" --{}={}", name.replace('_', "-"), word(name, value)));
    format!("trisolar divergence{}", options.collect::<String>())
}

/// The Python expression that computes it.
pub(super) fn python(specification: &Specification) -> String {
    let values = differing(specification);
    let keywords: Vec<String> = values
        .iter()
        .map(|(name, value)| format!("    {name}={value},\n"))
        .collect();
    format!(
        "import trisolar\n\nmap = trisolar.divergence(\n{})\nmap.plot()\n",
        keywords.concat()
    )
}
/// The rectangle that a preset gives, if it gives one.
fn view_of(given: &Given) -> Option<Value> {
    let span = match given.span? {
        OneOrTwo::One(span) => [span; 2],
        OneOrTwo::Two(span) => span,
    };
    Some(json!({ "center": given.center.unwrap_or_default(), "span": span }))
}
