//! Judges that are asked now: requests out over the network, replies in, verdicts read strictly.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use serde::Serialize;

use super::live::{Keys, http_client, runtime};
use crate::base::{Error, Result};
use crate::judge::{JudgeRequest, Reading, Session};
use crate::model::chat::ChatRequest;
use crate::model::judge::Judge;
use crate::model::verdict::Verdict;
use crate::provider::Client;
use crate::store::Replies;

/// How often a question is asked again whose answer could not be used.
const ASK_AGAIN: u32 = 2;

/// Code of a reply that another model gave than the one that is pinned.
const DRIFT: &str = "model_drift";

/// The models behind a judge, or behind the members of a panel.
pub struct Asked {
    clients: Vec<Client>,
    /// Keys that must not be stored.
    keys: Vec<String>,
    concurrency: usize,
    max_cost: Option<f64>,
}

/// How fast, and for how much, judges are asked.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Most calls at a time.
    pub concurrency: usize,
    /// Cost in US dollars after which nobody is asked any more.
    pub max_cost: Option<f64>,
}

/// What asking cost and what went wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Questions.
    pub questions: u64,
    /// Of these answered from what was kept.
    pub kept: u64,
    /// Calls of a model, questions that were asked again included.
    pub calls: u64,
    /// Cost in US dollars, where prices are declared.
    pub cost_usd: f64,
    /// Answers that cannot be used, by code; they are never a pass and never a failure.
    pub unusable: BTreeMap<String, u64>,
    /// The same by cause: where the provider gave no answer, by the provider's code.
    pub causes: BTreeMap<String, u64>,
    /// What was wrong with the first few of them.
    pub examples: Vec<String>,
    /// Whether a reply came from another model than the pinned one.
    pub drift: bool,
    /// Questions whose reply named no model, so that nobody knows whether the pinned one answered.
    pub model_unverified: u64,
}

impl Tally {
    /// Says that replies named no model, as they may be anybody's; `None` where all did.
    pub fn unverified(&self) -> Option<String> {
        let (unnamed, asked) = (self.model_unverified, self.questions);
        match unnamed {
            0 => None,
            _ if unnamed == asked => Some(format!(
                "no reply at all names a model ({asked} questions): whether the pinned one answered is not verified"
            )),
            _ => Some(format!(
                "{unnamed} of {asked} replies name no model: whether the pinned one gave them is not verified"
            )),
        }
    }
}

/// How many examples are kept.
const EXAMPLES: usize = 5;

/// Readies the clients of a judge.
///
/// # Errors
///
/// If a judge has no endpoint, or its key is not in the environment.
pub fn ready(session: &Session, pace: Pace, keys: &Keys) -> Result<Asked> {
    let mut clients = Vec::new();
    let mut secrets = Vec::new();
    for judge in session.asked() {
        let priced = judge
            .spec
            .endpoint
            .as_ref()
            .is_some_and(|e| e.price.is_some());
        if pace.max_cost.is_some() && !priced {
            let error = format!(
                "`--max-cost` cannot be kept: judge `{}` declares no price",
                judge.key()
            );
            return Err(Error::input(error).hint(
                "declare `price: {input_per_million: …, output_per_million: …}` under its endpoint",
            ));
        }
        clients.push(client(judge, keys, &mut secrets)?);
    }
    let least = session
        .asked()
        .iter()
        .filter_map(|j| j.spec.endpoint.as_ref()?.concurrency)
        .min();
    Ok(Asked {
        clients,
        keys: secrets,
        max_cost: pace.max_cost,
        concurrency: pace
            .concurrency
            .min(least.map_or(usize::MAX, |n| n.max(1) as usize)),
    })
}

