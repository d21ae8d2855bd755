"""The comment: size, order, and text of specs that tries to break out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuc.diagnostics.report.markdown import code, escaped, fenced, html_code
from gpuc.diagnostics.report.terminal import visible
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.plan.change import Change
from gpuc.plan.impact import Impact, Level
from gpuc.plan.planner import ClusterPlan, Plans
from gpuc.plan.report.comment import MARKER, fitted, render
from gpuc.plan.report.parts import Part, fixed
from gpuc.plan.state import State
from tests.ci.markdown import effects, parsed

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


FRAGMENTS = (
    "@team", "@", "a@b.example", "é", "漢", "/", "(", "https://e.x", "www.e.x", "mailto:", "#1", "#", "GH-1", "gh-",
    "1", "org/repo", ":tada:", ":100", ":", "<!--", "-->", "<img src=x>", "<", "&#64;x", "&", "![", "[x]", "](", "(y)",
    "`", "```", "~~", "*", "_", "a", "|", "$", "\\", ">", "-", "+", ".", ")", "=", " ", "\n", "\n\n", "\r", "\t",
    "\x00", "\u202e", "\u2028",
)  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))
def test_a_text_has_no_effect_and_is_shown_as_it_is(text: str) -> None:
    line = visible(" ".join(text.split()))
    for prefix, before in (("", ""), ("- ", ""), ("- **a**:", "a:"), ("### ", "")):
        markdown = prefix + escaped(text)
        shown = [child.content for token in parsed(markdown) for child in token.children or []]
        assert effects(markdown) == []
        assert "".join(shown).replace("\u200b", "") == before + line


@pytest.mark.parametrize(
    "text",
    ["@team", "(@team", "é@org/team", "漢@team", "ops@e.example", "org/repo#12", "x@0c0ffee", "GH-12", "_www.e.x",
     ":tada:"],
)  # fmt: skip
def test_names_references_and_addresses_are_only_text(text: str) -> None:
    assert "\u200b" in escaped(text)
    assert escaped(text).replace("\u200b", "").replace("\\", "") == text


@pytest.mark.parametrize("text", ["a\u202eb", "a\x00b", "a\x1b[1mb"])
def test_control_characters_are_visible_everywhere(text: str) -> None:
    for shown in (escaped(text), code(text), fenced([text]), html_code(text)):
        assert all(char.isprintable() or char == "\n" for char in shown)


def test_the_most_dangerous_impacts_are_whole_and_each_impact_is_named() -> None:
    impacts = [impact(f"destroys number {number} " + "x" * 99, Level.DESTROYS) for number in range(20)]
    impacts += [impact(f"number {number} " + "ü" * 500) for number in range(100)]
    text = render(plans_of(impacts))
    assert len(text.encode()) < 65_536
    assert all(text.count(f"destroys number {number} {'x' * 99}") == 3 for number in range(20)), "with the details"
    assert all(f": number {number} ü" in text for number in range(100))
    assert "The comment is full" in text.split("###")[0]
    assert "does not show: 1 dis" not in text


def test_a_long_impact_hides_no_other_one() -> None:
    others = [impact("short"), impact("less", Level.RESTRICTS), impact("no", Level.NONE)]
    text = render(plans_of([impact("long " + "x" * 62_000), *others]))
    assert f": long {'x' * 191} ... (IMP199)" in text
    with_details = (f": {impact.message} (IMP199)\n  - <details>" for impact in others)
    assert all(shown in text for shown in with_details)
    assert "Impacts that it shortens: 1." in text and "does not show" not in text


def test_impacts_without_room_are_counted_by_level() -> None:
    impacts = [impact(f"number {number}" + "ü" * 500) for number in range(300)] + [impact("less", Level.RESTRICTS)] * 2
    text = render(plans_of(impacts))
    named = text.count(": number")
    assert 100 < named < 300
    assert f"Impacts that the comment does not show: {300 - named} disrupts, 2 restricts." in text


def test_a_dangerous_impact_of_the_last_cluster_has_room_before_others() -> None:
    plan = plans_of([impact("ü" * 500, Level.RESTRICTS)] * 300).clusters[0]
    last = replace(plan, name="d", impacts=(impact("evicted"), *plan.impacts))
    first = replace(plan, impacts=(impact("evicted first"), *plan.impacts))
    text = render(Plans("HEAD", (first, last)))
    assert text.index("evicted first") < text.index("### d") < text.index("evicted (IMP199)")


def test_blocks_have_room_by_their_rank() -> None:
    parts = [fixed(1, "a"), Part(["details"], 1, ["d"]), Part(["object"], 2), fixed(0, "b"), Part(["o"], 2)]

    def texts(limit: int) -> list[str | None]:
        return ["".join(map(str, blocks)) if blocks is not None else None for blocks in fitted(parts, limit)]

    assert texts(100) == ["a", "details", "object", "b", "o"]
    assert texts(15) == ["a", "details", None, "b", None]
    assert texts(12) == ["a", "d", None, "b", "o"]
    assert texts(5) == [None, None, None, "b", None]


def test_changed_lines_keep_their_signs_and_their_text() -> None:
    text = render(plans_of([], ("- a\n- b\n", "- a\n+ c\n")))
    assert "    data.text: the text changes\n-      - b\n+      + c\n```" in text
