//! What is known of modules that were rewritten before.

use std::rc::Rc;

use super::code_facts::CodeFacts;

/// Modules that were found valid, read and rewritten before, by what they hold. The unit type knows none.
pub(crate) trait Known {
    /// What the code of a module says. The module is valid if this is known.
    fn code(&self, module: &[u8]) -> Option<Rc<CodeFacts>>;
    /// What a module becomes if it is rewritten as requested.
    fn rewritten(&self, module: &[u8], request: blake3::Hash) -> Option<Vec<u8>>;
    /// Keeps what became of a valid module.
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
