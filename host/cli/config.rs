//! Specifications in TOML files: `--config` and `--save-config`.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use trisolar::config;
use trisolar::divergence::Validated;
use trisolar::io::IoError;
use trisolar::io::atomic::{AtomicFile, write_with};
use trisolar::io::read::{self, Limit};

use super::Failure;

/// Reads a configuration file; missing keys have no value.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = read(path)?;
    config::parse_as(&text).map_err(|e| {
        let place = e
            .line
            .map_or(String::new(), |(number, line)| format!(":{number}: {line}"));
        Failure::BadInput(format!("{}{place}\n{}", path.display(), e.message))
    })
}

/// The text of a configuration file of any command.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    read::text(path, Limit::CONFIGURATION)
        .map_err(|e| Failure::value(&path.display().to_string(), "--config", &e.to_string()))
}

/// Writes the whole specification, so that [`load`] restores the same bits, and the largest allowed error.
pub(crate) fn save(path: &Path, valid: &Validated, max_error: Option<f64>) -> Result<(), Failure> {
    let mut text = config::to_text_for(valid.specification(), valid.points().map(AsRef::as_ref));
    if let Some(most) = max_error {
        text.push_str(&format!(
            "max_error = {most:?}  # share of unresolved pixels, or of values that the step changes, above which the map is a failure\n"
        ));
    }
    write(path, &text)
}

/// Writes the values of a run of `command`, given or default, so that [`load`] restores the same bits.
pub(crate) fn save_options(
    path: &Path,
    command: &str,
    values: &impl Serialize,
) -> Result<(), Failure> {
    let values = toml::Table::try_from(values)
        .map_err(|e| Failure::BadInput(format!("--save-config {}: {e}", path.display())))?;
    let mut text = format!("# trisolar {command} --config THIS_FILE\n");
    for (key, value) in values {
        text.push_str(&format!("{key} = {value}\n"));
    }
    write(path, &text)
}

/// Writes the text of a configuration file of any command.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_with(path, |file: &mut AtomicFile| -> Result<(), IoError> {
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))
    })?;
    Ok(())
}
