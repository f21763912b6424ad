//! Files that are torn, broken or something else.

use super::*;

proptest! {
    #[test]
    fn a_file_of_any_kind_is_read_or_refused(at in 0usize..600, byte in any::<u8>(), number in "[0-9]{1,25}") {
        let bench = Bench::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut text = CALLS.join("\n").replace("\"params\"", &format!("\"overtook\":{number},\"params\"")).into_bytes();
        let at = at % text.len();
        text[at] = byte;
        fs::write(bench.file(), &text).unwrap();
        let _ = Tape::append(bench.file());
        let Ok(cassette) = Cassette::open(bench.file()) else { return Ok(()) };
        for server in cassette.servers() {
            let replay = cassette.replay(server).unwrap();
            let _ = runtime.block_on(call(&replay, "t", json!({"q": "a", "at": 1})));
            let _ = runtime.block_on(replay.list_tools(&CallContext::new()));
        }
    }

    #[test]
    fn a_file_cut_anywhere_loses_its_last_line_alone(cut in 17usize..=1000) {
        let bench = Bench::new();
        let line = r#"{"server":"s","method":"tools/call","params":{"name":"t","arguments":{"n":1}},"result":{"é":"x"}}"#;
        let text = format!("{{\"cassette\":1}}\n{line}\n{line}\n{line}\n");
        let cut = cut.min(text.len());
        fs::write(bench.file(), &text.as_bytes()[..cut]).unwrap();
        let whole = text[..].as_bytes()[..cut].iter().filter(|byte| **byte == b'\n').count() - 1;
        let unplayed = bench.open().unplayed().len();
        prop_assert!(unplayed == whole || unplayed == whole + 1, "{} of {}", unplayed, whole);
        drop(Tape::append(bench.file()).unwrap());
        prop_assert_eq!(bench.open().unplayed().len(), unplayed);
        prop_assert!(bench.open().warnings().is_empty());
    }
}

#[test]
fn broken_lines_are_told_by_file_and_line() {
    let bench = Bench::new();
    assert!(bench.fault().starts_with("Can't read the cassette FILE: "));
    for (lines, fault) in [
        (&[""][..], "FILE is no cassette that can be used: it is empty"),
        (&["x", "y"], "FILE is no cassette that can be used: its first line has no \"cassette\""),
        (&[r#"{"cassette":2}"#], "FILE is no cassette that can be used: its format is 2, and this version reads 1"),
        (&[CALLS[0], "{", CALLS[1]], "The cassette is broken in FILE:2: not valid JSON (byte 1)"),
        (&[CALLS[0], "", "{}", CALLS[1]], "The cassette is broken in FILE:3: it names no server"),
        (
            &[CALLS[0], r#"{"server":"s","method":"m"}"#, CALLS[1]],
            "The cassette is broken in FILE:2: it has neither a result nor an error",
        ),
        (
            &[CALLS[0], r#"{"server":"s"}"#, CALLS[1]],
            "The cassette is broken in FILE:2: it has none of method, info, event and error",
        ),
        (
            &[CALLS[0], r#"{"server":"s","event":"x"}"#, CALLS[1]],
            "The cassette is broken in FILE:2: it has the unknown event \"x\"",
        ),
    ] {
        bench.write(lines);
        assert_eq!(bench.fault(), fault);
    }
    bench.write(&[CALLS[0], CALLS[1], &CALLS[2][..40]]);
    let cassette = bench.open();
    assert_eq!(cassette.unplayed().len(), 1);
    let [warning] = cassette.warnings() else { panic!("{cassette:?}") };
    assert!(warning.contains("t.jsonl:3: the last line is cut off and was left out"), "{warning}");
}

#[tokio::test]
async fn recording_goes_on_behind_what_is_there() {
    let bench = Bench::new();
    bench.write(&[CALLS[0], CALLS[1], &CALLS[2][..40]]);
    let recorder = Tape::append(bench.file()).unwrap().recorder("s", Scripted::new([]));
    call(&recorder, "new", json!({})).await.unwrap();
    let text = bench.text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..3], [CALLS[0], CALLS[1], r#"{"cassette":1,"servers":["s"]}"#]);
    assert_eq!(bench.open().unplayed().len(), 2);
    for other in ["notes\n", "{\"mcpServers\":{}}", "{\"cass", "{\"cassette\":1,\"servers\":[\"a"] {
        fs::write(bench.file(), other).unwrap();
        let appended = Tape::append(bench.file());
        assert_eq!(appended.is_err(), !other.starts_with("{\"cass"), "{other}");
        assert_eq!(bench.text(), if appended.is_ok() { "" } else { other });
        if appended.is_ok() {
            drop(appended);
            assert_eq!(bench.text(), "{\"cassette\":1,\"servers\":[]}\n");
        }
    }
    assert!(Tape::create(bench.dir.path()).unwrap_err().message().starts_with("Can't write the cassette"));
}
