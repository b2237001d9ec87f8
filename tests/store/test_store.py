"""Shards, publishing and reading: complete, ordered, hardened, and clear about what is wrong."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

from heval_core.evaluation.publishing import publish
from heval_core.plugins import catalogue
from heval_core.records import UNCOMPARED, HEvalError, Span
from heval_core.records.json_lines import append_lines
from heval_core.store.filters import Filter
from heval_core.store.kinds import KINDS, SCHEMA
from heval_core.store.kinds import TABLES as COLUMNS
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from precompute.cli import main

TABLES = {
    "run": {"git_commit", "versions", "device", "dtype", "seed", "configuration", "started", "finished"},
    "model": {"architecture", "layers", "heads", "kv_heads", "width", "parameters", "bos_id", "pad_id", "baseline_id"},
    "instance": {"prompt", "tokens", "answer_tokens", "memory_answer", "predicted_text", "predicted_id", "group",
                 "expected_group", "dropped_because", "candidate_logits", "candidate_probabilities"},
    "attribution": {"scores", "seconds", "settings", "layer", "head", "head_scores"},
    "score": {"instance_id", "explainer", "metric", "k", "value", "chance"},
    "cell_metric": {"value", "low", "high", "chance", "n", "group_sizes", "unavailable"},
    "failure": {"error", "happened"},
    "catalogue": {"kind", "key", "title", "signed", "reference", "docstring"},
}  # fmt: skip


def test_columns_are_read_from_the_schema_as_duckdb_reads_it():
    with duckdb.connect() as db:
        db.execute(SCHEMA)
        tables = [name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        assert {name: db.table(name).to_arrow_table().schema for name in tables} == COLUMNS
    assert len(tables) == 36


@pytest.fixture
def store(small_store, tmp_path):
    return shutil.copytree(small_store, tmp_path / "store")


@pytest.fixture
def reader(small_store):
    return Reader(current_file(small_store))


def test_the_published_file_meets_the_data_contract_and_opens_in_plain_duckdb(small_store, tmp_path):
    # A copy, because within one process DuckDB opens a file once, here with the reader's hardened settings.
    copied = shutil.copy(current_file(small_store), tmp_path / "results.duckdb")
    with duckdb.connect(str(copied), read_only=True) as db:
        for table, columns in TABLES.items():
            found = {row[0]: row[1] for row in db.execute(f"DESCRIBE {table}").fetchall()}
            assert columns <= set(found), table
        assert db.execute("SELECT typeof(tokens) FROM instance LIMIT 1").fetchone() == ("VARCHAR[]",)
        assert db.execute("SELECT typeof(scores) FROM attribution LIMIT 1").fetchone() == ("FLOAT[]",)
        assert db.execute("SELECT count(*) FROM instance").fetchone() == (24,)


def test_every_kept_instance_has_one_finite_score_per_token_from_every_explainer_and_their_share_of_ties(reader):
    for instance_id in reader.instance_ids(Filter()):
        instance, attributions = reader.instance(instance_id), reader.attributions(instance_id)
        assert set(attributions) == {*catalogue.default_methods(), *catalogue.explainers(control=True)}
        assert "".join(instance.tokens) == instance.prompt
        for explainer, row in attributions.items():
            assert len(row.scores) == len(instance.tokens)
            assert np.isfinite(row.scores).all()
            ranked = row.scores[instance.first_ranked :]
            literally = sum(ranked.count(score) > 1 for score in ranked) / len(ranked)
            assert row.tied == pytest.approx(literally), explainer
    ties = reader.query("SELECT explainer, avg(tied) AS tied FROM attribution GROUP BY explainer")
    ties = ties.set_index("explainer")["tied"]
    assert ties["position"] == ties["random"] == 0
    assert ties["lexical"] > 0.8


def test_what_no_explainer_can_be_right_about_comes_last(few):
    group_of = few.query('SELECT instance_id, "group" FROM instance').set_index("instance_id")["group"]
    compared = [group_of[one] not in UNCOMPARED for one in few.instance_ids(Filter())]
    assert len(set(compared)) == 2
    assert compared == sorted(compared, reverse=True)


def test_instances_stand_in_the_order_of_model_dataset_regime_and_place(reader):
    found = reader.query("SELECT model, dataset, regime, place FROM instance ORDER BY rowid")
    places = found.groupby(["model", "dataset", "regime"])["place"].apply(list)
    assert all(p == sorted(p) for p in places)
    assert list(dict.fromkeys(found["model"])) == sorted(set(found["model"]))


def test_kept_heads_are_there_for_the_first_question_and_nothing_for_others(reader):
    first, *_, last = reader.query("SELECT * FROM instance ORDER BY rowid").to_dict("records")
    kept = reader.head_attention(first["instance_id"], 1, 2)
    assert sum(kept) == pytest.approx(1, abs=1e-2)
    assert reader.head_attention(last["instance_id"], 1, 2) is None


def test_the_same_shards_give_the_same_snapshot_and_a_publish_again_changes_nothing(store):
    before = current_file(store).name
    assert publish(store).name == before
    current_file(store).unlink()
    assert publish(store).name == before


def test_only_the_last_two_published_files_are_kept(store):
    for number in range(3):
        (store / f"results-{number:016d}.duckdb").write_bytes(b"old")
    # A publisher that was killed: process numbers end before this one.
    left = store / "results-0.99999999.tmp.tmp"
    left.mkdir()
    (left / "duckdb_temp_storage").write_bytes(b"rows that had no room in memory")
    publish(store)
    assert len(list(store.glob("results-*.duckdb"))) == 2
    assert current_file(store).is_file()
    assert not list(store.glob("*.tmp")) + list(store.glob("*.wal"))


def test_a_damaged_shard_is_not_published_and_says_which(store):
    entry = next(e for e in ShardStore(store).entries().values() if e.kind == "instance")
    (store / entry.path).write_bytes((store / entry.path).read_bytes()[:-20])
    with pytest.raises(HEvalError, match="1 shards are damaged"):
        publish(store)


def test_a_torn_last_line_of_the_manifest_is_passed_over_and_closed_off(store):
    whole = len(ShardStore(store).entries())
    manifest = store / "manifest.jsonl"
    manifest.write_bytes(manifest.read_bytes()[:-30])
    assert len(ShardStore(store).entries()) == whole - 1
    append_lines(manifest, [json.loads(manifest.read_text().splitlines()[0])])
    assert len(ShardStore(store).entries()) == whole - 1


def test_a_line_of_the_journal_ends_with_its_line_break_whatever_its_text_has(tmp_path):
    journal = ShardStore(tmp_path)
    lines = [{"error": f"a{separator}b"} for separator in ("\u2028", "\x85", "\x1c", "\r\n")]
    journal.note("failure", *lines)
    assert journal.journal("failure") == lines


def test_a_store_of_another_format_is_refused_by_every_command_and_nothing_in_it_is_touched(store, capsys):
    (store / "format.json").write_text('{"format": 99}')
    with pytest.raises(HEvalError, match="has format 99"):
        ShardStore(store)
    (store / "format.json").write_text('{"format": 1}')
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    asked = {"run": ["--models", "m", "--datasets", "world_capital"], "status": [], "verify": [], "publish": []}
    for command, more in asked.items():
        assert main([command, "--store", str(store), *more]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "has format 1; the rules for its numbers have changed since. Run again" in line
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("content", [b"", b"not a database", None, "foreign", "truncated"])
def test_a_file_that_is_no_results_file_is_refused_in_one_sentence(small_store, tmp_path, content):
    path = tmp_path / "results-x.duckdb"
    if content == "truncated":
        whole = current_file(small_store).read_bytes()
        path.write_bytes(whole[: len(whole) // 3])
    elif content == "foreign":
        with duckdb.connect(str(path)) as db:
            db.execute("CREATE TABLE t (a INTEGER)")
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(HEvalError, match="holds no results of this program" if content == "foreign" else "results"):
        Reader(path)


def test_a_pointer_that_is_damaged_or_points_to_nothing_says_so(store):
    current_file(store).unlink()
    with pytest.raises(HEvalError, match="is gone"):
        current_file(store)
    (store / "current.json").write_text("{")
    with pytest.raises(HEvalError, match="is damaged"):
        current_file(store)
    (store / "current.json").unlink()
    assert current_file(store) is None


@pytest.mark.parametrize("statement", [
    "CREATE TABLE t (a INTEGER)", "DELETE FROM instance", "COPY instance TO '{folder}/out.csv'",
    "SELECT * FROM read_csv('{folder}/secret.csv')", "ATTACH '{folder}/other.duckdb'", "INSTALL httpfs",
])  # fmt: skip
def test_the_reader_cannot_write_and_cannot_reach_other_files(reader, tmp_path, statement):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with pytest.raises(duckdb.Error):
        reader.query(statement.format(folder=tmp_path))


def test_values_are_parameters_and_never_sql(reader):
    hostile = "x'); drop table instance;--"
    assert reader.instance_ids(Filter(model=(hostile,))) == []
    with pytest.raises(HEvalError, match="no instance"):
        reader.instance(hostile)
    assert len(reader.instance_ids(Filter())) > 0


def test_threads_never_see_each_others_rows(reader):
    ids = reader.instance_ids(Filter())[:4]

    def read(instance_id):
        return {reader.instance(instance_id).instance_id for _ in range(20)}

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, ids)) == [{instance_id} for instance_id in ids]


def test_lengths_of_contexts_are_those_of_the_documents_themselves(reader):
    for row in reader.rows("context", Filter()).to_dict("records"):
        characters, tokens = [], []
        for instance_id in reader.instance_ids(Filter((row["model"],), (row["dataset"],), (row["regime"],))):
            instance = reader.instance(instance_id)
            spans = [(document.start, document.end) for document in instance.documents]
            characters.append(sum(len("".join(instance.tokens[s:e]).strip()) for s, e in spans))
            tokens.append(sum(e - s for s, e in spans))
        assert row["characters_mean"] == pytest.approx(np.mean(characters))
        assert row["tokens_high"] == pytest.approx(np.quantile(tokens, 0.95))
        assert row["instances"] == len(tokens)


def test_the_key_of_a_kind_of_shard_tells_its_rows_apart(small_store):
    store = ShardStore(small_store)
    entries = list(store.entries().values())
    assert {entry.kind for entry in entries} > {"instance", "attribution", "memory"}
    for entry in entries:
        kind = KINDS[entry.kind]
        rows = store.read(entry).select(kind.key).to_pylist()
        assert len({tuple(row.values()) for row in rows}) == len(rows) == entry.rows
        assert bool(entry.regime) == kind.of_regime


def test_an_instance_is_a_record_of_its_row(reader):
    rows = reader.query("SELECT * FROM instance ORDER BY dropped_because IS NULL DESC").to_dict("records")
    for row in (rows[0], rows[-1]):
        instance = reader.instance(row["instance_id"])
        assert [instance.model, instance.question, instance.group] == [row["model"], row["question"], row["group"]]
        assert instance.tokens == tuple(row["tokens"])
        assert instance.question_span == Span(row["question_start"], row["question_end"])
        assert [d.start for d in instance.documents] == list(row["document_starts"])
        assert [d.answer for d in instance.documents] == list(row["document_answers"])
        assert [d.answer_tokens for d in instance.documents] == [tuple(own) for own in row["answer_tokens"]]
        assert [c.token_id for c in instance.candidates] == list(row["candidate_ids"])
        assert [c.logit for c in instance.candidates] == pytest.approx(list(row["candidate_logits"]))
        assert instance.used_document == {"C": 0, "C1": 0, "C2": 1}.get(row["group"])


def test_an_attribution_is_a_record_of_its_row(reader):
    row = reader.query("SELECT * FROM attribution WHERE explainer = 'mechlight' LIMIT 1").iloc[0]
    stored = reader.attributions(row["instance_id"])["mechlight"]
    assert stored.scores == tuple(row["scores"])
    assert stored.head_name == f"L{row['layer']}H{row['head']}"
    strengths = stored.strengths(int(reader.models()["layers"].iloc[0]))
    assert strengths[stored.layer, stored.head] == strengths.max()
    assert stored.details == json.loads(row["details"])
    assert reader.attributions(row["instance_id"])["random"].head_name == ""


@pytest.mark.parametrize(("long", "limit"), [(1000, "244.1 MiB"), (10, "732.4 MiB")])
def test_an_open_file_is_bounded_and_nothing_of_it_can_be_set(small_store, monkeypatch, long, limit):
    monkeypatch.setattr("heval_core.store.published.LONG", long)
    path = current_file(small_store)
    with closing(Reader(path)), closing(Reader(path)) as reader:  # both share one database
        settings = reader.query("SELECT name, value FROM duckdb_settings()").set_index("name")["value"]
        assert settings["memory_limit"] == limit
        assert settings["enable_external_access"] == "false"
        for statement in ("SET memory_limit = '2GB'", "SET lock_configuration = false", "SET enable_external_access = true"):
            with pytest.raises(duckdb.InvalidInputException):
                reader.query(statement)


def test_the_format_is_never_half_there_for_who_reads_beside_a_run_that_begins(tmp_path, monkeypatch):
    whole = Path.write_text

    def seen_by_a_reader(path, text, *more, **options):
        whole(path, text[:5], *more, **options)
        ShardStore(tmp_path)  # raises for half a file
        return whole(path, text, *more, **options)

    monkeypatch.setattr(Path, "write_text", seen_by_a_reader)
    for _ in range(2):
        ShardStore(tmp_path).create()
        ShardStore(tmp_path)
    assert not list(tmp_path.glob("*.tmp"))
