//! Tables, JSON, HTML with SVG plots, Perfetto traces. Knows results and timelines, not how they came about.

pub mod model;
pub use model::*;
