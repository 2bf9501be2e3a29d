//! Real numbers in JSON, which has no NaN: `#[serde(with = "null_is_nan")]` writes null for what is not finite, and reads NaN.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes a number, or null.
///
/// # Errors
/// The errors of the serializer.
pub fn serialize<S: Serializer>(x: &f64, s: S) -> Result<S::Ok, S::Error> {
    Some(*x).filter(|x| x.is_finite()).serialize(s)
}

/// Reads a number, or null.
///
/// # Errors
/// The errors of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or(f64::NAN))
}
