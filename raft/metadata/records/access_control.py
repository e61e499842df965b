"""Records of access control entries (ACLs)."""

from raft.codec import INT8, STRING, UUID, Message, field, message
from raft.types import Uuid


@message(api_key=18, versions="0", flexible="0+")
class AccessControlEntryRecord(Message):
    """An ACL was added.

    Fields:
        id: the id of the ACL.
        resource_type: 2 is a topic, 3 a group, 4 the cluster, 5 a transactional id, 6 a delegation token, 7 a user.
        resource_name: the name of the resource, or its prefix; `*` for all.
        pattern_type: 3 if the name is that of the resource, 4 if it is a prefix.
        principal: who may or may not do it, such as `User:alice`.
        host: the host from which the principal connects; `*` for all.
        operation: the number of the operation in Kafka's AclOperation, such as 2 for all, 3 for read, 4 for write.
        permission_type: 2 denies, 3 allows.
    """

    id: Uuid = field(UUID)
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8)
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@message(api_key=19, versions="0", flexible="0+")
class RemoveAccessControlEntryRecord(Message):
    """An ACL was removed.

    Fields:
        id: the id of the ACL.
    """

    id: Uuid = field(UUID)
