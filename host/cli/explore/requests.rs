//! What all maps of the explorer have in common: how values of the page are read and refused, and how computations end.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trisolar::run::{EngineError, Monitor};
use trisolar::spec::SpecError;
use trisolar_explore::{Cancel, Ended, Refusal};

/// Largest number of steps of a pixel; an orbit with this many takes seconds.
pub(super) const MAX_STEPS: u64 = 100_000_000;

/// Reads the values of a specification that the page sends; `known` are the names of its parameters.
///
/// # Errors
/// The first value that is not allowed.
pub(super) fn read<T: DeserializeOwned>(value: &Value, known: &[String]) -> Result<T, Refusal> {
    let Some(object) = value.as_object() else {
        return Err(Refusal::new("specification", value, "must be an object"));
    };
    let mut texts = serde_json::Map::new();
    // One at a time, so that a refusal names the parameter.
    for (name, one) in object {
        if !known.contains(name) {
            let allowed = format!("unknown parameter; must be one of {}", known.join(", "));
            return Err(Refusal::new(name, one, allowed));
        }
        let alone = |one: &Value| serde_json::from_value::<T>(json!({ name: one }));
        if let Err(error) = alone(one) {
            // The page does not know which numbers are texts, as steps with a unit are.
            let text = json!(one.to_string());
            if !one.is_number() || alone(&text).is_err() {
                return Err(Refusal::new(name, one, error.to_string()));
            }
            texts.insert(name.clone(), text);
        }
    }
    let mut all = object.clone();
    all.extend(texts);
    serde_json::from_value(Value::Object(all))
        .map_err(|error| Refusal::new("specification", value, error.to_string()))
}

/// The refusal of a value of a specification.
pub(super) fn refusal(error: SpecError) -> Refusal {
    Refusal {
        option: error.option.replace('-', "_"),
        given: error.given,
        allowed: error.allowed,
    }
}

/// The same where an engine finds it in the middle of its work, to which only values come that have been checked.
pub(super) fn refused(refusal: Refusal) -> Ended {
    Ended::Failed(format!("{}: {}", refusal.option, refusal.allowed))
}

/// How a computation ended that did not succeed.
pub(super) fn ended(error: EngineError) -> Ended {
    match error {
        EngineError::Cancelled => Ended::Cancelled,
        error => Ended::Failed(error.to_string()),
    }
}

/// Ends a run whose result no client needs any more.
pub(super) struct StopWhenUnwanted<'a>(pub &'a dyn Cancel);

impl Monitor for StopWhenUnwanted<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }

    fn wants_energy(&self) -> bool {
        false
    }

    /// Half of the time within which a device should become free after the last client has lost interest in its tile.
    fn reaction(&self) -> Duration {
        Duration::from_millis(25)
    }
}
