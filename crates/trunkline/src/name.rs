//! Joins a server's label and a tool's name to the exposed name that a model sees, and says what a label
//! may be. Nothing anywhere splits an exposed name again: names are resolved by table.
//!
//! An exposed name is `clean(label)_clean(tool)`, at most 64 bytes of `[A-Za-z0-9_-]`. It ends in a hash of
//! label and tool where it could otherwise be mistaken for another: the tool's name was altered or cut, the
//! label could be confused with another one, or the name itself ends like a hash. So it depends on the set
//! of configured labels, the label and the tool, and on nothing else.

#[cfg(any(test, fuzzing))]
pub(crate) mod laws;

use std::collections::{BTreeSet, HashMap};

use crate::error::{Error, Result};

/// The longest exposed name, as model providers demand.
const LONGEST: usize = 64;

/// `_` and eight hexadecimal digits.
const HASH: usize = 9;

/// So much of a label is kept where something has to be cut; the rest is the tool's.
const LABEL_KEPT: usize = 27;

/// Gives exposed names for a fixed set of labels.
#[derive(Debug, Clone, Default)]
pub(crate) struct Namer {
    /// Each label with whether it could be confused with another one.
    labels: HashMap<Box<str>, bool>,
}

impl Namer {
    /// For all the configured labels, whichever of their servers are up. Order and repeats don't matter.
    pub(crate) fn new<S: AsRef<str>>(labels: impl IntoIterator<Item = S>) -> Self {
        let labels: BTreeSet<Box<str>> = labels.into_iter().map(|label| label.as_ref().into()).collect();
        let cleaned: Vec<String> = labels.iter().map(|label| clean(label, false)).collect();
        let confused = |at: usize| (0..cleaned.len()).any(|b| b != at && confusable(&cleaned[at], &cleaned[b]));
        Self { labels: labels.iter().enumerate().map(|(at, label)| (label.clone(), confused(at))).collect() }
    }

    /// The exposed name of `tool` on the server `label`.
    pub(crate) fn exposed(&self, label: &str, tool: &str) -> String {
        let (label_part, tool_part) = (clean(label, false), clean(tool, true));
        let name = format!("{label_part}_{tool_part}");
        let doubtful = tool_part != tool || self.is_confusable(label, &label_part);
        if !doubtful && name.len() <= LONGEST && !ends_like_a_hash(&name) {
            return name;
        }
        let room = LONGEST - HASH - 1;
        let label_kept = label_part.len().min(LABEL_KEPT.max(room.saturating_sub(tool_part.len())));
        let tool_kept = tool_part.len().min(room - label_kept);
        format!("{}_{}_{:08x}", &label_part[..label_kept], &tool_part[..tool_kept], hash(label, tool))
    }

    /// Whether `name` can be an exposed name of a tool on `label`, judged by its beginning alone. Tells whom to ask
    /// for a name that isn't known, never whose it is.
    pub(crate) fn may_be_of(&self, label: &str, name: &str) -> bool {
        let label_part = clean(label, false);
        let kept = label_part.len().min(LABEL_KEPT)..=label_part.len();
        name.match_indices('_').any(|(at, _)| kept.contains(&at) && label_part.starts_with(&name[..at]))
    }

    fn is_confusable(&self, label: &str, label_part: &str) -> bool {
        self.labels
            .get(label)
            .copied()
            .unwrap_or_else(|| self.labels.keys().any(|other| confusable(label_part, &clean(other, false))))
    }
}

/// `name`, which is shown without a label, as models take it: itself, or made legal with the hash at its end.
pub(crate) fn legal(name: &str, label: &str, tool: &str) -> String {
    if (1..=LONGEST).contains(&name.len()) && clean(name, true) == name {
        name.to_owned()
    } else {
        hashed(name, hash(label, tool))
    }
}

