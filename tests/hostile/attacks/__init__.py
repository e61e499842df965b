"""The attacks of the neighbour, a class for each kind."""
