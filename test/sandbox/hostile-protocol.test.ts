// jail
import { BadOutput, BadReturn, EnvironmentDied, EnvironmentRaised } from '../../sandbox';
import { attackInJail, expectNextEnvironmentWorks, hostileSource, openHostile } from './hostile';

const forge = (line: string): string => `os.write(4, ${JSON.stringify(`${line}\n`)}.encode())\nreturn "sent"`;

test('a response line for another request ends the process', async () => {
  expect(await attackInJail(forge('{"id":999,"result":{"observations":["forged"],"done":true}}'))).toBeInstanceOf(BadOutput);
});

test('a response that is not asked for ends the process', async () => {
  const environment = await openHostile(hostileSource('threading.Timer(0.02, os.write, (4, b\'{"id":3,"result":{}}\\n\')).start()\nreturn "later"'));
  await environment.step('e', [{ name: 'go', arguments: {} }]);
  while (environment.alive) await new Promise((resolve) => setTimeout(resolve, 5));
  await expect(environment.evaluate('e')).rejects.toBeInstanceOf(BadOutput);
  await environment.close();
  await expectNextEnvironmentWorks();
});

test.each([
  ['a reward outside [0, 1]', '{"reward":7,"diagnostics":{}}'],
  ['a reward of NaN', '{"reward":NaN,"diagnostics":{}}'],
  ['an unknown key', '{"reward":1,"diagnostics":{},"promote":true}'],
  ['a reward as text', '{"reward":"1","diagnostics":{}}'],
])('a forged answer is still held to its schema: %s', async (_, result) => {
  const environment = await openHostile(
    hostileSource(
      'return "x"',
      `
@staticmethod
def evaluate(trajectory, task):
    os.write(4, b'{"id":3,"result":${result}}\\n')
    return 1.0`,
    ),
  );
  await expect(environment.evaluate('e')).rejects.toBeInstanceOf(BadOutput);
  await environment.close();
  await expectNextEnvironmentWorks();
});

test('text that is not JSON, not UTF-8 or nested without end on the response channel ends the process', async () => {
  expect(await attackInJail(forge('hello'))).toBeInstanceOf(BadOutput);
  expect(await attackInJail('os.write(4, b"\\xff\\xfe\\n")')).toBeInstanceOf(BadOutput);
  expect(await attackInJail('os.write(4, b"[" * 200000 + b"\\n")\ntime.sleep(1)')).toBeInstanceOf(BadOutput);
});

test('a prototype in a forged answer is data', async () => {
  await attackInJail(forge('{"id":3,"result":{"__proto__":{"polluted":true},"observations":["x"],"done":false}}'));
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('sys.exit, KeyboardInterrupt and other BaseExceptions are errors of the request', async () => {
  const environment = await openHostile(
    hostileSource(`
class Odd(BaseException):
    pass
raise {"exit": SystemExit(0), "interrupt": KeyboardInterrupt(), "generator": GeneratorExit(), "odd": Odd("odd")}[call["arguments"]["kind"]]`),
  );
  for (const kind of ['exit', 'interrupt', 'generator', 'odd']) {
    await expect(environment.step('e', [{ name: 'go', arguments: { kind } }])).rejects.toBeInstanceOf(EnvironmentRaised);
  }
  expect((await environment.evaluate('e')).reward).toBe(1);
  await environment.close();
});

test('os._exit is the end of its own process only', async () => {
  const got = await attackInJail('os.write(2, b"last words")\nos._exit(3)');
  expect(got).toBeInstanceOf(EnvironmentDied);
  expect(got).toMatchObject({ exitCode: 3, stderr: 'last words', retryable: true });
});

test('a crash of the interpreter is the end of its own process only', async () => {
  const got = await attackInJail('ctypes.string_at(8)');
  expect(got).toBeInstanceOf(EnvironmentDied);
  expect((got as EnvironmentDied).exitCode).toBe(128 + 11);
});

test('a stack overflow through a raised recursion limit is the end of its own process only', async () => {
  const got = await attackInJail(`
sys.setrecursionlimit(1 << 30)
nested = []
for _ in range(200000):
    nested = [nested]
return repr(nested)`);
  expect(got).toBeInstanceOf(EnvironmentDied);
  expect((got as EnvironmentDied).exitCode).toBe(128 + 11);
});

test.each([
  ['NaN', 'float("nan")'],
  ['infinity', 'float("inf")'],
  ['a boolean', 'True'],
  ['a number above 1', '1.0001'],
  ['a number below 0', '-1e-9'],
  ['a huge integer', '10 ** 400'],
  ['text', '"1"'],
  ['nothing', 'None'],
  ['an object', 'object()'],
  ['a set', '{1}'],
])('evaluate may not return %s', async (_, expression) => {
  const environment = await openHostile(hostileSource('return "x"', `@staticmethod\ndef evaluate(trajectory, task):\n    return ${expression}`));
  await expect(environment.evaluate('e')).rejects.toBeInstanceOf(BadReturn);
  await environment.reset('again', 1);
  await environment.close();
});

test('an observation of ten million characters is refused', async () => {
  expect(await attackInJail('return "x" * 10_000_000')).toBeInstanceOf(BadReturn);
});

test('lone surrogates are refused: no reader further on could write them', async () => {
  expect(await attackInJail('return "\\ud800"')).toBeInstanceOf(BadReturn);
});

test('a task that nests 100,000 deep, loops or yields without end is refused', async () => {
  const environment = await openHostile(
    hostileSource(
      'return "x"',
      `
@staticmethod
def generate_task(seed):
    if seed == 1:
        return {}
    if seed == 2:
        nested = {}
        for _ in range(100000):
            nested = {"n": nested}
        return nested
    if seed == 3:
        loop = {}
        loop["self"] = loop
        return loop
    if seed == 4:
        nested = "x"
        for _ in range(70):
            nested = [nested]
        return {"n": nested}
    class Endless(dict):
        def items(self):
            while True:
                yield ("k", "v" * 1000000)
    return Endless(a=1)`,
    ),
  );
  for (const seed of [2, 3, 4, 5]) await expect(environment.task(seed)).rejects.toBeInstanceOf(BadReturn);
  expect(await environment.task(1)).toEqual({});
  await environment.close();
});

test('exceptions whose text is hostile are still reported', async () => {
  const got = await attackInJail(`
class Evil(str):
    def __getitem__(self, index):
        os._exit(9)
    def __format__(self, spec):
        os._exit(9)
class Nasty(Exception):
    def __str__(self):
        return Evil("boo" * 10_000_000)
raise Nasty()`);
  expect(got).toBeInstanceOf(EnvironmentRaised);
  expect((got as EnvironmentRaised).message.length).toBeLessThan(6_000);
});

test('an exception whose __str__ raises is still reported, with the line of the source', async () => {
  const got = await attackInJail(`
class Mute(Exception):
    def __str__(self):
        raise SystemExit
raise Mute()`);
  expect(got).toBeInstanceOf(EnvironmentRaised);
  expect((got as EnvironmentRaised).traceback).toMatch(/environment\.py:\d+ in attack: raise Mute\(\)/);
});

test('patching json, os and sys.stdout does not break the framing', async () => {
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
});

test('code that runs at the end of the interpreter does not run', async () => {
  const got = await attackInJail(`
import atexit
atexit.register(lambda: os.write(4, b"{}\\n"))
class Late:
    def __del__(self):
        time.sleep(60)
sys.keep = Late()
return "armed"`);
  expect(got).toBe('armed');
});
