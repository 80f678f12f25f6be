"""Files: how a file, a workbook or a database is written, and its columns as they are read."""
