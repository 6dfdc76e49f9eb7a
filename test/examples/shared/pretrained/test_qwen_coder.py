# Tier: unit.
import hashlib
import pathlib
import sys

import pytest

sys.path.insert(0, "examples/shared/pretrained")

from qwen_coder import Slices, assemble  # noqa: E402


def packages(folder: pathlib.Path, parts: list[bytes]) -> pathlib.Path:
    for number, data in enumerate(parts, 1):
        (folder / f"part{number}" / "data").mkdir(parents=True)
        (folder / f"part{number}" / "data" / f"part{number:02}.bin").write_bytes(data)
    return folder


def test_slices_are_joined_in_the_order_of_their_numbers(tmp_path: pathlib.Path) -> None:
    parts = [str(number).encode() for number in range(1, 12)]
    slices = Slices("part", 11, hashlib.sha256(b"".join(parts)).hexdigest())
    assemble(packages(tmp_path, parts), slices, tmp_path / "model.gguf")
    assert (tmp_path / "model.gguf").read_bytes() == b"1234567891011"


def test_a_changed_slice_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="2 slices give a file of sha256"):
        assemble(packages(tmp_path, [b"1", b"changed"]), Slices("part", 2, "0" * 64), tmp_path / "model.gguf")
