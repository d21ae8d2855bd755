"""Rules that call functions outside of CEL's standard library, with values that an API server accepts or refuses."""

from __future__ import annotations

from tests.lint.definitions import ITEMS, NUMBER, TEXT, Case, rule, texts

_NUMBERS = {"type": "array", **ITEMS}

OF_FUNCTIONS = (
    Case("find", {**TEXT, **rule("self.find('[0-9]+') == '42'")}, ("a42b",), ("ab", "4")),
    Case("find to the end", {**TEXT, **rule("self.find('a$') == 'a'")}, ("ba",), ("ba\n", "ab")),
    Case("find of digits", {**TEXT, **rule("self.find(r'\\d+') == '1'")}, ("a1",), ("\u0661",)),
    Case("find of letters", {**TEXT, **rule("self.find(r'\\pL+') == '\u00e4b'")}, ("1\u00e4b",), ("1", "a")),
    Case("matches", {**TEXT, **rule("self.matches('^[a-z]+$')")}, ("abc",), ("abc\n", "ABC", "")),
    Case("quantities", {**TEXT, **rule("quantity('1Gi').isGreaterThan(quantity(self))")}, ("1M", "-1"), ("2Gi", "x")),
    Case(
        "what is a quantity",
        {**TEXT, **rule("quantity(self).isGreaterThan(quantity('-1'))")},
        ("1", "1.5Gi", "1e3", "+1m", "Mi", "-", ".k", "e3"),
        ("1,5", "200K", "", "Pi", "K", "1.2.3", "1 "),
    ),
    Case("equal", {**TEXT, **rule("quantity(self) == quantity('1k')")}, ("1000", "1000000m"), ("1001",)),
    Case(
        "as an integer",
        {**TEXT, **rule("quantity(self).asInteger() == 14")},
        ("14", "1.4e1"),
        ("15", "0.5", "14000m"),
    ),
    Case("sum", {**_NUMBERS, "items": NUMBER, **rule("self.sum() == 6")}, ([1, 5], [6]), ([5], [])),
    Case("sum of fractions", {**_NUMBERS, "items": {"type": "number"}, **rule("self.sum() > 1.5")}, ([1, 1],), ([1],)),
    Case("split", {**TEXT, **rule("self.split(',').size() == 2 && self.split(',', 1) == [self]")}, ("a,b",), ("a",)),
    Case("substring", {**TEXT, **rule("self.substring(2) == 'c' && self.charAt(0) == 'a'")}, ("abc",), ("a", "abd")),
    Case("indexes", {**TEXT, **rule("self.indexOf('b') == 1 && self.lastIndexOf('b') == 3")}, ("abab",), ("abb", "")),
    Case(
        "letters",
        {**TEXT, **rule("self.lowerAscii() == 'ab' && self.trim() == self")},
        ("AB", "ab"),
        ("ab ", "\u00c4b"),
    ),
    Case("replaced", {**TEXT, **rule("self.replace('a', 'b', 1) == 'bba'")}, ("aba",), ("bab",)),
    Case("joined", texts(**rule("self.join('-') == 'a-b'")), (["a", "b"],), (["ab"], [])),
)
"""Regular expressions, quantities, lists and texts."""
