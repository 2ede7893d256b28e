//! The order in which live trials run: interleaved, randomised blocks from the plan's seed.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::base::{Seed, TaskId};
use crate::model::analysis::Schedule;
use crate::model::plan::{Plan, TrialSpec};
use crate::model::suite::Suite;

/// Blocks into which tasks are split where one pass over them is all there is.
pub const SPLIT_BLOCKS: usize = 10;

/// All live trials of a plan in the order in which they run.
///
/// A block is one pass over the tasks with all live arms, in random order; the trials of one task lie
/// in different blocks, so that time of day meets all arms alike and the drift screen has something
/// to see (METHODS 6.6). With one trial per task, and under `schedule: whole_tasks`, the tasks are
/// split at random into up to ten blocks, those of one cluster into one. Ids and seeds do not depend on how many trials there are,
/// and blocks of passes neither.
pub fn schedule(plan: &Plan, suite: &Suite) -> Vec<TrialSpec> {
    specs(plan, suite).collect()
}

/// The same one by one: at most one block is held in memory, 12 bytes per trial.
pub fn specs<'a>(plan: &'a Plan, suite: &Suite) -> impl Iterator<Item = TrialSpec> + use<'a> {
    let blocks = Blocks::of(plan, suite);
    let seed = plan.body.seed.child("schedule");
    (0..blocks.count()).flat_map(move |number| {
        let mut slots = blocks.slots(number);
        seed.nth("block", u64::from(number))
            .stream()
            .shuffle(&mut slots);
        slots.into_iter().map(move |slot| slot.spec(plan, number))
    })
}

/// How the live trials of a plan are divided into stretches of time.
struct Blocks {
    /// Positions of the live arms in the plan, with their trials per task.
    arms: Vec<(u32, u32)>,
    /// Most trials per task.
    most: u32,
    /// Positions of the tasks: one group for all passes, or a group for each block.
    groups: Vec<Vec<u32>>,
    /// Whether a block is one pass over all tasks.
    passes: bool,
}

/// One trial by its positions in the plan.
struct Slot {
    arm: u32,
    task: u32,
    index: u32,
}

impl Blocks {
    fn of(plan: &Plan, suite: &Suite) -> Self {
        let arms: Vec<(u32, u32)> = (0..)
            .zip(&plan.body.arms)
            .filter(|(_, arm)| !arm.recorded)
            .map(|(at, arm)| (at, arm.trials))
            .collect();
        let most = arms.iter().map(|(_, trials)| *trials).max().unwrap_or(0);
        let passes = most > 1 && !is_whole(plan);
        let groups = if passes {
            vec![(0..plan.body.tasks.len() as u32).collect()]
        } else {
            split(clusters(plan, suite), plan.body.seed)
        };
        Self {
            arms,
            most,
            groups,
            passes,
        }
    }

    fn count(&self) -> u32 {
        if self.passes {
            self.most
        } else {
            self.groups.len() as u32
        }
    }

    fn slots(&self, number: u32) -> Vec<Slot> {
        let (tasks, indices): (&[u32], Range<u32>) = if self.passes {
            (&self.groups[0], number..number + 1)
        } else {
            (&self.groups[number as usize], 0..self.most)
        };
        let mut slots = Vec::with_capacity(tasks.len() * self.arms.len() * indices.len());
        for &task in tasks {
            for &(arm, trials) in &self.arms {
                let indices = indices.start..indices.end.min(trials);
                slots.extend(indices.map(|index| Slot { arm, task, index }));
            }
        }
        slots
    }
}

impl Slot {
    fn spec(&self, plan: &Plan, block: u32) -> TrialSpec {
        let arm = &plan.body.arms[self.arm as usize];
        let task = &plan.body.tasks[self.task as usize];
        let id = plan.trial_id(arm, task, self.index);
        let seed = plan.body.seed.child("trial").child(id.as_str()).0;
        TrialSpec {
            id,
            arm: arm.id.clone(),
            task: task.id.clone(),
            index: self.index,
            block,
            seed,
        }
    }
}

