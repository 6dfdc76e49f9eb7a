"""Reads recorded environments, also those that are kept as patches (examples/worlds/README.md)."""

import pathlib
import subprocess

PRINT = pathlib.Path(__file__).resolve().parents[2] / "dist" / "examples" / "shared" / "print-recorded.js"


def source_of(path: pathlib.Path) -> str:
    """Text of NAME.py, or of what NAME.patch makes. Raises RuntimeError with the reason where there is none."""
    if path.is_file() and not path.with_suffix(".patch").exists():
        return path.read_text()
    if not PRINT.exists():
        raise RuntimeError(f"{path} is kept as a patch, and what applies patches is not built: make build")
    done = subprocess.run(["node", str(PRINT), str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def plain_copies(folder: pathlib.Path, out: pathlib.Path) -> list[pathlib.Path]:
    """Writes every environment of a folder to `out` as a plain file. Returns the files in order."""
    out.mkdir(parents=True, exist_ok=True)
    names = {path.with_suffix(".py").name for path in folder.glob("*") if path.suffix in (".py", ".patch")}
    for name in names:
        (out / name).write_text(source_of(folder / name))
    return sorted(out / name for name in names)
