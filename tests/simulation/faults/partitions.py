"""Network partitions and flapping links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis
from tests.simulation.marks import Mark
from tests.simulation.message import Address
from tests.simulation.network import Links

_FLAP_MS = (5, 400)


class Partitions(Nemesis):
    """Partitions the network in one of several ways. Several partitions may exist at the same time."""

    kind = Fault.PARTITION

    def _strike(self) -> bool:
        targets = self._targets
        links, how = self._draw_links()
        duration_ms = self._dice.between(targets.plan.faults.partition_ms)
        targets.run_log.add("network", "%s for %s ms", how, duration_ms)
        cut = targets.network.cut(links)
        targets.timeline.after(duration_ms, lambda: targets.network.mend(cut))
        return True

    def _draw_links(self) -> tuple[Links, str]:
        dice = self._dice
        nodes: list[Address] = [machine.node_id for machine in self._targets.machines]
        everyone = [*nodes, *self._targets.clients]
        leaders = [machine.node_id for machine in self._targets.leaders]
        one = dice.pick(leaders) if leaders and dice.draw(2) else dice.pick(nodes)
        others = [address for address in nodes if address != one]
        match dice.draw(6):
            case 0:
                return both_ways([one], [address for address in everyone if address != one]), f"isolates {one}"
            case 1:
                return both_ways([one], others), f"isolates {one} from the other nodes"
            case 2:
                side = dice.some(everyone, 1 + dice.draw(len(everyone) - 1))
                rest = [address for address in everyone if address not in side]
                return both_ways(side, rest), f"cuts {sorted(side)} from {sorted(rest)}"
            case 3:
                self._targets.marks.count(Mark.ONE_WAY_PARTITION)
                return frozenset(product([one], others)), f"cuts the links from {one} to other nodes"
            case 4:
                self._targets.marks.count(Mark.ONE_WAY_PARTITION)
                return frozenset(product(others, [one])), f"cuts the links from other nodes to {one}"
            case _:
                pairs = list(product(nodes, nodes))
                cut = dice.some(pairs, 1 + dice.draw(len(pairs)))
                return frozenset(cut), f"cuts the links {sorted(cut)}"


class FlappingLinks(Nemesis):
    """Cuts and mends the links of one node in short turns: to some nodes or all, in one direction or both."""

    kind = Fault.FLAPPING

    def _strike(self) -> bool:
        targets, dice = self._targets, self._dice
        if len(targets.machines) < 2:
            return False
        nodes = [machine.node_id for machine in targets.machines]
        leaders = [machine.node_id for machine in targets.leaders]
        one = dice.pick(leaders) if leaders and dice.draw(2) else dice.pick(nodes)
        others = [node_id for node_id in nodes if node_id != one]
        others = dice.some(others, 1 + dice.draw(len(others)))
        links = both_ways([one], others) if dice.draw(2) else frozenset(product([one], others))
        until_ms = targets.timeline.now_ms + dice.between(targets.plan.faults.partition_ms)
        targets.run_log.add("network", "flaps between %s and %s until %s ms", one, sorted(others), until_ms)
        self._flap(links, until_ms)
        return True

    def _flap(self, links: Links, until_ms: int) -> None:
        targets = self._targets
        if self._is_over or targets.timeline.now_ms >= until_ms:
            return
        cut = targets.network.cut(links)
        down_ms, up_ms = self._dice.between(_FLAP_MS), self._dice.between(_FLAP_MS)
        targets.timeline.after(down_ms, lambda: targets.network.mend(cut))
        targets.timeline.after(down_ms + up_ms, lambda: self._flap(links, until_ms))


def both_ways(some: Sequence[Address], others: Iterable[Address]) -> Links:
    """Return all links between two groups, in both directions."""
    one_way = frozenset(product(some, others))
    return one_way | {(receiver, sender) for sender, receiver in one_way}
