//! `HttpMatch`: which request a rule is for.

use super::request::HttpRequest;
use super::step::Step;

type Test = Box<dyn Fn(&HttpRequest) -> bool + Send + Sync>;

/// Which request a rule is for. All conditions that are set must hold.
pub struct HttpMatch {
    /// For connections that were accepted, not for requests.
    pub(crate) accepted: bool,
    tests: Vec<Test>,
    pub(crate) when: Vec<(String, String)>,
    pub(crate) nth: Option<(usize, usize)>,
}

pub(crate) struct Rule {
    pub(crate) on: HttpMatch,
    pub(crate) steps: Vec<Step>,
}

/// Any request.
pub fn any() -> HttpMatch {
    HttpMatch { accepted: false, tests: Vec::new(), when: Vec::new(), nth: None }
}

/// A connection that was just accepted.
pub fn accepted() -> HttpMatch {
    HttpMatch { accepted: true, ..any() }
}

/// Requests with the method POST.
pub fn post() -> HttpMatch {
    any().method("POST")
}

/// Requests with the method GET.
pub fn get() -> HttpMatch {
    any().method("GET")
}

/// Requests with the method DELETE.
pub fn delete() -> HttpMatch {
    any().method("DELETE")
}

/// Posts of a message with this JSON-RPC method.
pub fn rpc(method: &str) -> HttpMatch {
    let method = method.to_owned();
    post().test(move |request| request.rpc_method().as_ref() == Some(&method))
}

/// Posts of a call of this tool.
pub fn rpc_call(tool: &str) -> HttpMatch {
    rpc("tools/call").name(tool)
}

impl HttpMatch {
    /// Only requests for which this holds.
    pub fn test(mut self, test: impl Fn(&HttpRequest) -> bool + Send + Sync + 'static) -> HttpMatch {
        self.tests.push(Box::new(test));
        self
    }

    /// Only requests with this HTTP method.
    pub fn method(self, method: &str) -> HttpMatch {
        let method = method.to_owned();
        self.test(move |request| request.method == method)
    }

    /// Only under this path, whatever the query.
    pub fn path(self, path: &str) -> HttpMatch {
        let path = path.to_owned();
        self.test(move |request| request.path() == path)
    }

    /// Only with this header, of this value.
    pub fn header(self, name: &str, value: &str) -> HttpMatch {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.test(move |request| request.header(&name) == Some(&*value))
    }

    /// Only with this header.
    pub fn has_header(self, name: &str) -> HttpMatch {
        let name = name.to_owned();
        self.test(move |request| request.header(&name).is_some())
    }

    /// Only without this header.
    pub fn lacks_header(self, name: &str) -> HttpMatch {
        let name = name.to_owned();
        self.test(move |request| request.header(&name).is_none())
    }

    /// Only messages with this `params.name` or `params.uri`.
    pub fn name(self, name: &str) -> HttpMatch {
        let name = name.to_owned();
        self.test(move |request| request.name().as_ref() == Some(&name))
    }

    /// Only bodies that contain this text.
    pub fn contains(self, text: &str) -> HttpMatch {
        let text = text.to_owned();
        self.test(move |request| request.text().contains(&text))
    }

    /// Only on the nth connection, counted from 1.
    pub fn connection(self, n: usize) -> HttpMatch {
        self.test(move |request| request.connection == n)
    }

    /// Only while the variable has this value; one never set is "".
    pub fn when(mut self, variable: &str, value: &str) -> HttpMatch {
        self.when.push((variable.to_owned(), value.to_owned()));
        self
    }

    /// Only the nth request that fits all else, counted from 1, whichever rule answered the others.
    pub fn nth(self, n: usize) -> HttpMatch {
        HttpMatch { nth: Some((n, n)), ..self }
    }

    /// Only the first n requests that fit all else.
    pub fn first(self, n: usize) -> HttpMatch {
        HttpMatch { nth: Some((1, n)), ..self }
    }

    pub(crate) fn fits(&self, request: &HttpRequest) -> bool {
        self.tests.iter().all(|test| test(request))
    }
}
