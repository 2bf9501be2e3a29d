//! First guesses: what users of other programs type, and what it is called here. Names that mean the same are accepted; where the answer is
//! not one word, the error says it. The help lists none of them.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Other names of options, in every command that has the option and no other one of that name.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("colormap", &["cmap", "colourmap", "palette"]),
    ("dt", &["timestep", "time-step"]),
    ("end", &["t-end", "tend", "tmax", "t-max", "time"]),
    ("eccentricity", &["e", "ecc"]),
    ("every", &["interval", "output-interval"]),
    ("film", &["movie", "video", "gif", "animate"]),
    ("impact", &["b", "impact-parameter"]),
    ("input", &["file"]),
    ("map", &["axes", "axis"]),
    ("mass-ratio", &["q"]),
    ("max-time", &["end", "time", "tmax"]),
    ("method", &["integrator"]),
    ("integrator", &["method"]),
    ("model", &["profile"]),
    ("n", &["N", "number", "particles", "runs"]),
    ("out", &["output"]),
    ("perturb", &["perturbation"]),
    ("plots", &["plot"]),
    ("semi-major", &["a", "sma"]),
    ("set", &["parameters", "params", "param"]),
    ("size", &["resolution", "pixels"]),
    ("snapshots", &["snapshot"]),
    ("threads", &["cores", "cpus", "jobs"]),
    ("tolerance", &["tol", "rtol"]),
    ("v-inf", &["v", "vinf", "velocity"]),
];

/// Letters of options.
const LETTERS: &[(&str, char)] = &[("out", 'o'), ("n", 'n')];

/// Other names of commands.
const COMMANDS: &[(&str, &[&str])] = &[
    ("bench", &["benchmark"]),
    ("cluster", &["clusters"]),
    ("draw", &["plot"]),
    ("encounters", &["encounter", "scatter", "scattering"]),
    ("explore", &["explorer", "gui", "view"]),
    ("planets", &["planet", "stability"]),
];

/// Answers to commands that do not exist. A line of this table and of those below has the command or the option that it is for (nothing: any),
/// the guesses, and the answer.
const ABOUT_COMMANDS: &str = "
| simulate run integrate orbit orbits | trisolar nbody integrates bodies, cluster star clusters, encounters three bodies to their end, planets planetary systems
| threebody three-body 3body chaos | trisolar divergence computes maps of three bodies, encounters follows three bodies to their end
| burrau pythagorean figure-eight figure8 kepler plummer solar-system | known systems are start models: trisolar nbody --model NAME
| lyapunov ftle megno | trisolar divergence --quantity ftle, planets and map compute indicators of chaos
| lorenz ode equations henon | trisolar map --ode TEXT or --iterate TEXT takes equations as text
| basins basin fractal | trisolar atlas analyses a map of outcomes
| gpu gpus info | trisolar devices lists GPUs and CPU
| integrators compare-integrators | trisolar nbody --integrator NAME,NAME,... --plots FOLDER draws the errors of several integrators
| convert export | results have the format that the names of --out ask for: .npz, .csv, and more
| energy series elements | trisolar nbody --series FILE.csv has energies and momenta over time, planets --out the elements
| film movie animate | --film FILE of nbody and cluster, and trisolar zoom
| resume continue restart | --resume FILE of the command whose run was interrupted
| test check | trisolar selftest checks this machine
";

