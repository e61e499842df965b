"""The errors that faults explain."""

from __future__ import annotations

from raft.errors import AuthenticationError, QuorumUnavailableError

UNAVAILABLE = (QuorumUnavailableError, AuthenticationError)
"""No response in time; or a refusal, while nodes and clients read a password that has changed at different moments.
That each node accepts the right password afterwards is checked by the fault that changes it."""
