//! The renamings of the nodes of a cluster, as a group.

use host_model::contract::NodeId;

/// Maximum number of renamings: each one multiplies the work for facts and checks. A group of five nodes has this
/// many.
const RENAMINGS_MAX: usize = 120;

/// All permutations of the nodes within their groups, the identity first; if there are too many, the last nodes of a group keep their
/// places. Otherwise the reason why the groups are wrong.
pub(super) fn renamings(groups: &[Vec<NodeId>], nodes: u32) -> Result<Vec<Vec<NodeId>>, String> {
    let mut seen = vec![false; nodes as usize];
    for node in groups.iter().flatten() {
        match seen.get_mut(*node as usize) {
            None => return Err(format!("it declares node {node} of a cluster of {nodes}, numbered from 0")),
            Some(true) => return Err(format!("it declares node {node} twice")),
            Some(seen) => *seen = true,
        }
    }
    let mut renamings: Vec<Vec<NodeId>> = vec![(0..nodes).collect()];
    for group in groups {
        // Some nodes of a group are a group as well, with fewer renamings.
        let factorial = |moved: &usize| (1..=*moved).product::<usize>();
        let moved = (0..=group.len()).take_while(|moved| renamings.len() * factorial(moved) <= RENAMINGS_MAX).last();
        let moved = &group[..moved.unwrap_or(0)];
        let mut extended = Vec::new();
        for order in orders(moved) {
            for renaming in &renamings {
                let mut renaming = renaming.clone();
                for (node, image) in moved.iter().zip(&order) {
                    renaming[*node as usize] = *image;
                }
                extended.push(renaming);
            }
        }
        renamings = extended;
    }
    Ok(renamings)
}

/// All orders of some nodes, the given one first.
fn orders(nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
    let mut orders = vec![Vec::new()];
    for _ in nodes {
        let longer = |order: &Vec<NodeId>| {
            let left = nodes.iter().filter(|node| !order.contains(node));
            left.map(|node| order.iter().copied().chain([*node]).collect()).collect::<Vec<Vec<NodeId>>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

/// Generators of a group, given its table.
pub(super) fn generators(after: &[Vec<usize>]) -> Vec<usize> {
    let mut generators = Vec::new();
    let mut composed = vec![false; after.len()];
    composed[0] = true;
    for element in 0..after.len() {
        if composed[element] {
            continue;
        }
        generators.push(element);
        let mut stack: Vec<usize> = (0..after.len()).filter(|other| composed[*other]).collect();
        while let Some(at) = stack.pop() {
            for generator in &generators {
                let both = after[*generator][at];
                if !std::mem::replace(&mut composed[both], true) {
                    stack.push(both);
                }
            }
        }
    }
    generators
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduction::symmetry::Symmetry;

    #[test]
    fn renamings_permute_within_groups() {
        // 2! of the first group times 3! of the second; node 0 is in none.
        let all = renamings(&[vec![1, 4], vec![2, 3, 5]], 6).expect("they are few");
        assert_eq!(all.len(), 12);
        assert_eq!(all[0], [0, 1, 2, 3, 4, 5]);
        let is_inside = |renaming: &Vec<NodeId>| renaming[0] == 0 && [1, 4].contains(&renaming[1]);
        assert!(all.iter().all(is_inside));
        let group = Symmetry::new(all);
        let inverse = |p: usize| (0..12).any(|q| group.after[q][p] == 0);
        assert!((0..12).all(inverse));
        // One exchange makes the first group; the second one is made by two elements, and by none of its own alone.
        assert_eq!(group.generators.len(), 3);
    }

    #[test]
    fn a_wrong_declaration_is_refused() {
        assert_eq!(
            renamings(&[vec![0, 3]], 3),
            Err("it declares node 3 of a cluster of 3, numbered from 0".to_owned())
        );
        assert_eq!(renamings(&[vec![0, 1], vec![1, 2]], 3), Err("it declares node 1 twice".to_owned()));
    }

    #[test]
    fn large_groups_are_used_in_part() {
        let size = |groups: &[Vec<NodeId>]| renamings(groups, 100).map(|all| all.len());
        assert_eq!(size(&[(0..5).collect()]), Ok(120));
        // 6! = 720, so one of the six keeps its name; and one of a hundred is no different.
        assert_eq!(size(&[(0..6).collect()]), Ok(120));
        assert_eq!(size(&[(0..100).collect()]), Ok(120));
        // 4! = 24 leaves no room for 3! = 6, but for 2!.
        assert_eq!(size(&[(0..4).collect(), (4..7).collect()]), Ok(48));
    }
}
