"""Random objects for policies, generated from the strings in the policy: valid objects, odd objects, and updates.

The objects have only fields that the expressions of the policy use, with values from its strings and its sample. For
kinds without a generator, parts of the examples are combined. The same seed generates the same objects.
"""

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from gpuc.documents.reader import load_all_yaml
from gpuc.policy.library import VERDICTS, Policy, policies

Object = dict[str, Any]
SEED = 20261121
COUNT = 400
ODD_SHARE, UPDATE_SHARE, CREATE_SHARE = 0.35, 0.2, 0.15
USER_SHARES = 0.4, 0.4
"""The shares of requests that update and that create an object, if the policy reads the user of the request."""
MANY_KINDS = 6
_ODD: tuple[Any, ...] = (
    None, "", " ", "x", 0, 1, -1, 0.5, True, False, [], {}, [None], [{}], {"": ""}, {"x": None}, [[]], "\u0001x", 2**53,
)  # fmt: skip
QUEUE, LIMIT_RANGER = "kueue.x-k8s.io/queue-name", "kubernetes.io/limit-ranger"
_RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.10gb", "vpc.amazonaws.com/efa")
_IMAGES = ("registry.example.com/train:1", "nvcr.io/nvidia/pytorch:26.01", "docker.io/library/x", "nvcr.io.evil.com/x")
_QUANTITIES = (
    "{n}", "{n}.", "{n}.0", "{n}.5", "{n}000m", "{n}e0", "{n}E0", "{n}e3", "{n}E", "+{n}", "-{n}", "0{n}", "{n}k",
    "{n}Ki", "0.00{n}k", ".00{n}k", "{n}000000u", "{n}Mi", "{n}Gi", "{n}Ei", "{n}e-1", " {n}", "{n} ", "", "eight",
    "0", "0.0", "1n", "{n}m", "{n}K", "{n}0000000000000000000", "{n}T", "-0", "000", "{n}.000000000000000000", "e3",
    ".",
)  # fmt: skip


def objects(policy: Policy, count: int = COUNT, seed: int = SEED) -> list[Object]:
    """Returns objects and AdmissionReviews for a policy, with unique names."""
    maker = _Maker(policy, random.Random(f"{seed} {policy.name}"))
    return [maker.one(number) for number in range(count)]


def spellings(count: int) -> list[Any]:
    """Returns spellings of a quantity that Kubernetes reads as this integer."""
    return [count, *(spelling.format(n=count) for spelling in ("{n}", "+{n}", "0{n}", "{n}.", "{n}e0", "{n}E0"))]


