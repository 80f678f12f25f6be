"""Cases of wrong figures: a small file or instance each, with its right figures. `python -m pytest tests/doors`."""