/// Another name for a tool whose own is taken: with the hash at its end.
pub(crate) fn told_apart(name: &str, label: &str, tool: &str, taken: impl Fn(&str) -> bool) -> String {
    let hash = hash(label, tool);
    (0..=u32::MAX).map(|n| hashed(name, hash.wrapping_add(n))).find(|name| !taken(name)).unwrap_or_default()
}

fn hashed(name: &str, hash: u32) -> String {
    MODELS.hashed(name, hash)
}

/// What every model provider takes as the name of a tool.
const MODELS: NameRule = NameRule { also: "-", longest: LONGEST, letter_first: false };

/// What somebody takes as a name: ASCII letters, digits, `_` and a few more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameRule {
    /// The characters besides letters, digits and `_`.
    pub(crate) also: &'static str,
    /// The longest, in bytes. At least that of a hash and a few more.
    pub(crate) longest: usize,
    /// Whether it has to begin with a letter or `_`.
    pub(crate) letter_first: bool,
}

impl NameRule {
    pub(crate) fn takes(&self, name: &str) -> bool {
        let first = name.bytes().next();
        let begins = !self.letter_first || first.is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
        begins && (1..=self.longest).contains(&name.len()) && name.chars().all(|c| self.keeps(c))
    }

    /// A legal name in place of one that isn't, or that is taken: with the hash at its end.
    pub(crate) fn instead(&self, name: &str, taken: impl Fn(&str) -> bool) -> String {
        let hash = hash("", name);
        (0..=u32::MAX).map(|n| self.hashed(name, hash.wrapping_add(n))).find(|name| !taken(name)).unwrap_or_default()
    }

    fn keeps(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || c == '_' || self.also.contains(c)
    }

    fn hashed(&self, name: &str, hash: u32) -> String {
        let mut part: String = name.chars().map(|c| if self.keeps(c) { c } else { '_' }).collect();
        if self.letter_first && !part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            part.insert(0, '_');
        }
        format!("{}_{hash:08x}", &part[..part.len().min(self.longest - HASH)])
    }
}

/// Whether names under two labels (in their clean form) could be the same.
fn confusable(a: &str, b: &str) -> bool {
    let begins = |a: &str, b: &str| b.strip_prefix(a).is_some_and(|rest| rest.starts_with('_'));
    a == b || begins(a, b) || begins(b, a)
}

fn clean(name: &str, dash_stays: bool) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || c == '_' || (c == '-' && dash_stays);
    name.chars().map(|c| if keep(c) { c } else { '_' }).collect()
}

fn ends_like_a_hash(name: &str) -> bool {
    let tail = name.len().checked_sub(HASH).map(|start| &name.as_bytes()[start..]);
    tail.is_some_and(|tail| tail[0] == b'_' && tail[1..].iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

/// FNV-1a over label, a byte that is in no text, and tool, folded to 32 bits. Part of every name that was
/// ever shown to a model: it must never change.
fn hash(label: &str, tool: &str) -> u32 {
    let bytes = label.bytes().chain([0xFF]).chain(tool.bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash ^ (hash >> 32)) as u32
}

/// The longest label.
const LONGEST_LABEL: usize = 100;

/// Refuses what can't be a label: it stands in names, on the command line and in file names.
pub(crate) fn check_label(label: &str) -> Result<()> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let fault = if label.is_empty() {
        "is empty"
    } else if label.len() > LONGEST_LABEL {
        "is longer than 100 characters"
    } else if !label.chars().all(legal) {
        "may hold only the letters a to z, digits, \"_\", \"-\" and \".\""
    } else if label.starts_with('.') || label.contains("..") {
        "may not begin with a dot or hold two in a row"
    } else {
        return Ok(());
    };
    let shown: String = label.chars().take(LONGEST_LABEL).collect();
    Err(Error::config(format!("The server name {shown:?} {fault}"))
        .with_hint(format!("Rename it, to \"{}\" for instance", legal_label(label))))
}

/// The nearest legal label.
fn legal_label(text: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let text: String = text.chars().take(LONGEST_LABEL).map(|c| if keep(c) { c } else { '_' }).collect();
    let mut text = text.trim_matches(['.', '_', '-']).to_owned();
    while text.contains("..") {
        text = text.replace("..", ".");
    }
    if text.is_empty() { "server".to_owned() } else { text }
}

/// The label of a server that was given as a command: its base name without extension.
pub(crate) fn label_from_command(command: &str) -> String {
    let base = command.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    let is_extension = |end: &str| (1..=4).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_alphabetic());
    match base.rsplit_once('.') {
        Some((stem, end)) if !stem.is_empty() && is_extension(end) => legal_label(stem),
        _ => legal_label(base),
    }
}

