//! The OAuth 2.1 client: from a server's refusal to a token, and from there to the next one (MCP specification,
//! Authorization). How a login is kept and how a person is asked is said by traits; HTTP is left to `transport`.

#![allow(dead_code, reason = "the flow that uses it all is being built")]

mod consent;
mod grant;
mod key;
mod login;
mod loopback;
mod settings;
mod store;
mod token_store;

pub use consent::{Consent, ConsentRequest, Redirect};
pub use grant::{Grant, IdentityProvider};
pub use key::SigningAlgorithm;
pub use login::{ClientAuth, Login, LoginKey, Registration, TokenType};
pub use loopback::Loopback;
pub use settings::OAuth;
pub use store::{FileStore, MemoryStore};
pub use token_store::{StoreGuard, TokenStore};
