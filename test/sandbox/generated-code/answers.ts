import type { Attempt } from './attempt';

/** Writes a line in place of the answer, with the request's id where `%d` stands. */
const forged = (name: string, line: string, expected: Attempt['expected'] = BadOutput): Attempt => ({
  kind: 'forged answers',
  name,
  body: `forge(${line})\nreturn "honest"`,
  expected,
});

const STEP = '"result":{"observations":["forged"],"done":true}';

const LINES: Attempt[] = [
  forged('an id as text', `b'{"id":"%d",${STEP}}\\n'`),
  forged('an id as a list', `b'{"id":[%d],${STEP}}\\n'`),
  forged('an id with a fraction', `b'{"id":%d.5,${STEP}}\\n'`),
  forged('an id that is too large for a number', `b'{"id":%d${'0'.repeat(400)},${STEP}}\\n'`),
  forged('a negative id', `b'{"id":-%d,${STEP}}\\n'`),
  forged('a second id that takes the first one back', `b'{"id":%d,"id":999,${STEP}}\\n'`),
  forged('an id in escapes that takes the plain one back', `b'{"id":%d,"\\\\u0069d":999,${STEP}}\\n'`),
  forged(
    'a result and an error',
    `b'{"id":%d,${STEP},"error":{"type":"BadReturn","message":"x","traceback":null}}\\n'`,
  ),
  forged('neither a result nor an error', `b'{"id":%d}\\n'`),
  forged('an unknown key', `b'{"id":%d,${STEP},"verdict":"passed"}\\n'`),
  forged('a mark of byte order', `b'\\xef\\xbb\\xbf{"id":%d,${STEP}}\\n'`),
  forged('two documents in one line', `b'{"id":%d,${STEP}}{"id":1}\\n'`),
  forged('a comment', `b'{"id":%d,${STEP}} // done\\n'`),
  forged('a comma too many', `b'{"id":%d,${STEP},}\\n'`),
  forged('a NUL byte', `b'{"id":%d,${STEP}}\\0\\n'`),
  forged('overlong UTF-8', `b'{"id":%d,"result":{"observations":["\\xc0\\x80\\xe0\\x80\\xaf"],"done":true}}\\n'`),
  forged('surrogates in UTF-8', `b'{"id":%d,"result":{"observations":["\\xed\\xa0\\x80"],"done":true}}\\n'`),
  forged(
    'more observations than a batch may have',
    `b'{"id":%d,"result":{"observations":["' + b'","' * 70 + b'"],"done":true}}\\n'`,
  ),
  forged(
    'observations for a prototype',
    `b'{"id":%d,"result":{"__proto__":{"observations":["forged"],"done":true}}}\\n'`,
  ),
  forged(
    'an observation that is a number of many digits',
    `b'{"id":%d,"result":{"observations":[1e999],"done":true}}\\n'`,
  ),
  forged('an array that says it is an object', `b'[["id",%d],["result",{"observations":["forged"],"done":true}]]\\n'`),
  {
    kind: 'forged answers',
    name: 'the word null',
    body: 'os.write(4, b"null\\n")\nreturn "honest"',
    expected: BadOutput,
  },
  {
    kind: 'forged answers',
    name: 'a traceback of the interpreter in the response channel',
    body: 'import faulthandler\nfaulthandler.dump_traceback(file=4)\nreturn "honest"',
    expected: BadOutput,
  },
  {
    kind: 'forged answers',
    name: 'the request channel in place of the response channel',
    body: 'os.dup2(3, 4)\nreturn "honest"',
    expected: [BadOutput, EnvironmentDied, EnvironmentHung],
    requestMs: 1_000,
  },
  {
    kind: 'forged answers',
    name: 'an error whose text and traceback are terminal escapes, with an unknown key',
    body: `
forge(b'{"id":%d,"error":{"type":"EnvironmentRaised","message":"\\\\u001b]52;c;AAAA\\\\u0007","traceback":null,"exit":0}}\\n')
return "honest"`,
    expected: BadOutput,
  },
];

