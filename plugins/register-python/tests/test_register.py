"""python3 -m unittest discover tests, in the folder above."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from host.encoding import encode  # noqa: E402
from host.parameters import ParameterError, read  # noqa: E402
from register import Register, Settings  # noqa: E402


class RegisterTest(unittest.TestCase):
    def test_a_write_ends_when_a_majority_has_stored_it(self) -> None:
        writer = Register(me=0, nodes=3)
        self.assertEqual(writer.possible(), "write")
        sent = writer.begin("write")
        self.assertEqual([to for to, _ in sent], [0, 1, 2])
        writer.receive(1, {"kind": "stored", "op": 1})
        self.assertEqual(writer.phase, "store")
        writer.receive(1, {"kind": "stored", "op": 1})
        self.assertEqual(writer.phase, "store")
        writer.receive(2, {"kind": "stored", "op": 1})
        self.assertEqual(writer.phase, "idle")

    def test_a_parameter_that_is_not_known_is_named(self) -> None:
        self.assertEqual(read(Settings, "reads=0").reads, 0)
        with self.assertRaisesRegex(ParameterError, "no parameter colour; known are: writes, reads, bug"):
            read(Settings, "colour=red")

    def test_the_encoding_is_canonical(self) -> None:
        self.assertEqual(encode({"op": 1, "kind": "query"}), b'{"kind":"query","op":1}')


if __name__ == "__main__":
    unittest.main()
