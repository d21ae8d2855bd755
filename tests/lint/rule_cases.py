"""Small definitions with one rule each, and what an API server says of values: the conformance lane asks a real one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]
GROUP = "example.com"
TEXT: Schema = {"type": "string", "maxLength": 100}
NUMBER: Schema = {"type": "integer"}
ITEMS = {"maxItems": 10}


@dataclass(frozen=True, slots=True)
class Case:
    """A field with a rule."""

    name: str
    schema: Schema
    good: tuple[Any, ...] = ()
    """Values that the server takes."""
    bad: tuple[Any, ...] = ()
    """Values that it refuses by the rule."""
    unsure: tuple[tuple[Any, bool], ...] = ()
    """Values of which lint says that it cannot judge them, and whether the server takes them."""


def rule(text: str, message: str = "refused", **more: Any) -> Schema:
    """The key of a schema that holds one rule."""
    return {"x-kubernetes-validations": [{"rule": text, "message": message, **more}]}


def texts(**more: Any) -> Schema:
    """A list of texts."""
    return {"type": "array", "items": TEXT, **ITEMS, **more}


def fields(properties: Schema, **more: Any) -> Schema:
    """An object of these fields."""
    return {"type": "object", "properties": properties, **more}


def definition(schema: Schema, kind: str = "Widget", **spec: Any) -> Schema:
    """A CustomResourceDefinition with one version."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": f"{kind.lower()}s"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version], **spec},
    }


_AB = {"a": TEXT, "b": TEXT}
_TIME: Schema = {"type": "string", "format": "date-time"}
_SPAN: Schema = {"type": "string", "format": "duration"}
_MODE: Schema = {"type": "object", "default": {}, "properties": {"mode": {**TEXT, "default": "Off"}}}
_EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
_POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ab"}}
_PORTS: Schema = {
    "type": "array", **ITEMS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
}  # fmt: skip

OF_TYPES = (
    Case("string", {**TEXT, **rule("self.startsWith('a')")}, ("ab",), ("ba",)),
    Case("integer", {**NUMBER, **rule("self % 2 == 0")}, (4,), (5,)),
    Case("number", {"type": "number", **rule("self / 2.0 > 0.5")}, (2, 1.5), (1,)),
    Case("number and int", {"type": "number", **rule("self > 1")}, (2, 1.5), (1, 0.5)),
    Case("boolean", {"type": "boolean", **rule("self")}, (True,), (False,)),
    Case("list", texts(**rule("self.all(x, x.size() < 3)")), (["a"], []), (["abc"],)),
    Case("item", {"type": "array", **ITEMS, "items": {**TEXT, **rule("self != 'b'")}}, (["a"],), (["a", "b"],)),
    Case(
        "value of a map",
        {"type": "object", "maxProperties": 9, "additionalProperties": {**TEXT, **rule("self != 'b'")}},
        ({"a": "a"},),
        ({"a-b": "b"},),
    ),
    Case(
        "key of a map",
        {"type": "object", "additionalProperties": TEXT, "maxProperties": 9, **rule("!('a-b' in self)")},
        ({"a": "a"},),
        ({"a-b": "b"},),
    ),
    Case(
        "item of a map list",
        {**_PORTS, "items": fields({"name": TEXT, "to": NUMBER}, required=["name"], **rule("self.to > 1", "m"))},
        ([{"name": "a", "to": 2}],),
        ([{"name": "a", "to": 2}, {"name": "b", "to": 1}], [{"name": "b"}]),
    ),
    Case(
        "int or string",
        {"x-kubernetes-int-or-string": True, **rule("type(self) == int ? self > 1 : self == 'a'")},
        (2, "a"),
        (1, "b"),
    ),
    Case(
        "int or string, unguarded",
        {"x-kubernetes-int-or-string": True, **rule("self > 1")},
        (2,),
        (1,),
        (("b", False),),
    ),
    Case(
        "embedded object",
        {**_EMBEDDED, **rule("self.kind == 'Pod' && self.metadata.name.startsWith('a') && self.apiVersion != 'v2'")},
        (_POD, {**_POD, "spec": {}}),
        ({**_POD, "metadata": {"name": "b"}}, {**_POD, "kind": "Job"}),
    ),
    Case(
        "unknown fields",
        fields({"a": TEXT}, **{"x-kubernetes-preserve-unknown-fields": True}, **rule("!has(self.a) || self.a == 'x'")),
        ({"b": 1}, {"a": "x", "b": [{}]}),
        ({"a": "y"},),
    ),
    Case(
        "nullable", fields({"a": {**TEXT, "nullable": True}}, **rule("!has(self.a)")), ({"a": None}, {}), ({"a": ""},)
    ),
)
"""What a rule stands on."""

