"""Causes of the messages about passwords, certificates and rules: a node refuses a client, or a client a node."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkFiles

from kraft_spark.handover import hand_over
from raft.client import Client
from raft.config.security import NO_SECURITY, ClientSecurity
from raft.errors import RaftError
from tests.node.harness.batches import batch_of
from tests.node.harness.secured_node import ENCRYPTED, OPEN, UNPROTECTED, secured_nodes
from tests.workload.committed import read_all

Patch = pytest.MonkeyPatch
Call = Callable[[Client], object]


def _describe(client: Client) -> object:
    return client.describe_quorum()


def _append(client: Client) -> object:
    return client.append(batch_of(b"value"))


def _read(client: Client) -> object:
    return list(read_all(client))


def _refused(
    folder: Path, listener: str, security: Callable[[ClientSecurity], ClientSecurity], call: Call, user: str = "alice"
) -> str:
    """Return the message of the error of a call.

    Args:
        folder: holds the files of a node.
        listener: of the node.
        security: returns the settings of the client, made of those that are right.
        call: of the client.
        user: who the client is.
    """
    with secured_nodes(folder) as nodes:
        chosen = security(nodes.security(listener, user=user))
        with nodes.client(listener, chosen, api_timeout_ms=2_000) as client, pytest.raises(RaftError) as refusal:
            call(client)
    return str(refusal.value)


def no_credentials(_patch: Patch, folder: Path) -> str:
    return _refused(folder, OPEN, lambda _right: NO_SECURITY, _describe)


def needless_credentials(_patch: Patch, folder: Path) -> str:
    with secured_nodes(folder) as nodes:
        security = nodes.security(OPEN)
        with nodes.client(UNPROTECTED, security) as client, pytest.raises(RaftError) as refusal:
            client.describe_quorum()
    return str(refusal.value)


def unknown_user(_patch: Patch, folder: Path) -> str:
    return _refused(folder, OPEN, lambda right: right, _describe, user="carol")


def another_authority(_patch: Patch, folder: Path) -> str:
    def without_truststore(right: ClientSecurity) -> ClientSecurity:
        assert right.tls is not None
        return replace(right, tls=replace(right.tls, truststore=None))

    return _refused(folder, ENCRYPTED, without_truststore, _describe)


def no_rule_for_appends(_patch: Patch, folder: Path) -> str:
    return _refused(folder, OPEN, lambda right: right, _append, user="bob")


def no_rule_at_all(_patch: Patch, folder: Path) -> str:
    return _refused(folder, UNPROTECTED, lambda right: right, _read)


def open_driver(patch: Patch, folder: Path) -> str:
    patch.setattr(SparkFiles, "getRootDirectory", lambda: str(folder))
    application = SimpleNamespace(is_one_process=False, authenticates=False, add_file=lambda _path: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hand_over(application, {}, bootstrap_servers="localhost:1")  # type: ignore[arg-type]  # on a cluster
    return str(caught[0].message)


REFUSALS: dict[str, Callable[[Patch, Path], str]] = {
    "...: the node asks for SASL: ...": no_credentials,
    "...: the node does not use SASL on this listener: ...": needless_credentials,
    "...: the node refused the credentials in sasl.jaas.config: ...": unknown_user,
    "...: the certificate of the node is not accepted: ...": another_authority,
    "TOPIC_AUTHORIZATION_FAILED: ...": no_rule_for_appends,
    "the nodes show this client no topic: ...": no_rule_at_all,
    "executors get the credentials of this quorum from the driver, which does not ask who they are": open_driver,
}
"""By the headings of the document."""
