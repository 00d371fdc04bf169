//! Validates components, skipping the parts that are known to be valid.

use wasmparser::{BinaryReaderError, FuncValidatorAllocations, Parser, Payload, ValidPayload, Validator, WasmFeatures};

/// Validates a component. Modules that were found valid before are read again without the bodies of their functions, which do not
/// affect the code around the module.
pub(crate) fn validate(
    bytes: &[u8],
    features: WasmFeatures,
    is_known: &dyn Fn(&[u8]) -> bool,
) -> Result<(), BinaryReaderError> {
    let mut validator = Validator::new_with_features(features);
    let mut parser = Parser::new(0);
    parser.set_features(features);
    let (mut bodies, mut is_in_known) = (Vec::new(), false);
    for payload in parser.parse_all(bytes) {
        let payload = payload?;
        match &payload {
            Payload::ModuleSection { unchecked_range, .. } => {
                is_in_known = bytes.get(unchecked_range.clone()).is_some_and(is_known);
            }
            // A module contains no modules.
            Payload::End(_) => is_in_known = false,
            _ => {}
        }
        if let ValidPayload::Func(function, body) = validator.payload(&payload)?
            && !is_in_known
        {
            bodies.push((function, body));
        }
    }
    let mut allocations = FuncValidatorAllocations::default();
    for (function, body) in bodies {
        let mut validator = function.into_validator(allocations);
        validator.validate(&body)?;
        allocations = validator.into_allocations();
    }
    Ok(())
}
