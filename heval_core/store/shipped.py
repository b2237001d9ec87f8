"""What the Overview shows of the results that come with the program: the same file, without what it does not read.

The shards are whole in git, their published results are not: they are 150 times as large, and computing them takes most of a
minute. So a cut of them lies beside the shards, and the first page has its numbers at once.
"""

from pathlib import Path

import duckdb

from heval_core.store.kinds import SCHEMA

# The cut's file, beside the shards.
NAME = "overview.duckdb"
# Which explainers tell places apart: what the Overview's figure counts.
_METRICS = ("forced_choice", "which_mention", "route_mention")
_WHOLE = ("snapshot", "run", "model", "dataset", "catalogue", "board", "context", "cell_recovery")
_OF_INSTANCES = "SELECT own.* REPLACE (number AS instance_id) FROM whole.{0} own JOIN numbers USING (instance_id)"
# Table ▶ what is kept of it; of the others nothing. Instances are numbered: their ids would be most of the file.
_CUT = {table: f"SELECT * FROM whole.{table}" for table in _WHOLE} | {
    "instance": 'SELECT number AS instance_id, model, dataset, regime, technique, fact_id, subject, question, "group", '
    "dropped_because FROM whole.instance own JOIN numbers USING (instance_id) ORDER BY own.rowid",
    "cell_metric": "SELECT DISTINCT model, dataset, regime, technique FROM whole.cell_metric ORDER BY ALL",
    "attribution": "SELECT DISTINCT number AS instance_id FROM whole.attribution JOIN numbers USING (instance_id) "
    "ORDER BY ALL",
    "pattern": f"{_OF_INSTANCES.format('pattern')} ORDER BY own.rowid",
    "score": f"{_OF_INSTANCES.format('score')} WHERE k = 0 AND metric IN {_METRICS} ORDER BY own.rowid",
    "source": f"{_OF_INSTANCES.format('source')} ORDER BY own.rowid",
}


def cut(published: Path, into: Path) -> None:
    """Write the cut of a published file. The Overview without a filter reads nothing that is not there."""
    into.unlink(missing_ok=True)
    with duckdb.connect(str(into)) as database:
        database.execute(SCHEMA)
        database.execute("ATTACH ? AS whole (READ_ONLY)", [str(published)])
        database.execute("CREATE TEMP TABLE numbers AS SELECT instance_id, rowid::VARCHAR AS number FROM whole.instance")
        for table, rows in _CUT.items():
            database.execute(f"INSERT INTO {table} BY NAME {rows}")
        database.execute("DETACH whole")
