//! Describes the parameters for the page, and writes a specification in the forms that users copy. Names, units and help are those of the
//! parameters' declarations, as on the command line.

use serde_json::{Value, json};
use trisolar::accuracy::ENERGY_LIMIT;
use trisolar::bodies::DVec3;
use trisolar::divergence::{
    Integrator, OneOrTwo, Overrides, Preset, Quantity, Scale, Specification,
};
use trisolar::io::colour::ColourMap;
use trisolar::nbody::Model;
use trisolar::output::{self, Shown};
use trisolar::spec::{Declaration, Parameters as _};
use trisolar::zoom;

use super::ensemble::{Given, call, command, declaration, object};
use super::equations::EQUATIONS;
use super::outcomes::ENCOUNTERS;
use super::planets::PLANETS;
use super::{certainty, equations, outcomes, planets};

/// What maps beside known orbits show: the twins' distance has no scale there that suits all.
const KNOWN_QUANTITY: Quantity = Quantity::Ftle;

/// The parameters that the view sets.
pub(super) const RECTANGLE: [&str; 3] = ["size", "center", "span"];

/// Whether a parameter is on the page, whose maps span places of the grid body. Steps per period are those of the integrator, which have no
/// number that suits all.
fn is_shown(name: &str) -> bool {
    !RECTANGLE.contains(&name) && !["map", "draw", "seed", "steps_per_period"].contains(&name)
}

/// The part of the page on which a parameter appears.
fn group(name: &str) -> &'static str {
    match name {
        "masses" | "positions" | "velocities" | "g" | "softening" => "Bodies",
        "quantity" | "plane" | "body" | "shift" | "critical_distance" => "Map",
        _ => "Integration",
    }
}

/// The parameters on the page.
fn shown() -> impl Iterator<Item = &'static Declaration> {
    let all = Overrides::DECLARATIONS.iter();
    all.filter(|parameter| is_shown(parameter.name))
}

/// Names of all parameters that requests may have: those on the page, and the place from which it counts coordinates.
pub(super) fn accepted() -> Vec<String> {
    let names = shown().map(|parameter| parameter.name.into());
    names.chain(["center".into()]).collect()
}

/// The integrators of deep zooms, in double-double.
fn deep() -> Vec<&'static str> {
    let all = Integrator::ALL.iter().copied();
    let deep = all.filter(|integrator| {
        let specification = Specification {
            integrator: *integrator,
            ..Specification::default()
        };
        specification.in_double_double().is_some()
    });
    deep.map(Integrator::name).collect()
}

/// The allowed values of a parameter, if they can be listed.
fn choices(parameter: &Declaration, default: &Value) -> Option<Vec<Value>> {
    let value = |text: String| match default {
        Value::Number(_) => text.parse().map_or(Value::Null, Value::Number),
        _ => Value::String(text),
    };
    Some((parameter.choices?)().into_iter().map(value).collect())
}

/// The kind of its values, which its default shows.
fn kind(default: &Value) -> &'static str {
    match default {
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::Array(rows) if rows.iter().any(Value::is_array) => "vectors",
        Value::Array(_) => "vector",
        _ => "text",
    }
}

