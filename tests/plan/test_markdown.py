"""The comment: size, order, and text of specs that tries to break out."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.cli.main import main
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.plan.change import Change
from gpuc.plan.impact import Impact, Level
from gpuc.plan.planner import ClusterPlan
from gpuc.plan.plans import Plans
from gpuc.plan.report.markdown import MARKER, code, escaped, fenced, render
from gpuc.plan.state import State
from tests.plan.repository import fleet

INJECTION = "@org/team ![x](https://evil.example/a.png) <img src=x> <!-- --> `$(touch pwned)` ::error:: </details> #1"


def plans_of(impacts: list[Impact], texts: tuple[str, str] = ("a", "b")) -> Plans:
    """A plan with these impacts and one ConfigMap whose text changes."""
    objects = [
        ObjectSet([Manifest("out/c/a.yaml", (), "v1", "ConfigMap", "a", {"data": {"text": text}})], is_complete=False)
        for text in texts
    ]
    change = Change(State("c", objects[0]), State("c", objects[1]))
    return Plans("HEAD", (ClusterPlan("c", change, tuple(impacts), tuple(change.all_pairs)),))


def impact(message: str, level: Level = Level.DISRUPTS) -> Impact:
    return Impact("IMP199", level, "node pool a", message, (), None, False, details=(message, message))


def test_text_of_specs_stays_text() -> None:
    text = render(plans_of([impact(INJECTION)], ("a", f"````\n{INJECTION}\n```")))
    shown, _, blocks = text.removeprefix(MARKER).partition("`````diff")
    for markup in ("@org", "![", "<img", "<!--", "https://evil", "</details> #1", "`$("):
        assert markup not in shown
    assert blocks.count("`````") == 1, "the block ends where it should"


@pytest.mark.parametrize("text", ["a`b", "`a", "a``b```", "", "a\nb", "<b>"])
def test_inline_code_ends_with_its_own_signs(text: str) -> None:
    shown = code(text)
    ticks = shown[: len(shown) - len(shown.lstrip("`"))]
    assert shown.endswith(ticks)
    assert ticks not in shown[len(ticks) : -len(ticks)]
    assert "\n" not in shown


def test_a_fence_is_longer_than_the_ticks_in_its_lines() -> None:
    assert fenced(["a", "````"]).splitlines()[0] == "`````diff"


def test_mail_addresses_and_versions_are_not_mentions() -> None:
    assert escaped("al2023@v20260815") == "al2023@v20260815"
    assert escaped("ask @team") == "ask @\u200bteam"


def test_the_comment_is_below_the_limit_of_github_and_begins_with_the_most_dangerous() -> None:
    impacts = [impact(f"destroys number {number}", Level.DESTROYS) for number in range(20)]
    impacts += [impact(f"number {number} " + "ü" * 500) for number in range(300)]
    text = render(plans_of(impacts))
    assert len(text.encode()) < 65_536
    assert all(f"destroys number {number}" in text for number in range(20))
    assert "The comment is full" in text.splitlines()[-1]


def test_the_comment_has_stable_wording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    for name in ("first", "second"):
        repository = fleet(tmp_path / name)
        repository.replace("nodes: {max: 16}", "nodes: {max: 20}")
        monkeypatch.chdir(repository.root)
        assert main(["plan", "--against", ".", "--output", f"markdown={tmp_path / name}.md"]) == 0
        texts.append((tmp_path / f"{name}.md").read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert texts[0].startswith(MARKER)
