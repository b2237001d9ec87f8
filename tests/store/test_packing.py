"""Packing: the same shards in few files, whole after a kill at any step, and damaged one row group at a time."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from dataclasses import replace
from unittest import mock

import pyarrow as pa
import pytest

from heval_core.evaluation.publishing import publish
from heval_core.records import HEvalError
from heval_core.store import packing
from heval_core.store.kinds import KINDS, MEMORY
from heval_core.store.packing import loose, pack
from heval_core.store.progress import only_writer
from heval_core.store.row_groups import RowGroups
from heval_core.store.shards import Shard, ShardStore
from precompute.cli import main
from tests.precompute.kills import contents, states_at_every_moment
from tests.precompute.test_cli import grid

MEMORIES = [{"question": f"{number}?", "ids": [number], "text": "x" * number} for number in range(3)]


@pytest.fixture
def store(small_store, tmp_path):
    """Loose shards; what is published of them is left where it is."""
    return shutil.copytree(small_store, tmp_path / "store", ignore=shutil.ignore_patterns("results-*", "current.json"))


@pytest.fixture
def packed(store):
    assert pack(ShardStore(store)) == 46
    return store


def known(folder):
    """All that a reader sees, in its order; rows as they are."""
    store = ShardStore(folder)
    return [(key, entry.cell, entry.content, store.read(entry)) for key, entry in store.entries().items()]


def files(folder):
    every = [path for name in ("shards", "packed") for path in (folder / name).rglob("*.parquet")]
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in every}


def damage(path, where):
    content = bytearray(path.read_bytes())
    content[where] ^= 255
    path.write_bytes(content)


def shard(key, kind="memory", model="m", start=0):
    return Shard(kind, key * 24, model, "r", "d", start=start)


def test_a_packed_store_has_a_file_for_each_kind_and_the_same_rows_order_and_snapshot(small_store, store):
    kinds = {entry.kind for entry in ShardStore(store).entries().values()}
    before = known(store)
    size = ShardStore(store).size(ShardStore(store).entries().values())
    pack(ShardStore(store))
    assert known(store) == before == known(small_store)
    assert {name.split("-")[0] for name in files(store)} == {f"packed/{kind}" for kind in kinds}
    assert len(files(store)) == len(kinds)
    after = ShardStore(store)
    entries = after.entries().values()
    assert not loose(after)
    assert all(after.intact(entry) for entry in entries)
    assert 0 < after.size(entries) < size
    assert publish(store).name == publish(small_store).name


def test_columns_and_single_shards_are_read_of_their_rows_only(small_store, packed):
    for entry, one in zip(ShardStore(packed).entries().values(), ShardStore(small_store).entries().values(), strict=True):
        names = KINDS[entry.kind].schema.names[::-2]
        assert ShardStore(packed).read(entry, names).equals(ShardStore(small_store).read(one, names))


def test_packing_again_writes_nothing_until_there_are_shards_beside(packed):
    before = files(packed)
    assert pack(ShardStore(packed)) == 0
    assert files(packed) == before
    added = ShardStore(packed).write(shard("new"), MEMORIES)
    old = next(entry for entry in ShardStore(packed).entries().values() if entry.kind == MEMORY.name and entry != added)
    again = ShardStore(packed).write(replace(shard("x"), key=old.key), MEMORIES[:2])  # what lies beside wins
    assert ShardStore(packed).entries()[old.key] == again
    rows = known(packed)
    assert pack(ShardStore(packed)) == 2
    assert known(packed) == rows
    assert {name for name in before if name in files(packed)} == {name for name in before if "memory" not in name}
    assert len(files(packed)) == len(before)


def test_a_full_file_takes_no_more_and_shards_of_a_pair_stand_in_groups_of_bounded_size(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "FULL", 1)
    monkeypatch.setattr(packing, "GROUP", 1)
    store = ShardStore(tmp_path)
    for number in range(4):
        store.write(shard(f"{number}", start=number), [MEMORIES[0] | {"ids": [number]}])
    store.write(shard("other", model="n"), [])
    before = known(tmp_path)
    pack(store)
    assert known(tmp_path) == before
    first = files(tmp_path)
    assert len(first) == len({(entry.path, entry.group) for entry in store.entries().values()}) == 5
    store.write(shard("late"), MEMORIES)
    pack(store)
    assert first.items() < files(tmp_path).items()
    assert all(store.intact(entry) for entry in store.entries().values())


def test_killed_at_any_step_nothing_is_lost_and_packing_again_ends_as_if_it_had_not_been(store, tmp_path):
    ShardStore(store).write(shard("beside"), MEMORIES)
    pack(ShardStore(store))
    for number in range(2):
        ShardStore(store).write(shard(f"{number}"), MEMORIES)
        ShardStore(store).write(shard(f"{number}", "sample"), [{"fact_id": "f"}])
    before, unlink = known(store), os.unlink
    with ExitStack() as stack:
        left = stack.enter_context(states_at_every_moment(store, tmp_path))

        def kept_and_unlinked(path, **how):
            left.append(shutil.copytree(store, tmp_path / f"{len(left)}"))
            unlink(path, **how)

        stack.enter_context(mock.patch.object(os, "unlink", kept_and_unlinked))
        pack(ShardStore(store))
    names = set(files(store))
    assert len(left) > 12
    assert len({frozenset(files(state)) for state in left}) >= 5
    for state in left:
        assert known(state) == before, state
        beside = ShardStore(state)
        assert all(beside.intact(entry) for entry in beside.entries().values())
        beside.remove_unfinished()
        assert not list(state.rglob("*.tmp"))
        pack(beside)
        assert (known(state), set(files(state))) == (before, names), state


def test_an_error_at_any_step_leaves_all_that_was_there(store):
    before, calls = known(store), []

    def fails_at(number, call):
        def counted(*arguments, **named):
            calls.append(call)
            if len(calls) == number:
                raise OSError(28, "No space left on device")
            return call(*arguments, **named)

        return counted

    for number in range(1, 40):
        calls.clear()
        with ExitStack() as stack:
            for name in ("fsync", "replace"):
                stack.enter_context(mock.patch.object(os, name, fails_at(number, getattr(os, name))))
            try:
                pack(ShardStore(store))
            except OSError:
                assert not list(store.rglob("*.tmp"))
                assert known(store) == before, number
                continue
        break
    assert number > 5
    assert known(store) == before


def test_a_damaged_row_group_is_named_and_made_again_and_costs_no_other(small_grid, small_store, packed, prints):
    store = ShardStore(packed)
    entries = [entry for entry in store.entries().values() if entry.kind == "attribution"]
    assert len({entry.group for entry in entries}) == 2
    hurt = [entry for entry in entries if entry.group == 1]
    damage(packed / hurt[0].path, store.row_groups.size(hurt[0].path, 0)[0] + 100)
    assert [entry for entry in entries if not ShardStore(packed).intact(entry)] == hurt
    with pytest.raises(HEvalError, match=rf"the first is {hurt[0].path}, row group 1; run: .* verify"):
        publish(packed)
    printed = prints("verify", "--store", packed, ends=1).out
    assert f"damaged: {hurt[0].path}, row group 1 ({len(hurt)} shards), not listed any more; the next run" in printed
    assert not {entry.key for entry in hurt} & contents(packed).keys()
    pack(ShardStore(packed))  # what is withdrawn stays so
    assert f"{len(hurt)} shards computed" in prints("run", *grid(small_grid), "--store", packed).out
    assert contents(packed) == contents(small_store)
    assert main(["verify", "--store", str(packed)]) == 0
    pack(ShardStore(packed))
    assert (contents(packed), len(loose(ShardStore(packed)))) == (contents(small_store), 0)


@pytest.mark.parametrize("where", [-1, -5, -30])
def test_a_damaged_footer_is_seen_at_every_shard_of_its_file(packed, where):
    entries = ShardStore(packed).entries().values()
    path = next(entry.path for entry in entries if entry.kind == "instance")
    damage(packed / path, where)
    bad = [entry for entry in entries if not ShardStore(packed).intact(entry)]
    assert bad == [entry for entry in entries if entry.path == path]


def test_a_damaged_shard_is_not_packed(store, prints):
    entries = ShardStore(store).entries().values()
    bad = next(entry for entry in entries if entry.kind == "attribution")
    damage(store / bad.path, 50)
    pack(ShardStore(store))
    assert loose(ShardStore(store)) == [bad]
    assert "set aside as" in prints("verify", "--store", store, ends=1).out


def test_who_read_the_manifest_before_a_packing_finds_the_shards_after_it(store):
    reader, rows = ShardStore(store), known(store)
    entries = reader.entries().values()
    for more in ([], MEMORIES):
        if more:
            ShardStore(store).write(shard("more"), more)
        pack(ShardStore(store))
        assert [reader.read(entry) for entry in entries] == [table for *_, table in rows]
        assert all(reader.intact(entry) for entry in entries)
        assert reader.size(entries) > 0


def test_what_has_other_rows_by_now_is_not_taken_for_what_was_there(tmp_path):
    store = ShardStore(tmp_path)
    before = store.write(shard("one"), MEMORIES)
    store.write(shard("one"), MEMORIES[:1])
    pack(store)
    with pytest.raises(FileNotFoundError):
        ShardStore(tmp_path).read(before)


def test_another_store_takes_a_packed_shard_into_a_file_of_its_own(packed, small_store, tmp_path):
    source, target = ShardStore(packed), ShardStore(tmp_path / "target")
    target.create()
    for entry in source.entries().values():
        target.copy(entry, source)
    assert known(target.folder) == known(small_store)
    assert len(loose(target)) == 46


def test_a_file_of_an_earlier_version_lacks_a_column_that_is_null_then(packed):
    entry = next(entry for entry in ShardStore(packed).entries().values() if entry.kind == "memory")
    schema = MEMORY.schema.append(pa.field("later", pa.int32()))
    for names in (None, ["later", "text"]):
        rows = RowGroups(packed).rows(entry.path, entry.group, schema, names)
        assert rows.column_names == (names or schema.names)
        assert rows["later"].null_count == len(rows) > 0


def test_rows_in_memory_are_bounded_and_the_last_read_stays(packed, monkeypatch):
    groups = RowGroups(packed)
    for entry in ShardStore(packed).entries().values():
        groups.rows(entry.path, entry.group, KINDS[entry.kind].schema)
    assert len(groups._tables) > 5
    monkeypatch.setattr("heval_core.store.row_groups.SAVED", 1)
    for _ in range(2):
        groups.rows(entry.path, entry.group, KINDS[entry.kind].schema)
    assert len(groups._tables) == 1


def test_a_store_that_a_run_writes_to_is_not_packed(store, prints):
    before = files(store)
    with only_writer(store):
        assert "is writing to the store" in prints("pack", "--store", store, ends=2).err
    assert files(store) == before
    assert "46 shards packed; 46 shards are in 4 files of 0.0 MB" in prints("pack", "--store", store).out


def test_a_run_packs_by_itself_beyond_many_shards(small_grid, store, prints, monkeypatch):
    for most, left in ((46, 46), (45, 0)):
        monkeypatch.setattr("precompute.run.MOST_LOOSE", most)
        assert "0 shards computed, 44 were done already" in prints("run", *grid(small_grid), "--store", store).out
        assert len(loose(ShardStore(store))) == left
    assert not (store / "shards").exists()


def test_a_manifest_that_is_packed_while_it_is_read_is_read_again(small_store, tmp_path, monkeypatch):
    store = ShardStore(shutil.copytree(small_store, tmp_path / "store"))
    whole, reads = store.entries().keys(), []
    read = ShardStore._entries

    def packed_meanwhile(self):
        found = read(self)
        reads.append(len(found))
        if len(reads) == 1:
            monkeypatch.setattr(ShardStore, "_entries", read)
            pack(ShardStore(self.folder))
            monkeypatch.setattr(ShardStore, "_entries", packed_meanwhile)
            return dict(list(found.items())[:3])  # the others' files are gone already
        return found

    monkeypatch.setattr(ShardStore, "_entries", packed_meanwhile)
    assert store.entries().keys() == whole
    assert len(reads) == 2
