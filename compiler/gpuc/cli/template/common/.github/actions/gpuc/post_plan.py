"""Posts the report of `gpuc plan` as a comment on a pull request, and edits the comment after each push.

The workflow gpuc-comment.yaml runs this file from the default branch, with a token that may write comments. The plan is
the artifact of a run that the pull request controls, so the plan is untrusted text: its size is limited, and links,
images, mentions and HTML in it have no effect. Everything else comes from the event, which GitHub writes. The file
needs no package except Python's standard library.

Source of the API: https://docs.github.com/en/rest (version 2022-11-28), pages pulls, issues/comments and
actions/artifacts.
"""

import io
import json
import os
import re
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

MARKER = "<!-- gpuc plan -->"
"""The first line of the comment, by which the next run finds the comment."""
AUTHOR = "github-actions[bot]"
"""The author of comments that are posted with the token of a workflow."""
ARTIFACT, FILE = "gpuc-plan", "plan.md"
ARTIFACT_BYTES = 1 << 20
PLAN_BYTES = 1 << 18
BODY_CHARACTERS = 65_000
"""The maximum length of a comment. GitHub refuses more than 65,536 characters."""
PAGES = 30
"""The maximum number of pages, with 100 entries, that are read from a list."""

_ALLOWED_TAGS = r"</?(?:details|summary|code)>"
_ALLOWED_ENTITIES = r"&(?:amp|lt|gt|quot|#39|#x27|#96);"
_BREAK = "\u200b"
"""A character without width. Between two characters, it ends what GitHub would make of them."""
_JOINTS = (
    rf"(?!{_ALLOWED_TAGS})<(?=[A-Za-z/!?])",  # HTML, comments and links in angle brackets
    rf"(?!{_ALLOWED_ENTITIES})&(?=[A-Za-z#])",  # entities, which can be @ or #
    r"@",  # mentions and addresses
    r"#(?!(?<=&#)(?:39|96);)(?=\d)|(?i:GH)-(?=\d)",  # references to issues, but not the numbers of entities
    r"!(?=\[)|\](?=[(\[:])",  # images, links and their definitions
    r":(?=//)|(?i:www)(?=\.)",  # addresses
    r"(?:`{3,}|~{3,})[ \t]*(?!diff\b)(?=[A-Za-z])",  # code blocks that GitHub draws, such as diagrams
)
_UNSAFE = re.compile("|".join(f"(?:{joint})(?!{_BREAK})" for joint in _JOINTS))
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and characters that change the direction of text."""


class Refused(Exception):
    """The plan cannot be posted. The text of the exception is the reason."""


class _NoRedirect(HTTPRedirectHandler):
    """Leaves redirects to the caller, because urllib would send the token to another host."""

    def redirect_request(self, *arguments: Any) -> None:
        return None


class Api:
    """The REST API of GitHub for one repository."""

    def __init__(self, url: str, repository: str, token: str) -> None:
        self._base = f"{url}/repos/{repository}"
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "gpuc",
        }

    def get(self, path: str, **query: str) -> Any:
        """Sends a GET request, and returns the JSON of the response."""
        return json.loads(self._send("GET", f"{self._base}/{path}?{urlencode(query)}"))

    def pages(self, path: str, **query: str) -> Iterator[Any]:
        """Yields the entries of a list in the API. Requests further pages of the list as long as there are any."""
        for page in range(1, PAGES + 1):
            entries = self.get(path, **query, per_page="100", page=str(page))
            yield from entries
            if len(entries) < 100:
                return

    def write(self, method: str, path: str, body: str) -> Any:
        """Creates a comment on a pull request or edits it, and returns the comment as GitHub stores it."""
        return json.loads(self._send(method, f"{self._base}/{path}", json.dumps({"body": body}).encode()))

    def download(self, path: str, limit: int) -> bytes:
        """Returns the bytes of an artifact. GitHub redirects to a storage server, which must not get the token.

        Raises:
            Refused: when there are more bytes than the limit.
        """
        scheme = self._base.partition(":")[0]
        try:
            data = _read(Request(f"{self._base}/{path}", headers=self._headers), limit + 1)
        except HTTPError as error:
            location = error.headers.get("Location", "")
            if error.code not in (301, 302, 303, 307, 308) or not location.startswith(("https://", f"{scheme}://")):
                raise
            data = _read(Request(location), limit + 1)
        if len(data) > limit:
            raise Refused(f"the artifact is larger than {limit} bytes")
        return data

    def _send(self, method: str, url: str, data: bytes | None = None) -> bytes:
        """Sends a request. A GET request is sent again, up to three times, if the server fails."""
        for attempt in (1, 2, 3):
            try:
                return _read(Request(url, data, self._headers, method=method))
            except (HTTPError, URLError) as error:
                is_final = isinstance(error, HTTPError) and error.code < 500
                if is_final or method != "GET" or attempt == 3:
                    raise
                time.sleep(attempt)
        raise AssertionError


def _read(request: Request, limit: int = -1) -> bytes:
    """Returns the answer to a request, up to a number of bytes, without following redirects."""
    with build_opener(_NoRedirect).open(request, timeout=60) as answer:
        data: bytes = answer.read(limit)
    return data


def pull_request_of(api: Api, repository: str, run: Mapping[str, Any]) -> int | None:
    """Returns the number of the open pull request whose newest commit a workflow run tested; None if there is none.

    Raises:
        Refused: when several pull requests have this commit and the event does not name one of them.
    """
    head = run["head_repository"]
    if head is None:  # the fork was deleted
        return None
    source = f"{head['owner']['login']}:{run['head_branch']}"
    found = {
        pull["number"]
        for pull in api.pages("pulls", state="open", head=source)
        if pull["head"]["sha"] == run["head_sha"]
        and (pull["head"]["repo"] or {}).get("full_name") == head["full_name"]
        and pull["base"]["repo"]["full_name"] == repository
    }
    if len(found) > 1:  # the event names the pull request if it does not come from a fork
        found &= {pull["number"] for pull in run["pull_requests"]}
        if len(found) != 1:
            raise Refused("several pull requests have the same branch and commit; none of them gets the plan")
    return next(iter(found), None)


def plan_of(api: Api, run: Mapping[str, Any]) -> str | None:
    """Downloads the artifact of a workflow run, and returns the plan in it; None if the run wrote no plan.

    Raises:
        Refused: when the artifact is too large, or is not a ZIP archive with a UTF-8 text.
    """
    found = api.get(f"actions/runs/{int(run['id'])}/artifacts", name=ARTIFACT, per_page="100")["artifacts"]
    named = [artifact for artifact in found if artifact["name"] == ARTIFACT and not artifact["expired"]]
    if not named:
        return None
    newest = max(named, key=lambda artifact: int(artifact["id"]))
    if newest["size_in_bytes"] > ARTIFACT_BYTES:
        raise Refused(f"the artifact is larger than {ARTIFACT_BYTES} bytes")
    return text_of(api.download(f"actions/artifacts/{int(newest['id'])}/zip", ARTIFACT_BYTES))


def text_of(archive: bytes) -> str:
    """Returns the text of the plan in a ZIP archive. The archive is read in memory, and no file is written.

    Raises:
        Refused: when the bytes are no archive, or the plan is missing, too large, encrypted or not UTF-8.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened, opened.open(FILE) as file:
            data = file.read(PLAN_BYTES + 1)
    except Exception:  # damaged bytes: zipfile, zlib, bz2 and lzma have no common class of errors
        raise Refused(f"the artifact is no ZIP archive with {FILE}") from None
    if len(data) > PLAN_BYTES:
        raise Refused(f"{FILE} is larger than {PLAN_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{FILE} is not UTF-8") from None


