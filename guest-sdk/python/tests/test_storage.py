"""Tables: their entries come in the order of their keys, more than one call of the host returns."""

import unittest

from host.storage import Stored, Table


class Tables(unittest.TestCase):
    def test_tables_have_their_entries_in_order(self) -> None:
        stored = Stored()
        numbers, words = Table(stored, "numbers", int), Table(stored, "number", str)
        for key in range(20):
            numbers.put(100 * key, {"of": key})
        names = ["b", "a", "a\0", "", "a\0\x7f", "a\1", "ä"]
        for name in names:
            words.put(name, f"value of {name}")
        self.assertEqual([(key, value["of"]) for key, value in numbers.range()], [(100 * key, key) for key in range(20)])
        self.assertEqual(list(words.range()), [(name, f"value of {name}") for name in sorted(names)])
        self.assertEqual(words.first(), ("", "value of "))
        self.assertEqual(words.last(), ("ä", "value of ä"))
        numbers.delete_range(100, 500)
        numbers.delete_range(first=1800)
        numbers.delete(700)
        numbers.delete(701)
        self.assertEqual([key for key, _ in numbers.range()], [0, 600, *range(800, 1701, 100)])
        self.assertEqual([key for key, _ in numbers.range(600, 900)], [600, 800, 900])
        self.assertEqual([key for key, _ in numbers.range(last=600)], [0, 600])
        self.assertEqual((numbers.get(600), numbers.get(100), numbers.get(100, 5)), ({"of": 6}, None, 5))
        self.assertTrue(600 in numbers and 100 not in numbers)
        numbers.delete_range()
        self.assertEqual((numbers.first(), numbers.last(), len(list(words.range()))), (None, None, len(names)))


if __name__ == "__main__":
    unittest.main()
