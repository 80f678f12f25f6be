"""Reports: the figures of one plan, laid out in lines and columns, with what says how far they can be trusted."""
