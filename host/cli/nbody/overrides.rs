//! Configuration files of the start and the integration of a run.

use std::path::Path;

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
