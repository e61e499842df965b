"""The record types of `__cluster_metadata`, by subject.

Each class is a message of Kafka's metadata module (version 4.3.1, if its docstring says nothing else), with Kafka's
names. The `api_key` of a message is its record type. Numbers that stand for "unchanged" or "none" are Kafka's.
"""
