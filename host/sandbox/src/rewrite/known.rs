//! Facts about modules that were rewritten before.

use std::rc::Rc;

use super::code_facts::CodeFacts;

/// Modules that were validated, read and rewritten before, by content. The unit type knows none.
pub(crate) trait Known {
    /// The facts from the code of a module. A module with known facts is valid.
    fn code(&self, module: &[u8]) -> Option<Rc<CodeFacts>>;
    /// The result of rewriting a module as requested.
    fn rewritten(&self, module: &[u8], request: blake3::Hash) -> Option<Vec<u8>>;
    /// Keeps the result for a valid module.
    fn keep(&self, module: &[u8], code: &CodeFacts, request: blake3::Hash, rewritten: &[u8]);
}

impl Known for () {
    fn code(&self, _: &[u8]) -> Option<Rc<CodeFacts>> {
        None
    }

    fn rewritten(&self, _: &[u8], _: blake3::Hash) -> Option<Vec<u8>> {
        None
    }

    fn keep(&self, _: &[u8], _: &CodeFacts, _: blake3::Hash, _: &[u8]) {}
}
