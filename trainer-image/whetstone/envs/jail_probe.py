"""Tests the jail from inside, as an environment module that the jail's normal launch path serves.

``task(0)`` answers ``{"layers": {layer: None or its fault}, "rlimits": {name: hard limit}}``. ``task(1)`` does the same
for the jail of an owner's environment, which has network access and higher limits. Each layer is tested in action: a
filter that is loaded but allows a socket counts as missing. The parent compares the limits with its profile, and checks
the properties that only the host can see (the kernel's user id, the namespaces).
"""

import ctypes
import errno
import os
import resource
import socket
import threading

ALLOWED_IN_ROOT = {"dev", "tmp", "usr", "lib", "lib32", "lib64", "libx32", "runtime.pyc"}
ALLOWED_DEVICES = {"null", "zero", "random", "urandom"}
EXPECTED_FILES = {0, 1, 2, 3, 4}
EXPECTED_VARIABLES = {"PWD", "LC_CTYPE"}
HOST_FILES = ("/proc/self", "/sys/kernel", "/etc/passwd", "/var", "/run", "/root")
CLONE_NEWUSER = 0x10000000
SIOCGIFCONF = 0x8912
PR_GET_SECCOMP = 21
PR_SET_SECCOMP = 22
PR_CAPBSET_READ = 23
PR_GET_NO_NEW_PRIVS = 39
SYS_CLONE3 = 435
# If ptrace is allowed, it gives ESRCH for a process that is not traced.
PTRACE_CONT = 7
CAPABILITY_VERSION_3 = 0x20080522
# The kernel's interface has room for this many; unused numbers answer EINVAL.
CAPABILITIES = 64

libc = ctypes.CDLL(None, use_errno=True)


def refusal(function, *arguments):
    """Name of the errno with which a C function fails, or its return value."""
    ctypes.set_errno(0)
    returned = function(*arguments)
    return errno.errorcode.get(ctypes.get_errno(), "?") if returned == -1 else f"returned {returned}"


def raised(function, *arguments):
    """Name of the errno or exception that a Python function raises; None if it succeeds."""
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, "OSError")
    except (MemoryError, RuntimeError, ValueError) as error:
        return type(error).__name__
    return None


def user():
    if os.getuid() == 0 or os.geteuid() == 0:
        return "the environment runs as root"
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0 or any(sets):
        return "the environment holds capabilities"
    if any(libc.prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1 for capability in range(CAPABILITIES)):
        return "the environment could be given capabilities: its bounding set is not empty"
    # The kernel shows a group without a number inside as the overflow group.
    if set(os.getgroups()) - {os.getgid()}:
        return "the environment is in groups of the host"
    return None


def no_new_privileges():
    return None if libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 else "no_new_privs is not set"


def seccomp():
    if libc.prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2:
        return "no seccomp filter is loaded"
    answers = {
        "unshare": (refusal(libc.unshare, CLONE_NEWUSER), "EPERM"),
        "ptrace": (refusal(libc.ptrace, PTRACE_CONT, 1, 0, 0), "EPERM"),
        "mount": (refusal(libc.mount, b"none", b"/tmp", b"tmpfs", 0, None), "EPERM"),
        "memfd_create": (refusal(libc.memfd_create, b"x", 0), "EPERM"),
        "shmget": (refusal(libc.shmget, 0, 4096, 0o1600), "EPERM"),
        "clone3": (refusal(libc.syscall, SYS_CLONE3, 0, 0), "ENOSYS"),
        "sendmsg": (refusal(libc.sendmsg, 4, None, 0), "EPERM"),
        "ioctl for network cards": (refusal(libc.ioctl, 4, SIOCGIFCONF, None), "EPERM"),
        "a filter of its own": (refusal(libc.prctl, PR_SET_SECCOMP, 2, None, 0, 0), "EPERM"),
        "a lower core limit": (raised(resource.setrlimit, resource.RLIMIT_CORE, (0, 0)), "ValueError"),
        "fork": (fork(), "EPERM"),
    }
    wrong = [
        f"{name}: {answer} instead of {expected}" for name, (answer, expected) in answers.items() if answer != expected
    ]
    return f"the seccomp filter lets calls through ({'; '.join(wrong)})" if wrong else None


def fork():
    try:
        child = os.fork()
    except OSError as error:
        return errno.errorcode.get(error.errno, "OSError")
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "succeeded"


def network():
    families = ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK")
    opened = [name for name in families if hasattr(socket, name) and raised(open_socket, getattr(socket, name)) is None]
    return f"sockets can be opened ({', '.join(opened)})" if opened else None


def open_socket(family):
    socket.socket(
        family, socket.SOCK_RAW if family == getattr(socket, "AF_NETLINK", None) else socket.SOCK_STREAM
    ).close()


def read_only_tree():
    places = ("/", "/tmp/", "/dev/", "/dev/shm/", "/usr/", "/usr/lib/", "/var/tmp/")
    writable = [place for place in places if raised(create_file, f"{place}probe") is None]
    if writable:
        return f"files can be made in {', '.join(writable)}"
    strange = sorted(set(os.listdir("/")) - ALLOWED_IN_ROOT) + sorted(set(os.listdir("/dev")) - ALLOWED_DEVICES)
    return f"the file tree holds more than Python ({', '.join(strange)})" if strange else None


