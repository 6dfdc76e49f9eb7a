"""Packs the runtime's modules into one file of byte code, so that the jail's interpreter reads one file instead of
finding ten.

Only the standard library is used, because ``python_root.py`` runs this file with any Python of the machine.
"""

import importlib.util
import marshal
import pathlib

RUNTIME = pathlib.Path(__file__).with_name("runtime")
# In the order in which they need each other; a test compares this with the folder.
MODULES = ("limits", "faults", "codec", "logs", "checks", "clock", "module", "service", "serve")

# The constant "MODULES" is replaced by ((name, code), ...) after compilation.
BOOTSTRAP = """
import sys
for name, code in "MODULES":
    module = type(sys)("runtime." + name if name else "runtime")
    module.__package__ = "runtime"
    sys.modules[module.__name__] = module
    if name:
        exec(code, module.__dict__)
    else:
        module.__path__ = []
module.main(sys.argv[1:])
"""


def sources():
    """Paths of the packed modules, in order."""
    return [RUNTIME / f"{name}.py" for name in MODULES]


def bundle():
    """The bytes of a .pyc file that serves environments when it is run."""
    codes = tuple(
        (path.stem, compile(path.read_bytes(), f"/runtime/{path.name}", "exec", dont_inherit=True, optimize=0))
        for path in sources()
    )
    boot = compile(BOOTSTRAP, "/runtime.pyc", "exec", dont_inherit=True)
    packed = (("", None), *codes)
    constants = tuple(packed if constant == "MODULES" else constant for constant in boot.co_consts)
    # Flags 0b01: identified by hash, but never checked, because the file is immutable.
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
    return header + marshal.dumps(boot.replace(co_consts=constants))
