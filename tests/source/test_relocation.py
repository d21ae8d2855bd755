"""Fields at old places: the text of a spec with the fields at their new places, and everything else as it was."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc.source.document import compose
from gpuc.source.moved import moved, moves
from gpuc.source.relocation import relocated
from tests.conftest import ROOT
from tests.relocate import relocated_documents
from tests.tables import table

FILE = "specs/a.yaml"
CASES = table(__file__, "relocation.yaml")
SPECS = [*ROOT.glob("specs/**/*.yaml"), *ROOT.glob("examples/*/specs/**/*.yaml")]


def pool(text: str) -> str:
    """A spec with the fields of the pool a, which are indented by four spaces."""
    return f"spec:\n  pools:\n    a:\n{text}    b: {{nodes: {{max: 1}}}}\n"


def data(text: str) -> object:
    node, findings = compose(text, FILE)
    assert node is not None, findings
    return moved(node)[0].plain()


@pytest.mark.parametrize("name", CASES["pools"])
def test_fields_of_a_pool_move(name: str) -> None:
    before, after = map(pool, CASES["pools"][name].values())
    assert relocated(before, FILE) == after
    assert relocated(after, FILE) == after
    crlf = before.replace("\n", "\r\n")
    assert relocated(crlf, FILE) == after.replace("\n", "\r\n")
    assert relocated(before[:-1], FILE) == after[:-1]


@pytest.mark.parametrize("row", CASES["flow_pools"])
def test_fields_of_a_pool_in_flow_style_move(row: dict[str, str]) -> None:
    before, after = (f"spec:\n  pools:\n    a: {text}   # end\n" for text in row.values())
    assert relocated(before, FILE) == after


@pytest.mark.parametrize("row", CASES["networks"])
def test_fields_of_the_network_move(row: dict[str, str]) -> None:
    before, after = (f"spec:\n{text}" for text in row.values())
    assert relocated(before, FILE) == after


def test_a_spec_in_one_line() -> None:
    before = "spec: {cloud: {aws: {region: r, podCidrs: [x]}}, pools: {a: {zones: [z], nodes: 1}}}\n"
    after = "spec: {cloud: {aws: {region: r}}, network: {podCidrs: [x]}, pools: {a: {eks: {zones: [z]}, nodes: 1}}}\n"
    assert relocated(before, FILE) == after
    assert relocated("spec: {cloud: {aws: {podCidrs: [x]}}}", FILE) == "spec: {network: {podCidrs: [x]}}"


@pytest.mark.parametrize("key", ["none", "'none'"])
def test_a_field_that_stays_in_its_map_gets_another_key(key: str) -> None:
    before = f"spec:\n  cloud:\n    {key}:   # facts\n      disk: 1Gi\n"
    assert relocated(before, FILE) == before.replace(key, "onPremises")
    assert relocated(f"spec: {{cloud: {{{key}: {{disk: 1Gi}}}}}}", FILE) == "spec: {cloud: {onPremises: {disk: 1Gi}}}"


def test_a_field_stays_if_its_new_place_is_taken() -> None:
    before = pool("      zones: [x]\n      image: y\n      eks: {zones: [z]}\n")
    assert relocated(before, FILE) == pool("      zones: [x]\n      eks:\n        zones: [z]\n        image: y\n")
    no_map = pool("      zones: [x]\n      eks: here\n")
    assert relocated(no_map, FILE) == no_map


@pytest.mark.parametrize(
    "text",
    [
        "spec: [\n",
        "spec:\n  x: *a\n  pools: {a: {zones: [x]}}\n",
        pool("      tags: &t {a: b}\n      eks: {image: y}\n      labels: *t\n").replace("eks: {image: y}\n", ""),
        "spec:\n  cloud:\n    aws:\n      podCidrs: &p [x]\n      other: *p\n",
        "x: &p {zones: [x]}\nspec:\n  pools: {a: *p}\n",
        "spec:\n  pools:\n    a: {nodes: 1, zones: [x], image: y,   # why\n      tags: {}   # tags\n    }\n",
        "spec:\n  pools:\n    a:\n      ? zones\n      : [x]\n",
    ],
)
def test_a_text_is_refused_or_has_the_same_values(text: str) -> None:
    after = relocated(text, FILE)
    assert after is None or data(after) == data(text)


@pytest.mark.parametrize("name", CASES["left_alone"])
def test_an_unusual_layout_is_left_alone(name: str) -> None:
    assert relocated(CASES["left_alone"][name], FILE) is None


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_specs_of_this_repository(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    after = relocated(text, FILE)
    assert after is not None
    assert data(after) == data(text)
    assert comments(after) == comments(text)
    assert set(after.split()) - set(text.split()) <= {"eks:", "network:", "policyEngine:", "{purchase:", *closed(text)}
    node, _ = compose(after, FILE)
    assert node is not None
    assert moves(node) == []


def comments(text: str) -> Counter[str]:
    return Counter(line.split("#", 1)[1] for line in text.splitlines() if "#" in line)


def closed(text: str) -> list[str]:
    """The words with the bracket of a new map after them."""
    return [f"{word}}}" for word in text.split()]


def test_case_files_have_several_documents() -> None:
    text = "# first\nspec:\n  pools:\n    a: {zones: [x]}\n--- # second\nspec: {}\n---\nspec:\n  pools: {a: {image: y}}"
    after = text.replace("zones: [x]", "eks: {zones: [x]}").replace("image: y", "eks: {image: y}")
    assert relocated_documents(text, FILE) == after


MOVING = ["zones", "image", "tags", "purchase", "userData", "idleAfter"]
STAYING = ["nodes", "sharing", "labels", "runs"]
AWS = ["podCidrs", "serviceCidr", "nodeLocalDns", "region", "zones"]
VALUES = st.sampled_from(["x", "[a, b]", "{k: v}", '"a # b"', "'it''s'", "~", "1.50", "true"])
BLOCKS = st.sampled_from(["{i}  - a\n{i}  - b", "{i}  k: v\n{i}  l: [w]", "|\n{i}  # text\n\n{i}  more", "{i}- a"])


@st.composite
def maps(draw: st.DrawFn, keys: list[str], indentation: str, numbers: list[int]) -> str:
    """The lines of a map, with comments that have different numbers."""

    def comment() -> str:
        numbers.append(len(numbers))
        return f"# comment {numbers[-1]}."

    chosen = draw(st.lists(st.sampled_from(keys), min_size=1, max_size=5, unique=True))
    if draw(st.integers(0, 3)) == 0:
        entries = ", ".join(f"{key}: {draw(VALUES)}" for key in chosen)
        return f" {{{entries}}}" + (f"   {comment()}" if draw(st.booleans()) else "") + "\n"
    lines = [f"   {comment()}" if draw(st.booleans()) else ""]
    for key in chosen:
        lines += [""] * draw(st.integers(0, 1))
        lines += [f"{indentation}{comment()}"] * draw(st.integers(0, 1))
        if draw(st.integers(0, 2)):
            end = " " * draw(st.integers(1, 5)) + comment() if draw(st.booleans()) else ""
            lines.append(f"{indentation}{key}: {draw(VALUES)}{end}")
        else:
            value = draw(BLOCKS).replace("{i}", indentation)
            lines.append(f"{indentation}{key}: {value}" if value[0] == "|" else f"{indentation}{key}:\n{value}")
    return "\n".join(lines) + "\n"


@st.composite
def specs(draw: st.DrawFn) -> str:
    numbers: list[int] = []
    step = " " * draw(st.sampled_from([1, 2, 4]))
    text = "spec:\n"
    if draw(st.booleans()):
        text += f"{step}cloud:\n{step * 2}aws:{draw(maps(AWS, step * 3, numbers))}"
    if draw(st.booleans()):
        text += f"{step}network:{draw(maps(['policyEngine', 'endpointCidrs', 'podCidrs'], step * 2, numbers))}"
    text += f"{step}pools:\n"
    for name in ("a", "b", "c"):
        text += f"{step * 2}{name}:{draw(maps(MOVING + STAYING, step * 3, numbers))}"
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(specs())
def test_random_specs(text: str) -> None:
    after = relocated(text, FILE)
    assert after is not None
    assert data(after) == data(text)
    words = [word for word in text.split("#") if word.startswith(" comment ")]
    numbers = [word.split(".")[0] for word in words]
    assert all(after.count(f"#{number}.") == 1 for number in numbers)
    assert staying(after) == staying(text)


def staying(text: str) -> list[str]:
    """The lines of fields that stay, in their order."""
    return [line for line in text.splitlines() if line.strip().partition(":")[0] in STAYING]
