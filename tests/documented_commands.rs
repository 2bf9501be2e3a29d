//! Checks the documentation: its links, the paths, options and commands that it names, and its blocks of C. (`cargo test --doc` compiles
//! its blocks of Rust: `crates/trisolar_guide/src/code.rs`. `python/ci.sh` runs its blocks of Python.)
//!
//! Every command in a shell block, and every command in the text that has options, is run, scaled down where it would take long.
//! The commands of a page run in order and in one folder, because later commands use files of earlier ones. A command that is
//! neither run nor listed here is an error.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The first words of a command. `$` stands for its end.
type Words = &'static str;

/// Commands that are not run, given by their first words, with the reason.
const NOT_RUN: &[(Words, &str)] = &[
    ("cargo build", "compiles"),
    ("cargo clippy", "compiles"),
    ("cargo doc", "compiles"),
    ("cargo fmt", "not part of the program"),
    (
        "cargo install",
        "compiles; the test `outside` of trisolar-device runs it",
    ),
    ("cargo test", "compiles, and runs this test"),
    ("cargo run --release -p", "compiles another program"),
    ("pip install", "python/ci.sh installs the package"),
    ("sudo apt-get", "needs root"),
    ("sbatch", "needs Slurm; tests/cli/parts.rs runs the script"),
    ("hq", "needs HyperQueue; tests/cli/parts.rs runs the script"),
    (
        "python",
        "needs Dask or Ray; python/tests/test_parts.py runs the script",
    ),
    ("ssh", "needs another machine"),
    ("ncu", "needs Nsight Compute and a GPU"),
    ("compute-sanitizer", "needs the CUDA toolkit and a GPU"),
    ("perf", "needs permission to read counters"),
    ("ptxas", "tests/kernels/ptx.rs runs it where it exists"),
    ("benches/fp64_pipe.sh", "needs Nsight Compute and a GPU"),
    ("release/build.sh", "compiles for every platform"),
    ("tests/machines/wheels.sh", ".ci/run all runs it"),
    ("tar", "unpacks a release, which there is not"),
    ("tests/machines/musl.sh", ".ci/run all runs it"),
    ("trisolar selftest", "tests/cli/machine.rs runs it"),
    (
        "trisolar bench solvers",
        "tests/cli/bench_solvers.rs runs it",
    ),
    ("trisolar bench cluster", "tests/cli/cluster.rs runs it"),
];

/// How commands with these first words are scaled down: `set` options are replaced or added, `replace` options are replaced if
/// they are given. The rule with the most words applies. A command with `--resume` gets no additional option, because it must
/// repeat those of its run.
struct Scale {
    begins: Words,
    set: &'static [(&'static str, &'static str)],
    replace: &'static [(&'static str, &'static str)],
}

const fn scale(
    begins: Words,
    set: &'static [(&'static str, &'static str)],
    replace: &'static [(&'static str, &'static str)],
) -> Scale {
    Scale {
        begins,
        set,
        replace,
    }
}

const MAP: &[(&str, &str)] = &[("--size", "24"), ("--steps", "300")];

/// Takes at least a second on any machine, so that the run is interrupted and the next command resumes it.
const LONG_MAP: &[(&str, &str)] = &[
    ("--size", "500x300"),
    ("--steps", "2000"),
    ("--backend", "cpu"),
    ("--threads", "1"),
];

/// The same for encounters.
const LONG_ENSEMBLE: &[(&str, &str)] = &[("--n", "4000"), ("--backend", "cpu"), ("--threads", "1")];

