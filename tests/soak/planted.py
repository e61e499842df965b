"""Nodes with a planted bug, which a secured run must find.

    python -m tests.soak.planted asks-no-rules serve --config node.properties

is `kraft serve` with the bug.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from raft.cli.main import main
from raft.security.listener_users import ListenerUsers
from raft.security.rules import Rules
from raft.security.rules_file import RulesFile
from raft.security.sasl_session import SaslSession
from raft.security.tls_contexts import TlsContexts


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


PLANTED: Mapping[str, Callable[[], None]] = {
    "asks-no-rules": _ask_no_rules,
    "keeps-passwords": _keep_passwords,
    "keeps-rights": _keep_rights,
    "keeps-certificates": _keep_certificates,
    "keeps-sessions": _keep_sessions,
}
"""What plants each bug."""


def serve_with(bug: str) -> Sequence[str]:
    """Return the command that starts a node with a bug."""
    return (sys.executable, "-m", "tests.soak.planted", bug, "serve")


if __name__ == "__main__":
    PLANTED[sys.argv.pop(1)]()
    main()
