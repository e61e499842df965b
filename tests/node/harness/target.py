"""The node under attack, and the client that appends meanwhile: fixtures for the modules that import them."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.node.harness.appending import Appending
from tests.node.harness.secured import VOTERS
from tests.node.harness.secured_node import SecuredNodes, secured_nodes


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNodes]:
    """A node with all listeners."""
    with secured_nodes(tmp_path_factory.mktemp("target")) as node:
        yield node


@pytest.fixture(autouse=True)
def appending(target: SecuredNodes, caplog: pytest.LogCaptureFixture) -> Iterator[Appending]:
    """A client whose appends succeed during the whole test."""
    caplog.set_level(logging.INFO)
    target.forget_faults()
    with Appending(target.client(VOTERS, target.security(VOTERS))) as appending:
        yield appending
