//! Judges that are asked now: requests out over the network, replies in, verdicts read strictly.

use std::collections::{BTreeMap, HashMap, HashSet};

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
    /// Of these answered by the reply to an equal question that was asked in the same execution.
    pub same: u64,
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
    /// How many questions equal one that was asked now, for a list of counts; empty where none does.
    pub fn same_in_words(&self) -> String {
        match self.same {
            0 => String::new(),
            same => format!(" {same} equal to one that was asked,"),
        }
    }

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

/// Where the answer to a question comes from.
enum Source {
    /// It was kept before.
    Kept(Answered),
    /// It is asked.
    Ask,
    /// An equal question comes before it and is asked: two trials that look the same to the judge are one.
    Same,
}

impl Source {
    /// The source of each question, in their order.
    fn of(replies: &Replies, requests: &[JudgeRequest]) -> Vec<Self> {
        let mut asked = HashSet::new();
        let source = |request: &JudgeRequest| {
            let key = request.cache_key().as_str().to_owned();
            match replies.get(&key) {
                Some(text) => {
                    Self::Kept(Answered::kept(text, replies.get(&unnamed(&key)).is_some()))
                }
                None if asked.insert(key) => Self::Ask,
                None => Self::Same,
            }
        };
        requests.iter().map(source).collect()
    }
}

/// Under which it is kept that a reply named no model.
fn unnamed(key: &str) -> String {
    format!("model_unverified/{key}")
}

/// What a model said to a question.
#[derive(Clone)]
enum Said {
    Reply(String),
    /// No reply that counts, and why.
    Nothing(String),
}

/// What came of one question.
#[derive(Clone)]
struct Answered {
    said: Said,
    /// Whether the reply is to be kept.
    fresh: bool,
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
    /// Nothing came yet.
    fn nothing() -> Self {
        Self {
            said: Said::Nothing("nothing came".to_owned()),
            fresh: false,
            calls: 0,
            cost_usd: 0.0,
            drift: false,
            unnamed: false,
            failed: None,
            cause: None,
        }
    }

    /// A question that was answered before.
    fn kept(text: &str, unnamed: bool) -> Self {
        Self {
            said: Said::Reply(text.to_owned()),
            unnamed,
            ..Self::nothing()
        }
    }

    /// The same for an equal question, which costs nothing.
    fn again(&self) -> Self {
        Self {
            fresh: false,
            calls: 0,
            cost_usd: 0.0,
            ..self.clone()
        }
    }

    fn reading(&self, session: &Session, request: &JudgeRequest) -> Reading {
        match &self.said {
            Said::Reply(text) => session.read(request, text),
            Said::Nothing(why) => session.missing(request, why),
        }
    }
}

/// Asks all questions, those kept aside and equal ones once, and reads the replies; in the order of the
/// questions.
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
    let sources = Source::of(replies, requests);
    let first = sources.iter().position(|s| matches!(s, Source::Ask));
    let mut desk = Desk {
        session,
        replies,
        tally,
        heard: HashMap::new(),
        verdicts: Vec::with_capacity(requests.len()),
    };
    let mut all = requests.iter().zip(sources);
    for (request, source) in all.by_ref().take(first.unwrap_or(requests.len())) {
        if let Source::Kept(reply) = source {
            desk.note(request, Some(reply))?;
        }
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
            desk.note(request, Some(answered))?;
            desk.stop_at(asked.max_cost)?;
        }
        let questions = all.map(|(request, source)| async move {
            let answered = match source {
                Source::Kept(reply) => Some(reply),
                Source::Ask => Some(put(session, asked, request).await),
                Source::Same => None,
            };
            (request, answered)
        });
        let mut answers = futures_util::stream::iter(questions).buffered(asked.concurrency.max(1));
        while let Some((request, answered)) = answers.next().await {
            desk.note(request, answered)?;
            desk.stop_at(asked.max_cost)?;
        }
        Ok(())
    })?;
    Ok(desk.verdicts)
}

/// Where answers arrive, in the order of the questions.
struct Desk<'a> {
    session: &'a Session,
    replies: &'a mut Replies,
    tally: &'a mut Tally,
    /// What came of the questions that were asked, for equal ones after them.
    heard: HashMap<String, Answered>,
    verdicts: Vec<Verdict>,
}

impl Desk<'_> {
    /// Takes in one answer; without one, that to an equal question before it.
    fn note(&mut self, request: &JudgeRequest, answered: Option<Answered>) -> Result<()> {
        let key = request.cache_key().as_str();
        let same = answered.is_none();
        let heard = || self.heard.get(key).map(Answered::again);
        let answered = answered.or_else(heard).unwrap_or_else(Answered::nothing);
        self.count(&answered, same);
        if answered.fresh
            && let Said::Reply(reply) = &answered.said
        {
            if answered.unnamed {
                self.replies.keep(&unnamed(key), "")?;
            }
            self.replies.keep(key, reply)?;
        }
        let Reading { verdict, detail } = answered.reading(self.session, request);
        if let Some(code) = verdict.answer.reason() {
            let cause = answered.cause.clone().unwrap_or_else(|| code.to_owned());
            *self.tally.causes.entry(cause).or_default() += 1;
            *self.tally.unusable.entry(code.to_owned()).or_default() += 1;
            if self.tally.examples.len() < EXAMPLES {
                let example = format!("{}: {code}: {detail}", verdict.item);
                self.tally.examples.push(example);
            }
        }
        if answered.calls > 0 {
            self.heard.insert(key.to_owned(), answered);
        }
        self.verdicts.push(verdict);
        Ok(())
    }

    /// Stops once the cost is used up.
    fn stop_at(&self, max_cost: Option<f64>) -> Result<()> {
        let Some(most) = max_cost.filter(|most| self.tally.cost_usd >= *most) else {
            return Ok(());
        };
        let calls = self.tally.calls;
        let error = format!("--max-cost {most} is used up after {calls} calls");
        Err(Error::stopped(error).hint("no verdict was stored; the replies are kept, so that the same command goes on from there"))
    }

    fn count(&mut self, answered: &Answered, same: bool) {
        let tally = &mut *self.tally;
        tally.questions += 1;
        tally.same += u64::from(same);
        tally.kept += u64::from(answered.calls == 0 && !same);
        tally.calls += answered.calls;
        tally.cost_usd += answered.cost_usd;
        tally.drift |= answered.drift;
        tally.model_unverified += u64::from(answered.unnamed);
    }
}

/// Asks one question, again if the answer cannot be used.
async fn put(session: &Session, asked: &Asked, request: &JudgeRequest) -> Answered {
    let chat: ChatRequest = request.chat();
    let client = &asked.clients[request.member()];
    let endpoint = session.endpoint(request);
    let mut answered = Answered::nothing();
    for _ in 0..=ASK_AGAIN {
        answered.calls += 1;
        let said = match client.complete(&chat, None).await {
            Ok(said) => said,
            Err(failure) => {
                answered.drift |= failure.code == "wrong_model";
                answered.cause = Some(failure.code.to_string());
                let mut why = format!("{}: {}", failure.code, failure.detail);
                crate::exec::remove_keys(&mut why, &asked.keys);
                answered.said = Said::Nothing(why.clone());
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
            answered.said = Said::Nothing(why);
            return answered;
        }
        answered.unnamed = said.model.is_none();
        let mut reply = said.text.unwrap_or_default();
        crate::exec::remove_keys(&mut reply, &asked.keys);
        answered.said = Said::Reply(reply);
        let reading = answered.reading(session, request);
        if reading.verdict.answer.value().is_some() {
            answered.fresh = true;
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
