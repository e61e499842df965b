"""The neighbour: a process of its own, so that it does not share an interpreter with the honest clients.

    python -m tests.hostile.attacker SCENE SEED SECONDS [ATTACK,...]

SCENE is the text of `Scene.to_json`. It prints `BEGINS` when the attack begins, and at the end a `Tally` as JSON.
It runs at the lowest priority: a neighbour has a machine of its own, so it must not take processor time from the nodes.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from random import Random

from raft.client import ClientSettings
from tests.hostile.attacks.attack import Attack, AttackInputs
from tests.hostile.attacks.every import ATTACKS
from tests.hostile.connection import Connection
from tests.hostile.recording import recorded_session
from tests.hostile.scene import Scene
from tests.hostile.tally import Tally

BEGINS = "the attack begins"

_NICENESS = 19
_DESCRIPTORS = 8_000
_CONNECT_S = 5.0
_ALL_BEGIN_S = 2.5
_KINDS_AT_FULL_RATE = 20
"""More kinds at the same time pause for longer, so that all together keep the rate of so many."""


class Attacker:
    """Runs attacks at the same time.

    Args:
        attacks: what to run.
        dice: decides when each connection is opened.
    """

    def __init__(self, attacks: Sequence[Attack], dice: Random) -> None:
        self._attacks = attacks
        self._dice = dice
        self._pause_factor = max(1.0, len(attacks) / _KINDS_AT_FULL_RATE)
        self._open: set[Connection] = set()
        self.tally = Tally()

    async def run(self, duration_s: float) -> None:
        """Run the attacks for this time."""
        tasks = [
            asyncio.create_task(self._repeat(attack), name=f"{type(attack).__name__} {number}")
            for attack in self._attacks
            for number in range(attack.width)
        ]
        _, running = await asyncio.wait(tasks, timeout=duration_s, return_when=asyncio.FIRST_EXCEPTION)
        for task in running:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def _repeat(self, attack: Attack) -> None:
        await asyncio.sleep(self._dice.uniform(0, _ALL_BEGIN_S))
        while True:
            await self._once(attack)
            await asyncio.sleep(attack.pause_s * self._pause_factor * self._dice.uniform(0.5, 1.5))

    async def _once(self, attack: Attack) -> None:
        self.tally.rounds[type(attack).__name__] += 1
        try:
            async with asyncio.timeout(_CONNECT_S):
                connection = await Connection.connect(attack.target(), receive_buffer_bytes=attack.receive_buffer_bytes)
        except (OSError, TimeoutError):
            self.tally.refused += 1
            return
        self.tally.connections += 1
        self._open.add(connection)
        self.tally.open_at_most = max(self.tally.open_at_most, len(self._open))
        try:
            await attack.round(connection)
        except (OSError, asyncio.IncompleteReadError):
            self.tally.closed_by_node += 1
        finally:
            self._open.discard(connection)
            connection.close()


def _allow_descriptors() -> None:
    """Raise the limit of open files up to what the attacks need; connections that cannot be opened are counted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def main(arguments: Sequence[str]) -> None:
    """Do what the command line asks for."""
    scene, dice, duration_s = Scene.from_json(arguments[0]), Random(int(arguments[1])), float(arguments[2])
    names = arguments[3].split(",") if len(arguments) > 3 else list(ATTACKS)
    os.nice(_NICENESS)
    _allow_descriptors()
    recordings = recorded_session(ClientSettings(bootstrap_servers=scene.client_endpoints))
    inputs = AttackInputs(scene=scene, recordings=recordings, dice=dice)
    attacker = Attacker([ATTACKS[name](inputs) for name in names], dice)
    print(BEGINS, flush=True)
    asyncio.run(attacker.run(duration_s))
    print(attacker.tally.to_json(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
