//! Tests of the crate as a whole.
//!
//! | module | what it holds |
//! |---|---|
//! | `reference` | all orders of small histories, without any of the means of the search |
//! | `agreement` | the search against the reference on random histories |
//! | `large` | histories of simulated objects: correct ones, mistakes, bounds |
//! | `input` | histories that are wrong, in all formats |

mod agreement;
mod input;
mod large;
mod reference;

use std::time::Duration;

use crate::{Accepted, Bounds, History, HistoryError, Judgement, Model, Order, Read, Reading, Value, judge, read};

fn reading(model: &str) -> Reading {
    let model = Model::of_name(model).expect("it is a model");
    Reading { model, accepted: Accepted::Any, order: Order::Checked, is_independent: false, memory_bytes: 1 << 30 }
}

fn history_of(text: &str, how: &Reading) -> Result<History, HistoryError> {
    match read(&mut text.as_bytes(), how, &mut || false)? {
        Read::Whole(history) => Ok(*history),
        other => panic!("{other:?}"),
    }
}

fn judged(history: &mut History, start: Option<&Value>) -> Judgement {
    let elapsed = || Duration::ZERO;
    let bounds =
        Bounds { memory_bytes: 1 << 30, elapsed: &elapsed, time: Duration::from_secs(60), is_interrupted: &|| false };
    judge(history, start, &bounds).expect("the object can begin so")
}
