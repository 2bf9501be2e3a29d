//! The help of every command: short by `-h`, whole by `--help`, and examples in both.

use clap::Command;

/// The examples of each command, under its words after `trisolar`: an example in each line, and what it does. A test reads all of them as
/// command lines.
const EXAMPLES: &str = r#"
divergence:
    trisolar divergence # the headline map
    trisolar divergence --center 5.3,-0.45 --span 2 --size 1000 --out zoom.png # a part of it
    trisolar divergence --theme light --out map.pdf --out map.svg # pictures for a paper and a talk
    trisolar divergence --size 2000 --part 3/8 # the third of eight parts, for trisolar merge
    trisolar divergence --quantity ftle --integrator leapfrog # Lyapunov exponents
zoom:
    trisolar zoom --film zoom.gif # 500 maps and a film
    trisolar zoom --preset none --frames 60 --set 'span=40/2^(frame/10)' --out mine # a zoom of your own
sweep:
    trisolar sweep --vary mass2=5:40:16 # a map for each of 16 masses
    trisolar sweep --vary mass1=5:20:4 --vary mass2=5:20:4 --size 100 # a matrix of maps
compare:
    trisolar compare --size 200 # precisions beside each other
    trisolar compare --modes explicit-euler,leapfrog,rk4 --size 200 # integrators beside each other
cluster:
    trisolar cluster --n 1024 --end 10 --every 1 --plots run # a Plummer sphere
    trisolar cluster --model burrau # Burrau's three bodies to their end
    trisolar cluster --n 4096 --checkpoint run.npz # a run that --resume run.npz continues
nbody:
    trisolar nbody --model figure-eight # a period, with pictures in the folder figure-eight
    trisolar nbody --model solar-system --end 3650 --out in-ten-years.csv # the planets after ten years
    trisolar nbody --input start.csv --units au,yr,msun --dt 1e-3 --end 5 --plots run # bodies of your own
    trisolar nbody --model burrau --integrator adaptive # close encounters, by steps of their own
    trisolar nbody --model kepler --integrator leapfrog,forest-ruth --end 100 --plots compared # the errors of two integrators in one picture
encounters:
    trisolar encounters --n 1e5 --out runs.npz # records of 100000 encounters
    trisolar encounters --map phase,inclination --size 200 --out map.png # a map of outcomes
encounters zoom:
    trisolar encounters zoom --map phase,inclination --argument 270 --to 230.276,24 --film zoom.gif # maps of outcomes towards a point, and a film
encounters sweep:
    trisolar encounters sweep --vary e=0:0.9:10 --n 1000 # records of encounters for each of 10 eccentricities
planets:
    trisolar planets --planet m=1mjup,a=5.2 --planet m=0.3mjup,a=7:10:64,e=0:0.5:64 --out map.png # a map of MEGNO over a and e of the outer planet
    trisolar planets --planet a=2:4:400,e=0:0.4:100 --planet m=1mjup,a=5.2,e=0.05 --out belt.png # test particles inside of Jupiter's orbit
planets zoom:
    trisolar planets zoom --planet m=1mjup,a=5.2 --planet a=7:10:64,e=0:0.5:64 --to 8.25,0.1 # maps of MEGNO of test particles towards a resonance
planets sweep:
    trisolar planets sweep --planet m=1mjup,a=5.2 --planet a=7:9:64,e=0:0.5:64 --vary m1=0:1e-3:6 # a map for each of six masses, with a sheet of all
    trisolar planets sweep --preset trappist-1 --years 100 --vary step=0.1,0.05,0.025 # whether a step is short enough
draw:
    trisolar draw map.npz --out map.svg --colormap viridis # a map with other colours, in a moment
    trisolar draw encounters.npz --plots plots # the distributions of encounters
    trisolar draw run.npz --plots light --theme light --film run.gif # the pictures and a film of a run, from its checkpoint
atlas:
    trisolar atlas map.npz --plots map # the outcomes of trisolar encounters --map ... --out map.npz, with pictures
    trisolar atlas megno.npy --limits 2.5 # regular and chaotic systems of trisolar planets
new:
    trisolar new lorenz # a program for the equations of Lorenz, to be changed to yours
    trisolar new galaxy --template henon-heiles # a program that begins with a Hamiltonian
map:
    trisolar map --ode "x'=s*(y-x); y'=x*(r-z)-y; z'=x*y-b*z" --set s=10,b=8/3 --map r=0:100,y=-20:20 # the exponent of the Lorenz model over a parameter and a start value
    trisolar map --iterate "x'=1-a*x^2+y; y'=b*x" --map a=1:1.4,b=0:0.4 --end 500 # that of the map of Henon over its parameters
    trisolar map --ode "x'=v; v'=-x-c*v; far: x > 3" --set c=0.1 --value outcome,time --out map.npz # an outcome, and when it was reached, for trisolar atlas
map zoom:
    trisolar map zoom --iterate "x'=1-a*x^2+y; y'=b*x" --map a=1:1.4,b=0:0.4 --to 1.2,0.3 # exponents of the map of Henon, towards a point
map sweep:
    trisolar map sweep --iterate "x'=r*x*(1-x)" --draw x=uniform:0:1 --n 100 --vary r=3:4:101 # exponents of the logistic map over its parameter
