//! Clients from a configuration: one for each entry, its variables looked up when it connects.

use std::sync::Arc;
use std::time::Duration;

use super::Client;
use super::builder::ClientBuilder;
use crate::config::{Config, Entry, ServerSpec};
use crate::connection::SharedConnection;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::managed::{Managed, Plan, Planned, Setup};
use crate::multi::MultiServer;

impl ClientBuilder {
    /// One client for each enabled entry, in the file's order. What is set on this builder (timeouts, handler,
    /// limits, ...) holds for all of them, before what their entries say. Does no I/O.
    ///
    /// ```
    /// use trunkline::{ClientBuilder, Config};
    ///
    /// let config = Config::parse(r#"{"mcpServers": {"time": {"command": "mcp-server-time"}}}"#)?;
    /// let clients = ClientBuilder::new().each(&config)?;
    /// assert_eq!(clients[0].label(), "time");
    /// # Ok::<(), trunkline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) when this builder has a transport, or a label, of its own.
    pub fn each(&self, config: &Config) -> Result<Vec<Client>> {
        self.check_shared()?;
        config.entries().iter().filter(|entry| !entry.disabled()).map(|entry| self.entry(entry)).collect()
    }

    /// The client of one entry, as [`each`](Self::each) makes them.
    ///
    /// # Errors
    /// As [`each`](Self::each).
    pub fn entry(&self, entry: &Entry) -> Result<Client> {
        self.check_shared()?;
        Ok(Client::new(Managed::new(self.entry_setup(entry)), self.is_namespaced()))
    }

    /// The only server of a configuration, or its servers united.
    pub(super) fn configured(self, config: &Config) -> Result<Setup> {
        let enabled: Vec<_> = config.entries().iter().filter(|entry| !entry.disabled()).collect();
        match enabled.as_slice() {
            [] => Err(match config.problems().first() {
                Some(problem) => problem.to_error(),
                None => Error::config("The configuration has no server that is enabled"),
            }),
            [entry] => {
                let label = self.own_label();
                let mut setup = self.entry_setup(entry);
                setup.label = label.unwrap_or(setup.label);
                Ok(setup)
            }
            _ => {
                let mut multi = MultiServer::with_limits(self.own_limits());
                for entry in enabled {
                    multi.add(Client::new(Managed::new(self.entry_setup(entry)), false))?;
                }
                let unbounded = self.off_the_record().timeout(Duration::ZERO).max_timeout(Duration::ZERO); // each server has its own
                Ok(unbounded.setup_of_existing(SharedConnection::new(multi), "multi"))
            }
        }
    }

    fn entry_setup(&self, entry: &Entry) -> Setup {
        let environment = self.own_environment();
        let resolved = entry.resolve(&environment);
        let (owned, snapshot) = (entry.clone(), environment);
        let plan: Plan = Arc::new(move || owned.resolve(&snapshot).map(Planned::Server));
        let shown = resolved.as_ref().ok().map(ServerSpec::shown);
        let mut limits = self.own_limits();
        entry.bounds().apply(&mut limits);
        let base = self.clone().limits(limits);
        let base = match &resolved {
            Ok(spec) => base.with_entry_timeouts(spec.timeout, spec.start_timeout, spec.max_timeout),
            Err(_) => base, // told when it is used
        };
        let setup = base.setup_of(entry.label().to_owned(), plan, shown);
        let origin = Some(entry.origin()).filter(|origin| origin.is_in_file()).map(ToString::to_string);
        let strict_output = self.is_strict() || entry.strict_output();
        Setup { label: entry.label().to_owned(), required: entry.required(), strict_output, origin, ..setup }
    }

    fn own_environment(&self) -> Environment {
        self.environment.clone().unwrap_or_else(Environment::from_process)
    }
}
