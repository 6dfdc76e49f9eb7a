// Tier: unit.
import { checkAnswers } from '../../../activities/environment-checks/checks/answers';
import {
  checkAlternatives,
  checkFaults,
  checkToolAnswers,
} from '../../../activities/environment-checks/checks/judged-alike';
import { checkHeldOutText } from '../../../activities/environment-checks/checks/held-out-text';
import { checkSolutions } from '../../../activities/environment-checks/checks/solved-alike';
import { checkSystemMessage, checkWording } from '../../../activities/environment-checks/checks/wording';
import type { EnvironmentTask } from '../../../activities/environment-checks/environment-task';
import { type JudgedVariation, judgementOf } from '../../../activities/environment-checks/judged-variations';
import type { TargetProfile } from '../../../activities/environment-checks/target-profile';
import type { EnvironmentHandle } from '../../../activities/environment';
import type { EnvironmentMove, EnvironmentTool } from '../../../contracts/messages/environment-protocol';

const TOOLS: EnvironmentTool[] = Object.entries({ look: ['order'], stop: ['order'], reply: ['text'] }).map(
  ([name, keys]): EnvironmentTool => ({
    type: 'function',
    function: {
      name,
      parameters: { type: 'object', properties: Object.fromEntries(keys.map((key) => [key, { type: 'string' }])) },
    },
  }),
);
const call = (name: string, given: Record<string, unknown>): EnvironmentMove => ({ name, arguments: given });
const TOLD = 'You work at the desk. Look at an order before you stop it.';

/** Every third order of the desk's is shipped, so that it is too late; pickups are never looked at. */
function taskOf(seed: number, changes: Partial<{ told: string; asked: string; looks: boolean; late: boolean }> = {}) {
  const order = `4${seed % 100}`;
  const isPickup = seed % 4 === 3;
  const { told = TOLD, looks = !isPickup, late = seed % 3 === 0 } = changes;
  const {
    asked = isPickup ? `please stop the pickup of order ${order} for good` : `please stop my order ${order} today`,
  } = changes;
  const reference = [
    ...(looks ? [call('look', { order })] : []),
    ...(late && looks ? [] : [call('stop', { order })]),
    call('reply', { text: late && looks ? `too late for ${order}` : `${order} is stopped` }),
  ];
  const messages: EnvironmentTask['messages'] = [
    { role: 'system', content: told },
    { role: 'user', content: asked },
  ];
  return { seed, messages, reference, skillCalls: [0] } satisfies EnvironmentTask;
}

const seeds = (count: number, from = 0): number[] => Array.from({ length: count }, (_, index) => from + index);
const asks = ({ messages }: EnvironmentTask): string => messages[1]!.content;
const own = seeds(120).map((seed) => taskOf(seed));
const target: TargetProfile = {
  tools: TOOLS,
  hasSay: false,
  formats: new Map(),
  refusal: null,
  refused: [],
  tasks: own.slice(0, 60),
  system: [TOLD],
  solved: own.map((task) => ({ prompt: asks(task), reference: task.reference, observations: [] })),
  judgement: { changes: new Map(), answers: new Map(), byChange: [] },
  train: own.map(asks),
  heldOut: [],
};
const tasksOf = (changes: (seed: number) => Parameters<typeof taskOf>[1] = () => ({}), from = 500_000) =>
  seeds(60, from).map((seed) => taskOf(seed, changes(seed)));

