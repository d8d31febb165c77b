//! Bounds on the work and the stack that a schema may cost: validators follow references without end or fuel, so that a small schema and a
//! small answer can keep a server busy for days, or overflow its stack and end the process. It must not know what a schema means.
//!
//! A schema is read into a graph: which schemas apply at the same place of a value, and which to its children. References that go round at
//! one place are refused; before an answer is checked, the steps that the check will take are counted, each pair of schema and place once.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::schema::{SchemaProblem, problem};

/// Most steps of a check: one for each visit of a schema to a place of an answer, and one for each value, name or rule that the schema
/// compares it with there.
const MAX_STEPS: u64 = 10_000_000;
/// Deepest nesting of such visits. A thread's stack holds some thousands.
const MAX_LEVELS: usize = 1_000;

/// The graph of a schema.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    nodes: Vec<Node>,
}

/// One schema: the indexes of those that it leads to.
#[derive(Debug, Default)]
struct Node {
    /// At the same place of the value.
    here: Vec<usize>,
    /// At the property of this name.
    named: BTreeMap<String, usize>,
    /// At the items of these places.
    placed: Vec<usize>,
    /// At any child.
    each: Vec<usize>,
    /// Values, names and rules that one visit compares with.
    compares: u64,
}

struct Reader<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    known: HashMap<*const Value, usize>,
    unread: Vec<(usize, &'a Value)>,
    nodes: Vec<Node>,
}

impl Bounds {
    /// Reads a schema, which must be small enough to be walked by recursion.
    pub(super) fn of(root: &Value) -> Result<Self, SchemaProblem> {
        let mut reader =
            Reader { root, anchors: HashMap::new(), known: HashMap::new(), unread: Vec::new(), nodes: Vec::new() };
        reader.find_anchors(root)?;
        reader.node(root);
        while let Some((index, value)) = reader.unread.pop() {
            let node = reader.read(value)?;
            if let Some(slot) = reader.nodes.get_mut(index) {
                *slot = node;
            }
        }
        let bounds = Self { nodes: reader.nodes };
        if bounds.goes_round() {
            return Err(problem("", "has a `$ref` that leads back to itself at the same place of a value"));
        }
        Ok(bounds)
    }

    /// Whether checking this value stays within the bounds.
    pub(super) fn allow(&self, value: &Value) -> bool {
        self.steps(0, value, 0, &mut HashMap::new()).is_some()
    }

    /// How many steps checking a value against a node takes; absent when they are too many or too deep.
    fn steps(
        &self,
        index: usize,
        value: &Value,
        level: usize,
        known: &mut HashMap<(usize, *const Value), u64>,
    ) -> Option<u64> {
        let node = self.nodes.get(index)?;
        if level > MAX_LEVELS {
            return None;
        }
        if let Some(steps) = known.get(&(index, std::ptr::from_ref(value))) {
            return Some(*steps);
        }
        let mut steps = node.compares.saturating_add(1);
        let mut visit = |index: usize, value: &Value| {
            steps = steps.saturating_add(self.steps(index, value, level + 1, known)?);
            (steps <= MAX_STEPS).then_some(())
        };
        for index in &node.here {
            visit(*index, value)?;
        }
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    for index in node.named.get(name).into_iter().chain(&node.each) {
                        visit(*index, field)?;
                    }
                }
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    for index in node.placed.get(place).into_iter().chain(&node.each) {
                        visit(*index, item)?;
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        known.insert((index, std::ptr::from_ref(value)), steps);
        (steps <= MAX_STEPS).then_some(steps)
    }

    /// Whether some node leads to itself at the same place. Nodes without anything left to lead to are taken away until none is left, or
    /// only those on rounds and before them.
    fn goes_round(&self) -> bool {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut leads: Vec<usize> = self.nodes.iter().map(|node| node.here.len()).collect();
        for (index, node) in self.nodes.iter().enumerate() {
            for to in &node.here {
                if let Some(from) = before.get_mut(*to) {
                    from.push(index);
                }
            }
        }
        let mut ends: Vec<usize> = (0..leads.len()).filter(|index| leads.get(*index) == Some(&0)).collect();
        let mut taken = 0;
        while let Some(end) = ends.pop() {
            taken += 1;
            for from in before.get(end).into_iter().flatten() {
                if let Some(left) = leads.get_mut(*from) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        ends.push(*from);
                    }
                }
            }
        }
        taken < self.nodes.len()
    }
}

