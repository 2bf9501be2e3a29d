//! The options that `trisolar zoom` and `trisolar sweep` have in common: sequences of maps.

use std::path::Path;

use serde_json::{Value, json};
use trisolar::divergence::{Center, Overrides, Resolution, Specification, Validated, differences};
use trisolar::io::colour::ColourMap;
use trisolar::run::RunOptions;
use trisolar::spec::{Parameters as _, SpecError};
use trisolar::zoom::{self, Colours, Frame, Outcome, Summary};

use super::map_devices::MapDevices;
use super::parameters::ParameterArgs;
use super::sequence::{FolderArgs, RunArgs, SequenceOptions, all_warnings};
use super::{Failure, config, divergence};

/// Options of a sequence of maps.
#[derive(Debug, clap::Args)]
pub(crate) struct SequenceArgs {
    #[command(flatten)]
    specification: ParameterArgs<Overrides>,
    #[command(flatten)]
    folder: FolderArgs,

    /// Write all maps as one Zarr store as well, maps.zarr.zip in the folder, for xarray: the array over the parameters that vary, or over the
    /// frames, with coordinates, units and specification. A folder that has it keeps it up to date
    #[arg(long, help_heading = "Files")]
    pub(crate) zarr: bool,

    /// Colours of the pictures: inferno, viridis, magma, plasma, cividis, grey or turbo
    #[arg(long, value_name = "NAME", help_heading = "Picture", default_value_t = ColourMap::Inferno)]
    colormap: ColourMap,
    /// Meaning of the colours. share: the share of the frame's steps that was left when the twins parted, on the same scale in
    /// every frame. steps: the number of steps left, on a scale up to the largest number of steps of any frame. frame: the number
    /// of steps left, in each frame from its lowest to its highest value. Quantities other than divergence, whose values are not
    /// steps, can only be drawn with frame [default: share; frame for other quantities than divergence]
    #[arg(long, value_name = "NAME", help_heading = "Picture")]
    colours: Option<Colours>,

    #[command(flatten)]
    devices: MapDevices,
    /// Maps computed at a time, 1 to 64, so that no device waits for the last pixels or the picture of a map [default: 4; under
    /// mpirun the number of ranks, from 4 to 16]
    #[arg(long, value_name = "N", help_heading = "Computation", value_parser = in_flight)]
    in_flight: Option<usize>,
    #[command(flatten)]
    run: RunArgs,
}

fn in_flight(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=64) => Ok(n),
        _ => Err("must be a whole number from 1 to 64".into()),
    }
}

impl SequenceOptions for SequenceArgs {
    type Of = Validated;
    type Base = Specification;

    const ITEMS: &'static str = "maps";
    const STEPS: &'static str = "pixel-steps";
    const RATE_UNIT: &'static str = "pixel-steps/s";
    const OF_SPECIFICATION: &'static [&'static str] = &["Specification", "max_error"];
    const IN_TURN: bool = true;
    const WARNS_IN_SUMMARY: bool = true;

    fn folder(&self) -> &FolderArgs {
        &self.folder
    }

    fn run_args(&self) -> &RunArgs {
        &self.run
    }

    fn devices(&self) -> RunOptions {
        self.devices.options()
    }

    fn in_flight(&self, processes: usize) -> usize {
        self.in_flight.unwrap_or(processes.clamp(4, 16))
    }

    fn differences(there: &Specification, here: &Specification) -> Vec<String> {
        let all = differences(there, here);
        Vec::from_iter((!all.is_empty()).then_some(all))
    }

    fn save_config(
        &self,
        path: &Path,
        base: &Specification,
        most: Option<f64>,
    ) -> Result<(), Failure> {
        let valid = base.clone().validate_at_depth();
        let valid = valid.map_err(|e| self.refused(&e))?;
        config::save(path, &valid, most)
    }

    fn specification(frame: &Frame) -> Value {
        json!(frame.specification.specification())
    }

    fn known_warnings(frames: &[Frame]) -> Vec<String> {
        zoom::warnings(frames)
    }

    fn found_warnings(outcome: &Outcome) -> Vec<String> {
        Vec::from_iter(unresolved(outcome))
    }

    /// What helps if nothing parted.
    fn advice(frames: &[Frame], outcome: &Outcome) -> Option<String> {
        let maps = zoom::maps_without_parting(&outcome.summaries)?;
        let quiet = all_warnings::<Self>(frames, outcome).is_empty();
        Some(divergence::more_steps(&format!(" in {maps}"), quiet))
    }

    fn errors(outcome: &Outcome) -> Value {
        let shares = outcome.summaries.iter().map(|s| s.unresolved.share);
        json!({ "unresolved": shares.reduce(f64::max) })
    }

    fn check(summary: &Summary, most: Option<f64>) -> Result<(), String> {
        Resolution::check(Some(summary.unresolved), most)
    }
}

impl SequenceArgs {
    /// The base of every map and the largest allowed share of unresolved pixels: the command line overrides the configuration file, which
    /// overrides `center`, which overrides the defaults. It is checked as a map of its own, so that messages name the options of bad values.
    /// With `under`, the base of a resumed sequence, the options override that.
    pub(crate) fn base(
        &self,
        under: Option<&Specification>,
        center: Option<Center>,
    ) -> Result<(Specification, Option<f64>), Failure> {
        let mut overrides = self.specification.values.clone();
        if let Some(path) = &self.folder.config {
            overrides = overrides.merged_over(config::load(path)?);
        }
        let refused = |error: SpecError| self.refused(&error);
        let most = overrides.checked_max_error().map_err(refused)?;
        if let Some(under) = under {
            return Ok((overrides.merged_over(under.into()).into(), most));
        }
        overrides.center = overrides.center.or(center);
        let base = Specification::from(overrides);
        base.clone().validate_at_depth().map_err(refused)?;
        Ok((base, most))
    }

    fn refused(&self, error: &SpecError) -> Failure {
        let config = self.folder.config.as_deref();
        Failure::specification(error, self.specification.values.has(error.option), config)
    }

    /// The appearance of pictures of these maps.
    pub(crate) fn look(&self, of: &Specification) -> Result<(ColourMap, Colours), Failure> {
        let colours = self.colours.unwrap_or(Colours::usual(of.quantity));
        colours
            .check(of.quantity)
            .map_err(|allowed| Failure::value(colours.name(), "--colours", &allowed))?;
        Ok((self.colormap, colours))
    }
}

/// The warning about maps whose steps are too long.
fn unresolved(outcome: &Outcome) -> Option<String> {
    let found = outcome.summaries.iter().map(|s| (s.frame, s.unresolved));
    let large: Vec<_> = found.filter(|(_, r)| r.warning().is_some()).collect();
    let (frame, worst) = large
        .iter()
        .max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
    let (count, all) = (large.len(), outcome.summaries.len());
    Some(format!(
        "in {count} of {all} maps, most in frame {frame}: {}",
        worst.warning()?
    ))
}
