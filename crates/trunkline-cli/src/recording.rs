//! What is recorded and replayed in this call of the program, by the options of the command line.

use trunkline::{Client, ClientBuilder, Redactor, Tape};

use crate::args;
use crate::exit::{Failure, Outcome};
use crate::render::{Screen, YELLOW, escape, paint};
use crate::servers::Servers;

/// The commands of this program that somebody may want to record.
const OWN_COMMANDS: [&str; 7] = ["list", "call", "read", "prompt", "check", "ask", "lock"];

/// The file to record in, if any.
pub(crate) fn tape(args: &args::Cassette) -> Outcome<Option<Tape>> {
    let Some(file) = &args.record else { return Ok(None) };
    let redactor = Redactor::default().matching(&args.redact)?;
    Ok(Some(Tape::append(file)?.redacting(redactor).redacting_fields(&args.redact_field)))
}

/// The recording to answer from, if any. `command` is the server given after `--`.
pub(crate) fn cassette(
    args: &args::Cassette,
    command: &[String],
    screen: &Screen,
) -> Outcome<Option<trunkline::Cassette>> {
    let Some(file) = &args.replay else { return Ok(None) };
    if !command.is_empty() {
        return Err(Failure::usage("--replay starts no server, so there can be none after --"));
    }
    let cassette = trunkline::Cassette::open(file)?.ignoring(&args.ignore);
    for warning in cassette.warnings() {
        screen.report(&format!("{}: {}", paint(YELLOW, "warning"), escape::line(warning)));
    }
    if cassette.servers().next().is_none() {
        return Err(Failure::usage(format!("Nothing is recorded in {}", file.display())));
    }
    Ok(Some(if args.in_order { cassette.strict() } else { cassette }))
}

/// A client for each recorded server.
pub(crate) fn clients(cassette: &trunkline::Cassette, builder: &ClientBuilder) -> Outcome<Vec<Client>> {
    let client = |label| Ok(builder.clone().connection(cassette.replay(label)?).label(label).build()?);
    cassette.servers().map(client).collect()
}

/// Whether everything could be recorded.
pub(crate) fn check(servers: &Servers) -> Outcome {
    servers.tape.as_ref().map_or(Ok(()), |tape| tape.check().map_err(Into::into))
}

/// Where `record` and `mock` say what others say with `--record` and `--replay`.
pub(crate) fn of_command(options: &mut args::Cassette, command: &args::Command) -> Outcome {
    match command {
        args::Command::Record(record) => {
            if options.record.is_some() {
                return Err(Failure::usage("`trunkline record` records in the file of -o alone, without --record"));
            }
            options.record = Some(record.output.clone());
            options.relays = true;
            is_a_server(record)
        }
        args::Command::Mock(_) if options.replay.is_some() || options.record.is_some() => {
            Err(Failure::usage("`trunkline mock FILE` goes without --replay and --record"))
        }
        args::Command::Mock(mock) => {
            options.replay = Some(mock.cassette.clone());
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether a server is to be recorded and not, by mistake, a command of this program.
fn is_a_server(record: &args::Record) -> Outcome {
    let Some(own) = record.command.first().filter(|word| OWN_COMMANDS.contains(&word.as_str())) else { return Ok(()) };
    let (rest, file) = (record.command.join(" "), record.output.display());
    let message = format!("`trunkline record` records a server for its client, and \"{own}\" is none");
    Err(Failure::usage(message).hint(format!("To record what trunkline does: trunkline {rest} --record {file}")))
}