const SCALED: &[Scale] = &[
    scale("trisolar divergence", MAP, &[]),
    scale("trisolar divergence --points", &[("--steps", "300")], &[]),
    scale(
        "trisolar divergence --preset panorama --size 102000x16000 --stream",
        LONG_MAP,
        &[],
    ),
    scale(
        "mpirun trisolar divergence --preset panorama --stream",
        LONG_MAP,
        &[],
    ),
    scale("trisolar compare", MAP, &[]),
    scale("trisolar sweep", MAP, &[]),
    // ffmpeg, which .mp4 requires, is not installed everywhere.
    scale(
        "trisolar zoom",
        &[("--size", "16"), ("--steps", "300"), ("--frames", "3")],
        &[("--film zoom.mp4", "--film zoom.gif")],
    ),
    scale(
        "trisolar bench divergence",
        &[("--size", "8"), ("--steps", "100")],
        &[],
    ),
    scale(
        "trisolar bench ladder",
        &[("--size", "8"), ("--steps", "100")],
        &[],
    ),
    scale(
        "trisolar bench nbody",
        &[("--n", "64"), ("--repeats", "2"), ("--seconds", "0.001")],
        &[],
    ),
    scale(
        "trisolar bench encounters",
        &[("--n", "100"), ("--cpu-n", "20")],
        &[],
    ),
    scale(
        "trisolar bench planets",
        &[("--n", "20"), ("--cpu-n", "10"), ("--steps", "20")],
        &[],
    ),
    scale(
        "trisolar nbody",
        &[],
        &[
            ("--n", "64"),
            ("--every", "10"),
            ("--steps 100000", "--steps 100"),
            ("--steps 200000", "--steps 200"),
            ("--steps 50000", "--steps 100"),
            ("--steps 10000", "--steps 100"),
        ],
    ),
    scale(
        "trisolar cluster",
        &[],
        &[
            ("--n", "64"),
            ("--end 10", "--end 1"),
            ("--end 20", "--end 2"),
        ],
    ),
    scale("trisolar cluster --scheme", &[("--n", "64")], &[]),
    scale(
        "trisolar cluster --close-pairs",
        &[("--n", "64")],
        &[("--end 400", "--end 2"), ("--end 90", "--end 2")],
    ),
    scale("trisolar cluster --precision", &[("--n", "64")], &[]),
    scale("trisolar cluster --model king", &[("--n", "64")], &[]),
    scale(
        "trisolar nbody --model six-bodies",
        &[("--steps", "1000")],
        &[],
    ),
    scale(
        "trisolar cluster --input tests/golden/plummer_1024.txt",
        &[],
        &[("--end", "0.0625"), ("--every", "0.03125")],
    ),
    scale(
        "trisolar encounters",
        &[],
        &[("--size", "8"), ("--n", "50")],
    ),
    scale(
        "trisolar encounters zoom",
        &[("--size", "8"), ("--frames", "3")],
        &[],
    ),
    scale("trisolar encounters $", &[("--n", "50")], &[]),
    scale(
        "trisolar encounters --setup free-fall",
        &[("--n", "50")],
        &[],
    ),
    scale("trisolar encounters --draw", &[("--n", "50")], &[]),
    scale("trisolar encounters --n 1e8 --stream", LONG_ENSEMBLE, &[]),
    scale("trisolar planets --planet", &[("--years", "2")], &[]),
    scale("trisolar planets --preset", &[("--years", "1")], &[]),
    scale(
        "trisolar planets zoom",
        &[("--years", "2"), ("--frames", "3")],
        &[],
    ),
    scale("trisolar planets sweep", &[("--years", "2")], &[]),
    scale(
        "trisolar map zoom",
        &[("--size", "12"), ("--frames", "3")],
        &[],
    ),
    scale("trisolar map sweep", &[("--end", "2")], &[]),
    scale("trisolar atlas", &[("--box", "2")], &[]),
    scale(
        "trisolar map",
        &[("--size", "12")],
        &[("--end 500", "--end 20")],
    ),
    scale("trisolar explore", &[], &[("--port", "0")]),
];

/// Options that are removed, so that no browser is opened.
const LEFT_OUT: &[&str] = &["--open"];

/// Commands that receive Ctrl-C as soon as this file exists in their folder (`stdout` exists once something has been printed).
/// Servers run until then; an interrupted run leaves something for the next command to resume.
const INTERRUPTED: &[(Words, &str)] = &[
    ("trisolar explore", "stdout"),
    (
        "trisolar divergence --preset panorama --size 102000x16000 --stream",
        "wide.npy.part.json",
    ),
    (
        "mpirun trisolar divergence --preset panorama --stream",
        "wide.npy.part.json",
    ),
    ("trisolar encounters --n 1e8 --stream", "runs.npz.part.json"),
];

