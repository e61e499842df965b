"""Converts messages of the Kafka protocol to messages of the core, which have no versions and None for -1, and back.

partition         the partition that the node hosts, and values that may be unknown
elections         Vote, BeginQuorumEpoch, EndQuorumEpoch
fetches           Fetch of replicas and of clients
snapshots         FetchSnapshot
replica_messages  any message between replicas
"""
