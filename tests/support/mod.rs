//! Functions that several tests of the program share.
#![allow(dead_code)] // Each test executable uses only some of these.

use std::path::Path;

use assert_cmd::Command;

/// The program, set up to run in this folder.
pub fn trisolar(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("trisolar").expect("the binary is built with the tests");
    command.current_dir(folder);
    command
}

/// Options in the place of those of `base` that have the same names, because the program refuses an option that is given twice. All options of
/// `base` have a value.
pub fn overriding<'a>(base: &[&'a str], options: &[&'a str]) -> Vec<&'a str> {
    let name = |option: &'a str| option.split('=').next().unwrap_or(option);
    let others = base
        .chunks(2)
        .filter(|pair| !options.iter().any(|option| name(option) == pair[0]));
    others.flatten().chain(options).copied().collect()
}

/// The sorted names in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The sorted names and contents of the files in a folder and in the folders in it.
pub fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let path = folder.join(&name);
        if path.is_dir() {
            let within = contents(&path).into_iter();
            return within
                .map(|(inner, bytes)| (format!("{name}/{inner}"), bytes))
                .collect();
        }
        vec![(name, std::fs::read(&path).unwrap())]
    };
    names(folder).into_iter().flat_map(read).collect()
}
