//! The program of a system: from arguments to files.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};
use trisolar_device::{devices, open};
use trisolar_ensemble::{
    Computed, CpuEngine, Devices, Engine, Ensemble as _, Executor as _, GpuEngine as _, Repeated,
    Report, Task, compute, store,
};
use trisolar_equations::{Column, Exported, Method};
use trisolar_io::atomic::{check_writable, write_with};
use trisolar_run::partial::Contents as _;
use trisolar_run::partial::working_files;
use trisolar_run::{Backend, MapBackend, Monitor, Record, RunOptions, Unattended, threads};
use trisolar_simd::Simd;
use trisolar_spec::{Choice, Declaration, Parameter, Parameters as _, SpecError, parameters, read};

use crate::ensemble::SystemContents;
use crate::files::{self, Format};
use crate::spec::name_of;
use crate::table::Table;
use crate::{
    About, Compiled, DeviceEngine, Equations, Orbit, Overrides, Specification, Summary, Validated,
    words,
};

/// The program of a system in Rust, for its `main`.
pub fn main<S: Exported>() -> ExitCode {
    run(Compiled::of::<S>(), std::env::args_os().skip(1))
}

/// Why a command has ended.
enum Failure {
    /// The input is wrong: exit code 2.
    BadInput(String),
    /// Something else: exit code 1.
    Failed(String),
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Self::BadInput(error.to_string())
    }
}

/// Any other error is a failure.
fn failed(error: impl Display) -> Failure {
    Failure::Failed(error.to_string())
}

