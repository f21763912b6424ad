//! Which keywords hold schemas. What is merely named like a keyword (a property, a value) is none.

/// What the value of a keyword is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Schema,
    /// A list of schemas.
    List,
    /// An object of schemas.
    Map,
    /// Anything else.
    Data,
}

impl Holds {
    pub(super) fn of(keyword: &str) -> Self {
        match keyword {
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "contentSchema"
            | "not"
            | "if"
            | "then"
            | "else" => Self::Schema,
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => Self::List,
            "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => Self::Map,
            _ => Self::Data,
        }
    }
}
