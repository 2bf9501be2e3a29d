//! The compiled half of the Python package `trisolar`: specifications, runs and maps. What users call is in
//! `package/trisolar`, which adds NumPy, pictures and progress bars.

use pyo3::prelude::*;

mod array;
mod atlas;
mod cluster;
mod encounters;
mod equations;
mod errors;
mod map;
mod nbody;
mod planets;
mod specification;
mod stream;
mod time_run;
mod values;
mod watch;

/// The compiled half of Trisolar; use the package `trisolar`.
#[pymodule]
mod _trisolar {
    #[pymodule_export]
    use super::array::Array;
    #[pymodule_export]
    use super::atlas::atlas_json;
    #[pymodule_export]
    use super::cluster::{ClusterProblem, ClusterState, lagrange_fractions};
    #[pymodule_export]
    use super::encounters::{
        EncountersFound, EncountersProblem, encounter_outcomes, encounters_sweep_frames,
        encounters_zoom_frames,
    };
    #[pymodule_export]
    use super::equations::{EquationsFound, EquationsProblem, equations_values, program_files};
    #[pymodule_export]
    use super::map::Map;
    #[pymodule_export]
    use super::nbody::{NbodyProblem, NbodyState, energy_error, nbody_diagnostics};
    #[pymodule_export]
    use super::planets::{PlanetsFound, PlanetsProblem, planet_outcomes};
    #[pymodule_export]
    use super::specification::{
        Options, Specification, ZoomCache, cpu_warning, sweep_frames, zoom_frames,
    };
    #[pymodule_export]
    use super::time_run::Running;
    use super::*;
    use pyo3::exceptions::PyValueError;
    use trisolar::io::read::{self, Limit};
    use trisolar::spec::{Declaration, Parameters};
    use trisolar::{divergence, encounters, hermite, nbody, planets, system};

    /// The version of the library.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The text of a configuration file, as `--config` reads it.
    #[pyfunction]
    fn configuration_text(path: std::path::PathBuf) -> PyResult<String> {
        read::text(&path, Limit::CONFIGURATION).map_err(|e| super::errors::file(&e))
    }

    /// Names of the parameters of a system.
    #[pyfunction]
    fn parameters(system: &str) -> PyResult<Vec<&'static str>> {
        let declarations: &[Declaration] = match system {
            "cluster" => hermite::Overrides::DECLARATIONS,
            "equations" => system::Overrides::DECLARATIONS,
            "divergence" => divergence::Overrides::DECLARATIONS,
            "encounters" => encounters::Overrides::DECLARATIONS,
            "nbody" => nbody::Overrides::DECLARATIONS,
            "planets" => planets::Overrides::DECLARATIONS,
            _ => return Err(PyValueError::new_err(format!("there is no {system}"))),
        };
        Ok(declarations
            .iter()
            .map(|parameter| parameter.name)
            .collect())
    }

    /// A message of the command line with the names that options have in Python.
    #[pyfunction]
    fn in_python(message: &str) -> String {
        super::errors::in_python(message)
    }

    /// The devices of this machine as JSON, as `trisolar devices --json` prints them beside the keys of all reports.
    #[pyfunction]
    fn devices_json(py: Python<'_>) -> String {
        py.detach(|| trisolar::machine::inventory().to_string())
    }
}
