import { conversationSeed, trajectoryId } from '../../contracts/artifacts/trajectory-id';
import {
  type AnsweringModel,
  type LeftOut,
  MOST_ANSWERING_MODELS,
  SEVERAL_MODELS,
  type Trajectory,
  trajectorySchema,
} from '../../contracts/artifacts/trajectory';
import type { ServedAgent } from '../agents/served-agent';
import { ClientShares } from '../client-shares';
import type { ConversationKey } from '../conversations';
import type { Drops } from '../drops';
import type { InferenceRequest } from '../http/inference-request';
import type { Metrics } from '../metrics';
import { readStream, readWhole, toChatMessage } from '../../dialects';
import { createRedaction, type Redaction } from '../../contracts/redact-message';
import type { TraceWriter } from './writer';

/** Most memory for conversations that wait for their outcome, of all clients together. */
const KEPT_BYTES = 64_000_000;
/** Of longer answers nothing is kept. */
const LONGEST_ANSWER_BYTES = 1_000_000;
/** Number of sampled conversations whose models are recorded. */
const REMEMBERED = 200_000;
/** Largest number of model lists that conversations share. Further lists need memory for each conversation. */
const SHARED_LISTS = 1_000;

/** Records the answer to one request. */
export interface AnswerRecorder {
  /** Adds a piece of a streamed answer. */
  piece(bytes: Buffer): void;
  /** The streamed answer has ended, or there is none; `complete` is false when something is missing of it. */
  end(complete: boolean): void;
  /** The answer, which was not streamed. */
  whole(bytes: Buffer): void;
}

/** The last turn of a conversation, as bytes. A parsed body may need many times their memory. */
interface KeptTurn {
  agent: string;
  answeredBy: readonly AnsweringModel[];
  body: Buffer;
  /** What came of it; empty where it was too long. */
  answer: Buffer;
  isStream: boolean;
  isComplete: boolean;
}

/** Memory of an entry without its texts. */
const ENTRY_BYTES = 1_000;

/** Memory of a turn, in bytes. A buffer may be part of a larger one, which then stays in memory. */
const occupied = (key: string, { body, answer }: KeptTurn): number =>
  ENTRY_BYTES + 2 * key.length + body.buffer.byteLength + answer.buffer.byteLength;

/**
 * Keeps sampled conversations until their outcome is posted, then writes them as trajectories, from which the agent's
 * next run learns. Only the last request of a conversation is kept: together with its answer it contains the whole
 * conversation.
 */
export class TraceSampler {
  private readonly kept: ClientShares<KeptTurn>;
  /** By conversation. Includes turns that were not kept, and those after an outcome. */
  private readonly models: ClientShares<readonly AnsweringModel[]>;
  /** The same lists by their text: nearly all conversations have one of a few. */
  private readonly lists = new Map<string, readonly AnsweringModel[]>();
  private readonly redactions = new Map<string, Redaction>();

  constructor(
    private readonly writer: TraceWriter,
    private readonly metrics: Metrics,
    drops: Drops,
  ) {
    this.kept = new ClientShares(KEPT_BYTES, (client, { agent }) => {
      drops.note('conversation', client);
      metrics.traces.inc({ agent, result: 'dropped' });
    });
    this.models = new ClientShares(REMEMBERED, (client) => drops.note('models', client));
  }

  /**
   * Records the answer to a request; null if its conversation is not sampled. `answering` returns the model that
   * answers.
   */
  recorderFor(
    { settings }: ServedAgent,
    { key }: ConversationKey,
    answering: () => AnsweringModel,
    asked: InferenceRequest,
  ): AnswerRecorder | null {
    if (
      settings.traces.sample === 0 ||
      !Array.isArray(asked.parsed['messages']) ||
      !isSampled(key, settings.traces.sample)
    )
      return null;
    const { body } = asked;
    const pieces: Buffer[] = [];
    let size = 0;
    const piece = (bytes: Buffer) => {
      size += bytes.length;
      if (size <= LONGEST_ANSWER_BYTES) pieces.push(bytes);
    };
    const end = (complete: boolean, isStream: boolean) => {
      if (!complete && size === 0) return this.unanswered(key);
      const isKept = size <= LONGEST_ANSWER_BYTES;
      const turn = {
        agent: settings.name,
        answeredBy: this.rememberModel(key, answering()),
        body: body.bytes,
        answer: isKept ? Buffer.concat(pieces) : Buffer.alloc(0),
        isStream,
        isComplete: complete && isKept,
      };
      this.kept.set(key, turn, occupied(key, turn));
    };
    return {
      piece,
      end: (complete) => end(complete, true),
      whole: (bytes) => {
        piece(bytes);
        end(true, false);
      },
    };
  }

