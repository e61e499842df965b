"""The planted bugs that no seed of the tests reaches any more.

Since the network keeps the order of a connection, and nodes need time for requests, all runs are other ones. These bugs
need a rare moment: most of them a crash within a few milliseconds. A bug that another seed reaches leaves this list,
and the seed comes to `fixed_seeds`.
"""

from __future__ import annotations

UNCAUGHT = frozenset(
    (
        "announcement confirms later reads",
        "fetch confirms reads",
        "interrupted cut is not completed",
        "interrupted installation is forgotten",
        "older version refused before the newer commits",
        "snapshot offered to a contact is loaded",
        "truncation not flushed",
        "uncommitted writers are stored at a stop",
    )
)
