//! Templates and conditions that suites and scripts declare, compiled once.
//!
//! A name that does not exist is empty, and its members too: what a model leaves out of its arguments must
//! not break a tool. What can't be computed at all, such as a text plus a number, is an error. A text that
//! is one expression in double braces keeps the type of its value; within a text values are printed as
//! JSON, for texts that are JSON themselves.

use minijinja::{Environment, Output, State, UndefinedBehavior, Value as View};
use serde_json::{Map, Value};

/// The variable that takes the value of an expression.
const SLOT: &str = "assize_value";

/// What came of compiling or rendering: the thing, or what went wrong in words.
pub type Rendered<T> = Result<T, String>;

/// Compiled templates, by the names that [`Text`], [`Form`] and [`Condition`] keep.
pub struct Templates {
    environment: Environment<'static>,
    count: usize,
}

/// A text, fixed or to be rendered.
#[derive(Clone, Debug)]
pub enum Text {
    /// Nothing in it changes, so nothing is rendered.
    Fixed(String),
    /// Name of a compiled template.
    Template(String),
}

/// A JSON value whose texts are templates.
#[derive(Clone, Debug)]
pub enum Form {
    /// Nothing in it changes.
    Fixed(Value),
    /// A template that renders to text; by its name.
    Text(String),
    /// One expression, whose value keeps its type; by the name of its template.
    Expression(String),
    /// A list of forms.
    List(Vec<Form>),
    /// A mapping to forms.
    Map(Vec<(String, Form)>),
}

/// An expression that holds or not.
#[derive(Clone, Debug)]
pub struct Condition(String);

impl Form {
    /// Whether nothing in it has to be rendered.
    pub fn is_fixed(&self) -> bool {
        match self {
            Self::Fixed(_) => true,
            Self::Text(_) | Self::Expression(_) => false,
            Self::List(forms) => forms.iter().all(Self::is_fixed),
            Self::Map(forms) => forms.iter().all(|(_, form)| form.is_fixed()),
        }
    }
}

impl Templates {
    /// No templates yet.
    #[expect(
        clippy::new_without_default,
        reason = "it is begun to be filled, not to be defaulted"
    )]
    pub fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.set_formatter(print);
        Self {
            environment,
            count: 0,
        }
    }

    /// Compiles a text that renders to text, whatever it is made of.
    ///
    /// # Errors
    ///
    /// If it is no template.
    pub fn text(&mut self, source: &str) -> Rendered<Text> {
        match is_template(source) {
            true => self.add(source.to_owned()).map(Text::Template),
            false => Ok(Text::Fixed(source.to_owned())),
        }
    }

    /// Compiles a JSON value whose texts are templates.
    ///
    /// # Errors
    ///
    /// If one of them is none.
    pub fn form(&mut self, value: &Value) -> Rendered<Form> {
        match value {
            Value::String(text) => self.form_of_text(text),
            Value::Array(items) => {
                let forms = items.iter().map(|i| self.form(i)).collect::<Rendered<_>>();
                forms.map(Form::List)
            }
            Value::Object(map) => self.map(map),
            other => Ok(Form::Fixed(other.clone())),
        }
    }

    /// Compiles a text, of which one expression keeps its type.
    ///
    /// # Errors
    ///
    /// If it is no template.
    pub fn form_of_text(&mut self, text: &str) -> Rendered<Form> {
        if !is_template(text) {
            return Ok(Form::Fixed(text.into()));
        }
        if let Some(expression) = lone_expression(text)
            && self.environment.compile_expression(expression).is_ok()
        {
            return self.slot(expression).map(Form::Expression);
        }
        self.add(text.to_owned()).map(Form::Text)
    }

    /// Compiles a mapping whose texts are templates.
    ///
    /// # Errors
    ///
    /// If one of them is none.
    pub fn map(&mut self, map: &Map<String, Value>) -> Rendered<Form> {
        let forms = map
            .iter()
            .map(|(key, value)| Ok((key.clone(), self.form(value)?)));
        forms.collect::<Rendered<_>>().map(Form::Map)
    }

    /// Compiles a condition.
    ///
    /// # Errors
    ///
    /// If it is no expression.
    pub fn condition(&mut self, expression: &str) -> Rendered<Condition> {
        let compiled = self.environment.compile_expression(expression);
        compiled.map_err(|e| told(&e))?;
        self.slot(expression).map(Condition)
    }

    fn slot(&mut self, expression: &str) -> Rendered<String> {
        self.add(format!("{{% set {SLOT} = ({expression}) %}}"))
    }

    fn add(&mut self, source: String) -> Rendered<String> {
        let name = self.count.to_string();
        self.count += 1;
        let added = self.environment.add_template_owned(name.clone(), source);
        added.map(|()| name).map_err(|e| told(&e))
    }

    /// Renders a text.
    ///
    /// # Errors
    ///
    /// If it asks for something that can't be done with the values at hand.
    pub fn render(&self, text: &Text, view: &View) -> Rendered<String> {
        match text {
            Text::Fixed(text) => Ok(text.clone()),
            Text::Template(name) => self.rendered(name, view),
        }
    }

    /// Renders a JSON value.
    ///
    /// # Errors
    ///
    /// As [`render`](Self::render).
    pub fn fill(&self, form: &Form, view: &View) -> Rendered<Value> {
        match form {
            Form::Fixed(value) => Ok(value.clone()),
            Form::Text(name) => self.rendered(name, view).map(Value::String),
            Form::Expression(name) => {
                let value = self.evaluated(name, view)?;
                serde_json::to_value(&value).map_err(|e| e.to_string())
            }
            Form::List(forms) => forms.iter().map(|f| self.fill(f, view)).collect(),
            Form::Map(forms) => forms
                .iter()
                .map(|(key, form)| Ok((key.clone(), self.fill(form, view)?)))
                .collect::<Rendered<Map<_, _>>>()
                .map(Value::Object),
        }
    }

    /// Whether a condition holds.
    ///
    /// # Errors
    ///
    /// As [`render`](Self::render).
    pub fn holds(&self, condition: &Condition, view: &View) -> Rendered<bool> {
        Ok(self.evaluated(&condition.0, view)?.is_true())
    }

    fn rendered(&self, name: &str, view: &View) -> Rendered<String> {
        let template = self.environment.get_template(name);
        let rendered = template.and_then(|t| t.render(view));
        rendered.map_err(|e| told(&e))
    }

    fn evaluated(&self, name: &str, view: &View) -> Rendered<View> {
        let template = self.environment.get_template(name).map_err(|e| told(&e))?;
        let captured = template.render_captured(view).map_err(|e| told(&e))?;
        Ok(captured.state().lookup(SLOT).unwrap_or_default())
    }
}

