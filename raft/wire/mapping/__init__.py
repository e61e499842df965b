"""Between the wire's messages and the core's: where -1 becomes None, and versions are forgotten.

partition   which partition is ours
elections   Vote, BeginQuorumEpoch, EndQuorumEpoch
fetches     Fetch of replicas and of clients
peers       whichever of them it is
"""