merge:
    trisolar merge map.npy.1-of-2.part map.npy.2-of-2.part # the map of two runs with --part 1/2 and --part 2/2
    trisolar merge zoom.1-of-2 zoom.2-of-2 # the folder zoom, with its film
explore:
    trisolar explore --open # maps in the browser
devices:
    trisolar devices --json # the devices, for scripts
selftest:
    trisolar selftest # all engines of this machine
    trisolar selftest --quick # the same engines, with less to compute
    trisolar selftest --simd scalar # the scalar code only
bench:
    trisolar bench divergence # maps, beside the limit of the machine
    trisolar bench nbody --backend cpu --simd avx2 # one instruction set
bench divergence:
    trisolar bench divergence --backend cpu # the engines of the CPU
    trisolar bench divergence --json # the measurements, for scripts
bench ladder:
    trisolar bench ladder --blocks 64,128 # two sizes of blocks
bench cluster:
    trisolar bench cluster --n 1024,4096 --order 6 # two numbers of particles, one order
bench encounters:
    trisolar bench encounters --backend cpu # the engines of the CPU
bench planets:
    trisolar bench planets --planets 3 --backend cpu # systems of three planets on the engines of the CPU
bench nbody:
    trisolar bench nbody --plot rates.svg # the speed over the number of bodies, as a picture
bench solvers:
    trisolar bench solvers --json # the tables, for scripts
completions:
    trisolar completions bash > ~/.local/share/bash-completion/completions/trisolar # for bash
man:
    trisolar man ~/.local/share/man/man1 # pages for man trisolar
"#;

/// Adds the examples to the help of the commands, and moves descriptions that are too long for `-h` to `--help`.
pub(crate) fn complete(command: Command) -> Command {
    command.mut_subcommands(|inner| {
        let words = inner.get_name().to_owned();
        complete_inner(inner, &words)
    })
}

/// The same for one command, which is typed with these words after `trisolar`.
fn complete_inner(command: Command, words: &str) -> Command {
    let examples = in_words(words);
    let notes = command.get_after_help().map(ToString::to_string);
    let command = match (examples, notes) {
        (Some(examples), Some(notes)) => {
            let long = format!("{notes}\n\n{examples}");
            command.after_help(examples).after_long_help(long)
        }
        (Some(examples), None) => command.after_help(examples),
        (None, _) => command,
    };
    let command = command.mut_args(|arg| {
        let Some(help) = arg.get_help().map(ToString::to_string) else {
            return arg;
        };
        match brief(&help) {
            Some(brief) if arg.get_long_help().is_none() => arg.help(brief).long_help(help),
            _ => arg,
        }
    });
    command.mut_subcommands(|inner| {
        let words = format!("{words} {}", inner.get_name());
        complete_inner(inner, &words)
    })
}

/// The examples of the command that is typed with these words after `trisolar`, each with what it does.
pub(crate) fn of(words: &str) -> Option<Vec<(&'static str, &'static str)>> {
    let (_, examples) = EXAMPLES.split_once(&format!("\n{words}:\n"))?;
    let lines = examples.lines().map_while(|line| line.strip_prefix("    "));
    Some(lines.filter_map(|line| line.split_once(" # ")).collect())
}

/// What the help says of the examples of a command.
fn in_words(words: &str) -> Option<String> {
    let lines = of(words)?.into_iter();
    let lines = lines.map(|(command, what)| format!("\n  {command}\n      {what}"));
    Some(format!("Examples:{}", lines.collect::<String>()))
}

/// Longest default that the short description repeats.
const MAX_DEFAULT: usize = 40;

/// The beginning of a description, up to the first list, second thought or second sentence outside of parentheses, with the default if
/// that is short; `None` if nothing is left out.
fn brief(help: &str) -> Option<String> {
    let (text, default) = match help.find(" [default: ") {
        Some(at) => help.split_at(at),
        None => (help, ""),
    };
    let mut depth = 0;
    let mut end = text.len();
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            // A single word before a colon says too little: it is the name of a model, or of the option.
            ':' if !text[..at].contains(' ') => {}
            ':' | ';' | '.' if depth == 0 && text[at + 1..].starts_with([' ', '\n']) => {
                end = at;
                break;
            }
            '\n' if depth == 0 => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let default = default.lines().next().unwrap_or_default();
    let default = if default.len() <= MAX_DEFAULT {
        default
    } else {
        ""
    };
    let brief = format!("{}{default}", &text[..end]);
    (brief != help).then_some(brief)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_description_ends_before_lists_and_second_thoughts() {
        for (help, short) in [
            (
                "Start model: plummer or king [default: plummer]",
                Some("Start model [default: plummer]"),
            ),
            ("Softening length (length) [default: 0]", None),
            (
                "Fail (code 1; or more). Always",
                Some("Fail (code 1; or more)"),
            ),
            ("Time at which the run ends, of 1.5 years", None),
            (
                "king: the potential; 0.1 to 16",
                Some("king: the potential"),
            ),
            ("How [default: a]\na: fast", Some("How [default: a]")),
        ] {
            assert_eq!(brief(help).as_deref(), short, "{help}");
        }
    }
}
