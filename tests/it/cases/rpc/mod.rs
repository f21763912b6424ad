//! What goes over the wire once it is framed: answers, questions, progress, cancellation.

mod answers;
mod cancel;
mod progress;
mod questions;
