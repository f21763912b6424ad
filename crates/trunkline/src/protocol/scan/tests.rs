use super::walk::skip;
use super::*;

fn nested(depth: usize) -> Vec<u8> {
    [b"[".repeat(depth), b"]".repeat(depth)].concat()
}

#[test]
fn accepts_what_json_is() {
    for text in [
        "0",
        "-0.5e+3",
        "1E9",
        "\"\"",
        "\"\\u00e9\\n\\/\"",
        "\"\\ud83d\\ude00\"",
        "[]",
        "[ 1 , [ ] ]",
        "{}",
        "{ \"a\" : { \"b\" : [ true , false , null ] } , \"c\":\"\" }",
        " \t\r\n1 ",
    ] {
        assert_eq!(whole(text.as_bytes()), Ok(()), "{text}");
    }
}

#[test]
fn refuses_what_json_is_not() {
    for text in [
        "",
        " ",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "NaN",
        "Infinity",
        "tru",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"a\nb\"",
        "[1,]",
        "[1 2]",
        "[",
        "]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "1 1",
        "[}",
    ] {
        assert_eq!(whole(text.as_bytes()).unwrap_err().kind, FaultKind::Syntax, "{text}");
    }
}

#[test]
fn counts_depth_and_never_recurses() {
    assert_eq!(whole(&nested(130)), Ok(()));
    assert_eq!(whole(&nested(MAX_DEPTH)), Ok(()));
    assert_eq!(whole(&nested(MAX_DEPTH + 2)).unwrap_err().kind, FaultKind::Depth);
    assert_eq!(whole(&nested(200_000)).unwrap_err().kind, FaultKind::Depth);
    assert_eq!(skip(&nested(200_000), 0), 400_000);
}

#[test]
fn repairs_single_characters() {
    for (bad, good) in [
        (&b"\"\\ud83d\""[..], "\"\\ufffd\""),
        (b"\"\\ud83dx\\ude00\"", "\"\\ufffdx\\ufffd\""),
        (b"\"\\\\ud83d\"", "\"\\\\ud83d\""),
        (b"\"\xE9\"", "\"\u{fffd}\""),
        (b"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\""),
    ] {
        assert_eq!(String::from_utf8(repair(bad)).unwrap(), good);
    }
}

#[test]
fn walks_members_and_items() {
    let text = br#" { "a" : [1, {"x":"}"}] , "b\u0063":"]," } "#;
    let members: Vec<_> = Members::new(text).map(|m| (text[m.key].to_vec(), text[m.value].to_vec())).collect();
    assert_eq!(members.len(), 2);
    assert_eq!(members[0].1, br#"[1, {"x":"}"}]"#);
    assert!(key_is(&members[1].0, "bc"));
    let mut walk = Walk::new(text);
    walk.enter();
    assert_eq!(walk.key(), Some(&b"a"[..]));
    walk.enter();
    assert!(walk.item() && walk.value() == b"1");
    assert!(walk.item());
    walk.enter();
    assert_eq!((walk.key(), walk.value(), walk.key()), (Some(&b"x"[..]), &b"\"}\""[..], None));
    assert!(!walk.item());
    assert_eq!((walk.key(), walk.value(), walk.key()), (Some(&b"b\\u0063"[..]), &b"\"],\""[..], None));
    let items: Vec<_> = Items::new(&members[0].1).map(|r| members[0].1[r].to_vec()).collect();
    assert_eq!(items, [b"1".to_vec(), br#"{"x":"}"}"#.to_vec()]);
}

#[test]
fn a_string_in_known_surroundings_is_taken_and_any_other_value_left() {
    let walked = |text: &'static str| {
        let mut walk = Walk::new(text.as_bytes());
        let found = walk.string_in(b"{\"text\":", b"}").map(|text| String::from_utf8(text.to_vec()).unwrap());
        (found, walk.peek())
    };
    assert_eq!(walked(r#"{"text":"a\"b"},1"#), (Some(r#"a\"b"#.to_owned()), Some(b',')));
    assert_eq!(walked(r#"{"text":""}"#), (Some(String::new()), None));
    for other in
        [r#"{"text":"a" }"#, r#"{"text":"a","x":1}"#, r#"{"text":1}"#, r#"{"text":"a"#, r#"{"text":""#, r#"{"text":"#]
    {
        assert_eq!(walked(other), (None, Some(b'{')), "{other}");
    }
}
