"""specs/catalog/: rows of a fleet reach all stages, and each mistake is a finding at its line and column."""

import json
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import jsonschema_rs
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpuc.catalog import Catalog, load
from gpuc.cli.main import main
from gpuc.diagnostics.finding import Finding, StageError
from gpuc.pipeline.fact_files import read_fact_file
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.own_rows import merge
from gpuc.spec.schema import catalog_schema
from tests.conftest import HUB, ROOT, edit
from tests.lanes import drawn
from tests.tables import table

TABLE = table(__file__, "catalog_cases.yaml")
FILE = "specs/catalog/facts.yaml"
HEAD = "apiVersion: gpuc.dev/v1alpha1\nkind: Catalog\n"
MARK = re.compile(r"#! ([A-Z]+\d{3})")
NEW = "{arch: arm64, vcpu: 16, memoryMib: 32768, pods: 234, source: a}"
PRICE = '{instanceType: p5.48xlarge, region: us-east-1, purchase: spot, hourlyUsd: 20, date: "2026-10-01", source: a}'


def write(root: Path, text: str, file: str = FILE) -> None:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + text, encoding="utf-8")


def findings(root: Path) -> tuple[Finding, ...]:
    try:
        return fleet_catalog(root).findings
    except StageError as stop:
        return stop.findings


def catalog(root: Path) -> Catalog:
    return fleet_catalog(root).catalog


def test_a_fleet_without_rows_has_the_catalog_of_gpuc(tmp_path: Path) -> None:
    assert catalog(tmp_path) is load()


def test_rows_are_added_and_corrected(tmp_path: Path) -> None:
    write(
        tmp_path,
        f"""\
instanceTypes:
  c9g.4xlarge: {NEW}
  p5.48xlarge: {{pods: 200, source: measured}}
images:
  al2023: {{driverVersion: 590.12.01, efaHugepages2Mi: 100, source: notes}}
daemonSets:
  agent: {{cpu: 100m, memory: 1500Ki, source: values}}
  aws-node: {{cpu: 75m, memory: 16Mi, source: values}}
prices:
  - {PRICE}
""",
    )
    assert findings(tmp_path) == ()
    found = catalog(tmp_path)
    new, known = found.instance_type("c9g.4xlarge"), found.instance_type("p5.48xlarge")
    assert new is not None and (new.family, new.arch, new.vcpu, new.gpu, new.network_cards) == (
        "c9g",
        "arm64",
        16,
        "",
        1,
    )
    assert known is not None and (known.pods, known.gpu, known.efa) == (200, "h100-sxm5-80gb", 32)
    assert (found.images["al2023"].driver_version, found.images["al2023"].ami_family) == ("590.12.01", "AL2023")
    rows = {row.name: row for row in found.daemonsets}
    assert (rows["agent"].component, rows["agent"].memory_mib) == ("fleet", 2)
    assert (rows["aws-node"].component, rows["aws-node"].cpu_milli) == ("eks", 75)
    assert load().images["al2023"].driver_version != "590.12.01"


def test_the_latest_price_of_the_fleet_takes_precedence(tmp_path: Path) -> None:
    old = PRICE.replace("2026-10-01", "2026-01-31").replace("spot", "on-demand").replace("20,", "99,")
    own = PRICE.replace("spot", "on-demand").replace("20,", "30.5,")
    write(tmp_path, f"prices:\n  - {own}\n  - {old}\n")
    assert findings(tmp_path) == ()
    price = catalog(tmp_path).price("p5.48xlarge", "us-east-1", "on-demand")
    assert price is not None and (price.hourly_usd, price.date, price.source) == (30.5, "2026-10-01", "a")
    assert catalog(tmp_path).price("p5.48xlarge", "us-east-1", "spot") is None
    assert catalog(tmp_path).price("p5.48xlarge", "eu-west-1", "on-demand") is None
    other = catalog(tmp_path).price("m8g.4xlarge", "us-east-1", "on-demand")
    assert other is not None and other.hourly_usd == 0.71808


