"""Reports: the figures of one plan in lines and columns, with their freshness, notes and permission."""
