"""Fields at old places: the text of a spec with the fields at their new places, and everything else as it was."""

from __future__ import annotations

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

FILE = "specs/a.yaml"
SPECS = [*ROOT.glob("specs/**/*.yaml"), *ROOT.glob("examples/*/specs/**/*.yaml")]


def pool(text: str) -> str:
    """A spec with the fields of the pool a, which are indented by four spaces."""
    return f"spec:\n  pools:\n    a:\n{text}    b: {{nodes: {{max: 1}}}}\n"


def data(text: str) -> object:
    node, findings = compose(text, FILE)
    assert node is not None, findings
    return moved(node)[0].plain()


POOLS = {
    "one field": (
        "      nodes: {max: 1}\n      zones: [x]   # why\n",
        "      nodes: {max: 1}\n      eks:\n        zones: [x]   # why\n",
    ),
    "several fields, at the place of the first": (
        "      purchase: [spot]\n      nodes: {max: 1}\n      # above\n      zones: [x]   # why\n        # below\n",
        "      eks:\n        purchase: [spot]\n        # above\n        zones: [x]   # why\n          # below\n"
        "      nodes: {max: 1}\n",
    ),
    "comments in the same column": (
        "      zones: [x]      # zones\n      image: y        # image\n      nodes: {a: 1}   # nodes\n",
        "      eks:\n        zones: [x]    # zones\n        image: y      # image\n      nodes: {a: 1}   # nodes\n",
    ),
    "a block map in block style": (
        "      eks:   # AWS\n        image: y\n      zones:\n      - x\n      nodes: {}\n",
        "      eks:   # AWS\n        image: y\n        zones:\n        - x\n      nodes: {}\n",
    ),
    "an existing map in flow style": (
        "      zones: [x]\n      eks: {image: y}   # AWS\n",
        "      eks:   # AWS\n        image: y\n        zones: [x]\n",
    ),
    "an empty map in flow style": ("      eks: {}\n      zones: [x]\n", "      eks:\n        zones: [x]\n"),
    "an existing map in flow style, and a comment": (
        "      zones: [x]   # why\n      eks: {image: y}\n",
        "      eks:\n        image: y\n        zones: [x]   # why\n",
    ),
    "a block scalar": (
        "      userData: |   # script\n        #!/bin/bash\n\n        a\n      nodes: {}\n",
        "      eks:\n        userData: |   # script\n          #!/bin/bash\n\n          a\n      nodes: {}\n",
    ),
    "quotes, null and no value": (
        "      'zones': [x]\n      image: ~\n      tags:\n",
        "      eks:\n        'zones': [x]\n        image: ~\n        tags:\n",
    ),
    "a value that has another meaning in flow style": (
        "      image: a,b\n",
        "      eks:\n        image: a,b\n",
    ),
    "one of two empty lines stays": (
        "      zones: [x]\n\n      nodes: {}\n\n      image: y\n\n      sharing: z\n",
        "      eks:\n        zones: [x]\n        image: y\n\n      nodes: {}\n\n      sharing: z\n",
    ),
    "an anchor and an alias": (
        "      zones: &z [x]\n      tags: {zones: *z}\n      nodes: {}\n",
        "      eks:\n        zones: &z [x]\n        tags: {zones: *z}\n      nodes: {}\n",
    ),
    "letters of other languages": (
        "      tags: {äöü: 日本}   # größer\n",
        "      eks:\n        tags: {äöü: 日本}   # größer\n",
    ),
    "another indentation": (
        "          zones: [x]\n          image: y\n",
        "          eks:\n                zones: [x]\n                image: y\n",
    ),
}


@pytest.mark.parametrize("name", POOLS)
def test_fields_of_a_pool_move(name: str) -> None:
    before, after = map(pool, POOLS[name])
    assert relocated(before, FILE) == after
    assert relocated(after, FILE) == after
    crlf = before.replace("\n", "\r\n")
    assert relocated(crlf, FILE) == after.replace("\n", "\r\n")
    assert relocated(before[:-1], FILE) == after[:-1]