impl<'a> Reader<'a> {
    /// Finds what references can name, and refuses documents inside the document, whose references would start from elsewhere.
    fn find_anchors(&mut self, value: &'a Value) -> Result<(), SchemaProblem> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.find_anchors(item)),
            Value::Object(fields) => {
                let named = |key: &str| fields.get(key).and_then(Value::as_str);
                for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(named) {
                    self.anchors.entry(anchor).or_default().push(value);
                }
                if !std::ptr::eq(value, self.root) && named("$id").is_some() {
                    return Err(problem(
                        "",
                        "has an `$id` inside; name parts under `$defs` and refer to `#/$defs/name`",
                    ));
                }
                fields.iter().filter(|(key, _)| !is_data(key)).try_for_each(|(_, field)| self.find_anchors(field))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    /// The index of a schema, which is read later when it is new.
    fn node(&mut self, value: &'a Value) -> usize {
        if let Some(index) = self.known.get(&std::ptr::from_ref(value)) {
            return *index;
        }
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        self.known.insert(std::ptr::from_ref(value), index);
        self.unread.push((index, value));
        index
    }

    fn read(&mut self, value: &'a Value) -> Result<Node, SchemaProblem> {
        let mut node = Node::default();
        let Value::Object(fields) = value else {
            return Ok(node);
        };
        for (key, field) in fields {
            node.compares = node.compares.saturating_add(compares(key, field));
            match (key.as_str(), field) {
                ("$ref" | "$dynamicRef", Value::String(target)) => node.here.extend(self.follow(target)?),
                ("properties", Value::Object(named)) => {
                    node.named = named.iter().map(|(name, schema)| (name.clone(), self.node(schema))).collect();
                }
                ("patternProperties", Value::Object(named)) => node.each.extend(self.all(named)),
                ("dependentSchemas" | "dependencies", Value::Object(named)) => node.here.extend(self.all(named)),
                ("prefixItems" | "items", Value::Array(items)) => {
                    node.placed.extend(items.iter().map(|schema| self.node(schema)));
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(items)) => {
                    node.here.extend(items.iter().map(|schema| self.node(schema)));
                }
                ("not" | "if" | "then" | "else", schema) => node.here.push(self.node(schema)),
                (
                    "items"
                    | "additionalItems"
                    | "unevaluatedItems"
                    | "contains"
                    | "additionalProperties"
                    | "unevaluatedProperties"
                    | "propertyNames",
                    schema,
                ) => node.each.push(self.node(schema)),
                _ => {}
            }
        }
        Ok(node)
    }

    fn all(&mut self, named: &'a Map<String, Value>) -> Vec<usize> {
        named.values().map(|schema| self.node(schema)).collect()
    }

    /// Where a reference leads. Only places of this document are taken, so that the graph is the whole of it.
    fn follow(&mut self, target: &str) -> Result<Vec<usize>, SchemaProblem> {
        let own = self.root.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
        let place = own.filter(|id| !id.is_empty()).and_then(|id| target.strip_prefix(id)).unwrap_or(target);
        let Some(fragment) = place.strip_prefix('#').or_else(|| place.is_empty().then_some("")) else {
            let text = format!("the `$ref` to `{}` leads out of the schema, and nothing is fetched", short(target));
            return Err(problem("", text));
        };
        let found = if fragment.is_empty() || fragment.starts_with('/') {
            let pointer = decoded(fragment);
            pointer.and_then(|pointer| self.root.pointer(&pointer)).into_iter().collect()
        } else {
            self.anchors.get(fragment).cloned().unwrap_or_default()
        };
        if found.is_empty() {
            return Err(problem("", format!("the `$ref` to `{}` leads nowhere in the schema", short(target))));
        }
        Ok(found.into_iter().map(|schema| self.node(schema)).collect())
    }
}

/// How much a keyword compares a value with, whatever that is.
fn compares(key: &str, field: &Value) -> u64 {
    let count = match (key, field) {
        ("enum" | "required", Value::Array(items)) => items.len(),
        (
            "properties" | "patternProperties" | "dependentRequired" | "dependentSchemas" | "dependencies",
            Value::Object(named),
        ) => named.len(),
        _ => 0,
    };
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Keywords whose values are data, not schemas.
fn is_data(key: &str) -> bool {
    matches!(key, "const" | "enum" | "default" | "examples")
}

fn short(target: &str) -> String {
    target.chars().take(100).collect()
}

/// A fragment without its percent signs (RFC 3986).
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let pair = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }))
    }

    #[test]
    fn references_that_go_round_at_one_place_are_refused() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "$ref": "" }),
            json!({ "allOf": [{ "$ref": "#" }] }),
            json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "not": { "$ref": "#/$defs/a" } } }, "$ref": "#/$defs/a" }),
            json!({ "$id": "http://x/r.json", "$ref": "http://x/r.json#" }),
            json!({ "$anchor": "top", "anyOf": [{ "$ref": "#top" }] }),
            json!({ "$defs": { "a b": { "$ref": "#/%24defs/a%20b" } }, "$ref": "#/$defs/a%20b" }),
        ] {
            assert!(Bounds::of(&schema).unwrap_err().message.contains("leads back to itself"), "{schema}");
        }
    }

    #[test]
    fn references_out_of_the_document_or_to_nowhere_are_refused() {
        for target in ["http://x/y", "other.json", "r.json#/$defs/a", "#/$defs/missing", "#missing", "#/%zz"] {
            let schema = json!({ "$id": "http://x/r.json", "properties": { "a": { "$ref": target } } });
            assert!(Bounds::of(&schema).is_err(), "{target}");
        }
        let inside = json!({ "$defs": { "s": { "$id": "http://x/s", "type": "object" } } });
        assert!(Bounds::of(&inside).unwrap_err().message.contains("`$id` inside"));
        let data = json!({ "const": { "$id": "x", "$ref": "http://x/y" } });
        assert!(Bounds::of(&data).is_ok());
    }

    #[test]
    fn a_recursive_schema_is_fine_as_long_as_the_work_is() {
        let tree = json!({ "properties": { "a": { "$ref": "#" }, "b": { "$ref": "#" } } });
        assert!(Bounds::of(&tree).unwrap().allow(&nested(120)));
    }

    #[test]
    fn work_that_doubles_with_each_level_is_not_begun() {
        let twice = json!({ "allOf": [{ "properties": { "a": { "$ref": "#" } } }, { "properties": { "a": { "$ref": "#" } } }] });
        let bounds = Bounds::of(&twice).unwrap();
        assert!(bounds.allow(&nested(10)));
        assert!(!bounds.allow(&nested(40)));
    }

    #[test]
    fn a_stack_that_would_overflow_is_not_begun() {
        let last = |number: usize| {
            if number == 2_999 {
                json!({ "properties": { "a": { "$ref": "#" } } })
            } else {
                json!({ "allOf": [{ "$ref": format!("#/$defs/d{}", number + 1) }] })
            }
        };
        let defs: Map<String, Value> = (0..3_000).map(|number| (format!("d{number}"), last(number))).collect();
        let chain = json!({ "$defs": defs, "$ref": "#/$defs/d0" });
        assert!(!Bounds::of(&chain).unwrap().allow(&nested(1)));
    }

    /// A long list of values in the schema, compared with each of many items in the answer, is work as well.
    #[test]
    fn long_lists_in_a_schema_count_for_each_place() {
        let words: Vec<String> = (0..2_000).map(|number| format!("word {number}")).collect();
        let list = |schema: Value| Bounds::of(&json!({ "items": schema })).unwrap();
        let items = |count: usize| Value::from(vec![json!({}); count]);
        let named: Map<String, Value> = words.iter().map(|word| (word.clone(), json!({}))).collect();
        for schema in [json!({ "enum": words }), json!({ "required": words }), json!({ "properties": named })] {
            let bounds = list(schema);
            assert!(bounds.allow(&items(1_000)) && !bounds.allow(&items(10_000)));
        }
    }

    #[test]
    fn many_items_are_fine() {
        let list =
            json!({ "type": "array", "items": { "type": "object", "properties": { "a": { "type": "string" } } } });
        let items: Vec<Value> = (0..50_000).map(|_| json!({ "a": "x" })).collect();
        assert!(Bounds::of(&list).unwrap().allow(&Value::from(items)));
    }
}
