//! Tests of the program. All subcommands share one executable, because each executable takes time to link and start.

mod accuracy;
mod agreement;
mod atlas;
mod bad_input;
mod bench_solvers;
mod body_files;
mod cluster;
mod compare;
mod config;
mod draw;
mod encounter_sequences;
mod encounters;
mod explore;
mod gpus;
mod help;
mod machine;
mod map;
mod nbody;
mod new;
mod outputs;
mod parameters;
mod parts;
mod planets;
mod points;
mod reading;
mod record_sequences;
mod resume;
mod run;
mod simd;
#[path = "../support/mod.rs"]
mod support;
mod sweep;
mod wide_maps;
mod zoom;
