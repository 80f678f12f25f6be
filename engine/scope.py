"""Cells: restrictions resolved to the codes of leaf members; a permission is one, a filter is one."""
