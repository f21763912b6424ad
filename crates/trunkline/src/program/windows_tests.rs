//! What is handed to Windows, taken apart again by its rules.

use proptest::prelude::*;

use super::*;

fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(ToString::to_string).collect()
}

/// The arguments in a command line, as a program's runtime takes them apart (Microsoft C, "Parsing C command-line
/// arguments"; `CommandLineToArgvW` agrees on what is written with `\"`).
fn parse(line: &str) -> Vec<String> {
    let (mut args, mut chars) = (Vec::new(), line.chars().peekable());
    loop {
        while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        if chars.peek().is_none() {
            return args;
        }
        let (mut arg, mut within) = (String::new(), false);
        while let Some(c) = chars.next_if(|c| within || !matches!(c, ' ' | '\t')) {
            let mut backslashes = usize::from(c == '\\');
            if c == '\\' {
                while chars.next_if_eq(&'\\').is_some() {
                    backslashes += 1;
                }
                if chars.peek() != Some(&'"') {
                    arg.extend(std::iter::repeat_n('\\', backslashes));
                    continue;
                }
                arg.extend(std::iter::repeat_n('\\', backslashes / 2));
                chars.next();
                if backslashes % 2 == 1 {
                    arg.push('"');
                    continue;
                }
            }
            match c {
                '"' | '\\' if within && chars.next_if_eq(&'"').is_some() => arg.push('"'),
                '"' | '\\' => within = !within,
                c => arg.push(c),
            }
        }
        args.push(arg);
    }
}

