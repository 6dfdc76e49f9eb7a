"""The environment runtime and its Python client, in a plain process and in the jail."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import time

import pytest
from whetstone.envs import bundle, jail, jail_probe_client, python_root, runtime
from whetstone.envs.client import open_environment
from whetstone.envs.errors import SandboxError
from whetstone.envs.runtime import codec

PROFILE = jail.PROJECT_PROFILE

COUNTER = """
class Environment:
    @staticmethod
    def tools():
        return [{"type": "function", "function": {"name": "add", "description": "", "parameters": {"type": "object"}}}]

    @staticmethod
    def generate_task(seed):
        return {"target": seed % 5, "tags": ["odd"] if seed % 2 else []}

    def reset(self, seed):
        self.total, self.target = 0, seed % 5
        return [{"role": "user", "content": f"Reach {self.target}."}]

    def step(self, call):
        self.total += call["arguments"].pop("n")
        return {"observation": str(self.total), "done": self.total >= self.target}

    @staticmethod
    def evaluate(trajectory, task):
        total = sum(entry["call"]["arguments"]["n"] for entry in trajectory if "call" in entry)
        return float(total == task["target"])

    @staticmethod
    def reference_solution(task):
        return [{"name": "add", "arguments": {"n": task["target"]}}]
"""


def add(n):
    return {"name": "add", "arguments": {"n": n}}


@pytest.fixture
def service():
    """A runtime without its process."""
    return runtime.Service()


def ask(service, method, **params):
    """Result of a request, or its error."""
    line = service.respond(json.dumps({"id": 1, "method": method, "params": params}).encode())
    assert line.endswith(b"\n")
    response = json.loads(line)
    assert response.pop("id") == 1
    return response.get("result", response.get("error"))


def test_episode(service):
    assert ask(service, "load", source=COUNTER)["apiVersion"] == 1
    assert ask(service, "describe") == {
        "tools": [
            {"type": "function", "function": {"name": "add", "description": "", "parameters": {"type": "object"}}}
        ],
        "hasSay": False,
        "hasHints": False,
    }
    reset = ask(service, "reset", episode="a", seed=3)
    assert reset == {"messages": [{"role": "user", "content": "Reach 3."}], "tags": ["odd"]}
    assert ask(service, "step", episode="a", calls=[add(1), add(1)]) == {"observations": ["1", "2"], "done": False}
    assert ask(service, "step", episode="a", calls=[add(1), add(9)]) == {"observations": ["3"], "done": True}
    assert ask(service, "step", episode="a", calls=[add(1)])["type"] == "BadRequest"
    # The environment pops from the arguments that it is handed; the recorded trajectory keeps them.
    assert ask(service, "evaluate", episode="a") == {"reward": 1.0, "diagnostics": {}}
    assert ask(service, "evaluate", episode="a")["type"] == "NoSuchEpisode"


def test_text_ends_the_episode_without_say(service):
    ask(service, "load", source=COUNTER)
    ask(service, "reset", episode=1, seed=0)
    assert ask(service, "step", episode=1, text="done") == {"observations": [""], "done": True}


def test_score_reference_and_task(service):
    ask(service, "load", source=COUNTER)
    calls = ask(service, "reference", seed=4)["calls"]
    assert ask(service, "score", seed=4, calls=calls)["reward"] == 1.0
    assert ask(service, "score", seed=4, calls=[])["reward"] == 0.0
    assert ask(service, "task", seed=4) == {"task": {"target": 4, "tags": []}}
    assert ask(service, "hints", seed=4) == {"hints": []}


def test_drop_is_blind(service):
    ask(service, "load", source=COUNTER)
    ask(service, "reset", episode="a", seed=1)
    assert ask(service, "drop", episode="a") == {}
    assert ask(service, "drop", episode="a") == {}
    assert ask(service, "drop", episode=["a"]) == {}
    assert ask(service, "step", episode="a", calls=[])["type"] == "NoSuchEpisode"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("reset", {"episode": "a"}),
        ("reset", {"episode": "a", "seed": 1.5}),
        ("reset", {"episode": "a", "seed": True}),
        ("reset", {"episode": "a", "seed": 2**60}),
        ("reset", {"episode": "x" * 65, "seed": 1}),
        ("reset", {"episode": None, "seed": 1}),
        ("task", {"sed": 1}),
        ("task", {"self": 1, "seed": 1}),
        ("score", {"seed": 1, "calls": [{"name": "add"}]}),
        ("score", {"seed": 1, "calls": "add"}),
        ("score", {"seed": 1, "calls": [{"name": "x" * 201, "arguments": {}}]}),
        ("load", {"source": "x = 1"}),
        ("respond", {}),
        ("__init__", {}),
        ("batch", {"requests": {}}),
    ],
)
def test_bad_requests(service, method, params):
    ask(service, "load", source=COUNTER)
    assert ask(service, method, **params)["type"] == "BadRequest"


def test_nothing_works_before_load(service):
    assert ask(service, "task", seed=1)["message"] == "no environment is loaded; send load first"


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"nonsense", b'{"id": "1"}', b'{"id": 1} x', b'{"id": NaN}', b"\xff", b"[" * 5000]
)
def test_lines_that_are_no_requests(service, line):
    response = json.loads(service.respond(line))
    assert response["id"] is None
    assert response["error"]["type"] == "BadRequest"


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        ("2.0", "a reward is a number in [0, 1]"),
        ("'1'", "a reward is a number in [0, 1]"),
        ("True", "a reward is a number in [0, 1]"),
        ("None", "a reward is a number in [0, 1]"),
        ("float('nan')", "something that is not JSON"),
        ("{'reward': 1, 'diagnostics': {'verify': 'unknown'}}", "`diagnostics` is not a dict"),
    ],
)
def test_rewards_are_checked(service, returned, sentence):
    source = COUNTER + f"\n    @staticmethod\n    def evaluate(trajectory, task):\n        return {returned}\n"
    ask(service, "load", source=source)
    error = ask(service, "score", seed=1, calls=[add(1)])
    assert error["type"] == "BadReturn"
    assert sentence in error["message"]


@pytest.mark.parametrize(
    ("method", "replacement"),
    [
        ("describe", 'def tools():\n        return "add"'),
        ("describe", "def tools():\n        return []"),
        ("describe", 'def tools():\n        return [{"type": "function", "function": {"name": "a b"}}]'),
        ("describe", 'def tools():\n        return [{"type": "function", "function": {"name": "-a"}}]'),
        ("describe", 'def tools():\n        return 2 * [{"type": "function", "function": {"name": "a"}}]'),
    ],
)
def test_tools_are_checked(service, method, replacement):
    ask(service, "load", source=COUNTER + f"\n    @staticmethod\n    {replacement}\n")
    assert ask(service, method)["type"] == "BadReturn"


@pytest.mark.parametrize(
    "returned",
    [
        "None",
        "'text'",
        "{'observation': 1, 'done': False}",
        "{'observation': 'x', 'done': 1}",
        "{'observation': 'x' * 70000, 'done': False}",
        "{'observation': b'x', 'done': False}",
        "{'observation': '\\ud800', 'done': False}",
        "{'observation': 'x', 'done': False, 'more': float('inf')}",
    ],
)
def test_observations_are_checked(service, returned):
    ask(service, "load", source=COUNTER + f"\n    def step(self, call):\n        return {returned}\n")
    ask(service, "reset", episode="a", seed=1)
    assert ask(service, "step", episode="a", calls=[add(1)])["type"] == "BadReturn"


def test_traceback_names_lines_of_the_source(service):
    ask(service, "load", source=COUNTER)
    error = ask(service, "score", seed=1, calls=[{"name": "add", "arguments": {}}])
    assert error["type"] == "EnvironmentRaised"
    assert error["message"] == "step: KeyError: 'n'"
    line = 1 + COUNTER.splitlines().index('        self.total += call["arguments"].pop("n")')
    assert error["traceback"] == f'environment.py:{line} in step: self.total += call["arguments"].pop("n")'


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("x = (", "EnvironmentRaised"),
        ("raise SystemExit", "EnvironmentRaised"),
        ("x = 1", "BadReturn"),
        ("class Environment: pass", "BadReturn"),
        ("\0", "EnvironmentRaised"),
    ],
)
def test_sources_that_do_not_load(service, source, kind):
    assert ask(service, "load", source=source)["type"] == kind


def test_dataclasses_and_annotations_work_in_a_module(service):
    source = (
        "from __future__ import annotations\nimport dataclasses\n\n@dataclasses.dataclass\nclass Order:\n    id: int\n"
    )
    assert ask(service, "load", source=source + COUNTER)["apiVersion"] == 1


def test_batch_isolates_failures(service):
    ask(service, "load", source=COUNTER)
    requests = [
        {"method": "reset", "params": {"episode": "a", "seed": 1}},
        {"method": "reset", "params": {"episode": "a", "seed": 1}},
        {"method": "batch", "params": {"requests": []}},
        "nonsense",
        {"method": "evaluate", "params": {"episode": "a"}},
    ]
    results = ask(service, "batch", requests=requests)["results"]
    assert [next(iter(result)) for result in results] == ["result", "error", "error", "error", "result"]


def test_batch_stops_before_its_line_is_full(service):
    big = COUNTER.replace('{"target"', '{"filler": "x" * 200000, "target"')
    ask(service, "load", source=big)
    line = service.respond(
        json.dumps(
            {"id": 1, "method": "batch", "params": {"requests": [{"method": "task", "params": {"seed": 1}}] * 10}}
        ).encode()
    )
    assert len(line) <= runtime.LINE_BYTES
    results = json.loads(line)["result"]["results"]
    kinds = [result["error"]["type"] if "error" in result else "result" for result in results]
    assert kinds == ["result"] * 4 + ["NotRun"] * 6


def test_profile_repeats_the_runtime_caps():
    caps = jail.load_profile().caps
    assert caps["lineBytes"] == runtime.LINE_BYTES
    assert caps["depth"] == runtime.MAX_DEPTH
    assert caps["batchRequests"] <= runtime.MAX_BATCH
    # What a well-behaved runtime lets through on both streams does not end the process.
    assert 2 * runtime.LOG_BYTES < caps["logBytes"]


@pytest.fixture(params=["process", "jail"])
def isolation(request):
    """Both ways of holding an environment."""
    return request.param


@pytest.fixture
def module(tmp_path):
    """Writes an environment module and returns its path."""

    def write(source=COUNTER):
        path = tmp_path / "environment.py"
        path.write_text(source)
        return path

    return write


def test_client_runs_batches(isolation, module):
    with open_environment(module(), isolation=isolation) as environment:
        assert environment.describe()["hasSay"] is False
        episodes = range(300)
        environment.batch([{"method": "reset", "params": {"episode": n, "seed": n}} for n in episodes])
        steps = [{"method": "step", "params": {"episode": n, "calls": [add(n % 5)]}} for n in episodes]
        assert [outcome["result"]["observations"] for outcome in environment.batch(steps)] == [
            [str(n % 5)] for n in episodes
        ]
        rewards = environment.batch([{"method": "evaluate", "params": {"episode": n}} for n in episodes])
        assert {outcome["result"]["reward"] for outcome in rewards} == {1.0}
        assert environment.batch([]) == []


def test_client_asks_again_for_what_did_not_fit(isolation, module):
    source = COUNTER.replace('{"target"', '{"filler": "x" * 200000, "target"')
    with open_environment(module(source), isolation=isolation) as environment:
        outcomes = environment.batch([{"method": "task", "params": {"seed": n}} for n in range(11)])
        assert [outcome["result"]["task"]["target"] for outcome in outcomes] == [n % 5 for n in range(11)]


def test_client_survives_large_lines_both_ways(isolation, module):
    source = COUNTER + '\n    def say(self, text):\n        return {"observation": text[:60000], "done": False}\n'
    with open_environment(module(source), isolation=isolation) as environment:
        names = [f"e{n}" for n in range(40)]
        environment.batch([{"method": "reset", "params": {"episode": name, "seed": 1}} for name in names])
        text = "y" * 90000
        outcomes = environment.batch([{"method": "step", "params": {"episode": n, "text": text}} for n in names])
        assert {outcome["result"]["observations"][0] for outcome in outcomes} == {"y" * 60000}


def fast(tmp_path, **wall):
    """A copy of the profile with other deadlines."""
    settings = json.loads(PROFILE.read_text())
    settings["wallMs"] |= wall
    for entry in settings["seccomp"].values():
        (tmp_path / entry["file"]).write_bytes((PROFILE.parent / entry["file"]).read_bytes())
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(settings))
    return path


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("import time; time.sleep(100)", "Sandbox.EnvironmentHung"),
        ("import os, time; os.close(4); time.sleep(1e9)", "Sandbox.EnvironmentHung"),
        ("import os, time\n        while os.write(4, b' '): time.sleep(0.001)", "Sandbox.EnvironmentHung"),
        ("import os; os._exit(4)", "Sandbox.EnvironmentDied"),
        ("import os; os.write(4, b'forged\\n')", "Sandbox.BadOutput"),
        ("import os; os.write(4, b'x' * (3 << 20))", "Sandbox.BadOutput"),
        ("import os\n        while True: os.write(1, b'x' * 65536)", "Sandbox.OutputFlood"),
        ("raise KeyboardInterrupt", "Sandbox.EnvironmentRaised"),
        ("return 5", "Sandbox.BadReturn"),
    ],
)
def test_client_types_every_failure(isolation, module, tmp_path, statement, kind):
    source = COUNTER + f"\n    def step(self, call):\n        {statement}\n"
    profile = fast(tmp_path, request=1500, close=200)
    with open_environment(module(source), isolation=isolation, profile=profile) as environment:
        pid = environment.pid
        environment.request("reset", {"episode": "a", "seed": 1})
        with pytest.raises(SandboxError) as caught:
            environment.request("step", {"episode": "a", "calls": [add(1)]})
        assert caught.value.type == kind
        if kind in ("Sandbox.EnvironmentRaised", "Sandbox.BadReturn"):
            assert environment.request("evaluate", {"episode": "a"})["reward"] == 0.0
        else:
            with pytest.raises(SandboxError) as again:
                environment.request("task", {"seed": 1})
            assert again.value is caught.value
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)


def test_closed_environment_says_so(isolation, module):
    environment = open_environment(module(), isolation=isolation)
    pid = environment.pid
    environment.close()
    environment.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(SandboxError) as caught:
        environment.describe()
    assert caught.value.type == "Sandbox.EnvironmentClosed"
    assert caught.value.retryable


def test_source_faults_are_told(isolation, module):
    with pytest.raises(SandboxError) as caught:
        open_environment(module("x = ("), isolation=isolation)
    assert caught.value.type == "Sandbox.EnvironmentRaised"
    assert caught.value.traceback.startswith("environment.py:1")


def test_inheritable_files_and_variables_stay_outside(isolation, module, tmp_path, monkeypatch):
    monkeypatch.setenv("WHET_TEST_SECRET", "hunter2")
    (tmp_path / "secret").write_text("hunter2")
    descriptor = os.open(tmp_path / "secret", os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    source = COUNTER + textwrap.dedent("""
        import os

        def open_files():
            for number in range(1024):
                try:
                    os.fstat(number)
                    yield number
                except OSError:
                    pass

        Environment.generate_task = staticmethod(lambda seed: {"files": list(open_files()), "env": dict(os.environ)})
    """)
    try:
        with open_environment(module(source), isolation=isolation) as environment:
            seen = environment.request("task", {"seed": 1})["task"]
    finally:
        os.close(descriptor)
    assert seen["files"] == [0, 1, 2, 3, 4]
    assert not set(seen["env"]) - {"PWD", "LC_CTYPE"}


def test_jail_dies_with_the_process_that_opened_it(module):
    source = COUNTER + "\n    def reset(self, seed):\n        import time; time.sleep(1000)\n"
    program = (
        "import sys, threading; sys.path.insert(0, sys.argv[1])\n"
        "from whetstone.envs.client import open_environment\n"
        "from whetstone.envs.jail_probe_client import last_descendant\n"
        "environment = open_environment(sys.argv[2])\n"
        "print(environment.pid, last_descendant(environment.pid), flush=True)\n"
        "environment.request('reset', {'episode': 1, 'seed': 1})\n"
    )
    package = str(pathlib.Path(runtime.__file__).parents[3])
    parent = subprocess.Popen(
        [sys.executable, "-c", program, package, str(module(source))], stdout=subprocess.PIPE, text=True
    )
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    # The kernel needs a moment; without an end the loop would hide the failure.
    for _ in range(2000):
        left = [pid for pid in pids if not is_gone(pid)]
        if not left:
            break
        time.sleep(0.01)
    assert left == []


def is_gone(pid):
    """Whether a process has ended; one that waits for its parent to notice counts."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_every_layer_of_the_jail_holds():
    assert jail_probe_client.probe(jail.load_profile()) == {}


