//! The answers of the command line, put into a form.

use trunkline::{Arguments, Error, ErrorKind, FieldKind, FormField, RawJson};

use crate::render::json::{Object, array};
use crate::values::{Given, Written};

/// A form with what is known.
pub(crate) struct Filled<'a> {
    /// What each field was answered with, in the form's order.
    values: Vec<(&'a FormField, RawJson)>,
    /// The fields that the command line doesn't answer.
    pub(crate) open: Vec<&'a FormField>,
}

impl<'a> Filled<'a> {
    /// The required fields that have neither an answer nor a default.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &'a FormField> + '_ {
        self.open.iter().copied().filter(|field| field.required() && field.default().is_none())
    }

    /// Answers a field, or leaves it out.
    pub(crate) fn set(&mut self, field: &'a FormField, value: Option<RawJson>) {
        self.values.retain(|(known, _)| known.name() != field.name());
        self.values.extend(value.map(|value| (field, value)));
    }

    pub(crate) fn value(&self, field: &FormField) -> Option<&RawJson> {
        self.values.iter().find(|(known, _)| known.name() == field.name()).map(|(_, value)| value)
    }

    /// The answer: what was given, and the defaults of the rest.
    pub(crate) fn content(&self) -> Arguments {
        let object =
            self.values.iter().fold(Object::default(), |object, (field, value)| object.raw(field.name(), value));
        let object = RawJson::parse(object.finish()).and_then(Arguments::from_raw);
        object.unwrap_or_else(|_| Arguments::none()) // written member by member from JSON, so it is an object
    }
}

/// Puts what was given, and the defaults of the rest, into the form. Keys that it doesn't have may be meant for another.
pub(crate) fn fill<'a>(given: &Given, fields: &'a [FormField]) -> trunkline::Result<Filled<'a>> {
    let mut filled = Filled { values: Vec::new(), open: Vec::new() };
    for field in fields {
        match given.under(field.name()).as_slice() {
            [] => {
                filled.open.push(field);
                filled.set(field, field.default());
            }
            [one] => filled.set(field, Some(value(field, one)?)),
            several => filled.set(field, Some(all(field, several)?)),
        }
    }
    Ok(filled)
}

fn value(field: &FormField, written: &Written) -> trunkline::Result<RawJson> {
    match written {
        Written::Text(text) => field.read(text),
        Written::Json(value) => Ok(value.clone()),
    }
}

/// A key that was given several times is a list.
fn all(field: &FormField, several: &[&Written]) -> trunkline::Result<RawJson> {
    if !matches!(field.kind(), FieldKind::Choices { .. } | FieldKind::Other) {
        let message = format!(
            "\"{}\" was answered {} times, but it has to be {}",
            field.name(),
            several.len(),
            field.kind().words()
        );
        return Err(Error::new(ErrorKind::InvalidArguments, message));
    }
    let mut items = Vec::new();
    for one in several {
        let value = value(field, one)?;
        match value.is_array() {
            true => items.extend(value.items().map(|item| item.to_string())),
            false => items.push(value.to_string()),
        }
    }
    RawJson::parse(array(items))
}