/// Answers to options that do not exist.
const ABOUT_OPTIONS: &str = "
planets | units | lengths are in au, masses in solar masses (or 1mjup, 1mearth), times in years, angles in radians (or 10deg)
encounters | units | G = 1: with astronomical units and solar masses a year is 2π units of time, and 1 km/s is 0.03357
cluster | units | G = 1, and models have mass 1 and energy -1/4 (docs/collapse.md has parsecs and years)
| units | numbers have no units of their own: nbody --units au,yr,msun says which units all of them are in, and --g ties others together
| cpu | --backend cpu
| gpu cuda | --backend gpu
nbody | periods orbits years | --end TIME, in the units of the start or of --units; models with a period take one without it
nbody | body planet planets add | --input FILE reads bodies, one a line; trisolar planets --planet m=...,a=...,e=... takes orbital elements
nbody | stop until escape-radius max-distance min-distance | a run of nbody ends at --end; encounters and planets end with an escape or an encounter
nbody | save | --out FILE for the last state, --snapshots FOLDER for all, --checkpoint FILE to resume or draw again
nbody | tree theta opening-angle fmm barnes-hut | nbody evaluates all pairs of bodies, without a tree
nbody | collisions collision merge radii | bodies of nbody are points; encounters --radii ends with a collision
nbody | relativity gr j2 drag tides | planets has relativity, tides and radiation; trisolar map --ode takes equations of your own
cluster | mass radius half-mass-radius rh | G = 1, and models have mass 1 and energy -1/4 (docs/collapse.md has parsecs and years)
cluster | tidal-field tides galaxy potential | clusters are isolated: there is no field of a galaxy
encounters | cross-section | --draw impact=disc:0:B: the share of an outcome times π B² is its cross section
divergence | lyapunov ftle | --quantity ftle
divergence | zoom | trisolar zoom makes a film; --center X,Y and --span WIDTH set the view
divergence | bounds extent range xlim ylim limits | --center X,Y and --span WIDTH
planets | n-planets | --planet m=...,a=...,e=... once for each planet
cluster | until stop core-collapse | --end is a time; docs/collapse.md says when the core of N stars collapses
cluster | imf kroupa salpeter mass-function binaries binary-fraction | models have equal masses; --input reads bodies of your own
cluster | regularize regularise regularized regularised ks | --close-pairs regularised
cluster | integrator method | the scheme is Hermite's: --order 4, 6 or 8
cluster | dt step | each particle has steps of its own: --eta and --max-step
encounters | integrator method | --order 2, 6 or 8, with --steps-per-period
encounters | dt step | steps follow the encounters: --steps-per-period
encounters | model | --setup binary-single, free-fall or burrau
divergence | model | --masses, --positions and --velocities give the start; trisolar nbody --model integrates known orbits
divergence | end time tmax t-end | --steps, times --dt
map | masses mass m | trisolar map is for equations; maps of three bodies are trisolar divergence and encounters
planets | map vary x y | LOW:HIGH:N in the place of a number is an axis, such as --set a2=7:10:64
planets | model system | --preset
planets | end time tmax t-end | --years
planets | dt | --step, in years or as 0.05P
planets | gr | --relativity potential or full
planets | megno | MEGNO is what is observed unless --observable says otherwise
planets | star-mass mass | --star
";

/// Answers to values that are not allowed, with the option before each.
const ABOUT_VALUES: &str = "
integrator | verlet stormer-verlet kdk | velocity-verlet
integrator | euler | explicit-euler, or symplectic-euler
integrator | yoshida yoshida4 symplectic-4 | forest-ruth, which is of order 4 and symplectic
integrator | ias15 rkf45 rk45 rk78 bulirsch-stoer bs hermite taylor | steps of their own have nbody and planets by adaptive (order 8), trisolar cluster --order 8 (each body its own), encounters, and maps by regularised-6
integrator | whfast wh mercurius trace saba | trisolar planets has Wisdom-Holman: --integrator wisdom-holman or hybrid
quantity | lyapunov lce mle megno | ftle, the finite-time Lyapunov exponent
quantity | min-distance distance | closest-approach
model | figure8 figure-8 eight | figure-eight
model | binary two-body sun-earth earth-moon | kepler, two bodies on an ellipse: --semi-major, --eccentricity, --mass-ratio, and --units au,yr,msun
model | three-body pythagorean-problem | burrau, figure-eight or lagrange
integrator | rk8 dopri dopri8 gauss-radau rk-dp | adaptive, the method of Dormand & Prince of order 8
observable | lifetime escape | time
observable | chaos | megno or lyapunov
stop | escape ejection | r>DISTANCE, such as r>20
stop | encounter collision | hill<NUMBER, such as hill<1
e | thermal | --draw e=thermal draws a number for each run
inclination | isotropic random | --draw inclination=isotropic draws a number for each run
";

