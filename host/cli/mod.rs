//! Parses the command line, calls the library and reports: one file per subcommand, and their common parts.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use trisolar::io::older::Replaced;

mod atlas;
mod bench;
mod cluster;
mod compare;
mod config;
mod cpu_args;
mod devices;
mod divergence;
mod draw;
mod encounters;
mod ensemble;
mod ensemble_devices;
#[cfg(feature = "explore")]
mod explore;
#[cfg(not(feature = "explore"))]
#[path = "without_explorer.rs"]
mod explore;
mod failure;
mod films;
mod guesses;
mod help;
mod interrupt;
mod map;
mod map_devices;
mod map_sequence;
mod merge;
mod nbody;
mod new;
mod parameters;
mod part;
mod planets;
mod progress;
mod ranks;
mod record_sequence;
mod record_sequences;
mod record_sweep;
mod record_zoom;
mod records;
mod report;
mod resume;
mod selftest;
mod sequence;
mod shell;
mod sweep;
mod time_run;
mod unfinished;
mod values;
mod zoom;

pub(crate) use failure::Failure;

use resume::Typed;

/// Gravitational dynamics on CPUs and GPUs from one Rust source.
#[derive(Debug, Parser)]
#[command(
    name = "trisolar",
    version,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "Exit codes: 0 success, 1 failure, 2 bad input, 130 after Ctrl-C.",
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compute a three-body divergence map
    Divergence(Box<divergence::Args>),
    /// Compute a zoom: a sequence of maps towards a point
    Zoom(Box<zoom::Args>),
    /// Compute a map for each value of a parameter
    Sweep(Box<sweep::Args>),
    /// Compare precision modes or integrators on one map
    Compare(Box<compare::Args>),
    /// Integrate a star cluster with individual block time steps
    Cluster(Box<cluster::Args>),
    /// Integrate bodies that all attract each other
    Nbody(Box<nbody::Args>),
    /// Integrate three-body encounters to their end: which body escapes, when and how fast
    Encounters(Box<encounters::Args>),
    /// Follow planetary systems: which are stable, chaotic, or lose a planet
    Planets(Box<planets::Args>),
    /// Compute maps of equations that are given as text: where they are chaotic, and where their trajectories end
    Map(Box<map::Args>),
    /// Draw a result again, with another look
    Draw(Box<draw::Args>),
    /// Analyse a map of outcomes: shares, entropies, exponents and the boundaries of its basins
    Atlas(Box<atlas::Args>),
    /// Make the folder of a program for differential equations or an iterated map of your own
    New(new::Args),
    /// Make one result of the parts that commands with --part have computed
    Merge(merge::Args),
    /// Show maps and orbits in the browser
    #[cfg(feature = "explore")]
    Explore(Box<explore::Args>),
    /// List the GPUs and the features of the CPU
    Devices(devices::Args),
    /// Check every kernel and engine of this machine against each other, bit for bit
    Selftest(selftest::Args),
    /// Measure the speed of this machine
    Bench(bench::Args),
    /// Print the completions of a shell
    Completions(shell::CompletionArgs),
    /// Write manual pages
    Man(shell::ManArgs),
}

/// The command line as clap knows it.
pub(crate) fn command() -> clap::Command {
    guesses::accepted(help::complete(Cli::command()))
}

/// A command line, given as words after the program's name, and the options of the subcommand that the user typed.
fn parse(words: Vec<OsString>) -> Result<(Cli, Typed), clap::Error> {
    let mut command = command();
    let told: Vec<String> = words.iter().map(|w| w.to_string_lossy().into()).collect();
    let line = std::iter::once("trisolar".into()).chain(words);
    let matches = command.clone().try_get_matches_from(line);
    let matches = matches.map_err(|error| guesses::answered(error, &told))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))?;
    let typed = Typed::of(&command, &matches);
    Ok((cli, typed))
}

/// Runs a command line, given as words after the program's name.
fn execute_words(words: Vec<OsString>) -> Result<(), Failure> {
    let (cli, typed) = parse(words).map_err(|e| Failure::BadInput(e.to_string()))?;
    execute(cli.command, &typed)
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let (cli, typed) = match parse(std::env::args_os().skip(1).collect()) {
        Ok(parsed) => parsed,
        Err(message) => {
            let mut printed = Ok(());
            ranks::once(|| printed = report::printed(message.print()));
            return match printed {
                // Help and version, which go to stdout.
                Err(failure) if !message.use_stderr() => ended(&failure),
                _ => ExitCode::from(message.exit_code() as u8),
            };
        }
    };
    trisolar::gpu::on_compiling(report::to_stderr);
    let result = execute(cli.command, &typed);
    say_what_was_replaced(&typed);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ended(&failure),
    }
}

/// Says why the command failed.
fn ended(failure: &Failure) -> ExitCode {
    failure.say();
    ExitCode::from(failure.exit_code())
}

/// Says which older files the run has kept.
fn say_what_was_replaced(typed: &Typed) {
    let replaced = trisolar::io::older::replaced();
    if typed.has("quiet") {
        return;
    }
    for Replaced { path, kept } in replaced {
        let [path, kept] = [path, kept].map(|path| path.display().to_string());
        report::to_stderr(&format!(
            "note: {path} was there already and is replaced; the older file is kept as {kept}"
        ));
    }
}

