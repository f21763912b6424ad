//! What holds of arguments, whatever is typed and whatever the schema says.

use trunkline::RawJson;

use super::Given;
use crate::exit::Exit;
use crate::shape::{Shape, Types};

/// What is typed becomes one JSON object in which text stays the text that was typed, or an error of usage. Files aren't
/// read here: the caller leaves out what names one.
pub(crate) fn arguments(schema: &RawJson, typed: &[String], whole: Option<&str>) {
    let shape = Shape::new(schema.clone());
    let _ = (shape.written(), shape.default(), shape.is_open());
    let outcome = Given::read(typed, whole).and_then(|given| given.typed(&shape));
    let arguments = match outcome {
        Ok(arguments) => arguments,
        Err(failure) => return assert!(failure.exit == Exit::Usage && !failure.error.message().is_empty()),
    };
    assert!(RawJson::parse(arguments.raw().as_bytes().to_vec()).is_ok());
    let properties = shape.properties();
    for (at, one) in typed.iter().enumerate() {
        let Some((name, value)) = one.split_once('=').filter(|(name, _)| !name.ends_with(':')) else { continue };
        let is_of_name = |other: &String| {
            other.split_once('=').is_some_and(|(key, _)| key == name || key.strip_suffix(':') == Some(name))
        };
        let alone = typed.iter().enumerate().all(|(other, text)| other == at || !is_of_name(text));
        let sent = arguments.get(name).expect("what is given is sent");
        let types = properties
            .iter()
            .find(|property| property.name == name)
            .map_or(Types::ANY, |property| property.shape.types());
        if alone && types.has(Types::STRING) {
            assert_eq!(sent.as_text().as_deref(), Some(value.strip_prefix('@').unwrap_or(value)));
        } else if alone {
            assert!(types.has(Types::ARRAY) || value.trim() == sent.to_string(), "{value:?} was sent as {sent}");
        }
    }
}
