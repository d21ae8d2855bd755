"""A client of the Kubernetes API with the verbs that a rehearsal needs."""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from gpuc_rehearsal.connection import REQUEST_TIMEOUT_SECONDS, Connection
from gpuc_rehearsal.process import poll

Object = dict[str, Any]

ADMINISTRATORS = "system:masters"
"""The group whose members RBAC allows everything."""
FIELD_MANAGER = "gpuc"
DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
POLL_SECONDS = 0.1
MERGE_PATCH, APPLY_PATCH = "application/merge-patch+json", "application/apply-patch+yaml"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
CONFLICTS = 5
"""Number of retries after a conflict with another request."""


class ApiError(Exception):
    """The error if the API server refuses a request."""

    def __init__(self, code: int, message: str, reason: str = "", causes: Sequence[Object] = ()) -> None:
        super().__init__(f"{code} {reason}: {message}" if reason else f"{code}: {message}")
        self.code = code
        """HTTP status."""
        self.message = message
        """Message of the API server, of a policy, or of a webhook."""
        self.reason = reason
        """Reason in the Status object of the response, for example NotFound, Invalid, Forbidden or Conflict."""
        self.causes = causes
        """Causes in the Status object: the invalid fields, each with message, reason and usually field."""


class WaitError(Exception):
    """The error if a wait takes too long. The message describes the last state of the object."""


class Resource(NamedTuple):
    """The REST resource of a kind, for example "pods" for Pod, and whether the objects are in namespaces."""

    plural: str
    namespaced: bool


