"""The feature in ApiVersions responses by which a client distinguishes our nodes from those of Apache Kafka.

level 0   no keyed writes
level 1   the leader checks the keys of keyed writes
level 2   multipart writes, and transactions of Kafka's clients
"""

FEATURE_NAME = "kraft.spark.version"
FEATURE_LEVELS = (0, 2)
KEYED_WRITES_LEVEL = 1
MULTIPART_WRITES_LEVEL = 2

TRANSACTION_FEATURE = "transaction.version"
TRANSACTION_LEVEL = 2
"""Kafka's feature: at level 2 a producer goes on with another epoch after each transaction (KIP-890)."""
