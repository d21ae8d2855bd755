"""Small CRDs with one CEL rule, and values that an API server accepts or refuses (see the conformance tests)."""

from __future__ import annotations

from tests.lint.definitions import ITEMS, NUMBER, TEXT, Case, Schema, fields, rule, texts
from tests.lint.function_cases import OF_FUNCTIONS

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
        (1, "b"),
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
    Case(
        "nullable items",
        {
            "type": "array",
            **ITEMS,
            "items": {**TEXT, "nullable": True, **rule("self != 'b'")},
            **rule("self[0] != 'c'"),
        },
        (["a", None], [None]),
        ([None, "b"], ["c", None]),
    ),
    Case(
        "nullable objects",
        {
            "type": "array",
            **ITEMS,
            "items": {**fields(_AB, required=["a"]), "nullable": True},
            **rule("self.size() < 2"),
        },
        ([None], [{"a": ""}]),
        ([None, None],),
    ),
    Case("a set", texts(**{"x-kubernetes-list-type": "set"}, **rule("!('b' in self)")), (["a"],), (["b", "a"],)),
)
"""Rules at different places of a schema."""

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
    Case("length in characters", {**TEXT, **rule("self.size() <= 3")}, ("abc", "üüü"), ("abcd",)),
    Case("a span as text", {**TEXT, **rule("duration(self) < duration('1m')")}, ("59s",), ("61s", "a")),
    Case(
        "a time as text", {**TEXT, **rule("timestamp(self).getFullYear() == 2024")}, ("2024-05-05T00:00:00Z",), ("x",)
    ),
    Case("int of a text", {**TEXT, **rule("int(self) == 4")}, ("4", "+4"), ("5", "four", "0x4")),
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
        ([{"a": "x"}], [{}, {"a": "x"}]),
        ([{"a": "y"}], [{}], [{"a": "y"}, {}]),
    ),
    Case(
        "an error that does not count",
        fields(_AB, **rule("self.a == 'x' || self.b == 'x'")),
        ({"b": "x"},),
        ({"b": "y"}, {}),
    ),
    Case("an error in a condition", fields(_AB, **rule("self.a == 'x' ? true : true")), ({"a": ""},), ({},)),
    Case("optional syntax", fields(_AB, **rule("self.?a.orValue('x') == 'x'")), ({},), ({"a": "y"},)),
    Case("two variables", texts(**rule("self.all(i, x, i < 2)")), unsure=((["a"], True), (["a"] * 3, False))),
    Case("a semantic version", {**TEXT, **rule("isSemver(self)")}, unsure=(("1.0.0", True), ("a", False))),
    Case(
        "a format",
        {**TEXT, **rule("!format.dns1123Label().validate(self).hasValue()")},
        unsure=(("a", True), ("A", False)),
    ),
    Case("sets", texts(**rule("sets.contains(['a', 'b'], self)")), unsure=((["a"], True), (["c"], False))),
    Case("an address", {**TEXT, **rule("isIP(self)")}, unsure=(("::1", True), ("1.2.3", False))),
    Case("where a list has it", texts(**rule("self.indexOf('b') == 1")), unsure=((["a", "b"], True), (["b"], False))),
)
"""Where a rule fails, and functions that are not evaluated: what the server says then is in `unsure`."""

CASES = (*OF_TYPES, *OF_NAMES, *OF_FORMATS, *OF_ERRORS, *OF_FUNCTIONS)
