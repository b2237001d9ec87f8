"""What is exported is what was published, in formats that need none of this program, and never a formula."""

import csv
import io

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

from heval_core.store.export import as_csv, guarded, long_table
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from precompute.cli import main


def test_every_table_is_there_twice_with_the_published_rows(small_store, tmp_path, capsys):
    assert main(["export", "--store", str(small_store), "--out", str(tmp_path)]) == 0
    results = Reader(current_file(small_store))
    with duckdb.connect() as db:
        for table in results.tables():
            published = results.query(f'SELECT * FROM "{table}"')
            parquet = db.execute(f"SELECT * FROM '{tmp_path}/{table}.parquet'").df()
            pd.testing.assert_frame_equal(parquet, published)
            with (tmp_path / f"{table}.csv").open(newline="", encoding="utf-8") as file:
                header, *rows = csv.reader(file)
            assert header == list(published.columns)
            assert len(rows) == len(published)
    with (tmp_path / "attribution.csv").open(newline="", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    stored = pq.read_table(tmp_path / "attribution.parquet").to_pylist()[0]
    assert [float(score) for score in first["scores"].split(" ")] == pytest.approx(stored["scores"])
    assert "attribution.csv:" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_a_cell_that_a_spreadsheet_would_compute_is_guarded(text):
    assert guarded(text) == f"'{text}"
    written = as_csv(pd.DataFrame({"answer": [text], "=name": ["plain"]}))
    header, row = csv.reader(io.StringIO(written, newline=""))
    assert header == ["answer", "'=name"]
    assert row == [f"'{text}", "plain"]


def test_numbers_and_plain_text_stay_as_they_are():
    assert guarded("plain = text") == "plain = text"
    assert guarded(-1.5) == -1.5
    assert as_csv(pd.DataFrame({"value": [-1.5], "tokens": [["a", "=b"]]})) == '"value","tokens"\n-1.5,"a =b"\n'
    assert (
        as_csv(pd.DataFrame({"tokens": [["=1", " b"]], "scores": [[-0.5, 2.0]]}))
        == '"tokens","scores"\n"\'=1 ␣b","-0.5 2.0"\n'
    )


def test_the_long_table_has_plain_columns_and_no_json():
    frame = pd.DataFrame(
        {
            "value": [1.0, 2.0],
            "above_low": [0.5, 0.6],
            "group_sizes": ['{"C1": 12, "C2": 14}', None],
            "details": ['{"tokens": 87.5}', "{}"],
        },
        index=[7, 3],
    )
    plain = long_table(frame)
    assert list(plain.columns) == ["value", "above_chance_low", "group_sizes", "detail_tokens"]
    assert plain["group_sizes"].tolist() == ["C1 12, C2 14", ""]
    assert plain["detail_tokens"].tolist()[0] == 87.5
    assert "{" not in as_csv(plain)
    assert list(frame.columns) == ["value", "above_low", "group_sizes", "details"]
    assert list(long_table(frame.assign(details="{}")).columns) == ["value", "above_chance_low", "group_sizes"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--formats", "xlsx"], "There is no format 'xlsx'; there are: parquet, csv."),
        (["--store", "/nowhere"], "Nothing is published in /nowhere"),
        (["--out", "/proc/none"], "The folder /proc/none cannot be written"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, message, small_store, tmp_path, prints):
    (line,) = prints("export", "--store", small_store, "--out", tmp_path, *arguments, ends=2).err.strip().splitlines()
    assert message in line
