"""The feature in ApiVersions responses by which a client distinguishes our nodes from those of Apache Kafka.

level 0   no keyed writes
level 1   the leader checks the keys of keyed writes
"""

FEATURE_NAME = "kraft.spark.version"
FEATURE_LEVELS = (0, 1)
KEYED_WRITES_LEVEL = 1
