"""One file per dataset: raw records in, facts out. Nothing here knows about prompts or models.

A dataset is a frozen dataclass with `key`, `title`, `reference`, `long` and `facts()`; a module offers it as `PLUGIN`.
"""