/// The whole description.
pub(super) fn of(device: &str, has_gpu: bool) -> Value {
    let defaults = json!(Specification::default());
    let parameters: Vec<Value> = shown()
        .map(|parameter| {
            let name = parameter.name;
            let default = &defaults[name];
            let unit = Some(parameter.unit).filter(|unit| !unit.is_empty());
            json!({
                "name": name, "kind": kind(default), "unit": unit, "default": default,
                "choices": choices(parameter, default), "help": parameter.help(), "group": group(name),
                "scales": (name == "quantity").then(scales),
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
        "deep": deep(),
        "quantities": quantities(),
        "systems": [
            declaration::<trisolar::encounters::Overrides>(ENCOUNTERS),
            declaration::<trisolar::planets::Overrides>(PLANETS),
            declaration::<trisolar::system::Overrides>(EQUATIONS),
        ],
        "verdicts": certainty::classes(),
        "presets": presets(),
        "start": Preset::Accurate.name(),
        "zoom": zoom_rates(),
        // The relative error of the energy above which an orbit is marked, as runs warn of it.
        "energy_limit": ENERGY_LIMIT,
        "palettes": palettes,
    })
}

/// The name of the scale of a quantity's colours on the page.
fn scale(quantity: &Quantity) -> &'static str {
    match quantity.scale() {
        Scale::Linear => "linear",
        Scale::Logarithmic => "log",
    }
}

/// The scales by quantity.
fn scales() -> Value {
    object(
        Quantity::ALL
            .iter()
            .map(|quantity| (quantity.name(), json!(scale(quantity)))),
    )
}

/// The quantities: how the page labels and colours their values.
fn quantities() -> Vec<Value> {
    let of = |quantity: &Quantity| {
        json!({
            "name": quantity.name(), "label": quantity.label(), "unit": quantity.unit(),
            // The page colours the parameter `steps` minus the value, and tells the time `dt` times the value.
            "shown_from": quantity.counts_steps().then_some("steps"),
            "shown_as": quantity.counts_steps().then(|| Shown::Time.label()),
            // The share of values that the range of the colours leaves out at either end.
            "clipped": output::clipped_share(*quantity),
            "scale": scale(quantity),
        })
    };
    Quantity::ALL.iter().map(of).collect()
}

/// The presets: rectangles, and values in which they differ from the headline map.
fn presets() -> Vec<Value> {
    let headline = json!({ "center": [0.0, 0.0], "span": Specification::default().span });
    let of = |preset: Preset| {
        let overrides = preset.overrides();
        json!({
            "name": preset.name(), "title": capitalised(preset.name()), "help": preset.help(),
            "specification": method(&overrides), "view": view_of(&overrides).unwrap_or_else(|| headline.clone()),
        })
    };
    let accurate = method(&Preset::Accurate.overrides());
    let mut presets = vec![of(Preset::Accurate)];
    for quantity in Quantity::ALL.iter().filter(|q| **q != Quantity::default()) {
        let mut specification = accurate.clone();
        specification["quantity"] = json!(quantity);
        presets.push(json!({
            "name": quantity.name(), "title": capitalised(quantity.label()), "view": headline, "help": quantity.help(),
            "specification": specification,
        }));
    }
    let others = Preset::ALL
        .into_iter()
        .filter(|preset| *preset != Preset::Accurate);
    presets.extend(others.map(of));
    if let Some(center) = zoom::Preset::Document.center() {
        presets.push(json!({
            "name": "zoom", "title": "Target of the zoom", "specification": accurate,
            "help": "The target of the zoom of Badger's study, by the method of the accurate map: keep zooming.",
            "view": { "center": center, "span": [1.25, 1.25] },
        }));
    }
    presets.extend(known_systems());
    presets.extend(outcomes::presets());
    presets.extend(planets::presets());
    presets.extend(equations::presets());
    presets
}

/// Orbits that have names, each with the places beside that of a body from which the orbit stays regular or becomes chaotic.
fn known_systems() -> Vec<Value> {
    let known = [
        (
            Model::FigureEight,
            "Figure eight",
            0.2,
            "Chenciner & Montgomery (2000)",
        ),
        (
            Model::Lagrange,
            "Lagrange's triangle",
            0.4,
            "Lagrange (1772)",
        ),
        (Model::Burrau, "Pythagorean problem", 2.0, "Burrau (1913)"),
    ];
    let preset = |(model, title, span, source): (Model, &str, f64, &str)| {
        let bodies = model.build(None, 1, model.natural_g(), 3).ok()?;
        let places = |of: &[DVec3]| -> Vec<[f64; 3]> { of.iter().map(|x| x.to_array()).collect() };
        let last = bodies.position.last()?;
        let mut specification = method(&Preset::Accurate.overrides());
        specification["masses"] = json!(bodies.mass);
        specification["positions"] = json!(places(&bodies.position));
        specification["velocities"] = json!(places(&bodies.velocity));
        specification["g"] = json!(model.natural_g());
        specification["body"] = json!(bodies.len());
        specification["quantity"] = json!(KNOWN_QUANTITY);
        Some(json!({
            "name": model.name(), "title": title, "specification": specification,
            "help": format!("{title} ({source}), and starts of the third body beside it: where they are chaotic."),
            "view": { "center": [last.x, last.y], "span": [span, span] },
            // The small span is not that of a zoom.
            "follow": false,
        }))
    };
    known.into_iter().filter_map(preset).collect()
}

/// The values that a preset gives, without its rectangle.
fn method(overrides: &Overrides) -> Value {
    let mut values = json!(overrides);
    if let Some(object) = values.as_object_mut() {
        object.retain(|name, value| !value.is_null() && is_shown(name));
    }
    values
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
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

/// The command and the Python expression that compute this map: its rectangle, and the values that differ from their defaults.
pub(super) fn forms(specification: &Specification, certain: bool) -> [String; 2] {
    let (values, defaults) = (json!(specification), json!(Specification::default()));
    let given = |parameter: &'static Declaration| (parameter, &values[parameter.name]);
    let differs = |(parameter, value): &Given<'_>| {
        **value != defaults[parameter.name] || RECTANGLE.contains(&parameter.name)
    };
    let all = Overrides::DECLARATIONS.iter().map(given).filter(differs);
    let all: Vec<Given<'_>> = all.collect();
    let arguments = all
        .iter()
        .map(|(p, value)| (p.name.to_owned(), value.to_string()));
    let arguments = arguments.chain(certainty::argument(certain));
    let python = call("map", "divergence", arguments) + "map.plot()\n";
    let command = certainty::command(command("divergence", &all), certain);
    [command, python]
}

/// The rectangle that a preset gives, if it gives one.
fn view_of(overrides: &Overrides) -> Option<Value> {
    let span = match overrides.span? {
        OneOrTwo::One(span) => [span; 2],
        OneOrTwo::Two(span) => span,
    };
    Some(json!({ "center": overrides.center.unwrap_or_default(), "span": span }))
}
