//! Specifications in TOML files: `--config` and `--save-config`.

use std::io::Write as _;
use std::path::Path;

use trisolar::config;
use trisolar::divergence::{Given, Validated};
use trisolar::io::IoError;
use trisolar::io::atomic::{AtomicFile, write_with};

use super::Failure;

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
    config::parse(&text).map_err(|e| {
        let place = e
            .line
            .map_or(String::new(), |(number, line)| format!(":{number}: {line}"));
        Failure::BadInput(format!("{}{place}\n{}", path.display(), e.message))
    })
}

/// Writes the whole specification, so that [`load`] gives back the same bits.
pub(crate) fn save(path: &Path, valid: &Validated) -> Result<(), Failure> {
    let text = config::to_text_for(valid.specification(), valid.points().map(AsRef::as_ref));
    write_with(path, |file: &mut AtomicFile| -> Result<(), IoError> {
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))
    })?;
    Ok(())
}
