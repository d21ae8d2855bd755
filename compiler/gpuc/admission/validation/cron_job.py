"""CronJobs.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/batch/validation/validation.go (ValidateCronJobCreate)
"""

from __future__ import annotations

import re
import zoneinfo
from typing import Any

from gpuc.admission.validation.cron_schedule import schedule_error
from gpuc.admission.validation.job import job_spec
from gpuc.admission.validation.judged_fields import not_checked
from gpuc.admission.validation.problem import Problem, Problems, at_least, invalid, missing, one_of, text
from gpuc.catalog import load
from gpuc.diagnostics.spelling import nearest
from gpuc.objects.object_set import dig

NAME_MAX = 52
"""The maximum length of the name; the controller adds 11 characters to the names of Jobs."""
_ZONE = re.compile(r"(?!.*(?:^|/)(?:\.{1,2}(?:/|$)|-))[-A-Za-z._0-9+]{1,14}(?:/[-A-Za-z._0-9+]{1,14})*")


def cron_job(document: Any) -> Problems:
    """Checks the spec of a CronJob, with the API server's defaults."""
    spec, name = dig(document, "spec"), text(dig(document, "metadata", "name"))
    if len(name) > NAME_MAX:
        message = f"the name of the CronJob has {len(name)} characters; at most {NAME_MAX} are allowed"
        yield Problem(("metadata", "name"), message)
    yield from _schedule(text(dig(spec, "schedule")))
    yield from _time_zone(dig(spec, "timeZone"))
    for field in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from at_least(("spec", field), dig(spec, field), 0)
    policies = ("Allow", "Forbid", "Replace")
    yield from one_of(("spec", "concurrencyPolicy"), dig(spec, "concurrencyPolicy"), policies)
    template = dig(spec, "jobTemplate")
    yield from job_spec(("spec", "jobTemplate", "spec"), dig(template, "spec"))
    if dig(template, "spec", "selector") is not None:
        path = ("spec", "jobTemplate", "spec", "selector")
        yield Problem(path, "the API server generates the selectors of the Jobs of a CronJob", "remove selector")
    if dig(template, "spec", "manualSelector") is True:
        path = ("spec", "jobTemplate", "spec", "manualSelector")
        yield Problem(path, "the Jobs of a CronJob cannot have manualSelector: true", "remove manualSelector")


def _schedule(schedule: str) -> Problems:
    if not schedule:
        yield missing(("spec", "schedule"))
    elif "TZ" in schedule:
        message = "a schedule cannot contain a time zone"
        yield Problem(("spec", "schedule"), message, "move the time zone to spec.timeZone")
    elif error := schedule_error(schedule):
        yield Problem(("spec", "schedule"), f'schedule "{schedule}" is not a cron schedule: {error}')


def _time_zone(zone: Any) -> Problems:
    path = ("spec", "timeZone")
    if not isinstance(zone, str) or zone in load().time_zones:
        return
    known = zoneinfo.available_timezones()
    if not _ZONE.fullmatch(zone) or zone.lower() == "local":
        yield invalid(path, zone, "a name of the IANA time zone database such as Europe/Berlin")
    elif not known:
        yield not_checked(path, "this machine has no time zone data")
    elif zone not in known:
        suggestion = nearest(zone, sorted(known))
        yield invalid(path, zone, "a name of the IANA time zone database", f"write {suggestion}" if suggestion else "")
