//! The command line of `trunkline ask`.

use std::time::Duration;

use clap::Args;

const HELP: &str = "\
Examples:
  trunkline ask \"What changed in the last release?\" --model gpt-4.1-mini --server github
  trunkline ask \"Tidy up notes/\" --model qwen3 --api-base http://localhost:11434/v1 --allow 'files.*'
  git diff | trunkline ask - --model gpt-4.1 --system 'Review this diff.' --deny '*'

Which calls are made: tools that their server marks as read-only run; others are asked about on a terminal, and \
refused where there is none. --allow, --ask and --deny change that for the tools whose name, or SERVER.NAME, fits GLOB; \
the strictest that fits counts.

The answer goes to standard output as it comes, the calls to standard error; with -q only the final answer is printed. \
With --json standard output has one document: the messages, each call with its result, the usage, why it ended.

The endpoint is any that speaks Chat Completions as OpenAI does. Without --api-base it is $OPENAI_BASE_URL, else \
https://api.openai.com/v1.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Ask {
    /// The question; - reads it from standard input
    pub(crate) question: String,
    /// The model to ask
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Where the endpoint is, up to and without /chat/completions
    #[arg(long, value_name = "URL")]
    pub(crate) api_base: Option<String>,
    /// The environment variable that holds the API key [default: OPENAI_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// What the model is told before the question; with @FILE, from a file
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) system: Option<String>,
    /// Use only the tools of this server (can be repeated)
    #[arg(short, long, value_name = "SERVER")]
    pub(crate) server: Vec<String>,
    /// Make calls of these tools without asking (can be repeated)
    #[arg(long, value_name = "GLOB", help_heading = "Which calls are made")]
    pub(crate) allow: Vec<String>,
    /// Ask before calls of these tools
    #[arg(long, value_name = "GLOB", help_heading = "Which calls are made")]
    pub(crate) ask: Vec<String>,
    /// Don't show the model these tools
    #[arg(long, value_name = "GLOB", help_heading = "Which calls are made")]
    pub(crate) deny: Vec<String>,
    /// How often the model is asked at most: it calls tools in all but the last
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: u32,
    /// How long the model may take without sending anything
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = trunkline::parse_duration)]
    pub(crate) model_timeout: Duration,
    #[command(flatten)]
    pub(crate) answering: super::Answering,
    /// A server to start, instead of configured ones
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
