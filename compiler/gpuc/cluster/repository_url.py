"""Normalizes the URLs of repositories in the same way as Argo CD does before it compares two URLs.

Source: argo-cd v3.5.7 util/git/git.go (NormalizeGitURL); go 1.26 net/url (Parse, String)
"""

import re
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

_SSH = re.compile(r"(ssh://)?[^/:]*@[^@]+")
_SCHEME = re.compile(r"(?:([a-z][a-z0-9+.-]*):)?(.*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-f]{2})")
_USER = re.compile(r"[\w.~!$&'()*+,;=:%@-]*", re.ASCII)
_HOST = re.compile(r"""\[[0-9a-f:.]+\](?::\d*)?|(?:[\w.~!$&'()*+,;=:<>"\]-]|[^\x00-\x7f]|%[89a-f].|%25)*""", re.ASCII)
_PORT = re.compile(r":\d*", re.ASCII)
_VALID_PATH = re.compile(r"[\w.~!$&'()*+,;=:@\[\]%/-]*", re.ASCII)
_VALID_FRAGMENT = re.compile(r"[\w.~!$&'()*+,;=:@\[\]%/?-]*", re.ASCII)


@lru_cache(maxsize=1024)
def normalized_url(url: str) -> str:
    """Returns a repoURL in lower case, without ".git" and without the SSH scheme; empty for an invalid URL.

    The argument can also be a URL pattern of an AppProject. If the path of the pattern has a character that URLs cannot
    have, such as "{", the function escapes "*" in the path too, as Argo CD does. Then "*" no longer means any text.
    """
    url = url.strip().lower()
    if _SSH.fullmatch(url) and not url.startswith("ssh://"):
        url = f"ssh://{url.replace(':', '/', 1)}"
    try:
        return _printed(url.removesuffix(".git")).removeprefix("ssh://")
    except ValueError:
        return ""


def _printed(url: str) -> str:
    if _CONTROL.search(url):
        raise ValueError(url)
    url, _, fragment = url.partition("#")
    found = _SCHEME.fullmatch(url)
    assert found is not None, "the expression matches all texts"
    scheme, rest = found[1] or "", found[2]
    rest, sign, query = rest.partition("?")
    end = sign + query
    if fragment:
        end += f"#{_escaped(fragment, _VALID_FRAGMENT, '$&+,/:;=?@!()*')}"
    start = f"{scheme}:" if scheme else ""
    if scheme and not rest.startswith("/"):
        return start + rest + end
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        if printed := _authority(scheme, authority):
            start += f"//{printed}"
        elif rest and scheme:
            start += "//"
    elif ":" in rest.partition("/")[0]:
        raise ValueError(url)
    return start + _escaped(rest, _VALID_PATH, "$&+,/:;=@") + end


def _authority(scheme: str, authority: str) -> str:
    user, sign, host = authority.rpartition("@")
    port = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    is_port = port < 0 or host.startswith("[") or _PORT.fullmatch(host[port:])
    if not (is_port and _HOST.fullmatch(host) and _USER.fullmatch(user)):
        raise ValueError(authority)
    name, colon, password = user.partition(":")
    printed = colon.join(_quoted(text, "$&+,;=") for text in (name, password))
    return printed + sign + _quoted(host, "!$&'()*+,;=:[]<>\"")


def _escaped(text: str, valid: re.Pattern[str], safe: str) -> str:
    """Returns a text with valid signs unchanged, and another text with escapes for all signs except the safe ones."""
    quoted = _quoted(text, safe)
    return text if valid.fullmatch(text) else quoted


def _quoted(text: str, safe: str) -> str:
    if _BAD_ESCAPE.search(text):
        raise ValueError(text)
    return quote(unquote_to_bytes(text.encode("utf-8", "surrogatepass")), safe=safe)
