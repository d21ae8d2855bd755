"""Names of devices, and names that are near enough to others to be misspelt."""

import pytest

from gpuc.diagnostics.spelling import misspelt
from gpuc.lint.checks.references.resources import intended_resource


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("nvidia.com/gpu", ""), ("nvidia.com/gpus", "nvidia.com/gpu"),
        ("nvidia.com/gpu-shared", "nvidia.com/gpu.shared"), ("nvidia.com/mig-3g.40gb", ""),
        ("nvidia.com/mig-1c.3g.40gb", ""), ("nvidia.com/mig-3g40gb", "nvidia.com/mig-3g.40gb"),
        ("nvidia.com/mig-3g-40gb.shared", "nvidia.com/mig-3g.40gb.shared"),
        ("vpc.amazonaws.com/efas", "vpc.amazonaws.com/efa"), ("example.com/gpu", ""), ("nvidia.com/a100", ""),
        ("cpu", ""),
    ],
)  # fmt: skip
def test_names_of_devices(name: str, suggestion: str) -> None:
    assert intended_resource(name, ()) == suggestion


@pytest.mark.parametrize(
    ("name", "known", "suggestion"),
    [
        ("reserach", ["research", "search"], "research"), ("Research", ["research"], "research"),
        ("train_h100", ["train-h100"], "train-h100"), ("train-h200", ["train-h100"], ""), ("team-b", ["team-a"], ""),
        ("gpu-pool", ["cpu-pool"], ""), ("us-east", ["eu-east"], ""), ("kueue-system", ["kube-system"], ""),
        ("research", ["search", "researcher"], ""), ("trainer", ["trainers", "trained"], ""), ("", ["a"], ""),
    ],
)  # fmt: skip
def test_a_name_counts_as_misspelt_only_if_that_is_certain(name: str, known: list[str], suggestion: str) -> None:
    assert misspelt(name, known) == suggestion
