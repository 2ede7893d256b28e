//! Figures that others published, from the data they published them on.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use assize::stats::agreement::{
    Measurement, Ratings, Table, Weights, cohen_kappa, krippendorff_alpha,
};
use assize::stats::judge_bias::{Winner, position_swap};
use assize::stats::panel::{Vote, majority_vote};
use std::collections::BTreeMap;

fn open(name: &str) -> csv::Reader<Box<dyn Read>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/reference/data")
        .join(name);
    let file = File::open(path).unwrap();
    let reader: Box<dyn Read> = if name.ends_with(".gz") {
        Box::new(flate2::read::GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    csv::Reader::from_reader(reader)
}

fn rows(name: &str) -> Vec<BTreeMap<String, String>> {
    open(name).deserialize().map(|row| row.unwrap()).collect()
}

fn ratings(dataset: &str, dimension: &str) -> Ratings {
    let rows = rows(&format!("rater-agreement/{dataset}.csv"));
    let units: Vec<Vec<Option<f64>>> = rows
        .iter()
        .filter(|row| row["dimension"] == dimension)
        .map(|row| {
            row["ratings"]
                .split(' ')
                .map(|r| Some(r.parse().unwrap()))
                .collect()
        })
        .collect();
    Ratings::new(units.iter().map(Vec::as_slice)).unwrap()
}

#[test]
fn ten_ordinal_alphas() {
    let published = rows("rater-agreement/published_alpha.csv");
    assert_eq!(published.len(), 10);
    for row in published {
        let ratings = ratings(&row["dataset"], &row["dimension"]);
        let items: u32 = ratings.multiplicity().iter().sum();
        assert_eq!(items.to_string(), row["n_items"]);
        let alpha = krippendorff_alpha(&ratings, Measurement::Ordinal).unwrap();
        let want: f64 = row["published_alpha"].parse().unwrap();
        assert!((alpha - want).abs() < 5e-5, "{row:?}: {alpha}");
    }
    // The level matters: the same ratings at other levels.
    let informative = ratings("newsroom", "Informativeness");
    for (level, want) in [
        (Measurement::Nominal, 0.0765),
        (Measurement::Interval, 0.2911),
    ] {
        let alpha = krippendorff_alpha(&informative, level).unwrap();
        assert!((alpha - want).abs() < 5e-5, "{level:?}: {alpha}");
    }
}

/// Classes of PandaLM; `None` is an unusable verdict.
fn class(text: &str) -> Option<usize> {
    match text {
        "0" | "Tie" | "tie" => Some(0),
        "1" => Some(1),
        "2" => Some(2),
        "garbage" => None,
        other => panic!("unknown class {other}"),
    }
}

fn kappa(first: &[usize], second: &[usize], classes: usize) -> f64 {
    let table = Table::from_pairs(first, second, classes).unwrap();
    cohen_kappa(&table, Weights::Nominal).unwrap().kappa
}

#[test]
fn pandalm_raters_and_majority() {
    let rows = rows("pandalm/labels.csv");
    let column =
        |name: &str| -> Vec<usize> { rows.iter().map(|r| class(&r[name]).unwrap()).collect() };
    let raters = ["annotator1", "annotator2", "annotator3"].map(column);
    for (a, b, want) in [(0, 1, 0.8520), (0, 2, 0.8789), (1, 2, 0.8617)] {
        let kappa = kappa(&raters[a], &raters[b], 3);
        assert!((kappa - want).abs() < 5e-5, "{a} {b}: {kappa}");
    }
    let mut counts = [0; 3];
    for item in 0..rows.len() {
        let votes = raters.each_ref().map(|rater| Some(rater[item] as u32));
        let Vote::Majority(class) = majority_vote(&votes) else {
            panic!("item {item} is tied")
        };
        counts[class as usize] += 1;
    }
    assert_eq!(counts, [105, 422, 472]);
}

#[test]
fn pandalm_judges_with_unusable_verdicts_apart() {
    let rows = rows("pandalm/labels.csv");
    let majority = |row: &BTreeMap<String, String>| {
        let votes = ["annotator1", "annotator2", "annotator3"];
        match majority_vote(&votes.map(|name| class(&row[name]).map(|c| c as u32))) {
            Vote::Majority(class) => class as usize,
            other => panic!("{other:?}"),
        }
    };
    let judged = |column: &str| -> Vec<(usize, Option<usize>)> {
        rows.iter()
            .map(|row| (majority(row), class(&row[column])))
            .collect()
    };
    let check = |pairs: &[(usize, usize)], classes, accuracy: f64, agreement: f64| {
        let (human, judge): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
        let right = pairs.iter().filter(|(h, j)| h == j).count() as f64 / pairs.len() as f64;
        assert!((right - accuracy).abs() < 5e-5, "{right}");
        let kappa = kappa(&human, &judge, classes);
        assert!((kappa - agreement).abs() < 5e-5, "{kappa}");
    };
    let gpt = judged("judge_gpt35_raw");
    let usable: Vec<(usize, usize)> = gpt.iter().filter_map(|(h, j)| Some((*h, (*j)?))).collect();
    assert_eq!((gpt.len() - usable.len(), usable.len()), (25, 974));
    check(&usable, 3, 0.7156, 0.4929);
    // What others do: the unusable ones as a class of their own.
    let all: Vec<(usize, usize)> = gpt.iter().map(|(h, j)| (*h, j.unwrap_or(3))).collect();
    check(&all, 4, 0.6977, 0.4755);
    let pandalm = judged("judge_pandalm7b_raw");
    let pandalm: Vec<(usize, usize)> = pandalm.iter().map(|(h, j)| (*h, j.unwrap())).collect();
    check(&pandalm, 3, 0.6677, 0.4354);
}

/// One judge and prompting on one subset.
#[derive(Default)]
struct Cell {
    labels: Vec<Winner>,
    original: Vec<Option<Winner>>,
    swapped: Vec<Option<Winner>>,
}

fn winner(text: &str) -> Option<Winner> {
    match text {
        "1" => Some(Winner::A),
        "2" => Some(Winner::B),
        "" => None,
        other => panic!("unknown winner {other}"),
    }
}

fn cells() -> BTreeMap<[String; 3], Cell> {
    let mut cells: BTreeMap<[String; 3], Cell> = BTreeMap::new();
    for row in rows("llmbar/verdicts.csv.gz") {
        let cell = cells.entry(key(&row)).or_default();
        cell.labels.push(winner(&row["label"]).unwrap());
        cell.original.push(winner(&row["original"]));
        cell.swapped.push(winner(&row["swapped"]));
    }
    cells
}

fn key(row: &BTreeMap<String, String>) -> [String; 3] {
    ["subset", "judge", "prompting"].map(|name| row[name].clone())
}

/// Share of verdicts that name the better output; an empty one is left out or counts as wrong.
fn accuracy(cell: &Cell, verdicts: &[Option<Winner>], empty_is_wrong: bool) -> f64 {
    let right = verdicts
        .iter()
        .zip(&cell.labels)
        .filter(|(v, label)| **v == Some(**label))
        .count();
    let usable = verdicts
        .iter()
        .filter(|v| empty_is_wrong || v.is_some())
        .count();
    right as f64 / usable as f64
}

/// Positional agreement; empty verdicts are left out, or stand for an answer of their own.
fn agreement(cell: &Cell, empty_is_an_answer: bool) -> f64 {
    let pairs: Vec<_> = cell
        .original
        .iter()
        .copied()
        .zip(cell.swapped.iter().copied())
        .collect();
    let answer = |v: Option<Winner>| {
        if empty_is_an_answer {
            v.or(Some(Winner::Tie))
        } else {
            v
        }
    };
    let pairs: Vec<_> = pairs
        .into_iter()
        .map(|(a, b)| (answer(a), answer(b)))
        .collect();
    position_swap(&pairs).consistency.unwrap()
}

#[test]
fn llmbar_cells_under_the_published_rule_and_ours() {
    let (cells, published) = (cells(), rows("llmbar/published.csv"));
    assert_eq!((cells.len(), published.len()), (195, 195));
    let (mut full, mut moved) = (0, 0);
    for row in published {
        let cell = &cells[&key(&row)];
        assert_eq!(cell.labels.len().to_string(), row["n"]);
        let want = |name: &str| row[name].parse::<f64>().unwrap() / 100.0;
        let same = |name: &str, got: f64| {
            assert!(
                (got - want(name)).abs() < 1e-9,
                "{name} {:?}: {got}",
                key(&row)
            );
        };
        let (first, second) = (
            accuracy(cell, &cell.original, true),
            accuracy(cell, &cell.swapped, true),
        );
        same("acc_original_pct", first);
        same("acc_swapped_pct", second);
        same("acc_average_pct", (first + second) / 2.0);
        let both = cell.original.iter().zip(&cell.swapped).zip(&cell.labels);
        let both = both
            .filter(|((a, b), label)| **a == Some(**label) && a == b)
            .count();
        same("acc_both_pct", both as f64 / cell.labels.len() as f64);
        same("positional_agreement_pct", agreement(cell, true));

        // Our own rule: an empty verdict is missing. It never lowers accuracy, and agrees with nothing.
        let own = accuracy(cell, &cell.original, false);
        assert!(own >= first - 1e-12);
        let empty = cell
            .original
            .iter()
            .chain(&cell.swapped)
            .any(Option::is_none);
        if empty {
            moved += usize::from(own != first || agreement(cell, false) != agreement(cell, true));
            continue;
        }
        full += 1;
        assert_eq!(own, first);
        assert_eq!(agreement(cell, false), agreement(cell, true));
        let code = |verdicts: &[Option<Winner>]| -> Vec<usize> {
            verdicts
                .iter()
                .map(|v| usize::from(*v == Some(Winner::B)))
                .collect()
        };
        let table = Table::from_pairs(&code(&cell.original), &code(&cell.swapped), 2).unwrap();
        let upstream = &row["upstream_kappa_between_orders"];
        match cohen_kappa(&table, Weights::Nominal) {
            Ok(kappa) => {
                let want: f64 = upstream.parse().unwrap();
                assert!(
                    (kappa.kappa - want).abs() < 1e-9,
                    "{:?}: {}",
                    key(&row),
                    kappa.kappa
                );
            }
            // Always the same slot in one order and never in the other leaves nothing to compare.
            Err(reason) => assert_eq!(reason.code(), "expected_agreement_is_one"),
        }
    }
    assert_eq!(full, 148);
    assert!(moved > 30, "{moved}");
}
