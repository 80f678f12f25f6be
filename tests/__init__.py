"""The tests of Tieout; they mirror the packages."""
