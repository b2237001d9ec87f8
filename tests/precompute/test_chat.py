"""A model asked through its chat template, from the command line to the page."""

import json
import shutil
from html import escape

import numpy as np
import pytest

from heval_core.evaluation.publishing import publish
from heval_core.figures.highlights import instance_page
from heval_core.prompt_service.client import asked_as_stored
from heval_core.statistics.scores import average_ranks, tied
from heval_core.store.filters import Filter
from heval_core.store.kinds import INSTANCE
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore, _content_hash
from heval_core.ui.instance_tables import tokens_of
from heval_core.ui.reading import ReadingRow, answer_ranks, chance_rank, prompt_data
from precompute.cli import main
from tests.asked import served
from tests.conftest import DEMO_MODELS

pytestmark = pytest.mark.slow

# As the demo models were taught to be asked, so that they answer; but for a BOS and a `Q:` in front of the documents.
TEMPLATE = (
    "{{ bos_token }} Q: {% for m in messages %}{{ m.content | trim }}{% endfor %}{% if add_generation_prompt %} A:{% endif %}"
)
BEFORE, AFTER = "<|endoftext|> Q: ", " A:"
EXPLAINERS = ("attn", "fa")


@pytest.fixture(scope="module")
def chatty(tmp_path_factory):
    """A demo model's folder whose tokenizer has a chat template."""
    folder = shutil.copytree(DEMO_MODELS / "demo-gpt2", tmp_path_factory.mktemp("chat") / "chatty")
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


def command(model, store, *more):
    what = "--datasets world_capital --regimes conflicting,mixed --limit 12 --device cpu --keep-heads 2 --template chat"
    return ["run", "--models", str(model), "--store", str(store), *what.split(), "--explainers", ",".join(EXPLAINERS), *more]


