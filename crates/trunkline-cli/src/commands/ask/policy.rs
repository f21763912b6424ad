//! Which calls are made: what the options say of a tool, else what the tool says of itself. Asking a person is left
//! to `person`.

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::tools::Known;
use crate::exit::{Failure, Outcome};

/// What is done with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Allow,
    Ask,
    Deny,
}

/// The rules of the command line.
#[derive(Debug)]
pub(crate) struct Policy {
    allow: GlobSet,
    ask: GlobSet,
    deny: GlobSet,
}

impl Policy {
    pub(crate) fn new(allow: &[String], ask: &[String], deny: &[String]) -> Outcome<Self> {
        Ok(Self { allow: globs("--allow", allow)?, ask: globs("--ask", ask)?, deny: globs("--deny", deny)? })
    }

    /// The strictest rule that fits. Where none does, a tool that only reads may run.
    pub(crate) fn rule(&self, tool: &Known) -> Rule {
        let fits = |globs: &GlobSet| globs.is_match(&tool.address) || globs.is_match(&tool.name);
        match () {
            () if fits(&self.deny) => Rule::Deny,
            () if fits(&self.ask) => Rule::Ask,
            () if fits(&self.allow) || tool.only_reads => Rule::Allow,
            () => Rule::Ask,
        }
    }
}

fn globs(option: &str, patterns: &[String]) -> Outcome<GlobSet> {
    let wrong = |error: globset::Error| Failure::usage(format!("{option}: {error}"));
    let mut globs = GlobSetBuilder::new();
    for pattern in patterns {
        globs.add(Glob::new(pattern).map_err(wrong)?);
    }
    globs.build().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(options: [&[&str]; 3], address: &str, only_reads: bool) -> Rule {
        let [allow, ask, deny] = options.map(|globs| globs.iter().map(ToString::to_string).collect::<Vec<_>>());
        let name = address.split_once('.').unwrap().1.to_owned();
        let tool = Known { server: String::new(), name, address: address.to_owned(), only_reads };
        Policy::new(&allow, &ask, &deny).unwrap().rule(&tool)
    }

    #[test]
    fn the_strictest_rule_that_fits_counts() {
        for (options, address, only_reads, expected) in [
            ([&[][..], &[], &[]], "files.read", true, Rule::Allow),
            ([&[], &[], &[]], "files.write", false, Rule::Ask),
            ([&["files.*"], &[], &[]], "files.write", false, Rule::Allow),
            ([&["write"], &[], &[]], "files.write", false, Rule::Allow),
            ([&["files"], &[], &[]], "files.write", false, Rule::Ask),
            ([&["*"], &["files.write"], &[]], "files.write", false, Rule::Ask),
            ([&["*"], &["*"], &["files.*"]], "files.write", false, Rule::Deny),
            ([&[], &["*"], &[]], "files.read", true, Rule::Ask),
            ([&[], &[], &["re*"]], "files.read", true, Rule::Deny),
            ([&["{files,git}.r*"], &[], &[]], "git.reset", false, Rule::Allow),
        ] {
            assert_eq!(rule(options, address, only_reads), expected, "{options:?} {address}");
        }
        assert_eq!(Policy::new(&["[".to_owned()], &[], &[]).unwrap_err().exit as u8, 2);
    }
}
