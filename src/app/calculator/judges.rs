//! Judges and panels: bias probes, the alt-test, majority, Dawid and Skene.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Method;
use super::agreement::defined;
use super::answer::{Answer, number, numbers};
use super::fields::{Fields, Problem};
use super::labels::{Categories, category_rows, fixed, rows};
use super::rates::mean;
use crate::stats::alt_test::{AltTestPlan, Scoring, alt_test};
use crate::stats::judge_bias::{
    Winner, length_bias_slope, position_swap, self_consistency, self_preference_did,
};
use crate::stats::panel::{Given, Vote, dawid_skene, majority_vote};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "position_swap" => swap,
        "self_consistency" => consistency,
        "self_preference_did" => preference,
        "length_bias_slope" => length,
        "alt_test" => alternative,
        "majority_vote" => majority,
        "dawid_skene" => model,
        _ => return None,
    })
}

fn swap(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    const PAIRS: &str = "pairs_winner_when_A_first_then_when_B_first";
    let winner = |value: &Value| match value {
        Value::Null => Ok(None),
        Value::String(word) if word == "A" => Ok(Some(Winner::A)),
        Value::String(word) if word == "B" => Ok(Some(Winner::B)),
        Value::String(word) if word == "tie" => Ok(Some(Winner::Tie)),
        other => Err(input.problem(PAIRS, format!("`{other}` is not A, B, tie or null"))),
    };
    let mut pairs = vec![];
    for row in rows(input, PAIRS)? {
        let [first, second] = row else {
            return Err(input.problem(PAIRS, "each pair has two winners"));
        };
        pairs.push((winner(first)?, winner(second)?));
    }
    let got = position_swap(&pairs);
    let reason = if got.pairs == 0 {
        "no_usable_pair"
    } else {
        "no_strict_flips"
    };
    Ok(Answer::new()
        .with("pairs", got.pairs)
        .number("consistency", got.consistency)
        .with("first_position_flips", got.first_position_flips)
        .with("second_position_flips", got.second_position_flips)
        .number("p", got.p)
        .reason(got.p.is_none().then_some(reason)))
}

fn consistency(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let repeats = category_rows(input, "repeats_by_item", &mut Categories::default())?;
    let got = match self_consistency(&repeats) {
        Ok(got) => got,
        Err(reason) => return Ok(defined("pairwise_agreement", Err(reason))),
    };
    Ok(Answer::new()
        .number("pairwise_agreement", got.pairwise_agreement)
        .number("flip_rate", 1.0 - got.pairwise_agreement)
        .with(
            "per_item",
            got.per_item.iter().map(|v| number(*v)).collect::<Value>(),
        ))
}

fn preference(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let own = input.numbers("judge_minus_human_own")?;
    let other = input.numbers("judge_minus_human_other")?;
    Ok(match self_preference_did(&own, &other, params.level()?) {
        Ok(got) => mean(&got, "df"),
        Err(reason) => defined("estimate", Err(reason)),
    })
}

fn length(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    params.only("vcov", "CR2")?;
    let (error, size) = (
        input.numbers("judge_minus_human")?,
        input.numbers("log_length")?,
    );
    let tasks = super::tasks::clusters(input, &[])?;
    let tasks = tasks.ok_or_else(|| input.problem("cluster", "missing"))?;
    Ok(match length_bias_slope(&error, &size, &tasks) {
        Ok(got) => Answer::new()
            .number("slope", got.slope)
            .number("se", got.se)
            .number("df", got.df)
            .number("p", got.p),
        Err(reason) => defined("slope", Err(reason)),
    })
}

fn alternative(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let scoring = match params.optional_text("scoring")?.unwrap_or("accuracy") {
        "accuracy" => Scoring::Accuracy,
        "rmse" => Scoring::RootMeanSquare,
        other => return Err(params.problem("scoring", format!("`{other}` is not a scoring"))),
    };
    let plan = AltTestPlan {
        epsilon: params.number("epsilon")?,
        q: params.optional_number("q")?.unwrap_or(0.05),
        scoring,
        fewest_items: params.optional_number("min_instances")?.unwrap_or(30.0) as usize,
    };
    let people = answers_by_name(input.find("humans"), input, "humans")?;
    let judge = answers(input.find("judge"), input, "judge")?;
    let items: BTreeSet<&String> = people
        .iter()
        .flat_map(|(_, a)| a.keys())
        .chain(judge.keys())
        .collect();
    let mut categories = Categories::default();
    let mut row = |answers: &Map<String, Value>| -> Result<Vec<Option<f64>>, Problem> {
        let read = |item: &&String| match (answers.get(*item), scoring) {
            (None | Some(Value::Null), _) => Ok(None),
            (Some(value), Scoring::Accuracy) => {
                Ok(categories.code(value, "input.humans")?.map(f64::from))
            }
            (Some(value), Scoring::RootMeanSquare) => match value.as_f64() {
                Some(score) => Ok(Some(score)),
                None => Err(input.problem("humans", format!("`{value}` is not a number"))),
            },
        };
        items.iter().map(read).collect()
    };
    let humans: Vec<_> = people
        .iter()
        .map(|(_, a)| row(a))
        .collect::<Result<_, _>>()?;
    let got = alt_test(&humans, &row(judge)?, &plan)?;
    let passes = got.passes.map_or(Value::Null, Value::Bool);
    let left_out: Value = got.left_out.iter().map(|&j| people[j].0.as_str()).collect();
    Ok(Answer::new()
        .number("winning_rate", got.winning_rate)
        .number("advantage_probability", got.advantage_probability)
        .with("passes", passes)
        .with("left_out", left_out)
        .reason(got.reason))
}

