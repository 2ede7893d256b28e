//! Templates of a script, compiled once.

use minijinja::{Environment, Output, State, UndefinedBehavior, Value as View};
use serde_json::{Map, Value};

/// What came of rendering: the text, or what went wrong in words.
pub(crate) type Rendered<T> = Result<T, String>;

/// The compiled templates of a script.
pub(crate) struct Templates {
    environment: Environment<'static>,
    count: usize,
}

/// A text, fixed or to be rendered.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    /// Nothing in it changes, so nothing is rendered.
    Fixed(String),
    /// Name of a compiled template.
    Template(String),
}

/// A JSON value whose texts are templates.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// Nothing in it changes.
    Fixed(Value),
    /// A template that renders to text.
    Text(Text),
    /// A template that renders to JSON: the text was one expression.
    Expression(Text),
    /// A list of forms.
    List(Vec<Form>),
    /// A mapping to forms.
    Map(Vec<(String, Form)>),
}

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

/// An expression that holds or not.
#[derive(Clone, Debug)]
pub(crate) struct Condition(Text);

impl Templates {
    /// No templates yet. Absent values render as nothing, so that a script need not ask for each
    /// whether it is there.
    pub fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.set_formatter(print);
        Self {
            environment,
            count: 0,
        }
    }

    fn compile(&mut self, source: String) -> Rendered<Text> {
        let name = format!("t{}", self.count);
        self.count += 1;
        self.environment
            .add_template_owned(name.clone(), source)
            .map_err(|e| said(&e))?;
        Ok(Text::Template(name))
    }

    /// Compiles a text.
    ///
    /// # Errors
    ///
    /// If it is no template.
    pub fn text(&mut self, source: &str) -> Rendered<Text> {
        if !is_template(source) {
            return Ok(Text::Fixed(source.to_owned()));
        }
        self.compile(source.to_owned())
    }

    /// Compiles a condition.
    ///
    /// # Errors
    ///
    /// If it is no expression.
    pub fn condition(&mut self, expression: &str) -> Rendered<Condition> {
        let source = format!("{{% if {expression} %}}1{{% endif %}}");
        self.compile(source).map(Condition)
    }

    /// Compiles a JSON value whose texts are templates.
    ///
    /// # Errors
    ///
    /// If one of them is none.
    pub fn form(&mut self, value: &Value) -> Rendered<Form> {
        match value {
            Value::String(text) if !is_template(text) => Ok(Form::Fixed(value.clone())),
            Value::String(text) => match expression(text) {
                Some(inner) => self
                    .compile(format!("{{{{ ({inner})|tojson }}}}"))
                    .map(Form::Expression),
                None => self.text(text).map(Form::Text),
            },
            Value::Array(items) => {
                let forms = items.iter().map(|i| self.form(i)).collect::<Rendered<_>>();
                forms.map(Form::List)
            }
            Value::Object(map) => self.map(map),
            other => Ok(Form::Fixed(other.clone())),
        }
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

    /// Renders a text.
    ///
    /// # Errors
    ///
    /// If it asks for something that can't be done with the values at hand.
    pub fn render(&self, text: &Text, view: &View) -> Rendered<String> {
        match text {
            Text::Fixed(text) => Ok(text.clone()),
            Text::Template(name) => self
                .environment
                .get_template(name)
                .and_then(|t| t.render(view))
                .map_err(|e| said(&e)),
        }
    }

    /// Renders a JSON value.
    ///
    /// # Errors
    ///
    /// As [`render`](Self::render).
    pub fn value(&self, form: &Form, view: &View) -> Rendered<Value> {
        match form {
            Form::Fixed(value) => Ok(value.clone()),
            Form::Text(text) => self.render(text, view).map(Value::String),
            Form::Expression(text) => {
                let json = self.render(text, view)?;
                serde_json::from_str(&json).map_err(|e| e.to_string())
            }
            Form::List(forms) => forms.iter().map(|f| self.value(f, view)).collect(),
            Form::Map(forms) => forms
                .iter()
                .map(|(key, form)| Ok((key.clone(), self.value(form, view)?)))
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
        self.render(&condition.0, view).map(|text| text == "1")
    }
}

/// Prints text as it is, nothing for what is absent, and everything else as JSON: scripts are full of
/// it, and `None` or `True` would break it.
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
fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
}

/// The expression, if a text is one expression in double braces and nothing else.
fn expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!is_template(inner) && !inner.contains("}}")).then(|| inner.trim())
}

fn said(error: &minijinja::Error) -> String {
    error.detail().map_or_else(
        || error.kind().to_string(),
        |detail| format!("{}: {detail}", error.kind()),
    )
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use serde_json::json;

    use super::*;

    #[test]
    fn one_expression_keeps_its_type_and_text_stays_text() {
        let mut templates = Templates::new();
        let form = json!({"a": "{{ n }}", "b": "{{ n }} of {{ n }}", "c": ["{{ m.x }}", 1.5], "d": "{{ none.at.all }}"});
        let form = templates.form(&form).unwrap();
        let view = View::from(Serde(json!({"n": 3, "m": {"x": {"y": [1]}}})));
        assert_eq!(
            templates.value(&form, &view).unwrap(),
            json!({"a": 3, "b": "3 of 3", "c": [{"y": [1]}, 1.5], "d": null})
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
    fn conditions_hold_or_not_and_bad_ones_are_refused() {
        let mut templates = Templates::new();
        let view = View::from(Serde(json!({"n": 3})));
        let holds = templates.condition("n == 3 and not absent.thing").unwrap();
        assert!(templates.holds(&holds, &view).unwrap());
        let not = templates.condition("n > 3").unwrap();
        assert!(!templates.holds(&not, &view).unwrap());
        assert!(templates.condition("n ==").is_err());
        assert!(templates.text("{{ n").is_err());
    }
}
