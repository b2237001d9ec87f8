"""The batch job: every explainer on every instance of a grid, as shards that are published as one DuckDB file."""

import heval_core  # noqa: F401  (before torch: it says how torch's threads wait)
