"""What a Spark application shows of itself: the pages of its UI, its REST API, its plans and its errors."""

from __future__ import annotations

import contextlib
import html
import io
import re
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tests.hang import HANG_S

EXPLAIN_MODES = ("simple", "extended", "codegen", "cost", "formatted")

_LINK = re.compile(r"""(?:href|src)=["']([^"'#]+)""")
_IGNORED = ("/static/", "/kill", "threadDump", "heapHistogram", "sort=", "page=")
_MOST_PAGES = 300

_RESOURCES = (
    "jobs",
    "stages?details=true&withSummaries=true",
    "executors",
    "allexecutors",
    "allmiscellaneousprocess",
    "storage/rdd",
    "environment",
    "sql?details=true&planDescription=true&length=1000",
    "streaming/statistics",
)


def write_texts(folder: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Write texts into numbered files of a folder, each below its name."""
    folder.mkdir(parents=True)
    for number, (name, text) in enumerate(texts):
        (folder / f"{number:03}.txt").write_text(f"{name}\n{text}")


def pages(url: str) -> Iterator[tuple[str, str]]:
    """Yield all pages of a UI that links lead to, with their paths."""
    waiting, seen = deque(["/jobs/"]), {"/jobs/"}
    while waiting and len(seen) < _MOST_PAGES:
        path = waiting.popleft()
        text = page(url + path)
        if text is None:
            continue
        yield path, text
        for link in map(html.unescape, _LINK.findall(text)):
            parts = urlsplit(urljoin(url + path, link))
            found = parts.path + (f"?{parts.query}" if parts.query else "")
            is_here = url.endswith(parts.netloc) and not any(each in found for each in _IGNORED)
            if is_here and found not in seen:
                seen.add(found)
                waiting.append(found)
    yield "thread dump", page(f"{url}/executors/threadDump/?executorId=driver") or ""


def resources(url: str, application_id: str) -> Iterator[tuple[str, str]]:
    """Yield the resources of the REST API of an application."""
    for name in _RESOURCES:
        text = page(f"{url}/api/v1/applications/{application_id}/{name}")
        if text is not None:
            yield name, text


def page(url: str) -> str | None:
    """Return a page; None if there is none."""
    try:
        with urlopen(url, timeout=HANG_S) as response:
            return str(response.read().decode(errors="replace"))
    except HTTPError as error:
        if error.code == 404:
            return None
        raise


def plans(frame: DataFrame) -> Iterator[tuple[str, str]]:
    """Yield what Spark says of a DataFrame in all modes, and each of its plans as a text."""
    for mode in EXPLAIN_MODES:
        yield f"explain {mode}", printed(lambda mode=mode: frame.explain(mode=mode))  # type: ignore[misc]  # bound now
    execution: Any = frame._jdf.queryExecution()
    yield "execution", execution.toString()
    for name in ("logical", "analyzed", "withCachedData", "optimizedPlan", "sparkPlan", "executedPlan"):
        plan = getattr(execution, name)()
        for form in ("toString", "verboseStringWithSuffix", "treeString", "toJSON"):
            with contextlib.suppress(Exception):  # Not every plan has every form.
                yield f"{name} {form}", str(getattr(plan, form)(*([10_000] if form.startswith("verbose") else [])))
    yield "frame", f"{frame!r}\n{frame._jdf.toString()}\n{frame.schema}"


def printed(call: Callable[[], object]) -> str:
    """Return what a call prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        call()
    return output.getvalue()


def progress(query: StreamingQuery) -> Iterator[tuple[str, str]]:
    """Yield what a query says of itself."""
    yield "explain", printed(lambda: query.explain(extended=True))
    yield "status", f"{query.status} {query.name} {query.id} {query.exception()}"
    for number, each in enumerate(query.recentProgress):
        yield f"progress {number}", each.json
    java: Any = query._jsq
    yield "query", f"{java.toString()} {java.lastProgress().prettyJson()}"


def failure(use: Callable[[], object]) -> str:
    """Return the error of a use with its whole trace, the one of Java included; nothing without an error."""
    try:
        use()
    except Exception as error:
        java = getattr(error, "_origin", None)
        trace = "" if java is None else str(java.toString())
        return f"{error}\n{trace}\n{traceback.format_exc()}\n{vars(error)}"
    return ""
