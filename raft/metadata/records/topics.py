"""Records of topics."""

from raft.codec import STRING, UUID, Message, field, message
from raft.types import Uuid


@message(api_key=2, versions="0", flexible="0+")
class TopicRecord(Message):
    """A topic was created. Its partitions follow as records of their own.

    Fields:
        name: the name of the topic.
        topic_id: the id of the topic; a topic that is created again with the same name has another.
    """

    name: str = field(STRING)
    topic_id: Uuid = field(UUID)


@message(api_key=9, versions="0", flexible="0+")
class RemoveTopicRecord(Message):
    """A topic was deleted, with all of its partitions.

    Fields:
        topic_id: the id of the topic.
    """

    topic_id: Uuid = field(UUID)
