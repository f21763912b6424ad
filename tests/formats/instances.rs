//! Makes values for a schema: mostly ones that fit, with a slip here and there.

use serde_json::{Map, Value, json};

/// A small random number generator, so that a failure can be repeated from its seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// Arguments for a tool with this schema.
pub(crate) fn arguments(root: &Value, dice: &mut Dice) -> Value {
    match value(root, root, dice, 6) {
        Value::Object(arguments) => Value::Object(arguments),
        _ => json!({}),
    }
}

fn value(schema: &Value, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    if depth == 0 || dice.one_in(25) || !schema.is_object() {
        return anything(dice);
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?)) {
        return value(target, root, dice, depth - 1);
    }
    if let Some(fixed) = schema.get("const") {
        return fixed.clone();
    }
    if let Some(one) = schema["enum"].as_array().and_then(|values| dice.pick(values)) {
        return one.clone();
    }
    let mut made = None;
    for key in ["anyOf", "oneOf"] {
        if let Some(branch) = schema[key].as_array().and_then(|branches| dice.pick(branches)) {
            made = together(made, value(branch, root, dice, depth - 1));
        }
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        made = together(made, value(part, root, dice, depth - 1));
    }
    let own = by_type(schema, root, dice, depth);
    made = match own {
        Some(own) => together(made, own),
        None => made,
    };
    made.unwrap_or_else(|| anything(dice))
}

/// Objects united; otherwise the later.
fn together(a: Option<Value>, b: Value) -> Option<Value> {
    match (a, b) {
        (Some(Value::Object(mut a)), Value::Object(b)) => {
            a.extend(b);
            Some(Value::Object(a))
        }
        (_, b) => Some(b),
    }
}

fn by_type(schema: &Value, root: &Value, dice: &mut Dice, depth: usize) -> Option<Value> {
    let named: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ if schema["properties"].is_object() || schema.get("required").is_some() => vec!["object"],
        _ if schema.get("items").is_some() || schema.get("prefixItems").is_some() => vec!["array"],
        _ => Vec::new(),
    };
    Some(match *dice.pick(&named)? {
        "object" => object(schema, root, dice, depth),
        "array" => array(schema, root, dice, depth),
        "string" => json!(["", "a", "ab", "abc", "xyz-7", "abcdefgh"][dice.below(6)]),
        "integer" => json!(dice.below(14) as i64 - 2),
        "number" => json!((dice.below(28) as f64 - 4.0) / 2.0),
        "boolean" => json!(dice.one_in(2)),
        _ => Value::Null,
    })
}

fn object(schema: &Value, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    let mut made = Map::new();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let wanted = if required.contains(&name.as_str()) { !dice.one_in(20) } else { dice.one_in(2) };
        if wanted {
            made.insert(name.clone(), value(property, root, dice, depth - 1));
        }
    }
    for name in required {
        if !made.contains_key(name) && !dice.one_in(20) {
            made.insert(name.to_owned(), anything(dice));
        }
    }
    if dice.one_in(5) {
        let extra = match schema.get("additionalProperties") {
            Some(rest) if rest.is_object() => value(rest, root, dice, depth - 1),
            _ => anything(dice),
        };
        made.insert(["extra", "x-more", "b"][dice.below(3)].to_owned(), extra);
    }
    Value::Object(made)
}

fn array(schema: &Value, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    let mut made: Vec<Value> =
        schema["prefixItems"].as_array().into_iter().flatten().map(|item| value(item, root, dice, depth - 1)).collect();
    for _ in 0..dice.below(3) {
        made.push(match schema.get("items") {
            Some(items) => value(items, root, dice, depth - 1),
            None => anything(dice),
        });
    }
    Value::Array(made)
}

fn anything(dice: &mut Dice) -> Value {
    let all =
        [json!(null), json!(true), json!(3), json!(-1.5), json!("a"), json!("ab"), json!([]), json!(["a"]), json!({})];
    all[dice.below(all.len())].clone()
}
