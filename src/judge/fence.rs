//! The fence around what an agent wrote: a word per request that cannot stand in the text.

use super::blind::Blinded;
use super::view::View;
use crate::base::Digest;

/// Hexadecimal digits of a fence.
const LENGTH: usize = 16;

/// A fence for texts: derived from what the agent never sees (pin, trials, seed, repeat), and another one
/// where a text holds it all the same.
pub(super) fn fence(parts: &[&str], views: &[&Blinded<View>]) -> String {
    let holds = |fence: &str| {
        views.iter().any(|view| {
            let view = view.get();
            let texts = view.parts.iter().flat_map(|p| [&p.what, &p.text]);
            let mut texts = texts.chain(&view.task);
            texts.any(|text| text.to_lowercase().contains(fence))
        })
    };
    let mut tries = 0u64;
    loop {
        let salt = tries.to_string();
        let all: Vec<&str> = parts.iter().copied().chain(["fence", &salt]).collect();
        let fence = Digest::of_parts(&all).as_str()[..LENGTH].to_owned();
        // A text is finite and digests differ, so that some fence is not in it.
        if !holds(&fence) {
            return fence;
        }
        tries += 1;
    }
}

/// A view as text inside its fence: every heading carries it, so that the text can fake none.
pub(super) fn fenced(view: &View, fence: &str) -> String {
    let mut out = format!("<<<{fence} begin\n");
    for part in &view.parts {
        let event = part
            .event
            .map(|e| format!(" event {e},"))
            .unwrap_or_default();
        out.push_str(&format!("[{fence}]{event} {}:\n{}\n", part.what, part.text));
    }
    if view.parts.is_empty() {
        out.push_str(&format!("[{fence}] nothing\n"));
    }
    out.push_str(&format!("{fence} end>>>"));
    out
}