@pytest.fixture(scope="module")
def store(chatty, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    assert main(command(chatty, folder, "--faithfulness", "2", "--head-need", "--sources", "--target", "context")) == 0
    return folder


@pytest.fixture(scope="module")
def reader(store):
    return Reader(publish(store))


@pytest.fixture(scope="module")
def kept(reader):
    found = [reader.instance(one) for one in reader.instance_ids(Filter())]
    assert len(found) > 4
    return found


def test_what_is_published_ranks_the_users_turn_and_nothing_else(reader, kept):
    for instance in kept:
        assert instance.prompt.startswith(BEFORE)
        assert instance.prompt.endswith(AFTER)
        assert instance.prompt.count("<|endoftext|>") == 1
        said = "".join(instance.tokens[instance.first_ranked : instance.ranked_end])
        assert said.strip() == instance.prompt.removeprefix(BEFORE).removesuffix(AFTER)
        assert said.strip().endswith(f"\n\n{instance.question}")
        assert instance.in_chat
        for own in reader.attributions(instance.instance_id).values():
            assert len(own.scores) == len(instance.tokens)
            inside = np.asarray(own.scores)[instance.ranked.start : instance.ranked.stop]
            assert own.tied == pytest.approx(tied(inside), abs=1e-6)
    patterns = reader.query("SELECT token, first_ranked, ranked_end FROM pattern JOIN instance USING (instance_id)")
    assert patterns["token"].between(patterns["first_ranked"], patterns["ranked_end"] - 1).all()
    assert len(patterns) > 0


def test_metrics_rank_among_the_users_tokens(reader, kept):
    """The reciprocal rank and its chance by hand; a rank among all tokens would be another one for some."""
    compared, elsewhere = 0, 0
    for instance in kept:
        if instance.used_document is None:
            continue
        scores = reader.scores(instance.instance_id)
        gold = sorted(instance.documents[instance.used_document].answer_tokens)
        for row in scores[scores["metric"] == "mrr"].itertuples():
            own = np.asarray(reader.attributions(instance.instance_id)[row.explainer].scores)
            if tied(own) or len(gold) > 1:
                continue
            rank = 1 + int((own[list(instance.ranked)] > own[gold[0]]).sum())
            assert row.value == pytest.approx(1 / rank, abs=1e-6)
            n = len(instance.ranked)
            assert row.chance == pytest.approx(sum(1 / place for place in range(1, n + 1)) / n, abs=1e-6)
            compared += 1
            elsewhere += rank != 1 + int((own > own[gold[0]]).sum())
    assert compared > 3
    assert elsewhere > 0


def test_pages_draw_the_template_faint_and_never_rank_it(reader, kept):
    instance = next(one for one in kept if one.used_document is not None)
    attributions = reader.attributions(instance.instance_id)
    rows = [ReadingRow(key, key, own.signed, own.scores) for key, own in attributions.items() if key in EXPLAINERS]
    for level in ("token", "word", "sentence"):
        data = prompt_data(instance, rows, level)
        first, end = data["first_ranked"], data["ranked_end"]
        assert 0 < first < end < len(data["tokens"])
        assert "".join(data["tokens"][first:end]).strip() == instance.prompt.removeprefix(BEFORE).removesuffix(AFTER)
        for row in data["rows"]:
            assert [rank is not None for rank in row["ranks"]] == [first <= i < end for i in range(len(row["ranks"]))]
            assert all(first <= place < end for places in row["top"].values() for place in places)
    assert data["ranked"] == len(instance.ranked)
    gold = len(instance.documents[instance.used_document].answer_tokens)
    assert chance_rank(instance) == (len(instance.ranked) + 1) / (gold + 1)
    table = tokens_of(instance, rows)
    assert list(table["in"] == "not ranked") == [i not in instance.ranked for i in range(len(instance.tokens))]
    for row in rows:
        expected = average_ranks(np.asarray(row.scores)[list(instance.ranked)])[0]
        used = [token - instance.first_ranked for token in instance.documents[instance.used_document].answer_tokens]
        assert answer_ranks(instance, rows)[row.explainer] == expected[used].min()
    page = instance_page(instance, rows, 5, "snapshot")
    # What stands before is folded; what stands behind is faint.
    assert f"<pre>{escape(''.join(instance.tokens[: instance.first_ranked]))}</pre></details>" in page
    assert page.count('class="w q"') == len(instance.tokens) - instance.ranked.stop


def test_a_stored_chat_is_asked_again_as_it_is(chatty, reader, kept):
    """The text holds its special tokens: a second BOS would change every answer."""
    instance, loaded = kept[0], {}
    asked = {
        "model": str(chatty),
        "prompt": instance.prompt,
        "template": instance.template,
        "expected": asked_as_stored(instance),
    }
    heads = served({"op": "heads", **asked}, loaded)
    assert len(heads[0][0]) == len(instance.tokens)
    stored = reader.head_need(instance.instance_id)
    (foil,) = (own.token_id for own in instance.candidates if own.token_id != instance.predicted_id)
    need = served({"op": "need", "answer": instance.predicted_id, "foil": foil, **asked}, loaded)
    assert stored["lead"] == pytest.approx(need["lead"], rel=1e-4)
    assert stored["lost"] == pytest.approx(list(np.ravel(need["lost"])), rel=1e-3, abs=1e-4)


def test_the_answers_mentions_are_replaced_inside_the_users_turn(reader, kept):
    instances, told = {instance.instance_id: instance for instance in kept}, reader.query("SELECT * FROM source")
    replaced = told[told["unavailable"].isna()]
    assert len(replaced) > 3
    for row in replaced.itertuples():
        instance = instances[row.instance_id]
        answer = instance.documents[instance.used_document].answer
        assert "".join(instance.tokens[row.start : row.end]).strip().startswith(answer)
        assert row.start in instance.documents[row.document].indices
        assert row.start in instance.ranked


def test_shards_say_where_the_ranked_tokens_end_and_plain_ones_keep_their_hash(store, small_store, tmp_path):
    own = [ShardStore(store).read(e) for e in ShardStore(store).entries().values() if e.kind == INSTANCE.name]
    assert all(end is not None for table in own for end in table["ranked_end"].to_pylist())
    plain = ShardStore(small_store)
    entry = next(e for e in plain.entries().values() if e.kind == INSTANCE.name)
    table = plain.read(entry)
    assert table["ranked_end"].null_count == table.num_rows
    assert entry.content == _content_hash(table) == _content_hash(table.drop_columns(["ranked_end"]))
    one = own[0]
    assert _content_hash(one) != _content_hash(one.drop_columns(["ranked_end"]))


def test_a_shard_from_before_the_column_reads_on(small_store, tmp_path):
    import pyarrow.parquet as pq

    store = ShardStore(shutil.copytree(small_store, tmp_path / "store"))
    entry = next(e for e in store.entries().values() if e.kind == INSTANCE.name)
    table = store.read(entry)
    pq.write_table(table.drop_columns(["ranked_end"]), store.folder / entry.path)
    assert store.read(entry).equals(table)
    assert store.read(entry, ["instance_id", "ranked_end"]).equals(table.select(["instance_id", "ranked_end"]))


def test_plain_prompts_are_ranked_to_their_end(small_store):
    reader = Reader(publish(small_store))
    assert reader.query("SELECT count(*) AS n FROM instance WHERE ranked_end <> len(tokens)")["n"].item() == 0


def test_one_prompt_is_explained_through_the_template(chatty, model_folders, capsys, prints):
    prompt = ["--context", "The capital of Kenya is Lisbon.", "--question", "What is the capital of Kenya?", "--device", "cpu"]
    common = ["explain", *prompt, "--explainers", "attn,fa", "--template", "chat", "--format", "json"]
    told = json.loads(prints(*common, "--model", chatty).out)
    assert told["prompt"] == f"{BEFORE}The capital of Kenya is Lisbon.\n\nWhat is the capital of Kenya?{AFTER}"
    inside = told["tokens"][told["first_ranked"] : told["ranked_end"]]
    assert "".join(inside).strip() == "The capital of Kenya is Lisbon.\n\nWhat is the capital of Kenya?"
    assert all(len(own["scores"]) == len(told["tokens"]) for own in told["explainers"].values())
    assert main([*common, "--model", str(model_folders["gpt2"])]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "Writing" not in line]
    assert line.endswith(
        "random-gpt2 has no chat template, so it cannot be asked through one; leave out --template chat, or use the version "
        "of the model that follows instructions."
    )


def test_a_model_without_a_template_is_left_out_of_a_grid_and_the_others_go_on(chatty, model_folders, tmp_path, capsys):
    both = command(chatty, tmp_path, "--limit", "2")
    both.insert(both.index("--store"), str(model_folders["qwen2"]))
    assert main(both) != 0
    assert "random-qwen2 has no chat template" in "".join(capsys.readouterr())
    assert {entry.model for entry in ShardStore(tmp_path).entries().values()} == {"chatty"}
