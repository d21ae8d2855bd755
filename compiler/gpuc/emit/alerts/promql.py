"""Finds the selectors and clauses of a PromQL expression.

Source: prometheus/prometheus v3.16.0 promql/parser/lex.go (identifiers, keywords, strings, numbers and durations)
"""

import re
from collections.abc import Callable, Iterator

_STRING = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(
    rf"""(?P<string>{_STRING})
    |(?P<matching>\b(?:on|ignoring|without|group_left|group_right)\s*\([^)]*\))
    |\bby\s*\((?P<by>[^)]*)\)
    |(?P<metric>[A-Za-z_:][\w:]*)?\{{(?P<matchers>(?:{_STRING}|[^"}}])*)\}}
    |(?P<function>[A-Za-z_]\w*\s*\()
    |(?P<number>\d[\w.]*)
    |(?P<word>[A-Za-z_:][\w:]*)""",
    re.VERBOSE,
)
"""The parts of an expression that can contain names. A name without braces is a word."""
_KEYWORDS = frozenset(
    (
        *("and", "or", "unless", "offset", "bool", "by", "on", "ignoring", "without", "group_left", "group_right"),
        *("sum", "min", "max", "avg", "count", "group", "stddev", "stdvar", "quantile", "topk", "bottomk"),
        *("count_values", "limitk", "limit_ratio", "inf", "nan", "start", "end", "atan2"),
    )
)
"""The words of PromQL that are no names of metrics, and the aggregations that a clause such as `by` can follow."""


def metric_names(expression: str) -> Iterator[str]:
    """Yields the names of the metrics and recorded series that an expression selects, in order, with repetitions."""
    for token in _TOKEN.finditer(expression):
        if name := token["metric"] or (token["word"] not in _KEYWORDS and token["word"]):
            yield name


def of_cluster(expression: str, label: str, cluster: str) -> str:
    """Returns an expression that reads only the series of one cluster and keeps `label`, with the cluster's name.

    The function adds a matcher to each selector, and the label to each `by`. The operators `on`, `ignoring` and
    `without` do not change, because all series have the same value of the label. A side of an operator without the
    label, such as vector(1), still matches.
    """
    return _TOKEN.sub(_with(label, f'{label}="{cluster}"'), expression)


def _with(label: str, matcher: str) -> Callable[[re.Match[str]], str]:
    def changed(token: re.Match[str]) -> str:
        if token["by"] is not None:
            return f"by ({', '.join(filter(None, (token['by'], label)))})"
        if token["matchers"] is not None:
            matchers = ",".join(filter(None, (matcher, token["matchers"])))
            return f"{token['metric'] or ''}{{{matchers}}}"
        is_metric = token["word"] and token["word"] not in _KEYWORDS
        return f"{token['word']}{{{matcher}}}" if is_metric else token[0]

    return changed
