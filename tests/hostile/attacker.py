"""The neighbour: a process of its own, so that it does not share an interpreter with the honest clients.

    python -m tests.hostile.attacker SCENE SEED SECONDS [ATTACK,...]

SCENE is the text of `Scene.to_json`. It prints `BEGINS` when the attack begins, and at the end a `Tally` as JSON.
All attacks begin at once, and none pauses. What they cost the machine beside the nodes, a control run costs it too.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.hostile.attacks.attack import Attack, AttackInputs
from tests.hostile.attacks.every import attacks_of
from tests.hostile.connection import Connection
from tests.hostile.identity import RECORDINGS_FILE
from tests.hostile.recording import Recordings
from tests.hostile.scene import Scene
from tests.hostile.tally import Tally
from tests.hostile.ways import Ways

BEGINS = "the attack begins"

_DESCRIPTORS = 8_000
_CONNECT_S = 5.0
_NARROWER_WITH_NAMES = 4
"""So many times fewer connections of each kind are open at a time if all kinds run and each connection needs a
handshake and a proof, which take the neighbour longer than everything else."""


class Attacker:
    """Runs attacks at the same time.

    Args:
        attacks: names of what to run; empty for all of the neighbour.
        inputs: of the attacks.
    """

    def __init__(self, attacks: Sequence[str], inputs: AttackInputs) -> None:
        kinds = attacks_of(inputs.scene.identity)
        self._attacks = [kinds[name](inputs) for name in attacks or kinds]
        self._scene = inputs.scene
        self._ways = inputs.ways
        self._dice = inputs.dice
        has_names = inputs.scene.identity.has_name and len(self._attacks) > 1
        self._narrower = _NARROWER_WITH_NAMES if has_names else 1
        self._open: set[Connection] = set()
        self._is_over = False
        self.tally = Tally()

    async def run(self, duration_s: float) -> None:
        """Run the attacks for this time, and until the nodes have closed what they must close.

        Raises:
            AssertionError: a node has done what it must not do.
        """
        tasks = {
            asyncio.create_task(self._repeat(attack), name=f"{type(attack).__name__} {number}"): attack
            for attack in self._attacks
            for number in range(max(1, attack.width // self._narrower))
        }
        failed, running = await asyncio.wait(tasks, timeout=duration_s, return_when=asyncio.FIRST_EXCEPTION)
        self._is_over = True
        for task in running:
            if failed or not tasks[task].is_refused:
                task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def _repeat(self, attack: Attack) -> None:
        while not self._is_over:
            await self._once(attack)
            await asyncio.sleep(0)

    async def _once(self, attack: Attack) -> None:
        self.tally.rounds[type(attack).__name__] += 1
        endpoint = attack.target()
        try:
            async with asyncio.timeout(_CONNECT_S):
                connection = await self._ways.open(
                    endpoint, attack.way(), receive_buffer_bytes=attack.receive_buffer_bytes
                )
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            self.tally.refused += 1
            return
        self.tally.connections += 1
        self._open.add(connection)
        self.tally.open_at_most = max(self.tally.open_at_most, len(self._open))
        try:
            await self._round(attack, connection)
        finally:
            self._open.discard(connection)
            connection.close()
            if endpoint not in self._scene.metrics_endpoints:
                self.tally.received_at_most = max(self.tally.received_at_most, connection.received_bytes)

    async def _round(self, attack: Attack, connection: Connection) -> None:
        try:
            await attack.round(connection)
        except (OSError, asyncio.IncompleteReadError):
            self.tally.closed_by_node += 1
        self.tally.ended[type(attack).__name__] += 1


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
    names = arguments[3].split(",") if len(arguments) > 3 else []
    _allow_descriptors()
    recordings = Recordings.load(Path(scene.folder) / RECORDINGS_FILE)
    # A client has a name already: another proof would end its session.
    requests = recordings.requests if scene.identity.has_name else recordings.sent
    inputs = AttackInputs(scene=scene, recordings=requests, proofs=recordings.proofs, dice=dice, ways=Ways(scene, dice))
    attacker = Attacker(names, inputs)
    print(BEGINS, flush=True)
    asyncio.run(attacker.run(duration_s))
    attacker.tally.processor_s = time.process_time()
    print(attacker.tally.to_json(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
