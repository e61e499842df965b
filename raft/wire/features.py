"""The feature by which a client knows our nodes from Kafka's: announced in ApiVersions answers.

level 0   no keyed writes
level 1   the leader judges the keys of keyed writes
"""

FEATURE_NAME = "kraft.spark.version"
FEATURE_LEVELS = (0, 1)
KEYED_WRITES_LEVEL = 1
