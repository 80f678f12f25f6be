"""Exports: kept results as files, laid out as they were seen: workbooks for accountants, JSON for programs."""