/// What cmd.exe makes of its command line before it runs it: variables put in, then every sign obeyed that isn't
/// between quotes. `Err` is a sign that was obeyed.
fn cmd(line: &str, variables: &[(&str, &str)]) -> Result<String, String> {
    let inner = line.strip_prefix("/D /E:ON /V:OFF /S /C \"").and_then(|rest| rest.strip_suffix('"')).unwrap();
    let (mut out, mut rest) = (String::new(), inner);
    while let Some(at) = rest.find('%') {
        out += &rest[..at];
        let name = rest[at + 1..].find('%').map(|end| &rest[at + 1..at + 1 + end]);
        let value = |name: &str| match name {
            "cd:~," => Some(""),
            name => variables.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value),
        };
        match name.and_then(|name| Some((name, value(name)?))) {
            Some((name, value)) => {
                out += value;
                rest = &rest[at + name.len() + 2..];
            }
            None => {
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out += rest;
    let mut within = false;
    for c in out.chars() {
        match c {
            '"' => within = !within,
            '&' | '|' | '<' | '>' | '^' | '(' | ')' | ',' | ';' | '=' | '\r' | '\n' if !within => {
                return Err(format!("{c} is obeyed in {out}"));
            }
            _ => {}
        }
    }
    if within { Err(format!("a quote is left open in {out}")) } else { Ok(out) }
}

fn batch(script: &str, args: &[String]) -> Result<Vec<String>, String> {
    let variables = [("A", "\" & calc"), ("PATH", "C:\\x"), ("%", "x"), ("", "x")];
    let line = batch_line(script, args)?;
    Ok(parse(&cmd(&line, &variables[..2]).unwrap()))
}

#[test]
fn p82_a_batch_file_gets_its_arguments_as_they_are() {
    let script = "C:\\Program Files\\n\\npx.cmd";
    let args = strings(&["-y", "a b", "x&y", "50%", "he said \"q\""]);
    let line = batch_line(script, &args).unwrap();
    let expected = r#"/D /E:ON /V:OFF /S /C ""C:\Program Files\n\npx.cmd" -y "a b" "x&y" "50%%cd:~,%" "he said ""q""""#;
    assert_eq!(line, expected.to_owned() + "\"");
    assert_eq!(batch(script, &args).unwrap(), [&[script.to_owned()][..], &args].concat());
    for hostile in ["%A%", "\" & calc \"", "\\\"&calc", "%PATH%%A%", "^&calc", "a\\", "", "%%", "!A!", "100% \"%A%\""] {
        assert_eq!(batch("x.bat", &strings(&[hostile])).unwrap(), ["x.bat", hostile]);
    }
}

#[test]
fn p82_what_cmd_would_stop_at_is_refused() {
    for text in ["a\nb", "a\r", "\n"] {
        assert!(batch_line("x.cmd", &strings(&[text])).unwrap_err().contains("batch file"));
    }
    assert!(batch_line("x\".cmd", &[]).is_err());
    let places = Places { path: "", pathext: "", system_root: "C:\\Windows", is_file: &|_| true };
    for command in ["x.exe", "x.cmd"] {
        assert!(invocation(command, &strings(&["a\0b"]), &places).unwrap_err().contains("NUL"));
    }
}

#[test]
fn p82_a_program_gets_its_arguments_as_they_are() {
    for (text, written) in [
        ("plain", "plain"),
        ("", "\"\""),
        ("a b", "\"a b\""),
        ("a\\b", "a\\b"),
        ("a b\\", "\"a b\\\\\""),
        ("\"", "\"\\\"\""),
        ("\\\"", "\"\\\\\\\"\""),
        ("50% x", "\"50% x\""),
    ] {
        assert_eq!(argument(text), written);
        assert_eq!(parse(written), [text]);
    }
}

/// The files of a machine; case counts for nothing.
fn found(command: &str, path: &str, pathext: &str, files: &[&str]) -> Option<String> {
    let is_file = |path: &str| files.iter().any(|file| file.eq_ignore_ascii_case(path));
    find(command, &Places { path, pathext, system_root: "C:\\Windows", is_file: &is_file })
}

#[test]
fn p82_a_command_is_found_by_path_and_pathext() {
    let files = ["C:\\node\\npx", "C:\\node\\npx.cmd", "C:\\node\\node.exe", "C:\\p\\python3.11.exe", "C:\\t\\odd.bin"];
    let path = "C:\\nowhere;;\"C:\\node\\\";C:\\p;C:\\t";
    for (command, expected) in [
        ("npx", Some("C:\\node\\npx.CMD")),
        ("npx.cmd", Some("C:\\node\\npx.cmd")),
        ("NODE", Some("C:\\node\\NODE.EXE")),
        ("node.exe", Some("C:\\node\\node.exe")),
        ("python3.11", Some("C:\\p\\python3.11.EXE")),
        ("odd.bin", Some("C:\\t\\odd.bin")),
        ("C:\\node\\npx", Some("C:\\node\\npx.CMD")),
        ("C:/node/npx", None),
        ("absent", None),
        ("", None),
        (".exe", None),
    ] {
        assert_eq!(found(command, path, "", &files).as_deref(), expected, "{command}");
    }
    let both = ["C:\\a\\x.bat", "C:\\a\\x.exe"];
    assert_eq!(found("x", "C:\\a", "", &both).as_deref(), Some("C:\\a\\x.EXE"));
    assert_eq!(found("x", "C:\\a", ".JS; .bat;.EXE", &both).as_deref(), Some("C:\\a\\x.bat"));
    assert_eq!(found("x", "C:\\a", ".JS;.PS1", &["C:\\a\\x.js", "C:\\a\\x.cmd"]).as_deref(), Some("C:\\a\\x.CMD"));
    assert_eq!(found("x", "", "", &["x.exe"]), None, "the current folder may be anybody's");
}

#[test]
fn p82_batch_files_are_run_by_cmd_and_others_are_not() {
    let started = |command: &str| {
        let is_file = |path: &str| path.ends_with("npx.CMD");
        let places = Places { path: "C:\\n", pathext: "", system_root: "C:\\Windows\\", is_file: &is_file };
        let Invocation { program, line } = invocation(command, &strings(&["a b"]), &places).unwrap();
        (program, line)
    };
    let cmd = "C:\\Windows\\System32\\cmd.exe".to_owned();
    for command in ["npx", "x.BAT", "x.cmd. .", "x.bat "] {
        assert_eq!(started(command).0, cmd, "{command}");
    }
    assert!(started("npx").1.ends_with("\"\"C:\\n\\npx.CMD\" \"a b\"\""));
    assert_eq!(started("node.exe"), ("node.exe".to_owned(), "\"a b\"".to_owned()));
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let piece = prop_oneof!["[ -~]", "[\\\\\"%&^ ]{1,4}", "%(A|PATH|cd:~,|)%", "\\t|é|日|\u{1f980}", "[a-z]{1,5}"];
    proptest::collection::vec(proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat()), 0..5)
}

proptest! {
    #[test]
    fn p82_whatever_a_program_is_given_arrives(args in texts()) {
        let places = Places { path: "", pathext: "", system_root: "", is_file: &|_| false };
        prop_assert_eq!(parse(&invocation("x.exe", &args, &places).unwrap().line), args);
    }

    #[test]
    fn p82_whatever_a_batch_file_is_given_arrives_and_nothing_is_obeyed(args in texts(), script in "[a-z %&^()\\\\é]{0,8}x\\.cmd") {
        let expected: Vec<_> = std::iter::once(script.clone()).chain(args.clone()).collect();
        prop_assert_eq!(batch(&script, &args).unwrap(), expected);
    }
}
