//! Choices of values: `enum` and `const`.

use super::Pass;
use super::keywords::note;
use super::merge::short;
use super::rules::{Enums, Unions};
use super::tree::{Json, Object};
use super::types::is_of;
use crate::format::report::Effect::{Narrower, Same, Wider};

const NOT_TAKEN: &str = "a choice of such values isn't taken";

impl Pass<'_> {
    /// Leaves of `enum` and `const` what the dialect takes.
    pub(super) fn values(&mut self, object: &mut Object) {
        if object.has("const") && (!self.rules.takes("const") || object.has("enum")) {
            self.constant(object);
        }
        if self.rules.enums == Enums::Any {
            return;
        }
        if object.get("const").is_some_and(|value| matches!(value, Json::Object(_) | Json::Array(_))) {
            self.constant(object);
        }
        self.of_the_type(object);
        let Some(Json::Array(values)) = object.get("enum") else { return };
        let values = values.clone();
        match self.rules.enums {
            Enums::Texts => self.texts(object, values),
            Enums::TextsAndNumbers if values.iter().any(Json::is_null) && values.len() > 1 => {
                self.null_apart(object, values);
            }
            _ => {
                if !values.iter().all(|value| self.is_taken(value)) {
                    self.only_in_words(object, &values);
                }
            }
        }
    }

    /// Leaves out values that the type rules out: some providers look for that, too.
    fn of_the_type(&mut self, object: &mut Object) {
        let types = object.types();
        let foreign = |value: &Json| !types.is_empty() && !types.iter().any(|kind| is_of(value, kind));
        if object.get("const").is_some_and(foreign) {
            object.take("const");
            self.tell(&object.place("const"), "const removed, which isn't of the type", NOT_TAKEN, Wider);
        }
        let Some(Json::Array(values)) = object.members.get_mut("enum") else { return };
        let before = values.len();
        let fits = |value: &Json| types.iter().any(|kind| is_of(value, kind));
        if types.is_empty() || values.iter().all(fits) {
            return;
        }
        values.retain(fits);
        let (none, left_out) = (values.is_empty(), before - values.len());
        let place = object.place("enum");
        if none {
            object.take("enum");
            self.tell(&place, "enum removed, none of whose values is of the type", NOT_TAKEN, Wider);
        } else {
            self.tell(&place, format!("{left_out} values left out that aren't of the type"), NOT_TAKEN, Same);
        }
    }

    fn is_taken(&self, value: &Json) -> bool {
        match self.rules.enums {
            Enums::Any => true,
            Enums::Scalars => !matches!(value, Json::Object(_) | Json::Array(_)),
            Enums::TextsAndNumbers => matches!(value.kind(), "string" | "integer" | "number"),
            Enums::Texts => value.as_text().is_some_and(|text| !text.is_empty()),
        }
    }

    fn constant(&mut self, object: &mut Object) {
        let Some(value) = object.take("const") else { return };
        let place = object.place("const");
        if object.list("enum").contains(&value) || !object.has("enum") {
            object.set("enum", Json::Array(vec![value]));
            self.tell(&place, "const written as enum", NOT_TAKEN, Same);
        } else {
            self.tell(&place, format!("const {} beside enum left out", short(&value)), NOT_TAKEN, Wider);
        }
    }

    /// Texts alone, `null` said by `nullable`.
    fn texts(&mut self, object: &mut Object, values: Vec<Json>) {
        let place = object.place("enum");
        let (nulls, mut rest): (Vec<_>, Vec<_>) = values.into_iter().partition(Json::is_null);
        let types = object.types();
        let may_be = |kind: &str| types.is_empty() || types.iter().any(|known| known == kind);
        let texts = !rest.is_empty() && may_be("string") && rest.iter().all(|value| value.as_text().is_some());
        if !texts {
            rest.extend(nulls);
            self.only_in_words(object, &rest);
            return;
        }
        if rest.iter().any(|value| value.as_text() == Some("")) {
            rest.retain(|value| value.as_text() != Some(""));
            if rest.is_empty() {
                let all: Vec<_> = [Json::text("")].into_iter().chain(nulls).collect();
                self.only_in_words(object, &all);
                return;
            }
            self.tell(&place, "the empty text left out of enum", NOT_TAKEN, Narrower);
        }
        let null = !nulls.is_empty() && may_be("null");
        let kinds = if null { vec!["string".to_owned(), "null".to_owned()] } else { vec!["string".to_owned()] };
        if types != kinds || !nulls.is_empty() {
            self.tell(&place, format!("a choice of texts{}", if null { " or null" } else { "" }), NOT_TAKEN, Same);
        }
        object.set_types(&kinds);
        object.set("enum", Json::Array(rest));
    }

    /// `null` as a branch beside the other values.
    fn null_apart(&mut self, object: &mut Object, mut values: Vec<Json>) {
        if object.has("anyOf") || self.rules.unions != Unions::Beside {
            self.only_in_words(object, &values);
            return;
        }
        values.retain(|value| !value.is_null());
        let types = object.types();
        let may_be_null = types.is_empty() || types.iter().any(|kind| kind == "null");
        self.tell(&object.place("enum"), "null written as a branch of its own", NOT_TAKEN, Same);
        let mut others =
            object.take("type").map(|given| Object::new("").with("type", given).types()).unwrap_or_default();
        others.retain(|kind| kind != "null");
        let mut choice = Object::new(object.place("enum"));
        choice.set_types(&others);
        choice.set("enum", Json::Array(values));
        self.values(&mut choice);
        if may_be_null {
            let null = Object::new(object.place("enum")).with("type", Json::text("null"));
            object.take("enum");
            object.set("anyOf", Json::Array(vec![Json::Object(choice), Json::Object(null)]));
        } else {
            object.take("enum");
            object.members.extend(choice.members);
        }
    }

    /// Values that only the description can tell.
    fn only_in_words(&mut self, object: &mut Object, values: &[Json]) {
        if object.types().is_empty() {
            let mut kinds: Vec<String> = Vec::new();
            for value in values {
                if !kinds.iter().any(|kind| kind == value.kind()) {
                    kinds.push(value.kind().to_owned());
                }
            }
            object.set_types(&kinds);
        }
        object.take("enum");
        let words = short(&Json::Array(values.to_vec()));
        self.tell(&object.place("enum"), format!("enum removed: {words}"), NOT_TAKEN, Wider);
        note(object, &[format!("one of {words}")]);
    }
}
