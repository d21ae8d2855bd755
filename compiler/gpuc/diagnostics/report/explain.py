"""The text of `gpuc explain ID`: title, reason, source and example of a rule."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from gpuc.diagnostics.finding import RULES, Rule, find_rule
from gpuc.diagnostics.report.examples import example_of
from gpuc.diagnostics.report.topics import TOPICS, topic
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError

_PACKAGE = Path(__file__).parents[2]
HINT = (
    "`gpuc explain ID` explains a rule, with a good and a bad example. `gpuc explain PATH` describes a field of the\n"
    "spec, for example `gpuc explain pools.nodes.max`; `gpuc explain spec` lists the sections of the spec.\n"
)
"""The last lines of the list of rules."""
_PLACES = {
    "spec": ", in a spec that extends training.yaml",
    "file": ", as a complete spec",
    "layer": ", as specs/{file}, which a cluster extends",
    "other": ", as specs/{file}, beside the cluster specs/case.yaml",
    "manifest": ", in specs/CLUSTER/manifests/{file}",
    "catalog": ", in specs/catalog/",
    "policy": ", in policies/NAME/{file}",
    "import": ", as the input of gpuc catalog import",
    "lint": ", in the input of gpuc lint",
    "output": ", in {file} after customizations",
}
"""The end of the heading of an example, by the place of its text."""
_EXTENDS = re.compile(r"^extends: \[(.+)\]\n", re.MULTILINE)


def explain(id: str) -> str:  # noqa: A002
    """Returns the explanation of a rule. The id can have lower case letters and a hyphen, for example kue-004.

    Raises:
        UsageError: when no rule has the id.
    """
    rule_id = id.upper().replace("-", "")
    rule = find_rule(rule_id) or every_rule().get(rule_id)
    if rule is None:
        raise UsageError(f"no rule has the id {id}{did_you_mean(rule_id, RULES)}; `gpuc explain` lists all rules")
    parts = [f"{rule.id} ({rule.word}): {rule.title}", _wrapped(rule.why)]
    if rule.source:
        parts.append(f"Source: {rule.source}")
    if rule.needs:
        parts.append(f"`gpuc lint` needs to know: {rule.needs}.")
    if (example := example_of(rule.id)) is not None and example.note:
        parts.append(_wrapped(example.note))
    else:
        examples = _change_examples(rule.id) if rule.level else _examples(rule.id)
        parts += [f"{heading}:\n\n{_formatted(text, rule.id)}" for heading, text in examples]
    return "\n\n".join(part for part in parts if part) + "\n"


def listing() -> str:
    """Returns a line for every rule, by topic: id, severity and title."""
    groups: dict[str, list[str]] = {title: [] for title in TOPICS.values()}
    for id, rule in sorted(every_rule().items()):  # noqa: A001
        groups.setdefault(topic(id), []).append(f"  {id:<7}  {rule.word:<9}  {rule.title}\n")
    sections = [f"{title}\n{''.join(lines)}" for title, lines in groups.items() if lines]
    return "\n".join([*sections, HINT])


def every_rule() -> dict[str, Rule]:
    """Imports all modules of gpuc and returns the rules that they declare, by id."""
    from pkgutil import walk_packages

    import gpuc

    for module in walk_packages(gpuc.__path__, "gpuc.", onerror=_raise_import_error):
        if not module.name.endswith(".__main__"):
            import_module(module.name)
    return RULES


def _examples(id: str) -> Iterator[tuple[str, str]]:  # noqa: A002
    """Yields headings and texts: a good and a bad example, from examples/ or from the case file of the rule."""
    example = example_of(id)
    if example is None:
        yield from _case_examples(id)
        return
    for name, variant in (("Good", example.good), ("Bad", example.bad)):
        yield name + _PLACES[example.place].format(file=variant.file), variant.text


def _case_examples(id: str) -> Iterator[tuple[str, str]]:  # noqa: A002
    """Yields a good and a bad example from the case file of the rule, or the complete file for Kubernetes objects."""
    text = next((text for text in _texts("*.yaml") if re.search(rf"#! {id}$", text, re.MULTILINE)), "")
    if not text or not _EXTENDS.search(text):
        yield from [("Good and bad examples", text)] if text else []
        return
    examples = re.split(r"^---\n", text, flags=re.MULTILINE)
    for name, is_bad in (("Good", False), ("Bad", True)):
        yield _spec(name, next(example for example in examples if (f"#! {id}" in example) is is_bad))


def _change_examples(id: str) -> Iterator[tuple[str, str]]:  # noqa: A002
    """Yields the specs of the case file of an impact: the state before, then states after with and without the impact.

    The mark `#2! ID` can be at the end of a line of the state before. The change to the second state after has the
    impact if this state does not contain the line.
    """
    text = next(text for text in _texts("impacts/**/*.yaml") if f"! {id}" in text)
    texts = re.split(r"^---\n", text, flags=re.MULTILINE)
    before, *afters = [text for text in texts if not text.startswith(("# Workloads.", "# Manifests of"))]
    removed_by = {int(number) for number in re.findall(rf"#(\d+)! {id}$", "\n".join(texts), re.MULTILINE)}
    is_with = [f"#! {id}" in after or number in removed_by for number, after in enumerate(afters, 1)]
    yield _spec("Before", re.sub(rf" *#\d+! {id}$", "", before, flags=re.MULTILINE))
    yield _spec("After, with the impact", afters[is_with.index(True)])
    yield _spec("After, without the impact", afters[is_with.index(False)])


@cache
def _texts(pattern: str) -> tuple[str, ...]:
    """Returns the texts of the files of the package whose paths end with a pattern, by path."""
    return tuple(file.read_text(encoding="utf-8") for file in sorted(_PACKAGE.rglob(pattern)))


def _spec(name: str, example: str) -> tuple[str, str]:
    """Returns a heading that names the layers of a spec, and the text of the spec without them."""
    match = _EXTENDS.search(example)
    return name + (f", in a spec that extends {match[1]}" if match else ""), _EXTENDS.sub("", example)


def _formatted(example: str, id: str) -> str:  # noqa: A002
    """Returns an example, indented and with a readable mark at lines with a finding."""
    text = example.replace(f"#! {id}", f"# <- {id} is reported here").replace(f"#~ {id}", "# <- see also this line")
    return "\n".join(f"    {line}".rstrip() for line in (text.strip() or "(no changes)").splitlines())


def _raise_import_error(name: str) -> None:
    raise ImportError(f"{name} cannot be imported")


def _wrapped(text: str) -> str:
    from textwrap import fill

    return "\n".join(fill(line, 100, break_long_words=False, break_on_hyphens=False) for line in text.splitlines())
