//! Reasoning that models write into their visible text, and what is left without it.

/// A pair of marks around reasoning, in lower case.
struct Mark {
    /// Opening mark; that of a tag lacks its end, since it may have attributes.
    open: &'static str,
    /// Closing mark.
    close: &'static str,
}

const fn mark(open: &'static str, close: &'static str) -> Mark {
    Mark { open, close }
}

/// The marks of known models and prompts.
const MARKS: [Mark; 13] = [
    mark("<think", "</think>"),
    mark("<thinking", "</thinking>"),
    mark("<antthinking", "</antthinking>"),
    mark("<seed:think", "</seed:think>"),
    mark("<reasoning", "</reasoning>"),
    mark("<thought", "</thought>"),
    mark("<thoughts", "</thoughts>"),
    mark("<scratchpad", "</scratchpad>"),
    mark("<inner_monologue", "</inner_monologue>"),
    mark("[think]", "[/think]"),
    mark("◁think▷", "◁/think▷"),
    mark("<|begin_of_thought|>", "<|end_of_thought|>"),
    mark("<|start_thinking|>", "<|end_thinking|>"),
];

/// Mark that begins a channel in the format of gpt-oss, and the one that begins its text.
const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";
/// Marks that end a channel's text.
const ENDS: [&str; 4] = ["<|end|>", "<|return|>", "<|call|>", "<|start|>"];

/// The characters with which all marks begin.
const FIRST: [char; 3] = ['<', '[', '◁'];

/// What the model said, without reasoning and surrounding white space; `None` if nothing is left.
///
/// An unclosed mark hides everything after it. A closing mark without an opening one hides
/// everything before it: several chat templates write the opening mark into the prompt. Of text in
/// channels only `final` and `commentary` are visible.
pub(crate) fn visible(text: &str) -> Option<String> {
    let left = without_reasoning(text);
    let text = left.as_deref().unwrap_or(text).trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The text without reasoning; `None` if there is none in it.
pub(crate) fn without_reasoning(text: &str) -> Option<String> {
    // Most texts hold nothing that could be a mark.
    if !text.contains(FIRST) {
        return None;
    }
    let mut kept = in_channels(text);
    for mark in &MARKS {
        let looked_at = kept.as_deref().unwrap_or(text);
        if let Some(left) = without(looked_at, mark) {
            kept = Some(left);
        }
    }
    kept
}

fn without(text: &str, mark: &Mark) -> Option<String> {
    // ASCII lower case keeps every byte position.
    let lower = text.to_ascii_lowercase();
    let mut kept = String::new();
    let mut at = 0;
    let mut found = false;
    while at < text.len() {
        let opened = opening(&lower, mark, at);
        let closed = lower[at..].find(mark.close).map(|i| at + i);
        found |= opened.is_some() || closed.is_some();
        match (opened, closed) {
            (_, Some(c)) if opened.is_none_or(|o| c < o) => {
                kept.clear();
                at = c + mark.close.len();
            }
            (Some(o), _) => {
                kept.push_str(&text[at..o]);
                // The first closing mark after the opening one.
                at = match lower[o..].find(mark.close) {
                    Some(i) => o + i + mark.close.len(),
                    None => text.len(),
                };
            }
            (None, _) => {
                kept.push_str(&text[at..]);
                at = text.len();
            }
        }
    }
    found.then_some(kept)
}

/// Where the next opening mark begins: the name of a tag ends with the tag or before an attribute.
fn opening(lower: &str, mark: &Mark, from: usize) -> Option<usize> {
    let is_tag = mark.close.starts_with("</");
    let opens = |(at, found): (usize, &str)| {
        let next = lower[from + at + found.len()..].chars().next();
        let ends = next.is_none_or(|c| c == '>' || c.is_whitespace());
        (!is_tag || ends).then_some(from + at)
    };
    lower[from..].match_indices(mark.open).find_map(opens)
}

/// The visible channels of a text in the format of gpt-oss; `None` if it is not in that format.
fn in_channels(text: &str) -> Option<String> {
    let mut channels = text.split(CHANNEL);
    let before = channels.next()?;
    let mut kept = String::from(before.split(ENDS[3]).next().unwrap_or(""));
    let mut any = false;
    for channel in channels {
        any = true;
        let (name, said) = channel.split_once(MESSAGE).unwrap_or((channel, ""));
        let name = name.trim_start();
        if name.starts_with("final") || name.starts_with("commentary") {
            let end = ENDS.iter().filter_map(|end| said.find(end)).min();
            kept.push_str(&said[..end.unwrap_or(said.len())]);
        }
    }
    any.then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_begins_with_a_character_that_is_looked_for() {
        let marks = MARKS.iter().flat_map(|mark| [mark.open, mark.close]);
        for mark in marks.chain([CHANNEL, MESSAGE]).chain(ENDS) {
            assert!(mark.starts_with(FIRST), "{mark}");
        }
    }

    #[test]
    fn reasoning_never_stays() {
        for (text, left) in [
            ("<think>a</think> Hello", Some("Hello")),
            ("Hi <THINK>a\nb</Think>you", Some("Hi you")),
            ("secret plan</think>\n\nHello", Some("Hello")),
            ("Hello <think>cut off here", Some("Hello")),
            ("<think>a</think>b<think>c</think>d", Some("bd")),
            ("Hi <think time=\"3\">a</think>you", Some("Hi you")),
            ("<thinking>x</thinking>", None),
            ("<reasoning>x</reasoning>a", Some("a")),
            ("a<thought>x</thought>b<thoughts>y</thoughts>", Some("ab")),
            ("[THINK]x[/THINK]a", Some("a")),
            ("◁think▷x◁/think▷é", Some("é")),
            ("<|START_THINKING|>x<|END_THINKING|>a", Some("a")),
            ("a < b", Some("a < b")),
            ("a <thinker>", Some("a <thinker>")),
            ("  ", None),
        ] {
            assert_eq!(visible(text).as_deref(), left, "{text}");
        }
    }

    #[test]
    fn of_channels_only_those_for_the_user_stay() {
        for (text, left) in [
            (
                "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>a<|return|>",
                Some("a"),
            ),
            (
                "<|start|>assistant<|channel|>commentary<|message|>I look.<|end|><|channel|>analysis<|message|>x",
                Some("I look."),
            ),
            ("<|channel|>analysis<|message|>x<|end|>", None),
            ("<|channel|>analysis x", None),
        ] {
            assert_eq!(visible(text).as_deref(), left, "{text}");
        }
        assert_eq!(without_reasoning("a <|end|> b"), None);
    }
}