/// Adds the other names to the commands and their options.
pub(super) fn accepted(command: Command) -> Command {
    let command = command.mut_subcommands(|inner| {
        let others = COMMANDS.iter().find(|(name, _)| *name == inner.get_name());
        let others = others.map_or(&[][..], |(_, others)| *others);
        accepted(inner.aliases(others))
    });
    let mut taken: Vec<String> = Vec::new();
    for option in command.get_arguments() {
        taken.extend(option.get_long().map(String::from));
        let others = option.get_all_aliases().unwrap_or_default();
        taken.extend(others.into_iter().map(String::from));
    }
    let letters: Vec<char> = command
        .get_arguments()
        .filter_map(|o| o.get_short())
        .collect();
    command.mut_args(|option| {
        let Some(name) = option.get_long().map(String::from) else {
            return option;
        };
        let mut option = option;
        for (_, others) in SYNONYMS.iter().filter(|(of, _)| *of == name) {
            for other in others.iter() {
                if !taken.iter().any(|name| name == other) {
                    taken.push((*other).into());
                    option = option.alias(*other);
                }
            }
        }
        for (_, letter) in LETTERS.iter().filter(|(of, _)| *of == name) {
            if !letters.contains(letter) {
                option = option.short_alias(*letter);
            }
        }
        option
    })
}

/// The error with an answer to the guess that it refuses, and without the suggestion of a name that is hardly like it. `words` are those of
/// the command line, without the program's name.
pub(super) fn answered(mut error: Error, words: &[String]) -> Error {
    let text = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let command = words.first().map_or("", String::as_str);
    let (answer, suggested) = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let guess = text(&error, ContextKind::InvalidSubcommand);
            let found = find(ABOUT_COMMANDS, "", &guess);
            (found, Some((ContextKind::SuggestedSubcommand, guess)))
        }
        ErrorKind::UnknownArgument => {
            let guess = text(&error, ContextKind::InvalidArg);
            let guess = guess.trim_start_matches('-').to_owned();
            let found = find(ABOUT_OPTIONS, command, &guess);
            (found, Some((ContextKind::SuggestedArg, guess)))
        }
        ErrorKind::ValueValidation => {
            let option = text(&error, ContextKind::InvalidArg);
            let option = option.split(' ').next().unwrap_or_default();
            let whole = text(&error, ContextKind::InvalidValue);
            let option = option.trim_start_matches('-');
            let said = std::error::Error::source(&error).map(ToString::to_string);
            let said = said.unwrap_or_default();
            // The name in a list of names that is not allowed.
            let mut names = whole.split(',').map(str::trim);
            let guess = match option {
                "integrator" => {
                    names.find(|name| !said.split([' ', ',']).any(|known| known == *name))
                }
                _ => None,
            };
            let guess = guess.map_or_else(|| whole.clone(), ToOwned::to_owned);
            let found = find(ABOUT_VALUES, option, &guess);
            let found = found.or_else(|| of_number(command, &guess, &said));
            (found.or_else(|| among(&said, &guess)), None)
        }
        _ => return error,
    };
    if let Some((kind, guess)) = suggested {
        let alike = match error.get(kind) {
            Some(ContextValue::String(name)) => is_like(name, &guess),
            Some(ContextValue::Strings(names)) => names.iter().any(|name| is_like(name, &guess)),
            _ => true,
        };
        if !alike || answer.is_some() {
            error.remove(kind);
            error.remove(ContextKind::Usage);
        }
    }
    if let Some(answer) = answer {
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![answer.into()]),
        );
    }
    error
}

/// The answer to a guess in a table, for a command or an option.
fn find(table: &str, of: &str, guess: &str) -> Option<String> {
    let guess = guess.to_lowercase().replace('_', "-");
    table.lines().find_map(|line| {
        let (whose, answered) = line.split_once("| ")?;
        let (guesses, answer) = answered.split_once(" | ")?;
        let fits = whose.is_empty() || whose.trim_end() == of;
        let fits = fits && guesses.split(' ').any(|known| known == guess);
        fits.then(|| answer.to_owned())
    })
}

