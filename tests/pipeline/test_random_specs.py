"""Random specs compile: no crash, no finding of the schemas, the same bytes twice, and all modes are met."""

import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from gpuc.manifest.output_file import output_files
from gpuc.synth.printer import Printer
from tests.lanes import drawn
from tests.pipeline.memory import compile_tree
from tests.pipeline.specs import Tree, specs

CASES = 120
SCARCEST = 0.05
"""The minimal share of the random specs with each feature."""

FEATURES = (
    "exclusive", "mig", "timeSlicing", "mps", "spot", "on-demand", "reserved", "namespace", "network", "dedicated",
    "several pools in a queue", "static", "efa", "general pool", "whole GPUs beside slices", "counted by quota",
)  # fmt: skip


def features(tree: Tree) -> set[str]:
    spec = tree["spec"]
    found = {tenant["isolation"] for tenant in spec["tenants"].values()}
    for pool in spec["pools"].values():
        sharing = pool.get("sharing", {})
        found |= {sharing} if isinstance(sharing, str) else set(sharing)
        found |= set(pool["eks"]["purchase"])
        found |= {name for name, met in (
            ("static", "static" in pool["nodes"]), ("efa", "fabric" in pool),
            ("general pool", pool["purpose"] == "general"),
            ("whole GPUs beside slices", '"whole": true' in json.dumps(sharing)),
        ) if met}  # fmt: skip
    if any("quota" in row for tenant in spec["tenants"].values() for row in tenant["namespaces"].values()):
        found.add("counted by quota")
    if any(len(queue["quota"]) > 1 for queue in spec["queues"].values()):
        found.add("several pools in a queue")
    return found


@pytest.mark.slow
def test_random_specs_compile_to_the_same_bytes_twice(record_property) -> None:
    met: Counter[str] = Counter()
    to_print: list[Tree] = []

    @drawn(2 * CASES, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(specs())
    def compiles(tree: Tree) -> None:
        findings, artifacts = compile_tree("prod-use1", tree)
        assert [finding for finding in findings if finding.is_error] == []
        assert artifacts
        again = compile_tree("prod-use1", tree)[1]
        assert json.dumps([output_file.data for output_file in output_files(artifacts, "x").values()]) == json.dumps(
            [output_file.data for output_file in output_files(again, "x").values()]
        )
        met.update({"cases", *features(tree)})
        if met["cases"] % 30 == 1:
            to_print.append(tree)

    compiles()
    shares = {name: met[name] / met["cases"] for name in FEATURES}
    record_property("distribution", shares)
    print(f"\n{met['cases']} specs: " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))
    assert min(shares.values()) >= SCARCEST, shares
    for tree in to_print:
        assert printed(tree) == printed(tree)


@drawn(CASES // 3, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(specs(), st.data())
def test_random_elements_may_leave(tree: Tree, data: st.DataObject) -> None:
    """With one or more leaving elements, checks report only elements that no workload can use any more."""
    spec = tree["spec"]
    elements = [*spec["pools"].values(), *spec["queues"].values(), *spec["tenants"].values()]
    elements += [namespace for tenant in spec["tenants"].values() for namespace in tenant["namespaces"].values()]
    before = {finding.id for finding in compile_tree("prod-use1", tree)[0]}
    for index in data.draw(st.sets(st.integers(0, len(elements) - 1), min_size=1)):
        elements[index]["leaving"] = True
    findings, artifacts = compile_tree("prod-use1", tree)
    assert artifacts
    assert {finding.id for finding in findings} - before <= {"REM102", "REM103", "REM104", "REM105"}


def printed(tree: Tree) -> dict[str, str]:
    with Printer() as printer:
        printer.send(output_files(compile_tree("prod-use1", tree)[1], "specs/prod-use1.yaml").values())
        return printer.texts()
