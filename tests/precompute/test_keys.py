"""Everything that a shard depends on is in its key: each thing is changed once, and the shard is made again.

And two sources with one name are never taken for each other."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil

import pytest

from heval_core.lm import installed
from heval_core.lm.fits import Fit
from heval_core.lm.installed import installed_models, revision_of
from heval_core.lm.loading import identify
from heval_core.plugins import catalogue
from heval_core.records import Fact, HEvalError, Passage
from heval_core.store.shards import ShardStore
from precompute import custom_file, pair
from precompute.cli import main
from precompute.grid import Grid
from precompute.highlights import Highlights
from precompute.questions import _content
from tests.conftest import DEMO_MODELS

CHATML = "{% for m in messages %}{{ m.content }}{% endfor %} A:"
NEXT = {"Kenya": "Lisbon", "Peru": "Oslo", "Fiji": "Paris", "Chad": "Rome"}


def lines(false: dict[str, str] = NEXT) -> str:
    records = [
        {
            "id": subject,
            "subject": subject,
            "relation": "capital",
            "question": f"What is the capital of {subject}?",
            "conflicting": {"text": f"The capital of {subject} is {answer}.", "answer": answer},
        }
        for subject, answer in false.items()
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def here(tmp_path, model_folders):
    """A folder with a model, a file of four questions, and a store."""
    shutil.copytree(model_folders["qwen2"], tmp_path / "tiny")
    (tmp_path / "tiny" / "chat_template.jinja").write_text(CHATML)
    (tmp_path / "test.jsonl").write_text(lines())
    return tmp_path


class Silent:
    def say(self, text):
        raise AssertionError(text)

    def failed(self, error, **where):
        raise AssertionError(str(error), where)


def keys_of(here, **options) -> dict[str, set[str]]:
    """Kind of shard, with its explainer ▶ the keys that a run would look for."""
    usual = {"models": (str(here / "tiny"),), "datasets": (str(here / "test.jsonl"),), "regimes": ("conflicting",)}
    grid = Grid(**usual | {"explainers": ("attn", "fa"), "shard_size": 2, "dtype": "float32", "device": "cpu"} | options)
    found: dict[str, set[str]] = {}
    for each in pair.pairs(grid, ShardStore(here / "store"), Silent()):
        high = Highlights(each, ShardStore(here / "store"))
        tasks = [*pair_tasks(high)]
        for shard in (shard for task in tasks for shard in task.shards):
            found.setdefault(f"{shard.kind} {shard.explainer} {shard.technique}".strip(), set()).add(shard.key)
    return found


def pair_tasks(high):
    from precompute.memory import memory_tasks

    return [*memory_tasks(high.pair), *high.searches, *high.tasks()]


ALL, MORE, SAME = "all are made again", "more are made, and none again", "none"
OWN = '''
"""Own."""
from dataclasses import dataclass
from heval_core.explainers.attn import Attention
@dataclass(frozen=True)
class Own(Attention):
    key = "own_one"
    title = "Own"
PLUGIN = Own()
'''
# Each option of a run: another value, and what follows; where nothing does, why.
OPTIONS = {
    "regimes": (("conflicting", "mixed"), MORE),
    "explainers": (("attn", "fa", "fa(target=prob)"), MORE),
    "memory": ("any", "all but what the model says without documents"),
    "match": ("text", "all but what the model says without documents"),
    "template": ("chat", ALL),
    "keep_heads": (1, MORE),
    "head_need": (True, MORE),
    "sources": (True, MORE),
    "faithfulness": (True, MORE),
    "faithfulness_protected": (2, MORE),
    "answers": (True, MORE),
    "randomised": (True, MORE),
    "bounds": (2, MORE),
    "timing": (True, MORE),
    "target": ("context", MORE),
    "techniques": (("cad", "cad(alpha=0.7)"), MORE),
    "seed": (1, ALL),
    "dtype": ("bfloat16", ALL),
    "shard_size": (3, "all but what the model says without documents"),
    "limit": (2, "fewer are made, and no answer again"),
    "cap": (2, "fewer are made, and none again"),  # of all questions the answers, and then a sample that has a key of its own
    "device": ("auto", SAME),  # the same numbers but for rounding, as `dtype` says
    "batch_tokens": (50, SAME),  # a prompt gets the same scores in any batch: a contract of all explainers
    "models": None,
    "datasets": None,
    "custom": None,
    "fits": None,  # see below
}


def test_every_option_of_a_run_is_in_the_table():
    assert OPTIONS.keys() == {field.name for field in dataclasses.fields(Grid)}


@pytest.mark.parametrize("name", [name for name, row in OPTIONS.items() if row])
def test_an_option_makes_what_depends_on_it_again(here, name):
    value, follows = OPTIONS[name]
    before, after = keys_of(here), keys_of(here, **{name: value})
    known, wanted = ({key for keys in one.values() for key in keys} for one in (before, after))
    memory = before["memory"]
    expected = {
        ALL: not known & wanted,
        MORE: known < wanted,
        SAME: known == wanted,
        "fewer are made, and none again": wanted < known,
        "fewer are made, and no answer again": wanted - after["memory"] < known,
        "all but what the model says without documents": known & wanted == memory,
    }
    assert expected[follows], (before, after)


def test_settings_of_explainers_and_techniques_are_in_the_key(here):
    options = {"techniques": ("cad",), "answers": True, "faithfulness": 2}
    first = keys_of(here, **options)
    for other in ({"techniques": ("cad(alpha=0.7)",)}, {"faithfulness": 1}, {"explainers": ("attn", "fa(target=prob)")}):
        second = keys_of(here, **options | other)
        changed = {kind for kind in first if not first[kind] & second.get(kind, set())}
        told = {
            "techniques": {"instance  cad", "behaviour  cad"},
            "faithfulness": {kind for kind in first if kind.startswith("faithfulness")},
            "explainers": {kind for kind in first if " fa " in kind} | {"answer  regular"},
        }
        assert changed == told[next(iter(other))], other


def test_code_of_ones_own_and_fits_are_in_the_key(here, language_models):
    keys = []
    for code in (OWN, OWN.replace('"""Own."""', '"""Another."""')):
        (here / "own.py").write_text(code)
        file = custom_file.CustomFile.read(str(here / "own.py"))
        with custom_file.added([file]):
            keys.append(keys_of(here, explainers=("fa", "own_one"), custom=(file,)))
    assert {kind for kind in keys[0] if keys[0][kind] != keys[1][kind]} == {"attribution own_one regular"}
    fits = []
    for number in (1.0, 2.0):
        explainer, identity = catalogue.method("at2"), identify(str(here / "tiny"))
        fit = Fit("at2", repr(explainer), identity.key, identity.revision, "", (), (3, 4), (number,) * 12)
        fits.append(keys_of(here, explainers=("fa", "at2"), fits=(fit,)))
    assert {kind for kind in fits[0] if fits[0][kind] != fits[1][kind]} == {"attribution at2 regular"}


# Files of a model's folder, and a byte in the midst of its weights.
READ = (
    "model.safetensors", "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "heval.json",
    "chat_template.jinja", "additional_chat_templates/rag.jinja", "special_tokens_map.json", "vocab.txt", "merges.txt",
    "spiece.model", "qwen.tiktoken", "pytorch_model.bin", "model-00002-of-00002.safetensors", "vocabulary",
)  # fmt: skip
BESIDE = ("README.md", "optimizer.pt", ".gitattributes", "runs/events.json", "model.onnx")


@pytest.mark.parametrize("name", [*READ, *BESIDE])
def test_every_byte_that_a_model_is_read_from_is_in_its_revision(here, name):
    """Of a file of 3 MiB a byte in the midst, with its size and the time of its content as they were."""
    file = here / "tiny" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes((file.read_bytes() if file.is_file() else b"").ljust(3 << 20))
    os.utime(file, ns=(10**18, 10**18))
    before = revision_of(here / "tiny")
    with file.open("r+b") as stream:
        stream.seek((3 << 20) // 2 + 7)
        stream.write(b"!")
    os.utime(file, ns=(10**18, 10**18))
    assert (revision_of(here / "tiny") != before) == (name in READ)


def test_a_models_keys_change_with_its_files_and_a_run_computes_again(here, capsys):
    ran = ["run", "--models", str(here / "tiny"), "--datasets", str(here / "test.jsonl"), "--regimes", "conflicting"]
    ran += ["--explainers", "attn", "--device", "cpu", "--store", str(here / "store"), "--template", "chat"]
    told = []
    for edit in (None, None, "weights", "template"):
        if edit == "weights":
            with (here / "tiny" / "model.safetensors").open("r+b") as stream:
                stream.seek(-(1 << 12), os.SEEK_END)
                stream.write(bytes(1 << 11))
        elif edit == "template":
            (here / "tiny" / "chat_template.jinja").write_text(CHATML.replace(" A:", " Answer:"))
        assert main(ran) == 0
        told.append(capsys.readouterr())
    assert ["\n0 shards computed, 2 were" in f"\n{one.out}" for one in told] == [False, True, False, False]
    assert len({sum(map(int, re.findall(r"\b[CM] (\d+)", one.err))) for one in told}) == 1  # nobody is counted twice
    assert main(["publish", "--store", str(here / "store")]) == 0
    said = "left out: 4 shards of tiny · test with another revision of the model: of an earlier run, and the newest counts"
    assert said in capsys.readouterr().err


def test_hashes_of_large_files_are_kept_on_the_machine_until_the_file_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "JOINED", tmp_path / "kept")
    monkeypatch.setattr(installed, "LARGE", 8)
    file = tmp_path / "large.gguf"
    file.write_bytes(b"0123456789")
    first = revision_of(file)
    installed._hash.cache_clear()  # as in another process
    monkeypatch.setattr(installed.hashlib, "file_digest", None)
    assert revision_of(file) == first
    monkeypatch.undo()
    monkeypatch.setattr(installed, "JOINED", tmp_path / "kept")
    file.write_bytes(b"0123456780")
    assert revision_of(file) != first
    (tmp_path / "kept").rename(tmp_path / "gone")
    (tmp_path / "kept").write_text("a file, so that nothing can be kept there")
    installed._hash.cache_clear()
    assert revision_of(file) != first


def test_bundled_models_keep_the_revision_of_their_results_as_long_as_no_byte_changes(tmp_path):
    known = json.loads((DEMO_MODELS / "revisions.json").read_text())
    folders = [folder for folder in DEMO_MODELS.iterdir() if folder.is_dir()]
    assert {revision_of(folder) for folder in folders} == {*known.values()}
    folder = shutil.copytree(DEMO_MODELS / "demo-gpt2", tmp_path / "demo-gpt2")
    assert revision_of(folder) == revision_of(DEMO_MODELS / "demo-gpt2")
    with (folder / "model.safetensors").open("r+b") as stream:
        stream.seek(1_700_000)
        stream.write(b"edited")
    assert revision_of(folder) not in {*known, *known.values()}


def test_all_that_a_fact_says_is_in_the_fingerprint():
    """aliases are a file of this program's; the dataset is in the key by itself."""
    passage = Passage("Kenya", "Lisbon", "The capital of Kenya is Lisbon.")
    fact = Fact("1", "test", "Kenya", "capital", "What?", "Nairobi", (passage,), passage, passage, passage, ("NBO",))
    other = Passage("Peru", "Oslo", "The capital of Peru is Oslo.")
    changed = {
        field.name: (other,)
        if field.name == "conflicting"
        else other
        if field.name in ("own", "irrelevant", "off_topic")
        else "x"
        for field in dataclasses.fields(Fact)
        if field.name != "aliases"
    } | {"accepted": ("Nairobi City",)}
    assert all(_content(dataclasses.replace(fact, **{name: value})) != _content(fact) for name, value in changed.items())
    for name, value in {"subject": "x", "answer": "x", "text": "x", "stated": False}.items():
        assert _content(dataclasses.replace(fact, own=dataclasses.replace(passage, **{name: value}))) != _content(fact)


