//! Lists over all their pages, entry by entry: a bad entry costs itself, a cursor that repeats ends the list.

use std::collections::HashSet;

use super::{Session, calls};
use crate::connection::CallContext;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::protocol::RawJson;
use crate::protocol::jsonrpc::{Field, METHOD_NOT_FOUND, Params};

/// A list as it grows.
struct Gathered<T> {
    items: Vec<T>,
    keys: HashSet<Box<str>>,
    seen: usize,
    bytes: usize,
    twice: Vec<String>,
}

impl Session {
    /// Reads the list `field` of `method` to its end. `read` takes an entry or says what is wrong with it;
    /// `key` is what must be unique.
    pub(super) async fn list<T>(
        &self,
        method: &'static str,
        field: &'static str,
        read: fn(RawJson) -> Result<T, String>,
        key: fn(&T) -> &str,
        cx: &CallContext,
    ) -> Result<Vec<T>> {
        let mut list = Gathered { items: Vec::new(), keys: HashSet::new(), seen: 0, bytes: 0, twice: Vec::new() };
        let mut cursors = HashSet::new();
        let mut cursor: Option<RawJson> = None;
        let mut looped = false;
        for _ in 0..self.limits.max_pages {
            let page = match self.page(method, cursor.take(), cx).await {
                Err(error) if error.code() == Some(METHOD_NOT_FOUND) && cursors.is_empty() => {
                    self.desk.warn(format!("doesn't know {method}: {}", error.message()));
                    return Ok(Vec::new());
                }
                page => page?,
            };
            list.bytes += page.as_bytes().len();
            if list.bytes > self.limits.max_list {
                let message = format!("The list of {field} has over {} bytes (max_list)", self.limits.max_list);
                return Err(limits::exceeded("max_list", message));
            }
            let (items, next) = parts(&page, field);
            self.take_items(items, field, read, key, &mut list)?;
            match next {
                None => {
                    self.tell_duplicates(method, &list.twice, looped);
                    return Ok(list.items);
                }
                Some(next) if !cursors.insert(next.clone()) => {
                    looped = true;
                    self.tell_duplicates(method, &list.twice, looped);
                    return Ok(list.items);
                }
                next => cursor = next,
            }
        }
        let message = format!("The list of {field} has over {} pages (max_pages)", self.limits.max_pages);
        Err(limits::exceeded("max_pages", message))
    }

    async fn page(&self, method: &str, cursor: Option<RawJson>, cx: &CallContext) -> Result<RawJson> {
        let fields = cursor.as_ref().map(|cursor| [("cursor", Field::Json(cursor))]);
        let params = fields.as_ref().map_or(Params::None, |fields| Params::Fields(fields));
        calls::request(self, method, params, cx).await
    }

    fn take_items<T>(
        &self,
        items: Option<RawJson>,
        field: &'static str,
        read: fn(RawJson) -> Result<T, String>,
        key: fn(&T) -> &str,
        list: &mut Gathered<T>,
    ) -> Result<()> {
        let Some(items) = items.filter(RawJson::is_array) else {
            let message = format!("The server's answer has no list \"{field}\"");
            return Err(Error::new(ErrorKind::Protocol, message));
        };
        for item in items.items() {
            match read(item) {
                Ok(item) if list.keys.insert(key(&item).into()) => list.items.push(item),
                Ok(item) => list.twice.push(key(&item).to_owned()),
                Err(why) => self.desk.warn(format!("{field}[{}] was left out: it {why}", list.seen)),
            }
            list.seen += 1;
        }
        if list.seen > self.limits.max_items {
            let message = format!("The list of {field} has over {} entries (max_items)", self.limits.max_items);
            return Err(limits::exceeded("max_items", message));
        }
        Ok(())
    }

    fn tell_duplicates(&self, method: &str, twice: &[String], looped: bool) {
        if looped {
            return self.desk.warn(format!("{method} repeats a page cursor; the list ends there"));
        }
        for name in twice {
            self.desk.warn(format!("{method} lists \"{name}\" twice; the first is used"));
        }
    }
}

/// The entries and the next cursor of a page, in one walk.
fn parts(page: &RawJson, field: &str) -> (Option<RawJson>, Option<RawJson>) {
    let (mut items, mut next) = (None, None);
    for (key, value) in page.members() {
        match key.as_str() {
            "nextCursor" => next = Some(value),
            key if key == field => items = Some(value),
            _ => {}
        }
    }
    (items, next.filter(|next| !next.is_null()))
}
