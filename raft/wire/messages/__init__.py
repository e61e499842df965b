"""The requests and responses of each API, in the field names and versions of Apache Kafka 4.3.1.

Only here is -1 "unknown", and error codes are plain numbers.
"""
