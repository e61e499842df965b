"""Maps the messages of the wire to those of the core and back: the wire's -1 is None there, and versions are gone.

partition   the one partition that a node hosts
elections   Vote, BeginQuorumEpoch, EndQuorumEpoch
fetches     Fetch of replicas and of clients
snapshots   FetchSnapshot
peers       any of them
"""
