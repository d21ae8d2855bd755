"""`gpuc isolation`: proves for specs or manifest files that pods of different tenants cannot reach each other."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from gpuc.cli.arguments import Parser
from gpuc.diagnostics.report.console import write_message, write_stdout
from gpuc.diagnostics.report.terminal import wants_colour
from gpuc.diagnostics.usage import UsageError
from gpuc.isolation.assumptions import Assumption, Basis, assumptions
from gpuc.isolation.matrix import verdicts
from gpuc.isolation.proof import Reachability
from gpuc.isolation.report import Locate, Proof, document, text
from gpuc.isolation.tenancy import TENANT_LABEL, Tenancy, labelled_tenancy, separate_tenancy
from gpuc.kubernetes.addresses import Ranges, read_ranges
from gpuc.kubernetes.invalid import Invalid
from gpuc.lint.load.load_objects import LoadedObjects, load_objects
from gpuc.objects.network_policies import GROUP, read_policies
from gpuc.objects.object_set import ObjectSet

if TYPE_CHECKING:
    from gpuc.model import Cluster
    from gpuc.pipeline.stages import CompiledSpec

_EXIT_CODES = """exit codes:
  0  no pod of a tenant can reach a pod of another tenant, except declared exceptions
  1  a pod can reach a pod of another tenant, or an assumption of the proof is false
  2  the command line is wrong
  3  gpuc itself failed"""


class IsolationOptions:
    """The options of isolation, with their defaults."""

    trees: list[str]
    """Specs, cluster names, files and folders; empty for all of specs/."""
    format: str = "text"
    tenant_label: str | None = None
    pod_cidrs: str = ""
    """The IP ranges of pods for manifest files, separated by commas."""


def run_isolation(words: list[str]) -> int:
    """Runs the command and returns the exit code.

    Raises:
        UsageError: for wrong arguments, and for files in which no tenants can be distinguished.
    """
    parser = _parser()
    if {"-h", "--help"} & set(words):
        write_stdout(parser.format_help())
        return 0
    options: IsolationOptions = parser.parse(words, IsolationOptions())
    proofs = []
    for proof in _proofs(options):
        proofs.append(proof)
        if options.format == "text":
            write_stdout(("\n" if len(proofs) > 1 else "") + text(proof, colour=wants_colour(sys.stdout, os.environ)))
    if options.format == "json":
        write_stdout(document(proofs))
    return int(not all(proof.holds for proof in proofs))


def _parser() -> Parser:
    parser = Parser("isolation", _EXIT_CODES)
    parser.add_argument(
        "trees",
        nargs="*",
        metavar="SPEC|PATH",
        help="a spec, a cluster name, or manifest files and folders (default: specs/)",
    )
    parser.add_argument("--format", choices=("text", "json"), help="the format of the report (default: text)")
    parser.add_argument(
        "--tenant-label", metavar="KEY", help=f"the namespace label with the tenant's name (default: {TENANT_LABEL})"
    )
    parser.add_argument(
        "--pod-cidrs", metavar="CIDR,...", help="the IP ranges of pods, for manifest files; a spec declares its own"
    )
    return parser


def _proofs(options: IsolationOptions) -> Iterator[Proof]:
    """A proof for each spec, then one proof for all manifest files together."""
    paths = [word for word in options.trees if _is_manifest_path(word)]
    specs = [word for word in options.trees if word not in paths]
    if specs or not paths:
        yield from _prove_specs(specs, options.tenant_label)
    if paths:
        yield _prove_files(paths, options.tenant_label, _ranges(options.pod_cidrs))


def _ranges(text: str) -> Ranges | None:
    """Parses the value of --pod-cidrs.

    Raises:
        UsageError: for a text that is not a list of IP ranges.
    """
    try:
        return read_ranges(cidr.strip() for cidr in text.split(",")) if text else None
    except Invalid:
        raise UsageError(f"--pod-cidrs requires IP ranges such as 10.0.0.0/16,10.1.0.0/16, not {text}") from None


def _is_manifest_path(word: str) -> bool:
    """Whether an argument is a path of manifests: a folder, or a file outside of specs/."""
    path = Path(word)
    if path.is_dir():
        return True
    if not path.is_file():
        return False
    from gpuc.cli.specs import find_root

    try:
        specs = find_root(Path.cwd()) / "specs"
    except UsageError:
        return True
    return not Path(os.path.normpath(Path.cwd() / path)).is_relative_to(specs)


def _prove_specs(specs: list[str], label: str | None) -> Iterator[Proof]:
    from gpuc.cli.specs import find_root, select
    from gpuc.diagnostics.finding import StageError
    from gpuc.pipeline.stages import compiled_spec
    from gpuc.source import cluster_files

    root = find_root(Path.cwd())
    for file in select(root, Path.cwd(), specs) or cluster_files(root):
        try:
            spec = compiled_spec(root, file)
        except StageError as stop:
            raise UsageError(f"{file} has {len(stop.findings)} findings; `gpuc check` shows them") from None
        tree = ObjectSet(spec.synced, is_complete=True)
        proof = _proof(spec.cluster.name, tree, labelled_tenancy(tree, label or TENANT_LABEL), spec.cluster)
        yield replace(proof, locate=_locator(spec))


def _locator(spec: CompiledSpec) -> Locate:
    """Maps an object to the spec line from which gpuc made it."""
    return lambda manifest, path: spec.source.locate(manifest.origin)


def _prove_files(paths: list[str], label: str | None, pods: Ranges | None) -> Proof:
    loaded = load_objects(paths)
    for sentence in loaded.unread_summary:
        write_message(sentence)
    tree = ObjectSet(loaded.manifests, is_complete=False)
    proof = _proof(", ".join(paths), tree, _tenancy(tree, label, paths), pods=pods)
    return replace(proof, assumptions=[*_input_assumptions(loaded), *proof.assumptions], locate=loaded.locate)


def _input_assumptions(loaded: LoadedObjects) -> Iterator[Assumption]:
    """The assumptions about unread input. NetworkPolicies are additive, so an unread policy may allow more traffic."""
    if loaded.unread:
        count = f"{len(loaded.unread)} places" if len(loaded.unread) > 1 else "one place"
        reason = f"false at {count}: {loaded.unread[0]}"
        yield Assumption("gpuc can read every file", Basis.BROKEN, reason)
    if loaded.not_objects:
        yield Assumption(
            "documents that are not objects contain no NetworkPolicy", Basis.ASSUMED, "; ".join(loaded.not_objects)
        )


def _tenancy(tree: ObjectSet, label: str | None, paths: list[str]) -> Tenancy:
    """The tenants by the label. Without the option, if no namespace has gpuc's label, each namespace is a tenant."""
    tenancy = labelled_tenancy(tree, label or TENANT_LABEL)
    if not tenancy.tenants and label is None and tree.has(GROUP, "NetworkPolicy"):
        tenancy = separate_tenancy(tree)
    if not tenancy.tenants:
        where = ", ".join(paths)
        raise UsageError(f"no Namespace in {where} has the label {label or TENANT_LABEL}; --tenant-label sets another")
    return tenancy


def _proof(
    name: str, tree: ObjectSet, tenancy: Tenancy, cluster: Cluster | None = None, pods: Ranges | None = None
) -> Proof:
    """Proves the isolation of an object set, with the facts that the spec declares about its cluster."""
    not_isolated, engine = frozenset[str](), ""
    if cluster is not None:
        engine = cluster.aws.network_policy_engine
        not_isolated = frozenset(tenant.name for tenant in cluster.tenants if not tenant.isolates_network)
        try:
            pods = read_ranges(cluster.aws.pod_cidrs) or None
        except Invalid:
            pods = None
    started = perf_counter()
    reachability = Reachability(read_policies(tree.of(GROUP, "NetworkPolicy")), tenancy, pods)
    pairs = verdicts(reachability, not_isolated)
    return Proof(name, reachability, pairs, assumptions(tree, reachability, engine), perf_counter() - started)
