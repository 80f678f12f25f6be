"""Reports: the figures of one plan, laid out in lines and columns."""
