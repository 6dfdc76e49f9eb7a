// jail
import { inspectSource } from '../../activities/environment-checks/inspect-source';
import { openEnvironment } from '../../sandbox';

/** What a generated environment may be tempted to write so that its rules do not see what it uses. */
const TRICKS: Record<string, [name: string, source: string][]> = {
  imports: [
    ['under another name', 'import os as json\n'],
    ['in a function', 'def f():\n    from os import path\n'],
    ['under a condition', 'try:\n    import os\nexcept ImportError:\n    pass\n'],
    ['relative', 'from . import x\n'],
    ['relative, of a parent', 'from .. import os\n'],
    ['of everything', 'from os import *\n'],
    ['by its function', 'm = __import__("os")\n'],
    ['by its function under another name', 'f = __import__\nm = f("os")\n'],
    ['from an allowed module that brings it', 'from random import _os as m\n'],
    ['of a module of the allowed name, longer', 'import jsonpickle\n'],
    ['by importlib', 'import importlib\n'],
    ['by codecs', 'import codecs\n'],
    ['by pickle', 'import pickle\n'],
    ['by ctypes', 'import ctypes\n'],
    ['from a module in an allowed one', 'from enum import sys\n'],
    ['by the name of a module in an allowed one', 'import json\nx = json.codecs.open("x")\n'],
    ['by a module under a second name', 'import json\nj = json\nx = j.codecs\n'],
  ],
  names: [
    ['open in wide letters', '\uff4f\uff50\uff45\uff4e("/etc/passwd")\n'],
    ['open under another name', 'f = open\n'],
    ['open as a default', 'def f(x=open):\n    pass\n'],
    ['open in a list', 'f = [open][0]\n'],
    ['exec as a decorator', '@exec\nclass X:\n    pass\n'],
    ['eval in an f-string', 'x = f"{eval(\'1\')}"\n'],
    ['compile', 'compile("1", "x", "eval")\n'],
    ['breakpoint', 'breakpoint()\n'],
    ['input', 'x = input()\n'],
    ['subclasses of everything', 'x = ().__class__.__base__.__subclasses__()\n'],
    ['globals of a function', 'def f():\n    pass\nx = f.__globals__\n'],
    ['the builtins as a mapping', 'x = __builtins__["open"]\n'],
    ['an attribute by its text', 'def f():\n    pass\nx = getattr(f, "__globals__")\n'],
    ['an attribute by a text in two parts', 'def f():\n    pass\nx = getattr(f, "__glo" + "bals__")\n'],
    ['getattr under another name', 'g = getattr\n'],
    ['an attribute by operator', 'import operator\nx = operator.attrgetter("__globals__")(print)\n'],
    ['an attribute in a format', 'x = "{0.__class__.__base__}".format(1)\n'],
    ['the frames above', 'try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    x = e.__traceback__.tb_frame\n'],
    ['the frame of a generator', 'def f():\n    yield\nx = f().gi_frame.f_back\n'],
    ['the module of a builtin', 'x = print.__self__\n'],
    ['a function made by hand', 'import types\nx = types.FunctionType\n'],
    ['an attribute by letters', 'def f():\n    pass\nx = "%s%s" % ("__glo", "bals__")\n'],
    ['a frame by its letters', 'NAME = chr(103) + "i_frame"\n'],
    [
      'how often a cache was asked',
      'import functools\n@functools.cache\ndef f():\n    pass\nx = f.cache_info().hits\n',
    ],
    ['an attribute of the library that it sets', 'import random\nrandom.Random.seen = 1\n'],
    ['an attribute of a module that it sets', 'import json\njson.seen = 1\n'],
    ['an attribute of a class that it sets by name', 'from random import Random\nsetattr(Random, "seen", 1)\n'],
    ['the code of a function', 'def f():\n    pass\nf.__code__ = f.__code__.replace(co_consts=())\n'],
  ],
  clocks: [
    ['of a module under another name', 'import datetime as d\nx = d.datetime.now()\n'],
    ['by date', 'import datetime\nx = datetime.date.today()\n'],
    ['by an allowed module that brings it', 'import calendar\nx = calendar.datetime.datetime.now()\n'],
    ['bound to a name', 'import datetime\nnow = datetime.datetime.now\nx = now()\n'],
    ['of a class under another name', 'from datetime import datetime as Moment\nx = Moment.now()\n'],
    ['of a class in a variable', 'import datetime\nD = datetime.datetime\nx = D.now()\n'],
    ['in UTC', 'import datetime\nx = datetime.datetime.utcnow()\n'],
    ['by a text in two parts', 'import datetime\nx = getattr(datetime.datetime, "n" + "ow")()\n'],
    ['by joined letters', 'import datetime\nx = getattr(datetime.date, "".join(["to", "day"]))()\n'],
    ['by a text turned round', 'import datetime\nx = getattr(datetime.datetime, "won"[::-1])()\n'],
    ['by a text in a name', 'import datetime\nWORD = "to{}".format("day")\nx = getattr(datetime.date, WORD)()\n'],
    ['by a beginning', 'import datetime\ndef f(a):\n    return getattr(datetime.datetime, f"no{a}")()\n'],
    ['by a text for another hand', 'import datetime\nfor name in ["n" + "ow"]:\n    pass\n'],
  ],
  randomness: [
    ['a function of it', 'from random import choice as pick\nx = pick([1])\n'],
    ['under another name', 'import random as r\nx = r.random()\n'],
    ['through another module', 'import statistics\nx = statistics.random.random()\n'],
    ['of the system', 'import random\nx = random.SystemRandom().random()\n'],
  ],
  'what differs from process to process': [
    ['the hash of a text', 'x = hash("a")\n'],
    ['hash under another name', 'f = hash\n'],
    ['the place of an object', 'x = id([])\n'],
  ],
  'texts that are no Python': [
    ['a NUL', 'x = 1\0\n'],
    ['half a character', 'x = "\ud800"\n'],
    ['brackets, 5,000 deep', `x = ${'('.repeat(5_000)}1${')'.repeat(5_000)}\n`],
    ['a cookie of another coding before a mark', '# -*- coding: utf-7 -*-\nx = +AAo-import os\n'],
    ['nothing but a bracket', '(\n'],
  ],
};

