//! A browser without a person: plain requests over the loopback interface. It blocks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;

use url::Url;

use crate::wait::limit;

/// An answer.
#[derive(Debug)]
pub struct Page {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Page {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Gets what is there.
pub fn get(url: &str) -> Page {
    let url = Url::parse(url).unwrap_or_else(|error| panic!("{error}: {url}"));
    let host = format!("{}:{}", url.host_str().expect("a host"), url.port_or_known_default().expect("a port"));
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    raw(&host, &format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
}

/// Sends these bytes and reads the answer.
pub fn raw(host: &str, request: &str) -> Page {
    let mut stream = TcpStream::connect(host).unwrap_or_else(|error| panic!("{error}: {host}"));
    stream.set_read_timeout(Some(limit())).expect("a socket");
    stream.write_all(request.as_bytes()).expect("a request that is read");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer); // a reset comes after the answer
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer of {host}: {answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    Page { status, headers, body: body.to_owned() }
}

/// Where an authorization server sends the browser of a user who agrees.
pub fn location(url: &str) -> String {
    let page = get(url);
    assert_eq!(page.status, 302, "{url}: {page:?}");
    page.header("location").expect("a location").to_owned()
}

/// Follows redirects to the end: what a person sees in a browser that was given this address.
pub fn follow(url: &str) -> Page {
    let mut url = url.to_owned();
    for _ in 0..10 {
        let page = get(&url);
        match page.header("location") {
            Some(location) if (300..400).contains(&page.status) => url = location.to_owned(),
            _ => return page,
        }
    }
    panic!("no end of redirects: {url}");
}

/// The address that a program shows on its standard error, on a line of its own, and what it told before.
pub fn shown_by(child: &mut Child) -> (String, String) {
    let mut err = BufReader::with_capacity(1, child.stderr.take().expect("a pipe")); // what comes after is for others
    let (mut before, mut line) = (String::new(), String::new());
    while !line.trim_start().starts_with("http") {
        before += &line;
        line.clear();
        assert_ne!(err.read_line(&mut line).expect("text"), 0, "no address is shown: {before}");
    }
    child.stderr = Some(err.into_inner());
    (line.trim().to_owned(), before)
}
