"""The shape of each file of an instance, as models: they check it, and their JSON Schemas go to editors."""