/// Commands that fail on purpose, with their exit codes.
const FAILING: &[(Words, i32)] = &[(
    "trisolar nbody --model kepler --eccentricity 0.9 --dt 0.01",
    1,
)];

/// Other programs that are run unchanged.
const TOOLS: &[Words] = &["cmp"];

/// Files that a page presupposes.
const GIVEN: &[(&str, &str, &str)] = &[
    (
        "docs/nbody.md",
        "bodies.csv",
        "mass,x,y,z,vx,vy,vz\n1,1,0,0,0,0.5,0\n1,-1,0,0,0,-0.5,0\n",
    ),
    (
        "docs/cluster.md",
        "model.txt",
        "0 0.5 1 0 0 0 0.5 0\n1 0.5 -1 0 0 0 -0.5 0\n",
    ),
    (
        "docs/encounters.md",
        "systems.csv",
        "1 3 0 -2 -1 0 1 -1 0 0 0 0 0 0 0 0 0 0 3 4 5\n",
    ),
];

/// The time limit of a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md, CONTRIBUTING.md and the pages of docs/.
fn pages() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs")).expect("docs/");
    let names = docs.map(|entry| format!("docs/{}", entry.unwrap().file_name().display()));
    let mut pages: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    pages.extend(["README.md".into(), "CONTRIBUTING.md".into()]);
    pages.sort();
    pages
}

fn text(page: &str) -> String {
    fs::read_to_string(root().join(page)).expect(page)
}

/// The fenced blocks of a page with their languages, and the text outside of them.
fn blocks(text: &str) -> (Vec<(String, String)>, String) {
    let (mut blocks, mut prose) = (Vec::<(String, String)>::new(), String::new());
    let mut inside = false;
    for line in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            inside = !inside;
            if inside {
                blocks.push((language.trim().into(), String::new()));
            }
        } else if inside {
            let block = &mut blocks.last_mut().expect("an open block").1;
            block.push_str(line);
            block.push('\n');
        } else {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    assert!(!inside, "a block is not closed");
    (blocks, prose)
}

/// The shell script of a block. A `console` block also shows output, and its commands follow a prompt.
fn script(language: &str, block: &str) -> Option<String> {
    match language {
        "sh" | "bash" => Some(block.into()),
        "console" => Some(
            block
                .lines()
                .filter_map(|l| l.strip_prefix("$ "))
                .fold(String::new(), |script, line| script + line + "\n"),
        ),
        _ => None,
    }
}

/// The commands of a script. bash itself splits them into words: it finds no program and passes each command to a function.
fn commands(script: &str, folder: &Path) -> Result<Vec<Vec<String>>, String> {
    const RECORD: &str = r#"command_not_found_handle() { printf '%s\037' "$@" >>"$RECORD"; printf '\036' >>"$RECORD"; }"#;
    let record = folder.join("commands");
    let mut preamble = RECORD.to_owned();
    // bash would look up a command with a path itself, so it needs a function of that name.
    for (begins, _) in NOT_RUN.iter().filter(|(begins, _)| begins.contains('/')) {
        preamble += &format!("\n{begins}() {{ command_not_found_handle {begins} \"$@\"; }}");
    }
    File::create(&record).unwrap();
    let output = Command::new("bash")
        .args(["-euc", &format!("{preamble}\nPATH=/nowhere\n{script}")])
        .env("RECORD", &record)
        .current_dir(folder)
        .output()
        .map_err(|e| format!("bash: {e}"))?;
    if !output.status.success() || !output.stderr.is_empty() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let record = fs::read_to_string(&record).unwrap();
    let lines = record.split_terminator('\u{1e}');
    Ok(lines
        .map(|line| line.split_terminator('\u{1f}').map(String::from).collect())
        .collect())
}

/// Replaces `cargo run --release -- X` by `trisolar X`. `mpirun` and its options become one word, and X runs as a single process,
/// which gives the same results: this build does not have the feature `mpi`.
fn simplified(words: Vec<String>) -> Vec<String> {
    if words.starts_with(&["cargo", "run", "--release", "--"].map(String::from)) {
        return [&["trisolar".into()], &words[4..]].concat();
    }
    if words[0] == "mpirun"
        && let Some(program) = (words.iter()).position(|w| w.rsplit('/').next() == Some("trisolar"))
    {
        return [&["mpirun".into(), "trisolar".into()], &words[program + 1..]].concat();
    }
    words
}