OF_NAMES = (
    Case(
        "defaults",
        fields({"inner": _MODE, "on": {"type": "boolean"}}, **rule("!self.on || self.inner.mode == 'On'")),
        ({"on": False}, {"on": True, "inner": {"mode": "On"}}),
        ({"on": True}, {"on": True, "inner": {}}, {"on": True, "inner": {"mode": None}}),
    ),
    Case(
        "required with a default",
        fields({"a": {**TEXT, "default": "x"}}, required=["a"], **rule("self.a == 'x'")),
        ({},),
    ),
    Case(
        "escaped names",
        fields(
            {"a-b": TEXT, "c.d/e": TEXT, "x__y": TEXT, "package": TEXT},
            **rule(
                "(!has(self.a__dash__b) || self.a__dash__b == '1') && (!has(self.c__dot__d__slash__e) || "
                "self.c__dot__d__slash__e == '2') && (!has(self.x__underscores__y) || self.x__underscores__y == '4')"
                " && (!has(self.__package__) || self.__package__ == '3')"
            ),
        ),
        ({"a-b": "1", "c.d/e": "2", "x__y": "4", "package": "3"}, {}),
        ({"a-b": "0"}, {"c.d/e": "0"}, {"x__y": "0"}, {"package": "0"}),
    ),
    Case(
        "a reserved word as it is",
        fields({"namespace": TEXT}, **rule("!has(self.namespace) || self.namespace == 'a'")),
        ({"namespace": "a"}, {}),
        ({"namespace": "b"},),
    ),
    Case("transition", {**TEXT, **rule("self == oldSelf")}, ("a",)),
    Case("transition by name only", {**TEXT, **rule("self != 'oldSelf'")}, ("a",), ("oldSelf",)),
    Case(
        "optional old value",
        {**TEXT, **rule("oldSelf.orValue('a') == self && !oldSelf.hasValue() // ever", optionalOldSelf=True)},
        ("a",),
        ("b",),
    ),
    Case(
        "optional old value, dereferenced",
        {**TEXT, **rule("oldSelf.value() == self", optionalOldSelf=True)},
        (),
        ("a",),
    ),
    Case(
        "message of an expression",
        fields(_AB, **rule("self.a == 'x'", messageExpression="'no ' + self.a")),
        (),
        ({"a": "y"},),
    ),
    Case(
        "message that fails", fields(_AB, **rule("!has(self.b)", messageExpression="'no ' + self.a")), (), ({"b": "y"},)
    ),
    Case(
        "message of two lines",
        fields(_AB, **rule("!has(self.b)", messageExpression="'a\\n' + self.b")),
        (),
        ({"b": "y"},),
    ),
    Case(
        "path and reason",
        fields({"a.b": TEXT, "c": TEXT}, **rule("self.c == 'x'", fieldPath="['a.b']", reason="FieldValueForbidden")),
        ({"c": "x"},),
        ({"a.b": "1", "c": "y"},),
    ),
    Case(
        "path of fields",
        fields({"a": fields(_AB)}, **rule("self.a.b == 'x'", fieldPath=".a.b")),
        (),
        ({"a": {"b": "1"}},),
    ),
    Case("no message", {**TEXT, "x-kubernetes-validations": [{"rule": " self == 'a' "}]}, ("a",), ("b",)),
)
"""How a rule names things, and when it is asked."""

