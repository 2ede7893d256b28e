//! What makes two questions to a judge the same question.

use serde_json::json;

use super::blind::Blinded;
use super::view::View;
use crate::base::Digest;
use crate::model::verdict::Order;

/// The key of a reply: pin, blinded content, repeat and order.
///
/// Codes and fences differ between requests and say nothing, so that they are no part of it: two trials
/// that look the same to the judge are one question.
pub fn key(pin: &Digest, views: &[&Blinded<View>], repeat: u32, order: Option<Order>) -> Digest {
    let views: Vec<_> = views.iter().map(|view| content(view.get())).collect();
    let order = order.map(Order::name);
    Digest::of_json(&json!({"pin": pin, "views": views, "repeat": repeat, "order": order}))
}

fn content(view: &View) -> serde_json::Value {
    let parts = view.parts.iter();
    let parts: Vec<_> = parts.map(|p| json!([p.event, p.what, p.text])).collect();
    json!({"task": view.task, "parts": parts})
}
