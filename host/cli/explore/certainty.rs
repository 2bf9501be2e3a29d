//! The layer of certainty: tiles whose pixels have the verdict on their value as a class. Each pixel is computed as by `--certify`.

use std::ops::Range;

use serde_json::{Value, json};
use trisolar::ensemble::Verdict;
use trisolar_explore::{Ended, Refusal, Tile, TileSink, Values};

/// The key of a specification that asks for the layer.
const CERTAINTY: &str = "certainty";

/// Takes the key out of a specification, and returns whether the layer is wanted.
///
/// # Errors
/// The value is not `true` or `false`.
pub(super) fn wanted(specification: &mut Value) -> Result<bool, Refusal> {
    let key = specification
        .as_object_mut()
        .and_then(|o| o.remove(CERTAINTY));
    match key {
        None => Ok(false),
        Some(Value::Bool(wanted)) => Ok(wanted),
        Some(other) => Err(Refusal::new(CERTAINTY, other, "must be true or false")),
    }
}

/// The refusal of the layer by a map that has none.
pub(super) fn refused(system: &str) -> Refusal {
    let allowed = format!("maps of {system} have no verdicts");
    Refusal::new(CERTAINTY, true, allowed)
}

/// The cost of a pixel in values of a map, roughly: verdicts take a quarter of the step, and double-double.
pub(super) fn cost(certain: bool) -> u64 {
    if certain { 15 } else { 1 }
}

/// Distinguishes the content of tiles with verdicts from that of others.
pub(super) fn mark(certain: bool) -> &'static str {
    if certain { " certainty" } else { "" }
}

/// The classes of pixels for the page.
pub(super) fn classes() -> Value {
    let classes = Verdict::WORDS.map(|(name, [r, g, b])| {
        json!({ "name": name, "colour": u32::from_be_bytes([0, r, g, b]), "flat": false })
    });
    json!(classes)
}

/// A command of the map, with the option for verdicts if they are shown.
pub(super) fn command(command: String, certain: bool) -> String {
    command + if certain { " --certify" } else { "" }
}

/// The argument of a call in Python that asks for verdicts, if they are shown.
pub(super) fn argument(certain: bool) -> Option<(String, String)> {
    certain.then(|| ("certify".into(), "True".into()))
}

/// Verdicts with the numbers of the map that they are about.
pub(super) fn pairs(verdicts: &[u8], numbers: impl Iterator<Item = f64>) -> Vec<[f64; 2]> {
    let verdicts = verdicts.iter().map(|verdict| f64::from(*verdict));
    verdicts.zip(numbers).map(|(v, n)| [v, n]).collect()
}

/// Computes tiles whole, whose values have verdicts, and hands those that are wanted to the server.
pub(super) fn compute(
    tiles: &[Tile],
    wanted: &[Vec<Range<usize>>],
    sink: &dyn TileSink,
    values: impl Fn(&Tile) -> Result<Vec<[f64; 2]>, Ended>,
) -> Result<(), Ended> {
    for (number, (tile, wanted)) in tiles.iter().zip(wanted).enumerate() {
        let pairs = values(tile)?;
        for range in wanted {
            let part = Values::Pairs(pairs[range.clone()].to_vec());
            sink.put(number, range.start, &part);
        }
    }
    Ok(())
}
