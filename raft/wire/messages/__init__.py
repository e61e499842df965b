"""The requests and responses of each API, in the field names and versions of Apache Kafka 4.3.1.

A -1 for "unknown" lives here and goes no further in; so do error codes as plain numbers.
"""
