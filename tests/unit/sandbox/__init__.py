"""The jail, attacked."""
