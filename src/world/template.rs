//! Templates and conditions of a suite, compiled once.
//!
//! A name that does not exist is empty, and its members too: what a model leaves out of its arguments
//! must not break the tool. What can't be computed at all, such as a text plus a number, is an error.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, context};
use serde_json::{Map, Value};

/// The variable that takes the value of a lone expression.
const SLOT: &str = "assize_value";

/// All templates of a suite.
pub(super) struct Templates {
    environment: Environment<'static>,
    count: usize,
}

/// A JSON value with templates in its texts.
#[derive(Debug)]
pub(super) enum Shape {
    /// Holds no template.
    Fixed(Value),
    /// Renders as text.
    Text(String),
    /// One expression, whose value keeps its type.
    Typed(String),
    List(Vec<Shape>),
    Map(Vec<(String, Shape)>),
}

/// An expression that holds or not.
#[derive(Debug)]
pub(super) struct Condition(String);

/// What templates see.
pub(super) struct Scope<'a> {
    /// Arguments of the call.
    pub args: &'a Value,
    /// The state document before the call.
    pub state: Option<&'a Value>,
    /// Number of this call of the tool, from 1.
    pub call: u32,
    /// Index of the trial, from 0.
    pub trial: u32,
}

impl Scope<'_> {
    /// The names as the template engine wants them; made once per call.
    pub fn names(&self) -> minijinja::Value {
        context! {
            args => minijinja::Value::from(Serde(self.args)),
            state => minijinja::Value::from(Serde(self.state)),
            call => self.call,
            trial => self.trial,
        }
    }
}

impl Templates {
    pub fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        Self {
            environment,
            count: 0,
        }
    }

    /// Compiles every text in a value.
    pub fn value(&mut self, value: &Value) -> Result<Shape, String> {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                let items = items.iter().map(|v| self.value(v));
                Ok(Shape::List(items.collect::<Result<_, _>>()?))
            }
            Value::Object(members) => {
                let members = members.iter().map(|(k, v)| Ok((k.clone(), self.value(v)?)));
                Ok(Shape::Map(members.collect::<Result<_, String>>()?))
            }
            other => Ok(Shape::Fixed(other.clone())),
        }
    }

    /// Compiles one text.
    pub fn text(&mut self, text: &str) -> Result<Shape, String> {
        if !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
            return Ok(Shape::Fixed(Value::String(text.to_owned())));
        }
        if let Some(expression) = lone_expression(text)
            && self.environment.compile_expression(expression).is_ok()
        {
            return Ok(Shape::Typed(self.slot(expression)?));
        }
        Ok(Shape::Text(self.add(text.to_owned())?))
    }

    /// Compiles a condition.
    pub fn condition(&mut self, expression: &str) -> Result<Condition, String> {
        let compiled = self.environment.compile_expression(expression);
        compiled.map_err(|e| told(&e))?;
        self.slot(expression).map(Condition)
    }

    fn slot(&mut self, expression: &str) -> Result<String, String> {
        self.add(format!("{{% set {SLOT} = ({expression}) %}}"))
    }

    fn add(&mut self, source: String) -> Result<String, String> {
        let name = self.count.to_string();
        self.count += 1;
        let added = self.environment.add_template_owned(name.clone(), source);
        added.map(|()| name).map_err(|e| told(&e))
    }

    /// The value with its templates filled in.
    pub fn fill(&self, shape: &Shape, names: &minijinja::Value) -> Result<Value, String> {
        match shape {
            Shape::Fixed(value) => Ok(value.clone()),
            Shape::Text(name) => self.rendered(name, names).map(Value::String),
            Shape::Typed(name) => {
                let value = self.evaluated(name, names)?;
                serde_json::to_value(&value).map_err(|e| e.to_string())
            }
            Shape::List(items) => items.iter().map(|s| self.fill(s, names)).collect(),
            Shape::Map(members) => {
                let filled = members
                    .iter()
                    .map(|(k, s)| Ok((k.clone(), self.fill(s, names)?)));
                Ok(Value::Object(
                    filled.collect::<Result<Map<_, _>, String>>()?,
                ))
            }
        }
    }

    /// A text with its templates filled in; a value that is none is written as JSON.
    pub fn fill_text(&self, shape: &Shape, names: &minijinja::Value) -> Result<String, String> {
        Ok(match self.fill(shape, names)? {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    /// Whether a condition holds.
    pub fn holds(&self, when: &Condition, names: &minijinja::Value) -> Result<bool, String> {
        Ok(self.evaluated(&when.0, names)?.is_true())
    }

    fn rendered(&self, name: &str, names: &minijinja::Value) -> Result<String, String> {
        let template = self.environment.get_template(name);
        let rendered = template.and_then(|t| t.render(names.clone()));
        rendered.map_err(|e| told(&e))
    }

    fn evaluated(&self, name: &str, names: &minijinja::Value) -> Result<minijinja::Value, String> {
        let template = self.environment.get_template(name).map_err(|e| told(&e))?;
        let captured = template
            .render_captured(names.clone())
            .map_err(|e| told(&e))?;
        Ok(captured.state().lookup(SLOT).unwrap_or_default())
    }
}

/// The expression of a text that is nothing but one in double braces.
fn lone_expression(text: &str) -> Option<&str> {
    text.trim().strip_prefix("{{")?.strip_suffix("}}")
}

/// The message without the name that only we know.
fn told(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(shape: Value) -> Result<Value, String> {
        let mut templates = Templates::new();
        let shape = templates.value(&shape)?;
        let (args, state) = (
            json!({"id": "7", "amount": 12.5, "list": [1]}),
            json!({"orders": {"7": {"total": 3}}}),
        );
        let scope = Scope {
            args: &args,
            state: Some(&state),
            call: 2,
            trial: 0,
        };
        templates.fill(&shape, &scope.names())
    }

    #[test]
    fn a_lone_expression_keeps_its_type_and_other_texts_are_texts() {
        for (shape, expected) in [
            (json!("{{ args.amount }}"), json!(12.5)),
            (json!("{{ state.orders[args.id] }}"), json!({"total": 3})),
            (json!("{{ args.list }}"), json!([1])),
            (json!("{{ call == 2 }}"), json!(true)),
            (json!("{{ args.id }}-{{ call }}"), json!("7-2")),
            (json!("no braces }}"), json!("no braces }}")),
            (json!({"a": [1, "{{ trial }}"]}), json!({"a": [1, 0]})),
            (json!("{% if call > 1 %}again{% endif %}"), json!("again")),
            (json!("{{ '%}' ~ args.id }}"), json!("%}7")),
            (json!("<{{ '<b>' }}>"), json!("<<b>>")),
        ] {
            assert_eq!(filled(shape.clone()), Ok(expected), "{shape}");
        }
    }

    #[test]
    fn what_was_left_out_is_empty_and_what_makes_no_sense_is_an_error() {
        assert_eq!(filled(json!("{{ args.none.deeper }}")), Ok(json!(null)));
        assert_eq!(filled(json!("a{{ args.none }}")), Ok(json!("a")));
        assert!(filled(json!("{{ args.id + 1 }}")).is_err());
        assert!(filled(json!("{{ args. }}")).is_err());
        assert!(Templates::new().condition("1 %}{% set x = 2").is_err());
    }
}
