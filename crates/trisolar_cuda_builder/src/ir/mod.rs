//! LLVM's text form of a program: what rustc writes, what the tools of `llvm-tools` read, and what happens in between.
//!
//! rustc merges all crates of a program and writes them without having optimised them. [`edit`] adds what rustc cannot express, LLVM
//! optimises, and [`divide`] makes modules of the result. The text is taken apart only as far as needed, by its own rules; where something
//! is not as expected, the build ends with an error.

mod addresses;
mod atomics;
pub mod divide;
pub mod edit;
pub mod lines;
mod listing;
pub mod moves;
mod text;
