"""Fences: what keeps a tenant in its place when it tries to leave it: roles, quotas, queues, taints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock

from gpuc.model import Cluster, Pool
from gpuc.rehearse.client import Client, Object, condition
from gpuc.rehearse.desk import Desk, most
from gpuc.rehearse.examples import GATE
from gpuc.rehearse.members import MemberRequest, member_requests
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.scenes import Scene
from gpuc.rehearse.scenes.observe import KARPENTER_WORDS
from gpuc.rehearse.session import Rehearsal
from gpuc.rehearse.verdict import judged

FAMILY = "fences"
FILLED_PODS = 32
"""A quota that takes more pods than this is not filled."""


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """Members by their roles, quotas to their last piece, nodes without a toleration, queues that are not there."""
    for tenant in cluster.tenants:
        for namespace in tenant.namespaces:
            desk = Desk(cluster, tenant, namespace)
            yield from (_of_wish(desk, wish) for wish in member_requests(desk))
        if tenant.namespaces:
            desk = Desk(cluster, tenant, tenant.namespaces[0])
            yield from _of_quota(desk)
            yield from _of_taints(desk)
            yield from _of_strays(desk)


def _of_wish(desk: Desk, wish: MemberRequest) -> Scene:
    tenant = desk.tenant
    group, space = tenant.spec.members.groups[0], desk.namespace.name
    words = f'cannot {wish.verb} resource "{wish.resource}"'
    expected = Outcome("admitted") if wish.granted else Outcome("refused", by="API server", words=words)

    def play(rehearsal: Rehearsal) -> Outcome:
        member = rehearsal.client.acting_as(f"member-of-{tenant.name}", group)
        return judged(member, lambda: wish.send(member))

    name = f"member of {tenant.name} ({tenant.spec.members.role}) in {space}: {wish.verb} {wish.name}"
    return Scene(FAMILY, name, (*tenant.path, "members"), expected, play, request=name, act="fences: members")


def _of_quota(desk: Desk) -> Iterator[Scene]:
    """Gated pods take all of a device that the namespace may have; the next piece is one too many."""
    one_at_a_time = Lock()  # the API server refuses pods whose quota others keep changing
    for resource in dict.fromkeys(name for pool in desk.gpu_pools for name in pool.gpu_resource_names):
        offering = [pool for pool in desk.gpu_pools if resource in pool.gpu_resource_names]
        pool = max(offering, key=lambda each: most(each, resource))
        ceiling, size = desk.tenant.ceiling.get(resource, 0), most(pool, resource)
        if 0 < ceiling <= FILLED_PODS * size:
            title = f"{desk.namespace.name} {ceiling} {resource} and one more"
            words = f"requested: requests.{resource}=1, used: requests.{resource}={ceiling}, limited"
            expected = Outcome("refused", by="quota", words=words)
            amounts = [*(size for _ in range(ceiling // size)), *([ceiling % size] if ceiling % size else []), 1]
            play = _filling(one_at_a_time, [_gated(desk, pool, resource, *each) for each in enumerate(amounts)])
            path = desk.tenant.path
            yield Scene(FAMILY, title, path, expected, play, pool=pool.name, request=title, act="fences: quota")


def unfilled(cluster: Cluster) -> list[str]:
    """Devices whose quota is not filled: it takes too many pods, or there is none."""
    devices = {name for pool in cluster.gpu_pools for name in pool.gpu_resource_names}
    desks = (Desk(cluster, tenant, space) for tenant in cluster.tenants for space in tenant.namespaces[:1])
    asked = {scene.request.partition(" and ")[0].rpartition(" ")[2] for desk in desks for scene in _of_quota(desk)}
    return sorted(devices - asked)


def _filling(one_at_a_time: Lock, pods: list[Object]) -> Callable[[Rehearsal], Outcome]:
    def play(rehearsal: Rehearsal) -> Outcome:
        client = rehearsal.client
        with one_at_a_time:
            seen = Outcome("admitted")
            for pod in pods:
                seen = judged(client, lambda: client.create(pod))  # noqa: B023
                if seen.verdict == "refused":
                    break
            _remove(client, pods)
        return seen

    return play


def _gated(desk: Desk, pool: Pool, resource: str, number: int, amount: int) -> Object:
    name = f"{resource.rpartition('/')[2].replace('.', '-')}-{number}"
    pod = desk.pod(name, pool, {resource: amount})
    pod["spec"]["schedulingGates"] = [dict(GATE)]
    return pod


def _of_taints(desk: Desk) -> Iterator[Scene]:
    """A pod that asks for a pool's device and tolerates nothing gets no node."""
    for pool in desk.gpu_pools:
        name = f"{desk.namespace.name} pod without a toleration on {pool.name}"
        pod = desk.pod(f"bare-{pool.name}", pool, {pool.gpu_resource_names[0]: 1})
        del pod["spec"]["tolerations"]
        by_scheduler = Outcome("pending", by="scheduler", words="untolerated taint")
        by_karpenter = Outcome("pending", by="Karpenter", words="did not tolerate taint")
        expected = by_scheduler if pool.is_static else by_karpenter
        path = (*pool.path, "sharing")
        play = _waiting(pod, pool)
        yield Scene(FAMILY, name, path, expected, play, pool=pool.name, request="no toleration", act="fences: nodes")


