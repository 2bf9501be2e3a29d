//! Equations as text, such as `x'=s*(y-x); y'=x*(r-z)-y; z'=x*y-b*z`: flows and iterated maps of anybody, without a compiler.
//!
//! - [`text`]: from the text to a graph
//! - [`graph`]: operations in their order, each once
//! - [`interpret`]: a graph as equations for symbols
//! - [`mod@trace`]: items from start to end as graphs: integrators and tangent vectors are those of [`trisolar_equations`]
//! - [`block`]: these graphs as a program for blocks of lanes
//! - [`ptx`]: these graphs as a kernel for NVIDIA GPUs
//! - [`system`]: all of this as an ensemble

pub mod block;
pub mod graph;
pub mod interpret;
pub mod ptx;
pub mod system;
pub mod text;
pub mod trace;

pub use block::Program;
pub use graph::{Function, Graph, Node, Operation};
pub use system::{Text, kept};
pub use text::{Equations, TextError};
pub use trace::{Traced, trace};
