"""Isolated pods that cannot resolve names."""

from gpuc.isolation.dns_egress import NO_DNS, findings
from gpuc.lint.checks import check

DNS_EGRESS = check(NO_DNS)(findings)
