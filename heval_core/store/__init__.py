"""Where results live: Parquet shards with a manifest, and the DuckDB file published from them. All SQL is here."""
