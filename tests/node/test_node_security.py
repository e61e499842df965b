"""Certificates, credentials and rules of a node that change while it runs, and certificates that expire."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from raft.config import NodeConfig
from raft.errors import ConfigError
from raft.node.node_security import NodeSecurity
from raft.runtime.caller import Caller
from raft.security.operations import Operation
from raft.security.outcomes import AuthenticationOutcome
from tests.node.harness.keys import RULES, Keys
from tests.node.harness.loop import JumpingLoop
from tests.node.harness.properties import Properties, voters_properties
from tests.node.harness.secured import OPEN_SCRAM, TLS, TLS_SCRAM, VOTERS, secured

LOOK_S = 1.0
HOUR_S = 3600.0
GARBAGE = b"garbage"
NO_TEXT = b"\xff\xfe\xfd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The security of a node that runs, and what changes while it does."""

    loop: JumpingLoop
    keys: Keys
    security: NodeSecurity

    async def let_pass(self, seconds: float) -> None:
        """Put the clock forward, and let happen what is due."""
        self.loop.ahead_s += seconds
        for _ in range(2):
            await asyncio.sleep(0)


def properties_of(folder: Path, keys: Keys, **overrides: str) -> Properties:
    configurations = voters_properties(folder, voters=1)
    return secured(configurations, keys, {VOTERS: TLS_SCRAM, "CLIENT": TLS, "OPEN": OPEN_SCRAM}, **overrides)[1]


def run(folder: Path, play: Callable[[Started], Awaitable[None]], **overrides: str) -> None:
    """Start the security of a node, run a test, and stop it."""
    keys = Keys(folder)
    config = NodeConfig.from_properties(properties_of(folder, keys, **overrides))
    loop = JumpingLoop()

    async def start_and_play() -> None:
        security = NodeSecurity(config, _count, lambda: int(loop.time() * 1000))
        security.start()
        await play(Started(loop=loop, keys=keys, security=security))
        security.stop()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(start_and_play())


def _count(_caller: Caller, _outcome: AuthenticationOutcome) -> None:
    """Count nothing."""


def rules_of(started: Started) -> object:
    assert started.security.rules is not None
    return started.security.rules()


def certificate_of(started: Started) -> object:
    contexts = started.security.gate(VOTERS).contexts
    assert contexts is not None
    return contexts.present


def credentials_of(started: Started) -> object:
    users = started.security.gate(VOTERS).users
    assert users is not None
    return users.credentials


def new_rules(keys: Keys) -> None:
    keys.rules_file.write_text(RULES.replace("alice", "carol"))


def new_certificate(keys: Keys) -> None:
    keys.certificate("node1")


def new_authorities(keys: Keys) -> None:
    keys.truststore.write_bytes(keys.truststore.read_bytes() * 2)


def new_credentials(keys: Keys) -> None:
    keys.write_credentials(["bob"])


def rules_path(keys: Keys) -> Path:
    return keys.rules_file


def keystore_path(keys: Keys) -> Path:
    return keys.folder / "node1.pem"


def credentials_path(keys: Keys) -> Path:
    return keys.credentials_file


Look = Callable[[Started], object]
Change = Callable[[Keys], None]
Place = Callable[[Keys], Path]
FILES = [
    pytest.param(rules_of, new_rules, rules_path, "the rules", id="rules"),
    pytest.param(certificate_of, new_certificate, keystore_path, "the certificates", id="certificate"),
    pytest.param(credentials_of, new_credentials, credentials_path, "the credentials", id="credentials"),
]


