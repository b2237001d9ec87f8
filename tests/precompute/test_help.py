"""What the command line says of itself, and what programs read of it."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys

import pytest

from heval_core import __version__, folders
from precompute.cli import COMMANDS, main, parser_of
from precompute.commands import open as opening
from precompute.messages import QUIET
from tests.conftest import ROOT
from tests.datasets import samples


def actions(parser, name=""):
    """(command, option) for every option of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner, below in action.choices.items():
                yield from actions(below, f"{name} {inner}")
        else:
            yield name, action


def test_every_option_of_every_command_has_a_sentence_and_every_command_can_be_quiet():
    every = list(actions(parser_of([])))
    assert {name.split()[0] for name, _ in every if name} == {name for names in COMMANDS.values() for name in names}
    assert not [(name, action.dest) for name, action in every if len((action.help or "").split()) < 3]
    quiet = {name for name, action in every if "--quiet" in action.option_strings}
    assert quiet == {name for name, _ in every} - {"", " citations"}


@pytest.mark.parametrize("program", ["heval", "python -m precompute"])
def test_the_help_begins_with_three_examples_that_can_be_typed(program, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [f"/bin/{program.split()[0]}"])
    with pytest.raises(SystemExit):
        main(["--help"])
    usage, examples, *_ = capsys.readouterr().out.split("\n\n")
    assert usage.startswith(f"usage: {program} ")
    assert len(examples.splitlines()) == 3
    for line in re.split(r" && |\n", examples):
        typed = shlex.split(line.removeprefix(program))
        assert parser_of(typed).parse_args(typed).command


@pytest.mark.parametrize(("called", "checkout", "typed"), [
    ("/bin/heval", True, "heval"), ("precompute/__main__.py", True, "python -m precompute"), ("app.py", False, "heval"),
])  # fmt: skip
def test_messages_name_the_program_as_it_can_be_called_here(called, checkout, typed, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [called])
    monkeypatch.setattr(folders, "_BUNDLED", tmp_path / "none" if checkout else tmp_path)
    assert main(["status", "--store", str(tmp_path)]) == 2
    assert f"There is no store at {tmp_path}; run: {typed} run --store {tmp_path} …" in capsys.readouterr().err
    for folder, suffix in (("heval_core", "*.py"), ("pages", "*.py"), ("precompute", "*.py"), ("heval_core", "*.js")):
        for path in (ROOT / folder).rglob(suffix):  # no message has a name of its own; docstrings may
            code = re.sub(r'"""(.|\n)*?"""', "", path.read_text(encoding="utf-8"))
            assert path.name == "folders.py" or "python -m precompute" not in code, path


def test_the_version_is_the_packages(capsys, monkeypatch):
    monkeypatch.setattr("precompute.cli.import_module", None)  # that of a command may import torch, which takes seconds
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"heval {__version__}\n")


@pytest.mark.parametrize(("command", "key", "few"), [
    ("status --store STORE", "cells", {"model": "random-gpt2", "regime": "mixed"}),
    ("plan --grid smoke --no-calibrate --store STORE", "lines", {"regime": "conflicting", "to_do": 5, "questions": 10}),
    ("board --store STORE", "explainers", {"key": "fa", "control": False}),
    ("datasets --datasets world_capital --limit 3", "datasets", {"dataset": "world_capital", "looked_at": 3}),
    ("models", "models", {"key": "demo-qwen2", "from": "bundled", "architecture": "qwen2", "chat_template": False}),
])  # fmt: skip
def test_a_command_prints_one_object_whose_keys_its_help_names(command, key, few, small_store, prints):
    name, *options = command.replace("STORE", str(small_store)).split()
    printed = prints(name, *options, "--json").out
    whole = json.loads(printed, parse_constant=pytest.fail)  # no NaN
    assert printed.count("\n") == 1
    assert [entry for entry in whole[key] if few.items() <= entry.items()]
    (documented,) = (action.help for of, action in actions(parser_of([name])) if (of, action.dest) == (f" {name}", "json"))
    assert not [word for word in whole if not re.search(rf"\b{word}\b", documented)]


def test_quiet_says_no_progress_but_errors_and_results(small_store, tmp_path, prints, monkeypatch):
    store = ["publish", "--store", small_store]
    assert "Checking the stored files" in prints(*store).err
    monkeypatch.setenv(QUIET, "")  # is set back afterwards
    quiet = prints(*store, "--quiet")
    assert (quiet.err, len(quiet.out.splitlines())) == ("", 1)
    assert "There is no store" in prints("publish", "--quiet", "--store", tmp_path / "none", ends=2).err


def test_open_shows_a_store_and_names_what_is_missing(small_store, tmp_path, prints, monkeypatch):
    begun = []
    monkeypatch.setattr(os, "execve", lambda program, command, environment: begun.append((command, environment)))
    for store in ([], [str(small_store)]):
        with pytest.raises(TypeError):  # where a process is replaced nothing returns
            main(["open", *store, "--port", "8777"])
    (command, plain), (_, chosen) = begun
    assert command[1:] == ["-m", "streamlit", "run", str(folders.ROOT / "app.py"), "--server.port", "8777"]
    assert (plain.get("HEVAL_STORE"), chosen["HEVAL_STORE"]) == (os.environ.get("HEVAL_STORE"), str(small_store))
    assert "There is no store at" in prints("open", tmp_path / "none", ends=2).err
    monkeypatch.setattr(opening, "find_spec", lambda name: None)
    assert "run: pip install 'heval[explorer]'" in prints("open", ends=2).err


def test_data_lies_in_the_checkout_and_of_a_package_in_the_users_folder(tmp_path, monkeypatch):
    assert folders.data_folder("results") == folders.ROOT / "cache" / "results"
    monkeypatch.setattr(folders, "_BUNDLED", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/me/.cache")
    assert str(folders.data_folder("results")) == "/home/me/.cache/heval/results"
    assert folders.data_folder("real", bundled=True) == tmp_path / "real"


def test_two_files_of_one_name_are_listed_with_their_paths(tmp_path, prints):
    files = []
    for folder, subject in (("a", "Kenya"), ("b", "Peru")):
        (tmp_path / folder).mkdir()
        files.append(samples.write_lines(tmp_path / folder / "mine.jsonl", [samples.own(subject)]))
    heads = [line for line in prints("datasets", "--datasets", *files).out.splitlines() if line.startswith("mine ")]
    assert [head.rpartition(", ")[2] for head in heads] == [*map(str, files)]
