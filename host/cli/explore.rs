//! `trisolar explore`: the live map in the browser; and the pictures of `trisolar nbody --live` and `trisolar cluster --live`.
//!
//! The server is the package trisolar-explore. This module connects it with the library: [`maps`] and [`orbit`], and [`ensemble`] for all other systems, compute what the server
//! requests, [`declaration`] describes the parameters, and [`live`] shows runs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use trisolar_explore::{Content, Options, Server};

use trisolar::run::Refused;

use super::map_devices::MapDevices;
use super::report::{self, Common};
use super::{Failure, interrupt};

mod certainty;
mod declaration;
mod ensemble;
mod equations;
pub(super) mod live;
mod maps;
mod orbit;
mod outcomes;
mod planets;
mod requests;

/// Show maps in the browser: pan, zoom down to the resolution of 64-bit numbers, change every parameter, and see the orbit of a
/// pixel. The program contains everything that the page needs.
#[derive(Debug, clap::Args)]
#[command(
    about = "Show maps and orbits in the browser",
    after_help = "On another machine: ssh -L 8000:127.0.0.1:8000 HOST trisolar explore --port 8000, and open the whole link that it prints.\n\
                  Ctrl-C ends the server."
)]
pub(crate) struct Args {
    #[command(flatten)]
    serve: ServeArgs,
    /// Keep tiles in this folder for later sessions
    #[arg(long, value_name = "DIR", help_heading = "Cache")]
    cache: Option<PathBuf>,
    /// Largest size of the folder in MiB; the least recently used tiles are removed first
    #[arg(long, value_name = "MIB", help_heading = "Cache", default_value = "4096", allow_hyphen_values = true, value_parser = mebibytes, requires = "cache")]
    cache_size: u64,
    /// Largest size of the tiles in memory in MiB
    #[arg(long, value_name = "MIB", help_heading = "Cache", default_value = "256", allow_hyphen_values = true, value_parser = mebibytes)]
    memory: u64,

    #[command(flatten)]
    devices: MapDevices,

    /// Print one JSON object, whose key `link` is the address of the page, instead of the link
    #[arg(long, help_heading = "Report")]
    json: bool,
}

/// The address and port of the page.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Page")]
pub(super) struct ServeArgs {
    /// Port of the page [default: a free one]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true, allow_hyphen_values = true, value_parser = port)]
    port: u16,
    /// Address to listen on. An address other than a loopback address lets other machines connect. The link contains a token in
    /// any case, and requests for data without it are refused
    #[arg(long, value_name = "ADDRESS", default_value_t = Ipv4Addr::LOCALHOST.into(), allow_hyphen_values = true, value_parser = address)]
    bind: IpAddr,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

fn port(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| "must be a whole number from 0 (a free port) to 65535".into())
}

fn address(text: &str) -> Result<IpAddr, String> {
    text.parse()
        .map_err(|_| "must be an IP address, such as 127.0.0.1, 0.0.0.0 or ::1".into())
}

/// Largest number of MiB that can be given: the bytes fit into a signed 64-bit number.
const MAX_MIB: u64 = 1 << 43;

fn mebibytes(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|n| (1..=MAX_MIB).contains(n));
    number.ok_or_else(|| format!("must be a whole number of MiB from 1 to {MAX_MIB}"))
}

impl ServeArgs {
    /// One of these options with a value other than its default.
    fn given(self) -> Option<&'static str> {
        let away = self.bind != IpAddr::from(Ipv4Addr::LOCALHOST);
        [
            ("--port", self.port != 0),
            ("--bind", away),
            ("--open", self.open),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }

    /// Serves the page, and prints its link.
    pub(super) fn serve(&self, options: Options, content: Content) -> Result<Server, Failure> {
        let options = Options {
            bind: self.bind,
            port: self.port,
            ..options
        };
        let place = SocketAddr::from((self.bind, self.port));
        let server = Server::start(&options, content).map_err(|error| match &options.cache {
            Some((path, _)) if error.kind() != std::io::ErrorKind::AddrInUse => {
                Failure::Failed(format!(
                    "cannot serve at {place} with tiles in {}: {error}",
                    path.display()
                ))
            }
            _ => Failure::Failed(format!("cannot serve at {place}: {error}")),
        })?;
        if self.open {
            open(&server.link_to_open());
        }
        Ok(server)
    }
}

/// Opens a link in the browser. A missing browser is not a failure, because the link has been printed.
fn open(link: &str) {
    let (program, arguments) = trisolar::io::system::browser();
    let started = std::process::Command::new(program)
        .args(arguments)
        .arg(link)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    match started {
        Ok(mut child) => drop(std::thread::spawn(move || {
            if !child.wait().is_ok_and(|status| status.success()) {
                report::to_stderr(&format!("warning: {program} could not open the link"));
            }
        })),
        Err(error) => report::to_stderr(&format!("warning: cannot start {program}: {error}")),
    }
}

/// Serves until Ctrl-C.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let begin = Instant::now();
    interrupt::watch()?;
    if let Some(path) = &args.cache {
        std::fs::create_dir_all(path)
            .map_err(|e| Refused::new("--cache", path, format!("cannot create it: {e}")))?;
    }
    let maps = Arc::new(maps::Maps::new(args.devices.options())?);
    let server = args.serve.serve(
        Options {
            cache: args.cache.clone().map(|path| (path, args.cache_size << 20)),
            memory: usize::try_from(args.memory << 20).unwrap_or(usize::MAX),
            ..Options::default()
        },
        Content {
            engine: Some(maps.clone()),
            live: None,
        },
    )?;
    if args.json {
        let common = Common {
            devices: report::device(&maps.device()),
            seconds: begin.elapsed().as_secs_f64(),
            ..Common::default()
        };
        report::json(&common.with(json!({ "link": server.link() })))?;
    } else {
        report::to_stdout(&format!(
            "{}\n{}; Ctrl-C ends",
            server.link(),
            maps.device()
        ))?;
    }
    maps.warm_up();
    while !interrupt::interrupted() {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(server);
    Err(Failure::Ended)
}
