"""The table of served APIs is complete."""

from __future__ import annotations

from raft.runtime.requests.served import SERVED
from raft.wire.apis import APIS, SASL_AUTHENTICATE, SASL_HANDSHAKE


def test_every_api_is_served_but_those_by_which_callers_prove_their_names() -> None:
    of_authentication = {SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key}

    assert {served.api.key for served in SERVED.values()} == APIS.keys() - of_authentication
