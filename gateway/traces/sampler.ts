/**
 * Sampled conversations, kept until their outcome is posted and then written as trajectories, so that tonight's run can
 * learn from today's traffic. The last request of a conversation holds all of it but the last answer, so only the last
 * one is kept.
 */
import { hash } from 'node:crypto';
import { trajectoryId } from '../../contracts/artifacts/trajectory-id';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { ServedAgent } from '../agents/served-agent';
import type { ConversationKey } from '../conversations';
import type { InferenceRequest } from '../http/inference-request';
import type { Metrics } from '../metrics';
import { readStream, readWhole, toChatMessage } from './openai-messages';
import { createRedaction, type Redaction } from './redact';
import type { TraceWriter } from './writer';

/** Memory for conversations that wait for their outcome. */
const KEPT_BYTES = 64_000_000;
/** A longer answer is not kept. */
const LONGEST_ANSWER_BYTES = 1_000_000;

/** Sampled conversations whose models are remembered. */
const REMEMBERED = 200_000;
/**
 * Model of a conversation of which not all turns were answered by one: after a fallback, a promotion, or when a client
 * names another.
 */
const MIXED = 'mixed';

/** Sees the answer of one request. */
export interface AnswerRecorder {
  piece(bytes: Buffer): void;
  end(complete: boolean): void;
}

interface KeptTurn {
  model: string;
  asked: InferenceRequest;
  answer: string;
  bytes: number;
}

export class TraceSampler {
  private readonly kept = new Map<string, KeptTurn>();
  /** By conversation, outcomes and turns that were not kept included; those used last. */
  private readonly models = new Map<string, string>();
  private readonly redactions = new Map<string, Redaction>();
  private bytes = 0;

  constructor(
    private readonly writer: TraceWriter,
    private readonly metrics: Metrics,
  ) {}

  /** Null for a conversation that is not sampled. */
  recorderFor(
    { settings }: ServedAgent,
    { key }: ConversationKey,
    model: () => string,
    asked: InferenceRequest,
  ): AnswerRecorder | null {
    if (
      settings.traces.sample === 0 ||
      !Array.isArray(asked.parsed['messages']) ||
      !isSampled(key, settings.traces.sample)
    )
      return null;
    const pieces: Buffer[] = [];
    let size = 0;
    return {
      piece: (bytes) => {
        size += bytes.length;
        if (size <= LONGEST_ANSWER_BYTES) pieces.push(bytes);
      },
      end: (complete) => {
        const heard = this.rememberModel(key, model());
        if (!complete || size > LONGEST_ANSWER_BYTES) return;
        this.keep(key, {
          model: heard,
          asked,
          answer: Buffer.concat(pieces).toString('utf8'),
          bytes: size + asked.body.length,
        });
      },
    };
  }

  /** Writes a conversation, now that it is known how it went. Does nothing for one that was not sampled. */
  outcome({ settings }: ServedAgent, key: string, reward: number): void {
    const kept = this.take(key);
    if (kept === undefined) return;
    const { name, traces } = settings;
    const redact = this.redactions.get(name) ?? createRedaction(traces);
    this.redactions.set(name, redact);
    try {
      this.writer.add(name, toTrajectory(kept, key, reward, traces.successReward, redact));
    } catch {
      // Images, audio, answers that are no chat message: the format has no place for them.
      this.metrics.traces.inc({ agent: name, result: 'unreadable' });
    }
  }

  /** The model that answered all turns so far, as far as this gateway remembers, or `mixed`. */
  private rememberModel(key: string, model: string): string {
    const before = this.models.get(key);
    const heard = before === undefined || before === model ? model : MIXED;
    this.models.delete(key);
    this.models.set(key, heard);
    if (this.models.size > REMEMBERED) this.models.delete(this.models.keys().next().value as string);
    return heard;
  }

  private keep(key: string, kept: KeptTurn): void {
    this.take(key);
    this.kept.set(key, kept);
    this.bytes += kept.bytes;
    for (const oldest of this.kept.keys()) {
      if (this.bytes <= KEPT_BYTES) break;
      this.take(oldest);
    }
  }

  private take(key: string): KeptTurn | undefined {
    const kept = this.kept.get(key);
    if (kept !== undefined) this.bytes -= kept.bytes;
    this.kept.delete(key);
    return kept;
  }
}

/** By hash, so that all turns of a conversation, at any gateway, are sampled or none. */
const isSampled = (key: string, share: number): boolean => seedOf(`trace\u0000${key}`) / 2 ** 52 < share;

/** 52 bits of a hash: fits the trajectory's task seed. */
const seedOf = (text: string): number => Number.parseInt(hash('sha256', text, 'hex').slice(0, 13), 16);

/** Throws for what is no trajectory, so that only what the next run can read is written. */
function toTrajectory(
  { model, asked, answer }: KeptTurn,
  key: string,
  reward: number,
  successReward: number,
  redact: Redaction,
): Trajectory {
  const { message, promptTokens, completionTokens } = asked.stream ? readStream(answer) : readWhole(answer);
  const messages = [...(asked.parsed['messages'] as Record<string, unknown>[]).map(toChatMessage), message].map(redact);
  const task = { seed: seedOf(key), split: 'live' as const };
  return trajectorySchema.parse({
    id: trajectoryId({ task, trial: 0, model, messages }),
    task,
    trial: 0,
    model,
    samplingSeed: 0,
    messages,
    reward,
    success: reward >= successReward,
    finish: 'done',
    steps: messages.reduce((sum, { tool_calls: calls }) => sum + (calls?.length ?? 0), 0),
    // Of the last turn: earlier ones were not kept.
    usage: { promptTokens, completionTokens, cachedTokens: 0 },
    logprob: null,
    tags: [],
    diagnostics: {},
  });
}
