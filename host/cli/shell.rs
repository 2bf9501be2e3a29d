//! `trisolar completions` and `trisolar man`: what shells and `man` know about the commands.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;
use trisolar::io::atomic::write_with;
use trisolar::run::{Names, Outputs};

use super::Failure;
use super::report;

/// Options of `trisolar completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionArgs {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

/// Options of `trisolar man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Folder for the pages: trisolar.1 and one for each command
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Prints the completions of a shell for the whole command line.
pub(crate) fn completions(args: &CompletionArgs, mut command: Command) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "trisolar", &mut text);
    let text = String::from_utf8(text).map_err(|e| Failure::Failed(e.to_string()))?;
    report::to_stdout(text.trim_end())
}

/// Writes a manual page for each command of the whole command line.
pub(crate) fn man(args: &ManArgs, command: Command) -> Result<(), Failure> {
    const PAGES: Names = Names {
        what: "manual pages",
        owns: |name| {
            let name = name.to_string_lossy();
            name.starts_with("trisolar") && name.ends_with(".1")
        },
        parents: true,
        keeps_older: true,
    };
    let mut outputs = Outputs::new();
    outputs.folder("FOLDER", &args.folder, PAGES);
    let _claim = outputs.claim()?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    page(&args.folder, "trisolar", &command)
}

/// Writes the page of a command, and those of its subcommands.
fn page(folder: &Path, name: &str, command: &Command) -> Result<(), Failure> {
    let mut text = Vec::new();
    // clap keeps static names only, without a feature that would make all names owned.
    let named = command.clone().name(name.to_owned().leak() as &str);
    clap_mangen::Man::new(named)
        .render(&mut text)
        .map_err(|e| Failure::Failed(format!("the page of {name}: {e}")))?;
    write_with(folder.join(format!("{name}.1")), |file| {
        file.write_all(&text).map_err(|e| file.error(e))
    })?;
    for inner in command.get_subcommands() {
        page(folder, &format!("{name}-{}", inner.get_name()), inner)?;
    }
    Ok(())
}
