//! Whether to buy tasks or trials, in words.

use super::{Design, Variances};

/// What to buy. `task_cost` says whether the cost of a task was named.
pub(super) fn advice(
    best: Option<u64>,
    task_cost: bool,
    needed: &[Design],
    variances: &Variances,
) -> String {
    if !variances.separable() {
        let one = needed.iter().find(|design| design.trials == 1);
        return one.map_or(String::new(), |d| {
            format!(
                "{} tasks with one trial each; whether trials or tasks are the better buy can't be told from these variances",
                d.tasks
            )
        });
    }
    let cost = |d: &&Design| d.cost.unwrap_or(f64::MAX);
    let cheapest = needed
        .iter()
        .filter(|d| d.cost.is_some())
        .min_by(|a, b| cost(a).total_cmp(&cost(b)));
    let fewest = needed.iter().min_by_key(|d| d.trials_in_all);
    match (cheapest, fewest) {
        (Some(d), _) => format!(
            "cheapest of these: {} tasks with {} trials each; {}",
            d.tasks,
            d.trials,
            optimum(best, task_cost, d, needed)
        ),
        (None, Some(d)) => format!(
            "if tasks cost nothing to write, more tasks beat more trials: {} tasks with {} trials each need the fewest trials in all; name costs with `--task-cost` and `--trial-cost`",
            d.tasks, d.trials
        ),
        (None, None) => String::new(),
    }
}

/// How the number of trials that theory has as the best goes with the cheapest design.
///
/// Cochran's optimum looks at the variance alone, while an interval also needs a least number of tasks:
/// where that binds, the optimum is not the cheapest.
fn optimum(best: Option<u64>, task_cost: bool, cheapest: &Design, needed: &[Design]) -> String {
    let Some(best) = best else {
        return match task_cost {
            true => "the variances and costs name no best number of trials per task",
            false => "name what a task costs to write with `--task-cost`",
        }
        .to_owned();
    };
    let dearer = needed
        .iter()
        .find(|d| u64::from(d.trials) == best && d.cost > cheapest.cost);
    match dearer {
        None => format!("about {best} trials per task buy the most for the money"),
        Some(d) => format!(
            "by the variances alone {best} trials per task would be best, but the tasks that an interval needs at the least make that dearer here ({} tasks)",
            d.tasks
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(tasks: u64, trials: u32) -> Design {
        Design {
            tasks,
            trials,
            mde: None,
            trials_in_all: 2 * tasks * u64::from(trials),
            cost: Some(tasks as f64 * f64::from(5 + trials)),
            at_most: false,
        }
    }

    fn spoken(best: Option<u64>, task_cost: bool) -> String {
        let needed = [design(662, 1), design(178, 5), design(125, 10)];
        advice(best, task_cost, &needed, &Variances::stated(0.01, 0.1, 0.1))
    }

    #[test]
    fn the_cheapest_design_and_the_optimum_do_not_contradict_each_other() {
        let agree = spoken(Some(5), true);
        assert!(agree.ends_with("about 5 trials per task buy the most for the money"));
        let differ = spoken(Some(10), true);
        assert!(differ.starts_with("cheapest of these: 178 tasks with 5 trials"));
        assert!(differ.contains("dearer here (125 tasks)") && !differ.contains("buy the most"));
    }

    #[test]
    fn a_cost_that_was_named_is_not_asked_for() {
        assert!(!spoken(None, true).contains("--task-cost"));
        assert!(spoken(None, false).contains("--task-cost"));
    }
}
