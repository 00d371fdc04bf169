"""What searches find, without WebAssembly: the library on CPython, and messages that are delivered by hand.

    pip install --target . -r requirements.txt && python3 -m unittest discover tests
"""

import sys
import unittest
from collections import deque
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "guest-sdk/python")]

from replica import Replica, Settings  # noqa: E402


class Cluster:
    """Nodes, and the messages under way from each to each, in order."""

    def __init__(self, size: int, **settings: Any) -> None:
        self.size, self.settings = size, Settings(timeouts=9, ticks=9, commands=9, **settings)
        self.nodes = [Replica(node, size, self.settings, None) for node in range(size)]
        self.links: dict[tuple[int, int], deque[dict[str, Any]]] = {}

    def send(self, node: int, sent: list[tuple[int, dict[str, Any]]]) -> None:
        for to, message in sent:
            self.links.setdefault((node, to), deque()).append(message)

    def restart(self, node: int) -> None:
        self.nodes[node] = Replica(node, self.size, self.settings, self.nodes[node].stored())

    def cut(self, one: int, other: int) -> None:
        """The connection breaks, and there is another one at once."""
        for node, peer in ((one, other), (other, one)):
            self.links.pop((node, peer), None)
        for node, peer in ((one, other), (other, one)):
            self.send(node, self.nodes[node].reconnect(peer))

    def do(self, node: int, *names: str) -> None:
        for name in names:
            self.send(node, self.nodes[node].begin(name))

    def deliver(self, source: int, to: int, count: int = 1) -> None:
        for _ in range(count):
            self.send(to, self.nodes[to].receive(source, self.links[source, to].popleft()))

    def pass_on(self, source: int, to: int) -> None:
        """Delivers all that is under way from one node to another."""
        self.deliver(source, to, len(self.links.get((source, to), ())))

    def elect(self, node: int, *voters: int) -> None:
        """The node leads by the votes of these, whose messages come at once."""
        self.do(node, "timeout")
        for voter in voters:
            self.pass_on(node, voter)
            self.pass_on(voter, node)
        assert self.nodes[node].state()["role"] == "leader"


class Found(unittest.TestCase):
    def test_166_a_follower_takes_a_lower_commit_index(self) -> None:
        cluster = Cluster(3)
        cluster.elect(1, 0)
        cluster.do(1, "tick")
        cluster.pass_on(1, 0)
        cluster.pass_on(0, 1)
        cluster.elect(0, 2)
        cluster.pass_on(0, 1)
        self.assertEqual(cluster.nodes[1].wrong, {"commit": [2, 1]})

    def test_167_a_leader_takes_an_old_answer_for_a_new_one(self) -> None:
        cluster = Cluster(3)
        cluster.elect(1, 0)
        cluster.cut(1, 0)
        # Both are answered with the request to begin at the first entry that is absent.
        cluster.do(1, "tick", "tick")
        cluster.pass_on(1, 0)
        cluster.deliver(0, 1)
        cluster.do(1, "tick", "tick")
        cluster.pass_on(1, 0)
        cluster.deliver(0, 1)
        cluster.do(1, "tick")
        cluster.pass_on(1, 0)
        cluster.pass_on(0, 1)
        self.assertEqual(cluster.nodes[1].wrong, {"match": [2, 1]})

    def test_169_a_leader_commits_what_a_majority_has_of_an_older_term(self) -> None:
        cluster = Cluster(3)
        cluster.elect(1, 0)
        cluster.pass_on(1, 2)
        cluster.elect(2, 1)
        cluster.pass_on(2, 1)
        cluster.pass_on(1, 2)
        self.assertEqual(cluster.nodes[2].wrong, {"older": [1, 2]})

    def test_201_a_node_that_starts_again_votes_twice_in_one_term(self) -> None:
        cluster = Cluster(3, journal=True)
        cluster.elect(0, 2)
        cluster.restart(2)
        cluster.elect(1, 2)
        self.assertEqual([node.state()["term"] for node in cluster.nodes], [1, 1, 1])

    def test_answers_of_an_earlier_term_count_for_entries_that_are_not_stored(self) -> None:
        cluster = Cluster(5)
        nodes = cluster.nodes
        # Node 1 stores four entries of node 0, and its answers are late.
        cluster.elect(0, 1, 2)
        cluster.do(0, "command", "command", "command", "tick")
        cluster.pass_on(0, 1)
        # Node 2 leads without them, and its first entry takes their place.
        cluster.do(2, "timeout")
        for voter in (3, 4):
            cluster.deliver(2, voter)
            cluster.deliver(voter, 2)
        for node in (0, 1, 3):
            cluster.pass_on(2, node)
        # Node 0 leads again, with that entry. It takes the late answers for answers to its new entries, which one node stores.
        cluster.elect(0, 3, 4)
        cluster.do(0, "command", "tick")
        cluster.pass_on(0, 3)
        cluster.do(0, "tick")
        cluster.pass_on(0, 3)
        cluster.pass_on(3, 0)
        self.assertEqual(nodes[0].log.applied, [])
        cluster.pass_on(1, 0)
        self.assertEqual(nodes[0].log.applied, [5])
        # Nodes 1, 2 and 4 have not seen them, and agree on others.
        cluster.do(1, "timeout", "timeout")
        for voter in (2, 4):
            cluster.pass_on(1, voter)
            cluster.pass_on(voter, 1)
        cluster.do(1, "command")
        for _ in range(3):
            cluster.do(1, "tick")
            for node in (2, 4):
                cluster.pass_on(1, node)
                cluster.pass_on(node, 1)
        self.assertEqual(nodes[1].log.applied, [108])


if __name__ == "__main__":
    unittest.main()
