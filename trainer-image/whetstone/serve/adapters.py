"""The served adapters: which ones may be loaded, and how one replaces another."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from whetstone.cut_text import start_of
from whetstone.engine import Adapter, Engine, ModelError, merge_adapters, read_adapter
from whetstone.tree_hash import tree_sha256

from .engine_loop import EngineLoop
from .requests import ApiError, printable

# Largest number of parts of a mixture, because each adapter in it is read and held.
MAX_PARTS = 64
# An adapter of a registry is called `<capability>@<first 12 hex of its directory's hash>`.
_NAMED_HASH = re.compile(r"@([0-9a-f]{12})$")


@dataclass(frozen=True)
class Served:
    """The origin of an adapter: `directory` is None for a mixture; `root` appears in the list of models."""

    root: str
    directory: Path | None


class Adapters:
    """The adapters of one engine by their served names.

    A name is removed before its weights, so that requests in progress finish with their original weights. Adapters may
    be loaded over HTTP only from `folders`.
    """

    def __init__(self, engine: Engine, base_name: str, folders: tuple[Path, ...]) -> None:
        self._engine, self._base_name, self._folders = engine, base_name, folders
        self._served: dict[str, Served] = {}
        self._changing = asyncio.Lock()

    def __contains__(self, name: object) -> bool:
        return name in self._served

    def __len__(self) -> int:
        return len(self._served)

    def roots(self) -> Iterator[tuple[str, str]]:
        """Each name and its origin."""
        return ((name, served.root) for name, served in self._served.items())

    def load_at_start(self, name: str, directory: str) -> None:
        """Loads an adapter before the server runs; raises ApiError."""
        self._check_name(name, False)
        self._engine.put_adapter(name, self._read(Path(directory), name, "lora_path"))
        self._served[name] = Served(directory, Path(directory))

    async def load(self, body: dict, loop: EngineLoop) -> None:
        """Executes a call of load_lora_adapter. If it raises ApiError, the previous adapters are still served."""
        name, mixture = body["lora_name"], body.get("lora_mixture")
        replace = body.get("load_inplace") is True
        async with self._changing:
            self._check_name(name, replace)
            if "lora_mixture" in body:
                directories = self._directories(mixture)
                adapter = await asyncio.to_thread(self._mix, directories)
                served = Served(f"mixture of {len(mixture)}", None)
            else:
                self._check_folder(body["lora_path"])
                served = Served(body["lora_path"], Path(body["lora_path"]))
                adapter = await asyncio.to_thread(self._read, served.directory, name, "lora_path")
            await self._change(name, served, lambda: self._engine.put_adapter(name, adapter), loop)

    async def unload(self, name: str, loop: EngineLoop) -> None:
        """Raises ApiError (404)."""
        async with self._changing:
            if name not in self._served:
                raise ApiError(404, f"adapter {start_of(name, 200)} is not loaded", "lora_name", "model_not_found")
            await self._change(name, None, lambda: self._engine.drop_adapter(name), loop)

    async def _change(self, name: str, to: Served | None, action: Callable[[], None], loop: EngineLoop) -> None:
        """Takes the name out of service, waits for the requests that use it, and runs the action; all or nothing."""
        before = self._served.pop(name, None)
        try:
            while self._engine.uses(name):
                await asyncio.sleep(0.005)
            await loop.between_steps(action)
        except BaseException:
            if before is not None:
                self._served[name] = before
            raise
        if to is not None:
            self._served[name] = to

    def _check_name(self, name: str, replace: bool) -> None:
        if not name.isprintable():
            shown = printable(start_of(name, 200))
            message = f"lora_name {shown} has characters that cannot be shown, such as control characters"
            raise ApiError(400, message, "lora_name")
        if name == self._base_name or (name in self._served and not replace):
            message = f"a model called {start_of(name, 200)} is already served; unload it or take another name"
            raise ApiError(400, message, "lora_name")

    def _check_folder(self, path: str) -> None:
        """Raises ApiError for a path outside the folders of adapters, after following links."""
        try:
            found = Path(path).resolve()
        except (OSError, ValueError, RuntimeError):
            raise ApiError(400, "lora_path is no path", "lora_path") from None
        if not Path(path).is_absolute() or not any(found.is_relative_to(folder) for folder in self._folders):
            folders = ", ".join(map(str, self._folders)) or "no folder"
            message = f"adapters are loaded by absolute path, out of {folders} only; start the server with --adapters"
            raise ApiError(400, message, "lora_path")

    def _read(self, directory: Path, name: str, field: str) -> Adapter:
        """Reads an adapter. Raises ApiError (400), also for one whose name has another hash than its files."""
        try:
            adapter = read_adapter(directory, self._engine.weights.shape)
            _check_hash(directory, name)
            return adapter
        except ModelError as error:
            raise ApiError(400, str(error), field) from None

    def _directories(self, parts: object) -> dict[tuple[Path, str], float]:
        """The directories and names of a mixture's parts with their weights, each once; raises ApiError (400, 404)."""
        if not isinstance(parts, list) or not parts or not all(_is_part(part) for part in parts):
            message = 'lora_mixture must be a list of {"lora_name": string, "weight": number above 0}'
            raise ApiError(400, message, "lora_mixture")
        if len(parts) > MAX_PARTS:
            raise ApiError(400, f"lora_mixture has {len(parts)} parts, at most {MAX_PARTS} are merged", "lora_mixture")
        weights: dict[tuple[Path, str], float] = {}
        for part in parts:
            name = part["lora_name"]
            served = self._served.get(name)
            if served is None:
                raise ApiError(404, f"adapter {start_of(name, 200)} is not loaded", "lora_mixture", "model_not_found")
            if served.directory is None:
                message = f"adapter {start_of(name, 200)} is a mixture itself: name the adapters that it was made of"
                raise ApiError(400, message, "lora_mixture")
            weights[served.directory, name] = weights.get((served.directory, name), 0.0) + float(part["weight"])
        return weights

    def _mix(self, directories: dict[tuple[Path, str], float]) -> Adapter:
        """The weighted sum of adapters; raises ApiError (400)."""
        read = [(self._read(*part, "lora_mixture"), weight) for part, weight in directories.items()]
        merged = merge_adapters(read)
        try:
            merged.check(self._engine.weights.shape, "the mixture")
        except ModelError as error:
            raise ApiError(400, str(error), "lora_mixture") from None
        return merged


def _check_hash(directory: Path, name: str) -> None:
    """Raises ModelError for an adapter whose name has a hash that its files do not have."""
    named = _NAMED_HASH.search(name)
    if named is None:
        return
    try:
        found = tree_sha256(directory)
    except OSError as error:
        raise ModelError(f"{directory}: adapter cannot be read: {error.strerror}") from None
    if not found.startswith(named[1]):
        raise ModelError(
            f"{directory}: the files have the hash {found[:12]}, and the adapter is called {name[:200]}: they were"
            " changed; `whet repair RUN` makes them again"
        )


def _is_part(part: object) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get("lora_name"), str):
        return False
    weight = part.get("weight")
    return isinstance(weight, (int, float)) and not isinstance(weight, bool) and 0 < weight < 1e6
