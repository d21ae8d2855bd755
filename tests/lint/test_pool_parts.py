"""Parts of namespaces in a pool without GPUs: more than the pool has, no part at all, and a missing PriorityClass."""

from collections.abc import Callable
from copy import deepcopy

from msgspec.structs import replace

from gpuc.lint.checks.quotas.namespace_quotas import namespace_quotas
from gpuc.lint.checks.references.unused import findings as unused
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.conftest import compiled_example


def hub(change: Callable[[Manifest], Manifest | None] = lambda manifest: manifest) -> ObjectSet:
    """Returns the objects of the hub's production, each changed or left out."""
    found = (change(manifest) for manifest in compiled_example("vega-prod").synced)
    return ObjectSet([manifest for manifest in found if manifest], is_complete=True)


def with_cpu(amount: str) -> Callable[[Manifest], Manifest]:
    def change(manifest: Manifest) -> Manifest:
        if (manifest.name, manifest.namespace) != ("gpuc-pool-web", "api-serving"):
            return manifest
        body = deepcopy(manifest.body)
        body["spec"]["hard"]["requests.cpu"] = amount
        return replace(manifest, body=body)

    return change


def test_parts_that_a_pool_has_are_no_finding() -> None:
    assert list(namespace_quotas(hub())) == []
    assert list(namespace_quotas(hub(with_cpu("24")))) == []


def test_parts_beyond_their_pool_are_a_finding_at_the_last_part() -> None:
    (found,) = namespace_quotas(hub(with_cpu("26")))
    assert (found.rule.id, found.manifest.name, found.path) == (
        "KRP004",
        "gpuc-pool-web",
        ("spec", "hard", "requests.cpu"),
    )
    assert "the sum of the quotas for NodePool web is 33" in found.message


def test_a_pool_without_parts_is_a_finding() -> None:
    def change(manifest: Manifest) -> Manifest | None:
        return None if (manifest.kind, manifest.name) == ("ResourceQuota", "gpuc-pool-web") else manifest

    (found,) = (found for found in unused(hub(change)) if found.manifest.name == "web")
    assert (found.rule.id, "no queue or namespace has quota" in found.message) == ("VER004", True)
    assert [found for found in unused(hub()) if found.manifest.name == "web"] == []