/// Whether a command begins with these words.
fn begins(command: &[String], words: Words) -> bool {
    let mut given = command.iter();
    words.split(' ').all(|word| match given.next() {
        Some(w) => w == word,
        None => word == "$",
    })
}

/// The rule with the most words that fits this command. Rules for `trisolar` also apply under `mpirun`.
fn rule<'a, T>(table: &'a [T], of: impl Fn(&T) -> Words, command: &[String]) -> Option<&'a T> {
    let bare = command
        .strip_prefix(&["mpirun".to_owned()])
        .unwrap_or(command);
    let fits = |row: &&T| begins(command, of(row)) || begins(bare, of(row));
    table.iter().filter(fits).max_by_key(|row| of(row).len())
}

/// The arguments of `trisolar`, scaled down.
fn scaled(command: &[String]) -> Vec<String> {
    let at = command
        .iter()
        .position(|w| w == "trisolar")
        .expect("trisolar");
    let mut arguments = command[at + 1..].to_vec();
    arguments.retain(|a| !LEFT_OUT.contains(&a.as_str()));
    let Some(rule) = rule(SCALED, |row| row.begins, command) else {
        return arguments;
    };
    let resumes = arguments.iter().any(|a| a == "--resume");
    for (option, value) in rule.set {
        match arguments.iter().position(|a| a == option) {
            Some(i) => arguments[i + 1] = (*value).into(),
            None if !resumes && !arguments.contains(&"--help".into()) => {
                arguments.extend([(*option).into(), (*value).into()]);
            }
            None => {}
        }
    }
    for (given, value) in rule.replace {
        match given.split_once(' ') {
            Some((option, old)) => {
                for i in 1..arguments.len() {
                    if arguments[i - 1] == option && arguments[i] == old {
                        arguments[i] = value.split(' ').next_back().expect("a value").into();
                        break;
                    }
                }
            }
            None => {
                if let Some(i) = arguments.iter().position(|a| a == given) {
                    arguments[i + 1] = (*value).into();
                }
            }
        }
    }
    arguments
}

