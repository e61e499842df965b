"""Secrets in the output and the metrics of the nodes, and in files of a run, where none may be (AUTH-12)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.metrics.http_client import ask
from tests.metrics.scraped import port_of_metrics
from tests.node.harness.keys import password_of
from tests.processes.node_process import NodeProcess

_SECRETS: Mapping[str, re.Pattern[str]] = {
    "a password": re.compile(re.escape(password_of(""))),
    "a private key": re.compile(r"BEGIN [A-Z ]*PRIVATE KEY|\bMIG[A-Za-z0-9+/]{40}"),
    "a message of SCRAM": re.compile(r"\b(n=\w+,r=|c=biws,r=|r=\w+,s=)"),
}
"""Patterns by what they find. All passwords of the run begin in the same way."""


def leaks(nodes: Iterable[NodeProcess]) -> Iterator[str]:
    """Say which nodes have logged a secret, or show one in their metrics; the message does not repeat it."""
    for node in nodes:
        yield from leaks_in(node.name, node.output)
        if node.is_running:
            yield from leaks_in(f"the scrape of {node.name}", ask(port_of_metrics(node.properties), "/metrics").body)


def leaks_in(name: str, output: str) -> Iterator[str]:
    """Say which lines of the output of a node have a secret."""
    for number, line in enumerate(output.splitlines(), start=1):
        for what, pattern in _SECRETS.items():
            if pattern.search(line):
                yield f"{name} has {what} in line {number}"


def passwords_in(folder: Path, *, but_in: str) -> Iterator[str]:
    """Name the files that have the password of a user.

    Args:
        folder: of the run.
        but_in: the name of the folders below it that exist to hold passwords.
    """
    secret = password_of("").encode()
    for path in folder.rglob("*"):
        if path.is_file() and but_in not in path.parts and secret in path.read_bytes():
            yield f"{path} has a password"
