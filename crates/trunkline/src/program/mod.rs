//! How a program is started with its arguments, as this system wants it. Leaves what is done with it to its users.

#[cfg(any(windows, test))]
mod windows;

use std::io;

use tokio::process::Command;

use crate::environment::Environment;

/// The command that starts `program` with exactly these arguments. No shell reads them; on Windows, a batch file gets
/// them by cmd.exe's rules.
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput) for an argument that can't be handed on as it is.
pub(crate) fn command(program: &str, args: &[String], environment: &Environment) -> io::Result<Command> {
    #[cfg(windows)]
    {
        let variable = |name: &str| environment.get(name).unwrap_or_default();
        let places = windows::Places {
            path: variable("PATH"),
            pathext: variable("PATHEXT"),
            system_root: environment.get("SystemRoot").unwrap_or("C:\\Windows"),
            is_file: &|path| std::path::Path::new(path).is_file(),
        };
        let invocation = windows::invocation(program, args, &places)
            .map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let mut command = Command::new(invocation.program);
        command.raw_arg(invocation.line);
        Ok(command)
    }
    #[cfg(not(windows))]
    {
        let _ = environment;
        let mut command = Command::new(program);
        command.args(args);
        Ok(command)
    }
}