@contextlib.contextmanager
def refused(sentence):
    """Expects Sandbox.Unavailable with a sentence."""
    with pytest.raises(SandboxError) as caught:
        yield
    assert caught.value.type == "Sandbox.Unavailable"
    assert sentence in str(caught.value)


def test_jail_needs_bubblewrap(module, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused("bwrap is not on PATH"):
        open_environment(module(), profile=fast(tmp_path))


def test_jail_needs_its_own_filter(module, tmp_path):
    profile = fast(tmp_path)
    for path in tmp_path.glob("*.bpf"):
        path.write_bytes(path.read_bytes()[:-8])
    with refused("is not the one that profile.json names"):
        open_environment(module(), profile=profile)


def test_jail_finds_a_missing_layer(module, tmp_path):
    profile = fast(tmp_path)
    settings = json.loads(profile.read_text())
    settings["bubblewrap"].append(["--tmpfs", "/tmp"])
    profile.write_text(json.dumps(settings))
    with refused("Layer read-only-tree: files can be made in /tmp/"):
        open_environment(module(), profile=profile)


def test_profile_of_another_version_is_refused(module, tmp_path):
    (tmp_path / "profile.json").write_text('{"version": 2}')
    with refused("is not a profile of version 1"):
        open_environment(module(), profile=tmp_path / "profile.json")


def test_python_tree_is_built_once_and_readable(tmp_path, monkeypatch):
    monkeypatch.setenv("WHET_JAIL_ROOT", str(tmp_path / "trees"))
    build = python_root.find_or_build
    previous = os.umask(0o077)
    try:
        tree = build()
    finally:
        os.umask(previous)
    before = tree.stat().st_ino
    assert build() == tree
    assert tree.stat().st_ino == before
    names = {path.name for path in tree.iterdir()}
    assert {"usr", "dev", "tmp", "runtime.pyc"} <= names
    assert not names & {"etc", "home", "root", "proc"}
    for path in [tree, *tree.rglob("*")]:
        mode = path.stat().st_mode
        assert mode & 0o004
        assert not mode & 0o022
    assert not list(tree.rglob("site-packages")) + list(tree.rglob("ensurepip"))


def test_python_tree_of_somebody_else_is_refused(tmp_path, monkeypatch):
    directory = tmp_path / "trees"
    directory.mkdir()
    directory.chmod(0o777)
    monkeypatch.setenv("WHET_JAIL_ROOT", str(directory))
    with pytest.raises(python_root.RootError, match="can be changed by another user"):
        python_root.find_or_build()


def test_runtime_imports_little():
    imports = {
        line.split()[1].split(".")[0]
        for path in bundle.sources()
        for line in path.read_text().splitlines()
        if line.lstrip().startswith(("import ", "from ")) and " import " in f" {line}" and not line.startswith("from .")
    }
    # What these load besides, each start would pay for: json alone brings re, enum and functools.
    assert imports <= {"_json", "_sha2", "_sha256", "io", "os", "resource", "sys"}


def test_bundle_holds_every_module_of_the_runtime():
    found = {path.stem for path in bundle.RUNTIME.glob("*.py")}
    assert found == {"__init__", "__main__", *bundle.MODULES}


def test_bundle_serves_without_the_sources(module, tmp_path):
    packed = tmp_path / "runtime.pyc"
    packed.write_bytes(bundle.bundle())
    requests, responses = os.pipe(), os.pipe()
    body = {"id": 1, "method": "load", "params": {"source": module(COUNTER).read_text()}}
    os.write(requests[1], json.dumps(body).encode() + b"\n")
    os.close(requests[1])
    actions = [(os.POSIX_SPAWN_DUP2, requests[0], 3), (os.POSIX_SPAWN_DUP2, responses[1], 4)]
    command = [sys.executable, "-I", "-S", str(packed)]
    pid = os.posix_spawn(sys.executable, command, {}, file_actions=actions)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert json.loads(os.read(responses[0], 1 << 16))["result"]["apiVersion"] == 1
    for descriptor in (requests[0], *responses):
        os.close(descriptor)


@pytest.mark.parametrize("text", ["", "nope", "NaN", "[1, -Infinity]", '{"a": 1} 2', "[1,]", '"a', "[" * 100_000])
def test_codec_refuses_what_is_not_json(text):
    with pytest.raises((ValueError, RecursionError)):
        codec.decode(text)


def test_codec_agrees_with_json():
    value = {"a": [1, -2.5e10, True, None, 'é\u2028\x00"\\'], "b": {"c": {}}, "10": 2**70}
    assert json.loads(codec.encode(value)) == value
    assert codec.decode(json.dumps(value)) == value
    assert codec.encode({1: 2.0, None: "x"}) == json.dumps({1: 2.0, None: "x"}, separators=(",", ":"))
    for refused in ({1}, b"x", float("nan"), {(1, 2): 3}):
        with pytest.raises((TypeError, ValueError)):
            codec.encode(refused)
