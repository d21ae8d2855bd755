"""Only a part knows its name: no other module decides by the name of a component or of a kind of workloads.

A name is the name of a component, the kind of a workload that is no kind of Kubernetes, or the framework of Kueue of
such a kind. The test reads the syntax trees of all modules outside of the folders of parts, and finds the names that a
program compares with a value:

- an operand of a comparison or of a membership test, also as an item of a tuple, list or set at any depth, or as a
  constant of the module that is such a text or such a tuple, list, set or dict;
- the pattern of a case;
- what a loop or a comprehension iterates over, in the same forms;
- a key of a dict display or of `dict.fromkeys`.

An engine looks up the record of a part, and needs none of these. A name is allowed as a value, for example in
`Manifest(kind="JobSet")` or `{"kind": "JobSet"}`. Kinds of Kubernetes, such as Job and Pod, are allowed, because
engines also decide about their fields and about objects without a record. Two fields of the spec have values that are
also names of components: a comparison with `counted` or `fabric` is allowed.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuc.catalog.schemas import builtin_kinds, builtin_versions
from gpuc.emit.component import components
from gpuc.kubernetes.api_groups import is_custom
from gpuc.parts.workload_kinds import workload_kinds

PACKAGES = [Path(__file__).parents[2] / folder for folder in ("compiler/gpuc", "rehearsal/gpuc_rehearsal")]
PARTS = ("components", "workloads", "parts")
OF_KUBERNETES = {kind for version in builtin_versions() for _, kind in builtin_kinds(version)}
CUSTOM = [kind for kind in workload_kinds() if is_custom(kind.group)]
NAMES = {component.name for component in components()}
NAMES |= {kind.kind for kind in CUSTOM} - OF_KUBERNETES
NAMES |= {kind.queueing.framework for kind in CUSTOM} - {""}
SPEC_FIELDS = ("counted", "fabric")
ALLOWED: dict[tuple[str, str], str] = {
    ("admission/validation/all_tables.py", "kueue"): "the name of a module",
    ("catalog/records.py", "efa"): "a value of the column `nodes` of DaemonSets, which counts nodes with the device",
    ("suites/__init__.py", "efa"): "the name of a suite",
    **{
        ("tools/selection.py", name): "an option of `gpuc tools`, and the folder of its programs"
        for name in ("jobset", "kuberay", "lws", "trainer")
    },
}
"""Uses of another thing with the name of a part, by file and name, with the thing."""


def constants(tree: ast.Module) -> dict[str, ast.expr]:
    """The values of the constants of a module, by name."""
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node.value for target in targets if isinstance(target, ast.Name)}
    return found


def texts(node: ast.expr | None, known: dict[str, ast.expr]) -> Iterator[ast.Constant]:
    """The texts of an operand: the operand, or the items of a tuple, list, set or dict, or a constant of the module."""
    match node:
        case ast.Constant(value=str()):
            yield node
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            for item in items:
                yield from texts(item, known)
        case ast.Dict(keys=keys):
            for key in keys:
                yield from texts(key, known)
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple"), args=[argument, *_]):
            yield from texts(argument, known)
        case ast.Call(func=ast.Attribute(attr="fromkeys"), args=[argument, *_]):
            yield from texts(argument, known)
        case ast.Name(id=name) if name in known:
            yield from texts(known[name], {other: value for other, value in known.items() if other != name})


def decisive(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts with which a module decides."""
    known = constants(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                operands = [left, *others]
                if not any(_name(side) in SPEC_FIELDS for side in operands):
                    for operand in operands:
                        yield from texts(operand, known)
            case ast.MatchValue(value=value):
                yield from texts(value, known)
            case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
                yield from texts(iterated, known)
            case ast.Dict() | ast.Call(func=ast.Attribute(attr="fromkeys")):
                yield from texts(node, {})


def _name(node: ast.expr) -> str:
    """The name of a variable or of an attribute; empty for another expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_in_a_part(file: Path, folder: Path) -> bool:
    """Whether a module of a package is in the folder of a part: also of a component below the folder of a substrate."""
    top, *below = file.relative_to(folder).parts
    return top in PARTS or (top == "substrates" and (folder / top / Path(*below[:2]) / "component.py").is_file())


def uses(folder: Path) -> set[tuple[str, int, str]]:
    """File, line and name of each decision by a name, outside of parts."""
    return {
        (file.relative_to(folder).as_posix(), text.lineno, str(text.value))
        for file in folder.rglob("*.py")
        if not is_in_a_part(file, folder)
        for text in decisive(ast.parse(file.read_text()))
        if text.value in NAMES
    }


@pytest.mark.slow
def test_only_a_part_decides_by_its_name() -> None:
    found = {use for package in PACKAGES for use in uses(package)}
    forbidden = sorted(f"{file}:{line}: {name}" for file, line, name in found if (file, name) not in ALLOWED)
    assert not forbidden, "ask the record of the part: " + ", ".join(forbidden)
    assert ALLOWED.keys() <= {(file, name) for file, _, name in found}, "an exception is no longer needed"


@pytest.mark.parametrize(
    "text",
    [
        'if name == "kueue": pass',
        'if "JobSet" != kind: pass',
        'if kind in ("Job", "RayJob"): pass',
        'if kind in (("ray.io", "RayJob"), ("batch", "Job")): pass',
        '_KINDS = frozenset(("TrainJob",)); found = [kind for kind in kinds if kind in _KINDS]',
        '_CHART = "gatekeeper"; is_chart = name == _CHART',
        'match name:\n    case "karpenter" | "other": pass',
        'match kind:\n    case ("batch", "MPIJob"): pass',
        'TABLE = {"gpu-operator": 1}',
        'TABLE = dict.fromkeys(("PyTorchJob", "TFJob"), 1)',
        'for name, least in (("karpenter", "1.6"), ("other", "1")): pass',
        'TABLE = {("jobset.x-k8s.io", "JobSet"): 1}',
        'if name == "jobset.x-k8s.io/jobset": pass',
    ],
)
def test_a_decision_is_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan/module.py").write_text(text)
    assert {file for file, _, _ in uses(tmp_path)} == {"plan/module.py"}


@pytest.mark.parametrize(
    "text",
    [
        'body = {"kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1alpha2"}',
        'if pool.counted == "kueue": pass',
        'path = ("spec", "kueue", "frameworks")',
        'if kind == "Job": pass',
        '"""The component kueue."""',
    ],
)
def test_other_uses_are_allowed(text: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(text)
    assert not uses(tmp_path)


def test_parts_may_use_their_names(tmp_path: Path) -> None:
    (tmp_path / "components").mkdir()
    (tmp_path / "components/module.py").write_text('is_own = name == "kueue"')
    assert not uses(tmp_path)


def test_a_component_of_a_substrate_may_use_its_name_and_the_rest_of_the_substrate_may_not(tmp_path: Path) -> None:
    for name in ("karpenter", "rules"):
        (tmp_path / "substrates/eks" / name).mkdir(parents=True)
        (tmp_path / "substrates/eks" / name / "module.py").write_text('is_own = name == "karpenter"')
    (tmp_path / "substrates/eks/karpenter/component.py").touch()
    (tmp_path / "substrates/eks/karpenter/rules").mkdir()
    (tmp_path / "substrates/eks/karpenter/rules/module.py").write_text('is_own = name == "karpenter"')
    assert {file for file, _, _ in uses(tmp_path)} == {"substrates/eks/rules/module.py"}
