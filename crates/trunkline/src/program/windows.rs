//! How Windows finds a program and takes its arguments. A program is handed one text and takes it apart itself, by the
//! rules of `CommandLineToArgvW`; a batch file (`npx.cmd`, `npm.cmd`) is run by cmd.exe, which reads that text by rules
//! of its own before. Pure, so that it can be tested on any system.

/// What to start, and the text that it is handed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) program: String,
    pub(super) line: String,
}

/// Where programs are looked for.
pub(super) struct Places<'a> {
    /// `PATH`.
    pub(super) path: &'a str,
    /// `PATHEXT`; empty for the usual.
    pub(super) pathext: &'a str,
    /// `SystemRoot`, where cmd.exe is.
    pub(super) system_root: &'a str,
    pub(super) is_file: &'a dyn Fn(&str) -> bool,
}

/// What to start for a command. One that isn't found is started under its own name, for the system to say so.
///
/// # Errors
/// An argument that can't be handed on as it is, and why.
pub(super) fn invocation(command: &str, args: &[String], places: &Places<'_>) -> Result<Invocation, String> {
    let program = find(command, places).unwrap_or_else(|| command.to_owned());
    if let Some(text) = std::iter::once(&program).chain(args).find(|text| text.contains('\0')) {
        return Err(format!("{text:?} holds a NUL character"));
    }
    if is_batch(&program) {
        let root = places.system_root.trim_end_matches('\\');
        return Ok(Invocation { line: batch_line(&program, args)?, program: format!("{root}\\System32\\cmd.exe") });
    }
    let line = args.iter().map(|arg| argument(arg)).collect::<Vec<_>>().join(" ");
    Ok(Invocation { program, line })
}

/// The endings of what can be started, in the order of `PATHEXT`; scripts of other kinds would need a program of theirs.
fn endings(pathext: &str) -> Vec<&str> {
    const USUAL: [&str; 4] = [".COM", ".EXE", ".BAT", ".CMD"];
    let known = |ending: &&str| USUAL.iter().any(|usual| usual.eq_ignore_ascii_case(ending));
    let given: Vec<_> = pathext.split(';').map(str::trim).filter(known).collect();
    if given.is_empty() { USUAL.into() } else { given }
}

/// The file that a command means. The current folder isn't looked into, unlike cmd.exe does: it may be anybody's.
fn find(command: &str, places: &Places<'_>) -> Option<String> {
    let endings = endings(places.pathext);
    let name = command.rsplit(['\\', '/']).next().unwrap_or_default();
    let ends = |ending: &&str| name.len() > ending.len() && has_ending(name, ending);
    let with = endings.iter().map(|ending| format!("{command}{ending}"));
    let mut candidates: Vec<_> = if endings.iter().any(ends) {
        std::iter::once(command.to_owned()).chain(with).collect()
    } else {
        with.collect() // beside npx.cmd there is an npx for other systems, which must not be taken for it
    };
    if name.contains('.') {
        candidates.push(command.to_owned());
    }
    let folders: Vec<&str> = match command.contains(['\\', '/', ':']) {
        true => vec![""],
        false => places.path.split(';').map(|folder| folder.trim_matches('"')).filter(|it| !it.is_empty()).collect(),
    };
    let join = |folder: &str, name: &str| match folder {
        "" => name.to_owned(),
        folder => format!("{}\\{name}", folder.trim_end_matches(['\\', '/'])),
    };
    let mut paths = folders.iter().flat_map(|folder| candidates.iter().map(move |name| join(folder, name)));
    paths.find(|path| (places.is_file)(path))
}

fn has_ending(name: &str, ending: &str) -> bool {
    let start = name.len().saturating_sub(ending.len());
    name.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

/// Whether cmd.exe is needed. Windows drops blanks and dots at the end of a file's name.
fn is_batch(program: &str) -> bool {
    let name = program.trim_end_matches([' ', '.']);
    has_ending(name, ".cmd") || has_ending(name, ".bat")
}

/// One argument of a program.
fn argument(text: &str) -> String {
    if !text.is_empty() && !text.contains([' ', '\t', '\n', '\u{b}', '"']) {
        return text.to_owned();
    }
    quoted(text, "\\\"", "%")
}

/// What cmd.exe is handed so that it runs a batch file with these arguments and nothing else. `/D`: no AutoRun; `/E:ON`:
/// `%cd:~,%` is read as below; `/V:OFF`: `!` is a character; `/S`: only the outermost quotes are taken away.
fn batch_line(script: &str, args: &[String]) -> Result<String, String> {
    if script.contains('"') {
        return Err(format!("{script:?} can't be the name of a file"));
    }
    let mut line = String::from("/D /E:ON /V:OFF /S /C \"");
    line += &quoted(script, "", PERCENT);
    for arg in args {
        line.push(' ');
        line += &batch_argument(arg)?;
    }
    line.push('"');
    Ok(line)
}

/// A percent sign that begins no variable: one, and then a variable that is always empty, cut out of `cd`.
const PERCENT: &str = "%%cd:~,%";

/// One argument of a batch file. Between quotes, cmd.exe obeys nothing but `%`; a quote inside is doubled, since it
/// counts them.
fn batch_argument(text: &str) -> Result<String, String> {
    if text.contains(['\r', '\n']) {
        return Err(format!("{text:?} can't be handed to a batch file: cmd.exe stops at the line end"));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "#$*+-./:?@\\_".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.ends_with('\\') {
        return Ok(text.to_owned());
    }
    Ok(quoted(text, "\"\"", PERCENT))
}

/// The text between quotes: backslashes count double before a quote.
fn quoted(text: &str, quote: &str, percent: &str) -> String {
    let (mut out, mut backslashes) = (String::from("\""), 0);
    for c in text.chars() {
        match c {
            '"' => {
                out.extend(std::iter::repeat_n('\\', backslashes));
                out += quote;
            }
            '%' => out += percent,
            c => out.push(c),
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
    }
    out.extend(std::iter::repeat_n('\\', backslashes));
    out.push('"');
    out
}

#[cfg(test)]
#[path = "windows_tests.rs"]
mod tests;
