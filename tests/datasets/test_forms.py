"""A file that is not the expected one: one sentence for all of it; and what is read although it looks otherwise."""

import gzip
import json
import shutil
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heval_core.citations.claims.jsonl import JsonLines as Claims
from heval_core.datasets._jsonl import JsonLines
from heval_core.records import HEvalError
from precompute.citations.study import open_claims
from precompute.questions import open_dataset
from tests.datasets import samples

OWN = [samples.own("Kenya"), samples.own("Peru")]
LINES = "".join(json.dumps(record) + "\n" for record in OWN)
SQUAD = {"paragraphs": [{"context": "It is Lima.", "qas": [{"id": "s", "question": "Where?", "answers": [{"text": "Lima"}]}]}]}
SQUAD = {"version": "1.1", "data": [{"title": "Peru", **SQUAD}]}
HOTPOT = {"_id": "h", "answer": "Lima", "question": "Where?", "supporting_facts": [["Peru", 0]], "type": "bridge"}
HOTPOT = [HOTPOT | {"context": [["Peru", ["It is Lima.", " So."]]]}]
OLD = {"question": "Where?", "answer": "Lima [1].", "contexts": ["It is Lima."], "ground_truth": "Lima"}
NEW = {"user_input": "Where?", "response": "Lima [1].", "retrieved_contexts": ["It is Lima."], "reference": "Lima"}
pq.write_table(pa.table({"id": ["1"]}), stream := pa.BufferOutputStream())
PARQUET = stream.getvalue().to_pybytes()
READ = {
    "a list": json.dumps(OWN, indent=1), "a list on a line": json.dumps(OWN), "a mark": "\ufeff" + LINES,
    "a mark and a list": "\ufeff\n" + json.dumps(OWN), "packed": gzip.compress(LINES.encode()),
}  # fmt: skip
OTHER = {
    "SQuAD": (json.dumps(SQUAD, indent=1), "is SQuAD's file; HEval reads one JSON object a line, with id, subject,"),
    "SQuAD on a line": (json.dumps(SQUAD), "is SQuAD's file"), "HotpotQA": (json.dumps(HOTPOT), "is HotpotQA's file; HEval"),
    "ragas": (json.dumps(OLD), "is ragas's file"), "newer ragas": (json.dumps(NEW), "is ragas's file"),
    "an object": (json.dumps(OWN[0], indent=1), "is no list of objects, nor one a line; .*jq -c . '.*' > 'mine-1.jsonl'"),
    "others": ('{"a": 1, "b": 2}\n' * 9, "has records with the fields a, b; HEval"),
    "nothing": ("[]", "is no list of objects, nor one a line"),
    "CSV": ('subject,answer\n"a",b\n' * 9, "is a CSV table with the columns subject, answer; .*read_csv.*sep=','.*to_json"),
    "TSV": ("subject\tanswer\n", "is a TSV table with the columns subject, answer; .*sep='\\\\t'"),
    "other columns in CSV": ("a,b\n1,2\n", "is a CSV table with the columns a, b; HEval reads (?!.*To make one)"),
    "a list in CSV": ("question,contexts\nx,['a']\n", "a table's lists are text, so save JSON lines where it was made"),
    "words": ("Hello there.\n" * 9, "is no JSON: it begins with 'Hello there.'"),
    "lists on lines": ("[1, 2]\n[3, 4]\n", r"is no JSON: it begins with '\[1, 2\]'"),
    "noise": (b"a\xfe\xc1,\xff\n\0", "is no JSON: it begins with 'a"),
    "UTF-16": (LINES.encode("utf-16"), "is UTF-16; .*iconv"),
    "UTF-16 without a mark": (LINES.encode("utf-16-le"), "is UTF-16"),
    "Parquet": (PARQUET, "a Parquet file; .*read_parquet"),
    "packed": (gzip.compress(LINES.encode()), "is packed; HEval reads text in UTF-8. To make one: gunzip"),
    "Excel": (b"PK\3\4 \0", "is a zip or Excel file"),
}  # fmt: skip


def written(folder, content, name="mine.jsonl"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("content", READ.values(), ids=READ)
def test_a_list_and_a_byte_order_mark_are_read(content, tmp_path):
    name = "mine.jsonl.gz" if isinstance(content, bytes) else "mine.json"
    facts, bad, _ = samples.sorted_out(open_dataset(str(written(tmp_path, content, name))))
    assert ([fact.subject for fact in facts], bad) == (["Kenya", "Peru"], [])


@pytest.mark.parametrize(("content", "said"), OTHER.values(), ids=OTHER)
def test_another_file_is_one_sentence_with_what_is_expected(content, said, tmp_path):
    own, claims = JsonLines(written(tmp_path, content)).facts(), Claims(str(tmp_path / "mine.jsonl")).claims()
    for data, expected in ((own, said), (claims, "HEval reads")):
        with pytest.raises(HEvalError, match=expected) as error:
            list(data)
        assert "\n" not in str(error.value)
        assert "HEval reads " in str(error.value)


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
@pytest.mark.parametrize(("content", "opened", "read"), [
    (SQUAD, open_dataset, "facts"), (HOTPOT, open_dataset, "facts"), (OLD, open_claims, "claims"),
    (NEW, open_claims, "claims"),
])  # fmt: skip
def test_the_way_that_is_said_makes_a_file_that_is_read(content, opened, read, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, json.dumps(content), "a file.jsonl")
    with pytest.raises(HEvalError) as error:
        list(getattr(opened(str(path)), read)())
    subprocess.run(str(error.value).partition("To make one: ")[2], shell=True, check=True)
    (record,) = getattr(opened("a file-1.jsonl"), read)()
    assert (record.own.answer if read == "facts" else record.written[0].text.split()[0]) == "Lima"


@pytest.mark.parametrize(
    "key", ["nq", "conflictqa", "quotesum", "fakepedia", "counterfact", "druid", "cub/nq", "world_capital"]
)
@pytest.mark.parametrize("content", [json.dumps(HOTPOT), LINES.encode("utf-16"), "question,answer\na,b\n", PARQUET])
def test_every_data_set_says_one_sentence_of_another_file(key, content, tmp_path):
    with pytest.raises(HEvalError, match="mine.jsonl") as error:
        list(open_dataset(f"{key}={written(tmp_path, content)}").facts())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("key", ["alce", "politihop"])
def test_so_does_every_source_of_claims(key, tmp_path):
    for content in (json.dumps(HOTPOT), LINES.encode("utf-16"), "question,answer\na,b\n"):
        source = open_claims(f"{key}={written(tmp_path, content)}")
        with pytest.raises(HEvalError, match="mine.jsonl"):
            list(source.claims())


def test_half_a_character_costs_its_record_and_is_named(tmp_path):
    half = samples.own("Kenya", 1, question="\ud83d Where?")
    facts, bad, _ = samples.sorted_out(JsonLines(samples.write_lines(tmp_path / "mine.jsonl", [*OWN, half])))
    assert len(facts) == 2
    assert [(record.location, record.reason) for record in bad] == [
        ("mine.jsonl:3", "a text of the record holds half a character, \\ud83d; write it whole")
    ]


def test_an_answer_in_other_letters_stands_in_its_document(tmp_path):
    nfd = samples.own("Peru", conflicting={"text": "It is Ma\u0301laga.", "answer": "M\u00e1laga"})
    (fact,), bad, _ = samples.sorted_out(JsonLines(samples.write_lines(tmp_path / "mine.jsonl", [nfd])))
    assert (fact.conflicting[0].text, bad) == ("It is Ma\u0301laga.", [])