def literals(policy: Policy) -> list[str]:
    """Returns all strings in the expressions and the sample of a policy, in order."""
    texts = [*policy.variables.values(), *(text for row in policy.validations for text in row.values())]
    found = [text for expression in texts for text in re.findall(r'"([^"]*)"', expression) if "\n" not in text]
    return list(dict.fromkeys([*(text for text in found if len(text) < 60), *_texts(policy.sample)]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _texts(child)


def _examples(policy: str) -> Iterator[Object]:
    """Yields the objects of the examples of a policy, old objects of updates included."""
    for verdict in VERDICTS:
        for document in load_all_yaml(policies()[policy].example_text(verdict)):
            request = document.get("request", {"object": document})
            yield from (request[key] for key in ("object", "oldObject") if request.get(key))


def _without_name(document: Object) -> Object:
    return {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "metadata")}


class _Maker:
    """Random parts of objects. It makes only parts that the policy uses."""

    def __init__(self, policy: Policy, chance: random.Random) -> None:
        self._chance = chance
        self._literals, self._sample = literals(policy), list(_texts(policy.sample))
        self._annotated = LIMIT_RANGER in self._literals
        self._types = [text for text in self._literals if text.endswith("_t")]
        self._taints: list[Object] = policy.sample.get("taints", [])
        self._pools: list[Object] = [pool for pool in policy.sample.get("pools", []) if isinstance(pool, dict)]
        self._parts: list[Object] = policy.sample.get("parts", [])
        self._known: list[Object] = policy.sample.get("known", [])
        self._valued = [row["key"] for row in policy.sample.get("values", []) if isinstance(row, dict)]
        self._users = [text for text in self._sample if text.startswith("system:serviceaccount:")]
        expressions = [*policy.variables.values(), *(row["expression"] for row in policy.validations)]
        self._words = set(re.findall(r"\w+", " ".join(expressions)))
        self._kinds = [(group, kind) for row in policy.kinds for group in row["apiGroups"] for kind in row["kinds"]]
        self._shapes: dict[str, Callable[[], Object]] = {
            "Pod": self._pod, "Job": self._job,
            "JobSet": self._job_set, "NetworkPolicy": self._network_policy,
            "Ingress": self._ingress,
            "Deployment": self._service, "StatefulSet": self._service, "LeaderWorkerSet": self._groups,
        }  # fmt: skip
        if len(self._kinds) > MANY_KINDS:  # objects of the other kinds differ only in their metadata
            self._kinds += 2 * [(group, kind) for group, kind in self._kinds if kind in self._shapes]
        self._examples: dict[str, list[Object]] = {}
        for document in _examples(policy.name):
            self._examples.setdefault(document["kind"], []).append(document)

    def one(self, number: int) -> Object:
        name = f"case-{number:04}"
        made = self._object(name)
        if self._chance.random() < ODD_SHARE:
            for _ in range(self._chance.choice((1, 1, 2))):
                self._spoil(made)
        draw = self._chance.random()
        updated, created = USER_SHARES if "userInfo" in self._words else (UPDATE_SHARE, CREATE_SHARE)
        if draw < updated:
            self._suspend(made)
            return self._review(made, name, "UPDATE", self._before(made, name))
        return self._review(made, name, "CREATE", None) if draw < updated + created else made

    def _review(self, made: Object, name: str, operation: str, before: Object | None) -> Object:
        group, _, version = made["apiVersion"].rpartition("/")
        kind = {"group": group, "version": version, "kind": made["kind"]}
        request = {"uid": name, "kind": kind, "operation": operation, "object": made}
        request |= {"name": name, "namespace": made["metadata"]["namespace"]}
        if "userInfo" in self._words:
            request["userInfo"] = {"username": self._chance.choice(("", "member", *self._users))}
        if before is not None:
            request["oldObject"] = before
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}

    def _before(self, made: Object, name: str) -> Object:
        """Returns the old object of an update: the same, a changed, or a different object."""
        draw = self._chance.random()
        if draw < 0.2:
            other = self._object(name)
            while other["kind"] != made["kind"]:
                other = self._object(name)
            return other
        before = copy.deepcopy(made)
        self._suspend(before)
        if "ownersBefore" in self._words and self._flag():
            before["metadata"] |= {field: self._map() for field in ("labels", "annotations")}
        if "isReleased" in self._words and self._chance.random() < 0.3:
            keys = [text for text in self._literals if text.endswith(("-uid", "cluster", "job-name"))]
            before["metadata"]["labels"] = {self._chance.choice(keys): "other"}
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": "1", "controller": True}
            for document in (made, before):
                document["metadata"]["ownerReferences"] = [owner]
        if isinstance(before.get("spec"), dict):
            self._weaken(before)
        if "gatedBefore" in self._words and isinstance(before.get("spec"), dict) and self._chance.random() < 0.3:
            before["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
            made["spec"].pop("schedulingGates", None)
            for document in (made, before):
                document["metadata"]["labels"] = {"kueue.x-k8s.io/podset": "main"} if self._flag() else {}
        if draw < 0.6:
            self._spoil(before)
        return before

    def _weaken(self, before: Object) -> None:
        """Changes the old object so that the update adds tolerations to a pod, or the replacement of pods to a Job."""
        if "tolerated" in self._words and self._flag():
            before["spec"].pop("tolerations", None)
        if "replacingBefore" in self._words and before["kind"] == "Job" and self._chance.random() < 0.3:
            before["spec"]["podReplacementPolicy"] = "Failed"

    def _suspend(self, document: Object) -> None:
        """Adds the field that suspends a job, in the forms of all kinds."""
        if "suspend" in self._words and isinstance(document.get("spec"), dict) and self._chance.random() < 0.7:
            suspend = {"suspend": self._chance.choice((True, True, False))}
            document["spec"] |= self._chance.choice((suspend, {"runPolicy": {}}, {"runPolicy": suspend}))
        if "parallelism" in self._words and isinstance(document.get("spec"), dict):
            self._resize(document["spec"])

    def _resize(self, spec: Object) -> None:
        """Adds the number of pods of a job, in the forms of all kinds."""
        if self._flag():
            spec["parallelism"] = self._chance.choice((0, 1, 2, 2))
        if self._flag():
            spec["completions"] = self._chance.choice((1, 2, 3))
        if self._chance.random() < 0.35:
            spec["pytorchReplicaSpecs"] = {"Worker": {"replicas": self._chance.choice((1, 2))}}

    def _object(self, name: str) -> Object:
        group, kind = self._chance.choice(self._kinds)
        version = {"jobset.x-k8s.io": "v1alpha2", "trainer.kubeflow.org": "v1alpha1"}.get(group, "v1")
        metadata: Object = {"name": name, "namespace": self._chance.choice(("research-train", "search-train"))}
        for field in ("labels", "annotations"):
            if field in self._words and self._chance.random() < 0.7:
                metadata[field] = self._map()
        if QUEUE in self._literals and self._chance.random() < 0.3:
            metadata["labels"] = metadata.get("labels", {}) | {QUEUE: metadata["namespace"].partition("-")[0]}
        if "ownerReferences" in self._words and self._chance.random() < 0.5:
            metadata["ownerReferences"] = self._some(self._owner)
        made = {"apiVersion": f"{group}/{version}" if group else version, "kind": kind, "metadata": metadata}
        if kind in ("ConfigMap", "Secret"):
            return made | {field: self._map() for field in ("data", "stringData") if self._chance.random() < 0.5}
        if kind in self._shapes:
            return made | {"spec": self._shapes[kind]()}
        bodies = [_without_name(document) for document in self._examples.get(kind, [])]
        return made | self._put_together(bodies)

    def _put_together(self, bodies: list[Object]) -> Object:
        """Merge bodies: take each field from one of them or leave it out; merge fields that are objects recursively."""
        made: Object = {}
        for key in dict.fromkeys(key for body in bodies for key in body):
            values = [body.get(key) for body in bodies]
            objects = [value for value in values if isinstance(value, dict)]
            value = self._put_together(objects) if objects else self._chance.choice(values)
            if value is not None:
                made[key] = copy.deepcopy(value)
        return made

    def _spoil(self, made: Object) -> None:
        """Removes or replace a random value. The identity of the object does not change."""
        places = list(_places(made))
        if places:
            holder, key = self._chance.choice(places)
            draw = self._chance.random()
            if draw < 0.25:
                del holder[key]
            elif draw < 0.55:
                holder[key] = None
            else:
                holder[key] = copy.deepcopy(self._chance.choice(_ODD))

    def _text(self) -> str:
        text = self._chance.choice(self._literals or ["x"])
        draw = self._chance.random()
        variants = (
            text.upper(),
            text + "x",
            "x" + text,
            text[:-1],
            text + "/y",
            text.partition("/")[0] + "/",
            "",
            "none",
        )
        return text if draw < 0.7 else self._chance.choice(variants)

    def _some(self, make: Callable[[], Any], most: int = 3) -> list[Any]:
        return [make() for _ in range(self._chance.choice((0, *range(1, most + 1))))]

    def _fields(self, makers: dict[str, Callable[[], Any]], share: float = 0.45) -> Object:
        wanted = [name for name in makers if name in self._words]
        return {name: makers[name]() for name in wanted if self._chance.random() < share}

    def _map(self) -> dict[str, str]:
        """Labels, annotations, data: mostly under keys that the policy reads, often with values of its parameters."""
        made = {self._key(): self._value() for _ in range(self._chance.choice((0, 1, 1, 2, 3)))}
        if LIMIT_RANGER in made and self._flag():
            made[LIMIT_RANGER] = self._defaults()
        if self._known and self._flag():
            made[self._chance.choice(self._valued)] = self._chance.choice((self._host(), self._host(), "true"))
        return made

    def _defaults(self) -> str:
        """Returns the annotation of the LimitRanger, or a similar text."""
        entries = [
            f"{self._chance.choice(('cpu', 'memory', 'cpu, memory', 'ephemeral-storage'))} "
            f"{self._chance.choice(('request', 'request', 'limit'))} for "
            f"{self._chance.choice(('container', 'container', 'init container'))} {self._name()}"
            for _ in range(self._chance.choice((1, 2, 3)))
        ]
        return f"LimitRanger plugin set: {'; '.join(entries)}"

    def _name(self) -> str:
        """Returns the name of a container. If the policy reads names in annotations, there are only a few names."""
        return self._chance.choice(("c1", "c10", "c2")) if self._annotated else f"c{self._chance.randrange(100)}"

    def _key(self) -> str:
        if self._known and self._chance.random() < 0.4:
            return self._annotation()
        keys = [text for text in self._literals if "/" in text.strip("/")]
        return self._chance.choice(keys) if keys and self._chance.random() < 0.7 else self._text()

    def _annotation(self) -> str:
        """Returns an annotation of a domain of the sample, or with the name of another domain at the place there."""
        row, other = self._chance.choice(self._known), self._chance.choice(self._known)
        name = self._chance.choice([*other["names"], *(f"{prefix}x" for prefix in other["prefixes"])])
        return row["domain"].ljust(len(other["domain"]), "x") + name

    def _value(self) -> str:
        return self._chance.choice(self._sample) if self._sample and self._chance.random() < 0.7 else self._text()

    def _flag(self) -> bool:
        return self._chance.random() < 0.5

    def _owner(self) -> Object:
        named = tuple(f"{text}v1" for text in self._literals if text.endswith("/"))
        groups = ("batch/v1", "evil.io/ray.io/v1", *named)
        made: Object = {"apiVersion": self._chance.choice(groups), "kind": "Any", "name": "x", "uid": "1"}
        return made | ({"controller": self._flag()} if self._chance.random() < 0.8 else {})

    def _pod_spec(self) -> Object:
        makers: dict[str, Callable[[], Any]] = {
            "nodeSelector": self._map, "nodeName": lambda: self._chance.choice(("", "ip-10-0-0-1")),
            "hostNetwork": self._flag, "hostPID": self._flag, "hostIPC": self._flag,
            "runtimeClassName": lambda: self._chance.choice(("", "nvidia")),
            "priorityClassName": self._value,
            "schedulingGates": lambda: [{"name": "kueue.x-k8s.io/admission" if self._flag() else self._text()}],
            "tolerations": lambda: self._some(self._toleration), "volumes": lambda: self._some(self._volume),
            "resourceClaims": lambda: self._some(lambda: {"name": "x"}, 1),
            "initContainers": lambda: self._some(self._container, 2),
            "ephemeralContainers": lambda: self._some(self._container, 1),
            "terminationGracePeriodSeconds": lambda: self._chance.choice((30, 600, 3600)),
        }  # fmt: skip
        if {"podUser", "contexts"} & self._words:
            makers["securityContext"] = self._security
        if self._pools and self._flag():
            return self._pod_of(self._chance.choice(self._pools)) | self._fields(makers, 0.1)
        made = {"containers": [self._container(), *self._some(self._container, 1)], **self._fields(makers, 0.3)}
        if "devices" in self._words and self._chance.random() < 0.3:
            self._tolerate_device(made)
        if "gpuJobs" in self._words and self._chance.random() < 0.1:
            part = self._chance.choice(("containers", "initContainers"))
            made[part] = [{"name": "amd", "image": _IMAGES[0], "resources": {"limits": {"amd.com/gpu": "1"}}}]
        return made

    def _tolerate_device(self, pod: Object) -> None:
        """Adds the toleration of the admission plugin ExtendedResourceToleration, for a requested or another device."""
        device = self._chance.choice((*_RESOURCES[2:], "example.com/fpga"))
        pod["tolerations"] = [{"key": device, "operator": "Exists"}]
        if self._flag():
            pod["containers"][0]["resources"] = {"requests": {device: "1"}}

    def _job(self) -> Object:
        replacing = {
            "podReplacementPolicy": lambda: self._chance.choice(("Failed", "TerminatingOrFailed")),
            "podFailurePolicy": lambda: {"rules": []},
        }
        return {"template": {"spec": self._pod_spec()}, **self._fields(replacing, 0.3)}

    def _pod_of(self, pool: Object) -> Object:
        """Returns a pod that selects a pool of the sample and requests a resource of the pool."""
        container = self._container()
        resource = self._chance.choice(pool.get("resources", ["nvidia.com/gpu"]))
        container["resources"] = {self._chance.choice(("limits", "requests")): {resource: "1"}}
        if self._chance.random() < 0.3:
            container["resources"].setdefault("limits", {}).update({self._chance.choice(("amd.com/gpu", "cpu")): "1"})
        return {"containers": [container], "nodeSelector": {"gpuc.dev/pool": pool["pool"]}}

    def _pod(self) -> Object:
        """Returns a pod; often one that perhaps tolerates, selects and has the PriorityClass of a pool without GPUs."""
        if not self._parts or self._chance.random() < (0.65 if "tolerated" in self._words else 0.5):
            return self._pod_spec()
        part = self._chance.choice(self._parts)
        keys = ("gpuc.dev/pool", "gpuc.dev/pool", "gpuc.dev/pool", "node.kubernetes.io/not-ready", "")
        key: Object = self._chance.choice((*({"key": text} for text in keys), {}))
        value: Object = self._chance.choice(
            ({"value": part["pool"]}, {"value": part["pool"]}, {"value": "other"}, {"value": ""}, {})
        )
        pools, classes = (part["pool"], "other"), (part["priorityClass"], "gpuc-pool-other")
        made: Object = {"containers": [{"name": "a", "image": _IMAGES[0]}]}
        if "schedulingGates" in self._words and self._chance.random() < 0.1:
            made["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
        if self._chance.random() < 0.8:
            made["tolerations"] = [{**key, **value}]
        if self._chance.random() < 0.7:
            made["nodeSelector"] = {"gpuc.dev/pool": self._chance.choice(pools)}
        if self._chance.random() < 0.7:
            made["priorityClassName"] = self._chance.choice(classes)
        return made

    def _service(self) -> Object:
        return {"template": {"spec": self._pod()}}

    def _ingress(self) -> Object:
        makers: dict[str, Callable[[], Any]] = {
            "defaultBackend": lambda: {"service": {"name": "x"}},
            "rules": lambda: self._some(lambda: {"host": self._host()} if self._chance.random() < 0.9 else {}, 2),
            "ingressClassName": self._value,
            "tls": lambda: self._some(lambda: {"hosts": self._some(self._host, 2)} if self._flag() else {}, 2),
        }
        return self._fields(makers)

    def _host(self) -> str:
        """Returns a value; for a suffix, a name or a regular expression that ends with it."""
        name = self._chance.choice((self._value(), *(text for text in self._sample if text.startswith("."))))
        return self._chance.choice(("www", "www", "~^x$|")) + name if name.startswith(".") else name

    def _groups(self) -> Object:
        parts = {"workerTemplate": self._service()["template"]}
        return {
            "leaderWorkerTemplate": parts | ({"leaderTemplate": self._service()["template"]} if self._flag() else {})
        }

    def _job_set(self) -> Object:
        jobs = [
            {"name": f"j{number}", "template": {"spec": self._job()}} for number in range(self._chance.choice((1, 2)))
        ]
        return {"replicatedJobs": jobs}

    def _toleration(self) -> Object:
        made: Object = {}
        if self._taints and self._chance.random() < 0.7:
            made |= self._chance.choice(self._taints)
        for name in ("key", "value"):
            if self._chance.random() < 0.2:
                made[name] = self._chance.choice((self._text(), "", "node.kubernetes.io/not-ready", "nvidia.com/gpu"))
        if made and self._chance.random() < 0.15:
            del made[self._chance.choice(list(made))]
        if self._flag():
            made["operator"] = self._chance.choice(("", "Equal", "Exists", "Lt"))
        return made | ({"effect": "NoSchedule"} if self._flag() else {})

    def _volume(self) -> Object:
        kinds: tuple[Object, ...] = (
            {"hostPath": {"path": "/dev"}}, {"emptyDir": {}}, {"image": {"reference": self._image()}},
        )  # fmt: skip
        named = [{text: {}} for text in self._literals if re.fullmatch(r"[a-z]+([A-Z][A-Za-z]+)*", text)]
        return {"name": "v", **self._chance.choice(named if named and self._flag() else kinds)}

    def _image(self) -> str:
        return self._chance.choice((*_IMAGES, *(f"{text}x:1" for text in self._literals if text.endswith("/"))))

    def _container(self) -> Object:
        makers: dict[str, Callable[[], Any]] = {
            "env": lambda: self._some(self._variable), "envFrom": lambda: self._some(self._source),
            "volumeMounts": lambda: self._some(self._mount),
            "ports": lambda: self._some(self._port), "securityContext": self._security,
            "resources": lambda: self._fields({"limits": self._amounts, "requests": self._amounts}, 0.7),
            "restartPolicy": lambda: self._chance.choice(("Always", "Never", "OnFailure")),
        }  # fmt: skip
        image = self._image() if "image" in self._words else _IMAGES[0]
        handlers = dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), self._handler)
        makers["lifecycle"] = lambda: self._fields({"postStart": self._handler, "preStop": self._handler}, 0.2)
        made = {"name": self._name(), "image": image, **self._fields(makers, 0.6)}
        return made | self._fields(handlers, 0.1)

    def _handler(self) -> Object:
        host = {"host": self._chance.choice(("", "10.0.0.1"))} if self._flag() else {}
        return {self._chance.choice(("httpGet", "tcpSocket", "exec")): {"port": 80, **host}}

    def _amounts(self) -> Object:
        named = [text for text in self._literals if re.fullmatch(r"[a-z.]+/[a-z0-9.-]+", text)]
        names = (*_RESOURCES, *named, *(f"{text}x" for text in (*self._literals, *named) if "/" in text))
        made = {self._chance.choice(names): self._quantity() for _ in range(self._chance.choice((0, 1, 2, 3)))}
        if self._annotated and self._flag():
            made |= {"cpu": "1", "memory": "1Gi"}
        return made

    def _quantity(self) -> Any:
        number = self._chance.choice((0, 1, 2, 3, 4, 8, 9, 16))
        draw = self._chance.random()
        if draw < 0.5:
            return number if draw < 0.15 else str(number)
        if draw < 0.54:
            return self._chance.choice((0.5, 1.0, 8.0, -1, True, 10**12))
        return self._chance.choice(_QUANTITIES).format(n=number)

    def _variable(self) -> Object:
        value = {"value": self._chance.choice((self._text(), "all", "void", "none", "0"))}
        source: Object = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
        return {"name": self._text(), **self._chance.choice((value, value, source, {}))}

    def _source(self) -> Object:
        kind = self._chance.choice(("configMapRef", "configMapRef", "secretRef"))
        made: Object = {kind: {"name": self._value()}}
        return made | ({"prefix": self._text()[: self._chance.randrange(9)]} if self._chance.random() < 0.4 else {})

    def _port(self) -> Object:
        return {"containerPort": 80, **({"hostPort": self._chance.choice((0, 80))} if self._flag() else {})}

    def _mount(self) -> Object:
        return {"name": "x", "mountPath": self._chance.choice((self._text(), "/dev/shm", "/dev/shm/", "/data"))}

    def _security(self) -> Object:
        makers: dict[str, Callable[[], Any]] = {
            "runAsUser": lambda: self._chance.choice((0, 1000, 1000, 1000, 2000)),
            "seccompProfile": lambda: {"type": self._chance.choice(("Unconfined", "RuntimeDefault", "Localhost"))},
            "appArmorProfile": lambda: {"type": self._chance.choice(("Unconfined", "RuntimeDefault", "Localhost"))},
            "procMount": lambda: self._chance.choice(("Default", "Unmasked")),
            "seLinuxOptions": lambda: {
                self._chance.choice(("type", "user", "level")): self._chance.choice((self._text(), "", *self._types))
            },
            "privileged": self._flag,
            "capabilities": lambda: self._fields({"add": lambda: self._some(self._text)}, 0.9),
        }
        return self._fields(makers, 0.6)

    def _network_policy(self) -> Object:
        makers: dict[str, Callable[[], Any]] = {
            "ingress": lambda: self._some(lambda: self._rule("from"), 2),
            "egress": lambda: self._some(lambda: self._rule("to"), 2),
        }
        return {"podSelector": {}, **self._fields(makers, 0.7)}

    def _rule(self, side: str) -> Object:
        made: Object = {side: self._some(self._peer, 2)} if self._chance.random() < 0.85 else {}
        return made | ({"ports": [{"port": 80}]} if self._flag() else {})

    def _peer(self) -> Object:
        selector = self._chance.choice(({"matchLabels": self._map()}, {}, {"matchLabels": self._pinned()}))
        kinds: tuple[Object, ...] = (
            {"ipBlock": self._block()}, {"namespaceSelector": selector}, {"namespaceSelector": selector},
            {"podSelector": {}}, {"podSelector": {}, "namespaceSelector": selector}, {},
        )  # fmt: skip
        return copy.deepcopy(self._chance.choice(kinds))

    def _block(self) -> Object:
        """Returns an ipBlock: often one that the sample parameters of network-policy-fence declare, or almost."""
        cidr = self._chance.choice((self._text(), "10.20.0.0/16", "10.40.0.0/24", "0.0.0.0/0", "0.0.0.0/0"))
        chosen = self._chance.choice(((), ("10.0.0.0/8",), ("100.64.0.0/10",), ("10.0.0.0/8", "100.64.0.0/10")))
        return {"cidr": cidr, "except": list(chosen)} if chosen else {"cidr": cidr}

    def _pinned(self) -> dict[str, str]:
        key = self._chance.choice(("gpuc.dev/tenant", "kubernetes.io/metadata.name"))
        declared = ("research", "ingress-nginx", "kube-system")  # in the sample parameters of network-policy-fence
        return {key: self._chance.choice((*declared, self._chance.choice(self._literals)))}


def _places(made: Object) -> Iterator[tuple[Any, Any]]:
    """Yield (map or list, key or index) of all values that may change: not the names and the identity of the object."""
    fixed = {"apiVersion", "kind"}
    waiting: list[Any] = [(made, [key for key in made if key not in {*fixed, "metadata"}])]
    waiting.append((made["metadata"], [key for key in made["metadata"] if key not in ("name", "namespace")]))
    while waiting:
        holder, keys = waiting.pop()
        for key in keys:
            yield holder, key
            child = holder[key]
            if isinstance(child, dict):
                waiting.append((child, list(child)))
            elif isinstance(child, list):
                waiting.append((child, list(range(len(child)))))


def text(made: Object) -> str:
    """Formats an object on one line, for messages and comparisons."""
    return json.dumps(made, sort_keys=True)
