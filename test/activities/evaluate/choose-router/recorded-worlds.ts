/** Synthetic agents for the competition: what their tasks say, which arm passes them, and what the run allows. */
import { createHash } from 'node:crypto';
import { randomSource } from '../../../../activities/statistics/random';
import type { ConsensusLabel } from '../../../../contracts/artifacts/identification';
import type { ChatMessage, Trajectory } from '../../../../contracts/artifacts/trajectory';
import type { ReadMessage } from '../../../../routing/opening-text';

/** Words of a request for each capability, and of one that calls for none. */
const WORDS: Record<string, string[]> = {
  refunds: ['refund', 'money back', 'return the payment', 'reimburse'],
  bookings: ['book a room', 'reserve', 'booking', 'a table for two'],
  parcels: ['parcel', 'ship it', 'deliver', 'track the package'],
  none: ['hello there', 'opening hours', 'thank you', 'who are you'],
};
const FILLERS = ['please', 'for my order', 'today', 'if you can', 'number seven', 'as soon as possible', 'again'];

/** How often an arm passes a task. */
interface Skill {
  /** A task that the arm was trained for. */
  own: number;
  /** A task that calls for nothing. */
  idle: number;
  /** A task with another need. */
  other: number;
}

/** A synthetic agent. */
export interface World {
  name: string;
  capabilities: string[];
  tasks: number;
  /** Share of tasks with two needs, and of tasks whose second need comes in a later message. */
  several: number;
  later: number;
  /** Share of labels that are wrong. */
  noise: number;
  skills: Record<string, Skill>;
  /** How often the mixed adapter passes a task with several needs; absent: there is no mixed adapter. */
  mixedSeveral?: number;
  /** How likely the base model names the right letter of the menu. */
  menu: number;
  evaluation: Record<string, unknown>;
}

const good: Skill = { own: 0.9, idle: 0.9, other: 0.1 };
const base: Skill = { own: 0, idle: 0.9, other: 0.1 };
const harmful: Skill = { own: 0.05, idle: 0.2, other: 0 };
const weak: Skill = { own: 0.25, idle: 0.85, other: 0.1 };
const three = ['refunds', 'bookings', 'parcels'];
const plain = { capabilities: three, tasks: 90, several: 0, later: 0, noise: 0.03, menu: 0.4, evaluation: {} };
const all = { none: base, refunds: good, bookings: good, parcels: good };

/** The agents whose competitions are recorded. */
export const WORLDS: World[] = [
  { ...plain, name: 'three good adapters', skills: all },
  { ...plain, name: 'wrong labels and a sure menu', noise: 0.4, menu: 0.97, skills: all },
  { ...plain, name: 'a harmful adapter', skills: { ...all, bookings: harmful } },
  {
    ...plain,
    name: 'weak adapters, small budget',
    skills: { none: base, refunds: weak, bookings: weak, parcels: weak },
    evaluation: { routingRollouts: 60 },
  },
  { ...plain, name: 'no budget', skills: all, evaluation: { routingRollouts: 0 } },
  { ...plain, name: 'later messages', later: 0.3, skills: all },
  {
    ...plain,
    name: 'a good mixed adapter',
    mixedSeveral: 0.8,
    skills: { ...all, mixed: { own: 0.92, idle: 0.92, other: 0 } },
  },
  {
    ...plain,
    name: 'a mixed adapter that harms idle tasks',
    mixedSeveral: 0.8,
    skills: { ...all, parcels: weak, mixed: { own: 0.9, idle: 0.2, other: 0 } },
  },
  {
    ...plain,
    name: 'several needs',
    tasks: 120,
    several: 0.3,
    mixedSeveral: 0.9,
    skills: { ...all, mixed: { own: 0.5, idle: 0.7, other: 0 } },
  },
  {
    ...plain,
    name: 'several needs, later messages, a mixed arm',
    tasks: 120,
    several: 0.2,
    later: 0.2,
    mixedSeveral: 0.9,
    skills: { ...all, bookings: weak, mixed: { own: 0.75, idle: 0.6, other: 0 } },
  },
  {
    ...plain,
    name: 'base is best',
    skills: {
      none: { own: 0.6, idle: 0.9, other: 0.6 },
      refunds: harmful,
      bookings: harmful,
      parcels: harmful,
      mixed: harmful,
    },
    mixedSeveral: 0,
  },
  {
    ...plain,
    name: 'pinned to outcomes-mixed',
    mixedSeveral: 0.8,
    skills: { ...all, mixed: { own: 0.8, idle: 0.5, other: 0 } },
    evaluation: { router: 'outcomes-mixed', mixedAdapter: true },
  },
  {
    ...plain,
    name: 'pinned to labels',
    later: 0.2,
    skills: { ...all, refunds: weak },
    evaluation: { router: 'labels', routingRollouts: 120 },
  },
  { ...plain, name: 'pinned to logits', menu: 0.8, skills: all, evaluation: { router: 'logits' } },
];