OF_FORMATS = (
    Case(
        "points in time",
        fields({"a": _TIME, "b": _TIME}, **rule("self.a == self.b")),
        ({"a": "2024-01-01T05:00:00+05:00", "b": "2024-01-01T00:00:00Z"},),
        ({"a": "2024-01-01T05:00:00+05:00", "b": "2024-01-01T05:00:00Z"},),
    ),
    Case(
        "points in time, in order",
        fields({"a": _TIME, "b": _TIME}, **rule("self.a < self.b")),
        unsure=(
            ({"a": "2024-01-01T05:00:00+05:00", "b": "2024-01-01T00:30:00Z"}, True),
            ({"a": "2024-01-02T00:00:00Z", "b": "2024-01-01T00:00:00Z"}, False),
        ),
    ),
    Case(
        "spans of time",
        fields({"a": _SPAN, "b": _SPAN}, **rule("self.a == self.b")),
        ({"a": "60s", "b": "1m"},),
        ({"a": "10s", "b": "9s"},),
    ),
    Case("bytes", {**TEXT, "format": "byte", **rule("size(self) == 2")}, ("YWI=",), ("YWJj",)),
    Case("length in characters", {**TEXT, **rule("self.size() <= 3")}, ("abc",), ("abcd",), (("üüü", True),)),
    Case("a span as text", {**TEXT, **rule("duration(self) < duration('1m')")}, ("59s",), ("61s", "a")),
    Case(
        "a time as text", {**TEXT, **rule("timestamp(self).getFullYear() == 2024")}, ("2024-05-05T00:00:00Z",), ("x",)
    ),
    Case("int of a text", {**TEXT, **rule("int(self) == 4")}, ("4", "+4"), ("5", "four", "0x4"), ((" 4", False),)),
    Case("double of a text", {**TEXT, **rule("double(self) > 1.5")}, ("2", "1e3"), ("1", "x")),
    Case("division", {**NUMBER, **rule("10 / self == 5")}, (2,), (0, 3)),
    Case("overflow", {**NUMBER, **rule("self + 9223372036854775807 > 0")}, (0,), (1,)),
    Case("index", texts(**rule("self[1] == 'b'")), (["a", "b"],), (["a"], ["a", "c"])),
)
"""What becomes of a text in a rule."""

OF_ERRORS = (
    Case(
        "an error beside a match",
        {"type": "array", **ITEMS, "items": fields(_AB), **rule("self.exists(x, x.a == 'x')")},
        ([{"a": "x"}],),
        ([{"a": "y"}], [{}], [{"a": "y"}, {}]),
        (([{}, {"a": "x"}], True),),
    ),
    Case(
        "an error that does not count",
        fields(_AB, **rule("self.a == 'x' || self.b == 'x'")),
        ({"b": "x"},),
        ({"b": "y"}, {}),
    ),
    Case("an error in a condition", fields(_AB, **rule("self.a == 'x' ? true : true")), ({"a": ""},), ({},)),
    Case(
        "optional syntax", fields(_AB, **rule("self.?a.orValue('x') == 'x'")), unsure=(({}, True), ({"a": "y"}, False))
    ),
    Case("two variables", texts(**rule("self.all(i, x, i < 2)")), unsure=((["a"], True), (["a"] * 3, False))),
    Case("a semantic version", {**TEXT, **rule("isSemver(self)")}, unsure=(("1.0.0", True), ("a", False))),
    Case(
        "a format",
        {**TEXT, **rule("!format.dns1123Label().validate(self).hasValue()")},
        unsure=(("a", True), ("A", False)),
    ),
    Case("where a list has it", texts(**rule("self.indexOf('b') == 1")), unsure=((["a", "b"], True), (["b"], False))),
)
"""Where the engines part, or neither knows a function: what the server says is in `unsure`."""

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
"""What Kubernetes adds to CEL."""

CASES = (*OF_TYPES, *OF_NAMES, *OF_FORMATS, *OF_ERRORS, *OF_FUNCTIONS)
