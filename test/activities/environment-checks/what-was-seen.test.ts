// Tier: unit.
import { setImmediate } from 'node:timers/promises';
import { checkDependence } from '../../../activities/environment-checks/checks/dependence';
import { checkDerivable } from '../../../activities/environment-checks/checks/derivable';
import { type KnownArguments, learnSources } from '../../../activities/environment-checks/known-sources';
import type { SolvedTask } from '../../../activities/environment-checks/solved-tasks';
import { seededRandom } from '../../../activities/statistics/random';
import type { EnvironmentMove } from '../../../contracts/messages/environment-protocol';

const speaking = new Set(['say', 'reply']);
const call = (name: string, given: Record<string, unknown>): EnvironmentMove => ({ name, arguments: given });

interface Changes {
  amount?: (order: Order, other: Order) => number;
  stops?: (isOpen: boolean, seed: number) => boolean;
  reply?: string;
  name?: string;
}

interface Order {
  order: string;
  state: string;
  total: number;
  fee: number;
}

const NAMES = ['ann lee', 'bob ray', 'cy dunn'];

/**
 * A desk that pays orders back: it looks at the order, stops an open one, pays its total without the fee, sends the
 * name turned round to the ledger, and says what became of it.
 */
function solvedTask(seed: number, { amount, stops, reply, name }: Changes = {}): SolvedTask {
  const at = (n: number): Order => ({
    order: `${400 + n}`,
    state: ['open', 'sent'][((seed * 7 + n) >> 1) % 2]!,
    total: 100 + ((seed * 37 + n * 11) % 90),
    fee: 7 + ((seed + n) % 13),
  });
  const [one, two] = [at(seed % 97), at(100 + (seed % 89))];
  const who = NAMES[seed % 3]!;
  const isOpen = one.state === 'open';
  const paid = (amount ?? ((order) => order.total - order.fee))(one, two);
  const steps: [EnvironmentMove, string][] = [
    [call('look', { order: two.order }), JSON.stringify(two)],
    [call('look', { order: one.order }), JSON.stringify(one)],
    ...((stops ?? ((open: boolean) => open))(isOpen, seed)
      ? [[call('stop', { order: one.order }), '{"ok":true}'] as [EnvironmentMove, string]]
      : []),
    [call('pay', { order: one.order, amount: paid, kind: isOpen ? 'early' : 'late' }), '{"ok":true}'],
    [call('book', { name: name ?? who.split(' ').reverse().join(', ') }), '{"ok":true}'],
    [call('reply', { text: `${one.order} is ${reply ?? one.state}` }), 'bye'],
  ];
  const prompt = `hello here is ${who}, i have ${two.order} as well, but pay ${one.order} back`;
  return {
    seed,
    prompt,
    messages: [{ role: 'user', content: prompt }],
    reference: steps.map(([move]) => move),
    observations: steps.map(([, observation]) => observation),
    skillCalls: [],
  };
}

