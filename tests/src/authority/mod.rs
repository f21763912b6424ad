//! An authorization server and an MCP server that wants its tokens, in this process, over HTTP.
//!
//! ```no_run
//! use trunkline_tests::authority::*;
//!
//! let authority = Authority::start();
//! let server = Protected::start(&authority);
//! authority.set(|it| it.iss = Iss::Missing); // at any time, also in the middle of a run
//! server.set(|it| it.scopes.push(("tools/call", "files:write")));
//! // … log a client in to server.url(); its browser is `browser::location(url)` or `browser::follow(url)`. Then:
//! assert_eq!(authority.grants("authorization_code"), 1);
//! assert_eq!(authority.refusals(), [""; 0]);
//! ```
//!
//! Both check all that they are sent, as strictly as the standards let them. What is wrong they refuse, and say in
//! [`Authority::refusals`] and [`Protected::refusals`] why: a test that expects no trouble asserts that both are empty.
//!
//! # The authorization server
//!
//! | path | what |
//! | --- | --- |
//! | metadata | where [`Settings::form`] says, below [`Settings::issuer_path`] or beside it; its fields are changed by [`Settings::patch`] |
//! | `/register` | dynamic registration (RFC 7591) |
//! | `/authorize` | asks nobody: 302 to the redirect URI with a code, or with an error ([`Settings::denies`]) |
//! | `/token` | `authorization_code`, `refresh_token`, `client_credentials`, JWT bearer, token exchange |
//!
//! Whichever path: [`Settings::statuses`] answers it with a status of its own.
//!
//! # The MCP server
//!
//! An [`HttpScript`](crate::http::HttpScript) behind a guard that asks its authority for each token: [`Guard`] has the
//! settings. [`Protected::turn_to`] switches to another authority; [`together`] has both under one origin, as revision
//! 2025-03-26 wants it.

mod authorize;
pub mod browser;
mod client;
mod form;
mod grants;
mod guard;
mod handle;
mod key;
mod memory;
mod metadata;
mod proof;
mod protected;
mod refusal;
mod register;
mod settings;
mod state;
mod token;

pub use guard::Guard;
pub use handle::Authority;
pub use key::TestKey;
pub use memory::Known;
pub use protected::{Protected, together};
pub use settings::{Dpop, Form, Iss, Settings};