@pytest.mark.parametrize(("look", "change", "_path", "_what"), FILES)
@pytest.mark.rule("AUTH-11")
def test_changed_file_is_in_use_a_second_later(
    tmp_path: Path, look: Look, change: Change, _path: Place, _what: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def play(started: Started) -> None:
        before = look(started)
        change(started.keys)

        await started.let_pass(LOOK_S / 2)
        too_early = look(started)
        await started.let_pass(LOOK_S / 2)

        assert too_early is before
        assert look(started) is not before
        assert caplog.messages == []

    run(tmp_path, play)


@pytest.mark.parametrize(("look", "_change", "_path", "_what"), FILES)
@pytest.mark.rule("AUTH-11")
def test_file_that_has_not_changed_is_not_read_again(
    tmp_path: Path, look: Look, _change: Change, _path: Place, _what: str
) -> None:
    async def play(started: Started) -> None:
        before = look(started)

        for _ in range(3):
            await started.let_pass(LOOK_S)

        assert look(started) is before

    run(tmp_path, play)


@pytest.mark.parametrize("content", [None, GARBAGE, NO_TEXT], ids=["missing", "garbage", "no text"])
@pytest.mark.parametrize(("look", "change", "path", "what"), FILES)
@pytest.mark.rule("AUTH-11")
def test_file_that_cannot_be_used_leaves_in_force_what_was_read_before(
    tmp_path: Path,
    look: Look,
    change: Change,
    path: Place,
    what: str,
    content: bytes | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def play(started: Started) -> None:
        before, place = look(started), path(started.keys)
        if content is None:
            place.unlink()
        else:
            place.write_bytes(content)

        for _ in range(3):
            await started.let_pass(LOOK_S)
        unusable = look(started)
        change(started.keys)
        await started.let_pass(LOOK_S)

        assert unusable is before
        assert look(started) is not before, "a file that can be used again is used"
        texts = [line for line in caplog.messages if str(place) in line]
        assert len(texts) == len(caplog.messages) == len(set(texts)) >= 1, "once, not in each second"
        assert all(line.startswith("node 1: ") for line in texts)
        assert all(line.endswith(f"{what} that were read before stay in use") for line in texts)

    run(tmp_path, play)


@pytest.mark.rule("AUTH-11")
def test_changed_authorities_are_in_use_a_second_later(tmp_path: Path) -> None:
    async def play(started: Started) -> None:
        contexts = started.security.gate("CLIENT").contexts
        assert contexts is not None
        before = contexts.present
        new_authorities(started.keys)

        await started.let_pass(LOOK_S)

        assert contexts.present is not before

    run(tmp_path, play, listener__name__client__ssl__client__auth="requested")


def test_files_are_not_looked_at_after_the_stop(tmp_path: Path) -> None:
    async def play(started: Started) -> None:
        before = rules_of(started)
        started.security.stop()
        new_rules(started.keys)

        await started.let_pass(10 * LOOK_S)

        assert rules_of(started) is before

    run(tmp_path, play)


def test_rules_are_those_of_the_super_users_when_there_is_no_file(tmp_path: Path) -> None:
    async def play(started: Started) -> None:
        assert started.security.rules is not None
        rules = started.security.rules()
        await started.let_pass(LOOK_S)

        assert rules.allow("User:root", Operation.APPEND)
        assert not rules.allow("User:alice", Operation.APPEND)

    run(tmp_path, play, raft__authorization__file="", super__users="User:root")


def test_node_without_rules_has_none(tmp_path: Path) -> None:
    async def play(started: Started) -> None:
        assert started.security.rules is None
        await started.let_pass(LOOK_S)

    run(tmp_path, play, raft__authorization__file="", allow__everyone__if__no__acl__found="true")


@pytest.mark.parametrize(
    ("days", "warning"),
    [
        pytest.param(365, None, id="a year"),
        pytest.param(31, None, id="31 days"),
        pytest.param(29, "the certificate of {} expires in 28 days, at {}", id="29 days"),
        pytest.param(-1, "the certificate of {} has expired at {}", id="expired"),
    ],
)
def test_node_warns_each_hour_when_a_certificate_expires_soon(
    tmp_path: Path, days: int, warning: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    async def play(started: Started) -> None:
        expires_at = started.security.expirations()["HTTPS"]
        expected = [] if warning is None else [f"node 1: {warning.format('HTTPS', expires_at)}"]
        first = list(caplog.messages)
        caplog.clear()
        await started.let_pass(HOUR_S / 2)
        between = list(caplog.messages)
        await started.let_pass(HOUR_S / 2)

        assert abs(expires_at - datetime.now(UTC) - timedelta(days=days)) < timedelta(minutes=5)
        assert (first, between, caplog.messages) == (expected, [], expected)

    keystore = tmp_path / "metrics.pem"
    keys = Keys(tmp_path)
    keys.certificate("metrics", lifetime=timedelta(days=days))
    run(
        tmp_path,
        play,
        metrics__listeners="HTTPS://127.0.0.1:9999",
        listener__name__https__ssl__keystore__location=str(keystore),
    )


def test_expirations_are_those_of_the_listeners_with_certificates(tmp_path: Path) -> None:
    async def play(started: Started) -> None:
        assert set(started.security.expirations()) == {VOTERS, "CLIENT"}
        assert started.security.metrics_context is None

    run(tmp_path, play)


@pytest.mark.rule("AUTH-11")
def test_changed_certificate_of_the_metrics_is_in_use_a_second_later(tmp_path: Path) -> None:
    async def play(started: Started) -> None:
        present = started.security.metrics_context
        assert present is not None
        before = present()
        new_certificate(started.keys)

        await started.let_pass(LOOK_S)

        assert present() is not before

    run(
        tmp_path,
        play,
        metrics__listeners="HTTPS://127.0.0.1:9999",
        listener__name__https__ssl__keystore__location=str(tmp_path / "node1.pem"),
    )


@pytest.mark.parametrize("path", [rules_path, keystore_path, credentials_path])
@pytest.mark.parametrize("content", [None, GARBAGE, NO_TEXT], ids=["missing", "garbage", "no text"])
def test_file_that_cannot_be_used_is_an_error_of_the_start(tmp_path: Path, path: Place, content: bytes | None) -> None:
    keys = Keys(tmp_path)
    config = NodeConfig.from_properties(properties_of(tmp_path, keys))
    place = path(keys)
    if content is None:
        place.unlink()
    else:
        place.write_bytes(content)

    with pytest.raises(ConfigError, match=place.name):
        NodeSecurity(config, _count, lambda: 0)
