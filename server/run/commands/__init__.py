"""The commands of `tieout`, a module each."""
