//! `trisolar merge`: one result of the parts that commands with `--part` have computed. Parts become an unfinished run of which nothing is
//! missing, and the command that computed them, with `--resume`, makes all outputs of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use trisolar::divergence::Validated as Map;
use trisolar::encounters::{self, Validated as Encounters};
use trisolar::ensemble::{Ensemble, store};
use trisolar::equation_text::Text;
use trisolar::planets::{PlanetContents, Validated as Planets};
use trisolar::run::partial::{Contents as _, working_files};
use trisolar::run::parts::{self, Parts, PartsError};
use trisolar::run::{Outputs, Record};
use trisolar::system::{SystemContents, Validated as Items};
use trisolar::zoom::{FolderError, NAMES, PartFolders};

use super::cpu_args::CpuArgs;
use super::ensemble::{OUTPUT, OutputOptions};
use super::unfinished::refuse;
use super::{Failure, execute_words, interrupt, part};

/// Make one result of the parts that commands with --part have computed: all files that one run of the command would have written, with
/// the same bytes, where its --out says. The parts remain.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// All parts, in any order: files such as map.npy.1-of-8.part of maps, encounters and planetary systems, folders such as zoom.1-of-8 of zooms and
    /// sweeps
    #[arg(value_name = "PART", required = true)]
    parts: Vec<PathBuf>,
    #[command(flatten)]
    cpu: CpuArgs,
    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    quiet: bool,
}

/// Merges the parts.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    interrupt::watch()?;
    let first = &args.parts[0];
    let (command, name) = if first.is_dir() {
        folders(&args.parts)?
    } else {
        match parts::command_of(first)?.as_deref() {
            Some(command @ encounters::store::COMMAND) => {
                let name = merged::<Encounters, super::encounters::OutputArgs>(&args.parts)?;
                (command.into(), name)
            }
            Some(command @ PlanetContents::COMMAND) => {
                let name = merged::<Planets, super::planets::OutputArgs>(&args.parts)?;
                (command.into(), name)
            }
            Some(command @ SystemContents::COMMAND) => {
                let name = merged::<Items<Text>, super::map::OutputArgs>(&args.parts)?;
                (command.into(), name)
            }
            // All other files are refused as parts of a map.
            _ => {
                let name = merged::<Map, super::divergence::OutputArgs>(&args.parts)?;
                (trisolar::store::COMMAND.into(), name)
            }
        }
    };
    execute_words(args.finish(&command, &name))
}

impl Args {
    /// The command line that makes the outputs of the whole run.
    fn finish(&self, command: &str, name: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = command.split(' ').map(Into::into).collect();
        words.extend(["--resume".into(), name.into()]);
        if let Some(threads) = self.cpu.threads {
            words.extend(["--threads".into(), threads.to_string().into()]);
        }
        if let Some(simd) = self.cpu.simd() {
            words.extend(["--simd".into(), simd.to_string().into()]);
        }
        // The parts were computed where they were; here only the checks of a map need a CPU.
        words.extend(["--backend".into(), "cpu".into()]);
        words.extend(self.json.then(|| "--json".into()));
        words.extend(self.quiet.then(|| "--quiet".into()));
        words
    }
}

/// Makes the unfinished result of all parts of an ensemble; returns its name.
fn merged<E: Ensemble, O: OutputOptions>(files: &[PathBuf]) -> Result<PathBuf, Failure> {
    let parts = Parts::<E::Contents>::read(files)?;
    let mut output: O = parts.run.get(OUTPUT)?;
    let Some(main) = output.main().map(Path::to_owned) else {
        return Err(PartsError::refused(&files[0], "its run has no --out").into());
    };
    let mut run = Record::new(E::Contents::COMMAND, &working_files(&main)[1]);
    run.set(OUTPUT, &output)?;
    // The outputs of the whole run may replace what is there now.
    let outputs = output.files();
    run.allow_what_is_there(outputs.iter().map(|(_, path)| path.as_path()))?;
    let points = output.points().take();
    let valid = E::of_contents(&parts.contents, || part::points(points));
    let valid = valid.map_err(|e| Failure::specification(&e, true, None))?;
    store::merged(&main, &valid, &parts, Some(run))?;
    Ok(main)
}

/// Makes an unfinished sequence of the folders of its parts; returns the command and the folder.
fn folders(paths: &[PathBuf]) -> Result<(String, PathBuf), Failure> {
    let parts = PartFolders::read(paths)?;
    let mut outputs = Outputs::new();
    outputs.folder("PART", parts.whole(), NAMES);
    let _claim = outputs.claim()?;
    parts.copy().map_err(|error| match error {
        FolderError::Io(error) => error.into(),
        error => Failure::BadInput(error.to_string()),
    })?;
    Ok((parts.command().to_owned(), parts.whole().to_owned()))
}

impl From<PartsError> for Failure {
    fn from(error: PartsError) -> Self {
        match error {
            PartsError::Io(error) => error.into(),
            PartsError::Whole(error) => refuse(error),
            error => Self::BadInput(error.to_string()),
        }
    }
}
