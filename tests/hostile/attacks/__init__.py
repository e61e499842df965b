"""What the neighbour does, each kind in a class of its own."""
