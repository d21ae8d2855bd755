"""The plan of two sets of manifests, which may have old versions of an API, and fields of wrong types."""

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.plan.change import Change
from gpuc.plan.impact import Impact
from gpuc.plan.planner import plan_cluster
from gpuc.plan.state import State, manifest_state, state_after
from tests.lanes import drawn
from tests.plan.cases import HEAD, compiled
from tests.values import changed, paths

QUEUE = "apiVersion: kueue.x-k8s.io/{version}\nkind: ClusterQueue\nmetadata: {{name: red}}\nspec: {spec}\n"
OBJECT = "apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: red-main}}\n"
FLAVOR = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: a100}\n"
VARIABLES = OBJECT.format(api="v1", kind="ConfigMap", name="nccl-efa")
LIMITS = OBJECT.format(api="v1", kind="LimitRange", name="limits")
QUOTA = OBJECT.format(api="v1", kind="ResourceQuota", name="quota")
CHART = (
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: prod-{name}, namespace: {namespace}}}\n"
    "spec: {{source: {{chart: {name}, targetRevision: 1.0.0}}}}\n---\n"
)
WRONG: tuple[Any, ...] = (
    None, 5, 1.5, True, "abc", "", [], {}, ["a"], [["a"]], [{"a": 1}], {"a": {"b": 1}}, [None], "-1", {"x": None},
)  # fmt: skip
"""Values of which at least one is wrong for each field."""


def queue(version: str, spec: str) -> str:
    return QUEUE.format(version=version, spec=spec)


FLAVORED = queue("v1beta2", "{resourceGroups: [{coveredResources: [cpu], flavors: [{name: a100, resources: []}]}]}")


def cohort(spec: str) -> str:
    return f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {{name: all}}\nspec: {spec}\n---\n"


def groups(count: int) -> str:
    resources = f"[{{name: nvidia.com/gpu, nominalQuota: {count}}}]"
    return f"[{{coveredResources: [nvidia.com/gpu], flavors: [{{name: a100, resources: {resources}}}]}}]"


IN_COHORT = f"{FLAVOR}---\n{queue('v1beta2', f'{{cohortName: all, resourceGroups: {groups(4)}}}')}"
CLASSES = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: train}\n---\n"


def namespace(team: str) -> str:
    """A namespace with a label, and its LocalQueue."""
    local = OBJECT.format(api="kueue.x-k8s.io/v1beta2", kind="LocalQueue", name="red")
    return (
        f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: red-main, labels: {{team: {team}}}}}\n---\n"
        f"{local}spec: {{clusterQueue: red}}\n---\n"
    )


def own_pool(requirement: str) -> str:
    """A NodePool with a requirement."""
    reference = "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: train}"
    name = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: train}\n"
    return f"{name}spec: {{template: {{spec: {{{reference}, requirements: [{requirement}]}}}}}}"


def release(version: str) -> str:
    """A HelmRelease of kueue."""
    name = OBJECT.format(api="helm.toolkit.fluxcd.io/v2", kind="HelmRelease", name="kueue")
    return f"{name}spec: {{chart: {{spec: {{chart: kueue, version: {version}}}}}}}"


def pool(replicas: int) -> str:
    """A static NodePool with a limit of 4 nodes."""
    name = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: train}\n"
    return f"{name}spec: {{replicas: {replicas}, limits: {{nodes: 4}}}}"


def validation(policy: str) -> str:
    name = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: images}\n"
    return f"{name}spec: {{failurePolicy: {policy}}}"


def charts(namespace: str) -> str:
    return "".join(CHART.format(name=name, namespace=namespace) for name in ("kueue", "jobset"))


def job(image: str) -> str:
    metadata = "{generateName: train-, namespace: red-main}"
    template = f"{{spec: {{containers: [{{name: main, image: {image}}}]}}}}"
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {metadata}\nspec: {{template: {template}}}\n---\n"


def kueue(kind: str, name: str, spec: str) -> str:
    return f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n---\n"


