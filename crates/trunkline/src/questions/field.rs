//! The fields of a form: the flat subset of JSON Schema that the specification allows, in all its spellings.

use std::fmt;

use super::said;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::protocol::RawJson;
use crate::protocol::raw::{ObjectWriter, array};
use crate::schema::{Checker, format_words};

/// One field of a form.
#[derive(Clone, PartialEq)]
pub struct FormField {
    name: Box<str>,
    required: bool,
    schema: RawJson,
    kind: FieldKind,
}

/// What a field takes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Text.
    #[non_exhaustive]
    Text {
        /// `email`, `uri`, `date`, `date-time`, or another word.
        format: Option<String>,
        /// How many characters at least.
        min_length: Option<u64>,
        /// How many at most.
        max_length: Option<u64>,
    },
    /// A number.
    #[non_exhaustive]
    Number {
        /// Whether only whole ones.
        whole: bool,
        /// The smallest.
        minimum: Option<f64>,
        /// The largest.
        maximum: Option<f64>,
    },
    /// Yes or no.
    Flag,
    /// One of these.
    Choice(Vec<Choice>),
    /// Some of these.
    #[non_exhaustive]
    Choices {
        /// What there is.
        of: Vec<Choice>,
        /// How many at least.
        min: Option<u64>,
        /// How many at most.
        max: Option<u64>,
    },
    /// Something the specification doesn't allow in a form; any JSON may do.
    Other,
}

/// One of the values to choose from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// What is sent.
    pub value: RawJson,
    /// What is shown: its title, or the value itself.
    pub title: String,
}

impl Choice {
    /// Whether a person who wrote this means it: its value, or its title in any case.
    pub fn is_named(&self, written: &str) -> bool {
        self.is_value(written.trim()) || self.title.eq_ignore_ascii_case(written.trim())
    }

    fn is_value(&self, written: &str) -> bool {
        match self.value.as_text() {
            Some(text) => text == written,
            None => self.value.to_string() == written,
        }
    }
}

impl FormField {
    pub(super) fn all(schema: &RawJson) -> Vec<Self> {
        let required: Vec<_> =
            schema.get("required").iter().flat_map(RawJson::items).filter_map(|name| name.as_text()).collect();
        let properties = schema.get("properties");
        let fields = properties.iter().flat_map(RawJson::members).map(|(name, schema)| {
            let kind = FieldKind::read(&schema);
            Self { required: required.contains(&name), name: name.into(), schema, kind }
        });
        fields.collect()
    }

    /// Its name in the answer.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name for people, where the server gives one.
    pub fn title(&self) -> Option<String> {
        said(&self.schema, "title")
    }

    /// What it means.
    pub fn description(&self) -> Option<String> {
        said(&self.schema, "description")
    }

    /// Whether the form is incomplete without it.
    pub fn required(&self) -> bool {
        self.required
    }

    /// What it takes.
    pub fn kind(&self) -> &FieldKind {
        &self.kind
    }

    /// What stands there before anybody fills it in.
    pub fn default(&self) -> Option<RawJson> {
        self.schema.field("default")
    }

    /// The exact schema.
    pub fn raw(&self) -> &RawJson {
        &self.schema
    }

    /// From what a person wrote to the value: text as it is, numbers digit by digit, `yes`/`no` and their like, a choice by
    /// value or title, several separated by commas or as a JSON list.
    ///
    /// # Errors
    /// [`InvalidArguments`](crate::ErrorKind::InvalidArguments) that says what the field takes.
    pub fn read(&self, written: &str) -> Result<RawJson> {
        let value = match &self.kind {
            FieldKind::Text { .. } => Some(serde_json::Value::from(written).into()),
            FieldKind::Number { .. } => json(written).filter(|value| value.decode::<f64>().is_ok()),
            FieldKind::Flag => flag(written).map(|flag| serde_json::Value::from(flag).into()),
            FieldKind::Choice(choices) => chosen(choices, written),
            FieldKind::Choices { of, .. } => several(of, written),
            FieldKind::Other => json(written).or_else(|| Some(serde_json::Value::from(written).into())),
        };
        let value = value.ok_or_else(|| {
            let message = format!("\"{}\" has to be {}, not \"{written}\"", self.name, self.kind.words());
            Error::new(ErrorKind::InvalidArguments, message)
        })?;
        self.check(&value).map(|()| value)
    }