/** Six such orders in one task; what changes applies to the first one. */
function sixOrders(seed: number, changes: Changes = {}): SolvedTask {
  const tasks = range(0, 6).map((n) => solvedTask(seed * 6 + n, n === 0 ? changes : {}));
  return {
    ...tasks[0]!,
    seed,
    prompt: tasks.map(({ prompt }) => prompt).join(' '),
    reference: tasks.flatMap(({ reference }) => reference),
    observations: tasks.flatMap(({ observations }) => observations),
  };
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const own = range(0, 240).map((seed) => solvedTask(seed));
let known: KnownArguments;
beforeAll(async () => {
  known = await learnSources(own, speaking);
});
const here = (changes: (seed: number) => Changes = () => ({}), count = 60) =>
  range(500_000, count).map((seed) => solvedTask(seed, changes(seed)));

describe('the arguments of a solution', () => {
  const check = (tasks: SolvedTask[]) => checkDerivable(tasks, known, speaking);

  test('come from where the agent’s own come from', () => {
    expect(check(here())).toMatchObject({ passed: true });
    expect(known.byArgument.get('pay.amount')!.sources[0]).toMatchObject({ text: 'look.total - look.fee', share: 1 });
  });

  test.each<[string, Changes, RegExp]>([
    ['one less', { amount: (order) => order.total - order.fee - 1 }, /pay\.amount of 60 of 60 tasks .*look\.total - /],
    ['without the fee', { amount: (order) => order.total }, /pay\.amount of 60 of 60/],
    ['of another order', { amount: (_, other) => other.total - other.fee }, /pay\.amount .* of the same order/],
    ['of two orders', { amount: (order, other) => order.total - other.fee }, /pay\.amount .* of the same order/],
    ['that no tool shows', { reply: 'lost' }, /reply\.text .*at seed \d+ it is \d+ is lost/],
    ['not turned round', { name: 'ann lee' }, /book\.name/],
  ])('are not %s', (_what, changes, detail) => {
    const result = check(here(() => changes));
    expect(result.passed).toBe(false);
    expect(result.detail).toMatch(detail);
  });

  test('are judged by what chance explains', () => {
    const wrong = (every: number) => here((seed) => (seed % every === 0 ? { amount: (order) => order.total } : {}));
    expect(check(wrong(30)).passed).toBe(true);
    expect(check(wrong(10)).passed).toBe(false);
  });

  test('are judged at training seeds by themselves', () => {
    const training = range(1_000_000, 20).map((seed) => solvedTask(seed, { amount: (order) => order.total }));
    expect(check([...here(() => ({}), 200), ...training]).detail).toMatch(/20 of 20 tasks at training seeds/);
  });

  test('may be strange in as many tasks as in the agent’s solutions, however many uses a task has', async () => {
    const odd = (seed: number) => sixOrders(seed, seed % 10 === 0 ? { amount: () => 12_345 + 17 * seed } : {});
    const learnt = await learnSources(range(0, 240).map(odd), speaking);
    expect(learnt.byArgument.get('pay.amount')).toMatchObject({ tasks: 240, unexplained: 24 });
    expect(checkDerivable(range(500_000, 120).map(odd), learnt, speaking)).toMatchObject({ passed: true });
  });

  test('that are long texts are not judged', () => {
    const name = range(0, 20_000).join(' ');
    expect(check(here(() => ({ name })))).toMatchObject({ passed: true });
  });

  test('are learnt task by task, so that heartbeats can be sent', async () => {
    let isLearnt = false;
    void learnSources(own, speaking).then(() => (isLearnt = true));
    let turns = 0;
    for (; !isLearnt; turns++) await setImmediate();
    expect(turns).toBeGreaterThanOrEqual(own.length / 2);
  });

  test('that do not follow in the agent’s solutions either are not judged', async () => {
    const unknown = own.map((task) => solvedTask(task.seed, { amount: (order) => (order.total * 31 + 7) % 1009 }));
    expect(
      checkDerivable(
        here(() => ({ amount: () => 12_345 })),
        await learnSources(unknown, speaking),
        speaking,
      ).passed,
    ).toBe(true);
  });
});

describe('the step after an observation', () => {
  const check = (tasks: SolvedTask[]) => checkDependence(tasks, own, known, speaking);

  test('is the one that the agent’s solutions take', async () => {
    expect(await check(here())).toMatchObject({ passed: true });
  });

  test.each<[string, Changes]>([
    ['the opposite', { stops: (isOpen) => !isOpen }],
    ['taken always', { stops: () => true }],
    ['taken never', { stops: () => false }],
    ['the opposite for every fifth seed', { stops: (isOpen, seed) => isOpen !== (seed % 5 === 0) }],
  ])('is not %s', async (_what, changes) => {
    const result = await check(here(() => changes));
    expect(result.passed).toBe(false);
    expect(result.detail).toMatch(
      /After look, stop follows otherwise .* \(in \d+ % where look\.state is open, in 0 % elsewhere\)/,
    );
  });

  test('may be another in as many tasks as in the agent’s solutions, which have two decisions each', async () => {
    const odd = (seed: number) => solvedTask(seed, seed % 14 === 0 ? { stops: (isOpen) => !isOpen } : {});
    const solved = range(1, 240).map(odd);
    const learnt = await learnSources(solved, speaking);
    const asOwn = await checkDependence(range(500_000, 1200).map(odd), solved, learnt, speaking);
    expect(asOwn.figures[0]!.value).toBeGreaterThan(0.06);
    expect(asOwn).toMatchObject({ passed: true });
    const opposite = range(500_000, 60).map((seed) => solvedTask(seed, { stops: (isOpen) => !isOpen }));
    expect(await checkDependence(opposite, solved, learnt, speaking)).toMatchObject({ passed: false });
  });

  test('is free where the agent’s solutions follow no rule', async () => {
    const coin = range(0, 240).map((seed) => solvedTask(seed, { stops: () => seededRandom(seed)() < 0.5 }));
    const result = await checkDependence(
      here(() => ({ stops: () => true })),
      coin,
      await learnSources(coin, speaking),
      speaking,
    );
    expect(result.passed).toBe(true);
  });
});
