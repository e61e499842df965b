"""What `raft.client` exports, and the examples in its docstrings."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import raft.client
from raft.client import AsyncClient, Client, ClientSettings, calls
from raft.client.asynchronous import AsyncClient as AsyncClientOfModule
from raft.types import Endpoint, Offset
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Where a quorum of one node listens."""
    with NodesInProcess(voters_properties(tmp_path_factory.mktemp("node"), voters=1)) as nodes:
        nodes.start().wait_for_leader()
        yield nodes.endpoint(1)


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_example_of_a_client_runs(client: type[object], node: Endpoint) -> None:
    documented = inspect.getdoc(client) or ""
    lines = [line for line in documented.split("Args:")[0].splitlines() if not line or line.startswith("    ")]
    example = textwrap.dedent("\n".join(lines)).replace("localhost:9092", str(node))

    assert "client" in example
    exec(
        example,
        {
            "AsyncClient": AsyncClient,
            "Client": Client,
            "ClientSettings": ClientSettings,
            "Endpoint": Endpoint,
            "Offset": Offset,
            "asyncio": asyncio,
            "calls": calls,
        },
    )


def test_client_for_asyncio_is_exported() -> None:
    assert AsyncClient is AsyncClientOfModule


def test_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'raft\.client' has no attribute 'Session'"):
        raft.client.Session  # type: ignore[attr-defined]  # noqa: B018


def test_asyncio_is_imported_only_with_the_client_for_it() -> None:
    program = (
        "import sys, raft.client\n"
        "before = 'asyncio' in sys.modules\n"
        "from raft.client import AsyncClient\n"
        "print(before, 'asyncio' in sys.modules)\n"
    )
    root = Path(__file__).parents[2]

    ended = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)

    assert ended.stdout == "False True\n"
