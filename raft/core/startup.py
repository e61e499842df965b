"""The role in which a node starts, given what it stored (rules STATE-7..16)."""

from __future__ import annotations

from raft.core.config import CoreConfig, Draw
from raft.core.log_view import LogView
from raft.core.roles import Candidate, Follower, Prospective, Resigned, Role, Unattached, known_leader
from raft.core.tally import Tally
from raft.types import ElectionState, Epoch


def foreign_state(config: CoreConfig, stored: ElectionState | None, log: LogView) -> str | None:
    """Return why the stored state cannot be this node's, None if it can: only a voter leads or starts elections."""
    if stored is None or stored.epoch < log.last_epoch or config.is_voter:
        return None
    if stored.leader_id == config.node_id:
        did = "led"
    elif _is_candidacy(config, stored):
        did = "was a candidate in"
    else:
        return None
    voters = list(config.voters.ids)
    return f"node {config.node_id} is not a voter of {voters}, but its quorum-state says that it {did} the last epoch"


def lost_state(config: CoreConfig, stored: ElectionState | None, log: LogView) -> str | None:
    """Return why a missing election state was lost; None if it is there, or not needed.

    Every node stores its epoch before it appends its first record, so a log with records had an election state. A voter
    without it may have voted in an epoch that its log does not show, and would vote in it again (STATE-19). A sole
    voter votes only for itself, and the votes of observers do not count.
    """
    if stored is not None or not log.end_offset or not config.is_voter or config.is_only_voter:
        return None
    return (
        f"the log ends at offset {log.end_offset}, but there is no quorum-state: voter {config.node_id} does not know "
        "in which epoch it has voted, and could vote twice in one"
    )


def starting_role(
    config: CoreConfig, stored: ElectionState | None, log: LogView, *, draw: Draw, now_ms: int
) -> tuple[Role, str]:
    """Choose the role to start in, and say why.

    No node starts as Leader: it could use the offsets of records again that it had sent and not flushed.

    Args:
        config: the node's place in the quorum.
        stored: its election state, which `foreign_state` has accepted; None on the very first start.
        log: its log.
        draw: random numbers.
        now_ms: the present time.
    """
    timeout_ms = config.election_timeout_ms
    deadline_ms = now_ms + (timeout_ms + draw(timeout_ms) if timeout_ms else 0)
    role, reason = _role_from(
        config,
        stored or ElectionState(epoch=Epoch(0)),
        log,
        deadline_ms=deadline_ms,
        now_ms=now_ms,
        draw=draw,
    )
    if config.is_only_voter and not isinstance(role, Candidate):
        return _sole_voter(config, role, deadline_ms), "only voter, elects itself"
    return role, reason


def _role_from(
    config: CoreConfig, stored: ElectionState, log: LogView, *, deadline_ms: int, now_ms: int, draw: Draw
) -> tuple[Role, str]:
    election_deadline_ms = deadline_ms if config.is_voter else None
    if stored.epoch < log.last_epoch:
        role = Unattached(epoch=log.last_epoch, election_deadline_ms=election_deadline_ms)
        return role, "the log has a later epoch than the stored state"
    if stored.leader_id == config.node_id:
        return Resigned(
            epoch=stored.epoch,
            leader_id=config.node_id,
            voted_key=stored.voted_key,
            election_deadline_ms=deadline_ms,
            unacknowledged=frozenset(config.voters.others(config.node_id)),
        ), "was the leader of this epoch when it stopped"
    if _is_candidacy(config, stored):
        return Candidate(
            epoch=stored.epoch,
            voted_key=config.replica,
            election_deadline_ms=deadline_ms,
            tally=Tally.opened_by(config.node_id, config.voters),
        ), "was a candidate in this epoch when it stopped"
    if stored.leader_id is not None and config.voters.endpoints(stored.leader_id):
        fetch_timeout_ms = config.drawn_fetch_timeout_ms(draw)
        return Follower(
            epoch=stored.epoch,
            leader_id=stored.leader_id,
            leader_endpoints=config.voters.endpoints(stored.leader_id),
            voted_key=stored.voted_key,
            fetch_deadline_ms=now_ms + fetch_timeout_ms if config.is_voter else None,
            fetch_timeout_ms=fetch_timeout_ms,
        ), "knows the leader of this epoch"
    return Unattached(
        epoch=stored.epoch,
        leader_id=stored.leader_id,
        voted_key=stored.voted_key,
        election_deadline_ms=election_deadline_ms,
    ), "knows no leader to follow"


def _is_candidacy(config: CoreConfig, stored: ElectionState) -> bool:
    """Whether the node voted for itself in the stored epoch, and did not win."""
    return stored.leader_id is None and stored.voted_key is not None and stored.voted_key.matches(config.replica)


def _sole_voter(config: CoreConfig, role: Role, deadline_ms: int) -> Prospective:
    return Prospective(
        epoch=role.epoch,
        # The leader of this epoch must stay on disk until the next epoch is. After a crash in between, this node would
        # otherwise be a candidate in this epoch again, and could lead it twice.
        leader_id=known_leader(role),
        voted_key=role.voted_key,
        election_deadline_ms=deadline_ms,
        tally=Tally.opened_by(config.node_id, config.voters),
    )
