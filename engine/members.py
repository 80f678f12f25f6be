"""Members and nodes: the leaves of a dimension, the trees above them, and what each node weighs."""
