//! `trunkline read`.

use std::fs;

use serde_json::json;

use crate::harness::Bench;

#[test]
fn p37_text_is_printed_and_binary_is_not() {
    let bench = Bench::new();
    let readme = bench.run(&["read", "-q", "demo://readme"]);
    assert!(readme.code == 0 && readme.stdout.starts_with("# The demo server\n"), "{readme:?}");
    bench.run(&["read", "-q", "demo://square/12"]).is(0, "144\n", "");
    bench.run(&["read", "-q", "demo://logo"]).is(0, "image, 77 bytes, image/png (use -o FILE to save)\n", "");
    let encoded = bench.run(&["read", "-q", "demo://logo", "--base64"]);
    assert!(encoded.stdout.starts_with("iVBORw0KGgo"), "{encoded:?}");
    let machine = bench.run(&["read", "-q", "demo://logo", "--json"]);
    assert_eq!(machine.json()["contents"][0]["blob"], encoded.stdout.trim_end());
    let unknown = bench.run(&["read", "-q", "demo://nope"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
}

#[test]
fn p37_a_file_gets_the_exact_bytes_and_is_not_replaced_unasked() {
    let bench = Bench::new();
    let file = bench.path("logo.png").display().to_string();
    bench.run(&["read", "demo://logo", "-o", &file, "-q"]).is(0, "", "");
    assert!(fs::read(&file).unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
    bench.run(&["read", "demo://readme", "-o", &file, "-q"]).is(
        2,
        "",
        "error: DIR/logo.png exists already\nhint: Use --force to replace it\n",
    );
    let told = bench.run(&["read", "demo://readme", "-o", &file, "--force"]);
    assert!(told.stderr.ends_with("131 bytes saved to DIR/logo.png\n"), "{told:?}");
    assert!(fs::read_to_string(&file).unwrap().starts_with("# The demo server"));
}

#[test]
fn p47_a_resource_that_two_servers_have_needs_its_server() {
    let bench = Bench::new();
    let config = bench.config([("one", bench.demo()), ("two", bench.demo())]);
    bench.run(&["read", "demo://square/3", "--from", "two", "--config", &config]).is(0, "9\n", "");
    let both = bench.run(&["read", "demo://readme", "--config", &config]);
    both.is(
        2,
        "",
        "error: The resource \"demo://readme\" is offered by several servers: one, two\nhint: Say which with --from SERVER\n",
    );
}

#[test]
fn p77_names_that_lead_elsewhere_stay_in_the_directory() {
    let bench = Bench::new();
    let uris = ["file:///../../../tmp/pwn", "../../x", "CON", "a\\u0000b", "x:."];
    let contents: Vec<_> = uris.iter().map(|uri| format!(r#"{{"uri":"{uri}","blob":"AAECAwT/"}}"#)).collect();
    let server = bench.server(json!({
        "RESOURCES": r#"{"uri":"x:all","name":"all"}"#,
        "READ": format!("\"result\":{{\"contents\":[{}]}}", contents.join(","))
    }));
    let config = bench.config([("s", server)]);
    let out = bench.path("out");
    let ran = bench.run(&["read", "x:all", "-q", "-o", &format!("{}/", out.display()), "--config", &config]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["_CON.bin", "a_b.bin", "pwn.bin", "resource.bin", "x.bin"]);
    assert_eq!(fs::read(out.join("pwn.bin")).unwrap(), [0, 1, 2, 3, 4, 255]);
    bench.run(&["read", "x:all", "-q", "-o", &bench.path("one").display().to_string(), "--config", &config]).is(
        2,
        "",
        "error: The resource has 5 parts, which can't go into one file\nhint: Give a directory: -o DIR/\n",
    );
}

#[test]
fn p37_odd_base64_is_read_and_broken_base64_is_told() {
    let bench = Bench::new();
    let contents = r#"{"uri":"x:a","blob":"AAECAwT/"},{"uri":"x:c","blob":"_-8"},{"uri":"x:d","blob":"!!"},{"uri":"x:e","text":"t"}"#;
    let read = format!("\"result\":{{\"contents\":[{contents}]}}");
    let server = bench.server(json!({"RESOURCES": r#"{"uri":"x:all","name":"all"}"#, "READ": read}));
    let config = bench.config([("s", server)]);
    let ran = bench.run(&["read", "x:all", "--config", &config]);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "binary, 6 bytes, application/octet-stream (use -o FILE to save)");
    assert_eq!(lines[1], "binary, 2 bytes, application/octet-stream (use -o FILE to save)");
    assert!(lines[2].starts_with("binary, unreadable: "), "{ran:?}");
    assert_eq!((lines[3], ran.code), ("t", 0));
}
