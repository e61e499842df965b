"""What a node reads to know its callers: certificates, credentials, rules and quotas.

Each second it looks whether they have changed. A file that cannot be used any more changes nothing: the node goes on
with what it has read before, and warns. So a certificate can be replaced in several steps.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from raft.config import ClientListener, NodeConfig
from raft.config.listener_security import HTTPS
from raft.config.node import QUOTAS_FILE
from raft.node.gate import Gate
from raft.runtime.caller import Caller
from raft.runtime.fault_log import FaultLog
from raft.security.outcomes import AuthenticationOutcome
from raft.security.quotas import Quotas
from raft.security.quotas_file import QuotasFile
from raft.security.rules import Rules
from raft.security.rules_file import RulesFile
from raft.security.tls_contexts import TlsContexts

_logger = logging.getLogger(__name__)

_LOOK_S = 1.0
_WARN_EACH_S = 3600.0
_WARN_BEFORE = timedelta(days=30)


class NodeSecurity:
    """The security of one node.

    Args:
        config: of the node.
        count: counts the authentications that TLS has decided.
        now_ms: returns the time of a monotonic clock, in milliseconds.

    Raises:
        ConfigError: a file cannot be read or used.
    """

    def __init__(
        self, config: NodeConfig, count: Callable[[Caller, AuthenticationOutcome], None], now_ms: Callable[[], int]
    ) -> None:
        self._config = config
        self._faults = FaultLog(_logger, now_ms)
        self._rules = None if config.authorization is None else RulesFile(config.authorization)
        self._quotas = None if config.quotas_file is None else QuotasFile(QUOTAS_FILE, config.quotas_file)
        self._gates = {
            name: Gate(listener.listener if listener is not None else config.listener, listener, security, count)
            for name, security in config.security.items()
            for listener in [_client_listener(config, name)]
        }
        self._metrics_contexts = _metrics_contexts(config)
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}

    @property
    def rules(self) -> Callable[[], Rules] | None:
        """Returns the present rules; None if everyone may do everything."""
        rules_file = self._rules
        return None if rules_file is None else lambda: rules_file.rules

    @property
    def quotas(self) -> Callable[[], Quotas] | None:
        """Returns the present quotas of clients; None if they have none."""
        quotas_file = self._quotas
        return None if quotas_file is None else lambda: quotas_file.quotas

    def gate(self, listener: str) -> Gate:
        """Return what a listener asks of its connections, by its name."""
        return self._gates[listener]

    @property
    def metrics_context(self) -> Callable[[], ssl.SSLContext] | None:
        """Returns the TLS of each new connection of the metrics' listener; None if it has none."""
        contexts = self._metrics_contexts
        return None if contexts is None else contexts.of_connection

    def expirations(self) -> dict[str, datetime]:
        """Return when the node's certificates expire, by the name of the listener."""
        return {
            name: contexts.expires_at
            for name, contexts in self._all_contexts().items()
            if contexts is not None and contexts.expires_at is not None
        }

    def outdated(self) -> Counter[str]:
        """Count the listeners whose files have changed and cannot be used, by what the files hold."""
        renewals = [contexts.renewal for contexts in self._all_contexts().values() if contexts is not None]
        for gate in self._gates.values():
            renewals += [] if gate.users is None else gate.users.renewals
        renewals += [file.renewal for file in (self._rules, self._quotas) if file is not None]
        counts = Counter({renewal.content: 0 for renewal in renewals})
        counts.update(renewal.content for renewal in renewals if renewal.is_outdated)
        return counts

    def start(self) -> None:
        """Begin to look at the files."""
        self._warn_of_expiry()
        self._warn_of_users()
        self._repeat(self._renew, _LOOK_S)

    def stop(self) -> None:
        """Look at the files no more."""
        for timer in self._timers.values():
            timer.cancel()

    def _all_contexts(self) -> dict[str, TlsContexts | None]:
        return {name: gate.contexts for name, gate in self._gates.items()} | {HTTPS: self._metrics_contexts}

    def _renew(self) -> None:
        for gate in self._gates.values():
            gate.renew(self._report)
        if self._metrics_contexts is not None:
            self._metrics_contexts.renew(self._report)
        for file in (self._rules, self._quotas):
            if file is not None:
                file.renew(self._report)
        self._repeat(self._renew, _LOOK_S)

    def _warn_of_expiry(self) -> None:
        now = datetime.now(UTC)
        for name, expires_at in self.expirations().items():
            if expires_at <= now:
                _logger.warning(
                    "node %s: the certificate of %s has expired at %s", self._config.node_id, name, expires_at
                )
            elif expires_at - now < _WARN_BEFORE:
                _logger.warning(
                    "node %s: the certificate of %s expires in %s days, at %s",
                    self._config.node_id,
                    name,
                    (expires_at - now).days,
                    expires_at,
                )
        self._repeat(self._warn_of_expiry, _WARN_EACH_S)

    def _warn_of_users(self) -> None:
        all_users = [gate.users for gate in self._gates.values() if gate.users is not None]
        for warning in dict.fromkeys(users.warning for users in all_users):
            if warning is not None:
                _logger.warning("node %s: %s", self._config.node_id, warning)
        self._repeat(self._warn_of_users, _WARN_EACH_S)

    def _report(self, reason: str) -> None:
        self._faults.report("node %s: %s", self._config.node_id, reason)

    def _repeat(self, action: Callable[[], None], after_s: float) -> None:
        self._timers[action] = asyncio.get_running_loop().call_later(after_s, action)


def _metrics_contexts(config: NodeConfig) -> TlsContexts | None:
    security = config.metrics_security
    return None if security is None or security.tls is None else TlsContexts(security.tls, security.client_auth)


def _client_listener(config: NodeConfig, name: str) -> ClientListener | None:
    return next((each for each in config.client_listeners if each.listener.name == name), None)
