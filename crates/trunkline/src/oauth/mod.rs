//! The OAuth 2.1 client: from a server's refusal to a token, and from there to the next one (MCP specification,
//! Authorization). How a login is kept and how a person is asked is said by traits; HTTP is left to `transport`.

mod address;
mod authority;
mod client;
mod consent;
mod dpop;
mod flow;
mod grant;
mod grants;
mod keeper;
mod key;
mod login;
mod loopback;
mod need;
mod person;
mod protected;
mod random;
mod refusals;
mod renew;
mod scopes;
mod settings;
mod store;
mod token;
mod token_store;
mod tried;

pub use consent::{Consent, ConsentRequest, Redirect};
pub use grant::{Assertion, Grant, IdentityProvider};
pub(crate) use keeper::Keeper;
pub use key::SigningAlgorithm;
pub use login::{ClientAuth, Login, LoginKey, Registration, TokenType};
pub use loopback::Loopback;
pub use settings::OAuth;
pub use store::{FileStore, MemoryStore};
pub use token_store::{StoreGuard, TokenStore};
