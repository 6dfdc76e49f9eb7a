/** What generates: an environment, a model and an analyst that answer at once, by the world's chances. */
import type { EnvironmentHandle } from '../../activities/environment';
import type { ChatRequest, ModelClient } from '../../activities/rollout/model-client';
import type { Analyst, AnalystRequest } from '../../llm';
import { chance, type Habit, type Kind, SKILLS, type Skill, type World } from './world';

/** Served name of the base model. */
export const BASE = 'base';
/** A name that the analyst gives although it explains no failure. */
const DECOY = 'Greet the customer by name';
const NAMES: Record<Skill, string> = {
  refunds: 'Check identity before refunds',
  addresses: 'Append the postal code to addresses',
  'bulk-orders': 'Split bulk orders by warehouse',
  vouchers: 'Redeem vouchers before payment',
};
const WORDS: Record<Kind, string> = {
  refunds: 'I want my money back for the broken lamp',
  addresses: 'please change where you deliver my parcel',
  'bulk-orders': 'our company needs two hundred chairs at once',
  vouchers: 'I have a gift code and would like to use it',
  plain: 'when will the shop open tomorrow morning',
};

/** The id that a capability gets from its name. */
export const capabilityOf = (skill: Skill): string =>
  NAMES[skill]
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

/** The skill behind a capability; null for the decoy. */
export const skillOf = (capabilityId: string): Skill | null =>
  SKILLS.find((skill) => capabilityOf(skill) === capabilityId) ?? null;

/** The agent's own environment: one message, one answer, and whether it solved the task. */
export function stubEnvironment(world: () => World): EnvironmentHandle {
  const said = new Map<string, string>();
  const unused = (): Promise<never> => Promise.reject(new Error('The simulated environment has no such thing.'));
  return {
    alive: true,
    isolation: 'jail',
    sha256: '',
    describe: async () => ({
      tools: world().tools.map((name) => ({ type: 'function', function: { name } })),
      hasSay: false,
      hasHints: false,
    }),
    reset: async (_episode: string, seed: number) => {
      const kind = world().kindOf(seed);
      return { messages: [{ role: 'user', content: `Ticket ${seed} (${kind}): ${WORDS[kind]}.` }], tags: [] };
    },
    say: async (episode: string, text: string) => {
      said.set(episode, text);
      return { observations: [], done: true };
    },
    evaluate: async (episode: string) => {
      const reward = said.get(episode)?.startsWith('Solved') ? 1 : 0;
      said.delete(episode);
      return { reward, diagnostics: {} };
    },
    drop: async () => ({}),
    close: async () => undefined,
    step: unused,
    task: unused,
    reference: unused,
    score: unused,
  } as unknown as EnvironmentHandle;
}

const ticket = /Ticket (\d+) \(([a-z-]+)\)/;

/** The policy server: base, and the adapters that a trainer has left. */
export function stubModel(world: () => World, habits: ReadonlyMap<string, Habit>): ModelClient {
  const card = (id: string) => ({ id, root: null, maxModelLength: null, weightsSha256: null });
  return {
    models: async () => [BASE, ...habits.keys()].map(card),
    loadAdapter: async () => undefined,
    async chat({ model, messages, seed, choice }: ChatRequest) {
      const found = ticket.exec(messages.map(({ content }) => content).join('\n'));
      const habit = habits.get(model) ?? null;
      const passed = found !== null && chance('answer', seed, model) < world().passes(Number(found[1]), habit);
      const logprob = -Math.log(Math.max(1, choice?.length ?? 1));
      return {
        content: choice?.[0] ?? (passed ? 'Solved.' : 'I am sorry, that did not work.'),
        ...{ reasoning: null, cut: false, toolCalls: [], promptTokens: 400, completionTokens: 60, fingerprint: null },
        firstToken: (choice ?? []).map((token) => ({ token, logprob })),
      };
    },
  };
}

/** Share of labels in which the analyst errs. */
const WRONG = 0.04;

/** An analyst that reads tickets, and errs now and then. */
export function stubAnalyst(count: () => void): Analyst {
  const answer = async <T>(request: AnalystRequest<T>) => {
    count();
    const text = request.messages.map(({ content }) => content).join('\n');
    const value = request.schema.parse(
      request.kind === 'label' ? label(text, request.key) : request.kind === 'merge' ? { groups: [] } : discover(text),
    );
    const usage = { promptTokens: 900, completionTokens: 60, cachedTokens: 0 };
    const answered = { value, usage, asks: 1, tries: 1, redacted: {}, model: 'stub' };
    await request.keep?.(answered);
    return answered;
  };
  return {
    model: 'stub',
    ask: answer,
    askBatch: () => Promise.reject(new Error('no batches')),
    flushUsage: async () => undefined,
  };
}

function discover(text: string) {
  const named = (name: string) => ({
    name,
    summary: `${name}.`,
    description: `The agent has to: ${name}.`,
    episodes: [1],
    notTrainable: null,
  });
  const episodes = text.split(/^Episode \d+: /m).filter((episode) => episode.startsWith('failed'));
  const failed = episodes.flatMap((episode) =>
    [...episode.matchAll(new RegExp(ticket, 'g'))].map(([, , kind]) => kind),
  );
  const skills = SKILLS.filter((skill) => failed.filter((kind) => kind === skill).length >= 3);
  return { capabilities: [...skills.map((skill) => named(NAMES[skill])), named(DECOY)] };
}

/** Labels follow ticket and outcome; the decoy is lacking at random. */
function label(text: string, key: string) {
  const capability = /\nCapability: (.*)\n/.exec(text)?.[1] ?? '';
  const kind = ticket.exec(text)?.[2];
  const solved = /Solved\./.test(text);
  const wrong = chance('label', key) < WRONG;
  const right =
    capability === DECOY
      ? chance('decoy', text) < 0.3
        ? 'LACKING'
        : 'PRESENT'
      : kind === undefined || kind === 'plain' || NAMES[kind as Skill] !== capability
        ? 'NA'
        : solved
          ? 'PRESENT'
          : 'LACKING';
  return { reason: 'It shows.', step: null, label: wrong ? 'PRESENT' : right };
}
