//! The program `holder`: a parent for tests to kill. It connects to a server with the library, says `ready`, and once
//! its input ends, does what its first argument says; the rest is the server's command, or its URL. Its graces are 300 ms,
//! or `$HOLDER_GRACE`.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use trunkline::{Client, Environment, Limits};

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(then), Some(command)) = (args.next(), args.next()) else { panic!("usage: holder THEN COMMAND [ARG]...") };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let grace = std::env::var("HOLDER_GRACE").ok().and_then(|text| text.parse().ok());
    let grace = Duration::from_millis(grace.unwrap_or(300));
    let limits = Limits { exit_grace: grace, term_grace: grace, max_message: 8 << 20, ..Limits::default() };
    let client = match command.starts_with("http://") {
        true => Client::http(command).environment(Environment::from_pairs::<&str, &str>([])),
        false => Client::stdio(command, args),
    };
    let client = client.limits(limits).build().expect("a client");
    runtime.block_on(client.connect()).expect("a server");
    say("ready");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    match then.as_str() {
        "wait" => {}
        "return" => return,
        "panic" => panic!("as asked"),
        "exit" => std::process::exit(3),
        "abort" => std::process::abort(),
        "drop-runtime" => drop(runtime),
        "reconnect" => {
            runtime.block_on(client.disconnect());
            runtime.block_on(client.connect()).expect("a server");
            say("ready again");
        }
        "long" => {
            let outcome = runtime.block_on(async { client.call("long", ()).await });
            say(&outcome.expect("a result").text().len().to_string());
        }
        "flooded" => {
            for _ in 0..20 {
                let begun = Instant::now();
                let outcome = runtime.block_on(async { client.call("flooded", ()).await });
                say(&format!("{} {}", outcome.expect("a result").text(), begun.elapsed().as_millis()));
            }
        }
        tool => {
            let outcome = runtime.block_on(async { client.call(tool, ()).await });
            say(&outcome.map_or_else(|error| error.kind().to_string(), |result| result.text()));
        }
    }
    loop {
        std::thread::park();
    }
}

fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").expect("standard output is open");
}
