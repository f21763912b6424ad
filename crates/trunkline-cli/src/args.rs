//! The command line: every option, argument and help text. What they do is left to `commands`.

mod answering;
mod ask;
mod asks;
mod lock;
mod login;
mod processes;
mod task;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;

use crate::completing;

pub(crate) use answering::Answering;
pub(crate) use ask::Ask;
pub(crate) use asks::{Complete, Info, Ping, Watch};
pub(crate) use lock::Lock;
pub(crate) use login::{Auth, AuthCommand, Login, Logout};
pub(crate) use processes::{Ps, Reap};
pub(crate) use task::Task;

/// Every MCP server behind one client: list, call, read, prompt and check servers from a shell.
#[derive(Debug, Parser)]
#[command(name = "trunkline", version, max_term_width = 100, propagate_version = true, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Servers come from --config, $TRUNKLINE_CONFIG, a trusted project file (.mcp.json, mcp.json, .vscode/mcp.json, \
.cursor/mcp.json) and the user's mcp.json, the first of a name winning. With --stdio, --url (or -- COMMAND) and no --config, \
only the servers of the command line are used. Without any config there is a built-in server named demo to try.

Exit codes: 0 done; 1 the tool reported an error; 2 usage, config, unknown name, bad arguments; 3 login needed; \
4 unreachable; 5 too slow; 6 protocol error; 7 a needed server is missing; 8 config file not trusted, or a tool not as it was agreed to; \
130 interrupted, 143 by SIGTERM.";

const CALL_HELP: &str = "\
Arguments, by the tool's schema (shown by `trunkline list`):
  key=value      text where the schema allows text, otherwise a number, true/false, a list, ...
  key:=JSON      any JSON
  key=@FILE      the file's text (key=@- for standard input; key=@@x for the literal text @x)
  key:=@FILE     JSON from a file
  key=a key=b    a list, where the schema wants one
  -              all arguments as a JSON object from standard input

TOOL is SERVER.TOOL, a tool's name alone where only one server has it, or its exposed name (SERVER_TOOL).
The result is printed as plain text or JSON; control characters are shown escaped. --raw and --json print the \
server's result exactly as it was sent.";

const RECORD_HELP: &str = "\
It speaks MCP on standard input and output. Where a client starts `npx server`, let it start this instead:
  trunkline record -o FILE -- npx server
Several servers (of the config, or --stdio) are served as one, their tools named SERVER_TOOL.

To record what trunkline itself does, give any of its commands --record FILE. Either way the file is added to, \
the secrets of the config are left out (see also --redact), and it is replayed by --replay FILE or `trunkline mock FILE`.";

const MOCK_HELP: &str = "\
It speaks MCP on standard input and output; no recorded server is started. A call gets the recorded answer to the same \
params; one that was recorded several times gets its answers in turn, then the last again. What was not recorded is an \
error that names the nearest call, told on standard error too.

To use a recording with trunkline itself, give any of its commands --replay FILE.";

const TRUST_HELP: &str = "\
It shows what each file would start and contact, asks at a terminal, and remembers the file's place and a hash of its \
content on the user's side. A file that changed, or lies elsewhere, is asked about anew. A file named by --config or \
$TRUNKLINE_CONFIG needs no trust.";

/// Options that every command has.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Use this config file first (can be repeated)
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Vec<PathBuf>,
    /// Use a server started by this command line (can be repeated; no shell is involved)
    #[arg(long, value_name = "[NAME=]COMMAND ARGS", global = true)]
    pub(crate) stdio: Vec<String>,
    /// Use the server at this URL (can be repeated): Streamable HTTP, or HTTP+SSE where that is what it speaks
    #[arg(long, value_name = "[NAME=]URL", global = true)]
    pub(crate) url: Vec<String>,
    /// Send this header to the servers of --url (can be repeated)
    #[arg(long, value_name = "NAME: VALUE", global = true)]
    pub(crate) header: Vec<String>,
    /// Send the value of this environment variable to the servers of --url as the bearer token
    #[arg(long, value_name = "VARIABLE", global = true)]
    pub(crate) bearer_env: Option<String>,
    /// How long a call may take without progress: 30, 1.5, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = trunkline::parse_duration, global = true)]
    pub(crate) timeout: Option<Duration>,
    /// How long a server may take to start
    #[arg(long, value_name = "TIME", value_parser = trunkline::parse_duration, global = true)]
    pub(crate) start_timeout: Option<Duration>,
    /// Call tools only as they were agreed to in this file; by default trunkline.lock beside the config file, if it is there
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) lock: Option<PathBuf>,
    /// List tools too that the lock file doesn't have yet; they aren't called all the same
    #[arg(long, global = true)]
    pub(crate) show_new: bool,
    /// Whether no lock file is kept to: the one that is being written.
    #[arg(skip)]
    pub(crate) unlocked: bool,
    /// Fail (exit code 7) where any server is missing
    #[arg(long, global = true)]
    pub(crate) strict: bool,
    /// Machine-readable output on standard output, errors included
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No notes, only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Show what servers log; -vv also what they write on standard error; -vvv also every message
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
    /// When to use colours
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, global = true)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) cassette: Cassette,
}