/** A task as it was dealt. */
interface Task {
  seed: number;
  /** What it calls for at its opening, and later. */
  needs: string[];
  later: string | null;
  opening: string;
  message: string;
}

const unit = (...parts: (string | number)[]): number =>
  createHash('sha256').update(parts.join('|')).digest().readUInt32BE(0) / 2 ** 32;

/** The tasks of a world. */
export function tasksOf({ name, capabilities, tasks, several, later }: World): Task[] {
  const random = randomSource([...name].reduce((sum, char) => sum + char.charCodeAt(0), 0));
  const pick = <T>(from: readonly T[]): T => from[random.below(from.length)]!;
  const chance = () => random.below(1000) / 1000;
  const said = (need: string) => `${pick(WORDS[need]!)} ${pick(FILLERS)}`;
  return Array.from({ length: tasks }, (_, seed) => {
    const [two, after] = [chance() < several, chance() < later];
    const first = after ? 'none' : pick(two ? capabilities : [...capabilities, 'none', 'none']);
    const second = pick(capabilities.filter((id) => id !== first));
    const needs = [...new Set([first, ...(two ? [second] : [])])].filter((need) => need !== 'none');
    return {
      seed,
      needs,
      later: after ? second : null,
      opening: two ? `${said(first)} and then ${said(second)}` : `${said(first)} ${pick(FILLERS)}`,
      message: `${said(second)} ${pick(FILLERS)}`,
    };
  });
}

/** Whether an arm passes a trial of a task, when it answers from `opening` on and `last` after the last message. */
export function passes(
  { name, skills, mixedSeveral }: World,
  task: Task,
  opening: string,
  last: string,
  trial: number,
) {
  const skill = skills[last]!;
  const wanted = task.later === null ? task.needs : [task.later];
  const isOwn = last === 'mixed' || wanted.includes(last);
  const rate =
    wanted.length > 1
      ? last === 'mixed'
        ? mixedSeveral!
        : isOwn
          ? 0.3
          : 0.02
      : wanted.length === 0
        ? skill.idle
        : isOwn || last === 'none'
          ? skill.own
          : skill.other;
  return unit(name, task.seed, opening, last, trial) < rate;
}

/** The conversation of a task after the agent's first answer. */
const laterOf = ({ later, message }: Task): ChatMessage[] => [
  { role: 'assistant', content: 'What can I do for you?' },
  ...(later === null ? [] : [{ role: 'user' as const, content: message }]),
];

/** The base model's collected rollout of a task. */
export function trajectoryOf(world: World, task: Task): Trajectory {
  return {
    id: createHash('sha256').update(`${world.name} ${task.seed}`).digest('hex'),
    task: { seed: task.seed, split: 'train' },
    trial: 0,
    model: 'base',
    messages: [{ role: 'user', content: task.opening }, ...laterOf(task)],
    success: passes(world, task, 'none', 'none', 0),
    ...{ samplingSeed: 0, reward: 0, finish: 'done', steps: 0, tags: [], diagnostics: {} },
    usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
  };
}

/** What identification said of a task. */
export function labelsOf(world: World, task: Task, trajectoryId: string): ConsensusLabel[] {
  return world.capabilities.map((capabilityId) => {
    const isNeeded = task.needs.includes(capabilityId) || task.later === capabilityId;
    const label = isNeeded !== unit(world.name, task.seed, capabilityId, 'label') < world.noise ? 'LACKING' : 'NA';
    return { trajectoryId, capabilityId, label, step: null, reason: '', votes: { NA: 0, PRESENT: 0, LACKING: 1 } };
  });
}

/** What the base model answers to the menu of a world. */
export function menuAnswer({ name, menu, capabilities }: World, task: Task) {
  const order = [...capabilities].sort();
  const right = task.needs[0] === undefined ? order.length : order.indexOf(task.needs[0]);
  const isRight = unit(name, task.seed, 'menu') < menu;
  const chosen = isRight ? right : Math.floor(unit(name, task.seed, 'wrong') * (order.length + 1));
  const sure = 0.4 + 0.5 * unit(name, task.seed, 'sure');
  const probabilities = [...order, 'none'].map((_, place) => (place === chosen ? sure : (1 - sure) / order.length));
  return { seed: task.seed, capabilityId: order[chosen] ?? 'none', probabilities, coveredMass: 1 };
}

/** Which arm answers last in a task whose model may change after messages. */
export const lastArm = (task: Task, first: string, after?: (messages: readonly ReadMessage[]) => string): string =>
  after === undefined ? first : after([{ role: 'user', content: task.opening }, ...laterOf(task)]);
