"""Who holds a store: said with the process, gone with it, and refused in words where nothing can be locked."""

import errno
import os
import signal
import subprocess
import sys

import pytest
from filelock import lock_descriptor, unlock_descriptor

from heval_core.records import HEvalError
from heval_core.store import progress
from heval_core.store.progress import FILE, PAUSE, TRIES, holder, only_writer
from tests.conftest import ROOT

HOLDING = """
import sys
from pathlib import Path
from heval_core.store.progress import only_writer
with only_writer(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_killed_process_holds_nothing(tmp_path):
    assert holder(tmp_path) is None
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"held\n"
    assert holder(tmp_path) == str(process.pid)
    with pytest.raises(HEvalError, match=rf"Another run \(process {process.pid}\) is writing to"), only_writer(tmp_path):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert holder(tmp_path) is None
    with only_writer(tmp_path):
        assert holder(tmp_path) == str(os.getpid())
    assert holder(tmp_path) is None


@pytest.mark.parametrize(("looks", "found"), [(2, None), (TRIES, "12345")])
def test_somebody_elses_look_at_the_lock_is_no_run(tmp_path, monkeypatch, looks, found):
    (tmp_path / FILE).write_text("12345")  # of a run that was killed
    pauses = []
    with (tmp_path / FILE).open() as looking:

        def pause(seconds):
            pauses.append(seconds)
            if len(pauses) == looks and not found:
                unlock_descriptor(looking.fileno())

        monkeypatch.setattr(progress.time, "sleep", pause)
        assert lock_descriptor(looking.fileno(), blocking=False)
        assert holder(tmp_path) == found
    assert pauses == [PAUSE] * looks


@pytest.mark.parametrize("refusal", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named_and_no_file_stands_in_for_one(tmp_path, monkeypatch, refusal):
    def refused(*_):
        raise OSError(refusal, os.strerror(refusal))

    monkeypatch.setattr("fcntl.flock", refused)
    with pytest.raises(HEvalError, match=r"cannot be locked \(.*network file systems.*another disk"), only_writer(tmp_path):
        pass
    assert holder(tmp_path) is None


def test_a_store_can_be_taken_again_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), only_writer(tmp_path):
        1 / 0  # noqa: B018
    with only_writer(tmp_path):
        pass