/// Recording what a command does, and doing it again without servers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Record and replay")]
pub(crate) struct Cassette {
    /// Record what this command asks of servers, at the end of this file
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) record: Option<PathBuf>,
    /// Start no server: answer what was recorded in this file
    #[arg(long, value_name = "FILE", global = true, conflicts_with_all = ["record", "config", "stdio", "url"])]
    pub(crate) replay: Option<PathBuf>,
    /// Record what this regular expression finds as ***, beside the secrets of the config (can be repeated)
    #[arg(long, value_name = "REGEX", global = true)]
    pub(crate) redact: Vec<String>,
    /// Record texts and numbers under this key as *** (can be repeated)
    #[arg(long, value_name = "KEY", global = true)]
    pub(crate) redact_field: Vec<String>,
    /// Replay whatever stands at this place of a call's params, such as /arguments/now (can be repeated)
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) ignore: Vec<String>,
    /// Replay only in the recorded order
    #[arg(long, global = true)]
    pub(crate) in_order: bool,
    /// Whether calls are passed on for somebody else, who has deadlines of their own.
    #[arg(skip)]
    pub(crate) relays: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what the servers offer: tools as function signatures, server by server
    List(List),
    /// Call a tool
    #[command(after_help = CALL_HELP)]
    Call(Call),
    /// Look after a call that goes on at its server: where it stands, its result, its end
    #[command(after_help = task::TASK_HELP)]
    Task(Task),
    /// Read a resource
    Read(Read),
    /// Render a prompt
    Prompt(Prompt),
    /// Print each change of a resource
    #[command(after_help = asks::WATCH_HELP)]
    Watch(Watch),
    /// Show how an argument of a prompt, or a variable of a resource template, may go on
    Complete(Complete),
    /// Show what servers say of themselves: name, revision, capabilities, instructions
    Info(Info),
    /// See whether servers answer, and how fast
    Ping(Ping),
    /// Let a model answer a question with the tools of the servers
    Ask(Ask),
    /// Examine servers stage by stage, with a fix for what failed
    Check(Check),
    /// Log in to a server that wants it, in a browser
    #[command(after_help = login::LOGIN_HELP)]
    Login(Login),
    /// Forget a login
    #[command(after_help = login::LOGOUT_HELP)]
    Logout(Logout),
    /// Look at logins
    Auth(Auth),
    /// Show the merged config: entries, where each comes from, what lost, secrets masked
    Config,
    /// Let a project's config file start its servers, as long as its content stays what it is now
    #[command(after_help = TRUST_HELP)]
    Trust(Trust),
    /// Take that back
    Untrust(Untrust),
    /// Agree to the tools of servers, and find out what changed since
    #[command(after_help = lock::LOCK_HELP)]
    Lock(Lock),
    /// Be a server that passes everything on to another, and record it: for any MCP client
    #[command(after_help = RECORD_HELP)]
    Record(Record),
    /// Be a server that answers what was recorded: for any MCP client
    #[command(after_help = MOCK_HELP)]
    Mock(Mock),
    /// Show which servers run: who started each, since when, its memory, and what a crash left
    #[command(after_help = processes::PS_HELP)]
    Ps(Ps),
    /// End what is left of servers whose owner is gone
    #[command(after_help = processes::REAP_HELP)]
    Reap(Reap),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Serve the built-in demo server over standard input and output
    #[command(hide = true)]
    Demo,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only these servers
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completing::servers))]
    pub(crate) servers: Vec<String>,
    /// Show resources
    #[arg(long)]
    pub(crate) resources: bool,
    /// Show resource templates
    #[arg(long)]
    pub(crate) templates: bool,
    /// Show prompts
    #[arg(long)]
    pub(crate) prompts: bool,
    /// Show everything: tools, resources, templates and prompts
    #[arg(long)]
    pub(crate) all: bool,
    /// Show each tool's input schema
    #[arg(long, conflicts_with = "brief")]
    pub(crate) schema: bool,
    /// One line each, no descriptions
    #[arg(long)]
    pub(crate) brief: bool,
    /// Wait for servers that are still starting: until all have answered, or for TIME after the last that did
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, value_parser = trunkline::parse_duration)]
    pub(crate) wait: Option<Option<Duration>>,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// SERVER.TOOL, or a tool's name
    #[arg(add = ArgValueCompleter::new(completing::tools))]
    pub(crate) tool: String,
    /// key=value, key:=JSON, key=@FILE, key:=@FILE, or - for standard input
    #[arg(value_name = "ARGUMENT", allow_hyphen_values = false, add = ArgValueCompleter::new(completing::arguments))]
    pub(crate) arguments: Vec<String>,
    /// All arguments as a JSON object; with @FILE, from a file
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) args: Option<String>,
    /// Save images, audio and other binary content in this directory
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print the whole result as the server sent it
    #[arg(long)]
    pub(crate) raw: bool,
    /// Don't wait for a call that its server goes on with as a task: print the task's id (see `trunkline task`)
    #[arg(long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) answering: Answering,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Read {
    /// The resource's URI; with --arg, a template or SERVER.NAME of one
    pub(crate) uri: String,
    /// The value of a variable of the template (can be repeated)
    #[arg(long = "arg", value_name = "KEY=VALUE")]
    pub(crate) variables: Vec<String>,
    /// The server that has it
    #[arg(long, value_name = "SERVER", add = ArgValueCompleter::new(completing::servers))]
    pub(crate) from: Option<String>,
    /// Write it to this file, exactly as it is (a directory: under the resource's name)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file where it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Print binary contents as base64
    #[arg(long, conflicts_with = "output")]
    pub(crate) base64: bool,
    #[command(flatten)]
    pub(crate) answering: Answering,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Prompt {
    /// SERVER.NAME, or a prompt's name
    pub(crate) prompt: String,
    /// key=value, key=@FILE, or - for a JSON object from standard input
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as a JSON object; with @FILE, from a file
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) args: Option<String>,
    /// Save images, audio and other binary content in this directory
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) answering: Answering,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Only these servers
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completing::servers))]
    pub(crate) servers: Vec<String>,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// Only these servers
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completing::servers))]
    pub(crate) servers: Vec<String>,
    /// Record at the end of this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Mock {
    /// What was recorded
    #[arg(value_name = "FILE")]
    pub(crate) cassette: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The file; without any, those of the current directory that aren't trusted
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Don't ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Untrust {
    /// The file
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

