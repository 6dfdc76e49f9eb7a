import type { z } from 'zod';
import {
  type Conversation,
  conversationSchema,
  countsMore,
  type Outcome,
  outcomeAmong,
  outcomeSchema,
  UNKNOWN_MODEL,
} from '../contracts/artifacts/conversation';
import { type Trajectory, trajectorySchema } from '../contracts/artifacts/trajectory';
import { conversationSeed, trajectoryId } from '../contracts/artifacts/trajectory-id';
import type { ArtifactStore } from './artifact-store';
import { layout } from './layout';
import { LineFile } from './line-file';

/** Most schemas of tools that are returned. */
const MOST_TOOLS = 500;
/** Most trajectories that are returned unless told. */
const MOST = 20_000;

/** The result of reading ingested conversations. */
export interface IngestedTraces {
  /** Those with an outcome, in the order of their ids. */
  trajectories: Trajectory[];
  /** Schemas of the tools that were offered in them, each name once, as it was captured last. */
  tools: unknown[];
  counts: {
    /** Different ids, of each format for itself. */
    conversations: number;
    /** Those without an outcome, also where what names them disagrees. */
    withoutOutcome: number;
    /** Lines of the store that are none; they are left out. */
    unreadable: number;
  };
}

/** One artifact of ingested conversations or outcomes. */
export interface IngestedFile<T> {
  key: string;
  /** Its lines; null for a line that is none. */
  lines: Iterable<T | null>;
  /** The bytes of a line, without its end. */
  bytesOf: (line: number) => Buffer;
}

/**
 * All artifacts of an agent's ingested conversations; one is in memory at a time.
 * @throws the signal's reason; StoreCorruptError when a file's bytes are not what its name says.
 */
export const ingestedConversations = (
  store: ArtifactStore,
  agent: string,
  signal?: AbortSignal,
): AsyncGenerator<IngestedFile<Conversation>> =>
  filesOf(store, layout.ingestedConversations(agent), conversationSchema, signal);

/** The same for outcomes. */
export const ingestedOutcomes = (
  store: ArtifactStore,
  agent: string,
  signal?: AbortSignal,
): AsyncGenerator<IngestedFile<Outcome>> => filesOf(store, layout.ingestedOutcomes(agent), outcomeSchema, signal);

async function* filesOf<T>(
  store: ArtifactStore,
  directory: string,
  schema: z.ZodType<T>,
  signal?: AbortSignal,
): AsyncGenerator<IngestedFile<T>> {
  for (const name of await store.list(directory)) {
    signal?.throwIfAborted();
    if (!name.endsWith('.jsonl')) continue;
    const key = `${directory}/${name}`;
    const file = new LineFile(await store.getNamed(key), schema);
    yield { key, lines: linesOf(file), bytesOf: (line) => file.bytesOf(line) };
  }
}

function* linesOf<T>(file: LineFile<T>): Generator<T | null> {
  for (let line = 0; line < file.length; line++) {
    let value: T | null = null;
    try {
      value = file.at(line);
    } catch {
      // Any version of the command may have written it, and that must not end a run.
    }
    yield value;
  }
}

/** Where a version of a conversation is, and what decides whether it counts. */
interface Version {
  file: number;
  line: number;
  messages: number;
  at: string;
  startedAt: string | null;
  /** The outcome of its id. */
  own: KnownOutcome | null;
  /** Those of its aliases, in any version. Null: none. */
  ofAliases: Set<KnownOutcome> | null;
}

/** What tells a conversation from others: different tools may give the same id. In the order of the ids. */
const keyOf = ({ id, format }: Pick<Conversation, 'id' | 'format'>): string => `${id}\n${format}`;

/** A version that is returned. */
type Chosen = Pick<Version, 'file' | 'line' | 'startedAt'> & { outcome: KnownOutcome };

type KnownOutcome = Pick<Outcome, 'success' | 'reward' | 'from' | 'at'>;

/**
 * Reads the conversations of an agent that `whet ingest` stored, each once, with its outcome: the longest of its
 * versions, and of equally long ones the one that was ingested last. An outcome names a conversation by its id or by an
 * alias (`outcomeAmong`). Of all with an outcome it returns at most `most`, preferring those that started last. In
 * memory are these, one artifact, and some numbers for each conversation.
 * @param options.most default: 20,000.
 * @throws the signal's reason; StoreCorruptError when a file's bytes are not what its name says.
 */
export async function readIngested(
  store: ArtifactStore,
  agent: string,
  { most = MOST, signal }: { most?: number; signal?: AbortSignal } = {},
): Promise<IngestedTraces> {
  const { outcomes, unreadable: badOutcomes } = await readOutcomes(store, agent, signal);
  const versions = new Map<string, Version>();
  let unreadable = badOutcomes;
  let file = 0;
  for await (const { lines } of ingestedConversations(store, agent, signal)) {
    let line = 0;
    for (const conversation of lines) {
      if (conversation === null) unreadable++;
      else keepVersion(versions, conversation, { file, line }, outcomes);
      line++;
    }
    file++;
  }
  const known = [...versions].flatMap(([key, { own, ofAliases, ...version }]) => {
    const outcome = outcomeAmong(own, [...(ofAliases ?? [])]);
    return outcome === null || outcome === 'disagree' ? [] : [[key, { ...version, outcome }] as const];
  });
  const chosen = known.sort(([a, one], [b, other]) => byStart(one, other) || (a < b ? -1 : 1)).slice(0, most);
  const { trajectories, tools } = await load(store, agent, new Map(chosen), signal);
  return {
    trajectories: trajectories.sort((a, b) => (a.id < b.id ? -1 : 1)),
    tools,
    counts: { conversations: versions.size, withoutOutcome: versions.size - known.length, unreadable },
  };
}

