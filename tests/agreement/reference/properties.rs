//! The judgement of a global state by the further properties of a toy.

use host_model::contract::{NodeId, PropertyKind, PropertyScope};

use super::{Local, Reached, System};

/// Records the judgements of a state without stuck nodes, which is reached after this many events.
pub(super) fn judge(system: &System, locals: &[Local], depth: u32, reached: &mut Reached) {
    for (index, property) in (1..).zip(&system.toy.properties) {
        let views: Vec<Option<Vec<u8>>> =
            (0..).zip(locals).map(|(node, local)| property.view(node, local.state)).collect();
        let views: Vec<Option<&[u8]>> = views.iter().map(Option::as_deref).collect();
        let groups: Vec<_> = match property.scope {
            PropertyScope::Node => (0..).map(Some).zip(views.chunks(1)).collect(),
            PropertyScope::System => vec![(None::<NodeId>, views.as_slice())],
        };
        // A property to which no node matters is not evaluated.
        for (node, group) in groups.into_iter().filter(|(_, group)| group.iter().any(Option::is_some)) {
            let words = match (property.evaluate(group), property.kind) {
                (Err(fault), _) => fault.message,
                (Ok(Err(message)), PropertyKind::Always) => message,
                (Ok(Ok(())), PropertyKind::Sometimes) => {
                    reached.witnessed.insert(index);
                    continue;
                }
                _ => continue,
            };
            reached.said.entry((node, words)).or_insert(depth);
        }
    }
}
