"""FactStore: the three questions every store of facts answers, each within a cell."""
