//! Buffers of arguments, which a machine reuses for every call.

use std::sync::Arc;

use crate::contract::abi::{Bytes, Text};

/// Fills a shared buffer that has no other holder by now.
pub(crate) fn fill(slot: &mut Bytes, bytes: &[u8]) {
    let buffer = Arc::make_mut(slot);
    buffer.clear();
    buffer.extend_from_slice(bytes);
}

/// As [`fill`], with a text.
pub(crate) fn fill_text(slot: &mut Text, text: &str) {
    let buffer = Arc::make_mut(slot);
    buffer.clear();
    buffer.push_str(text);
}

/// As [`fill`], with one view per node; buffers of views are reused.
pub(crate) fn fill_views(slot: &mut Arc<Vec<Option<Vec<u8>>>>, views: &[Option<&[u8]>]) {
    let buffer = Arc::make_mut(slot);
    buffer.resize_with(views.len(), || None);
    for (old, new) in buffer.iter_mut().zip(views) {
        match (old, new) {
            (Some(old), Some(new)) => {
                old.clear();
                old.extend_from_slice(new);
            }
            (old, new) => *old = new.map(<[u8]>::to_vec),
        }
    }
}