/** The latest start first; those without one last. */
const byStart = ({ startedAt: one }: Chosen, { startedAt: other }: Chosen): number =>
  (one ?? '') === (other ?? '') ? 0 : (one ?? '') > (other ?? '') ? -1 : 1;

async function readOutcomes(store: ArtifactStore, agent: string, signal?: AbortSignal) {
  const outcomes = new Map<string, KnownOutcome>();
  let unreadable = 0;
  for await (const { lines } of ingestedOutcomes(store, agent, signal))
    for (const outcome of lines) {
      if (outcome === null) {
        unreadable++;
        continue;
      }
      const { conversation, success, reward, from, at } = outcome;
      const before = outcomes.get(conversation);
      if (before === undefined || countsMore(outcome, before))
        outcomes.set(conversation, { success, reward, from, at });
    }
  return { outcomes, unreadable };
}

function keepVersion(
  versions: Map<string, Version>,
  conversation: Conversation,
  place: Pick<Version, 'file' | 'line'>,
  outcomes: ReadonlyMap<string, KnownOutcome>,
): void {
  const { id, aliases = [], messages, at, startedAt } = conversation;
  const key = keyOf(conversation);
  const before = versions.get(key);
  const isNewer =
    before === undefined ||
    messages.length > before.messages ||
    (messages.length === before.messages && at >= before.at);
  const own = outcomes.get(id) ?? null;
  let ofAliases = before?.ofAliases ?? null;
  for (const alias of aliases) {
    const outcome = outcomes.get(alias);
    if (outcome !== undefined) ofAliases = (ofAliases ?? new Set()).add(outcome);
  }
  const version = isNewer ? { ...place, messages: messages.length, at, startedAt } : before;
  versions.set(key, { ...version, own, ofAliases });
}

/** Reads the chosen versions, a file after the other. */
async function load(
  store: ArtifactStore,
  agent: string,
  chosen: ReadonlyMap<string, Chosen>,
  signal?: AbortSignal,
): Promise<Pick<IngestedTraces, 'trajectories' | 'tools'>> {
  const trajectories: Trajectory[] = [];
  const tools = new Map<string, { schema: unknown; at: string }>();
  const places = new Map([...chosen].map(([key, { file, line, outcome }]) => [`${file} ${line}`, { key, outcome }]));
  const seedNames = seedNamesOf([...chosen.keys()]);
  let file = 0;
  for await (const { lines } of ingestedConversations(store, agent, signal)) {
    let line = 0;
    for (const conversation of lines) {
      const place = places.get(`${file} ${line++}`);
      if (place === undefined || conversation === null || keyOf(conversation) !== place.key) continue;
      trajectories.push(toTrajectory(conversation, place.outcome, seedNames.get(place.key) ?? place.key));
      for (const schema of conversation.tools ?? []) noteTool(tools, schema, conversation.at);
    }
    file++;
  }
  return { trajectories, tools: [...tools.values()].map(({ schema }) => schema) };
}

/** From what the seed of each is derived: its id, unless one of another format has the same id. */
function seedNamesOf(keys: readonly string[]): Map<string, string> {
  const taken = new Set<string>();
  return new Map(
    keys.toSorted().map((key) => {
      const id = key.slice(0, key.lastIndexOf('\n'));
      const name = taken.has(id) ? key : id;
      taken.add(id);
      return [key, name];
    }),
  );
}

function noteTool(tools: Map<string, { schema: unknown; at: string }>, schema: unknown, at: string): void {
  const { function: called } = (schema ?? {}) as { function?: { name?: unknown } };
  const name = typeof called?.name === 'string' ? called.name : JSON.stringify(schema);
  const before = tools.get(name);
  if (before === undefined ? tools.size < MOST_TOOLS : at >= before.at) tools.set(name, { schema, at });
}

function toTrajectory(
  { seed, model, messages, branches, leftOut }: Conversation,
  { success, reward }: KnownOutcome,
  seedName: string,
): Trajectory {
  const task = { seed: seed ?? conversationSeed(seedName), split: 'live' as const };
  const named = model ?? UNKNOWN_MODEL;
  return trajectorySchema.parse({
    id: trajectoryId({ task, trial: 0, model: named, messages }),
    task,
    trial: 0,
    model: named,
    ...(leftOut && { leftOut }),
    samplingSeed: 0,
    messages,
    ...(branches && { branches }),
    reward,
    success,
    finish: 'done',
    steps: messages.reduce((sum, { tool_calls: calls }) => sum + (calls?.length ?? 0), 0),
    usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
    tags: [],
    diagnostics: {},
  });
}