FLOW_POOLS = {
    "{zones: [x]}": "{eks: {zones: [x]}}",
    "{nodes: 1, zones: [x], max: 2, image: y}": "{nodes: 1, eks: {zones: [x], image: y}, max: 2}",
    "{ zones: [x], image: y, max: 2 }": "{ eks: {zones: [x], image: y}, max: 2 }",
    "{zones: [x], eks: {tags: {}}}": "{eks: {tags: {}, zones: [x]}}",
    "{eks: {}, nodes: 1, zones: [x], image: y}": "{eks: {zones: [x], image: y}, nodes: 1}",
    '{"zones":["x"], "nodes": 1,}': '{eks: {"zones":["x"]}, "nodes": 1,}',
    "{nodes: 1,   # n\n        zones: [x], tags: {},\n        image: y}": (
        "{nodes: 1,   # n\n        eks: {zones: [x], tags: {}, image: y}}"
    ),
}


@pytest.mark.parametrize("before", FLOW_POOLS)
def test_fields_of_a_pool_in_flow_style_move(before: str) -> None:
    text = f"spec:\n  pools:\n    a: {before}   # end\n"
    assert relocated(text, FILE) == f"spec:\n  pools:\n    a: {FLOW_POOLS[before]}   # end\n"


NETWORKS = {
    "  cloud:\n    aws:\n      region: r\n      podCidrs:   # p\n        - x\n      serviceCidr: y\n\n  pools: 1\n": (
        "  cloud:\n    aws:\n      region: r\n\n  network:\n    podCidrs:   # p\n      - x\n    serviceCidr: y\n\n"
        "  pools: 1\n"
    ),
    "  cloud: {aws: {networkPolicyEngine: cilium}}   #! NET004\n  pools: {}\n": (
        "  network: {policyEngine: cilium}   #! NET004\n  pools: {}\n"
    ),
    "  # cloud\n  cloud:   # c\n    aws: {podCidrs: [x]}   # a\n": (
        "  # cloud\n  # c\n  # a\n  network:\n    podCidrs: [x]\n"
    ),
    "  cloud:\n    aws: {region: r, podCidrs: [x], zones: [z]}\n": (
        "  cloud:\n    aws: {region: r, zones: [z]}\n  network: {podCidrs: [x]}\n"
    ),
    "  cloud:\n    aws:\n      podCidrs: [x]   # why\n  network:\n    nodeLocalDns: true\n": (
        "  network:\n    nodeLocalDns: true\n    podCidrs: [x]   # why\n"
    ),
    "  cloud:\n    aws: {podCidrs: [x]}   # why\n  network: {nodeLocalDns: true}\n": (
        "  network:\n    nodeLocalDns: true\n    # why\n    podCidrs: [x]\n"
    ),
    "  cloud:\n    aws:\n      'networkPolicyEngine': y\n": "  network:\n    'policyEngine': y\n",
}


@pytest.mark.parametrize("before", NETWORKS)
def test_fields_of_the_network_move(before: str) -> None:
    assert relocated(f"spec:\n{before}", FILE) == f"spec:\n{NETWORKS[before]}"


def test_a_spec_in_one_line() -> None:
    before = "spec: {cloud: {aws: {region: r, podCidrs: [x]}}, pools: {a: {zones: [z], nodes: 1}}}\n"
    after = "spec: {cloud: {aws: {region: r}}, network: {podCidrs: [x]}, pools: {a: {eks: {zones: [z]}, nodes: 1}}}\n"
    assert relocated(before, FILE) == after
    assert relocated("spec: {cloud: {aws: {podCidrs: [x]}}}", FILE) == "spec: {network: {podCidrs: [x]}}"


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


LEFT_ALONE = {
    "an alias before its anchor": pool("      zones: [x]\n      labels: &l {a: b}\n      tags: *l\n"),
    "an alias of the new map": pool("      labels: &l {image: b}\n      zones: [x]\n      eks: *l\n"),
    "a comment after a field in flow style": (
        "spec:\n  pools:\n    a: {\n      nodes: 1,   # n\n      zones: [x],   # z\n      image: y   # i\n    }\n"
    ),
    "a comment before the comma of a field in flow style": (
        "spec:\n  pools:\n    a: {\n      zones: [x],\n      nodes: 1,   # n\n      image: y\n    }\n"
    ),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_an_unusual_layout_is_left_alone(name: str) -> None:
    assert relocated(LEFT_ALONE[name], FILE) is None


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
