// tier: jail
import { tasksToTry, tryTasks } from '../../../activities/environment-checks/try-tasks';
import { problemOfTrials } from '../../../contracts/solvable-tasks';
import { openEnvironment } from '../../../sandbox';

/** Expressions of Python, at the places of an environment where they may read what they must not. */
interface Places {
  /** Run when the module is loaded. */
  loaded?: string;
  /** In the hidden task. */
  hidden?: string;
  /** In the opening message. */
  opening?: string;
  /** In the observation of the call that solves the task. */
  answer?: string;
  /** The reward of a solution. */
  reward?: string;
}

const environmentOf = ({ loaded = '', hidden = '0', opening = '0', answer = '0', reward = '1.0' }: Places): string => `
import datetime, functools, os, random, time, uuid
from datetime import date
sent = []
kept = {"resets": 0}
${loaded}

class Environment:
    @staticmethod
    def tools():
        return [{"type": "function", "function": {"name": "send"}}]

    @staticmethod
    def generate_task(seed):
        return {"seed": seed, "hidden": ${hidden}}

    def reset(self, seed):
        kept["resets"] += 1
        text = ${opening}
        return [{"role": "user", "content": f"Send {seed}: {text}"}]

    def step(self, call):
        sent.append(call)
        return {"observation": str(${answer}), "done": True}

    @staticmethod
    def evaluate(trajectory, task):
        return ${reward} if "call" in trajectory[0] else 0.0

    @staticmethod
    def reference_solution(task):
        return [{"name": "send", "arguments": {}}]
`;

async function changesOf(places: Places): Promise<string | null> {
  const source = { source: environmentOf(places), trust: 'owner', name: 'desk.py' } as const;
  const tasks = tasksToTry({ trainSeeds: { start: 0, count: 40 }, heldOutSeeds: { start: 1000, count: 40 } });
  return problemOfTrials(await tryTasks(openEnvironment, source, tasks), 'desk.py', 1);
}

const FIFTY = '{str(i) for i in range(50)}';

test.each<[string, Places, RegExp]>([
  ['a set of texts as a list', { opening: `list(${FIFTY})[seed % 50]` }, /another process.*: its opening differs/],
  ['a set of texts that is printed', { answer: FIFTY }, /another process.*: the answers to the same moves differ/],
  ['a set that is drawn from', { opening: `random.Random(seed).choice(list(${FIFTY}))` }, /another process/],
  ['texts sorted by their hash', { opening: `sorted(${FIFTY}, key=hash)` }, /another process/],
  ['a seed made of a hash', { opening: 'random.Random(hash(str(seed))).random()' }, /another process/],
  ['a hash in the hidden task', { hidden: 'hash("salt")' }, /another process.*: its hidden task differs/],
  ['an address in memory', { opening: 'Environment.step' }, /another process/],
  ['a random number drawn once', { loaded: 'SALT = random.random()', opening: 'SALT' }, /another process/],
  ['a random id drawn once', { loaded: 'SALT = uuid.uuid4()', answer: 'SALT' }, /another process/],
  ['random bytes', { opening: 'os.urandom(8)' }, /when it is made again: its opening differs/],
  ['the shared generator', { opening: 'random.random()' }, /when it is made again/],
  ['the time', { opening: 'time.time()' }, /when it is made again/],
  ['the time when it was loaded', { loaded: 'NOW = time.time()', opening: 'NOW' }, /another process/],
  ['the date', { opening: 'datetime.date.today()' }, /whose clock is ahead: its opening differs/],
  ['the date by another name', { opening: 'date.today()' }, /whose clock is ahead/],
  ['the hour of the day', { opening: 'datetime.datetime.now().strftime("%H")' }, /whose clock is ahead/],
  ['the month in UTC', { answer: 'datetime.datetime.now(datetime.timezone.utc).month' }, /whose clock is ahead/],
  ['the year', { opening: 'datetime.datetime.utcnow().year' }, /whose clock is ahead/],
  ['the day of the week', { opening: 'time.strftime("%A")' }, /whose clock is ahead/],
  ['the local time', { opening: 'time.localtime().tm_mon' }, /whose clock is ahead/],
  ['the time as a text', { opening: 'time.ctime()[:10]' }, /whose clock is ahead/],
  ['days since 1970', { hidden: 'time.time_ns() // (86_400 * 10**9)' }, /whose clock is ahead: its hidden task/],
  ['the system clock', { opening: 'time.clock_gettime(time.CLOCK_REALTIME) // 86_400' }, /whose clock is ahead/],
  ['what earlier episodes sent', { answer: 'len(sent)' }, /another process.*: the answers to the same moves differ/],
  ['what earlier episodes earned', { reward: '1 / len(sent)' }, /another process.*: the reward of the same moves/],
  ['how often it was reset', { opening: 'kept["resets"]' }, /when it is made again/],
])('a task that depends on %s is refused', async (_, places, why) => {
  const problem = await changesOf(places);
  expect(problem).toMatch(why);
  expect(problem).toMatch(
    /^task \d+ of environment\.\w+Seeds of desk\.py is another one .*Let generate_task, reset, step,/,
  );
});

test.each<[string, Places]>([
  ['nothing', {}],
  ['dates that follow from the seed', { opening: 'repr(date(2024, 1, 1) + datetime.timedelta(seed))' }],
  ['a text read as a date', { opening: 'repr(datetime.datetime.strptime(f"2024-01-{1 + seed % 28}", "%Y-%m-%d"))' }],
  ['kinds of dates', { opening: '[isinstance(date(2024, 1, 1), date), issubclass(datetime.datetime, date)]' }],
  [
    'classes of dates',
    { loaded: 'class Day(date):\n    pass', opening: '[Day(2024, 1, 1), isinstance(date(2024, 1, 1), Day)]' },
  ],
  ['a given time as a text', { opening: '[time.gmtime(seed), time.strftime("%F", time.gmtime(0)), time.ctime(0)]' }],
  ['a sorted set', { opening: `sorted(${FIFTY})` }],
  ['a set of numbers', { opening: 'set(range(seed % 7))' }],
  ['a cache', { loaded: 'double = functools.lru_cache(lambda n: 2 * n)', opening: 'double(seed)' }],
  ['how long something takes', { loaded: 'began = time.time()', answer: 'time.time() - began < 3_600' }],
  // As a server does that refuses requests of tomorrow.
  ['a clock that is right', { loaded: `assert time.time() < ${Math.round(Date.now() / 1000) + 86_400}` }],
])('a task that depends on %s is the same everywhere', async (_, places) => {
  expect(await changesOf(places)).toBeNull();
});
