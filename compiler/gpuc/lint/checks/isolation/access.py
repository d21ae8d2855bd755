"""The permissions that roles and bindings give to tenants."""

from gpuc.diagnostics.contract import Needs
from gpuc.isolation.access import findings
from gpuc.isolation.access.permissions import FORBIDDEN, OTHER_NAMESPACES, WILDCARD
from gpuc.lint.checks import check

_RULES = dict.fromkeys((*(row.rule for rows in FORBIDDEN.values() for row in rows), OTHER_NAMESPACES, WILDCARD))
ACCESS = check(*_RULES, needs=Needs.CLUSTER)(findings)
