"""Records of the SCRAM credentials of users."""

from raft.codec import BYTES, INT8, INT32, STRING, Message, field, message


@message(api_key=11, versions="0", flexible="0+")
class UserScramCredentialRecord(Message):
    """A SCRAM credential was set. The salt and both keys are secrets.

    Fields:
        name: the name of the user.
        mechanism: 1 is SCRAM-SHA-256, 2 SCRAM-SHA-512.
        salt: random bytes.
        stored_key: the key with which a broker authenticates the client.
        server_key: the key with which the client authenticates a broker.
        iterations: the number of iterations of the hash.
    """

    name: str = field(STRING)
    mechanism: int = field(INT8)
    salt: bytes = field(BYTES)
    stored_key: bytes = field(BYTES)
    server_key: bytes = field(BYTES)
    iterations: int = field(INT32)


@message(api_key=22, versions="0", flexible="0+")
class RemoveUserScramCredentialRecord(Message):
    """A SCRAM credential was removed.

    Fields:
        name: the name of the user.
        mechanism: 1 is SCRAM-SHA-256, 2 SCRAM-SHA-512.
    """

    name: str = field(STRING)
    mechanism: int = field(INT8)