class Client:
    """A client of one API server. Several threads can use the client: each thread has its own connection."""

    def __init__(self, url: str, authority: Path, certificate: tuple[Path, Path]) -> None:
        """Creates a client. authority: the server's CA certificate. certificate: the client's certificate and key."""
        self._address = urlsplit(url).netloc
        self._context = ssl.create_default_context(cafile=str(authority))
        self._context.load_cert_chain(*map(str, certificate))
        self._connection = Connection(self._address, self._context)
        self._resources: dict[str, dict[str, Resource]] = {}
        self._impersonation: dict[str, str] = {}

    def impersonate(self, user: str, group: str) -> "Client":
        """Returns a client that sends all requests as this user, who is a member of only this group."""
        impersonating = copy(self)
        impersonating._connection = Connection(self._address, self._context)
        impersonating._impersonation = {"Impersonate-User": user, "Impersonate-Group": group}
        return impersonating

    def with_user(self, name: str) -> "Client":
        """Returns a client that acts as a user with administrator rights; this client if the name is empty."""
        return self.impersonate(name, ADMINISTRATORS) if name else self

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that the API server sent with the last response to the current thread."""
        return self._connection.warnings

    def apply(self, document: Object, *, dry_run: bool = False, manager: str = FIELD_MANAGER) -> Object:
        """Applies an object with server-side apply and strict validation of its fields.

        A field that another field manager owns is a conflict. Like all methods, raises ApiError if the server, a policy
        or a webhook refuses the request.
        """
        api, kind, name, namespace = address_of(document)
        query = {"fieldManager": manager, **_strict(dry_run)}
        return self.request("PATCH", self.path(api, kind, namespace, name), document, query, APPLY_PATCH)

    def create(self, document: Object, *, dry_run: bool = False) -> Object:
        """Creates an object, which may have metadata.generateName instead of a name."""
        query = {"fieldManager": FIELD_MANAGER, **_strict(dry_run)}
        path = self.path(document["apiVersion"], document["kind"], document["metadata"].get("namespace", ""))
        for _ in range(CONFLICTS):
            try:
                return self.request("POST", path, document, query)
            except ApiError as error:
                # Another request updated the same ResourceQuota at the same time, so the API server asks for a retry.
                if error.reason != "Conflict":
                    raise
        return self.request("POST", path, document, query)

    def get(self, api: str, kind: str, name: str, namespace: str = "") -> Object:
        """Returns an object. Raises ApiError, for example with the code 404 if the object does not exist."""
        return self.request("GET", self.path(api, kind, namespace, name))

    def find(self, api: str, kind: str, name: str, namespace: str = "") -> Object | None:
        """Returns an object, or None if the object does not exist."""
        with _missing_ignored():
            return self.get(api, kind, name, namespace)
        return None

    def list_all(self, api: str, kind: str, namespace: str = "", labels: str = "", fields: str = "") -> list[Object]:
        """Returns the objects of a kind in a namespace, or in all namespaces. `labels` and `fields` are selectors."""
        query = {"labelSelector": labels, "fieldSelector": fields}
        items: list[Object] = self.request("GET", self.path(api, kind, namespace), query=query)["items"]
        return [{"apiVersion": api, "kind": kind, **item} for item in items]

    def list_with_version(self, api: str, kind: str, namespace: str) -> tuple[list[Object], str]:
        """Returns the objects of a kind in a namespace, and the resource version from which a watch continues."""
        response = self.request("GET", self.path(api, kind, namespace))
        return response["items"], response["metadata"]["resourceVersion"]

    def patch_object(
        self, document: Object, changes: Object, subresource: str = "", *, dry_run: bool = False
    ) -> Object:
        """Changes an object with a JSON merge patch, and returns the changed object."""
        api, kind, name, namespace = address_of(document)
        path = self.path(api, kind, namespace, name, subresource)
        return self.request("PATCH", path, changes, _strict(dry_run), MERGE_PATCH)

    def delete(self, api: str, kind: str, name: str, namespace: str = "", *, now: bool = True) -> None:
        """Deletes an object, if it exists, and its dependents. With `now`, the pods get no grace period."""
        options = {"propagationPolicy": "Background"} | ({"gracePeriodSeconds": 0} if now else {})
        with _missing_ignored():
            self.request("DELETE", self.path(api, kind, namespace, name), options)

    def delete_object(self, document: Object) -> None:
        """Deletes an object and its dependents without a grace period, if the object exists."""
        self.delete(*address_of(document))

    def delete_all(self, api: str, kind: str, namespace: str = "", labels: str = "") -> None:
        """Deletes all objects of a kind and their dependents, without a grace period."""
        options = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
        self.request("DELETE", self.path(api, kind, namespace), options, {"labelSelector": labels})

    def remove_finalizers(self, document: Object) -> None:
        """Removes all finalizers of an object if the object exists."""
        with _missing_ignored():
            self.patch_object(document, {"metadata": {"finalizers": None}})

    def watch(self, api: str, kind: str, namespace: str, since: str, timeout_s: int) -> Iterator[tuple[str, Object]]:
        """Yields (type, object) for every change after the resource version `since`.

        The type is ADDED, MODIFIED, DELETED or BOOKMARK. The API server ends the watch after at most timeout_s seconds.

        Raises:
            ApiError: with code 410 if the resource version is too old.
        """
        query = {"watch": "1", "resourceVersion": since, "timeoutSeconds": timeout_s, "allowWatchBookmarks": "true"}
        address = f"{self.path(api, kind, namespace)}?{urlencode(query)}"
        patience = timeout_s + REQUEST_TIMEOUT_SECONDS
        with closing(http.client.HTTPSConnection(self._address, timeout=patience, context=self._context)) as connection:
            connection.request("GET", address, headers={"Accept": "application/json", **self._impersonation})
            response = connection.getresponse()
            if response.status >= 300:
                raise _refusal(response.status, _decoded(response.read()))
            while line := response.readline():
                event = _decoded(line)
                if event.get("type") == "ERROR":
                    raise _refusal(event.get("object", {}).get("code", 500), event.get("object", {}))
                yield event["type"], event["object"]

    def wait_for(
        self, api: str, kind: str, name: str, predicate: Callable[[Object], bool], timeout_s: float, namespace: str = ""
    ) -> Object:
        """Waits until the predicate is true for an object, and returns the object.

        Raises:
            WaitError: if the predicate is not true in time; the message contains the conditions of the object.
        """
        document: Object | None = None

        def is_there() -> bool:
            nonlocal document
            document = self.find(api, kind, name, namespace)
            return document is not None and predicate(document)

        is_found, state = poll(is_there, timeout_s, POLL_SECONDS), "does not exist"
        if document is not None:
            if is_found:
                return document
            state = f"{conditions_text(document)}; {json.dumps(document.get('status', {}))}"
        raise WaitError(f"{kind} {name} after {timeout_s:.0f} s: {state}")

    def serves(self, api: str, kind: str) -> bool:
        """Returns whether the API server serves the kind, that is, whether objects of the kind can be created."""
        try:
            self._resource(api, kind)
        except ApiError:
            return False
        return True

    def path(self, api: str, kind: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Returns the URL path of an object, or without a name of all objects of a kind.

        Raises:
            ApiError: with code 404 if the API server does not serve the kind.
        """
        resource = self._resource(api, kind)
        steps = [_api_root(api)]
        if resource.namespaced and namespace:
            steps.append(f"namespaces/{quote(namespace)}")
        steps += [resource.plural, *(quote(step, safe="") for step in (name, subresource) if step)]
        return "/".join(steps)

    def _resource(self, api: str, kind: str) -> Resource:
        if kind not in self._resources.get(api, {}):
            listed = self.request("GET", _api_root(api))["resources"]
            found = {row["kind"]: Resource(row["name"], row["namespaced"]) for row in listed if "/" not in row["name"]}
            self._resources[api] = found
        try:
            return self._resources[api][kind]
        except KeyError:
            raise ApiError(404, f"the API server does not serve the kind {kind} of {api}", "NotFound") from None

    def request(
        self,
        verb: str,
        path: str,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """Sends an object, as JSON, to a URL path, and returns the response. Empty query parameters are left out."""
        data = None if body is None else json.dumps(body).encode()
        given = urlencode({key: value for key, value in (query or {}).items() if value})
        return self.send(verb, f"{path}?{given}" if given else path, data, content_type)

    def send(self, verb: str, address: str, data: bytes | None, content_type: str) -> Object:
        """Sends bytes to a URL path, and returns the object in the response.

        Raises:
            ApiError: if the status code is an error, or if no response arrives in time (code 504).
        """
        headers = {"Content-Type": content_type, "Accept": "application/json", **self._impersonation}
        try:
            code, body = self._connection.answer(verb, address, data, headers)
        except TimeoutError:
            raise ApiError(504, f"no response within {REQUEST_TIMEOUT_SECONDS} s", "Timeout") from None
        response: Object = _decoded(body)
        if code >= 300:
            raise _refusal(code, response)
        return response


def _strict(dry_run: bool) -> dict[str, str]:
    return {"fieldValidation": "Strict", "dryRun": "All" if dry_run else ""}


def _refusal(code: int, status: Object) -> ApiError:
    causes = (status.get("details") or {}).get("causes") or ()
    return ApiError(code, status.get("message", ""), status.get("reason", ""), causes)


def address_of(document: Object) -> tuple[str, str, str, str]:
    """Returns (apiVersion, kind, name, namespace) of an object, for the methods of Client that take these arguments."""
    metadata = document["metadata"]
    return document["apiVersion"], document["kind"], metadata["name"], metadata.get("namespace", "")


def new_object(api: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Object:
    """Returns a new object. `fields` are fields such as spec; `metadata` adds, for example, labels to the metadata."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {}) | fields.pop("metadata", {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def condition(document: Object, kind: str) -> Object:
    """Returns the condition of the type `kind` in the status of an object; empty if there is no such condition."""
    conditions: list[Object] = document.get("status", {}).get("conditions") or []
    return next((candidate for candidate in conditions if candidate["type"] == kind), {})


def is_true(document: Object, kind: str) -> bool:
    """Returns whether the condition of the type `kind` in the status of an object has the status True."""
    return bool(condition(document, kind).get("status") == "True")


def reason_text(found: Object) -> str:
    """Returns a condition as text, for example "Started: the node is up": its reason and its message."""
    return f"{found.get('reason', '')}: {found.get('message', '')}"


def conditions_text(document: Object) -> str:
    """Returns all conditions of an object in one line, for example "Ready=True Started: the node is up"."""
    conditions = document.get("status", {}).get("conditions") or []
    return "; ".join(f"{row['type']}={row['status']} {reason_text(row)}" for row in conditions) or "no conditions"


@contextmanager
def _missing_ignored() -> Iterator[None]:
    """Ends the `with` block without an error if the API server does not have the object."""
    try:
        yield
    except ApiError as error:
        if error.code != 404:
            raise


def _api_root(api: str) -> str:
    return f"/apis/{api}" if "/" in api else f"/api/{api}"


def now_text() -> str:
    """Returns the current time in the format of Kubernetes, for example "2026-11-29T10:00:00Z"."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def event_time(event: Object) -> str:
    """Returns when an event occurred last, in the format of Kubernetes, for example "2026-11-29T10:00:00Z"."""
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"])


def _decoded(body: bytes) -> Object:
    try:
        response = json.loads(body)
    except ValueError:
        return {"message": body.decode(errors="replace").strip()}
    return response if isinstance(response, dict) else {"message": str(response)}
