//! Specifications in TOML files: `--config` and `--save-config`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use trisolar::divergence::{Given, Specification};
use trisolar::io::IoError;
use trisolar::io::atomic::{AtomicFile, write_with};

use super::Failure;

/// What each key means, in the order of the file.
const MEANINGS: [(&str, &str); 15] = [
    ("size", "pixels: width, height"),
    (
        "center",
        "centre of the map along the spanned axes (length)",
    ),
    ("span", "extent of the map along the spanned axes (length)"),
    ("plane", "coordinates the map spans: xy, xz or yz"),
    ("body", "which body is placed by the grid: 1, 2 or 3"),
    ("masses", "of bodies 1, 2, 3 (mass)"),
    ("positions", "of bodies 1, 2, 3: [x, y, z] (length)"),
    ("velocities", "of bodies 1, 2, 3: [x, y, z] (length / time)"),
    ("g", "gravitational constant (length^3 / mass / time^2)"),
    ("softening", "(length)"),
    ("steps", "steps after which a pixel counts as never parted"),
    ("dt", "time step (time)"),
    ("shift", "of the grid body's twin: [x, y, z] (length)"),
    (
        "critical_distance",
        "up to which the twins count as together (length)",
    ),
    (
        "precision",
        "exact: 64-bit IEEE, the same bits on every machine",
    ),
];

/// Reads a configuration file; keys that are missing stay open.
pub(crate) fn load(path: &Path) -> Result<Given, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        let reason = match e.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            std::io::ErrorKind::InvalidData => "it is not a text file".to_owned(),
            _ => e.to_string(),
        };
        Failure::BadInput(format!(
            "invalid value '{}' for '--config': cannot read it: {reason}",
            path.display()
        ))
    })?;
    toml::from_str(&text).map_err(|e| {
        let place = e.span().map_or(String::new(), |span| {
            let before = text.get(..span.start).unwrap_or(&text);
            let number = before.matches('\n').count();
            let line = text.lines().nth(number).unwrap_or_default();
            format!(":{}: {}", number + 1, line.trim())
        });
        Failure::BadInput(format!("{}{place}\n{}", path.display(), e.message()))
    })
}

/// Writes the whole specification, so that [`load`] gives back the same bits.
pub(crate) fn save(path: &Path, specification: &Specification) -> Result<(), Failure> {
    let text = to_text(specification);
    write_with(path, |file: &mut AtomicFile| -> Result<(), IoError> {
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))
    })?;
    Ok(())
}

/// The specification as TOML, a comment on each line.
fn to_text(specification: &Specification) -> String {
    let values = toml::Table::try_from(specification)
        .expect("a specification is plain numbers and names below 2^63");
    let mut text =
        String::from("# A Trisolar divergence map: trisolar divergence --config THIS_FILE\n");
    for (key, meaning) in MEANINGS {
        let value = &values[key];
        writeln!(text, "{key} = {value}  # {meaning}").expect("writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_written_and_read_back() {
        let specification = Specification::default();
        let written = toml::Table::try_from(&specification).unwrap();
        assert_eq!(written.len(), MEANINGS.len());
        let given: Given = toml::from_str(&to_text(&specification)).unwrap();
        assert_eq!(Specification::from(given), specification);
    }
}