fn answers<'a>(
    value: Option<&'a Value>,
    input: &Fields,
    name: &str,
) -> Result<&'a Map<String, Value>, Problem> {
    let map = value.and_then(Value::as_object);
    map.ok_or_else(|| input.problem(name, "answers by item are missing"))
}

/// A person's name and answers by item.
type Person<'a> = (&'a String, &'a Map<String, Value>);

fn answers_by_name<'a>(
    value: Option<&'a Value>,
    input: &Fields,
    name: &str,
) -> Result<Vec<Person<'a>>, Problem> {
    let people = answers(value, input, name)?.iter();
    people
        .map(|(person, own)| Ok((person, answers(Some(own), input, name)?)))
        .collect()
}

fn majority(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let mut categories = Categories::default();
    let votes = category_rows(input, "ratings_unit_by_rater", &mut categories)?;
    let label = |votes: &Vec<Option<u32>>| match majority_vote(votes) {
        Vote::Majority(code) => categories.name(code),
        Vote::Tie | Vote::NoVotes => Value::Null,
    };
    Ok(Answer::new().with("labels", votes.iter().map(label).collect::<Value>()))
}

/// Numbers that a model of raters holds at the most.
const MOST_CELLS: f64 = 1e7;

fn model(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    params.only("init", "majority")?;
    fixed(params, "tol", 1e-10)?;
    let iterations = params.optional_number("max_iter")?.unwrap_or(2000.0) as usize;
    let classes = input.count32("n_classes")? as usize;
    let (mut items, mut raters) = (Categories::default(), Categories::default());
    let mut labels = vec![];
    for row in rows(input, "labels")? {
        let read = match row {
            [item, rater, class] => (
                items.code(item, "labels")?,
                raters.code(rater, "labels")?,
                class.as_u64(),
            ),
            _ => (None, None, None),
        };
        let (Some(item), Some(rater), Some(class)) = read else {
            return Err(input.problem("labels", "each label is an item, a rater and a class"));
        };
        let (item, rater, class) = (item as usize, rater as usize, class as usize);
        labels.push(Given { item, rater, class });
    }
    // A table of classes by classes is kept for every rater.
    let rows = (raters.len() * classes).max(items.len()) as f64;
    let cells = rows * classes as f64;
    if cells > MOST_CELLS {
        let message = format!("{classes} classes are too many for so many raters and items");
        return Err(input.problem("n_classes", message));
    }
    let got = dawid_skene(&labels, classes, iterations)?;
    let name = |categories: &Categories, code: usize| match categories.name(code as u32) {
        Value::String(word) => word,
        other => other.to_string(),
    };
    let posterior = got.posterior.iter().enumerate();
    let of_class1 = posterior.clone().map(|(i, p)| {
        let probability = p.as_ref().and_then(|p| p.get(1).copied());
        (name(&items, i), number(probability))
    });
    let full = posterior.map(|(i, p)| (name(&items, i), p.as_deref().map_or(Value::Null, numbers)));
    let row = |row: &Option<Vec<f64>>| row.as_deref().map_or(Value::Null, numbers);
    let confusion = got.confusion.iter().enumerate();
    let confusion =
        confusion.map(|(r, rows)| (name(&raters, r), rows.iter().map(row).collect::<Value>()));
    let mut answer = Answer::new()
        .with("class_prior", numbers(&got.prior))
        .with("posterior", full.collect::<Map<String, Value>>())
        .with(
            "confusion_true_by_observed",
            confusion.collect::<Map<String, Value>>(),
        )
        .with("iterations", got.iterations)
        .with("converged", got.converged)
        .with("exploratory", got.exploratory);
    if classes == 2 {
        answer = answer.with(
            "posterior_class1",
            of_class1.collect::<Map<String, Value>>(),
        );
    }
    Ok(answer)
}
