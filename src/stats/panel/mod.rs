//! Several judges or raters on one item: majority vote, rules for human labels, and Dawid and Skene's
//! model as an option.
//!
//! By default every judge stands alone, and a panel is the majority of an odd number of judges. Its
//! *output* is calibrated as if it were one judge, so that correlated errors need no model.

mod dawid_skene;
mod labelling;
mod majority;

pub use dawid_skene::{DawidSkene, Given, dawid_skene};
pub use labelling::{
    DominantRater, Overlap, Truth, TruthRule, adjudicate, dominant_rater, label_clusters,
    rater_overlap, soft_label,
};
pub use majority::{Vote, majority_vote};
