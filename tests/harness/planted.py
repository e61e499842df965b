"""Nodes with a planted bug, which a run must find.

    python -m tests.harness.planted asks-no-rules serve --config node.properties

is `kraft serve` with the bug.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from raft.cli.main import main
from raft.security.listener_users import ListenerUsers
from raft.security.rules import Rules
from raft.security.rules_file import RulesFile
from raft.security.sasl_session import SaslSession
from raft.security.tls_contexts import TlsContexts
from raft.storage import disk
from tests.processes.commands import KRAFT

SERVE = (*KRAFT, "serve")
"""The command that starts a node without a planted bug."""


def _ask_no_rules() -> None:
    """Every client may do everything."""
    Rules.allow = lambda *_: True  # type: ignore[method-assign]
    Rules.allow_peer = lambda *_, **__: True  # type: ignore[method-assign]


def _keep_passwords() -> None:
    """A password that has changed is not read again."""
    read = ListenerUsers._read_credentials
    known: set[ListenerUsers] = set()

    def read_once(users: ListenerUsers) -> None:
        if users not in known:
            known.add(users)
            read(users)

    ListenerUsers._read_credentials = read_once  # type: ignore[method-assign,assignment]


def _keep_rights() -> None:
    """Rules that have changed are not read again."""
    RulesFile.renew = lambda *_: None  # type: ignore[method-assign]


def _keep_certificates() -> None:
    """A certificate that has changed is not read again."""
    TlsContexts.renew = lambda *_: False  # type: ignore[method-assign]


def _keep_sessions() -> None:
    """A session never ends."""
    SaslSession.has_expired = lambda *_: False  # type: ignore[method-assign]


def _flush_nothing() -> None:
    """A flush ends before the bytes are on the disk."""
    disk._sync_data = os.fsync = lambda *_: None


SECURITY_BUGS: Mapping[str, Callable[[], None]] = {
    "asks-no-rules": _ask_no_rules,
    "keeps-passwords": _keep_passwords,
    "keeps-rights": _keep_rights,
    "keeps-certificates": _keep_certificates,
    "keeps-sessions": _keep_sessions,
}
"""What plants each bug that a run of a secured quorum finds."""

FLUSHES_NOTHING = "flushes-nothing"
"""A bug that a power failure finds."""

_PLANTED = {**SECURITY_BUGS, FLUSHES_NOTHING: _flush_nothing}


def serve_with(bug: str | None) -> Sequence[str]:
    """Return the command that starts a node with a bug; None for none."""
    return SERVE if bug is None else (sys.executable, "-m", "tests.harness.planted", bug, "serve")


if __name__ == "__main__":
    _PLANTED[sys.argv.pop(1)]()
    main()
