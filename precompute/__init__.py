"""The batch job: every explainer on every instance of a grid, as shards that are published as one DuckDB file."""
