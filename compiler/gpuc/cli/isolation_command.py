"""`gpuc isolation`: proves that pods of different tenants cannot reach each other, for specs or manifests."""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gpuc.cli.objects import objects_in
from gpuc.cli.specs import is_in_specs, selected
from gpuc.diagnostics.finding import StageError
from gpuc.diagnostics.report.console import print_document, write_stdout
from gpuc.diagnostics.usage import UsageError
from gpuc.isolation.assumptions import Assumption, Basis, assumptions, datapath_assumptions, statements
from gpuc.isolation.outside import public_assumptions
from gpuc.isolation.proof import Datapath, Reachability, network, unisolated_tenants, verdicts
from gpuc.isolation.report import Proof, blocks, document
from gpuc.isolation.tenancy import TENANT_LABEL, Tenancy, labelled_tenancy, separate_tenancy
from gpuc.kubernetes.addresses import Ranges, read_ranges
from gpuc.kubernetes.selector import Invalid
from gpuc.lint.load.load_objects import LoadedObjects
from gpuc.objects.network_policies import GROUP
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.other_policies import CILIUM, enforced_policies
from gpuc.objects.other_policies import KIND as CILIUM_POLICY

if TYPE_CHECKING:
    from gpuc.model import Cluster


_POLICIES = ((GROUP, "NetworkPolicy"), (CILIUM, CILIUM_POLICY))


def run_isolation(inputs: list[str], tenant_label: str | None = None, pod_cidrs: str = "", form: str = "text") -> int:
    """Prints a proof for each spec, and one proof for all manifests together. Returns the exit code.

    Args:
        inputs: specs, cluster names, manifest files and folders; empty for all specs.
        pod_cidrs: the IP ranges of pods for manifest files, separated by commas.

    Raises:
        UsageError: for manifests from which gpuc cannot see which namespaces belong to which tenant.
    """
    proofs = []
    for proof in _proofs(inputs, tenant_label, pod_cidrs):
        proofs.append(proof)
        if form == "text":
            print_document([*([""] if len(proofs) > 1 else []), *blocks(proof)])
    if form == "json":
        write_stdout(document(proofs))
    return int(not all(proof.holds for proof in proofs))


def _proofs(inputs: list[str], label: str | None, pod_cidrs: str) -> Iterator[Proof]:
    paths = [path for path in inputs if Path(path).is_dir() or (Path(path).is_file() and not is_in_specs(path))]
    specs = [spec for spec in inputs if spec not in paths]
    if specs or not paths:
        yield from _prove_specs(specs, label)
    if paths:
        yield _prove_files(paths, label, _ranges(pod_cidrs))


def _ranges(text: str) -> Ranges | None:
    """Parses the value of --pod-cidrs; returns None for an empty value.

    Raises:
        UsageError: for a text that is not a list of IP ranges.
    """
    try:
        return read_ranges(cidr.strip() for cidr in text.split(",")) if text else None
    except Invalid:
        raise UsageError(f"--pod-cidrs requires IP ranges such as 10.0.0.0/16,10.1.0.0/16, not {text}") from None


def _prove_specs(specs: list[str], label: str | None) -> Iterator[Proof]:
    from gpuc.pipeline.stages import compiled_spec

    root, files = selected(specs)
    for file in files:
        try:
            spec = compiled_spec(root, file)
        except StageError as error:
            raise UsageError(f"{file} has {len(error.findings)} findings; `gpuc check` shows them") from None
        objects = ObjectSet(spec.synced, is_complete=True)
        proof = _proof(spec.cluster.name, objects, labelled_tenancy(objects, label or TENANT_LABEL), spec.cluster)
        yield replace(proof, locate=spec.locate)


def _prove_files(paths: list[str], label: str | None, pods: Ranges | None) -> Proof:
    files = objects_in(paths)
    objects = ObjectSet(files.manifests, is_complete=False)
    proof = _proof(", ".join(paths), objects, _tenancy(objects, label, paths), pods=pods)
    return replace(proof, assumptions=[*_input_assumptions(files), *proof.assumptions], locate=files.locate)


def _input_assumptions(files: LoadedObjects) -> Iterator[Assumption]:
    """Yields an assumption for input that gpuc could not read, and an assumption for documents that are not objects.

    NetworkPolicies are additive, so a NetworkPolicy in this input may allow more traffic.
    """
    if files.unread:
        count = f"{len(files.unread)} locations" if len(files.unread) > 1 else "one location"
        reason = f"false at {count}: {files.unread[0]}"
        yield Assumption("gpuc can read every file", Basis.BROKEN, reason)
    if files.not_objects:
        yield Assumption(
            "documents that are not objects contain no NetworkPolicy", Basis.ASSUMED, "; ".join(files.not_objects)
        )


def _tenancy(objects: ObjectSet, label: str | None, paths: list[str]) -> Tenancy:
    """Returns the tenants that a label of the namespaces names.

    If --tenant-label is not set and no namespace has gpuc's label, each namespace is a tenant.

    Raises:
        UsageError: when the files have no tenants.
    """
    tenancy = labelled_tenancy(objects, label or TENANT_LABEL)
    if not tenancy.tenants and label is None and any(objects.has(*kind) for kind in _POLICIES):
        tenancy = separate_tenancy(objects)
    if not tenancy.tenants:
        files = ", ".join(paths)
        raise UsageError(
            f"no Namespace in {files} has the label {label or TENANT_LABEL}; --tenant-label sets another label"
        )
    return tenancy


def _proof(
    name: str, objects: ObjectSet, tenancy: Tenancy, cluster: "Cluster | None" = None, pods: Ranges | None = None
) -> Proof:
    """Returns the proof for the objects of a cluster.

    Args:
        cluster: the resolved spec, whose pod CIDRs, network policy engine and tenants the proof uses; None for
            manifest files.
        pods: the IP ranges of pods, for manifest files.
    """
    facts = network(cluster)
    datapath: Datapath = cluster.datapath if cluster is not None else {}
    started = perf_counter()
    policies = enforced_policies(objects, facts.engine)
    reachability = Reachability(policies, tenancy, facts.pods if cluster else pods, facts.services)
    if cluster is not None and not tenancy.tenants:
        return Proof(name, reachability, [], [], perf_counter() - started, engine=facts.engine)
    pairs = verdicts(reachability, unisolated_tenants(cluster))
    premises = [
        *assumptions(objects, reachability, facts.engine),
        *public_assumptions(reachability),
        *datapath_assumptions(objects, reachability, datapath),
    ]
    duration = perf_counter() - started
    return Proof(name, reachability, pairs, premises, duration, engine=facts.engine, facts=statements(datapath))