@pytest.mark.parametrize("text", TABLE["wrong files"].values(), ids=TABLE["wrong files"])
def test_a_mistake_is_a_finding_at_its_line(text: str, tmp_path: Path) -> None:
    write(tmp_path, text + "\n")
    lines = enumerate((HEAD + text).splitlines(), 1)
    expected = {(FILE, number, mark[1]) for number, line in lines if (mark := MARK.search(line))}
    found = findings(tmp_path)
    marks = {(row.mark.file, row.mark.line, row.id) for row in found if row.mark is not None}
    assert marks <= expected, found
    assert marks, "no finding"
    assert not any("^" in row.message for row in found), "a message contains a regular expression"


def test_rows_in_two_files_are_a_finding_in_the_second(tmp_path: Path) -> None:
    for file in ("a.yaml", "b.yaml"):
        write(tmp_path, f"instanceTypes:\n  c9g.4xlarge: {NEW}\n", f"specs/catalog/{file}")
    (finding,) = findings(tmp_path)
    assert (finding.id, str(finding.mark)) == ("CAT004", "specs/catalog/b.yaml:4:3")
    assert "specs/catalog/a.yaml, line 4" in finding.message


@pytest.mark.parametrize("name", ["facts.json", "more"])
def test_other_files_are_findings(name: str, tmp_path: Path) -> None:
    write(tmp_path, "")
    path = tmp_path / "specs/catalog" / name
    path.mkdir() if name == "more" else path.write_text("{}")
    assert [(finding.id, finding.mark and finding.mark.file) for finding in findings(tmp_path)] == [
        ("CAT001", f"specs/catalog/{name}")
    ]


def test_no_link_is_followed(tmp_path: Path) -> None:
    write(tmp_path, "", "other/facts.yaml")
    (tmp_path / "specs/catalog").mkdir(parents=True)
    (tmp_path / FILE).symlink_to(tmp_path / "other/facts.yaml")
    assert [finding.id for finding in findings(tmp_path)] == ["CAT001"]
    shutil.rmtree(tmp_path / "specs/catalog")
    (tmp_path / "specs/catalog").symlink_to(tmp_path / "other")
    assert [finding.id for finding in findings(tmp_path)] == ["CAT001"]


def pool(hub_fleet: Path) -> str:
    return "".join(path.read_text() for path in sorted((hub_fleet / "out/vega-prod").rglob("*.yaml")))


@pytest.mark.usefixtures("without_lint")
@pytest.mark.slow
@pytest.mark.parametrize("rows", TABLE["edits"].values(), ids=TABLE["edits"])
def test_an_edit_of_a_fact_changes_the_output(
    rows: object, hub_fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also after a compile whose result is in the compile cache."""
    assert main(["compile", "vega-prod"]) == 0
    before = pool(hub_fleet)
    write(hub_fleet, yaml.safe_dump(rows))
    assert main(["compile", "vega-prod"]) == 0, capsys.readouterr().out
    assert pool(hub_fleet) != before


def test_mistakes_in_facts_and_in_specs_are_reported_together(
    hub_fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(hub_fleet, "instanceTypes:\n  c9g.8xlarge: {source: a}\n")
    edit(hub_fleet / "specs/vega-prod.yaml", ("environment: prod", "environment: live"))
    assert main(["check"]) == 1
    out = capsys.readouterr().out
    assert f"{FILE}:4:3  error CAT002" in out
    assert "SPC004" in out
    assert main(["compile"]) == 1
    assert not (hub_fleet / "out").exists()


@pytest.mark.slow
def test_the_folder_contains_no_specs_and_no_layers(hub_fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith("2 clusters")
    assert main(["check", "vega"]) == 2
    edit(hub_fleet / "specs/vega-prod.yaml", ("- base/teams.yaml", "- base/teams.yaml\n  - catalog/vega.yaml"))
    assert main(["check", "vega-prod"]) == 1
    assert "LAY005" in capsys.readouterr().out


@pytest.mark.slow
def test_trace_and_lint_use_the_rows(hub_fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--queue", "nlp-cpu", "--namespace", "nlp-train", "--pool", "cpu", "--cpu", "40", "--memory", "1Gi"]
    assert main(["compile"]) == 0
    for inputs in (["vega-prod"], ["out/vega-prod"]):
        write(hub_fleet, "")
        assert main(["trace", *arguments, *inputs]) == 1, capsys.readouterr().out
        write(hub_fleet, "instanceTypes:\n  m8g.8xlarge: {vcpu: 64, source: a}\n")
        assert main(["trace", *arguments, *inputs]) == 0, capsys.readouterr().out
    write(hub_fleet, "instanceTypes:\n  m8g.8xlarge: {vcpu: 0, source: a}\n")
    assert main(["lint", "out/vega-prod"]) == 2
    assert FILE in capsys.readouterr().err


@pytest.mark.slow
def test_a_daemonset_of_the_fleet_counts_once_in_a_trace(hub_fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The model and the trace subtract the same requests, with and without the DaemonSet among the objects."""
    write(hub_fleet, "daemonSets:\n  agent: {cpu: 4000m, memory: 1Gi, source: a}\n")
    assert main(["compile", "vega-prod"]) == 0
    arguments = ["trace", "--queue", "nlp-cpu", "--namespace", "nlp-train", "--pool", "cpu", "--memory", "1Gi"]
    agent = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [
                        {"name": "a", "image": "a", "resources": {"requests": {"cpu": "4", "memory": "1Gi"}}}
                    ],
                },
            },
        },
    }
    for _ in range(2):
        assert main([*arguments, "--cpu", "27", "out/vega-prod"]) == 0, capsys.readouterr().out
        assert main([*arguments, "--cpu", "29", "out/vega-prod"]) == 1, capsys.readouterr().out
        (hub_fleet / "out/vega-prod/agent.yaml").write_text(json.dumps(agent))


