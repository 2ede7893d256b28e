//! Keys that stand in what is stored: the value of a key's variable, written into an arm or a judge.

use serde_json::Value;

use super::live::Keys;
use crate::base::{Error, Result};
use crate::model::arm::{Arm, ArmSpec, ChatArm};
use crate::provider::echoes;

/// A shorter value stands in many texts by chance.
const SHORTEST: usize = 8;

/// Refuses arms that hold the value of a variable which any of them names as its key's.
///
/// # Errors
///
/// If one does; the arm and the place are named, the value is not.
pub(super) fn refuse_in_arms(arms: &[Arm], keys: &Keys) -> Result<()> {
    let chats = || {
        arms.iter().filter_map(|arm| match &arm.spec {
            ArmSpec::Chat(chat) => Some((&arm.id, chat)),
            _ => None,
        })
    };
    let variables = chats().filter_map(|(_, chat)| chat.api_key_env.as_deref());
    let values: Vec<String> = variables.filter_map(keys).collect();
    chats().try_for_each(|(id, chat)| refuse(&format!("arm `{id}`"), chat, &values))
}

/// Refuses the declaration of an endpoint that holds one of these keys; `owner` is whose it is, for people.
///
/// # Errors
///
/// If it does; the place is named, the key is not.
pub(super) fn refuse(owner: &str, chat: &ChatArm, keys: &[String]) -> Result<()> {
    let keys = keys.iter().map(|key| key.trim());
    let long = keys.filter(|key| key.len() >= SHORTEST);
    let forms: Vec<String> = long.flat_map(echoes).collect();
    let holds = |text: &str| forms.iter().any(|form| text.contains(form.as_str()));
    let Some((place, _)) = places(chat).into_iter().find(|(_, text)| holds(text)) else {
        return Ok(());
    };
    Err(Error::input(format!(
        "{owner} holds a key in `{place}`: the value of the variable that `api_key_env` names stands there, and would be stored"
    ))
    .hint("take it out: the key is sent with every call, from the environment"))
}

/// Every place of a declaration that may hold a text, with it.
fn places(chat: &ChatArm) -> Vec<(String, String)> {
    let mut found = vec![
        ("base_url".to_owned(), chat.base_url.clone()),
        ("model".to_owned(), chat.model.clone()),
        ("system".to_owned(), chat.system.clone().unwrap_or_default()),
    ];
    for (at, (name, value)) in chat.headers.iter().enumerate() {
        // A name that holds the key is not repeated either.
        found.push((format!("the name of header {}", at + 1), name.clone()));
        found.push((format!("headers.{name}"), value.clone()));
    }
    let mut texts = vec![];
    for (name, value) in &chat.params {
        texts.push(name.clone());
        gather(value, &mut texts);
    }
    found.extend(texts.into_iter().map(|text| ("params".to_owned(), text)));
    found
}

fn gather(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| gather(item, texts)),
        Value::Object(members) => {
            for (name, value) in members {
                texts.push(name.clone());
                gather(value, texts);
            }
        }
        _ => {}
    }
}