def harmless(text: str) -> str:
    """Changes a text so that links, images, mentions, references, HTML and drawings in it have no effect on GitHub.

    A character without width separates the characters that GitHub would interpret, in text and in code. The tags and
    entities of the reports of gpuc stay.
    """
    lines = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _UNSAFE.sub(rf"\g<0>{_BREAK}", lines.removeprefix(MARKER).lstrip("\n"))


def comment(run: Mapping[str, Any], plan: str | None, problem: str = "") -> str:
    """Returns the text of the comment. The plan, which the pull request controls, is at the end."""
    head = f"Commit {run['head_sha'][:12]}, [run {int(run['id'])}]({run['html_url']})"
    if plan is None:
        reason = problem or f"the run wrote no plan and ended with {run['conclusion']}"
        return f"{MARKER}\n{head}: {reason}. The annotations and the log of the run show why.\n"
    warning = (
        f"{head}. The pull request controls the following text, because it can change the workflow that wrote it. "
        "Links, images and mentions have no effect."
    )
    body = f"{MARKER}\n{warning}\n\n{harmless(plan)}"
    if len(body) <= BODY_CHARACTERS:
        return body
    note = f" The text is incomplete: a comment has at most {BODY_CHARACTERS} characters."
    body = f"{MARKER}\n{warning}{note}\n\n{harmless(plan)}"[:BODY_CHARACTERS]
    return body.rpartition("\n")[0]


def post(api: Api, number: int, body: str) -> str:
    """Creates the comment on a pull request, or edits the existing comment. Returns a text about what was done."""
    for present in api.pages(f"issues/{number}/comments"):
        if (present["user"] or {}).get("login") == AUTHOR and (present["body"] or "").startswith(MARKER):
            if present["body"] == body:
                return "is up to date"
            api.write("PATCH", f"issues/comments/{int(present['id'])}", body)
            return "was edited"
    api.write("POST", f"issues/{number}/comments", body)
    return "was created"


def main(environment: Mapping[str, str]) -> int:
    """Posts the plan on the pull request that belongs to the event of the workflow, and returns the exit code."""
    with open(environment["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
        run = json.load(file)["workflow_run"]
    repository = environment["GITHUB_REPOSITORY"]
    if run["event"] != "pull_request" or run["conclusion"] not in ("success", "failure", "timed_out"):
        print("nothing to post: the run was not for a pull request, or did not finish")
        return 0
    api = Api(quote(environment["GITHUB_API_URL"], safe=":/"), repository, environment["GITHUB_TOKEN"])
    try:
        number = pull_request_of(api, repository, run)
    except Refused as refused:
        print(f"nothing was posted: {refused}")
        return 0
    if number is None:
        print(f"nothing to post: no open pull request has {run['head_sha'][:12]} as its newest commit")
        return 0
    try:
        plan, problem = plan_of(api, run), ""
    except Refused as refused:
        plan, problem = None, str(refused)
    print(f"the comment of pull request {number} {post(api, number, comment(run, plan, problem))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
