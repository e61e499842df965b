"""The feature in ApiVersions responses by which a client distinguishes our nodes from those of Apache Kafka.

At level 2 the leader checks the keys of keyed writes, and has multipart writes and transactions of Kafka's clients. No
released node has a lower level.
"""

FEATURE_NAME = "kraft.spark.version"
FEATURE_LEVELS = (0, 2)
WRITES_LEVEL = 2

TRANSACTION_FEATURE = "transaction.version"
TRANSACTION_LEVEL = 2
"""Kafka's feature: at level 2 a producer goes on with another epoch after each transaction (KIP-890)."""
