"""A node: its disk, which stays, and the core that runs on it from one start to the next crash."""

from __future__ import annotations

from raft.core import CoreConfig, RaftCore
from raft.core.effects import FlushLog
from raft.types import NodeId
from tests.scenarios.harness.dice import Dice
from tests.scenarios.harness.disk import Disk
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.message import Exchange


class Node:
    """One replica of the quorum.

    Fields:
        life: how often it has started; answers to an earlier life find nobody.
        has_role: whether it has told the role it starts in.
        flushes: ordered and not done yet.
        is_flush_delayed: whether they wait for the command `flush`.
    """

    def __init__(self, config: CoreConfig, dice: Dice) -> None:
        self.config = config
        self.disk = Disk()
        self.dice = dice
        self.life = 0
        self.has_role = False
        self.flushes: list[FlushLog] = []
        self.is_flush_delayed = False
        self._core: RaftCore | None = None

    @property
    def node_id(self) -> NodeId:
        """Its name."""
        return self.config.node_id

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self._core is not None

    @property
    def core(self) -> RaftCore:
        """The running core.

        Raises:
            ScenarioError: the node is down.
        """
        if self._core is None:
            raise ScenarioError(f"node {self.node_id} is down")
        return self._core

    @property
    def deadline_ms(self) -> int | None:
        """When it wants to be woken; None for never."""
        return self._core.deadline_ms if self._core else None

    def waits_for(self, exchange: Exchange) -> bool:
        """Whether the life that sent this request still goes on."""
        return self.is_up and exchange.asker_life == self.life

    def boot(self) -> None:
        """Begin a new life with what is on the disk."""
        if self.is_up:
            raise ScenarioError(f"node {self.node_id} is up already")
        self.life += 1
        self.has_role = False
        self._core = RaftCore(
            self.config,
            stored=self.disk.election_state,
            log=self.disk.log_view(),
            draw=self.dice.draw,
        )

    def stop(self) -> None:
        """End this life. What was not flushed is lost, whatever the reason: the hardest case."""
        self._core = None
        self.flushes.clear()
        self.disk.lose_unflushed()