def test_an_edited_file_of_data_is_asked_again(here):
    before = keys_of(here)
    (here / "test.jsonl").write_text(lines({**NEXT, "Chad": "Bern"}))
    after = keys_of(here)
    assert not before["instance  regular"] & after["instance  regular"]


def command(here, store, *data, models=()):
    models = models or (here / "tiny",)
    return [
        *("run", "--models", *map(str, models), "--datasets", *map(str, data), "--regimes", "conflicting", "--limit", "2"),
        *("--explainers", "attn", "--device", "cpu", "--store", str(store)),
    ]


def test_two_files_of_one_name_are_refused_in_one_run_and_in_one_store(here, capsys):
    for folder in ("a", "b"):
        (here / folder).mkdir()
    one, other = (shutil.copy(here / "test.jsonl", here / folder / "test.jsonl") for folder in ("a", "b"))
    other.write_text(lines({"Togo": "Oslo", "Mali": "Rome"}))
    for first in ("run", "plan"):
        assert main([first, *command(here, here / "store", one, other)[1:]]) == 2
        assert f"{one} and {other} are both called test; rename one of the files." in capsys.readouterr().err
    assert main(command(here, here / "store", one)) == 0
    kept = {entry.key for entry in ShardStore(here / "store").entries().values()}
    capsys.readouterr()
    for first in ("run", "plan"):
        assert main([first, *command(here, here / "store", other)[1:]]) == 2
        said = f"has results of other data called test, from {one}, not {other}; rename one of the two files, or use another"
        assert said in capsys.readouterr().err
    assert {entry.key for entry in ShardStore(here / "store").entries().values()} == kept
    moved = shutil.move(one, here / "test.jsonl")  # the same data elsewhere; and edited where it is known to lie
    assert main(command(here, here / "store", moved)) == 0
    moved.write_text(lines({"Togo": "Oslo", "Mali": "Rome"}))
    assert main(command(here, here / "store", moved)) == 0
    capsys.readouterr()
    assert main(["publish", "--store", str(here / "store")]) == 0
    assert (
        "left out: 2 shards of tiny · test with other data: of an earlier run, and the newest counts"
        in capsys.readouterr().err
    )


