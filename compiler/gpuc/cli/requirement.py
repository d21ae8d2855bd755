"""The lines in requirements.txt of a new fleet. With them, the CI workflow installs gpuc and gpuc-rehearsal."""

import re

_EXTRAS = r"(?:\[[a-z]+(?:,[a-z]+)*\])?"
_NAME = rf"gpuc{_EXTRAS}"
_FILE = r"gpuc-[0-9A-Za-z._+!-]+\.(?:whl|tar\.gz)"
_TEXT = r"[!-\[\]-~]"  # printable ASCII without spaces, and without the backslash, which continues a line
_VERSION = r"(?:===?|~=|!=|<=?|>=?)[0-9][0-9A-Za-z.!+*-]*"
_PATH = rf"(?!-)((?:[0-9A-Za-z._/+-]*/)?{_FILE}){_EXTRAS}"
_FORMS = (
    rf"(?:{_NAME} ?@ ?)?git\+(?:https|ssh|file)://{_TEXT}+",
    rf"(?:{_NAME} ?@ ?)?(?:https|file)://(?:{_TEXT}*/)?{_FILE}(?:#{_TEXT}+)?",
    _PATH,
    rf"{_NAME}(?:{_VERSION}(?:,{_VERSION})*)?",
)
"""A Git address, the address or the path of a wheel or sdist, and a version in a package index.

No form begins with a hyphen, so that the line is never an option of pip.
Source: pip 26.0, docs/html/reference/requirements-file-format.md.
"""
EXPECTED = (
    "the path of a wheel in the new repository (./wheels/gpuc-VERSION-py3-none-any.whl), the https address of a wheel, "
    "a Git address (git+https://HOST/PATH.git@TAG), or gpuc==VERSION if your package index contains gpuc"
)


def requirement_problem(line: str) -> str:
    """Returns why a line of requirements.txt does not install gpuc; an empty text for a correct line."""
    if not any(re.fullmatch(form, line) for form in _FORMS):
        return f"expected {EXPECTED}"
    address = re.search(r"(https|ssh)://([^/@]*)@", line)
    scheme, user = (address[1], address[2]) if address else ("", "")
    has_only_variables = re.sub(r"\$\{[A-Z0-9_]+\}", "", user) in ("", ":")
    if not has_only_variables and (scheme != "ssh" or ":" in user):  # a user name of SSH is no secret
        return (
            "the address contains a user name or a password, which Git would store; expected a variable such as "
            "${TOKEN}, which pip replaces with the value of the environment variable"
        )
    return ""


def path_of(line: str) -> str:
    """Returns the local path in a line of requirements.txt; an empty text if the line has a URL or a version."""
    path = re.fullmatch(_PATH.replace("gpuc-", "gpuc(?:_rehearsal)?-"), line)
    return path[1] if path else ""


def rehearsal_requirement(line: str) -> str:
    """Returns the line for gpuc-rehearsal that belongs to a line for gpuc.

    The result is empty if the line of gpuc also installs gpuc-rehearsal, and for a URL with the hash of one file.
    """
    without_extras = re.sub(_EXTRAS + r"(?=$| ?@| ?[=<>~!])", "", line)
    address = re.sub(r"^gpuc ?@ ?", "", without_extras)
    if "git+" in address:
        return f"{address.partition('#')[0]}#subdirectory=rehearsal"
    if re.search(rf"{_FILE}$", address):
        folder, _, version = address.rpartition("gpuc-")
        return f"{folder}gpuc_rehearsal-{version}"
    if "#" in address or "rehearse" in line:
        return ""
    return re.sub(r"^gpuc", "gpuc-rehearsal", address)