describe.each(Object.entries(TRICKS))('%s', (_kind, tricks) => {
  test.each(tricks)('%s: named in a sentence', async (_name, source) => {
    const found = await inspectSource(openEnvironment, source, 'tricks').catch((error: Error) => error);
    // A source that brings the parser down is an error of a class that the check knows.
    if (found instanceof Error) return expect(found.message).toMatch(/^Environment inspector/);
    expect([...found.syntax, ...found.rules].join('\n')).toMatch(/[A-Z].+\./);
  });
});

test('what honest programs write is not named', async () => {
  const source = [
    'import dataclasses, datetime, functools, json, operator, random, re, types',
    'from collections import Counter',
    '@dataclasses.dataclass(frozen=True)',
    'class Order:',
    '    day: datetime.date = datetime.date(2024, 1, 2)',
    '    def __post_init__(self):',
    '        object.__setattr__(self, "name", self.__class__.__name__)',
    'class Desk:',
    '    def __init__(self, seed):',
    '        self.random, self.today = random.Random(seed), datetime.date(2024, 1, 2)',
    '    def do_read(self, order):',
    '        """Reads an order."""',
    '        return f"{order!r} on {self.today}"',
    '    def step(self, name, given):',
    '        return getattr(self, f"do_{name}", getattr(self, name, None))(**given)',
    'KEYS = {name: types.SimpleNamespace(keys=vars(Order)) for name in Counter(re.findall("a", "banana"))}',
    'PICK = functools.partial(json.dumps, separators=(",", ":")), operator.itemgetter("a"), operator.attrgetter("day")',
  ].join('\n');
  expect(await inspectSource(openEnvironment, source, 'honest')).toMatchObject({ syntax: [], rules: [] });
});
