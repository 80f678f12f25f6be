"""Members and nodes: the leaves of a dimension, the trees above them, and what each node weighs.

A leaf dimension has its members, a derived one the values of an attribute of theirs, a ragged one the nodes of a tree
above them. All three answer alike: which leaves an id stands for, with which weight, and which ids a breakdown shows.
"""
