//! What tests of the program have in common.
#![allow(dead_code)] // Each test uses some of it.

use std::path::Path;

use assert_cmd::Command;

/// The program, to be run in this folder.
pub fn trisolar(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("trisolar").expect("the binary is built with the tests");
    command.current_dir(folder);
    command
}

/// Names of what is in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Names and contents of a folder's files, sorted.
pub fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        (name, bytes)
    };
    names(folder).into_iter().map(read).collect()
}