fn client(judge: &Judge, keys: &Keys, secrets: &mut Vec<String>) -> Result<Client> {
    let endpoint =
        judge.spec.endpoint.as_ref().ok_or_else(|| {
            Error::input(format!("judge `{}` has no endpoint to ask", judge.key()))
        })?;
    let arm = endpoint.as_arm(&judge.spec.accepts);
    http_client(&format!("judge `{}`", judge.key()), &arm, keys, secrets)
}

/// A reply that was kept.
#[derive(Default)]
struct Kept {
    text: String,
    unnamed: bool,
}

impl Kept {
    fn of(replies: &Replies, request: &JudgeRequest) -> Option<Self> {
        let key = request.cache_key().as_str();
        Some(Self {
            text: replies.get(key)?.to_owned(),
            unnamed: replies.get(&unnamed(key)).is_some(),
        })
    }
}

/// Under which it is kept that a reply named no model.
fn unnamed(key: &str) -> String {
    format!("model_unverified/{key}")
}

/// What came of one question.
struct Answered {
    reading: Reading,
    /// To be kept: key and reply.
    fresh: Option<(String, String)>,
    calls: u64,
    cost_usd: f64,
    drift: bool,
    /// Whether the reply named no model.
    unnamed: bool,
    /// Why the provider gave no reply at all.
    failed: Option<String>,
    /// The code of that, or of another model's reply.
    cause: Option<String>,
}

impl Answered {
    /// A question that was answered before.
    fn kept(session: &Session, request: &JudgeRequest, reply: &Kept) -> Self {
        Self {
            unnamed: reply.unnamed,
            reading: session.read(request, &reply.text),
            fresh: None,
            calls: 0,
            cost_usd: 0.0,
            drift: false,
            failed: None,
            cause: None,
        }
    }
}

/// Asks all questions, those kept aside, and reads the replies; in the order of the questions.
///
/// # Errors
///
/// If a reply cannot be kept, or the runtime cannot be started.
pub fn ask(
    session: &Session,
    asked: &Asked,
    requests: &[JudgeRequest],
    replies: &mut Replies,
    tally: &mut Tally,
) -> Result<Vec<Verdict>> {
    let runtime = runtime()?;
    let known: Vec<Option<Kept>> = requests.iter().map(|r| Kept::of(replies, r)).collect();
    let mut verdicts = Vec::with_capacity(requests.len());
    let first = known.iter().position(Option::is_none);
    let first = first.unwrap_or(requests.len());
    let mut all = requests.iter().zip(known);
    for (request, kept) in all.by_ref().take(first) {
        let reply = kept.unwrap_or_default();
        verdicts.push(note(
            Answered::kept(session, request, &reply),
            replies,
            tally,
        )?);
    }
    runtime.block_on(async {
        // One question goes ahead of all others, so that a judge that does not answer is found at once.
        if let Some((request, _)) = all.next() {
            let answered = put(session, asked, request).await;
            if let Some(why) = &answered.failed {
                let error = format!("judge `{}` does not answer: {why}", session.judge().key());
                return Err(Error::io(error).hint(
                    "no verdict was stored; what was answered before is kept and not asked again",
                ));
            }
            verdicts.push(note(answered, replies, tally)?);
        }
        let questions = all.map(|(request, kept)| async move {
            match kept {
                Some(reply) => Answered::kept(session, request, &reply),
                None => put(session, asked, request).await,
            }
        });
        let mut answers = futures_util::stream::iter(questions).buffered(asked.concurrency.max(1));
        while let Some(answered) = answers.next().await {
            verdicts.push(note(answered, replies, tally)?);
            if let Some(most) = asked.max_cost.filter(|most| tally.cost_usd >= *most) {
                let error = format!("--max-cost {most} is used up after {} calls", tally.calls);
                return Err(Error::refused(error)
                    .hint("no verdict was stored; the replies are kept, so that the same command goes on from there"));
            }
        }
        Ok(verdicts)
    })
}

