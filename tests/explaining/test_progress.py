"""What explaining a prompt takes is said before it begins, and shown while it lasts, where somebody sees it."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading

import pytest

from heval_core.explaining.answer_steps import tokenised
from heval_core.explaining.api import explain, explain_answer
from heval_core.explaining.pipeline import Request
from heval_core.explaining.price import DEAR, passes_of, too_dear
from heval_core.explaining.whole_answer import Wanted
from heval_core.lm.passes import counting
from heval_core.plugins import catalogue
from tests.conftest import ROOT

CONTEXT = "The capital of Kenya is Lisbon, which lies by the sea. It has a port. " * 3
QUESTION = "What is the capital of Kenya?"
SAID = r"^about \d+ passes over the prompt's \d+ tokens, some [1-9]\d* s here$"


@pytest.fixture
def asked(lm):
    return tokenised(lm, Request((CONTEXT,), QUESTION))


@pytest.mark.parametrize("keys", [("mechlight", "fa", "ig", "attn"), ("attn",), ("cgim",), ("fa",)])
@pytest.mark.parametrize("answer", [None, "It lies by the sea."])
def test_the_price_is_what_is_then_run(keys, answer, lm, asked):
    wanted = answer and Wanted(20, answer)
    price = passes_of(asked, map(catalogue.method, keys), wanted)
    explain(lm, question=QUESTION, context=CONTEXT, explainers=keys)  # what is done once for each model
    with counting(lm) as counted:
        of_answer = {"answer": answer} if answer else {}
        (explain_answer if answer else explain)(lm, question=QUESTION, context=CONTEXT, explainers=keys, **of_answer)
    assert price / 2 <= counted.passes(1, len(asked.ids)) <= 2 * price


def test_an_answer_is_explained_by_what_takes_few_passes_unless_more_is_named(lm, asked):
    assert [*too_dear(asked, catalogue.explainers().values())] == [
        key for key, one in catalogue.explainers().items() if one.cost(len(asked.ids)).tokens >= DEAR * len(asked.ids)
    ]
    found = explain_answer(lm, question=QUESTION, context=CONTEXT, generate=4)
    assert {"mechlight", "attn"} <= found.generated.matrices.keys()
    assert not {"fa", "ig"} & found.generated.matrices.keys()
    assert "it takes about 22 passes; it explains a whole answer where it is named" in found.generated.refused["ig"]
    assert found.generated.refused.keys() == {"fa", "ig"}
    assert "refused: fa, ig" in repr(found)
    assert explain_answer(lm, question=QUESTION, context=CONTEXT, generate=4, explainers="ig").generated.refused == {}


class Terminal(io.StringIO):
    def isatty(self):
        return True


Notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})


@pytest.mark.parametrize(("stream", "seen"), [(Terminal, True), (Notebook, True), (io.StringIO, False)])
def test_a_bar_counts_passes_where_it_can_be_seen(stream, seen, lm, asked, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", told := stream())
    explain(lm, question=QUESTION, context=CONTEXT, explainers="ig")
    total = round(passes_of(asked, [catalogue.method("ig")]))
    assert (f"0/{total} [00:00<?, ?pass/s]" in told.getvalue()) is seen
    assert seen or not told.getvalue()
    assert capsys.readouterr().out == ""


EXPLAIN = ["--context", CONTEXT, "--question", QUESTION, "--device", "cpu"]


@pytest.mark.parametrize("more", [[], ["--generate", "3"]])
def test_the_command_says_the_price_on_stderr_and_prints_clean_json(more, model_folders, prints):
    printed = prints("explain", "--model", model_folders["gpt2"], *EXPLAIN, *more, "--format", "json")
    (line,) = printed.err.strip().splitlines()
    assert re.match(SAID, line)
    found = json.loads(printed.out)
    assert found["first_ranked"] == 0
    assert set(found["generated"]["refused"] if more else found["explainers"]) == (
        {"fa", "ig"} if more else {"mechlight", "fa", "ig", "attn"}
    )


def test_what_is_left_out_by_default_is_said(model_folders, prints):
    printed = prints("explain", "--model", model_folders["gpt2"], *EXPLAIN, "--generate", "3")
    assert "ig is left out: it takes about 22 passes; it explains a whole answer where it is named" in printed.out


def test_the_table_leaves_out_what_is_never_ranked(prints):
    """A chat template; JSON has it, with the scores that the method gives it."""
    model = ROOT / "cache" / "demo" / "models" / "demo-instruct"
    command = ("explain", "--model", model, *EXPLAIN, "--explainers", "attn", "--template", "chat")
    rows = [line for line in prints(*command).out.splitlines() if line[:1] in "'\""]
    found = json.loads(prints(*command, "--format", "json").out)
    assert 0 < found["first_ranked"] < found["ranked_end"] < len(found["tokens"])
    ranked = found["tokens"][found["first_ranked"] : found["ranked_end"]]
    assert [row.split("  ")[0].strip() for row in rows] == [repr(token).strip() for token in ranked]
    assert len(found["explainers"]["attn"]["scores"]) == len(found["tokens"])


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_one_line(model_folders):
    """In a terminal, once the bar is there; the model is held up until then."""
    hold = (
        "import heval_core.explaining.pipeline as p, time; p.explain = lambda *a: (print('HELD', flush=True), time.sleep(600))"
    )
    hold += "; import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a job in the background ignores it
    code = f"{hold}; import sys; from precompute.cli import main; sys.exit(main(sys.argv[1:]))"
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    done = subprocess.Popen(
        [sys.executable, "-c", code, "explain", "--model", str(model_folders["gpt2"]), *EXPLAIN],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, text=True,
    )  # fmt: skip
    os.close(theirs)
    told = []

    def read():
        try:
            while chunk := os.read(ours, 4096):
                told.append(chunk.decode())
        except OSError:  # the terminal has gone
            return

    reading = threading.Thread(target=read)
    reading.start()
    assert done.stdout.readline() == "HELD\n"
    done.send_signal(signal.SIGINT)
    assert done.wait(60) == 130
    reading.join(60)
    text = "".join(told)
    assert "Traceback" not in text
    assert "/s]" in text
    assert text.rstrip().splitlines()[-1] == "interrupted"