/// The label of a server that was given as a URL: its host.
pub(crate) fn label_from_url(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    legal_label(host)
}

/// `label`, or `label_2`, `label_3` and so on where it is taken; cut where that would be too long.
pub(crate) fn unique_label(label: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(label) {
        return label.to_owned();
    }
    let numbered = |n: usize| {
        let end = format!("_{n}");
        let kept = label.get(..LONGEST_LABEL - end.len()).unwrap_or(label);
        format!("{kept}{end}")
    };
    (2..).map(numbered).find(|label| !taken(label)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn is_legal(name: &str) -> bool {
        (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    }

    #[test]
    fn plain_names_are_joined_and_nothing_more() {
        let namer = Namer::new(["files", "awslabs.aws-documentation-mcp-server"]);
        for (label, tool, exposed) in [
            ("files", "read_file", "files_read_file"),
            ("files", "read-file", "files_read-file"),
            (
                "awslabs.aws-documentation-mcp-server",
                "read_documentation",
                "awslabs_aws_documentation_mcp_server_read_documentation",
            ),
        ] {
            assert_eq!(namer.exposed(label, tool), exposed);
        }
    }

    /// These names are in users' prompts and settings: a change here breaks them.
    #[test]
    fn hashes_never_change() {
        let namer = Namer::new(["s", "a-b", "a_b"]);
        for (label, tool, exposed) in [
            ("s", "a.b/c", "s_a_b_c_03fa00f9"),
            ("s", "ünïcode", "s__n_code_f74d2735"),
            ("a-b", "t", "a_b_t_8ad0feef"),
            ("a_b", "t", "a_b_t_0201936a"),
        ] {
            assert_eq!(namer.exposed(label, tool), exposed);
        }
    }

    #[test]
    fn long_names_keep_a_part_of_both() {
        let namer = Namer::new(["awslabs.aws-documentation-mcp-server", "s"]);
        let exposed = namer.exposed("awslabs.aws-documentation-mcp-server", &"x".repeat(120));
        assert!(exposed.starts_with("awslabs_aws_documentation_m_xxxxxxxxxxxxxxxxxxxxxxxxxxx_"), "{exposed}");
        assert_eq!(exposed.len(), 64);
        assert_ne!(exposed, namer.exposed("awslabs.aws-documentation-mcp-server", &"x".repeat(121)));
        assert_eq!(namer.exposed("s", &"x".repeat(62)).len(), 64);
        assert_eq!(namer.exposed("s", &"x".repeat(62)), format!("s_{}", "x".repeat(62)));
        assert!(ends_like_a_hash(&namer.exposed("s", &"x".repeat(63))));
    }

    #[test]
    fn labels_with_the_separator_are_told_apart() {
        let namer = Namer::new(["db", "my_db", "my"]);
        let names: HashSet<_> = ["db", "my_db", "my"]
            .iter()
            .flat_map(|label| {
                ["execute_sql", "db__execute_sql", "db_execute_sql"].map(|tool| namer.exposed(label, tool))
            })
            .collect();
        assert_eq!(names.len(), 9);
        assert_eq!(namer.exposed("db", "execute_sql"), "db_execute_sql");
        assert!(ends_like_a_hash(&namer.exposed("my", "execute_sql")));
    }

    #[test]
    fn a_name_that_ends_like_a_hash_gets_one() {
        let namer = Namer::new(["s"]);
        let altered = namer.exposed("s", "a.b");
        let forged = altered.strip_prefix("s_").unwrap();
        assert_ne!(namer.exposed("s", forged), altered);
        assert_ne!(namer.exposed("s", "deadbeef"), "s_deadbeef");
    }

    #[test]
    fn a_label_outside_the_set_is_compared_with_it() {
        let namer = Namer::new(["my_db"]);
        assert_eq!(namer.exposed("my", "x"), Namer::new(["my", "my_db"]).exposed("my", "x"));
        assert_eq!(Namer::default().exposed("my", "x"), "my_x");
    }

    #[test]
    fn labels_come_from_commands_and_hosts() {
        for (command, label) in [
            ("npx", "npx"),
            ("/usr/bin/python3", "python3"),
            ("python3.12", "python3.12"),
            ("./fake.sh", "fake"),
            ("C:\\Program Files\\nodejs\\npx.cmd", "npx"),
            ("my server.exe", "my_server"),
            ("../..", "server"),
            ("", "server"),
        ] {
            assert_eq!(label_from_command(command), label, "{command}");
        }
        for (url, label) in [
            ("https://mcp.example.com/mcp", "mcp.example.com"),
            ("http://u:p@127.0.0.1:8080/mcp?x=@y", "127.0.0.1"),
            ("http://[::1]:80/", "1"),
            ("localhost:3000", "localhost"),
            ("http://", "server"),
        ] {
            assert_eq!(label_from_url(url), label, "{url}");
        }
    }

    #[test]
    fn a_taken_label_gets_a_number() {
        let taken = ["npx", "npx_2"];
        assert_eq!(unique_label("npx", |label| taken.contains(&label)), "npx_3");
        assert_eq!(unique_label("uvx", |label| taken.contains(&label)), "uvx");
    }

    #[test]
    fn labels_that_could_do_harm_are_refused() {
        for label in ["files", "awslabs.aws-documentation-mcp-server", "a_b-c.2", "7"] {
            check_label(label).unwrap();
        }
        for (label, hint) in [
            ("../x", "x"),
            ("", "server"),
            ("a/b", "a_b"),
            ("my server", "my_server"),
            ("a\u{0}b", "a_b"),
            ("a\nb", "a_b"),
            (".hidden", "hidden"),
            ("a..b", "a.b"),
            ("é", "server"),
            ("C:\\x", "C__x"),
            (&*"x".repeat(101), "xxx"),
        ] {
            let error = check_label(label).unwrap_err();
            assert!(error.hint().unwrap().contains(hint), "{error:?}");
            assert!(!error.message().contains(['\n', '\0']), "{error:?}");
        }
    }

    #[test]
    fn names_without_a_label_stay_unless_they_cannot() {
        for name in ["read_file", "read-file", &"x".repeat(64), "s_03fa00f9"] {
            assert_eq!(legal(name, "s", name), name);
        }
        assert_eq!(legal("a.b/c", "s", "a.b/c"), "a_b_c_03fa00f9");
        let cut = legal(&"x".repeat(65), "s", &"x".repeat(65));
        assert!(is_legal(&cut) && ends_like_a_hash(&cut) && cut.len() == 64, "{cut}");
    }

    #[test]
    fn a_name_that_is_taken_gets_a_hash_that_is_free() {
        let apart = told_apart("search", "b", "search", |_| false);
        assert!(apart.starts_with("search_") && ends_like_a_hash(&apart), "{apart}");
        assert_ne!(apart, told_apart("search", "c", "search", |_| false));
        let again = told_apart("search", "b", "search", |name| name == apart);
        assert!(again != apart && is_legal(&again), "{again}");
    }
}