/// The answer to a number with a unit, or to a range in the place of a number.
fn of_number(command: &str, guess: &str, said: &str) -> Option<String> {
    if !said.ends_with("is not a number") || !guess.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match guess.contains(':') {
        true if command == "encounters" => {
            Some("--draw NAME=LAW:LOW:HIGH draws a number for each run, and --map X=LOW:HIGH makes it an axis".into())
        }
        true => None,
        // Clusters have the units of encounters.
        false => {
            let natural = ["encounters", "cluster"].contains(&command);
            find(ABOUT_OPTIONS, if natural { "encounters" } else { "" }, "units")
        }
    }
}

/// The name in a list of those that are allowed which is most probably meant.
fn among(said: &str, guess: &str) -> Option<String> {
    let (_, list) = said.split_once("must be ")?;
    let list = list.trim_start_matches("one of ").replace(" or ", ", ");
    let found = list
        .split(", ")
        .find(|name| !name.contains(' ') && is_like(name, guess))?;
    Some(format!("did you mean {found}?"))
}

/// Whether a name may be meant by a guess: it begins with it, or two letters at most differ.
fn is_like(name: &str, guess: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    let (name, guess) = (plain(name), plain(guess));
    if guess.len() >= 3 && (name.starts_with(&guess) || guess.starts_with(&name) && name.len() >= 3)
    {
        return true;
    }
    let most = if guess.len() < 5 { 1 } else { 2 };
    strsim::osa_distance(&name, &guess) <= most
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    /// What is printed for a command line that is refused.
    fn said(line: &str) -> String {
        parse(line.split(' ').map(Into::into).collect())
            .expect_err(line)
            .to_string()
    }

    #[test]
    fn a_guess_gets_its_answer_and_no_name_that_is_not_like_it() {
        for (line, answer) in [
            ("simulate", "trisolar nbody integrates"),
            ("nbody --units au", "such as au,yr,msun"),
            ("nbody --integrator ias15", "nbody and planets by adaptive"),
            ("nbody --integrator verlet", "tip: velocity-verlet"),
            ("nbody --integrator leapfrog,verlet", "tip: velocity-verlet"),
            ("nbody --model figure8", "tip: figure-eight"),
            ("nbody --model sun-earth", "kepler, two bodies"),
            ("nbody --stop r>20", "ends at --end"),
            ("cluster --kroupa", "--input reads bodies"),
            ("divergence --xlim 1", "--center X,Y"),
            ("movie", "--film FILE"),
            (
                "cluster --close-pairs regularized",
                "did you mean regularised?",
            ),
            ("planets --preset trappist1", "did you mean trappist-1?"),
            ("planets --preset solar", "did you mean solar-system?"),
            ("planets --time 100", "--years"),
            ("encounters --e thermal", "--draw e=thermal"),
            ("encounters --v-inf 10km/s", "0.03357"),
            ("nbody --softening 0.1pc", "nbody --units au,yr,msun"),
            ("encounters --impact 0:10", "--draw NAME=LAW"),
            ("nbody --step 5", "'--steps'"),
        ] {
            let said = said(line);
            assert!(said.contains(answer), "{line}: {said}");
        }
        for (line, wrong) in [
            ("nbody --perturbate 1e-3", "--port"),
            ("cluster --imf kroupa", "--simd"),
            ("nbody --frobnicate", "tip"),
        ] {
            let said = said(line);
            assert!(!said.contains(wrong), "{line}: {said}");
        }
    }

    #[test]
    fn names_of_other_programs_are_accepted() {
        for line in [
            "plot runs.npz --output a.png",
            "divergence --resolution 30 -o out.png --cmap viridis",
            "nbody -n 64 --tmax 1",
            "map --ode x'=x --params a=1 --integrator rk4",
            "encounter --plot run",
        ] {
            assert!(
                parse(line.split(' ').map(Into::into).collect()).is_ok(),
                "{line}"
            );
        }
    }
}