  /** Whether a conversation waits for its outcome. */
  has(key: string): boolean {
    return this.kept.has(key);
  }

  /**
   * Writes a conversation of a client, whose reward is now known, and resolves when it is written. Does nothing for a
   * conversation that was not sampled. Never rejects.
   */
  async outcome({ settings }: ServedAgent, client: string, key: string, reward: number): Promise<void> {
    const kept = this.kept.take(key);
    if (kept === undefined) return;
    const { name, traces } = settings;
    const redact = this.redactions.get(name) ?? createRedaction(traces);
    this.redactions.set(name, redact);
    let trajectory: Trajectory;
    try {
      trajectory = toTrajectory(kept, key, reward, traces.successReward, redact);
    } catch {
      // Answers without a chat message, and odd roles, do not fit the format.
      return this.metrics.traces.inc({ agent: name, result: 'unreadable' });
    }
    await this.writer.add({ client, agent: name, trajectory });
  }

  /** Adds the model of a turn. Returns the models of all turns that this gateway has recorded. */
  private rememberModel(key: string, answering: AnsweringModel): readonly AnsweringModel[] {
    const before = this.models.get(key) ?? [];
    const { model, version, standsIn } = answering;
    const isKnown = before.some((one) => one.model === model && one.version === version && one.standsIn === standsIn);
    const answeredBy =
      isKnown || before.length === MOST_ANSWERING_MODELS ? before : this.shared([...before, answering]);
    this.models.set(key, answeredBy);
    return answeredBy;
  }

  private shared(list: readonly AnsweringModel[]): readonly AnsweringModel[] {
    const text = JSON.stringify(list);
    const found = this.lists.get(text);
    if (found === undefined && this.lists.size < SHARED_LISTS) this.lists.set(text, list);
    return found ?? list;
  }

  /** The last request of a conversation has no answer. What is kept of it is not all then. */
  private unanswered(key: string): void {
    const before = this.kept.get(key);
    if (before !== undefined) before.isComplete = false;
  }
}

/** A hash decides, so that all gateways agree, and either all turns of a conversation are sampled or none. */
const isSampled = (key: string, share: number): boolean => conversationSeed(`trace\u0000${key}`) / 2 ** 52 < share;

/**
 * Converts a kept conversation to a trajectory. Throws if it does not fit the format, because the next run must be able
 * to read it.
 */
function toTrajectory(
  { answeredBy, body, answer, isStream, isComplete }: KeptTurn,
  key: string,
  reward: number,
  successReward: number,
  redact: Redaction,
): Trajectory {
  const leftOut = new Set<LeftOut>(isComplete ? [] : ['end']);
  const read = isStream || answer.length === 0 ? readStream : readWhole;
  const { message, promptTokens, completionTokens, cut } = read(answer.toString('utf8'), leftOut);
  const asked = JSON.parse(body.toString('utf8')) as { messages: Record<string, unknown>[] };
  const messages = [...asked.messages.map((one) => toChatMessage(one, leftOut)), message].map(redact);
  const task = { seed: conversationSeed(key), split: 'live' as const };
  const models = new Set(answeredBy.map(({ model }) => model));
  const [first = SEVERAL_MODELS] = models;
  const model = models.size === 1 ? first : SEVERAL_MODELS;
  return trajectorySchema.parse({
    id: trajectoryId({ task, trial: 0, model, messages }),
    task,
    trial: 0,
    model,
    answeredBy: [...answeredBy],
    ...(leftOut.size > 0 && { leftOut: [...leftOut].sort() }),
    samplingSeed: 0,
    messages,
    reward,
    success: reward >= successReward,
    finish: 'done',
    steps: messages.reduce((sum, { tool_calls: calls }) => sum + (calls?.length ?? 0), 0),
    ...(cut && { cutReplies: 1 }),
    // Use of the last turn only, because earlier ones were not kept.
    usage: { promptTokens, completionTokens, cachedTokens: 0 },
    tags: [],
    diagnostics: {},
  });
}
