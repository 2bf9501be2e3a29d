//! Configuration files of what a run starts from and how it is integrated.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use trisolar::io::IoError;
use trisolar::io::atomic::{AtomicFile, write_with};
use trisolar::nbody::Overrides;

use super::super::{Failure, config};

/// Reads a configuration file.
pub(super) fn load(path: &Path) -> Result<Overrides, Failure> {
    let text = config::read(path)?;
    toml::from_str(&text).map_err(|e| {
        let before = e
            .span()
            .map_or("", |span| text.get(..span.start).unwrap_or(""));
        let line = before.matches('\n').count() + 1;
        Failure::BadInput(format!("{}:{line}: {}", path.display(), e.message()))
    })
}

/// Writes one, so that [`load`] gives back the same bits.
pub(super) fn save(overrides: &Overrides, path: &Path) -> Result<(), Failure> {
    let values = toml::Table::try_from(overrides)
        .map_err(|e| Failure::BadInput(format!("--save-config {}: {e}", path.display())))?;
    let mut text = String::from("# A Trisolar N-body run: trisolar nbody --config THIS_FILE\n");
    for (key, value) in values {
        let _ = writeln!(text, "{key} = {value}");
    }
    write_with(path, |file: &mut AtomicFile| -> Result<(), IoError> {
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))
    })?;
    Ok(())
}
