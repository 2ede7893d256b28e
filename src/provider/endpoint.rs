//! Where an arm's requests go and which headers they carry; checked once, when the arm is built.

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::base::{Error, Result};
use crate::model::arm::{ChatArm, Protocol};
use crate::model::chat::TrialKey;

use super::failure::{Code, Failed};
use super::redact::Redactor;
use super::secret::Secret;
use super::wire;

/// Version of Anthropic's protocol that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Names of headers whose values are secrets whatever they look like.
const SECRET_WORDS: [&str; 5] = ["auth", "key", "token", "secret", "cookie"];

/// Where requests go, and with what.
pub(super) struct Endpoint {
    /// Where requests go.
    pub url: Url,
    /// Host and port, for people.
    pub place: String,
    /// Takes the arm's secrets out of texts.
    pub redactor: Redactor,
    /// The same in every call.
    headers: HeaderMap,
    /// Filled in for every call.
    templates: Vec<(HeaderName, String)>,
}

impl Endpoint {
    /// Checks address, key and headers of an arm.
    ///
    /// # Errors
    ///
    /// If the URL is none, or the key or a header can't be sent.
    pub fn new(arm: &ChatArm, key: Option<&Secret>) -> Result<Self> {
        let url = wire::target(arm.protocol, &base(&arm.base_url)?);
        let mut endpoint = Self {
            place: place(&url),
            redactor: Redactor::new(secrets(arm, key, &url)),
            headers: standard(arm.protocol),
            templates: Vec::new(),
            url,
        };
        if let Some(key) = key {
            let (name, value) = authorization(arm, key)?;
            endpoint.headers.insert(name, value);
        }
        for (name, value) in &arm.headers {
            endpoint.add(name, value)?;
        }
        Ok(endpoint)
    }

    fn add(&mut self, name: &str, value: &str) -> Result<()> {
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| Error::input(format!("`{name}` is no name of a header")))?;
        if value.contains('{') {
            self.templates.push((parsed, value.to_owned()));
            return Ok(());
        }
        let value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|_| Error::input(format!("header `{name}`: its value can't be sent")))?;
        self.headers.insert(parsed, value);
        Ok(())
    }

    /// The headers of one call.
    ///
    /// # Errors
    ///
    /// If what is filled in can't be sent in a header.
    pub fn headers(&self, trial: &TrialKey) -> Result<HeaderMap, Failed> {
        let mut headers = self.headers.clone();
        for (name, template) in &self.templates {
            let filled = fill(template, trial);
            let value = HeaderValue::from_bytes(filled.as_bytes()).map_err(|_| {
                let text = format!("header `{name}`: `{filled}` can't be sent");
                Failed::new(Code::BadRequest, text)
            })?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

fn fill(template: &str, trial: &TrialKey) -> String {
    template
        .replace("{trial_id}", &trial.id)
        .replace("{trial}", &trial.index.to_string())
        .replace("{seed}", &trial.seed.to_string())
        .replace("{task}", &trial.task)
}

fn base(text: &str) -> Result<Url> {
    let hint = "write it as `https://host/v1`";
    // The text may hold a password, so it is not repeated.
    let url: Url = text
        .trim()
        .parse()
        .map_err(|error| Error::input(format!("base_url is no URL: {error}")).hint(hint))?;
    if !["http", "https"].contains(&url.scheme()) || !url.has_host() {
        return Err(Error::input("base_url is no HTTP URL").hint(hint));
    }
    // Arms are stored with the run.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            Error::input("base_url holds a user or password, which runs would store")
                .hint("name the environment variable of the key in `api_key_env`"),
        );
    }
    Ok(url)
}

fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or("");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn standard(protocol: Protocol) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert("content-type", json);
    if protocol == Protocol::Anthropic {
        let version = HeaderValue::from_static(ANTHROPIC_VERSION);
        headers.insert("anthropic-version", version);
    }
    headers
}

