"""Rules that call what Kubernetes adds to CEL, and what an API server says of values."""

from __future__ import annotations

from tests.lint.definitions import ITEMS, NUMBER, TEXT, Case, rule, texts

OF_FUNCTIONS = (
    Case("find", {**TEXT, **rule("self.find('[0-9]+') == '42'")}, ("a42b",), ("ab", "4")),
    Case("find to the end", {**TEXT, **rule("self.find('a$') == 'a'")}, ("ba",), ("ba\n", "ab")),
    Case("find of digits", {**TEXT, **rule("self.find(r'\\d+') == '1'")}, ("a1",), ("\u0661",)),
    Case("find in other words", {**TEXT, **rule("self.find(r'\\pL+') == 'a'")}, unsure=(("a", True), ("1", False))),
    Case("findAll", {**TEXT, **rule("self.findAll('[0-9]').size() == 2")}, ("a4b2",), ("a4",)),
    Case("findAll of nothing", {**TEXT, **rule("self.findAll('[0-9]*') == ['12', '', '']")}, ("12ab",), ("12",)),
    Case("findAll, limited", {**TEXT, **rule("self.findAll('[a-z]', 2) == ['a', 'b']")}, ("abc",), ("acb",)),
    Case("matches", {**TEXT, **rule("self.matches('^[a-z]+$')")}, ("abc",), ("abc\n", "ABC", "")),
    Case("quantities", {**TEXT, **rule("quantity(self).isLessThan(quantity('1Gi'))")}, ("1M", "-1"), ("2Gi", "x")),
    Case(
        "is a quantity",
        {**TEXT, **rule("isQuantity(self)")},
        ("1", "1.5Gi", "1e3", "+1m", "Mi", "-", ".k", "e3"),
        ("1,5", "200K", "", "Pi", "K", "1.2.3", "1 "),
    ),
    Case(
        "compared", {**TEXT, **rule("quantity(self).compareTo(quantity('1k')) == 0")}, ("1000", "1e3"), ("1001", "1Ki")
    ),
    Case("equal", {**TEXT, **rule("quantity(self) == quantity('1k')")}, ("1000", "1000000m"), ("1001",)),
    Case(
        "arithmetic",
        {**TEXT, **rule("quantity(self).add(5).sub(quantity('1')).asInteger() == 14")},
        ("10",),
        ("11", "0.5"),
    ),
    Case("sign", {**TEXT, **rule("sign(quantity(self)) == -1")}, ("-1",), ("1", "0")),
    Case("as a float", {**TEXT, **rule("quantity(self).asApproximateFloat() > 0.4")}, ("500m",), ("1m",)),
    Case(
        "sum",
        {"type": "array", **ITEMS, "items": NUMBER, **rule("self.sum() == 6 && self.isSorted()")},
        ([1, 5],),
        ([5, 1],),
    ),
    Case(
        "extremes",
        {"type": "array", **ITEMS, "items": NUMBER, **rule("self.max() - self.min() < 3")},
        ([1, 3],),
        ([1, 4], []),
    ),
    Case("sets", texts(**rule("sets.contains(['a', 'b'], self)")), (["a"], []), (["c"],)),
    Case("sets that meet", texts(**rule("sets.intersects(['a', 'b'], self)")), (["a", "c"],), (["c"], [])),
    Case("equal sets", texts(**rule("sets.equivalent(['a', 'b'], self)")), (["b", "a", "a"],), (["a"],)),
    Case("split", {**TEXT, **rule("self.split(',').size() == 2 && self.split(',', 1) == [self]")}, ("a,b",), ("a",)),
    Case("substring", {**TEXT, **rule("self.substring(2) == 'c' && self.charAt(0) == 'a'")}, ("abc",), ("a", "abd")),
    Case("indexes", {**TEXT, **rule("self.indexOf('b') == 1 && self.lastIndexOf('b') == 3")}, ("abab",), ("abb", "")),
    Case("letters", {**TEXT, **rule("self.lowerAscii() == 'ab' && self.trim() == self")}, ("AB", "ab"), ("ab ", "Äb")),
    Case("replaced", {**TEXT, **rule("self.replace('a', 'b', 1) == 'bba'")}, ("aba",), ("bab",)),
    Case("joined", texts(**rule("self.join('-') == 'a-b'")), (["a", "b"],), (["ab"], [])),
    Case(
        "addresses",
        {**TEXT, **rule("ip(self).family() == 4 && !ip(self).isLoopback()")},
        ("10.0.0.1",),
        ("127.0.0.1", "::1", "010.0.0.1"),
    ),
    Case(
        "is an address",
        {**TEXT, **rule("isIP(self)")},
        ("::1", "1.2.3.4"),
        ("::ffff:1.2.3.4", "fe80::1%a", "1.2.3", ""),
    ),
    Case("as Go prints it", {**TEXT, **rule("ip.isCanonical(self)")}, ("fe80::1",), ("FE80::1", "x")),
    Case(
        "kinds of addresses",
        {**TEXT, **rule("ip(self).isGlobalUnicast() != ip(self).isLinkLocalUnicast()")},
        ("10.0.0.1", "fe80::1"),
        ("ff02::1", "255.255.255.255", "::"),
    ),
    Case(
        "networks",
        {**TEXT, **rule("cidr(self).containsIP('10.0.0.7') && cidr(self).prefixLength() > 8")},
        ("10.0.0.0/24",),
        ("10.0.0.0/8", "10.0.1.0/24", "10.0.0.0/33", "10.0.0.0/024"),
    ),
    Case(
        "networks in networks",
        {**TEXT, **rule("cidr('10.0.0.0/8').containsCIDR(self) && cidr(self).masked() == cidr(self)")},
        ("10.1.0.0/16",),
        ("11.0.0.0/16", "0.0.0.0/0", "10.1.0.1/16"),
    ),
    Case(
        "URLs",
        {**TEXT, **rule("url(self).getHost() == 'a.b:1' && url(self).getScheme() == 'https'")},
        ("https://a.b:1/x", "HTTPS://a.b:1"),
        ("http://a.b:1", "https://a.b", "a.b"),
    ),
    Case(
        "parts of URLs",
        {
            **TEXT,
            **rule(
                "url(self).getHostname() == 'a.b' && url(self).getEscapedPath() == '/x' && url(self).getPort() == ''"
            ),
        },
        ("http://a.b/x",),
        ("http://a.b/y",),
    ),
    Case(
        "the query of a URL",
        {**TEXT, **rule("url(self).getQuery()['k'] == ['1', '2']")},
        ("http://a/?k=1&l=3&k=2",),
        ("http://a/?k=1", "http://a/"),
    ),
    Case(
        "is a URL",
        {**TEXT, **rule("isURL(self)")},
        ("http://a.b",),
        ("a.b/c", ""),
        (("/a", True), ("http://a b", False)),
    ),
    Case(
        "parts of lists",
        texts(**rule("self.slice(0, 1) == ['a'] && self.distinct().size() == 2")),
        (["a", "b", "a"],),
        (["a"], []),
    ),
)
"""Regular expressions, quantities, lists, sets, texts, addresses and URLs."""