describe('the system message', () => {
  test('may be shorter than the agent’s', () => {
    expect(
      checkSystemMessage(
        tasksOf(() => ({ told: 'You work at the desk.' })),
        target,
      ).passed,
    ).toBe(true);
  });

  test('may not be another one', () => {
    const told = 'Arr! Ye be the captain of a ship. Look at an order before the plank.';
    const { passed, detail } = checkSystemMessage(
      tasksOf(() => ({ told })),
      target,
    );
    expect(passed).toBe(false);
    expect(detail).toMatch(/^\d+ % of the system message's words are new to the agent: arr, ye, be, captain/);
  });

  test('may not be missing', () => {
    expect(
      checkSystemMessage(
        tasksOf(() => ({ told: '' })),
        target,
      ).detail,
    ).toMatch(/^There is no system message/);
  });
});

describe('wording', () => {
  test('is the agent’s', () => {
    expect(checkWording(tasksOf(), target).passed).toBe(true);
  });

  test('may not be somebody else’s in many openings', () => {
    const asked = (seed: number) =>
      seed % 3 === 0 ? { asked: `ticket from the warehouse: stop order 4${seed % 100}` } : {};
    const { passed, detail } = checkWording(tasksOf(asked), target);
    expect(passed).toBe(false);
    expect(detail).toMatch(/^33 % of the openings have words .*: ticket, from, warehouse\./);
  });
});

describe('solutions', () => {
  const check = (tasks: EnvironmentTask[]) => checkSolutions({ tools: TOOLS, tasks }, target);

  test('may be those of the agent', () => {
    expect(check(tasksOf())).toMatchObject({ passed: true });
  });

  test('may not be others for the same openings', () => {
    const { passed, detail } = check(tasksOf(() => ({ looks: true })));
    expect(passed).toBe(false);
    expect(detail).toMatch(/solved otherwise than the agent's own .*pickup.* with look, there without it/);
  });

  test.each([
    [3, true],
    [2, false],
  ])('may ask in other words in every %d. task: %s', (every, passed) => {
    const other = (seed: number) => ({
      ...(seed % every === 0 ? { asked: `today please for good: my pickup of order 4${seed % 100} stop` } : {}),
    });
    const found = check(tasksOf(other));
    expect(found.passed).toBe(passed);
    if (!passed)
      expect(found.detail).toMatch(/^50 % of the tasks at other seeds ask in other words than the agent's own/);
  });

  test('may not all end in the same way', () => {
    const { passed, detail } = check(tasksOf(() => ({ late: true })));
    expect(passed).toBe(false);
    expect(detail).toMatch(
      /100 % are solved .* for the opening: look\. Of the agent's own, \d+ % are solved otherwise: look; stop \(/,
    );
  });

  test('are compared at training seeds, too', () => {
    const mixed = [...tasksOf(), ...tasksOf(() => ({ late: true }), 1_000_000)];
    expect(check(mixed).detail).toMatch(/^Of the tasks at training seeds whose openings are like the agent's, /);
  });

  test('may leave out what other needs ask for', () => {
    // Silent openings: a quarter each is plain, spun, moved and reported; the environment has plain and moved ones.
    const asked = 'please deal with the samples of bench four';
    const steps = [[], ['spin'], ['move'], ['report']];
    const sample = (seed: number, kind: number): EnvironmentTask => ({
      ...taskOf(seed, { asked }),
      reference: ['look', ...steps[kind]!, 'store'].map((name) => call(name, { order: '41' })),
    });
    const solved = seeds(200).map((seed) => sample(seed, seed % 4));
    const check = (kindOf: (seed: number) => number) =>
      checkSolutions(
        { tools: TOOLS, tasks: seeds(120, 500_000).map((seed) => sample(seed, kindOf(seed))) },
        targetOf(solved),
      );
    expect(check((seed) => (seed % 6 === 0 ? 0 : 2))).toMatchObject({ passed: true });
    const { passed, detail } = check(() => 2);
    expect(passed).toBe(false);
    expect(detail).toMatch(
      /look .*; store .* \(25 %\), .*spin.* \(25 %\), .*report.* \(25 %\)\. .*It need not be all of them/,
    );
  });

  const targetOf = (tasks: EnvironmentTask[]): TargetProfile => ({
    ...target,
    solved: tasks.map((task) => ({ prompt: asks(task), reference: task.reference, observations: [] })),
  });

  test('may be others than those of two tasks, which have ended so by chance', () => {
    const asked = 'kindly hold back the parcel until further notice';
    const two = new Set([117, 120]);
    const solved = seeds(121).map((seed) => (two.has(seed) ? taskOf(seed, { asked, late: true }) : taskOf(seed)));
    const tasks = tasksOf((seed) => (seed % 4 === 1 ? { asked, late: false } : {}));
    expect(checkSolutions({ tools: TOOLS, tasks }, targetOf(solved))).toMatchObject({ passed: true });
  });

  test('may need the capability in half of the tasks, though the agent needs it seldom', () => {
    const solved = seeds(240).map((seed) => taskOf(seed, { looks: seed % 60 === 0, late: false }));
    const check = (tasks: EnvironmentTask[]) => checkSolutions({ tools: TOOLS, tasks }, targetOf(solved));
    expect(check(tasksOf((seed) => ({ looks: seed % 8 < 3, late: false })))).toMatchObject({ passed: true });
    expect(check(tasksOf(() => ({ looks: true, late: false })))).toMatchObject({ passed: false });
  });
});

describe('texts of held-out tasks', () => {
  const text = (n: number) => `please stop my order number ${n} today and tell the driver`;
  const check = (asked: number) => {
    const heldOut = seeds(240).map((n) => text(n));
    const tasks = seeds(240).map((n) => taskOf(n, { asked: n < asked ? text(n) : `stop ${n}` }));
    return checkHeldOutText('', tasks, { ...target, train: [], heldOut });
  };

  test('may be asked now and then, as chance has it', () => {
    expect(check(5)).toMatchObject({ passed: true });
  });

  test('may not be asked more often than chance explains', () => {
    expect(check(12)).toMatchObject({ passed: false });
    expect(check(12).detail).toContain('5 % of the held-out tasks are asked word for word, of the train tasks 0 %');
  });
});

describe('what has to be found out', () => {
  const environment = { alive: true } as EnvironmentHandle;
  const lines = (town: (seed: number) => string, given = false) =>
    tasksOf().map(({ seed, messages }) => {
      const line = `mill road ${town(seed)}`;
      const said = given ? `send it to mill road that is in ${town(seed)}` : 'send it to mill road';
      return {
        seed,
        messages: [messages[0]!, { role: 'user' as const, content: said }],
        reference: [call('send', { line })],
        skillCalls: [],
      };
    });
  const towns = ['bath', 'cork', 'ely', 'hull'];
  const varied = (seed: number): string => towns[seed % towns.length]!;
  const played = {
    ...environment,
    reset: () => Promise.reject(new Error('not played')),
  } as unknown as EnvironmentHandle;
  const answersOf = (tasks: EnvironmentTask[]) =>
    checkAnswers(
      {
        ...played,
        reset: () => Promise.resolve({ messages: [], tags: [] }),
        step: () => Promise.resolve({ observations: ['ok'], done: true }),
        evaluate: () => Promise.resolve({ reward: 0, diagnostics: {} }),
      },
      { tools: TOOLS, tasks },
      { ...target, tasks: lines(varied) },
    );

  test('differs from task to task', async () => {
    await expect(answersOf(lines(varied))).resolves.toMatchObject({ passed: true });
    const { passed, detail } = await answersOf(lines(() => 'bath'));
    expect(passed).toBe(false);
    expect(detail).toMatch(/What has to be found out for send.line is "bath" in 100 % .* it need not be looked up/);
  });

  test('is not given in other places of the opening', async () => {
    expect((await answersOf(lines(varied, true))).detail).toMatch(
      /The opening gives send.line, which has to be found out/,
    );
  });
});

describe('changed solutions', () => {
  const judged = (change: Partial<JudgedVariation>, count = 20): JudgedVariation[] =>
    seeds(count, 500_000).map((seed) => ({
      change: 'first look',
      about: 'A look first',
      part: 'look stop',
      kind: 'either',
      seed,
      succeeded: true,
      answer: 'an answer',
      ...change,
    }));

  test('that the agent’s environment accepts are accepted', () => {
    const accepts = judgementOf(judged({}));
    expect(checkAlternatives(judged({}), accepts).passed).toBe(true);
    const { passed, detail } = checkAlternatives(judged({ succeeded: false }), accepts);
    expect(passed).toBe(false);
    expect(detail).toMatch(/^A look first is refused in 100 % of the cases/);
    // To insist on a step is an environment's right.
    expect(checkAlternatives(judged({ succeeded: false, kind: 'fault' }), accepts).passed).toBe(true);
  });

  test('that it never pays are not paid', () => {
    const refuses = judgementOf(judged({ succeeded: false }));
    expect(checkFaults(judged({ succeeded: false }), refuses).passed).toBe(true);
    expect(checkFaults(judged({}), refuses).detail).toMatch(/^A look first succeeds in 100 % of the cases/);
    expect(checkFaults(judged({ wasIdle: true }), refuses).passed).toBe(true);
  });

  test('in other words are judged text by text', () => {
    const refuses = judgementOf(judged({ succeeded: false }));
    const wordy = seeds(40).flatMap((text) => judged({ said: `text ${text}`, succeeded: text === 7 }, 4));
    const { passed, detail } = checkFaults(wordy, refuses);
    expect(passed).toBe(false);
    expect(detail).toMatch(/succeeds in 100 % of the cases/);
    expect(checkFaults(judged({ said: 'text', succeeded: false }), refuses).passed).toBe(true);
  });

  test('of which it knows too little are not judged', () => {
    expect(checkFaults(judged({}), judgementOf(judged({ succeeded: false }, 3))).passed).toBe(true);
    expect(checkFaults(judged({ part: 'look' }), judgementOf(judged({ succeeded: false }))).passed).toBe(true);
  });

  test('get the answers that the agent’s tools give', () => {
    const answers = judgementOf([...judged({}), ...judged({ answer: 'a refusal' })]);
    const both = [...judged({}), ...judged({ answer: 'a refusal' })];
    expect(checkToolAnswers(both, answers).passed).toBe(true);
    expect(checkToolAnswers(judged({}), answers).detail).toMatch(/^A look first never gets a refusal/);
    const strange = [...both, ...judged({ answer: 'an answer with ok false' })];
    expect(checkToolAnswers(strange, answers).detail).toMatch(
      /^A look first: 20 of 60 calls get an answer with ok false, as with seed 500000; of 40 calls .* none does\.$/,
    );
  });

  test('may get a rare answer that the agent’s tools gave to no call by chance', () => {
    const answers = judgementOf(judged({}));
    const rare = (count: number) => [...judged({}, 6 - count), ...judged({ answer: 'a refusal' }, count)];
    expect(checkToolAnswers(rare(1), answers).passed).toBe(true);
    expect(checkToolAnswers(rare(2), answers).passed).toBe(true);
    expect(checkToolAnswers(rare(6), answers).passed).toBe(false);
  });

  test('may miss an answer that the agent’s tools give to every third call by chance', () => {
    const answers = judgementOf([...judged({}), ...judged({ answer: 'a refusal' }, 10)]);
    expect(checkToolAnswers(judged({}, 12), answers).passed).toBe(true);
    expect(checkToolAnswers(judged({}, 60), answers).passed).toBe(false);
  });
});