fn authorization(arm: &ChatArm, key: &Secret) -> Result<(&'static str, HeaderValue)> {
    let (name, value) = match arm.protocol {
        Protocol::Openai => ("authorization", format!("Bearer {}", key.expose())),
        Protocol::Anthropic => ("x-api-key", key.expose().to_owned()),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| {
        let variable = arm.api_key_env.as_deref().unwrap_or("the key");
        Error::input(format!(
            "{variable} holds characters that no header can carry"
        ))
        .hint("look for line ends or quotes inside the key")
    })?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Everything of an arm that must not be shown.
fn secrets(arm: &ChatArm, key: Option<&Secret>, url: &Url) -> Vec<String> {
    let secret = |name: &str| {
        let lower = name.to_ascii_lowercase();
        SECRET_WORDS.iter().any(|word| lower.contains(word))
    };
    let headers = arm.headers.iter().filter(|(name, _)| secret(name));
    let query: Vec<String> = url
        .query_pairs()
        .filter(|(name, _)| secret(name))
        .map(|(_, value)| value.into_owned())
        .collect();
    key.map(|key| key.expose().to_owned())
        .into_iter()
        .chain(headers.map(|(_, value)| value.clone()))
        .chain(query)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(lines: &str) -> ChatArm {
        serde_saphyr::from_str(&format!("model: m\n{lines}")).unwrap()
    }

    fn trial() -> TrialKey {
        TrialKey {
            task: "t-1".into(),
            index: 3,
            id: "ab12".into(),
            seed: 9,
        }
    }

    #[test]
    fn headers_are_filled_in_and_override_ours() {
        let arm = arm(
            "protocol: anthropic\nbase_url: http://h:1\nheaders:\n  anthropic-version: x\n  a: '{task}/{trial}/{trial_id}/{seed}'",
        );
        let endpoint = Endpoint::new(&arm, Some(&Secret::new("k-1\n"))).unwrap();
        let headers = endpoint.headers(&trial()).unwrap();
        assert_eq!(headers["a"], "t-1/3/ab12/9");
        assert_eq!(headers["anthropic-version"], "x");
        assert_eq!(headers["x-api-key"], "k-1");
        assert!(headers["x-api-key"].is_sensitive());
        assert_eq!(endpoint.place, "h:1");
    }

    #[test]
    fn what_a_trial_puts_into_a_header_may_be_impossible() {
        let arm = arm("base_url: http://h\nheaders: {a: '{task}'}");
        let odd = TrialKey {
            task: "a\nb".into(),
            ..trial()
        };
        let failed = Endpoint::new(&arm, None).unwrap().headers(&odd);
        assert_eq!(failed.map_err(|f| f.code), Err(Code::BadRequest));
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_showing_it() {
        let fails = |lines: &str, key: &str| {
            let made = Endpoint::new(&arm(lines), Some(&Secret::new(key)));
            made.err().expect(lines).to_string()
        };
        assert!(fails("base_url: h/v1", "k").contains("no URL"));
        assert!(fails("base_url: 'file:///x'", "k").contains("no HTTP URL"));
        let password = fails("base_url: 'http://me:passw@h'", "k");
        assert!(
            password.contains("api_key_env") && !password.contains("passw@"),
            "{password}"
        );
        let broken = fails("base_url: http://h\napi_key_env: MY_KEY", "sec\nret");
        assert!(
            broken.contains("MY_KEY") && !broken.contains("sec"),
            "{broken}"
        );
        assert!(fails("base_url: http://h\nheaders: {'a b': c}", "k").contains("`a b`"));
    }

    #[test]
    fn secrets_in_headers_and_in_the_address_are_known() {
        let arm =
            arm("base_url: 'http://h/v1?sig=1&subscription-key=abcd'\nheaders: {api-key: zyxw}");
        let endpoint = Endpoint::new(&arm, Some(&Secret::new("kkkk"))).unwrap();
        let clean = endpoint.redactor.clean("abcd zyxw kkkk me");
        assert_eq!(clean, "*** *** *** me");
    }
}
