"""Whether two published files hold the same."""

from __future__ import annotations

from pathlib import Path

import duckdb


def assert_same(one: Path, other: Path) -> None:
    """The same rows in the same order, to the bit."""
    database = duckdb.connect()
    for name, file in (("one", one), ("other", other)):
        database.execute(f"ATTACH '{file}' AS {name} (READ_ONLY)")
    tables = database.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'one'").fetchall()
    different = (
        "SELECT count(*) FROM one.{0} a POSITIONAL JOIN other.{0} b WHERE a IS DISTINCT FROM b",
        "SELECT (SELECT count(*) FROM one.{0}) - (SELECT count(*) FROM other.{0})",
    )
    for (name,) in tables:
        if name != "snapshot":  # when it was published
            assert [database.execute(sql.format(name)).fetchone()[0] for sql in different] == [0, 0], name
