import {
  BadOutput,
  BadRequest,
  BadReturn,
  EnvironmentDied,
  EnvironmentHung,
  EnvironmentRaised,
} from '../../helpers/sandbox-errors';
import { attackInJail, expectNextEnvironmentWorks, hostileSource, openHostile } from '../hostile';
import type { Attack } from './attack';

/** Whatever happens to the process that it sabotages, an environment ends only that. */
const ANY_ENDING = [
  /^/,
  BadOutput,
  BadReturn,
  BadRequest,
  EnvironmentDied,
  EnvironmentHung,
  EnvironmentRaised,
] as const;

const SABOTAGE: readonly (readonly [name: string, statements: string])[] = [
  [
    'a signal handler that raises in the runtime',
    'def strike(*_):\n    raise KeyError("struck")\nsignal.signal(signal.SIGALRM, strike)\n' +
      'signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\nreturn "x"',
  ],
  ['memory scribbled over by ctypes', 'ctypes.memset(id(None), 0, 4096)\nreturn "scribbled"'],
  [
    "the C library's code overwritten",
    'ctypes.memset(ctypes.cast(libc.write, ctypes.c_void_p).value, 0xcc, 64)\nreturn "scribbled"',
  ],
  [
    'builtins replaced',
    'import builtins\nbuiltins.len = builtins.isinstance = builtins.type = lambda *_: 0\nreturn "x"',
  ],
  [
    'a trace function that raises in the runtime',
    'def trace(*_):\n    raise KeyError("traced")\nsys.settrace(trace)\nthreading.settrace(trace)\nreturn "x"',
  ],
  [
    'a profile function that raises in the runtime',
    'def profile(*_):\n    raise KeyError("profiled")\nsys.setprofile(profile)\nreturn "x"',
  ],
  ['an audit hook that raises', 'def hook(*_):\n    raise KeyError("audited")\nsys.addaudithook(hook)\nreturn "x"'],
  [
    'a recursion limit that leaves no room',
    'sys.setrecursionlimit(len(__import__("inspect").stack()) + 6)\nreturn "x"',
  ],
  [
    'a collector callback that raises',
    'import gc\ngc.callbacks.append(lambda *_: 1 / 0)\ngc.set_threshold(1)\nreturn "x"',
  ],
  [
    'a thread that never lets go',
    'sys.setswitchinterval(1e9)\nthreading.Thread(target=lambda: [None for _ in iter(int, 1)], ' +
      'daemon=True).start()\nreturn "x"',
  ],
  [
    'the process replaced from another thread',
    'threading.Timer(0.01, os.execv, ("/usr/bin/python3", ["python3", "-c", "1"])).start()\nreturn "x"',
  ],
  [
    "the runtime's frames rewritten",
    'frame = sys._getframe()\nwhile frame:\n    frame.f_trace, frame.f_trace_opcodes = (lambda *_: 1 / 0), True\n' +
      '    frame = frame.f_back\nsys.settrace(lambda *_: None)\nreturn "x"',
  ],
];

