"""Receivers name Secrets, and never have their values."""

from typing import Any

import pytest
from pydantic import ValidationError

from gpuc.spec.notify import PagerDuty, Receiver, Slack

HOOK = "https://hooks.slack.example/services/T0/B0/x"
INTEGRATION_KEY = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize("secret", [HOOK, INTEGRATION_KEY, {"name": HOOK}, {"name": INTEGRATION_KEY, "key": "url"}])
def test_the_value_of_a_secret_is_refused_and_not_repeated(secret: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        PagerDuty.model_validate({"secret": secret})
    (error,) = refused.value.errors()
    assert error["msg"] == "the name of a Secret such as gpu-slack; its value stays outside of Git"
    assert error["ctx"]["actual"] == "a text that is no name"


@pytest.mark.parametrize("values", [{}, {"channel": "#gpu"}, {"channel": "#gpu", "secret": "gpu", "url": HOOK}])
def test_an_integration_has_a_secret_and_no_other_credentials(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Slack.model_validate(values)


def test_a_receiver_has_exactly_one_integration() -> None:
    both = {"webhook": {"secret": "a-hook"}, "pagerduty": {"secret": "a-key"}}
    with pytest.raises(ValidationError, match="webhook and pagerduty exclude each other; expected one of them"):
        Receiver.model_validate(both)
    with pytest.raises(ValidationError, match="slack, webhook, pagerduty and email are missing"):
        Receiver.model_validate({})
