"""Records of delegation tokens."""

from raft.codec import INT64, STRING, Message, array, field, message


@message(api_key=10, versions="0", flexible="0+")
class DelegationTokenRecord(Message):
    """A delegation token was created or renewed. All times are in ms since 1970.

    Fields:
        owner: the principal that the token stands for.
        requester: the principal that requested it.
        renewers: the principals that may renew it.
        issue_timestamp: when it was issued.
        max_timestamp: after this time it cannot be renewed.
        expiration_timestamp: when it expires, unless it is renewed before.
        token_id: the id of the token.
    """

    owner: str = field(STRING)
    requester: str = field(STRING)
    renewers: tuple[str, ...] = field(array(STRING))
    issue_timestamp: int = field(INT64)
    max_timestamp: int = field(INT64)
    expiration_timestamp: int = field(INT64)
    token_id: str = field(STRING)


@message(api_key=26, versions="0", flexible="0+")
class RemoveDelegationTokenRecord(Message):
    """A delegation token was removed.

    Fields:
        token_id: the id of the token.
    """

    token_id: str = field(STRING)