/** Tricks inside the interpreter that the environment shares with its runtime. */
export const INTERPRETER: readonly Attack[] = [
  ...SABOTAGE.map(([name, statements]) => ({
    name,
    run: async () => {
      const environment = await openHostile(hostileSource(statements));
      // The second step and the evaluation meet what the first one left behind.
      for (const request of [
        () => environment.step('e', [{ name: 'go', arguments: {} }]),
        () => environment.step('e', [{ name: 'go', arguments: {} }]),
        () => environment.evaluate('e'),
      ]) {
        const outcome: unknown = await request().catch((error: unknown) => error);
        if (outcome instanceof Error)
          expect(ANY_ENDING.slice(1).some((ending) => outcome instanceof (ending as typeof BadOutput))).toBe(true);
      }
      await environment.close();
      await expectNextEnvironmentWorks();
    },
  })),
  {
    name: 'json, os and sys.stdout replaced',
    run: async () => {
      const environment = await openHostile(
        hostileSource(`
import json, io
json.dumps = json.loads = json.JSONEncoder.encode = lambda *a, **k: "{}"
json.encoder.c_make_encoder = json.scanner.c_make_scanner = None
os.write = os.read = lambda *a: 0
sys.stdout = sys.stderr = io.StringIO()
return "patched"`),
      );
      expect((await environment.step('e', [{ name: 'go', arguments: {} }])).observations).toEqual(['patched']);
      expect((await environment.evaluate('e')).reward).toBe(1);
      await environment.close();
    },
  },
  {
    name: 'its grader replaced after the start',
    run: async () => {
      const environment = await openHostile(
        hostileSource('Environment.evaluate = staticmethod(lambda trajectory, task: 7)\nreturn "patched"'),
      );
      await environment.step('e', [{ name: 'go', arguments: {} }]);
      await expect(environment.evaluate('e')).rejects.toBeInstanceOf(BadReturn);
      await environment.close();
    },
  },
  {
    name: "the runtime's methods replaced through the collector",
    run: async () => {
      const environment = await openHostile(
        hostileSource(`
import gc
service = next(found for found in gc.get_objects() if type(found).__name__ == "Service")
service._methods["evaluate"] = lambda episode: {"reward": 1e9, "diagnostics": {}}
return "patched"`),
      );
      await environment.step('e', [{ name: 'go', arguments: {} }]);
      await expect(environment.evaluate('e')).rejects.toBeInstanceOf(BadOutput);
      await environment.close();
      await expectNextEnvironmentWorks();
    },
  },
  {
    name: 'an import hook that answers for every module',
    body: `
class Finder:
    def find_spec(self, name, path=None, target=None):
        raise SystemExit(name)
sys.meta_path.insert(0, Finder())
sys.modules.pop("json", None)
sys.path_importer_cache.clear()
return "hooked"`,
    expected: 'hooked',
  },
  {
    name: 'modules poisoned for the runtime',
    body: 'for name in list(sys.modules):\n    sys.modules[name] = None\nreturn "poisoned"',
    expected: 'poisoned',
  },
  {
    name: 'code that runs at the end of the interpreter',
    body: `
import atexit
atexit.register(lambda: os.write(4, b"{}\\n"))
class Late:
    def __del__(self):
        time.sleep(60)
sys.keep = Late()
return "armed"`,
    expected: 'armed',
  },
  {
    name: 'a finaliser that writes after the answer',
    body: 'class Late:\n    def __del__(self):\n        os.write(4, b"{}\\n")\nreturn str(Late())[:1]',
    expected: BadOutput,
  },
  { name: 'os._exit', body: 'os.write(2, b"last words")\nos._exit(3)', expected: EnvironmentDied },
  { name: 'a crash of the interpreter', body: 'ctypes.string_at(8)', expected: EnvironmentDied },
  { name: 'abort()', body: 'os.abort()', expected: EnvironmentDied },
  {
    name: 'settings of the process for the next environment',
    run: async () => {
      await attackInJail(
        'os.environ["TZ"] = "Asia/Tokyo"\ntime.tzset()\nos.umask(0)\nsys.set_int_max_str_digits(0)\n' +
          'os.chdir("/usr")\nreturn "set"',
      );
      expect(
        await attackInJail('return [os.environ.get("TZ"), time.timezone, os.getcwd(), sys.get_int_max_str_digits()]'),
      ).toBe("[None, 0, '/', 4300]");
    },
  },
  {
    name: 'another locale',
    body:
      'import locale\ntry:\n    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")\nexcept locale.Error:\n    pass\n' +
      'return 1.5',
    expected: '1.5',
  },
  {
    name: 'a source that is not UTF-8',
    run: async () => expect(await attackInJail('# -*- coding: latin-1 -*-\nreturn "\\xe9"')).toBe('é'),
  },
  {
    name: 'a source that ends the process while it loads',
    run: async () => {
      await expect(openHostile(`import os\nos._exit(7)\n${hostileSource('return ""')}`)).rejects.toMatchObject({
        type: 'Sandbox.StartFailed',
      });
      await expectNextEnvironmentWorks();
    },
  },
  {
    name: 'a metaclass that acts when the class is looked at',
    run: async () => {
      const source = hostileSource('return "x"').replace(
        'class Environment:',
        'class Meta(type):\n    def __getattribute__(cls, name):\n        raise SystemExit(name)\n\n' +
          'class Environment(metaclass=Meta):',
      );
      await expect(openHostile(source)).rejects.toBeInstanceOf(EnvironmentRaised);
      await expectNextEnvironmentWorks();
    },
  },
  {
    name: 'a source of a million nested brackets',
    run: async () => {
      const ending: unknown = await openHostile(`x = ${'('.repeat(400_000)}`).catch((error: unknown) => error);
      expect(ending instanceof EnvironmentRaised || (ending as { type?: string }).type === 'Sandbox.StartFailed').toBe(
        true,
      );
      await expectNextEnvironmentWorks();
    },
  },
];
