"""`gpuc catalog import`: rows from the output of the EC2 API.

The descriptions have the structure of InstanceTypeInfo in botocore/data/ec2/2016-11-15/service-2.json, with the figures
of aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/zz_generated.vpclimits.go and
pkg/fake/zz_generated.describe_instance_types.go.
"""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc.catalog import load
from gpuc.catalog.records import InstanceType
from gpuc.cli.catalog_import import yaml_text
from gpuc.cli.main import main
from gpuc.pipeline.ec2_rows import imported_rows
from gpuc.pipeline.fact_files import read_fact_file
from gpuc.pipeline.own_rows import merge
from tests.lanes import drawn
from tests.tables import table
from tests.values import changed

TABLE = table(__file__, "catalog_cases.yaml")
LIMITS = TABLE["limits"]


def described(name: str) -> dict[str, Any]:
    """The description of an instance type with the figures of the catalog and the network limits of Karpenter."""
    row = load().instance_type(name)
    assert row is not None
    limits = LIMITS[name]
    info: dict[str, Any] = {
        "InstanceType": name,
        "CurrentGeneration": True,
        "FreeTierEligible": False,
        "SupportedUsageClasses": ["on-demand", "spot"],
        "BareMetal": False,
        "Hypervisor": "nitro",
        "ProcessorInfo": {
            "SupportedArchitectures": ["arm64" if row.arch == "arm64" else "x86_64"],
            "SustainedClockSpeedInGhz": 3.2,
        },
        "VCpuInfo": {"DefaultVCpus": row.vcpu, "DefaultCores": row.vcpu // 2, "DefaultThreadsPerCore": 2},
        "MemoryInfo": {"SizeInMiB": row.memory_mib},
        "InstanceStorageSupported": bool(row.local_nvme_gb),
        "NetworkInfo": {
            "NetworkPerformance": "Up to 12.5 Gigabit",
            "MaximumNetworkInterfaces": limits["cards"] * limits["interfaces"],
            "MaximumNetworkCards": limits["cards"],
            "DefaultNetworkCardIndex": 0,
            "NetworkCards": [
                {"NetworkCardIndex": index, "MaximumNetworkInterfaces": limits["interfaces"]}
                for index in range(limits["cards"])
            ],
            "Ipv4AddressesPerInterface": limits["addresses"],
            "EfaSupported": bool(row.efa),
        },
    }
    if row.efa:
        info["NetworkInfo"]["EfaInfo"] = {"MaximumEfaInterfaces": row.efa}
    if row.local_nvme_gb:
        info["InstanceStorageInfo"] = {"TotalSizeInGB": row.local_nvme_gb, "NvmeSupport": "required"}
    if row.gpu:
        model, memory = TABLE["gpus"][row.family]
        gpu = {"Name": model, "Manufacturer": "NVIDIA", "Count": row.gpu_count, "MemoryInfo": {"SizeInMiB": memory}}
        info["GpuInfo"] = {"Gpus": [gpu], "TotalGpuMemoryInMiB": memory * row.gpu_count}
    return info


def renamed(name: str, new: str) -> dict[str, Any]:
    return described(name) | {"InstanceType": new}


def read(*types: Any) -> tuple[dict[str, dict[str, Any]], list[str], list[str]]:
    rows, same, findings = imported_rows(json.dumps({"InstanceTypes": types}).encode(), "types.json", "test")
    return rows, same, [f"{finding.id} {finding.message}" for finding in findings]


@pytest.mark.parametrize("name", LIMITS)
def test_the_rows_are_those_of_the_catalog(name: str) -> None:
    """The maximum number of pods too, which the import computes from the network interfaces."""
    assert read(described(name)) == ({}, [name], [])


@pytest.mark.parametrize("name", LIMITS)
def test_gpuc_reads_its_own_rows(name: str) -> None:
    new = f"x99.{name.partition('.')[2]}"
    rows, same, findings = read(renamed(name, new))
    assert (same, findings) == ([], [])
    problems: list[Any] = []
    file = read_fact_file(yaml_text(rows), "specs/catalog/new.yaml", problems)
    assert file is not None and problems == []
    own, problems = merge([file])
    assert problems == []
    assert figures(own.instances[new]) == figures(load().instance_type(name))


def figures(row: InstanceType | None) -> tuple[Any, ...]:
    assert row is not None
    names = "arch vcpu memory_mib pods gpu gpu_count local_nvme_gb network_cards efa nvswitch"
    return tuple(getattr(row, name) for name in names.split())


def test_a_changed_figure_is_a_row() -> None:
    info = described("p5.48xlarge")
    info["VCpuInfo"]["DefaultVCpus"] = 180
    rows, _, _ = read(info)
    assert rows["p5.48xlarge"]["vcpu"] == 180


@pytest.mark.parametrize("wrong", TABLE["wrong descriptions"])
def test_a_wrong_value_is_a_finding_and_other_types_get_rows(wrong: str) -> None:
    row = TABLE["wrong descriptions"][wrong]
    info = changed(described("p5.48xlarge"), row["path"], row["value"])
    rows, _, (finding,) = read(info, renamed("m7i.2xlarge", "m99.large"))
    assert list(rows) == ["m99.large"]
    assert finding.startswith(row["finding"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "types.json:1:1: error CAT101"),
        ('{"InstanceTypes": [\n  {"a": }\n]}', "types.json:2:9: error CAT101 the input is not JSON"),
        ("[" * 100_000, "types.json:1:1: error CAT101 the input is not JSON"),
        ('{"Instances": []}', "types.json:1:1: error CAT101 the input has no list InstanceTypes"),
        ("\ufeff{}", "types.json:1:1: error CAT101"),
    ],
)
def test_malformed_input_is_a_finding(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("types.json").write_text(text, encoding="utf-8")
    assert main(["catalog", "import", "types.json"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(expected)
    assert captured.out == "apiVersion: gpuc.dev/v1alpha1\nkind: Catalog\ninstanceTypes: {}\n"


def test_the_command_prints_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("types.json").write_text(json.dumps([renamed("g6e.xlarge", "g9e.xlarge"), described("m8g.4xlarge")]))
    assert main(["catalog", "import", "types.json", "--source", 'EC2 "API", 2026-10-31']) == 0
    captured = capsys.readouterr()
    assert captured.err.endswith("because gpuc has the same figures: m8g.4xlarge\n")
    assert captured.out == (
        'apiVersion: gpuc.dev/v1alpha1\nkind: Catalog\ninstanceTypes:\n  g9e.xlarge:\n    arch: "amd64"\n'
        '    vcpu: 4\n    memoryMib: 32768\n    pods: 58\n    gpu: "l40s"\n    gpuCount: 1\n    localNvmeGb: 250\n'
        '    source: "EC2 \\"API\\", 2026-10-31"\n'
    )
    assert main(["catalog", "import", "missing.json"]) == 2
    assert main(["catalog", "import"]) == 2
    assert main(["catalog", "import", "types.json", "--source", "a\nb"]) == 2


@given(st.binary())
@drawn(100)
def test_no_bytes_raise_an_exception(data: bytes) -> None:
    rows, same, found = imported_rows(data, "types.json", "test")
    assert (rows, same, [finding.mark is not None for finding in found]) == ({}, [], [True])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda child: st.lists(child, max_size=3) | st.dictionaries(st.text(max_size=5), child, max_size=3),
    max_leaves=5,
)


@given(st.data())
@drawn(200)
def test_no_changed_value_raises_an_exception(data: st.DataObject) -> None:
    """The rows that remain are rows that gpuc reads without an error."""
    info = deepcopy(renamed(data.draw(st.sampled_from(sorted(LIMITS))), "x99.large"))
    for _ in range(data.draw(st.integers(1, 3))):
        node: Any = info
        while True:
            step = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
            if not isinstance(node[step], dict | list) or not node[step] or data.draw(st.booleans()):
                node[step] = data.draw(JSON)
                break
            node = node[step]
    rows, _, _ = read(info)
    problems: list[Any] = []
    file = read_fact_file(yaml_text(rows), "specs/catalog/new.yaml", problems)
    assert file is not None and problems == []
    errors = [finding for finding in merge([file])[1] if finding.is_error]
    assert all(finding.id == "CAT006" for finding in errors), errors
