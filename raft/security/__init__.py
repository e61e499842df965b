"""TLS, SASL and authorization: how both sides of a connection prove their names, and what a client may do.

The settings are in `raft.config`. The messages of TLS and SASL are made and read here without sockets; the parts that
read files are those of certificates, credentials, rules and references.
"""
