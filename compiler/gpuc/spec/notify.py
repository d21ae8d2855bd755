"""Notifications: the receivers of alerts, and the routes that choose a receiver for an alert."""

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from gpuc.spec.base import Name, OneOf, Shorthand, SpecModel
from gpuc.spec.form import Form, Words, text_error

Severity = Annotated[Literal["critical", "warning", "info"], Words("critical, warning or info")]
_SECRET = r"^(?![0-9a-z]{32}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
"""The name of a Secret. Integration keys of PagerDuty are 32 letters and digits."""


def _secret_name(value: Any) -> Any:
    """Returns the name of a Secret. The error does not repeat the text, which may be the value of a Secret."""
    if isinstance(value, str) and not re.fullmatch(_SECRET, value):
        expected = "the name of a Secret such as gpu-slack; its value stays outside of Git"
        raise text_error(expected, actual="a text that is no name")
    return value


SecretName = Annotated[
    str,
    BeforeValidator(_secret_name),
    Field(max_length=253),
    WithJsonSchema({"type": "string", "pattern": _SECRET, "maxLength": 253}),
]
Mailbox = Annotated[str, Form(r"^[^@\s<>,;]+@[A-Za-z0-9.-]+$", "one address such as gpu@example.com")]


class SecretKey(Shorthand):
    """One key of a Secret in the namespace of Prometheus. gpuc does not create the Secret."""

    in_messages: ClassVar[str] = "gpu-slack"
    short_for: ClassVar[str] = "name"

    name: SecretName
    """The name of the Secret."""

    key: Annotated[str | None, Form(r"^[A-Za-z0-9._-]+$", "a key of a Secret such as url")] = None
    """The key in the Secret. Default: url for slack and webhook, routingKey for pagerduty, password for email."""


class Integration(SpecModel):
    """Base class of the ways to send a notification, such as Slack or e-mail. A Secret has the credentials."""

    in_messages: ClassVar[str] = "{secret: gpu-alerts}"
    default_key: ClassVar[str] = "url"
    """The key of the Secret if the spec names none."""

    secret: SecretKey
    """The Secret with the URL, the key or the password; its name, or a map with its name and a key."""


class Slack(Integration):
    """A channel of Slack. The value in the Secret is the URL of an incoming webhook."""

    in_messages: ClassVar[str] = '{channel: "#gpu-platform", secret: gpu-slack}'

    channel: Annotated[str, Form(r"^[#@]?[A-Za-z0-9._-]+$", "a channel such as #gpu-platform")]
    """The channel, for example #gpu-platform."""


class Webhook(Integration):
    """An HTTP service that accepts the JSON of Alertmanager. The value in the Secret is the URL of the service."""


class PagerDuty(Integration):
    """A service of PagerDuty. The value in the Secret is the integration key of the Events API v2."""

    default_key: ClassVar[str] = "routingKey"


class Email(Integration):
    """An e-mail address. The value in the Secret is the password for the mail server."""

    in_messages: ClassVar[str] = (
        "{to: gpu@example.com, sender: alerts@example.com, server: smtp.example.com:587, secret: gpu-mail}"
    )
    default_key: ClassVar[str] = "password"

    to: Mailbox
    """The address that gets the notifications."""

    sender: Mailbox
    """The address of the sender, which is also the user name at the server."""

    server: Annotated[str, Form(r"^[A-Za-z0-9.-]+:\d{1,5}$", "a server with its port such as smtp.example.com:587")]
    """The SMTP server with its port. Alertmanager uses TLS."""


class Receiver(OneOf):
    """Where notifications go: exactly one of slack, webhook, pagerduty and email."""

    in_messages: ClassVar[str] = '{slack: {channel: "#gpu-platform", secret: gpu-slack}}'
    one_of = ("slack", "webhook", "pagerduty", "email")

    slack: Slack | None = None
    """A channel of Slack."""

    webhook: Webhook | None = None
    """A service that takes the JSON of Alertmanager."""

    pagerduty: PagerDuty | None = None
    """A service of PagerDuty."""

    email: Email | None = None
    """An e-mail address."""

    @property
    def integration(self) -> Integration:
        """The slack, webhook, pagerduty or email of the receiver: whichever the spec sets."""
        present = (self.slack, self.webhook, self.pagerduty, self.email)
        return next(integration for integration in present if integration is not None)


class Route(SpecModel):
    """Selects the alerts that a receiver gets. An alert goes to at most one receiver."""

    in_messages: ClassVar[str] = "{to: on-call, severities: [critical]}"

    to: Name
    """The name of the receiver."""

    severities: Annotated[list[Severity], Field(min_length=1)] = ["critical", "warning"]
    """The severities of the alerts. Default: critical and warning."""

    tenant: Name | None = None
    """The tenant whose alerts the receiver gets: idle GPUs in its namespaces, and workloads that wait in its queues.
    The platform gets alerts about a queue of several tenants. Default: all alerts that no route of a tenant takes."""


class Notify(SpecModel):
    """The receivers of alerts, and the routes to them, which gpuc writes as an AlertmanagerConfig."""

    in_messages: ClassVar[str] = (
        "{receivers: {on-call: {pagerduty: {secret: gpu-pagerduty}}}, routes: [{to: on-call, severities: [critical]}]}"
    )

    receivers: Annotated[dict[Name, Receiver], Field(min_length=1)]
    """Receivers by name."""

    routes: Annotated[list[Route], Field(min_length=1)]
    """Which alerts each receiver gets. Alerts that no route takes are only in Alertmanager."""