/// Runs the program in the folder, and sends Ctrl-C as soon as the folder contains this file. Returns its output.
fn run(
    arguments: &[String],
    folder: &Path,
    until: Option<&str>,
) -> Result<(ExitStatus, String), String> {
    let create = |name: &str| File::create(folder.join(name)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_trisolar"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(create("stdout"))
        .stderr(create("stderr"))
        .spawn()
        .map_err(|e| e.to_string())?;
    let begin = Instant::now();
    let mut until = until.map(|file| folder.join(file));
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break status;
        }
        if until
            .as_ref()
            .is_some_and(|file| fs::metadata(file).is_ok_and(|m| m.len() > 0))
        {
            until = None;
            kill_process(Pid::from_child(&child), Signal::INT).expect("its own child");
        }
        if begin.elapsed() > COMMAND_TIMEOUT {
            child
                .kill()
                .and_then(|()| child.wait())
                .expect("its own child");
            return Err(format!("takes longer than {COMMAND_TIMEOUT:?}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let printed = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
    for name in ["stdout", "stderr"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    Ok((status, printed))
}

/// Runs a command, unless it is listed as one that is not run.
fn check(command: &[String], folder: &Path) -> Result<(), String> {
    if rule(NOT_RUN, |row| row.0, command).is_some() {
        return Ok(());
    }
    if TOOLS.iter().any(|tool| begins(command, tool)) {
        let output = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(folder)
            .output();
        return match output {
            Ok(output) if output.status.success() => Ok(()),
            other => Err(format!("fails: {other:?}")),
        };
    }
    if !(begins(command, "trisolar") || begins(command, "mpirun trisolar")) {
        return Err("is neither run nor listed".into());
    }
    let arguments = scaled(command);
    let until = rule(INTERRUPTED, |row| row.0, command).map(|row| row.1);
    let expected = match (rule(FAILING, |row| row.0, command), until) {
        (Some((_, code)), _) => *code,
        (None, Some(_)) => 130,
        (None, None) => 0,
    };
    let (status, printed) = run(&arguments, folder, until)?;
    // Without a GPU, or with too few, a command that requests GPUs says so after it has parsed its options.
    let asks = |a: &String| {
        matches!(
            a.as_str(),
            "--gpus" | "--device" | "gpu" | "gpu+cpu" | "ladder"
        )
    };
    let too_few = printed.contains("no usable GPU") || printed.contains("number of GPUs");
    if status.code() == Some(expected) || arguments.iter().any(asks) && too_few {
        return Ok(());
    }
    Err(format!(
        "(run as trisolar {}) ends with {status}: {printed}",
        arguments.join(" ")
    ))
}

/// The scripts of a page: its shell blocks, followed by the commands in its text that have options.
///
/// # Errors
/// If a block of commands is not marked as one.
fn scripts(page: &str) -> Result<Vec<String>, String> {
    let (blocks, prose) = blocks(&text(page));
    let mut scripts = Vec::new();
    for (language, block) in blocks {
        let is_command = |l: &str| {
            let programs = ["trisolar ", "cargo ", "mpirun "];
            programs.iter().any(|w| l.trim_start().starts_with(w))
        };
        match script(&language, &block) {
            // host/gpu/tests/outside.rs runs this session as a whole, which needs a folder of its own.
            Some(script) if script.starts_with("cargo new ") => {}
            Some(script) => scripts.push(script),
            None if language.is_empty() && block.lines().any(is_command) => {
                return Err(format!(
                    "a block of commands is not marked as `sh`: {block}"
                ));
            }
            None => {}
        }
    }
    // Words in capitals are placeholders for the reader's own values.
    let is_placeholder = |word: &str| word.chars().all(|c| c.is_ascii_uppercase());
    let spans = code_spans(&prose);
    scripts.extend(spans.into_iter().filter(|code| {
        code.starts_with("trisolar ") && code.contains("--") && !code.split(' ').any(is_placeholder)
    }));
    Ok(scripts)
}

/// The contents of backquotes in a text.
fn code_spans(prose: &str) -> Vec<String> {
    let spans = prose.split('`').skip(1).step_by(2);
    spans
        .map(|code| code.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The commands of a page, each listed once.
///
/// # Errors
/// If a block is not a script.
fn commands_of(page: &str, folder: &Path) -> Result<Vec<Vec<String>>, String> {
    let mut all = Vec::new();
    for script in scripts(page)? {
        let found = commands(&script, folder).map_err(|e| format!("{e}in {script}"))?;
        for command in found.into_iter().map(simplified) {
            if !all.contains(&command) {
                all.push(command);
            }
        }
    }
    Ok(all)
}

/// The errors on a page.
fn wrong_on(page: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::os::unix::fs::symlink(root().join("tests"), folder.join("tests")).unwrap();
    for (_, file, contents) in GIVEN.iter().filter(|(of, ..)| *of == page) {
        fs::write(folder.join(file), contents).unwrap();
    }
    let commands = match commands_of(page, folder) {
        Ok(commands) => commands,
        Err(message) => return vec![format!("{page}: {message}")],
    };
    let mut wrong = Vec::new();
    for command in commands {
        let begin = Instant::now();
        let name = command.join(" ");
        if let Err(message) = check(&command, folder) {
            wrong.push(format!("{page}: `{name}` {message}"));
        }
        let seconds = begin.elapsed().as_secs_f64();
        eprintln!("{seconds:6.2} s  {page}: {name}");
    }
    wrong
}

#[test]
fn every_command_of_the_documentation_runs() {
    let waiting = Mutex::new(pages());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(page) = waiting.lock().unwrap().pop() else {
                return;
            };
            let found = wrong_on(&page);
            wrong.lock().unwrap().extend(found);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism()
            .map_or(2, usize::from)
            .min(8)
        {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_commands_are_detected() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trisolar divergence --sizes 3\ntrisolar nbody --model none\nfrobnicate 'a b' # no\nfor i in 1 2; do trisolar devices \\\n--json; done";
    let commands_of = |script: &str| commands(script, folder.path());
    let commands = commands_of(script).unwrap();
    let joined: Vec<String> = commands.iter().map(|c| c.join("|")).collect();
    let devices = "trisolar|devices|--json";
    assert_eq!(joined[2..], ["frobnicate|a b", devices, devices]);
    let results: Vec<_> = commands.iter().map(|c| check(c, folder.path())).collect();
    assert!(
        results[0].as_ref().is_err_and(|m| m.contains("--sizes")),
        "{results:?}"
    );
    assert!(
        results[1].as_ref().is_err_and(|m| m.contains("none")),
        "{results:?}"
    );
    assert!(
        results[2]
            .as_ref()
            .is_err_and(|m| m.contains("neither run nor listed")),
        "{results:?}"
    );
    assert_eq!(results[3..], [Ok(()), Ok(())]);
    assert!(commands_of("benches/unknown.sh").is_err());
}

#[test]
fn every_rule_applies_to_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let of = |page: String| commands_of(&page, folder.path()).expect(&page);
    let all: Vec<Vec<String>> = pages().into_iter().flat_map(of).collect();
    fn chosen<T>(table: &[T], of: impl Fn(&T) -> Words + Copy, all: &[Vec<String>]) -> Vec<Words> {
        let used: Vec<Words> = all
            .iter()
            .filter_map(|c| rule(table, of, c))
            .map(of)
            .collect();
        table
            .iter()
            .map(of)
            .filter(|words| !used.contains(words))
            .collect()
    }
    assert_eq!(chosen(NOT_RUN, |row| row.0, &all), [""; 0]);
    assert_eq!(chosen(SCALED, |row| row.begins, &all), [""; 0]);
    assert_eq!(chosen(INTERRUPTED, |row| row.0, &all), [""; 0]);
    assert_eq!(chosen(FAILING, |row| row.0, &all), [""; 0]);
}

/// Options of other programs that the text mentions on their own.
const FOREIGN: &[&str] = &[
    "--address",
    "--array",
    "--bind-to",
    "--cpus",
    "--cpus-per-task",
    "--features",
    "--full",
    "--gpus-per-task",
    "--method",
    "--most-steps",
    "--no-default-features",
    "--oversubscribe",
    "--pin",
    "--quick",
    "--requeue",
    "--value",
];

/// Other programs, whose options are not checked.
const PROGRAMS: &[&str] = &["cargo ", "mpirun "];

/// The subcommands, with the options in the help of each.
fn helps() -> BTreeMap<String, Vec<String>> {
    fn collect(of: &str, helps: &mut BTreeMap<String, Vec<String>>) {
        let words = of.split_whitespace().skip(1);
        let output = Command::new(env!("CARGO_BIN_EXE_trisolar"))
            .args(words)
            .arg("--help")
            .output()
            .unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        helps.insert(of.into(), options(&help));
        let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
        for line in list.lines().take_while(|line| !line.is_empty()) {
            let name = line
                .strip_prefix("  ")
                .unwrap_or_default()
                .split(' ')
                .next()
                .unwrap_or_default();
            if !name.is_empty() && name != "help" {
                collect(&format!("{of} {name}"), helps);
            }
        }
    }
    let mut helps = BTreeMap::new();
    collect("trisolar", &mut helps);
    helps
}

/// The long options in a text.
fn options(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let words = text.split(|c| !is_part(c));
    let long = words.filter(|w| {
        w.strip_prefix("--")
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
    });
    long.map(String::from).collect()
}

#[test]
fn every_option_that_the_text_names_exists() {
    let helps = helps();
    assert!(
        helps["trisolar bench nbody"].contains(&"--tables".into()),
        "{helps:?}"
    );
    let mut wrong = Vec::new();
    for page in pages() {
        let prose = blocks(&text(&page)).1;
        for code in code_spans(&prose) {
            if PROGRAMS.iter().any(|program| code.starts_with(program)) {
                continue;
            }
            let known = |o: &String| {
                FOREIGN.contains(&o.as_str()) || helps.values().any(|all| all.contains(o))
            };
            let sub = helps
                .keys()
                .filter(|sub| code.starts_with(&format!("{sub} ")))
                .max_by_key(|sub| sub.len());
            for option in options(&code) {
                let is_right = match sub {
                    Some(sub) => helps[sub].contains(&option),
                    None => known(&option),
                };
                if !is_right {
                    wrong.push(format!("{page}: {option} in `{code}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files that the reader creates.
const TO_BE_MADE: &[&str] = &["kernels-gpu/src/kernels/squares.rs", "tests/squares.rs"];

/// The paths in a text that begin with a folder of the repository.
fn paths(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-/*<>$".contains(c);
    let words = text
        .split(|c| !is_part(c))
        .map(|w| w.trim_end_matches(['.', '/']));
    let is_ours = |word: &&str| {
        let is_plain = !word.contains(['*', '<', '>', '$']);
        let folder = word.split_once('/').map(|(folder, _)| folder);
        let folder = folder.filter(|f| !["", ".", "..", ".ci-cache", "target"].contains(f));
        is_plain && folder.is_some_and(|folder| root().join(folder).is_dir())
    };
    words.filter(is_ours).map(String::from).collect()
}

/// The anchors of the headings of a page, as GitHub forms them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// The destinations of the links of a page.
fn links(prose: &str) -> Vec<&str> {
    let targets = prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    targets
        .map(|(target, _)| target)
        .filter(|t| !t.contains("://"))
        .collect()
}

/// What the blocks of C use beside the interface.
const C_CONTEXT: &str = "\
#include <inttypes.h>
#include <stdio.h>
#include \"trisolar.h\"
static uint64_t shown;
static int32_t show(uint64_t done, uint64_t total, void *user) { *(uint64_t *)user = done; return done > total; }
";

/// Each block is the body of a function.
#[test]
fn every_block_of_c_compiles() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = C_CONTEXT.to_owned();
    let mut found = 0;
    for page in pages() {
        let (blocks, _) = blocks(&text(&page));
        for (_, block) in blocks.iter().filter(|(language, _)| language == "c") {
            found += 1;
            program += &format!(
                "void block_{found}(void) {{\n#line 1 \"{page}, a block of C\"\n{block}}}\n"
            );
        }
    }
    assert!(found >= 3, "{found}");
    let file = folder.path().join("blocks.c");
    fs::write(&file, program).unwrap();
    let output = Command::new("cc")
        .args([
            "-std=c11",
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-variable",
            "-Wno-unused-function",
        ])
        .arg("-I")
        .arg(root().join("include"))
        .arg(&file)
        .output()
        .expect("cc, with which rustc links");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn every_path_and_link_exists() {
    let mut wrong = Vec::new();
    let mut found = 0;
    for page in pages() {
        let text = text(&page);
        let (blocks, prose) = blocks(&text);
        let folder = Path::new(&page).parent().expect("a folder");
        let mut check = |name: &str, exists: bool| {
            found += 1;
            if !exists && !TO_BE_MADE.contains(&name) {
                wrong.push(format!("{page}: {name}"));
            }
        };
        // Links refer to files in a different way.
        let code = code_spans(&prose).join(" ");
        let listings = blocks
            .iter()
            .filter(|(language, _)| ["", "text", "sh"].contains(&&language[..]));
        let listings: String = listings.map(|(_, block)| &block[..]).collect();
        for path in paths(&code).into_iter().chain(paths(&listings)) {
            check(&path, root().join(&path).exists());
        }
        let everything = format!("{code} {listings}");
        let mut words = everything.split_whitespace();
        while let Some(word) = words.next() {
            if word == "--test" {
                let name = words.next().unwrap_or_default();
                let file = format!("tests/{name}.rs");
                let exists = [&file, &format!("tests/{name}/main.rs")]
                    .iter()
                    .any(|path| root().join(path).exists());
                check(&file, exists);
            }
        }
        for link in links(&prose) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = root().join(folder).join(file);
            let path = if file.is_empty() {
                root().join(&page)
            } else {
                path
            };
            let has_anchor = || {
                fs::read_to_string(&path)
                    .is_ok_and(|text| anchors(&text).contains(&anchor.to_owned()))
            };
            check(link, path.exists() && (anchor.is_empty() || has_anchor()));
        }
    }
    assert!(found > 200, "{found}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