/// Runs a command with the options that the user typed.
fn execute(chosen: Command, typed: &Typed) -> Result<(), Failure> {
    match chosen {
        Command::Divergence(args) => divergence::run(*args, typed),
        Command::Zoom(args) => zoom::run(&args, typed),
        Command::Sweep(args) => sweep::run(&args, typed),
        Command::Compare(args) => ranks::refuse("compare").and_then(|()| compare::run(&args)),
        Command::Cluster(args) => cluster::run(*args, typed),
        Command::Nbody(args) => nbody::run(*args, typed),
        Command::Encounters(args) => encounters::run(&args, typed),
        Command::Planets(args) => planets::run(&args, typed),
        Command::Map(args) => map::run(&args, typed),
        #[cfg(feature = "explore")]
        Command::Explore(args) => ranks::refuse("explore").and_then(|()| explore::run(&args)),
        Command::Devices(args) => devices::run(&args),
        Command::Selftest(args) => selftest::run(&args),
        Command::Completions(args) => {
            ranks::refuse("completions").and_then(|()| shell::completions(&args, command()))
        }
        Command::Man(args) => ranks::refuse("man").and_then(|()| shell::man(&args, command())),
        Command::Bench(args) => ranks::refuse("bench").and_then(|()| bench::run(&args)),
        Command::Draw(args) => ranks::refuse("draw").and_then(|()| draw::run(&args)),
        Command::Atlas(args) => ranks::refuse("atlas").and_then(|()| atlas::run(&args)),
        Command::New(args) => ranks::refuse("new").and_then(|()| new::run(&args)),
        Command::Merge(args) => ranks::refuse("merge").and_then(|()| merge::run(&args)),
    }
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;
    use clap::error::ErrorKind;

    use super::{command, help};

    /// Checks the examples in the help of a command and of those below it.
    fn check(inner: &clap::Command, words: &str) {
        let examples = help::of(words).unwrap_or_else(|| panic!("{words} has no examples"));
        let long = inner.clone().render_long_help().to_string();
        let short = inner.clone().render_help().to_string();
        for (example, _) in examples {
            let start = format!("trisolar {words}");
            assert!(example.starts_with(&start), "{example} is under {words}");
            for help in [&short, &long] {
                let listed = help.split("Examples:").nth(1).unwrap_or_default();
                assert!(listed.contains(example), "{example}: {help}");
            }
            let line = example.split(" > ").next().unwrap_or_default();
            // What a machine lacks is no fault of the example.
            let line = line.replace("--simd avx2", "--simd scalar");
            let read = command().try_get_matches_from(words_of(&line));
            assert!(read.is_ok(), "{example}: {}", read.unwrap_err());
        }
        for below in inner.get_subcommands() {
            check(below, &format!("{words} {}", below.get_name()));
        }
    }

    /// The words of a command as a shell reads them: those in quotation marks may hold spaces and the other mark.
    fn words_of(line: &str) -> Vec<String> {
        let (mut words, mut mark) = (vec![String::new()], None);
        for c in line.chars() {
            match (mark, c) {
                (None, '"' | '\'') => mark = Some(c),
                (None, ' ') => words.push(String::new()),
                (Some(open), c) if c == open => mark = None,
                (_, c) => words.last_mut().expect("a word").push(c),
            }
        }
        words
    }

    /// Gives each option of one value, and each flag, twice; returns those for which no value here is valid.
    fn given_twice(inner: &clap::Command, words: &[&str]) -> Vec<String> {
        const VALUES: &[&str] = &[
            "1",
            "0.5",
            "10",
            "1,1",
            "1e-3,1",
            "1,1,1",
            "0,0,0,0,0,0",
            "cpu",
            "auto",
            "png",
            "dark",
            "up",
            "f64",
            "none",
            "share",
            "plain",
            "xy",
            "x=1:2",
            "1/2",
            "a.toml",
            "a.npz",
            "leapfrog",
            "divergence",
            "document",
            "euler",
            "127.0.0.1",
            "time",
            "accurate",
            "0,0,0,1,1,1,2,2,2",
            "0,0,0,1,1,1",
            "study",
            "inferno",
            "linear",
            "scalar",
            "plummer",
            "4",
            "2",
            "300x200",
            "burrau",
            "svg",
            "megno",
            "trappist-1",
            "full",
            "hybrid",
            "dkd",
            "heliocentric",
            "au,yr,msun",
        ];
        let mut unknown = Vec::new();
        for option in inner.get_arguments() {
            let Some(name) = option.get_long().map(|long| format!("--{long}")) else {
                continue;
            };
            let values = match option.get_action() {
                ArgAction::SetTrue => vec![None],
                ArgAction::Set => VALUES.iter().map(|value| Some(*value)).collect(),
                _ => continue,
            };
            let said = values.into_iter().find_map(|value| {
                let once = [Some(&*name), value].into_iter().flatten();
                let twice = once.clone().chain(once);
                let line = std::iter::once(inner.get_name()).chain(twice);
                let read = inner.clone().try_get_matches_from(line);
                match read.map_err(|error| error.kind()) {
                    Err(ErrorKind::ValueValidation | ErrorKind::InvalidValue) => None,
                    read => Some(read.err()),
                }
            });
            match said {
                Some(said) => {
                    assert_eq!(said, Some(ErrorKind::ArgumentConflict), "{words:?} {name}")
                }
                None => unknown.push(format!("{words:?} {name}")),
            }
        }
        for below in inner.get_subcommands() {
            unknown.extend(given_twice(below, &[words, &[below.get_name()]].concat()));
        }
        unknown
    }

    #[test]
    fn an_option_of_one_value_that_is_given_twice_is_refused() {
        let mut unknown = Vec::new();
        let mut command = command();
        // Options of all commands are passed on to them here.
        command.build();
        for inner in command.get_subcommands() {
            unknown.extend(given_twice(inner, &[inner.get_name()]));
        }
        assert!(unknown.len() < 20, "{unknown:?}");
    }

    #[test]
    fn every_command_has_examples_and_every_example_can_be_read() {
        for inner in command().get_subcommands() {
            check(inner, inner.get_name());
        }
    }
}