def test_two_folders_of_one_name_are_refused_in_one_store(here, model_folders, capsys):
    one, other = (here / run / "checkpoint-500" for run in ("one", "two"))
    shutil.copytree(here / "tiny", one)
    shutil.copytree(model_folders["gpt2"], other)
    assert main(command(here, here / "store", here / "test.jsonl", models=(one, other))) == 2
    assert f"{one} and {other} are both called checkpoint-500; rename one of the folders or files." in capsys.readouterr().err
    assert main(command(here, here / "store", here / "test.jsonl", models=(one,))) == 0
    assert main(command(here, here / "store", here / "test.jsonl", models=(other,))) == 2
    assert f"has results of other weights called checkpoint-500, from {one}, not {other};" in capsys.readouterr().err


def test_two_models_of_one_name_in_heval_models_are_kept_apart(here, model_folders, monkeypatch):
    one, other = (here / run / "demo-gpt2" for run in ("one", "two"))
    shutil.copytree(here / "tiny", one)
    shutil.copytree(model_folders["gpt2"], other)
    monkeypatch.setenv("HEVAL_MODELS", os.pathsep.join(map(str, (one, other.parent, here / "tiny", one))))
    listed = {key: place.path for key, place in installed_models().items() if place.source == "HEVAL_MODELS"}
    assert listed == {str(one): one, str(other): other, "tiny": here / "tiny"}
    with pytest.raises(HEvalError, match=f"'demo-gpt2' does not say which of these models: {one}, {other}. Give one"):
        identify("demo-gpt2")
    for folder in (one, other):
        assert installed.installed("demo-gpt2", revision_of(folder)) == folder
    with pytest.raises(HEvalError, match="that is installed here has revision"):
        installed.installed("demo-gpt2", "0123456789abcdef")