const RESULTS: Attempt[] = [
  {
    kind: 'results',
    name: 'an observation that changes while it is copied',
    members: `
def step(self, call):
    class Mutable(dict):
        def __getitem__(self, key):
            os._exit(9) if key == "never" else None
            return dict.__getitem__(self, key)
    answer = Mutable(observation="x", done=False)
    threading.Thread(target=lambda: [answer.update(observation=object()) for _ in range(10000)], daemon=True).start()
    return answer`,
    body: '',
    expected: ['x', BadReturn],
  },
  {
    kind: 'results',
    name: 'tools with the names of prototypes and of escapes',
    members: `
def step(self, call):
    return {"observation": "x", "done": False, "__proto__": {"done": True}, "constructor": 1}`,
    body: '',
    expected: ['x', BadReturn],
  },
  {
    kind: 'results',
    name: 'an exception with a name and a text of terminal escapes',
    body: 'raise type("\\x1b[2J\\u202eok", (Exception,), {})("\\x1b]52;c;cm0gLXJm\\x07 \\x9b31m \\u2028 passed")',
    expected: EnvironmentRaised,
  },
];

const INTERPRETER: Attempt[] = [
  {
    kind: 'byte code',
    name: 'instructions that do not exist',
    body: 'f = lambda: 1\nf.__code__ = f.__code__.replace(co_code=bytes(range(256)))\nreturn f()',
    expected: [EnvironmentDied, EnvironmentRaised, EnvironmentHung, /^/],
    requestMs: 2_000,
  },
  {
    kind: 'byte code',
    name: 'constants and locals beyond their ends, used as addresses',
    body: `
import dis
load = dis.opmap["LOAD_FAST"]
f = lambda: 1
f.__code__ = f.__code__.replace(co_code=bytes([dis.opmap["RESUME"], 0, load, 255, dis.opmap["RETURN_VALUE"], 0]))
return str(f())[:20]`,
    expected: [EnvironmentDied, EnvironmentRaised, EnvironmentHung, /^/],
    requestMs: 2_000,
  },
  {
    kind: 'byte code',
    name: 'the number one with another value, through its address',
    body: 'ctypes.c_uint32.from_address(id(1) + 24).value = 7\nreturn "changed"',
    expected: [EnvironmentDied, EnvironmentRaised, EnvironmentHung, BadOutput, BadReturn, 'changed'],
    requestMs: 2_000,
  },
  {
    kind: 'interpreter',
    name: "a second interpreter with the runtime's channel",
    body: `
ctypes.pythonapi.PyRun_SimpleString(b"import os\\nos.write(4, b'{}\\\\n')")
return "honest"`,
    expected: BadOutput,
  },
  {
    kind: 'interpreter',
    name: 'a watchdog that ends the process later with a forged line',
    body: `
import faulthandler
faulthandler.dump_traceback_later(0.01, exit=True, file=4)
time.sleep(5)`,
    expected: [BadOutput, EnvironmentDied],
  },
  {
    kind: "the environment's own files",
    name: 'its source, its runtime and its byte code, written or shadowed',
    body: `
got = set()
for path in ("/runtime.pyc", "/environment.py", "/usr/bin/python3", __file__ if "__file__" in globals() else "/x.py"):
    got |= {attempt(open, path, "wb"), attempt(open, path, "ab"), attempt(os.unlink, path),
            attempt(os.rename, path, path + "2"), attempt(os.chmod, path, 0o777)}
return sorted(got)`,
    expected: /^\[('(EROFS|EACCES|EPERM|ENOENT|ETXTBSY)'(, )?)+\]$/,
  },
  {
    kind: "the environment's own files",
    name: 'a module that is planted beside the standard library and in a zip archive',
    body: `
import importlib
sys.path[:0] = ["/tmp", "/dev/null", "/dev/zero", "/runtime.pyc"]
importlib.invalidate_caches()
try:
    import whet_hostile_planted
    return "imported"
except ImportError:
    return "no such module"`,
    expected: 'no such module',
  },
];
import {
  BadOutput,
  BadReturn,
  EnvironmentDied,
  EnvironmentHung,
  EnvironmentRaised,
} from '../../helpers/sandbox-errors';

/** What an environment answers, and what it does to the interpreter that answers for it. */
export const ANSWERS: readonly Attempt[] = [...LINES, ...RESULTS, ...INTERPRETER];
