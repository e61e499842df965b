"""Networks that are divided for a while, and connections that break."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from tests.simulation.faults.nemesis import Nemesis
from tests.simulation.network import Address, Links
from tests.simulation.sightings import Sight


class Partitions(Nemesis):
    """Divides the network, in one of several ways; several at a time may be in force."""

    def _strike(self) -> None:
        prey, dice = self._prey, self._dice
        links, how = self._draw_links()
        duration_ms = dice.between(prey.plan.faults.partition_ms)
        prey.sightings.count(Sight.PARTITION)
        prey.story.tell("network", "%s for %s ms", how, duration_ms)
        cut = prey.network.cut(links)
        prey.timeline.after(duration_ms, lambda: prey.network.mend(cut))

    def _draw_links(self) -> tuple[Links, str]:
        dice = self._dice
        nodes: list[Address] = [machine.node_id for machine in self._prey.machines]
        everybody = [*nodes, *self._prey.clients]
        leaders = [machine.node_id for machine in self._prey.leaders]
        one = dice.pick(leaders) if leaders and dice.draw(2) else dice.pick(nodes)
        others = [address for address in nodes if address != one]
        match dice.draw(6):
            case 0:
                return _between([one], [address for address in everybody if address != one]), f"isolates {one}"
            case 1:
                return _between([one], others), f"isolates {one} from the other nodes"
            case 2:
                side = dice.some(everybody, 1 + dice.draw(len(everybody) - 1))
                rest = [address for address in everybody if address not in side]
                return _between(side, rest), f"cuts {sorted(side)} from {sorted(rest)}"
            case 3:
                self._prey.sightings.count(Sight.ONE_WAY_PARTITION)
                return frozenset(product([one], others)), f"lets nothing from {one} through to other nodes"
            case 4:
                self._prey.sightings.count(Sight.ONE_WAY_PARTITION)
                return frozenset(product(others, [one])), f"lets nothing from other nodes through to {one}"
            case _:
                pairs = list(product(nodes, nodes))
                cut = dice.some(pairs, 1 + dice.draw(len(pairs)))
                return frozenset(cut), f"cuts the links {sorted(cut)}"


class Resets(Nemesis):
    """Breaks the connections between two nodes."""

    def _strike(self) -> None:
        prey = self._prey
        if len(prey.machines) > 1:
            one, other = self._dice.some(prey.machines, 2)
            prey.post_office.reset(one.node_id, other.node_id)


def _between(some: Sequence[Address], others: Iterable[Address]) -> Links:
    """All links between two groups, both ways."""
    one_way = frozenset(product(some, others))
    return one_way | {(receiver, sender) for sender, receiver in one_way}