/// Runs the program of a system with these arguments, and returns its exit code.
pub fn run<Q: Equations>(equations: Q, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let ended = Command::read(arguments).and_then(|command| command.run(equations));
    match ended {
        Ok(text) => {
            // A closed pipe is the reader's choice.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(Failure::BadInput(reason)) => {
            eprintln!("error: {reason}\nhint: help lists all options");
            ExitCode::from(2)
        }
        Err(Failure::Failed(reason)) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    /// The devices.
    fn run(&self) -> Result<RunOptions, Failure> {
        fn parsed<T>(
            option: &str,
            given: Option<&String>,
            read: impl Fn(&str) -> Result<T, String>,
        ) -> Result<Option<T>, Failure> {
            let read = |text: &String| read(text).map_err(|e| refused(option, text, e));
            given.map(read).transpose()
        }
        let backend: MapBackend =
            parsed("backend", self.backend.as_ref(), read::parsed)?.unwrap_or_default();
        let options = RunOptions {
            backend: backend.backend,
            with_cpu: backend.with_cpu,
            gpus: parsed("gpus", self.gpus.as_ref(), read::parsed)?.unwrap_or_default(),
            threads: parsed("threads", self.threads.as_ref(), threads)?,
            simd: parsed("simd", self.simd.as_ref(), read::parsed)?,
        };
        options
            .check()
            .map_err(|e| Failure::BadInput(e.to_string()))?;
        Ok(options)
    }
}

/// The heading of options that this program's equations replace.
const TEXT: &str = "Equations";

/// What the program can do.
const COMMANDS: [(&str, &str); 6] = [
    ("map", "follow all items: a map if there are axes"),
    (
        "draw",
        "draw the map of an .npz file, which was computed before",
    ),
    (
        "orbit",
        "print or write the states of one item at equal times",
    ),
    ("bench", "time the engines of this machine"),
    (
        "selftest",
        "compare the bits of all engines, with all integrators",
    ),
    ("help", "this text"),
];

parameters! {
    /// Options of the program that are not those of the items.
    struct Options {
        "Outputs" {
            /// File: .npz (an array for each value), .npy (the first value), .png, .svg or .pdf (a map of the first value); of orbit .csv or .npy;
            /// can be repeated
            out: Vec<PathBuf> = "FILE";
            /// The .npz file of draw
            from: Option<PathBuf> = "FILE";
            /// Number of equal times of an orbit
            samples: Option<u64> = "N" => |text| read::whole(text, 1..=1 << 32), default "1000";
        }
        "Devices" {
            /// Where items are computed: auto, cpu, gpu or gpu+cpu
            backend: Option<String> = "NAME" => read::parsed, default "auto";
            /// How many GPUs compute, or all
            gpus: Option<String> = "N" => read::parsed;
            /// Threads of the CPU
            threads: Option<String> = "N" => read::parsed, default "all";
            /// Instruction set of the CPU
            simd: Option<String> = "NAME" => read::parsed, default "the fastest";
        }
    }
}

/// A command with its options.
struct Command {
    name: &'static str,
    values: Overrides,
    options: Options,
    resume: bool,
    json: bool,
    run: RunOptions,
}

/// An option that is not allowed.
fn refused(option: &str, given: impl Display, allowed: impl Display) -> Failure {
    Failure::BadInput(format!("--{option} {given}: {allowed}"))
}

impl Command {
    fn read(mut arguments: impl Iterator<Item = OsString>) -> Result<Self, Failure> {
        let name = arguments.next().unwrap_or_else(|| "help".into());
        let name = match name.to_str() {
            Some("-h" | "--help") => "help",
            _ => {
                let known = COMMANDS.iter().find(|(known, _)| name == *known);
                let all = COMMANDS.map(|(name, _)| name).join(", ");
                let refuse = || format!("{}: the commands are {all}", name.display());
                known.ok_or_else(|| Failure::BadInput(refuse()))?.0
            }
        };
        let mut command = Self {
            name,
            values: Overrides::default(),
            options: Options::default(),
            resume: false,
            json: false,
            run: RunOptions::default(),
        };
        while let Some(argument) = arguments.next() {
            let unknown = || {
                let shown = argument.display();
                Failure::BadInput(format!("{shown}: there is no such option"))
            };
            let text = argument.to_str().ok_or_else(unknown)?;
            match text {
                "--resume" => command.resume = true,
                "--json" => command.json = true,
                "-h" | "--help" => command.name = "help",
                _ => {
                    let option = text.strip_prefix("--").ok_or_else(unknown)?;
                    let (option, value) = match option.split_once('=') {
                        Some((option, value)) => (option, Some(value.into())),
                        None => (option, arguments.next()),
                    };
                    let known = |d: &Declaration| d.option() == option;
                    let all = [Overrides::DECLARATIONS, Options::DECLARATIONS];
                    if !all.concat().iter().any(|d| known(d) && d.heading != TEXT) {
                        return Err(unknown());
                    }
                    let value = value.ok_or_else(|| {
                        Failure::BadInput(format!("--{option}: a value must follow"))
                    })?;
                    let refuse = |allowed| refused(option, value.display(), allowed);
                    command.values.put_text(option, &value).map_err(refuse)?;
                    command.options.put_text(option, &value).map_err(refuse)?;
                }
            }
        }
        command.run = command.options.run()?;
        Ok(command)
    }

    fn run<Q: Equations>(self, equations: Q) -> Result<String, Failure> {
        match self.name {
            "map" => {
                let spec = self.values.validated(equations)?;
                self.map(spec)
            }
            "draw" => self.draw(equations),
            "orbit" => self.orbit(equations),
            "bench" => self.bench(&equations),
            "selftest" => self.selftest(&equations),
            _ if self.json => Ok(format!("{}\n", described(&equations.about()))),
            _ => Ok(help(&equations)),
        }
    }

    /// The files to write, with their formats.
    fn formats<Q: Equations>(
        &self,
        spec: &Validated<Q>,
    ) -> Result<Vec<(PathBuf, Format)>, Failure> {
        let mut out = Vec::new();
        for path in &self.options.out {
            let format = Format::of(path, spec).map_err(|e| refused("out", path.display(), e))?;
            check_writable(path).map_err(|e| Failure::BadInput(e.to_string()))?;
            out.push((path.clone(), format));
        }
        Ok(out)
    }

    /// The lines that name the files.
    fn files(&self) -> String {
        let named = (self.options.out.iter()).map(|path| format!("file  {}\n", path.display()));
        named.collect()
    }

    /// Writes the files from an earlier one.
    fn draw<Q: Equations>(self, equations: Q) -> Result<String, Failure> {
        let missing = |what| Failure::BadInput(format!("draw needs {what}"));
        let from = self.options.from.as_ref();
        let from = from.ok_or_else(|| missing("--from FILE.npz, which map has written"))?;
        if self.options.out.is_empty() {
            return Err(missing("--out FILE"));
        }
        let read = files::read(from, equations);
        let (spec, numbers) = read.map_err(|e| Failure::BadInput(e.to_string()))?;
        for (path, format) in self.formats(&spec)? {
            format.write(&path, &spec, &numbers).map_err(failed)?;
        }
        Ok(self.files())
    }

    /// Follows all items and writes the files.
    fn map<Q: Equations>(self, spec: Validated<Q>) -> Result<String, Failure> {
        let out = self.formats(&spec)?;
        let executor = Devices::new();
        executor
            .check(&self.run)
            .map_err(|e| Failure::BadInput(e.to_string()))?;
        let progress = Progress::new();
        let Computed { values, report } = match (self.resume, out.first()) {
            (false, _) => compute(&executor, &spec, &self.run, &progress).map_err(failed)?,
            (true, None) => {
                return Err(Failure::BadInput(
                    "--resume: needs the file of --out".into(),
                ));
            }
            (true, Some((main, _))) => {
                let store = match store::resume(main, &spec).map_err(failed)? {
                    Some(store) => store,
                    None => {
                        let [_, name] = working_files(main);
                        let record = Record::new(SystemContents::COMMAND, &name);
                        store::begin(main, &spec, Some(record)).map_err(failed)?
                    }
                };
                let missing = store.missing();
                let task = Task::new(&spec, &missing, &store);
                let report = executor.stream(&task, &self.run, &progress);
                store.write_record().map_err(failed)?;
                let report = report.map_err(failed)?;
                let mapped = store.mapped().map_err(failed)?;
                let values = spec.of_bytes(mapped.bytes());
                let values = values.ok_or_else(|| failed("the file has incomplete items"))?;
                drop(mapped);
                store.finish(main).map_err(failed)?;
                Computed { values, report }
            }
        };
        for note in &report.notes {
            eprintln!("note: {note}");
        }
        for (path, format) in &out {
            format.write(path, &spec, &values.numbers).map_err(failed)?;
        }
        let again = spec.sample(&self.run, &Unattended).map_err(failed)?;
        if self.json {
            let summary = Summary::of(&spec, &values.numbers, again.as_ref());
            let object = json!({
                "specification": Overrides::of(spec.specification()),
                "summary": summary,
                "engine": report.engine,
                "device": report.device,
                "seconds": report.elapsed.as_secs_f64(),
                "notes": report.notes,
            });
            return Ok(format!("{object}\n"));
        }
        Ok(summary(
            &spec,
            &values,
            again.as_ref(),
            &report,
            &self.options.out,
        ))
    }

    /// The states of one item at equal times.
    fn orbit<Q: Equations>(self, equations: Q) -> Result<String, Failure> {
        let spec = self.values.validated(equations)?;
        if spec.count() != 1 {
            return Err(Failure::BadInput(format!(
                "orbit follows one item, not {}",
                spec.count()
            )));
        }
        let samples = self.options.samples.unwrap_or(1000);
        let orbit = Orbit::of(&spec, samples, || false);
        let Orbit {
            numbers: table,
            width,
            outcome,
        } = orbit.expect("nobody cancels it");
        if let Some(name) = outcome {
            let end = table[table.len() - width];
            eprintln!("note: the orbit ended at t = {end}: {name}");
        }
        let about = spec.about();
        let mut text = String::from("t");
        about
            .state
            .iter()
            .for_each(|number| text.extend([",", number.name]));
        for row in table.chunks(width) {
            let words: Vec<String> = row.iter().map(f64::to_string).collect();
            text += &format!("\n{}", words.join(","));
        }
        text.push('\n');
        for path in &self.options.out {
            let written = match path.extension().and_then(|e| e.to_str()) {
                Some("csv") => write_with(path, |file| {
                    file.write_all(text.as_bytes()).map_err(|e| file.error(e))
                }),
                Some("npy") => trisolar_io::npy::write(path, &[table.len() / width, width], &table),
                _ => {
                    let allowed = "the name must end in .csv or .npy";
                    return Err(refused("out", path.display(), allowed));
                }
            };
            written.map_err(failed)?;
        }
        Ok(match self.options.out.is_empty() {
            true => text,
            false => self.files(),
        })
    }

    /// The specification of many items around the defaults, with this integrator.
    fn around(
        &self,
        equations: &impl Equations,
        method: Method,
        n: u64,
        values: &[Column],
    ) -> Result<Specification, SpecError> {
        let about = equations.about();
        let mut s = (self.values.with_method(method)).specification(equations)?;
        s.n = n;
        s.size = None;
        s.parameters
            .retain(|_, choice| !matches!(choice, Choice::Columns(_) | Choice::Rows(_)));
        let values = values.iter().map(|column| Column::NAMES[column.0 as usize]);
        let state = about.state.iter().map(|number| number.name);
        s.values = values.chain(state).map(str::to_owned).collect();
        for number in about
            .state
            .iter()
            .filter(|number| number.default.is_finite())
        {
            let (x, width) = (number.default, 0.3 * (1.0 + number.default.abs()));
            let around = Choice::Uniform([x - width, x + width]);
            s.parameters.entry(number.name.into()).or_insert(around);
        }
        Ok(s)
    }

    /// Times the engines of this machine with each integrator.
    fn bench(self, equations: &impl Equations) -> Result<String, Failure> {
        let mut text = format!(
            "{:<14}{:<10}{:>14}{:>14}\n",
            "integrator", "engine", "items/s", "steps/s"
        );
        for method in equations.about().kind.methods() {
            let gpu = devices().is_ok();
            for backend in [Backend::Cpu, Backend::Gpu] {
                if backend == Backend::Gpu && !gpu {
                    continue;
                }
                let mut n = 256;
                loop {
                    let s = self.around(equations, *method, n, &[Column::STEPS])?;
                    let spec = Validated::new(equations.clone(), s)?;
                    let options = RunOptions {
                        backend,
                        ..self.run
                    };
                    let done =
                        compute(&Devices::new(), &spec, &options, &Unattended).map_err(failed)?;
                    let seconds = done.report.elapsed.as_secs_f64();
                    if seconds < 0.3 && n < 1 << 22 {
                        n *= 8;
                        continue;
                    }
                    let steps: f64 = done.values.numbers.iter().step_by(done.values.width).sum();
                    let name = &spec.specification().method;
                    let [items, steps] = [n as f64 / seconds, steps / seconds];
                    text += &format!(
                        "{name:<14}{:<10}{items:>14.4e}{steps:>14.4e}\n",
                        done.report.engine
                    );
                    break;
                }
            }
        }
        Ok(text)
    }

    /// Compares the bits of all engines.
    fn selftest(self, equations: &impl Equations) -> Result<String, Failure> {
        let mut text = String::new();
        let mut differ = 0;
        for method in equations.about().kind.methods() {
            for chaos in [&[][..], &[Column::LYAPUNOV, Column::MEGNO]] {
                let columns = [&[Column::OUTCOME, Column::TIME, Column::STEPS], chaos].concat();
                let mut s = self.around(equations, *method, 100, &columns)?;
                s.end = (s.end / 10.0).ceil().min(s.end);
                let spec = Validated::new(equations.clone(), s)?;
                let on = |engine: &dyn Engine<_>| -> Result<Vec<u64>, Failure> {
                    let done = engine.compute(&spec, &Unattended).map_err(failed)?;
                    Ok(done.values.numbers.iter().map(|x| x.to_bits()).collect())
                };
                let mut all = Vec::new();
                for simd in Simd::available() {
                    let engine = CpuEngine::with_simd(None, simd).map_err(failed)?;
                    all.push((simd.name().to_owned(), on(&engine)?));
                }
                all.push(("emulator".to_owned(), on(&DeviceEngine::emulated_gpu())?));
                for gpu in devices().unwrap_or_default() {
                    let device = open(gpu.index).map_err(failed)?;
                    all.push((gpu.name.clone(), on(&DeviceEngine::on(device))?));
                }
                let expected = all[0].1.clone();
                let with = if chaos.is_empty() {
                    ""
                } else {
                    ", tangent vector"
                };
                text += &format!("{}{with}:", spec.specification().method);
                for (name, bits) in &all {
                    let same = *bits == expected;
                    differ += usize::from(!same);
                    text += &format!(" {name} {}", if same { "ok" } else { "DIFFERS" });
                }
                text.push('\n');
            }
        }
        match differ {
            0 => Ok(text),
            _ => Err(Failure::Failed(format!(
                "{text}{differ} engines have other bits"
            ))),
        }
    }
}

/// The system in words and numbers, as JSON.
fn described(about: &About) -> Value {
    let numbers = |list: &[Parameter]| -> Vec<(&str, f64)> {
        list.iter().map(|x| (x.name, x.default)).collect()
    };
    let methods = about.kind.methods().iter();
    json!({
        "name": about.name,
        "label": about.label,
        "parameters": numbers(&about.parameters),
        "state": numbers(&about.state),
        "outcomes": about.outcomes,
        "methods": methods.map(|method| name_of(*method)).collect::<Vec<_>>(),
    })
}

/// All options.
fn help(equations: &impl Equations) -> String {
    let about = equations.about();
    let s = Specification::of(equations);
    let mut text = format!("{}\n\nCommands:\n", about.label);
    for (name, what) in COMMANDS {
        text += &format!("  {name:<12}{what}\n");
    }
    for (title, list) in [("Parameters", &about.parameters), ("Start", &about.state)] {
        text += &format!("\n{title}, for --set, --map and --draw:\n");
        for number in list {
            let x = match number.default.is_nan() {
                true => "follows from the others".to_owned(),
                false => number.default.to_string(),
            };
            text += &format!("  {:<12}{x}\n", number.name);
        }
    }
    text += "\nIntegrators, for --method:\n";
    let methods = about.kind.methods().iter();
    for row in methods.filter_map(|m| Method::ALL.iter().find(|row| row.0 == *m)) {
        text += &format!("  {:<12}{}\n", row.1, row.2);
    }
    let mut heading = "";
    let all = [Overrides::DECLARATIONS, Options::DECLARATIONS].concat();
    for d in all.into_iter().filter(|d| d.heading != TEXT) {
        if d.heading != heading {
            heading = d.heading;
            text += &format!("\n{heading}:\n");
        }
        // These defaults are the system's own.
        let own = match d.name {
            "method" => format!(" [default: {}]", s.method),
            "end" => format!(" [default: {}]", s.end),
            "step" => format!(" [default: {}]", s.step),
            _ => String::new(),
        };
        text += &format!(
            "  --{} {}\n          {}{own}\n",
            d.option(),
            d.value,
            d.help()
        );
    }
    text + "  --resume\n          Keep a map in a file while it is computed, and continue it after an interruption\n  \
            --json\n          Print what map has found, or what help says of the equations, as JSON\n"
}

/// What was computed, in words.
fn summary<Q: Equations>(
    spec: &Validated<Q>,
    table: &Table,
    again: Option<&Repeated<f64>>,
    report: &Report,
    files: &[PathBuf],
) -> String {
    let seconds = report.elapsed.as_secs_f64();
    let mut lines = words(spec);
    lines.push(("items".into(), spec.count().to_string()));
    lines.extend(Summary::of(spec, &table.numbers, again).lines());
    lines.push((
        "engine".into(),
        format!("{}: {}", report.engine, report.device),
    ));
    lines.push(("time".into(), format!("{seconds:.3} s")));
    let files = files
        .iter()
        .map(|path| ("file".into(), path.display().to_string()));
    lines.extend(files);
    let lines = lines
        .iter()
        .map(|(label, text)| format!("{label:<10}{text}\n"));
    format!("{}\n{}", spec.about().label, lines.collect::<String>())
}

/// Shows the share of the items on a terminal, once a second.
struct Progress(Mutex<Instant>);

impl Progress {
    fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Monitor for Progress {
    fn progress(&self, done: u64, total: u64) {
        let Ok(mut told) = self.0.lock() else { return };
        if told.elapsed().as_secs_f64() > 1.0 && std::io::stderr().is_terminal() {
            *told = Instant::now();
            eprint!("\r{:.1} %  ", 100.0 * done as f64 / total.max(1) as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    include!("../cli/new/magnetic_pendulum.rs");

    #[test]
    fn an_orbit_has_the_times_that_are_asked_for_and_ends_with_its_outcome() {
        let words = "orbit --samples 20 --tolerance 1e-6".split(' ');
        let command = super::Command::read(words.map(OsString::from));
        let Ok(text) = command.and_then(|c| c.run(Compiled::of::<MagneticPendulum>())) else {
            panic!("an orbit is followed");
        };
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows[..2], ["t,x,y,vx,vy", "0,0.5,1,0,0"]);
        let numbers = |row: &str| -> Vec<f64> {
            let words = row.split(',');
            words.map(|word| word.parse().unwrap()).collect()
        };
        assert_eq!(numbers(rows[2])[0], 5.0);
        // It stops near the third magnet before the end, and its last row has that time.
        let last = numbers(rows[rows.len() - 1]);
        assert!(rows.len() < 22 && last[0] < 100.0 && last[0] % 5.0 != 0.0);
        assert!((last[1] + 0.5).hypot(last[2] + 0.866) < 0.2, "{last:?}");
    }
}
