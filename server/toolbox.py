"""The toolbox: the table of all tools."""
