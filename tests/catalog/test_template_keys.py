"""The keys that only templates read: found in a small chart, and known for the pinned charts."""

from pathlib import Path

import pytest

from gpuc.catalog import load
from gpuc.emit.component import components
from gpuc.manifest.manifest import Values
from gpuc.verify.values import value_errors
from tests.derive.template_keys import table, template_keys

CHART = {
    "values.yaml": "image: {tag: ''}\nlabels: {a: b}\nlist: []\nplain: {a: 1}\nnothing:\n",
    "templates/_helpers.tpl": """
{{- define "name" -}}{{ default .Chart.Name .Values.nameOverride }}{{- end }}
{{- define "of" -}}{{ .context.Values.inHelper }}{{ toYaml .part }}{{ .part.some }}{{- end }}
{{- define "unused" -}}{{ .Values.withoutCaller }}{{- end }}
""",
    "templates/a.yaml": """
{{/* .Values.inComment */}}
{{- if and (eq .Values.mode "x") .Values.isOn }}{{ else if .Values.other }}{{ else }}{{ .Values.last }}{{ end }}
{{- with .Values.outer }}
a: {{ .inner | quote }}
b: {{ $.Values.fromRoot }}
{{- end }}
{{- $config := .Values.config | default dict }}
c: {{ $config.level }}{{ (.Values.config).inBrackets }}{{ index .Values.config "with-dash" }}
{{- range $key, $value := .Values.labels }}
{{ $key }}: {{ $value }}
{{- end }}
{{- range .Values.list }}{{ .name }}{{ end }}
d: {{ include "name" . }}{{ template "of" (dict "context" $ "part" .Values.part) }}
e: {{ .Values.image.digest }}{{ if hasKey .Values.image "pull" }}{{ end }}{{ .Values.plain.a }}{{ .Values.global.x }}
f: {{ dig "deep" "er" "" .Values.plain }}{{ .Values.nothing.now }}{{ "{{ .Values.inText }}" }}
""",
    "charts/sub/values.yaml": "known: 1\n",
    "charts/sub/templates/a.yaml": "{{ .Values.known }}{{ .Values.inSub }}{{ .Values.global.y }}",
}


def test_the_keys_of_a_chart_are_those_that_its_templates_read(tmp_path: Path) -> None:
    for name, text in CHART.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    found = template_keys(tmp_path)
    expected = (
        "config.inBrackets config.level config.with-dash fromRoot image.digest image.pull inHelper isOn last mode "
        "nameOverride nothing.now other outer.inner part plain.deep.er sub.inSub withoutCaller"
    )
    assert found == {"read": expected.split(), "whole": ["labels"]}


def test_the_table_has_the_pinned_version_of_each_chart() -> None:
    releases = load().releases
    newest = releases[max(releases)]
    known = {name: row["version"] for name, row in table().items()}
    assert known == {component.name: newest[component.name].version for component in components()}


@pytest.mark.parametrize("name", sorted(table()))
def test_no_key_that_the_templates_read_is_unknown(name: str) -> None:
    rejected = {"kataManager"}
    for path in table()[name]["read"]:
        body: object = None
        for step in reversed(path.split(".")):
            body = {step: body}
        assert isinstance(body, dict)
        errors = list(value_errors(Values("values.yaml", (), name, body)))
        assert errors == [] or body.keys() <= rejected, path