CHECK = kueue(
    "AdmissionCheck",
    "capacity",
    "{controllerName: kueue.x-k8s.io/provisioning-request, parameters: {apiGroup: kueue.x-k8s.io, "
    "kind: ProvisioningRequestConfig, name: capacity}}",
)
PARAMETERS = kueue("ProvisioningRequestConfig", "capacity", "{provisioningClassName: a}")
CHECKED = kueue("ClusterQueue", "main", "{admissionChecksStrategy: {admissionChecks: [{name: capacity}]}}")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # The cohort is the same: the field has another name.
        (queue("v1beta1", "{cohort: all}"), queue("v1beta2", "{cohortName: all}"), {}),
        (queue("v1beta1", "{cohort: all}"), queue("v1beta1", "{}"), {"IMP212": "leaves cohort all"}),
        (queue("v1beta1", "{}"), queue("v1beta1", "{cohort: all}"), {"IMP213": "joins cohort all"}),
        # A queue without a weight has the weight 1.
        (queue("v1beta2", "{cohortName: all}"), queue("v1beta2", "{cohortName: all, fairSharing: {weight: 1}}"), {}),
        (
            queue("v1beta2", "{cohortName: all}"),
            queue("v1beta2", "{cohortName: all, fairSharing: {weight: 3}}"),
            {"IMP231": "weight in fair sharing grows from 1 to 3: other queues get less idle quota"},
        ),
        (queue("v1beta2", "{}"), queue("v1beta2", "{fairSharing: {weight: 3}}"), {}),
        # Objects without a spec or data get it.
        (
            FLAVOR,
            FLAVOR + "spec: {nodeLabels: {pool: a100}}",
            {"IMP225": "workloads select nodes with pool=a100 instead of any labels"},
        ),
        (
            VARIABLES,
            VARIABLES + "data: {NCCL_DEBUG: INFO}",
            {"IMP259": "containers that start get NCCL_DEBUG=INFO"},
        ),
        (
            LIMITS + "spec: {limits: [{type: Container, default: {cpu: 1}}]}",
            LIMITS
            + "spec: {limits: [{type: Container, default: {cpu: 1000m}, defaultRequest: {cpu: 100m, memory: 1Gi}}]}",
            {"IMP260": "containers without a request get cpu 100m and memory 1Gi"},
        ),
        (
            LIMITS + "spec: {limits: [{type: Pod, max: {cpu: 8, memory: 1Ti}}]}",
            LIMITS + "spec: {limits: [{type: Pod, max: {cpu: 4}}]}",
            {"IMP260": "pods may have at most cpu 4 instead of 8, pods have no maximum of memory"},
        ),
        # Limits of less than one cpu, and limits in bytes.
        (
            QUOTA + "spec: {hard: {limits.cpu: 900m, limits.memory: 4Gi, requests.storage: 1Ti}}",
            QUOTA + "spec: {hard: {limits.cpu: 100m, limits.memory: 2Gi, requests.storage: 512Gi}}",
            {
                "IMP256": "the ResourceQuota allows at most 0.1 instead of 0.9 cpu in limits, at most 2Gi instead of "
                "4Gi of memory in limits, at most 512Gi instead of 1Ti of storage"
            },
        ),
        (
            QUOTA + "spec: {hard: {pods: 5}}",
            QUOTA + "spec: {hard: {pods: 5, requests.nvidia.com/gpu: 1}}",
            {"IMP256": "the ResourceQuota allows at most 1 GPU instead of any amount"},
        ),
        # Kueue keeps a removed flavor until no queue names it.
        (FLAVOR + "---\n" + FLAVORED, FLAVORED, {}),
        (FLAVOR, FLAVORED, {"IMP216": ""}),
        (VARIABLES, VARIABLES + "---\n" + FLAVORED, {"IMP216": "", "IMP220": "ResourceFlavor a100 does not exist"}),
        # No finalizer keeps the parameters of a check.
        (
            CHECK + PARAMETERS + CHECKED,
            CHECK + CHECKED,
            {"IMP220": "the parameters of AdmissionCheck capacity name no ProvisioningRequestConfig"},
        ),
        (CHECK + PARAMETERS + CHECKED, PARAMETERS + CHECKED, {}),
        # A toleration alone keeps no running pod away.
        (FLAVOR, FLAVOR + "spec: {tolerations: [{key: team}]}", {}),
        (
            FLAVOR,
            FLAVOR + "spec: {tolerations: [{key: team}], nodeTaints: [{key: team, effect: NoSchedule}]}",
            {"IMP225": "workloads that start tolerate team"},
        ),
        (
            validation("Ignore"),
            validation("Fail"),
            {"IMP304": "its failurePolicy becomes Fail"},
        ),
        # Cohorts: quota of their own, and a cycle.
        (
            cohort(f"{{resourceGroups: {groups(64)}}}") + IN_COHORT,
            cohort(f"{{resourceGroups: {groups(8)}}}") + IN_COHORT,
            {"IMP214": "has another quota: its queues can borrow less"},
        ),
        (
            cohort(f"{{resourceGroups: {groups(64)}}}") + IN_COHORT,
            IN_COHORT,
            {"IMP214": "is removed: its queues can borrow less"},
        ),
        (cohort("{}") + IN_COHORT, IN_COHORT, {}),
        (
            cohort("{}") + IN_COHORT,
            cohort("{parentName: all}") + IN_COHORT,
            {"IMP214": "gets parent all", "IMP220": "the parents of Cohort all form a cycle"},
        ),
        # The resource groups, the selector and the flavors of a queue.
        (
            queue("v1beta2", "{resourceGroups: [{coveredResources: [cpu, nvidia.com/gpu]}]}"),
            queue("v1beta2", "{resourceGroups: [{coveredResources: [nvidia.com/gpu]}]}"),
            {"IMP243": "no workload that requests cpu is admitted any more"},
        ),
        (
            namespace("a") + queue("v1beta2", "{namespaceSelector: {matchLabels: {team: a}}}"),
            namespace("b") + queue("v1beta2", "{namespaceSelector: {matchLabels: {team: a}}}"),
            {"IMP241": "accepts no workloads of red-main any more"},
        ),
        (
            queue("v1beta2", "{flavorFungibility: {whenCanPreempt: TryNextFlavor}}"),
            queue("v1beta2", "{flavorFungibility: {whenCanPreempt: MayStopSearch}}"),
            {"IMP226": "Kueue preempts on a flavor before it tries the others"},
        ),
        (
            queue("v1beta2", "{flavorFungibility: {whenCanPreempt: MayStopSearch}}"),
            queue("v1beta2", "{}"),
            {"IMP227": "Kueue preempts on a flavor only after it has tried the others"},
        ),
        # A node class, and a label that only a requirement sets.
        (
            CLASSES + own_pool("{key: tier, operator: In, values: [gold]}"),
            own_pool("{key: tier, operator: In, values: [gold]}"),
            {"IMP102": "EC2NodeClass train is removed: Karpenter starts no new node, and nodes that run stay"},
        ),
        (
            own_pool("{key: tier, operator: In, values: [gold]}"),
            own_pool(""),
            {"IMP108": "new nodes have no label tier: pods that select it wait"},
        ),
        (own_pool("{key: tier, operator: NotIn, values: [gold]}"), own_pool(""), {}),
        (release("0.19.1"), release("0.19.2"), {"IMP601": "version 0.19.2 instead of 0.19.1; its programs restart"}),
        (release("0.19.2"), release("0.19.1"), {"IMP602": "older version 0.19.1 instead of 0.19.2"}),
        # A static pool starts nodes up to its limit.
        (
            pool(3),
            pool(6),
            {
                "IMP101": "Karpenter starts up to 4 instead of 3 nodes",
                "IMP107": "starts 1 node at once; 4 instead of 3 nodes always run, because the limit allows no more",
            },
        ),
        (pool(6), pool(5), {}),
        (pool(6), pool(2), {"IMP103": "deletes 2 nodes of 4 that always run"}),
        # The Applications of the same charts move to another namespace: no chart is new, and none is removed.
        (charts("argocd"), charts("delivery"), {"IMP527": ""}),
        # kubectl creates an object without a namespace in the namespace default.
        (VARIABLES.replace(", namespace: red-main", ""), VARIABLES.replace("red-main", "default"), {}),
        # The API server gives the same prefix other names.
        (job("one") + job("two"), job("one") + job("two") + job("three"), {}),
    ],
)
def test_impacts(before: str, after: str, expected: dict[str, str], tmp_path: Path) -> None:
    found = {impact.id: impact.message for impact in impacts(tmp_path, before, after)}
    assert found.keys() == expected.keys()
    assert all(expected[identifier] in message for identifier, message in found.items()), found