fn is_whole(plan: &Plan) -> bool {
    let decision = plan.body.analysis.decision.as_ref();
    decision.is_some_and(|d| d.schedule == Schedule::WholeTasks)
}

/// Positions of the tasks by cluster; a task without a label is its own.
fn clusters(plan: &Plan, suite: &Suite) -> Vec<Vec<u32>> {
    let key = plan.body.analysis.cluster.as_deref();
    let labels: BTreeMap<&TaskId, String> = suite
        .tasks
        .iter()
        .filter_map(|task| Some((&task.id, task.metadata_text(key?)?)))
        .collect();
    let mut labelled: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut alone = Vec::new();
    for (at, task) in (0..).zip(&plan.body.tasks) {
        match labels.get(&task.id) {
            Some(label) => labelled.entry(label).or_default().push(at),
            None => alone.push(vec![at]),
        }
    }
    labelled.into_values().chain(alone).collect()
}

/// Deals units at random into blocks that hold the same number of them, as far as it divides.
fn split(mut units: Vec<Vec<u32>>, seed: Seed) -> Vec<Vec<u32>> {
    seed.child("schedule/split").stream().shuffle(&mut units);
    let count = units.len().min(SPLIT_BLOCKS);
    let mut blocks = vec![vec![]; count];
    for (at, unit) in units.into_iter().enumerate() {
        blocks[at % count].extend(unit);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::base::ArmId;
    use crate::model::analysis::DecisionSpec;
    use crate::model::plan::{Analysis, PlanBody, PlannedArm, PlannedTask};
    use crate::model::suite::{Suite, SuiteSpec, Task};

    fn suite(tasks: u32, cluster: Option<u32>) -> Suite {
        let task = |i: u32| -> Task {
            let metadata = cluster.map_or(
                serde_json::json!({}),
                |size| serde_json::json!({ "document": format!("d{}", i / size) }),
            );
            load_json(&serde_json::json!({
                "id": format!("t{i:03}"), "input": {"user": "x"}, "metadata": metadata,
            }))
        };
        let spec: SuiteSpec = load_json(&serde_json::json!({"id": "s", "version": "1"}));
        Suite::new(spec, (0..tasks).map(task).collect())
    }

    fn load_json<T: serde::de::DeserializeOwned>(value: &serde_json::Value) -> T {
        serde_json::from_value(value.clone()).unwrap()
    }

    fn plan(suite: &Suite, trials: &[u32], schedule: Schedule) -> Plan {
        let arm = |(at, &trials): (usize, &u32)| PlannedArm {
            id: ArmId::new(format!("arm{at}")),
            digest: crate::base::Digest::of_bytes(&[at as u8]),
            model: None,
            trials,
            stated: true,
            recorded: false,
        };
        let task = |t: &Task| PlannedTask {
            id: t.id.clone(),
            digest: crate::base::Digest::of_bytes(t.id.as_str().as_bytes()),
        };
        Plan::lock(PlanBody {
            suite: suite.spec.id.clone(),
            suite_version: "1".to_owned(),
            suite_digest: suite.digest.clone(),
            files: None,
            tasks: suite.tasks.iter().map(task).collect(),
            arms: trials.iter().enumerate().map(arm).collect(),
            seed: Seed(7),
            analysis: Analysis {
                decision: Some(DecisionSpec {
                    schedule,
                    ..DecisionSpec::default()
                }),
                weights: Default::default(),
                segments: vec![],
                cluster: Some("document".to_owned()),
            },
        })
    }

    /// The blocks of each task.
    fn blocks_of_tasks(specs: &[TrialSpec]) -> BTreeMap<&str, BTreeSet<u32>> {
        let mut blocks: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for spec in specs {
            blocks
                .entry(spec.task.as_str())
                .or_default()
                .insert(spec.block);
        }
        blocks
    }

    #[test]
    fn every_live_trial_comes_once_and_a_task_lies_in_as_many_blocks_as_it_has_trials() {
        let suite = suite(30, None);
        let mut plan = plan(&suite, &[4, 3, 9], Schedule::Checked);
        plan.body.arms[2].recorded = true;
        let specs = schedule(&plan, &suite);
        let ids: BTreeSet<&str> = specs.iter().map(|s| s.id.as_str()).collect();
        assert_eq!((specs.len(), ids.len()), (30 * 7, 30 * 7));
        assert!(specs.iter().all(|s| s.arm.as_str() != "arm2"));
        assert!(specs.iter().all(|s| s.block == s.index));
        assert!(specs.windows(2).all(|w| w[0].block <= w[1].block));
        assert!(blocks_of_tasks(&specs).values().all(|b| b.len() == 4));
    }

    #[test]
    fn arms_alternate_within_a_block_and_the_order_follows_the_seed() {
        let suite = suite(100, None);
        let one = plan(&suite, &[2, 2], Schedule::Checked);
        let specs = schedule(&one, &suite);
        let first_half = specs[..100].iter().filter(|s| s.arm.as_str() == "arm0");
        let count = first_half.count();
        assert!(
            (35..=65).contains(&count),
            "{count} of 100 are of the first arm"
        );
        assert_eq!(specs, schedule(&one, &suite));
        let mut other = one.clone();
        other.body.seed = Seed(8);
        assert_ne!(specs, schedule(&other, &suite));
    }

    #[test]
    fn more_trials_keep_ids_seeds_and_blocks() {
        let suite = suite(12, None);
        let few = schedule(&plan(&suite, &[2, 2], Schedule::Checked), &suite);
        let many = schedule(&plan(&suite, &[5, 5], Schedule::Checked), &suite);
        assert_eq!(few[..], many[..few.len()]);
        let single = schedule(&plan(&suite, &[1, 1], Schedule::Checked), &suite);
        let seeds: BTreeMap<&str, u64> = many.iter().map(|s| (s.id.as_str(), s.seed)).collect();
        assert!(single.iter().all(|s| seeds[s.id.as_str()] == s.seed));
    }

    #[test]
    fn single_trials_are_split_into_ten_blocks_with_both_arms_of_a_task_together() {
        let suite = suite(47, None);
        let specs = schedule(&plan(&suite, &[1, 1], Schedule::Checked), &suite);
        let blocks: BTreeSet<u32> = specs.iter().map(|s| s.block).collect();
        assert_eq!((specs.len(), blocks.len()), (94, 10));
        assert!(blocks_of_tasks(&specs).values().all(|b| b.len() == 1));
        let few = super::tests::suite(3, None);
        let specs = schedule(&plan(&few, &[1, 1], Schedule::Checked), &few);
        assert_eq!(specs.iter().map(|s| s.block).max(), Some(2));
    }

    #[test]
    fn whole_tasks_keep_clusters_in_one_block() {
        let suite = suite(60, Some(3));
        let specs = schedule(&plan(&suite, &[5, 5], Schedule::WholeTasks), &suite);
        let blocks = blocks_of_tasks(&specs);
        assert_eq!(specs.len(), 600);
        assert_eq!(specs.iter().map(|s| s.block).max(), Some(9));
        for document in 0..20 {
            let of = |i: u32| &blocks[format!("t{:03}", document * 3 + i).as_str()];
            assert!(of(0).len() == 1 && of(0) == of(1) && of(1) == of(2));
        }
    }

    #[test]
    fn no_live_arm_gives_no_trial() {
        let suite = suite(5, None);
        let mut plan = plan(&suite, &[3], Schedule::Checked);
        plan.body.arms[0].recorded = true;
        assert!(schedule(&plan, &suite).is_empty());
    }
}
