"""Daemon: who loads feeds and makes backups when the clock says so."""
