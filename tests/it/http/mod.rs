//! The client over HTTP, against a scripted server that plays what goes wrong.

mod sessions;
