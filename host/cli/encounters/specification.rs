//! The specification of ensembles, from the command line, a configuration file and a resumed computation.

use std::path::Path;

use trisolar::bodies::Points;
use trisolar::encounters::{Overrides, Validated};
use trisolar::spec::{Parameters as _, SpecError};

use crate::Failure;

/// The validated specification and the largest allowed energy error. The command line (`own`) overrides the configuration file, which
/// overrides `under` (a resumed computation) or the defaults. The start states are those of `points`, if there are any.
pub(super) fn validated(
    own: &Overrides,
    config: Option<&Path>,
    under: Option<&Overrides>,
    points: Option<&Path>,
) -> Result<(Validated, Option<f64>), Failure> {
    let mut overrides = own.clone();
    if let Some(path) = config {
        overrides = overrides.merged_over(crate::config::load(path)?);
    }
    if let Some(under) = under {
        overrides = overrides.merged_over(under.clone());
    }
    let points = match points {
        None => None,
        Some(path) => Some(Points::read(path).map_err(Failure::BadInput)?),
    };
    let refused = |e: SpecError| {
        let on_command_line = own.has(e.option) || e.option == "points";
        Failure::specification(&e, on_command_line, config)
    };
    let valid = overrides.validated(points.as_ref()).map_err(refused)?;
    Ok((valid, overrides.max_error))
}

/// Writes a specification to a file for `--config`.
pub(super) fn write_config(path: &Path, values: Overrides) -> Result<(), Failure> {
    let text = values
        .to_toml()
        .map_err(|reason| Failure::value(&path.display().to_string(), "--save-config", &reason))?;
    crate::config::write(path, &text)
}
