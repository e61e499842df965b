"""Records of finalized features."""

from raft.codec import INT16, STRING, Message, field, message


@message(api_key=12, versions="0", flexible="0+")
class FeatureLevelRecord(Message):
    """The level of a feature was finalized for the whole cluster.

    Fields:
        name: the name of the feature, such as `metadata.version`.
        feature_level: the finalized level; 0 if the feature is disabled.
    """

    name: str = field(STRING)
    feature_level: int = field(INT16)
