"""Checks the syntax of names, label keys and label values.

Source: k8s.io/apimachinery v0.35 pkg/api/validate/content: dns.go, kube.go, path.go
"""

import re

MAX_NAME, MAX_LABEL = 253, 63
"""The maximum lengths of a DNS subdomain and of a DNS label."""
LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
"""A DNS label (RFC 1123): names of namespaces."""
LABEL_1035 = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
"""A DNS label that starts with a letter (RFC 1035): names of Services."""
SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
"""A DNS subdomain (RFC 1123): names of most objects."""
PATH_SEGMENT = re.compile(r"(?!\.{1,2}$)[^/%]+")
"""A path segment: names of roles and bindings."""
_KEY_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def is_label_key(key: str) -> bool:
    """Returns whether a text is a valid label key: at most 63 characters, or a DNS subdomain, "/" and such a name."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= MAX_NAME and SUBDOMAIN.fullmatch(prefix)):
        return False
    return _KEY_NAME.fullmatch(name) is not None


def is_label_value(value: str) -> bool:
    """Returns whether a string is a valid label value. The empty string is valid."""
    return _LABEL_VALUE.fullmatch(value) is not None