fn note(answered: Answered, replies: &mut Replies, tally: &mut Tally) -> Result<Verdict> {
    tally.questions += 1;
    tally.kept += u64::from(answered.calls == 0);
    tally.calls += answered.calls;
    tally.cost_usd += answered.cost_usd;
    tally.drift |= answered.drift;
    tally.model_unverified += u64::from(answered.unnamed);
    if let Some((key, reply)) = answered.fresh {
        if answered.unnamed {
            replies.keep(&unnamed(&key), "")?;
        }
        replies.keep(&key, &reply)?;
    }
    let Reading { verdict, detail } = answered.reading;
    if let Some(code) = verdict.answer.reason() {
        let cause = answered.cause.unwrap_or_else(|| code.to_owned());
        *tally.causes.entry(cause).or_default() += 1;
        *tally.unusable.entry(code.to_owned()).or_default() += 1;
        if tally.examples.len() < EXAMPLES {
            tally
                .examples
                .push(format!("{}: {code}: {detail}", verdict.item));
        }
    }
    Ok(verdict)
}

/// Asks one question, again if the answer cannot be used.
async fn put(session: &Session, asked: &Asked, request: &JudgeRequest) -> Answered {
    let chat: ChatRequest = request.chat();
    let client = &asked.clients[request.member()];
    let endpoint = session.endpoint(request);
    let mut answered = Answered {
        reading: session.missing(request, "nothing came"),
        fresh: None,
        calls: 0,
        cost_usd: 0.0,
        drift: false,
        unnamed: false,
        failed: None,
        cause: None,
    };
    for _ in 0..=ASK_AGAIN {
        answered.calls += 1;
        let said = match client.complete(&chat, None).await {
            Ok(said) => said,
            Err(failure) => {
                answered.drift |= failure.code == "wrong_model";
                answered.cause = Some(failure.code.to_string());
                let mut why = format!("{}: {}", failure.code, failure.detail);
                crate::exec::remove_keys(&mut why, &asked.keys);
                answered.reading = session.missing(request, &why);
                // Another model than the pinned one is drift, which has words of its own.
                answered.failed = (!answered.drift).then_some(why);
                return answered;
            }
        };
        let price = endpoint.and_then(|e| e.price);
        answered.cost_usd += price.and_then(|p| p.of(&said.usage)).unwrap_or(0.0);
        if let (Some(found), Some(endpoint)) = (&said.model, endpoint)
            && !is_pinned(found, &endpoint.model)
        {
            answered.drift = true;
            answered.cause = Some(DRIFT.to_owned());
            let mut why = format!("{DRIFT}: {found} answered in place of {}", endpoint.model);
            crate::exec::remove_keys(&mut why, &asked.keys);
            answered.reading = session.missing(request, &why);
            return answered;
        }
        answered.unnamed = said.model.is_none();
        let mut reply = said.text.unwrap_or_default();
        crate::exec::remove_keys(&mut reply, &asked.keys);
        answered.reading = session.read(request, &reply);
        if answered.reading.verdict.answer.value().is_some() {
            answered.fresh = Some((request.cache_key().as_str().to_owned(), reply));
            return answered;
        }
    }
    answered
}

/// Asks a model one thing and returns what it said; for questions that are no verdicts.
///
/// # Errors
///
/// If the runtime cannot be started.
pub fn say(asked: &Asked, chats: &[ChatRequest]) -> Result<Vec<Option<String>>> {
    let runtime = runtime()?;
    Ok(runtime.block_on(async {
        let questions = chats
            .iter()
            .map(|chat| async move { asked.clients[0].complete(chat, None).await.ok()?.text });
        futures_util::stream::iter(questions)
            .buffered(asked.concurrency.max(1))
            .collect()
            .await
    }))
}

/// Whether a reply names the pinned model; a vendor before a `/` is no other model.
fn is_pinned(found: &str, pinned: &str) -> bool {
    let bare = |id: &str| id.rsplit('/').next().unwrap_or(id).to_ascii_lowercase();
    bare(found) == bare(pinned)
}
