"""Complete answers to wrong keys, types and values: position, message and fix, one finding for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gpuc.diagnostics.finding import Finding, StageError
from gpuc.source import read
from gpuc.spec.base import SpecModel
from gpuc.spec.parse import parse

SPEC = """\
apiVersion: gpuc.dev/v1alpha1
kind: Cluster
metadata: {name: orion}
spec:
  environment: prod
  kubernetes: "1.35"
  cloud:
    aws:
      region: eu-central-1
      eksCluster: orion
      nodeRole: nodes
      zones: [eu-central-1a]
      subnets: {tags: {karpenter.sh/discovery: orion}}
      securityGroups: {tags: {karpenter.sh/discovery: orion}}
      image: al2023@v20260815
  network: {nodeLocalDns: true}
  releases: "2026.08"
  delivery:
    repo: https://git.example.com/fleet.git
    destination: {server: https://kubernetes.default.svc, namespace: argocd}
    prune: confirm
  nodeAgents:
    log-agent: {cpu: 500m, memory: 1Gi}
  pools:
    cpu: {purpose: general, instances: [m7i.2xlarge], nodes: {max: 4}}
    train:
      purpose: training
      instances: [p4d.24xlarge]
      eks: {reservations: {ids: [cr-0a1b2c3d4e5f6a7b8]}}
      nodes: {max: 8}
      sharing: exclusive
      fabric: efa
      runs: {longest: 72h, checkpointEvery: 30m}
    infer:
      purpose: inference
      instances: [g6.12xlarge]
      nodes: {max: 2}
      sharing: {timeSlicing: {replicas: 4}}
      eks: {rootVolume: 500Gi}
  tenants:
    nlp:
      members: {groups: [oidc:nlp], role: edit}
      costCentre: CC-1
      isolation: network
      namespaces:
        nlp-train: {podSecurity: baseline}
      network:
        egress:
          - {cidr: 10.20.0.0/16, ports: [443], why: object store}
  queues:
    nlp:
      tenants: [nlp]
      quota:
        train: {nodes: 4, borrow: 0}
        cpu: {nodes: 2}
      weight: 2
      accept: {KRP004: more nodes are ordered}
  policies:
    default: dryrun
    host-access: deny
"""
NAME = "a name of lower-case letters, digits and hyphens, with a letter at the start"
DURATION = "hours, minutes and seconds as in 72h, 30m or 1h30m"
LIMIT = "all, a whole number of at least 0, or a number for each MIG profile such as {1g.10gb: 4}"
POOLS = "a map by name such as {my-name: {purpose: general, instances: [m7i.2xlarge], nodes: {max: 4}}}"
REPO = "a URL that begins with https:// or ssh://, or git@host:path"
ZONE = "the name of a zone such as us-east-1a, not its id"
IMAGE = "an AMI family (al2023, bottlerocket or al2), @ and a version, such as al2023@v20260815"
PRUNE = "never, confirm (with a commit before the removal) or automatic (at the next sync)"


def found(root: Path, text: str) -> list[Finding]:
    """The findings of parsing a spec."""
    (root / "specs").mkdir()
    (root / "specs/orion.yaml").write_text(text, encoding="utf-8")
    source = read(root, "specs/orion.yaml")
    with pytest.raises(StageError) as stop:
        parse(source)
    return [source.located(finding) for finding in stop.value.findings]


def answers(root: Path, text: str) -> list[tuple[str, str]]:
    """The findings as line, column, id and message, with their fixes."""
    return [
        (f"{finding.mark.line}:{finding.mark.column} {finding.id} {finding.message}", finding.fix)
        for finding in found(root, text)
        if finding.mark
    ]


KEYS = [
    ("01", "      purpose: training", "      purpse: training",
     "27:7 SPC001 pools.train has no key purpse; expected purpose", "rename key purpse to purpose"),
    ("02", "  pools:", "  pool:", "24:3 SPC001 spec has no key pool; expected pools", "rename key pool to pools"),
    ("03", "checkpointEvery", "checkpointevery",
     "33:28 SPC001 pools.train.runs has no key checkpointevery; expected checkpointEvery",
     "rename key checkpointevery to checkpointEvery"),
    ("116", "{timeSlicing: {rep", "{timeslicing: {rep",
     "38:17 SPC001 pools.infer.sharing has no key timeslicing; expected timeSlicing",
     "rename key timeslicing to timeSlicing"),
    ("119", "cpu: {nodes: 2}", "cpu: {cpu: 32}",
     "55:15 SPC001 queues.nlp.quota.cpu has no key cpu; expected one of nodes, gpus, slices, shares, borrow, lend", ""),
    ("119 in a pool", "{max: 4}", "{maximum: 4}",
     "25:63 SPC001 pools.cpu.nodes has no key maximum (did you mean max?); expected one of max, min, static", ""),
    ("a key beside the right one", "nodes: {max: 2}", "nodes: {max: 2, maxx: 2}",
     "37:23 SPC001 pools.infer.nodes has no key maxx, and already has the key max", ""),
    ("20, 80", "    train:\n", "    train_big:\n",
     f'26:5 SPC004 key "train_big" of pools is not allowed; expected {NAME}',
     "rename the key to train-big"),
    ("21", "    train:\n", "    Train:\n", f'26:5 SPC004 key "Train" of pools is not allowed; expected {NAME}',
     "rename the key to train"),
    ("23", "    train:\n", "    CPU:\n", f'26:5 SPC004 key "CPU" of pools is not allowed; expected {NAME}', ""),
    ("98", "    train:\n", "    größe:\n", f'26:5 SPC004 key "größe" of pools is not allowed; expected {NAME}',
     "rename the key to grosse"),
    ("98, not Latin", "    train:\n", "    模型:\n",
     f'26:5 SPC004 key "模型" of pools is not allowed; expected {NAME}', ""),
    ("a long name", "    train:\n", f"    {'a' * 41}:\n",
     f'26:5 SPC004 key "{"a" * 41}" of pools has length 41; expected at most 40', ""),
    ("19", "{timeSlicing: {replicas: 4}}", "{mig: {every: {mig-2g.10gb: 1}}}",
     '38:31 SPC004 key "mig-2g.10gb" of pools.infer.sharing.mig.every is not allowed; '
     "expected a MIG profile such as 2g.10gb", "rename the key to 2g.10gb"),
]  # fmt: skip
MISSING = [
    ("26", "  environment: prod\n", "", "4:1 SPC002 environment is missing in spec; expected dev, staging or prod", ""),
    ("25", SPEC[SPEC.index("  cloud:") : SPEC.index("  releases:")], "",
     "4:1 SPC002 cloud is missing in spec; expected a map with aws or none", ""),
    ("24", SPEC[SPEC.index("  pools:") : SPEC.index("  tenants:")], "",
     f"4:1 SPC002 pools is missing in spec; expected {POOLS}", ""),
    ("35", "apiVersion: gpuc.dev/v1alpha1\n", "",
     "1:1 SPC002 apiVersion is missing in the file; expected gpuc.dev/v1alpha1", "add apiVersion: gpuc.dev/v1alpha1"),
    ("purpose", "      purpose: training\n", "",
     "26:5 SPC002 purpose is missing in pools.train; expected general, training, inference or interactive", ""),
    ("83", ", why: object store", "",
     "49:13 SPC002 why is missing in tenants.nlp.network.egress[0]; "
     "expected the reason, a text on one line", ""),
]  # fmt: skip
TYPES = [
    ("04", "nodes: {max: 8}", "nodes: 8", "30:14 SPC003 pools.train.nodes is 8; expected a map such as {max: 8}", ""),
    ("05", "max: 8", 'max: "8"', '30:20 SPC003 pools.train.nodes.max is "8"; expected a whole number from 1 to 100000',
     "set pools.train.nodes.max to 8"),
    ("06", "instances: [p4d.24xlarge]", "instances: p4d.24xlarge",
     '28:18 SPC003 pools.train.instances is "p4d.24xlarge"; expected a list',
     "set pools.train.instances to [p4d.24xlarge]"),
    ("06 in a list of choices", "fabric: efa", "fabric: efa\n      purchase: On-Demand",
     '33:17 SPC003 pools.train.eks.purchase is "On-Demand"; expected a list of reserved, spot or on-demand',
     "set pools.train.eks.purchase to [on-demand]"),
    ("74", "train: {nodes: 4,", "train: {nodes: 1.5,",
     "54:24 SPC003 queues.nlp.quota.train.nodes is 1.5; expected a whole number from 1 to 100000", ""),
    ("82", "ports: [443]", 'ports: [{port: "443"}]',
     '49:49 SPC003 tenants.nlp.network.egress[0].ports[0].port is "443"; expected a whole number from 1 to 65535',
     "set tenants.nlp.network.egress[0].ports[0].port to 443"),
    ("82, short", "ports: [443]", 'ports: ["443"]',
     '49:42 SPC004 tenants.nlp.network.egress[0].ports[0] is "443"; '
     "expected a port number such as 443, or a map with port and protocol",
     "set tenants.nlp.network.egress[0].ports[0] to 443"),
    ("85", "  nodeAgents:\n    log-agent: {cpu", "  nodeAgents:\n    - name: log-agent\n      x: {cpu",
     "23:5 SPC003 nodeAgents is a list; expected a map by name such as {my-name: {cpu: 100m, memory: 200Mi}}",
     "write log-agent: in place of - name: log-agent, and so on for all entries of nodeAgents"),
    ("108", "members: {groups: [oidc:nlp], role: edit}", "members: [oidc:nlp]",
     '42:17 SPC003 tenants.nlp.members[0] is "oidc:nlp"; expected a map such as {groups: [oidc:research], role: edit}',
     ""),
    ("117", "namespaces:\n        nlp-train: {podSecurity: baseline}", "namespaces: [nlp-train]",
     "45:19 SPC003 tenants.nlp.namespaces is a list; "
     "expected a map by name such as {nlp-train: {podSecurity: baseline}}", ""),
    ("a number as quota", "cpu: {nodes: 2}", "cpu: 2",
     "55:14 SPC003 queues.nlp.quota.cpu is 2; expected a map such as {nodes: 2}", ""),
    ("the only required key", "runs: {longest: 72h, checkpointEvery: 30m}", "runs: 72h",
     '33:13 SPC003 pools.train.runs is "72h"; expected a map such as {longest: 72h, checkpointEvery: 30m}',
     "set pools.train.runs to {longest: 72h}"),
    ("a map and a list in one fix", "{ids: [cr-0a1b2c3d4e5f6a7b8]}", "cr-0a1b2c3d4e5f6a7b8",
     '29:27 SPC003 pools.train.eks.reservations is "cr-0a1b2c3d4e5f6a7b8"; '
     "expected a map such as {ids: [cr-0a1b2c3d4e5f6a7b8]}",
     "set pools.train.eks.reservations to {ids: [cr-0a1b2c3d4e5f6a7b8]}"),
    ("116, number", "{timeSlicing: {replicas: 4}}", "{timeSlicing: 4}",
     "38:30 SPC003 pools.infer.sharing.timeSlicing is 4; expected a map such as {replicas: 4}",
     "set pools.infer.sharing.timeSlicing to {replicas: 4}"),
    ("1 for true", "nodeLocalDns: true", "nodeLocalDns: 1",
     "16:27 SPC003 network.nodeLocalDns is 1; expected true or false", "set network.nodeLocalDns to true"),
    ("36", '"1.35"', "1.30",
     '6:15 SPC006 kubernetes is the number 1.30; expected a minor version in quotes such as "1.35"',
     'set kubernetes to "1.30"'),
    ("D22", "CC-1", "4711", "43:19 SPC006 tenants.nlp.costCentre is the number 4711; expected a string in quotes",
     'set tenants.nlp.costCentre to "4711"'),
    ("a release set", '"2026.08"', "2026.08",
     "17:13 SPC006 releases is the number 2026.08; expected a string in quotes", 'set releases to "2026.08"'),
    ("a list of reasons", "accept: {KRP004: more nodes are ordered}", "accept: [KRP004]",
     "57:15 SPC003 queues.nlp.accept is a list; "
     "expected a map of reasons by rule id such as {KRP004: more nodes are ordered}", ""),
]  # fmt: skip
FORMS = [
    ("07", "longest: 72h", "longest: 3d", f'33:23 SPC004 pools.train.runs.longest is "3d"; expected {DURATION}',
     "set pools.train.runs.longest to 72h"),
    ("07 with a fraction", "longest: 72h", "longest: 1.5 hours",
     f'33:23 SPC004 pools.train.runs.longest is "1.5 hours"; expected {DURATION}',
     "set pools.train.runs.longest to 1h30m"),
    ("07, not exact", "longest: 72h", "longest: 0.001m",
     f'33:23 SPC004 pools.train.runs.longest is "0.001m"; expected {DURATION}', ""),
    ("09", "500Gi", "500GB", '39:25 SPC004 pools.infer.eks.rootVolume is "500GB"; expected a size such as 200Gi',
     "set pools.infer.eks.rootVolume to 500G"),
    ("09 with a space", "500Gi", "500 GiB",
     '39:25 SPC004 pools.infer.eks.rootVolume is "500 GiB"; expected a size such as 200Gi',
     "set pools.infer.eks.rootVolume to 500Gi"),
    ("millicores", "cpu: 500m", "cpu: 0.5",
     "23:22 SPC004 nodeAgents.log-agent.cpu is 0.5; expected a number of millicores, as in 100m",
     "set nodeAgents.log-agent.cpu to 500m"),
    ("15", "[eu-central-1a]", "[euc1-az1]", f'12:15 SPC004 cloud.aws.zones[0] is "euc1-az1"; expected {ZONE}', ""),
    ("38", '"1.35"', "v1.34.2",
     '6:15 SPC004 kubernetes is "v1.34.2"; expected a minor version in quotes such as "1.35"',
     'set kubernetes to "1.34"'),
    ("46", "10.20.0.0/16", "huggingface.co",
     '49:20 SPC004 tenants.nlp.network.egress[0].cidr is "huggingface.co"; expected an IPv4 range such as 10.0.0.0/16; '
     "for host names, an entry of network.egress has names instead of cidr (with Cilium)", ""),
    ("56", "cr-0a1b2c3d4e5f6a7b8", "cr-0123",
     '29:34 SPC004 pools.train.eks.reservations.ids[0] is "cr-0123"; '
     "expected cr- and 8 to 17 hexadecimal digits, such as cr-0a1b2c3d4e5f6a7b8", ""),
    ("88", "region: eu-central-1", "region: eu-central-1a",
     '9:15 SPC004 cloud.aws.region is "eu-central-1a"; expected an AWS region such as eu-central-1',
     "set cloud.aws.region to eu-central-1"),
    ("90", "al2023@v20260815", "al2023", f'15:14 SPC004 cloud.aws.image is "al2023"; expected {IMAGE}', ""),
    ("93", "more nodes are ordered", '""',
     "57:24 SPC004 queues.nlp.accept.KRP004 is empty; expected the reason, a text on one line", ""),
    ("120", "https://git", "http://git",
     f'19:11 SPC004 delivery.repo is "http://git.example.com/fleet.git"; expected {REPO}',
     "set delivery.repo to https://git.example.com/fleet.git"),
]  # fmt: skip
CHOICES = [
    ("34", "gpuc.dev/v1alpha1", "v1", '1:13 SPC004 apiVersion is "v1"; expected gpuc.dev/v1alpha1',
     "set apiVersion to gpuc.dev/v1alpha1"),
    ("61", "host-access: deny", "host-access: enforce",
     '60:18 SPC004 policies.host-access is "enforce"; expected dryrun, warn or deny',
     "set policies.host-access to deny"),
    ("a longer word", "environment: prod", "environment: production",
     '5:16 SPC004 environment is "production"; expected dev, staging or prod', "set environment to prod"),
    ("81", "prune: confirm", "prune: true", f"21:12 SPC004 delivery.prune is true; expected {PRUNE}", ""),
    ("115", "fabric: efa", "fabric: EFA", '32:15 SPC004 pools.train.fabric is "EFA"; expected efa',
     "set pools.train.fabric to efa"),
    ("115, another network", "fabric: efa", "fabric: infiniband",
     '32:15 SPC004 pools.train.fabric is "infiniband"; expected efa', ""),
    ("116", "{timeSlicing: {replicas: 4}}", "timeSlicing",
     '38:16 SPC004 pools.infer.sharing is "timeSlicing"; '
     "expected exclusive, or a map such as {timeSlicing: {replicas: 4}}", ""),
    ("116, mig", "{timeSlicing: {replicas: 4}}", "mig",
     '38:16 SPC004 pools.infer.sharing is "mig"; expected exclusive, or a map such as {mig: {every: {1g.10gb: 7}}}',
     ""),
    ("116, unknown", "{timeSlicing: {replicas: 4}}", "shared",
     '38:16 SPC004 pools.infer.sharing is "shared"; expected exclusive, or a map with mig, timeSlicing or mps', ""),
    ("69", "borrow: 0", "borrow: 50%", f'54:35 SPC004 queues.nlp.quota.train.borrow is "50%"; expected {LIMIT}', ""),
    ("69 in another case", "borrow: 0", "borrow: All",
     f'54:35 SPC004 queues.nlp.quota.train.borrow is "All"; expected {LIMIT}',
     "set queues.nlp.quota.train.borrow to all"),
    ("69 in a map", "borrow: 0", "borrow: {1g.10gb: half}",
     '54:45 SPC003 queues.nlp.quota.train.borrow.1g.10gb is "half"; expected a whole number from 0 to 100000', ""),
]  # fmt: skip
RANGES = [
    ("62", "max: 8", "max: 0", "30:20 SPC004 pools.train.nodes.max is 0; expected a whole number from 1 to 100000", ""),
    ("65, 73", "weight: 2", "weight: 0",
     "56:15 SPC004 queues.nlp.weight is 0; expected a whole number from 1 to 1000", ""),
    ("65", "replicas: 4", "replicas: 1",
     "38:41 SPC004 pools.infer.sharing.timeSlicing.replicas is 1; expected a whole number from 2 to 64", ""),
    ("71", "nodes: 2}", "nodes: 0}",
     "55:22 SPC004 queues.nlp.quota.cpu.nodes is 0; expected a whole number from 1 to 100000", ""),
    ("79", "weight: 2", "weight: 5000",
     "56:15 SPC004 queues.nlp.weight is 5000; expected a whole number from 1 to 1000", ""),
    ("below 0 in a union", "borrow: 0", "borrow: -1",
     f"54:35 SPC004 queues.nlp.quota.train.borrow is -1; expected {LIMIT}", ""),
    ("122", "ports: [443]", "ports: [70000]",
     "49:42 SPC004 tenants.nlp.network.egress[0].ports[0] is 70000; "
     "expected a port number from 1 to 65535, or a map with port and protocol", ""),
    ("an empty list", "zones: [eu-central-1a]", "zones: []",
     "12:14 SPC004 cloud.aws.zones is empty; expected at least 1 entry", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "answer", "fix"), [row[1:] for row in (*KEYS, *MISSING, *TYPES, *FORMS, *CHOICES, *RANGES)]
)
def test_one_mistake_has_one_complete_answer(tmp_path: Path, old: str, new: str, answer: str, fix: str) -> None:
    assert old in SPEC
    assert answers(tmp_path, SPEC.replace(old, new, 1)) == [(answer, fix)]


def test_a_fix_never_names_a_key_that_the_map_has(tmp_path: Path) -> None:
    text = SPEC.replace("    train:\n", "    CPU:\n").replace("{max: 2}", "{max: 2, maxx: 2}")
    findings = found(tmp_path, text)
    assert {finding.fix for finding in findings} == {""}
    assert sorted(
        (place.message, place.mark.line, place.mark.column)
        for finding in findings
        for place in finding.related
        if place.mark
    ) == [("the key cpu of pools", 25, 5), ("the key max", 37, 15)]


def test_two_unknown_keys_are_not_renamed_to_the_same_key(tmp_path: Path) -> None:
    text = SPEC.replace("      purpose: training", "      purpse: training\n      purpos: training")
    assert [fix for _, fix in answers(tmp_path, text) if fix] == ["rename key purpse to purpose"]


def subclasses(model: type[SpecModel]) -> set[type[SpecModel]]:
    return {model}.union(*(subclasses(below) for below in model.__subclasses__()))


def test_the_maps_in_messages_are_valid() -> None:
    shown = [model for model in subclasses(SpecModel) if model.in_messages]
    assert len(shown) > 30
    for model in shown:
        model.model_validate(yaml.safe_load(model.in_messages))
