//! Output for the user: lines of 80 columns, readable numbers, streams that may be closed.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};
use trisolar::ensemble::{ClassShare, Portion, Report};

use super::Failure;
pub(crate) use super::failure::to_stderr;

/// Columns of a report.
const WIDTH: usize = 80;

/// Writes a line to stdout.
pub(crate) fn to_stdout(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    printed(writeln!(stdout, "{text}").and_then(|()| stdout.flush()))
}

/// What printing to stdout means for the command. A closed reader (`| head`) is not a failure.
pub(crate) fn printed(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Failed(format!(
            "cannot write to the standard output: {e}"
        ))),
        _ => Ok(()),
    }
}

/// Writes one JSON value to stdout.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    to_stdout(&format!("{value:#}"))
}

/// The part that the JSON objects of all computations have in common; docs/report.schema.json describes it.
#[derive(Debug)]
pub(crate) struct Common {
    /// All values on which the results depend.
    pub(crate) specification: Value,
    /// The files that were written.
    pub(crate) files: Vec<PathBuf>,
    /// The devices, each an object with the key `device`.
    pub(crate) devices: Value,
    /// Time of the computation in seconds.
    pub(crate) seconds: f64,
    /// What was computed in a second, if it is known.
    pub(crate) rate: Option<f64>,
    /// The unit of the rate.
    pub(crate) rate_unit: &'static str,
    /// The errors of the results, by name.
    pub(crate) errors: Value,
    /// Warnings about the results.
    pub(crate) warnings: Vec<String>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl Default for Common {
    fn default() -> Self {
        Self {
            specification: json!({}),
            files: Vec::new(),
            devices: json!([]),
            seconds: 0.0,
            rate: None,
            rate_unit: "",
            errors: json!({}),
            warnings: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl Common {
    /// The object of a command, with these keys and its own.
    pub(crate) fn with(self, own: Value) -> Value {
        let files: Vec<_> = self
            .files
            .iter()
            .map(|path| path.to_string_lossy())
            .collect();
        let mut object = json!({
            "specification": self.specification,
            "files": files,
            "devices": self.devices,
            "seconds": self.seconds,
            "loading_seconds": trisolar::gpu::loading().as_secs_f64(),
            "rate": self.rate.filter(|rate| rate.is_finite()),
            "rate_unit": self.rate_unit,
            "errors": self.errors,
            "warnings": self.warnings,
            "notes": self.notes,
        });
        if let (Some(all), Value::Object(own)) = (object.as_object_mut(), own) {
            all.extend(own);
        }
        object
    }
}

/// A list of devices by their names, for the key `devices`; each once.
pub(crate) fn devices<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    let mut list: Vec<&str> = Vec::new();
    for name in names {
        if !list.contains(&name) {
            list.push(name);
        }
    }
    list.into_iter()
        .map(|name| json!({ "device": name }))
        .collect()
}

/// Adds files to those of a report.
pub(crate) fn add_files(object: &mut Value, files: &[PathBuf]) {
    if let Some(all) = object["files"].as_array_mut() {
        all.extend(files.iter().map(|path| path.to_string_lossy().into()));
    }
}

/// A list of one device, for the key `devices`.
pub(crate) fn device(device: &str) -> Value {
    devices([device])
}

/// The devices of an ensemble for the key `devices`, each with its number of `items` (such as `pixels`).
pub(crate) fn portions(report: &Report, items: &str) -> Value {
    match report.portions.is_empty() {
        true => device(&report.device),
        false => report.portions_json(items),
    }
}

/// The share of each device in an ensemble, if there are several.
pub(crate) fn shares(report: &Report) -> Option<String> {
    let all: u64 = report.portions.iter().map(|p| p.items).sum();
    let share = |p: &Portion| {
        let percent = 100.0 * p.items as f64 / all.max(1) as f64;
        // A GPU is identified by its number; its name is left out.
        let name = p.device.split(',').next().unwrap_or_default();
        format!("{name} {percent:.1} %")
    };
    let shares: Vec<String> = report.portions.iter().map(share).collect();
    (shares.len() > 1).then(|| shares.join(", "))
}

/// The specification of a run with the given or default values of its start.
pub(crate) fn with_start(specification: &impl Serialize, start: &impl Serialize) -> Value {
    let mut all = super::resume::plain(start);
    all.retain(|_, value| !value.is_null());
    all.extend(super::resume::plain(specification));
    Value::Object(all)
}

/// Lines of a label and a text.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    text: String,
}

impl Lines {
    const INDENT: usize = 14;

    /// Adds a line, wrapped into several if necessary.
    pub(crate) fn add(&mut self, label: &str, text: &str) {
        let label = format!("{label:<width$}", width = Self::INDENT);
        let indent = " ".repeat(Self::INDENT);
        let options = textwrap::Options::new(WIDTH)
            .initial_indent(&label)
            .subsequent_indent(&indent)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        self.push(&textwrap::fill(text, options));
    }

    /// Adds a line that is not wrapped, such as a path.
    pub(crate) fn add_whole(&mut self, label: &str, text: &str) {
        self.push(&format!("{label:<width$}{text}", width = Self::INDENT));
    }

    fn push(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    /// The whole text.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// A table of shares with their intervals, each indented by a text, and an empty line below it.
pub(crate) fn shares_table<'a>(
    title: &str,
    items: &str,
    shares: impl IntoIterator<Item = (&'a str, &'a ClassShare)>,
) -> String {
    let mut text = format!("{title:<32} {items:>13} {:>10}   95 % interval\n", "share");
    for (indent, share) in shares {
        text.push_str(&format!(
            "{:<32} {:>13} {:>9.3}%   {:.3} to {:.3}\n",
            format!("{indent}{}", share.what),
            grouped(share.count),
            100.0 * share.share,
            100.0 * share.interval[0],
            100.0 * share.interval[1]
        ));
    }
    text.push('\n');
    text
}

/// 1234567 as `1 234 567`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Seconds with three or four significant digits.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        s if s < 1.0 => format!("{s:.4} s"),
        s if s < 100.0 => format!("{s:.2} s"),
        s => format!("{s:.0} s"),
    }
}

/// The time of a computation, and that of loading before it where there was any.
pub(crate) fn time(of_computation: f64) -> String {
    match trisolar::gpu::loading().as_secs_f64() {
        0.0 => seconds(of_computation),
        loading => format!(
            "{} after {} of loading",
            seconds(of_computation),
            seconds(loading)
        ),
    }
}

/// Bytes in a suitable unit.
pub(crate) fn bytes(n: u64) -> String {
    let n = n as f64;
    match n {
        n if n < 1e6 => format!("{:.1} KiB", n / 1024.0),
        n if n < 1e9 => format!("{:.1} MiB", n / 1024.0_f64.powi(2)),
        n => format!("{:.1} GiB", n / 1024.0_f64.powi(3)),
    }
}

/// A note about columns of a series that are not numbers at some record.
pub(crate) fn undefined(columns: &[&str]) -> Option<String> {
    (!columns.is_empty()).then(|| {
        format!(
            "the series has nan where a column is not defined (without mass, potential, neighbours or binaries): {}",
            columns.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_thousands() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1 000"),
            (3995478705, "3 995 478 705"),
        ] {
            assert_eq!(grouped(n), text);
        }
    }

    #[test]
    fn long_texts_are_wrapped_under_their_label_and_paths_are_not() {
        let mut lines = Lines::default();
        lines.add("note", &"word ".repeat(40));
        lines.add_whole("files", &"x".repeat(200));
        let lines: Vec<&str> = lines.as_str().lines().collect();
        assert!(lines[..lines.len() - 1].iter().all(|l| l.len() <= WIDTH));
        assert!(lines[1].starts_with(&" ".repeat(Lines::INDENT)));
        assert_eq!(lines[lines.len() - 1].len(), Lines::INDENT + 200);
    }
}