/// Prints text as it is, nothing for what is absent, and everything else as JSON: `None` or `True` would
/// break it.
fn print(out: &mut Output, _: &mut State, value: &View) -> Result<(), minijinja::Error> {
    let json = match value.as_str() {
        Some(text) => return out.write_str(text).map_err(minijinja::Error::from),
        None if value.is_undefined() => return Ok(()),
        None => serde_json::to_string(value),
    };
    let json = json.map_err(|e| {
        minijinja::Error::new(minijinja::ErrorKind::BadSerialization, e.to_string())
    })?;
    out.write_str(&json).map_err(minijinja::Error::from)
}

/// Whether a text holds anything that a template engine would touch.
pub fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
}

/// What stands between the double braces of a text that begins and ends with them.
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
    use minijinja::value::Serde;
    use serde_json::json;

    use super::*;

    fn filled(form: Value, view: Value) -> Rendered<Value> {
        let mut templates = Templates::new();
        let form = templates.form(&form)?;
        templates.fill(&form, &View::from(Serde(view)))
    }

    #[test]
    fn one_expression_keeps_its_type_and_text_stays_text() {
        let form = json!({"a": "{{ n }}", "b": "{{ n }} of {{ n }}", "c": ["{{ m.x }}", 1.5],
            "d": "{{ none.at.all }}", "e": "{{ n == 3 }}", "f": "no braces }}", "g": "{{ '%}' ~ n }}",
            "h": "{% if n > 1 %}again{% endif %}", "i": "<{{ '<b>' }}>", "j": "a{{ none.at.all }}"});
        assert_eq!(
            filled(form, json!({"n": 3, "m": {"x": {"y": [1]}}})).unwrap(),
            json!({"a": 3, "b": "3 of 3", "c": [{"y": [1]}, 1.5], "d": null, "e": true,
                "f": "no braces }}", "g": "%}3", "h": "again", "i": "<<b>>", "j": "a"})
        );
    }

    #[test]
    fn values_within_a_text_are_printed_as_json() {
        let mut templates = Templates::new();
        let text = "{{ t }} {{ f }} {{ n }} {{ m }} [{{ absent }}]";
        let text = templates.text(text).unwrap();
        let view = json!({"t": "it's <b>", "f": true, "n": null, "m": {"a": [1.5, null]}});
        let printed = templates.render(&text, &View::from(Serde(view))).unwrap();
        assert_eq!(printed, r#"it's <b> true null {"a":[1.5,null]} []"#);
    }

    #[test]
    fn conditions_hold_or_not() {
        let mut templates = Templates::new();
        let view = View::from(Serde(json!({"n": 3})));
        let holds = templates.condition("n == 3 and not absent.thing").unwrap();
        assert!(templates.holds(&holds, &view).unwrap());
        let not = templates.condition("n > 3").unwrap();
        assert!(!templates.holds(&not, &view).unwrap());
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        assert!(filled(json!("{{ id + 1 }}"), json!({"id": "7"})).is_err());
        assert!(filled(json!("{{ id. }}"), json!({})).is_err());
        let mut templates = Templates::new();
        assert!(templates.condition("n ==").is_err());
        assert!(templates.condition("1 %}{% set x = 2").is_err());
        assert!(templates.text("{{ n").is_err());
    }
}
