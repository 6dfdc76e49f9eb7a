"""Builds the file tree that is the jail's `/`: a copy of this interpreter, its shared libraries, the standard library,
and the runtime as one file of byte code.

``python3 python_root.py`` prints the directory's path, and first builds it if it is missing. Only the standard library
is used, because the TypeScript side starts this file with any Python that it has. The tree is copied rather than
bind-mounted. The sandbox's user may not be able to read the interpreter's place (pyenv under /root), and the host's
/usr has more than an environment should see.

The directory's name depends on the source files. It is built under a temporary name and renamed, so that parallel
builds end with the same tree. It is never changed afterwards.
"""

import contextlib
import functools
import hashlib
import os
import pathlib
import py_compile
import re
import secrets
import shutil
import stat
import subprocess
import sys
import sysconfig
import time

if not __package__:
    # The script is started with -I, so its own directory is not on the path.
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import bundle
    import stale_trees
else:
    from . import bundle, stale_trees

DAY_SECONDS = 86400

# Packages that no environment needs: tests, package installers, editors, windows, build tools.
LEFT_OUT = frozenset(
    "__pycache__ dist-packages distutils ensurepip idle_test idlelib lib2to3 pydoc_data site-packages test tests"
    " tkinter turtle.py turtledemo venv".split()
)
LEFT_OUT_PATTERN = re.compile(
    r"^(config-.*|_test.*|_xx.*|xx.*|"
    r"(_tkinter|_ctypes_test|_curses.*|_dbm|_gdbm|nis|readline|spwd)\..*)$"
)
# Empty files as mount points for devices, and an empty /tmp, so that the error is "read-only" rather than "missing".
DEVICES = ("null", "zero", "random", "urandom")
DIRECTORIES = ("dev", "tmp")


class RootError(Exception):
    """The tree could not be built; the message says what to do."""


def cache_directory():
    """The folder of trees: WHET_JAIL_ROOT, else /var/cache/whetstone/jail-root for root, else the user's cache
    directory.
    """
    chosen = os.environ.get("WHET_JAIL_ROOT")
    if chosen:
        return pathlib.Path(chosen)
    if os.geteuid() == 0:
        return pathlib.Path("/var/cache/whetstone/jail-root")
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "whetstone" / "jail-root"


def interpreter():
    """The real executable, after following virtual environments and links."""
    return pathlib.Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