def impacts(folder: Path, before: str, after: str) -> tuple[Impact, ...]:
    """The impacts of a change of manifests."""
    before_file, after_file = folder / "before.yaml", folder / "after.yaml"
    before_file.write_text(before)
    after_file.write_text(after)
    return plan_cluster(Change(manifest_state(str(before_file))[0], manifest_state(str(after_file))[0])).impacts


@cache
def objects() -> dict[str, Manifest]:
    """An object of each kind that gpuc writes."""
    with TemporaryDirectory() as folder:
        state = state_after(compiled(Path(folder), f"{HEAD}extends: [training.yaml]"))
    return {manifest.kind: manifest for manifest in state.objects.manifests}


@drawn(150)
@given(data=st.data())
def test_a_plan_of_wrong_objects_has_no_internal_error(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(objects())), min_size=1, max_size=4, unique=True))
    valid = [objects()[kind] for kind in kinds]
    wrong = [replace(manifest, body=data.draw(st.sampled_from(edits(manifest.kind)))()) for manifest in valid]
    states = [State("", ObjectSet(manifests, is_complete=False)) for manifests in (valid, wrong)]
    found = [plan_cluster(Change(*pair)) for pair in (states, states[::-1])]
    edited = {str(new) for old, new in zip(valid, wrong, strict=True) if old.document() != new.document()}
    for plan in found:
        assert {str(pair.manifest) for pair in plan.objects} <= edited
        assert all(impact.subject and impact.message and "\n" not in impact.message for impact in plan.impacts)


@cache
def edits(kind: str) -> list[Callable[[], Any]]:
    """The document of a kind as it is, or with a wrong value at one place, for each place and each wrong value."""
    body = objects()[kind].body
    return [lambda: body, *(partial(changed, body, *edit) for edit in product(paths(body), WRONG))]
