"""Charts: the nine kinds, drawn as Vega-Lite."""