def standard_library():
    """{path inside the tree: file} of the standard library and its extension modules."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    source = pathlib.Path(sysconfig.get_path("stdlib", vars={**base, "installed_base": sys.base_prefix}))
    dynamic = pathlib.Path(sysconfig.get_config_var("DESTSHARED") or source / "lib-dynload")
    target = f"usr/lib/{version}"
    files = {f"{target}/{name}": path for name, path in walk(source, ("lib-dynload",))}
    files.update({f"{target}/lib-dynload/{name}": path for name, path in walk(dynamic, ())})
    if f"{target}/os.py" not in files:
        raise RootError(f"No standard library in {source}. Install Python with its standard library (Debian: python3).")
    return files


def walk(top, skip):
    """(relative name, path) of every file for the tree, in a fixed order."""
    found = []
    for directory, directories, names in os.walk(top):
        directories[:] = sorted(name for name in directories if not left_out(name) and name not in skip)
        for name in sorted(names):
            path = pathlib.Path(directory, name)
            if not left_out(name) and path.is_file():
                found.append((str(path.relative_to(top)), path))
    return found


def left_out(name):
    """Whether a file or directory of the standard library is left out."""
    return name in LEFT_OUT or LEFT_OUT_PATTERN.match(name) is not None


def shared_libraries(binaries):
    """{path inside the tree: file}: the program loader at its own path, and libraries where the loader looks without a
    cache.
    """
    listing = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False).stdout
    loaders, libraries = {}, {}
    for line in listing.splitlines():
        named = re.match(r"\s+(\S+) => (/\S+) \(", line)
        alone = re.match(r"\s+(/\S+) \(", line)
        if named:
            libraries[pathlib.Path(named[1]).name] = pathlib.Path(named[2])
        elif alone:
            loaders[alone[1].lstrip("/")] = pathlib.Path(alone[1]).resolve()
    if not loaders:
        raise RootError(f"ldd says nothing about {binaries[0]}. Install the C library's tools (Debian: libc-bin).")
    libc = next((path for name, path in libraries.items() if name.startswith("libc.")), None)
    # The C library's own directory is one of the loader's built-in search paths; an RPATH of the host may not exist
    # inside.
    home = str(libc.parent).lstrip("/") if libc else "lib"
    return {**loaders, **{f"{home}/{name}": path.resolve() for name, path in libraries.items()}}


def contents():
    """{path inside the tree: file} of everything."""
    executable = interpreter()
    files = {"usr/bin/python3": executable, **standard_library()}
    extensions = [path for name, path in files.items() if name.endswith(".so")]
    files.update(shared_libraries([executable, *extensions]))
    return dict(sorted(files.items()))


def fingerprint():
    """Name of the tree in hex: a hash of the contents of our own files, and of the paths, sizes and times of Python's
    files. The loader's cache file represents the shared libraries in the hash, because installing a library rewrites
    it."""
    total = hashlib.sha256()
    for path in (*bundle.sources(), pathlib.Path(bundle.__file__), pathlib.Path(__file__)):
        total.update(path.read_bytes())
    for path in (interpreter(), pathlib.Path("/etc/ld.so.cache"), *standard_library().values()):
        if path.exists():
            status = path.stat()
            total.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return total.hexdigest()[:32]


def build(target):
    """Copies the files to a temporary directory in the target's folder and renames it.

    Another process may have built the target meanwhile; then its tree stays.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        for name in DIRECTORIES:
            make_directory(temporary / name, temporary)
        for name in DEVICES:
            (temporary / "dev" / name).touch(0o644)
        for name, path in contents().items():
            copy = temporary / name
            make_directory(copy.parent, temporary)
            shutil.copyfile(path, copy)
            is_program = path.stat().st_mode & stat.S_IXUSR or name.endswith(".so")
            copy.chmod(0o755 if is_program else 0o644)
            if name.endswith(".py"):
                compile_file(copy, name)
        runtime = temporary / "runtime.pyc"
        runtime.write_bytes(bundle.bundle())
        runtime.chmod(0o644)
        try:
            temporary.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def make_directory(path, top):
    """Makes a directory and its parents below top, readable by everyone whatever the umask is."""
    missing = []
    while path != top.parent and not path.is_dir():
        missing.append(path)
        path = path.parent
    for step in reversed(missing):
        step.mkdir()
        step.chmod(0o755)


def compile_file(path, name):
    """Writes the byte code where Python looks for it.

    Python does not compare the byte code with the source at each start, because the tree never changes.
    """
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    try:
        cache = pathlib.Path(py_compile.compile(path, dfile=f"/{name}", doraise=True, invalidation_mode=mode))
    except py_compile.PyCompileError:
        # The standard library contains a few files as samples of bad syntax.
        return
    cache.parent.chmod(0o755)
    cache.chmod(0o644)


def check_owner(path):
    """Raises unless the directory belongs to us or root and nobody else can change it, because its files run as the
    jail's interpreter.
    """
    status = path.stat()
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        raise RootError(
            f"{path} can be changed by another user. Remove it, or set WHET_JAIL_ROOT to a directory of your own."
        )


def ensure_root():
    """Path of the tree for this interpreter; it is built if it is missing. Raises RootError with a sentence if it
    cannot be built.

    Cached for a day, because a process that runs longer than trees are kept must touch its own tree every day.
    """
    return _ensured(time.monotonic() // DAY_SECONDS)


@functools.lru_cache(maxsize=1)
def _ensured(_day):
    return find_or_build()


def find_or_build():
    """Finds the tree, or builds it if it is missing. Then it marks the tree as used."""
    directory = cache_directory()
    target = directory / fingerprint()
    try:
        if not target.is_dir():
            previous = os.umask(0o022)
            try:
                directory.mkdir(parents=True, exist_ok=True)
                check_owner(directory)
                stale_trees.prune(directory)
                build(target)
            finally:
                os.umask(previous)
        check_owner(directory)
        check_owner(target)
        with contextlib.suppress(PermissionError):
            os.utime(target)
    except OSError as error:
        raise RootError(
            f"{directory}: {error.strerror}. Set WHET_JAIL_ROOT to a directory that can be written."
        ) from error
    return target


if __name__ == "__main__":
    try:
        print(ensure_root())
    except RootError as error:
        sys.exit(str(error))
