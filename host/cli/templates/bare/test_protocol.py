"""python3 -m unittest discover tests, in the folder above."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bare_protocol import Greeting  # noqa: E402


class GreetingTest(unittest.TestCase):
    def test_a_greeting_is_heard(self) -> None:
        node = Greeting(me=2, nodes=3)
        self.assertEqual(node.begin(), [(0, "hello")])
        self.assertEqual(node.receive(1, "hello"), [])
        self.assertEqual(node.state(), {"heard": 1})


if __name__ == "__main__":
    unittest.main()
