"""Writes RUNBOOK.md of a cluster: a section for each alert, from the texts of the alerts."""

import re
from collections.abc import Iterator

from gpuc.emit.alerts import alerts
from gpuc.emit.alerts.alert import Alert
from gpuc.emit.monitoring import ORIGIN
from gpuc.manifest.manifest import Artifact, Text
from gpuc.model import Cluster

_LABEL = re.compile(r"\{\{ \$labels\.(\w+) \}\}")
_DOMAIN = re.compile(r"^\w+_(?:sh|io|dev|com)_")
"""The domain in a label that was a label of a node."""
_WORDS = {"gpu": "N", "hostname": "NODE"}
"""The words that the runbook writes for labels whose names are hard to understand."""
_PARTS = (("Meaning", "loss"), ("Look", "details"), ("Do", "remedy"), ("Stop", "stop"))
"""The headings in the section of an alert, each with the attribute of `Alert` that has the text."""
_SECTION = "the section Replace a broken node in the README of the cluster"
_LINK = "[Replace a broken node](README.md#replace-a-broken-node)"


def runbook(cluster: Cluster) -> Iterator[Artifact]:
    """Yields RUNBOOK.md of a cluster: what each alert means, what to look at, what to do, and when to stop.

    The heading of a section is the name of the alert, so its anchor is the name in lower case.
    """
    if cluster.spec.observability is None:
        return
    rules: dict[str, list[Alert]] = {}
    for alert in alerts(cluster):
        rules.setdefault(alert.name, []).append(alert)
    head = (
        f"# Runbook of {cluster.name}",
        "A word in capitals, such as NODE, is a label of the alert. Run the commands with the kubectl context of\n"
        f"`{cluster.name}`. [README.md](README.md#alerts) has the metrics of each alert, and the steps of larger work.",
    )
    sections = (_section(name, rules[name]) for name in sorted(rules))
    yield Text(cluster.entry("RUNBOOK.md"), ORIGIN, "\n\n".join((*head, *sections)) + "\n")


def _section(name: str, rules: list[Alert]) -> str:
    """Returns the section of the rules with one name, which differ by their labels."""
    lines = [f"## {name}", "", _when(rules)]
    for title, field in _PARTS:
        texts = list(dict.fromkeys(filter(None, (_for_people(getattr(rule, field)) for rule in rules))))
        if len(texts) == 1:
            lines += ["", f"**{title}.** {texts[0]}"]
        elif texts:
            lines += ["", f"**{title}.**", "", *(f"- {text}" for text in texts)]
    return "\n".join(lines)


def _when(rules: list[Alert]) -> str:
    """Returns the severities of the rules, and how long a rule must be true before it fires."""
    severities = " or ".join(sorted({rule.severity for rule in rules}))
    minutes = sorted({rule.minutes for rule in rules})
    waits = f"{' or '.join(map(str, minutes))} minutes" if minutes != [0] else ""
    return f"{severities.capitalize()}; fires {f'after {waits}' if waits else 'at once'}."


def _for_people(text: str) -> str:
    """Returns a text for people: words replace Prometheus' variables, and the names of sections become links."""
    return _LABEL.sub(
        lambda label: _WORDS.get(label[1], _DOMAIN.sub("", label[1]).upper()), text.replace(_SECTION, _LINK)
    )
