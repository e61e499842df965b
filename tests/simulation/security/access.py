"""The users of a run and their rights, which may change, and what each node has read of them."""

from __future__ import annotations

from collections.abc import Collection

from raft.runtime.caller import Caller
from raft.security.credentials import Credentials
from raft.security.rules import Rules
from raft.security.sasl_server import Verifiers
from raft.security.sasl_session import SaslSession
from raft.types import NodeId
from tests.simulation.dice import Dice
from tests.simulation.plan import Plan
from tests.simulation.security.expected import Known
from tests.simulation.security.identity import Identity, credential_of
from tests.simulation.security.mechanisms import PLAIN, SCRAM
from tests.simulation.security.rights import Right
from tests.simulation.security.users import all_users, first_permissions, password_of, user_of
from tests.simulation.starting import endpoint_of
from tests.simulation.timeline import Timeline

_LOOK_MS = (0, 1_000)
"""A node looks each second whether its files have changed."""


class SimulatedGate:
    """What one node has read of users and rules; see `raft.node.gate` and `raft.security.rules_file`.

    Attributes:
        known: users and rules.
    """

    def __init__(self, access: AccessControl, node_id: NodeId) -> None:
        self._access = access
        self._node_id = node_id
        self._credentials = Credentials()
        self.known: Known
        self.renew()
        # Those of PLAIN are in the configuration, which a node does not read again.
        passwords = self.known.passwords if self.known.mechanism == PLAIN else {}
        self._verifiers = Verifiers(
            (self.known.mechanism,),
            passwords=lambda: passwords,
            credentials=lambda: self._credentials,
            pepper=b"%d" % node_id,
        )

    def renew(self) -> None:
        """Read the files."""
        known = self.known = self._access.known_at(self._node_id)
        if known.mechanism == SCRAM:
            self._credentials = Credentials(
                {user: {SCRAM: credential_of(user, password)} for user, password in known.passwords.items()}
            )

    def new_caller(self, address: str) -> Caller:
        """Return the other side of a new connection."""
        session = SaslSession(self._verifiers, max_reauth_ms=self.known.max_reauth_ms)
        return Caller(endpoint_of(self._node_id), None, address, sasl=session)


class AccessControl:
    """The users of a run, and what they may do.

    Args:
        plan: the plan of the run.
        timeline: virtual time.

    Attributes:
        gates: what each node has read of them.
        refused_everywhere: the nodes that the rules of all nodes have refused at some time.
        overheard: the messages of SCRAM by which users have proved their names last, as an intruder has seen them.
        has_faults: whether connections may fail.
    """

    def __init__(self, plan: Plan, timeline: Timeline) -> None:
        self._plan = plan
        self._timeline = timeline
        self._dice = Dice(plan.seed, "files of rules")
        self._nonces = Dice(plan.seed, "nonces")
        self._removed: frozenset[str] = frozenset()
        self._permissions = first_permissions(plan)
        self._refused_nodes: frozenset[NodeId] = frozenset()
        self._refused_at: frozenset[NodeId] = frozenset()
        self.has_faults = True
        self.refused_everywhere: frozenset[NodeId] = frozenset()
        self.overheard: dict[str, list[bytes]] = {}
        self.gates = {node_id: SimulatedGate(self, node_id) for node_id in (*plan.voters, *plan.observers)}

    @property
    def rules(self) -> Rules:
        """Who may do what."""
        return self._permissions.rules

    @property
    def has_wrong_rules(self) -> bool:
        """Whether the rules of some node refuse a node now."""
        return bool(self._refused_at)

    def known_at(self, node_id: NodeId) -> Known:
        """Return the users and rules as they are now in the files of a node."""
        permissions = self._permissions
        if node_id in self._refused_at:
            refused = self._refused_nodes - {node_id}
            permissions = permissions.without_nodes(refused, [user_of(node, self._plan) for node in refused])
        return Known(
            passwords={user: password_of(user) for user in all_users(self._plan) if user not in self._removed},
            removed=self._removed,
            rules=permissions.rules,
            voters=self._plan.voters,
            mechanism=self._plan.security.mechanism,
            max_reauth_ms=self._plan.security.max_reauth_ms,
        )

    def node(self, node_id: NodeId) -> Identity:
        """Return the user of a node."""
        return self.user(user_of(node_id, self._plan))

    def user(self, name: str, *, password: str | None = None) -> Identity:
        """Return a user.

        Args:
            name: of the user.
            password: with which it proves its name; None for the right one.
        """
        return Identity(
            user=name,
            password=password_of(name) if password is None else password,
            mechanism=self._plan.security.mechanism,
            nonces=self._nonces,
        )

    def end_faults(self) -> None:
        """Give back all users and rights at once, and let connections fail no more."""
        self.has_faults = False
        self._removed, self._permissions = frozenset(), first_permissions(self._plan)
        self._refused_nodes = self._refused_at = frozenset()
        for gate in self.gates.values():
            gate.renew()

    def take_right(self, user: str, right: Right) -> None:
        """Take a right from a user."""
        self._permissions = self._permissions.without(user, right)
        self._publish()

    def give_right(self, user: str, right: Right) -> None:
        """Give a right to a user."""
        self._permissions = self._permissions.with_right(user, right)
        self._publish()

    def remove_user(self, user: str) -> None:
        """Remove a user, who then cannot prove its name."""
        self._removed |= {user}
        self._publish()

    def add_user(self, user: str) -> None:
        """Add a user that was removed."""
        self._removed -= {user}
        self._publish()

    def refuse_nodes(self, nodes: Collection[NodeId], *, at: Collection[NodeId]) -> None:
        """Let the rules of some nodes refuse other nodes."""
        self._refused_nodes, self._refused_at = frozenset(nodes), frozenset(at)
        if len(at) > 1:
            self.refused_everywhere |= self._refused_nodes
        self._publish()

    def refuse_no_nodes(self) -> None:
        """Correct the rules."""
        self._refused_nodes = self._refused_at = frozenset()
        self._publish()

    def _publish(self) -> None:
        for gate in self.gates.values():
            self._timeline.after(self._dice.between(_LOOK_MS), gate.renew)