KEYS = [
    *("instanceTypes", "images", "daemonSets", "prices", "p5.48xlarge", "m8g.xlarge", "al2023", "gpu", "gpuCount"),
    *("efa", "arch", "vcpu", "pods", "memoryMib", "source", "driverVersion", "cpu", "memory", "nodes"),
    *("instanceType", "region", "purchase", "hourlyUsd", "date"),
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["p5.48xlarge", "t4"]),
    lambda child: (
        st.lists(child, max_size=3)
        | st.dictionaries(
            st.text(max_size=6) | st.sampled_from(KEYS),
            child,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["instanceTypes", "images", "daemonSets", "prices", "kind"]), VALUES)
    | st.fixed_dictionaries(
        {
            "instanceTypes": st.dictionaries(st.sampled_from(["p5.48xlarge", "c9g.large"]), VALUES),
            "prices": st.lists(VALUES),
        }
    )
)
@drawn(150)
def test_no_data_raises_an_exception(data: dict[str, object]) -> None:
    found: list[Finding] = []
    text = json.dumps({"apiVersion": "gpuc.dev/v1alpha1", "kind": "Catalog", **data})
    file = read_fact_file(text, FILE, found)
    _, more = merge([file] if file is not None else [])
    assert all(finding.mark is not None for finding in (*found, *more))


@given(st.binary() | st.text().map(lambda text: (HEAD + text).encode("utf-8", "surrogatepass")))
@drawn(100)
def test_no_file_raises_an_exception(data: bytes) -> None:
    with TemporaryDirectory() as root:
        (Path(root) / FILE).parent.mkdir(parents=True)
        (Path(root) / FILE).write_bytes(data)
        assert all(finding.mark is not None for finding in findings(Path(root)))


def test_the_schema_for_editors_accepts_the_example_and_refuses_an_unknown_key() -> None:
    example = yaml.safe_load((HUB / "specs/catalog/vega.yaml").read_text())
    validator = jsonschema_rs.validator_for(catalog_schema())
    assert validator.is_valid(example)
    example["daemonSets"]["runtime-security"]["gpu"] = 1
    assert not validator.is_valid(example)


def test_the_example_has_no_findings() -> None:
    found = fleet_catalog(HUB)
    assert found.findings == ()
    assert found.catalog.own is not None and found.catalog.own.prices
    assert fleet_catalog(ROOT).catalog is load()
