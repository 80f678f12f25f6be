"""Calendars: periods, their codes, and the fiscal years or tables that define them."""