    /// Whether the field takes this value.
    ///
    /// # Errors
    /// [`InvalidArguments`](crate::ErrorKind::InvalidArguments) that says what it takes.
    pub fn check(&self, value: &RawJson) -> Result<()> {
        let member = |value: &RawJson| {
            let mut out = ObjectWriter::new();
            out.member(&self.name, value);
            out.finish()
        };
        let schema = RawJson::empty_object().with_member("properties", &member(&self.schema));
        match Checker::of_form(&schema, &Limits::default()) {
            Ok(checker) => match checker.problems(&member(value)) {
                Some(problems) => Err(Error::new(ErrorKind::InvalidArguments, problems)),
                None => Ok(()),
            },
            Err(_) => Ok(()), // left to the server
        }
    }
}

impl fmt::Debug for FormField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FormField({:?}, {})", self.name, self.schema)
    }
}

impl FieldKind {
    fn read(schema: &RawJson) -> Self {
        let count = |key: &str| schema.get(key).and_then(|value| value.decode::<u64>().ok());
        let number = |key: &str| schema.get(key).and_then(|value| value.decode::<f64>().ok());
        if let Some(choices) = choices(schema) {
            return Self::Choice(choices);
        }
        match schema.text("type").as_deref() {
            Some("string") => Self::Text {
                format: schema.text("format"),
                min_length: count("minLength"),
                max_length: count("maxLength"),
            },
            Some(kind @ ("number" | "integer")) => {
                Self::Number { whole: kind == "integer", minimum: number("minimum"), maximum: number("maximum") }
            }
            Some("boolean") => Self::Flag,
            Some("array") => match schema.get("items").as_ref().and_then(choices) {
                Some(of) => Self::Choices { of, min: count("minItems"), max: count("maxItems") },
                None => Self::Other,
            },
            _ => Self::Other,
        }
    }

    /// What it takes, in words: "a whole number".
    pub fn words(&self) -> String {
        let titles = |choices: &[Choice]| {
            let titles: Vec<_> = choices.iter().map(|choice| format!("\"{}\"", choice.title)).collect();
            titles.join(", ")
        };
        match self {
            Self::Text { format: Some(format), .. } => format_words(format),
            Self::Text { .. } => "text".to_owned(),
            Self::Number { whole: true, .. } => "a whole number".to_owned(),
            Self::Number { .. } => "a number".to_owned(),
            Self::Flag => "yes or no".to_owned(),
            Self::Choice(choices) => format!("one of {}", titles(choices)),
            Self::Choices { of, .. } => format!("some of {}", titles(of)),
            Self::Other => "JSON".to_owned(),
        }
    }
}

/// The values of an enum, with their titles: `oneOf` or `anyOf` of constants, or `enum`, perhaps with `enumNames`
/// (SEP-1330).
fn choices(schema: &RawJson) -> Option<Vec<Choice>> {
    let titled = |value: RawJson, title: Option<String>| {
        let title = title.or_else(|| value.as_text()).unwrap_or_else(|| value.to_string());
        Choice { value, title }
    };
    if let Some(list) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
        let each: Option<Vec<_>> =
            list.items().map(|item| Some(titled(item.get("const")?, said(&item, "title")))).collect();
        return each.filter(|each| !each.is_empty());
    }
    let values = schema.get("enum").filter(RawJson::is_array)?;
    let names: Vec<_> = schema.get("enumNames").iter().flat_map(RawJson::items).map(|name| name.as_text()).collect();
    let each = values.items().enumerate().map(|(at, value)| titled(value, names.get(at).cloned().flatten()));
    Some(each.collect())
}

fn json(written: &str) -> Option<RawJson> {
    RawJson::parse(written.trim().to_owned()).ok()
}

fn flag(written: &str) -> Option<bool> {
    match written.trim().to_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "1" => Some(true),
        "false" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// By its value, else by its title.
fn chosen(choices: &[Choice], written: &str) -> Option<RawJson> {
    let by_value = choices.iter().find(|choice| choice.is_value(written.trim()));
    by_value.or_else(|| choices.iter().find(|choice| choice.is_named(written))).map(|choice| choice.value.clone())
}

fn several(choices: &[Choice], written: &str) -> Option<RawJson> {
    if let Some(list) = json(written).filter(RawJson::is_array) {
        return Some(list);
    }
    let words = written.split(',').map(str::trim).filter(|word| !word.is_empty());
    let values: Option<Vec<_>> = words.map(|word| chosen(choices, word)).collect();
    Some(array(&values?))
}