def create_file(path):
    # Nothing is written, because the limit on file sizes would refuse that even in a writable directory.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))


def empty_environment():
    strange = sorted(set(os.environ) - EXPECTED_VARIABLES)
    return f"environment variables are visible ({', '.join(strange)})" if strange else None


def no_inherited_files():
    strange = []
    for number in range(1024):
        try:
            os.fstat(number)
        except OSError:
            continue
        if number not in EXPECTED_FILES:
            strange.append(str(number))
    return f"files of the parent are open ({', '.join(strange)})" if strange else None


def memory_limit():
    limit = resource.getrlimit(resource.RLIMIT_AS)[1]
    if limit == resource.RLIM_INFINITY:
        return "memory has no limit"
    return None if raised(bytearray, limit) == "MemoryError" else "more memory than the limit can be had"


def thread_limit():
    limit = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    if limit == resource.RLIM_INFINITY or limit > 1024:
        return "the number of threads has no limit"
    release = threading.Event()
    previous = threading.stack_size(64 * 1024)
    started = []
    try:
        for _ in range(limit + 8):
            thread = threading.Thread(target=release.wait)
            thread.start()
            started.append(thread)
    except RuntimeError:
        return None
    finally:
        release.set()
        for thread in started:
            thread.join()
        threading.stack_size(previous)
    return f"{len(started)} threads started where {limit} are allowed"


def owner_seccomp():
    if libc.prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2:
        return "no seccomp filter is loaded"
    answers = {
        "unshare": refusal(libc.unshare, CLONE_NEWUSER),
        "ptrace": refusal(libc.ptrace, PTRACE_CONT, 1, 0, 0),
        "mount": refusal(libc.mount, b"none", b"/tmp", b"tmpfs", 0, None),
        "a unix socket": raised(open_socket, socket.AF_UNIX),
        "a filter of its own": refusal(libc.prctl, PR_SET_SECCOMP, 2, None, 0, 0),
    }
    wrong = [f"{name}: {answer} instead of EPERM" for name, answer in answers.items() if answer != "EPERM"]
    return f"the seccomp filter lets calls through ({'; '.join(wrong)})" if wrong else None


def own_files():
    visible = [path for path in HOST_FILES if os.path.exists(path)]
    if visible:
        return f"files of the host are visible ({', '.join(visible)})"
    writable = [place for place in ("/", "/usr/", "/dev/", "/etc/") if raised(create_file, f"{place}probe") is None]
    return f"files can be made in {', '.join(writable)}" if writable else None


def owner_environment():
    strange = sorted(set(os.environ) - EXPECTED_VARIABLES - {"HOME", "PATH", "SSL_CERT_FILE"})
    return f"environment variables are visible ({', '.join(strange)})" if strange else None


OWNER_LAYERS = {
    "user": user,
    "no-new-privileges": no_new_privileges,
    "seccomp": owner_seccomp,
    "own-files": own_files,
    "environment": owner_environment,
    "no-inherited-files": no_inherited_files,
}

LAYERS = {
    "user": user,
    "no-new-privileges": no_new_privileges,
    "seccomp": seccomp,
    "no-network": network,
    "read-only-tree": read_only_tree,
    "empty-environment": empty_environment,
    "no-inherited-files": no_inherited_files,
    "memory-limit": memory_limit,
    "thread-limit": thread_limit,
}

RLIMITS = {
    "addressSpaceBytes": resource.RLIMIT_AS,
    "coreBytes": resource.RLIMIT_CORE,
    "cpuSeconds": resource.RLIMIT_CPU,
    "fileSizeBytes": resource.RLIMIT_FSIZE,
    "lockedMemoryBytes": resource.RLIMIT_MEMLOCK,
    "messageQueueBytes": resource.RLIMIT_MSGQUEUE,
    "openFiles": resource.RLIMIT_NOFILE,
    "pendingSignals": resource.RLIMIT_SIGPENDING,
    "stackBytes": resource.RLIMIT_STACK,
    "threads": resource.RLIMIT_NPROC,
}


class Environment:
    """The probe in the form of the protocol; only generate_task does something."""

    @staticmethod
    def tools():
        return [{"type": "function", "function": {"name": "none", "description": "", "parameters": {"type": "object"}}}]

    @staticmethod
    def generate_task(seed):
        return {
            "layers": {name: check() for name, check in (OWNER_LAYERS if seed == 1 else LAYERS).items()},
            "rlimits": {name: resource.getrlimit(number)[1] for name, number in RLIMITS.items()},
        }

    def reset(self, seed):
        return [{"role": "user", "content": "probe"}]

    def step(self, call):
        return {"observation": "", "done": True}

    @staticmethod
    def evaluate(trajectory, task):
        return 0.0

    @staticmethod
    def reference_solution(task):
        return []