def _waiting(pod: Object, pool: Pool) -> Callable[[Rehearsal], Outcome]:
    def play(rehearsal: Rehearsal) -> Outcome:
        made = rehearsal.client.create(pod)
        told = ""

        def said() -> bool:
            nonlocal told
            told = _refusal(rehearsal, made, pool)
            return bool(told)

        try:
            rehearsal.until(f"a word about {pod['metadata']['name']}", said, rehearsal.timeouts.node_s)
            return Outcome("pending", by="scheduler" if pool.is_static else "Karpenter", words=told)
        finally:
            _remove(rehearsal.client, [made])

    return play


def _refusal(rehearsal: Rehearsal, made: Object, pool: Pool) -> str:
    """What the scheduler says where nodes stand ready, and Karpenter where it would have to start them."""
    if pool.is_static:
        metadata = made["metadata"]
        pod = rehearsal.client.get("v1", "Pod", metadata["name"], metadata["namespace"])
        return str(condition(pod, "PodScheduled").get("message", ""))
    told = (words for _, words in rehearsal.events_of(made) if words.startswith(KARPENTER_WORDS))
    return next(told, "")


def _of_strays(desk: Desk) -> Iterator[Scene]:
    """Where no policy refuses a Job in a queue that is not there, Kueue never admits it."""
    if desk.cluster.policy_stage("queue-required") == "deny":
        return
    foreign = [name for other in desk.cluster.tenants for name in other.local_queues if name not in desk.queues]
    for queue in ("", *foreign[:1]):
        name = f"{desk.namespace.name} Job " + (f"in queue {queue} of another tenant" if queue else "without a queue")
        expected = Outcome("pending", by="Kueue", words=f"LocalQueue {queue} doesn't exist")
        job = desk.job(desk.pod("stray"), queue)
        job["metadata"]["name"] += f"-{queue or 'none'}"
        del job["spec"]["suspend"]
        yield Scene(
            FAMILY, name, desk.tenant.path, expected, _unadmitted(job), queue=queue, request=name, act="fences: nodes"
        )


def _unadmitted(job: Object) -> Callable[[Rehearsal], Outcome]:
    def play(rehearsal: Rehearsal) -> Outcome:
        made = rehearsal.client.create(job)
        told: Object = {}

        def answered() -> bool:
            nonlocal told
            told = condition(rehearsal.workload_of(made) or {}, "QuotaReserved")
            return bool(told)

        try:
            rehearsal.until(f"answer to {job['metadata']['name']}", answered, rehearsal.timeouts.admission_s)
        finally:
            _remove(rehearsal.client, [made])
        return Outcome("admitted" if told["status"] == "True" else "pending", by="Kueue", words=told["message"])

    return play


def _remove(client: Client, made: list[Object]) -> None:
    for each in made:
        client.delete(each["apiVersion"], each["kind"], each["metadata"]["name"], each["metadata"]["namespace"])
