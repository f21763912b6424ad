//! A terminal for the program to run at, and a person's hands and eyes on it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::harness::wait_until;

/// A terminal with a program at it, whose standard output goes elsewhere.
pub(crate) struct Terminal {
    keys: File,
    pub(crate) shown: Arc<Mutex<String>>,
    pub(crate) child: Child,
}

impl Terminal {
    pub(crate) fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let slave = File::from(slave);
        command.stdin(slave.try_clone().unwrap()).stderr(slave).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        drop(command); // its copies of the terminal
        let keys = File::from(master);
        let (mut screen, shown) = (keys.try_clone().unwrap(), Arc::new(Mutex::new(String::new())));
        let seen = shown.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 1024];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Self { keys, shown, child }
    }

    /// Waits until the text is there.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        wait_until(text, || self.shown.lock().unwrap().contains(text));
    }

    /// Types a line once the text is there.
    pub(crate) fn answer(&mut self, text: &str, line: &str) {
        self.wait_for(text);
        self.shown.lock().unwrap().clear();
        writeln!(self.keys, "{line}").unwrap();
    }

    /// Presses keys once the text is there.
    pub(crate) fn keys_at(&mut self, text: &str, keys: &str) {
        self.wait_for(text);
        self.shown.lock().unwrap().clear();
        write!(self.keys, "{keys}").unwrap();
    }

    /// The exit code and what went to standard output.
    pub(crate) fn end(self) -> (i32, String) {
        let output = self.child.wait_with_output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8(output.stdout).unwrap())
    }
}