impl Command {
    /// How questions of servers are answered, where they may ask.
    pub(crate) fn answering(&self) -> Option<&Answering> {
        match self {
            Self::Call(Call { answering, .. })
            | Self::Read(Read { answering, .. })
            | Self::Watch(Watch { answering, .. })
            | Self::Prompt(Prompt { answering, .. })
            | Self::Task(Task { answering, .. })
            | Self::Ask(Ask { answering, .. }) => Some(answering),
            _ => None,
        }
    }

    /// The server given after `--`.
    pub(crate) fn server_command(&self) -> &[String] {
        match self {
            Self::List(List { command, .. })
            | Self::Call(Call { command, .. })
            | Self::Task(Task { command, .. })
            | Self::Read(Read { command, .. })
            | Self::Prompt(Prompt { command, .. })
            | Self::Watch(Watch { command, .. })
            | Self::Complete(Complete { command, .. })
            | Self::Info(Info { command, .. })
            | Self::Ping(Ping { command, .. })
            | Self::Ask(Ask { command, .. })
            | Self::Check(Check { command, .. })
            | Self::Lock(Lock { command, .. })
            | Self::Record(Record { command, .. }) => command,
            Self::Config
            | Self::Login(_)
            | Self::Logout(_)
            | Self::Auth(_)
            | Self::Trust(_)
            | Self::Untrust(_)
            | Self::Mock(_)
            | Self::Ps(_)
            | Self::Reap(_)
            | Self::Completions { .. }
            | Self::Demo => &[],
        }
    }
}
