//! The catalogue of public faults: what users of MCP clients reported, each as tests named after its case (`p01_…`), in the
//! module of its area. `docs/robustness.md` lists every case with its tests; `catalogue` keeps that page true.

mod caps;
mod catalogue;
mod content;
mod eras;
mod framing;
mod gateway;
mod http;
mod lists;
mod lock;
mod multi;
mod outputs;
mod process;
mod rpc;
