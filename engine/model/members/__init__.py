"""Members and nodes: the leaves of a dimension, the trees above them, and the weight of each node."""
