"""python3 -m unittest discover tests, in the folder above."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from host import ready_made as ready  # noqa: E402


class ReadyMade(unittest.TestCase):
    def test_what_holds(self):
        self.assertIsNone(ready.one_leader_per_term([1, None, 2]))
        self.assertIsNone(ready.logs_agree([["a"], None, ["a", "b"]]))
        self.assertIsNone(ready.acknowledged_is_durable([(["a"], ["a"]), ([], ["a"]), None]))
        self.assertIsNone(ready.committed_is_on_a_majority([(["a", "b"], 1), (["a"], 0), None]))
        self.assertIsNone(ready.replicas_converge([3, None, 3]))

    def test_what_does_not(self):
        self.assertEqual(ready.one_leader_per_term([1, None, 1]), "nodes 0 and 2 both lead in term 1")
        self.assertEqual(ready.logs_agree([["a", "b"], ["a", "c"]]), "nodes 0 and 1 have different entries at 2")
        why = "'a' was acknowledged, and 1 of 3 nodes have it"
        self.assertEqual(ready.acknowledged_is_durable([(["a"], ["a"]), ([], []), None]), why)
        why = "node 0 has committed entry 2, and 1 of 3 nodes have it"
        self.assertEqual(ready.committed_is_on_a_majority([(["a", "b"], 2), (["a"], 0), (["a", "c"], 1)]), why)
        self.assertEqual(ready.replicas_converge([3, 4]), "nodes 0 and 1 have different values")


if __name__ == "__main__":
    unittest.main()
