import type OpenAI from 'openai';
import { toFile } from 'openai';
import type { Batch } from 'openai/resources/batches';
import type { ChatCompletion, ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import { z } from 'zod';
import { parseLenient } from '../contracts/lenient-json';
import { sleep } from './limiter';
import { contentKey } from './content-key';

/** One question of a batch. */
export interface BatchLine {
  /** The call's content key, unique in the batch. */
  key: string;
  body: ChatCompletionCreateParamsNonStreaming;
}

/** How to wait for a batch. */
export interface BatchOptions {
  signal?: AbortSignal;
  /** Called with the state of the batch after each check, such as `batch_1 in_progress, 30 of 200`. */
  onStatus?: (status: string) => void;
  /** Time until the second check, in milliseconds. It doubles up to a minute. Default 5 000. */
  pollMs?: number;
}

/** The end of a batch, and its answers by content key. */
export interface BatchOutcome {
  id: string;
  status: 'completed' | 'failed' | 'expired' | 'cancelled';
  /** The endpoint's error messages; empty if there are none. */
  errors: string;
  completions: Map<string, ChatCompletion>;
}

/** Metadata field with which a batch is found again. Its value is a hash of the questions' keys. */
const LABEL = 'whetstone_batch';
/** OpenAI keeps a batch for 24 hours. Older batches are not searched. */
const FORGET_SECONDS = 26 * 3600;
const LONGEST_POLL_MS = 60_000;

const outputSchema = z.object({
  custom_id: z.string(),
  response: z.object({ status_code: z.number(), body: z.unknown() }).nullable(),
});

/**
 * Sends questions through the Batch API and waits for the end. If a batch of the same questions is running or done, it
 * attaches to that batch. So an interrupted activity does not pay twice. Throws the errors of the `openai` client, and
 * CancelledFailure when the signal fires.
 */
export async function runBatch(
  client: OpenAI,
  lines: readonly BatchLine[],
  { signal, onStatus, pollMs = 5_000 }: BatchOptions = {},
): Promise<BatchOutcome> {
  const name = contentKey(...lines.map(({ key }) => key));
  const options = { signal };
  let batch = (await findBatch(client, name, options)) ?? (await createBatch(client, name, lines, options));
  for (let wait = pollMs; !isOver(batch); wait = Math.min(2 * wait, LONGEST_POLL_MS)) {
    onStatus?.(`${batch.id} ${batch.status}, ${batch.request_counts?.completed ?? 0} of ${lines.length}`);
    await sleep(wait, signal);
    batch = await client.batches.retrieve(batch.id, options);
  }
  const completions = new Map<string, ChatCompletion>();
  if (batch.output_file_id) {
    const text = await (await client.files.content(batch.output_file_id, options)).text();
    for (const line of text.split('\n').filter(Boolean)) {
      // A line that is no JSON is a question without an answer.
      const parsed = outputSchema.safeParse(parseLenient(line));
      if (parsed.success && parsed.data.response?.status_code === 200)
        completions.set(parsed.data.custom_id, parsed.data.response.body as ChatCompletion);
    }
  }
  const errors = (batch.errors?.data ?? []).map(({ message }) => message ?? '').join('; ');
  return { id: batch.id, status: batch.status as BatchOutcome['status'], errors, completions };
}

const isOver = ({ status }: Batch) => ['completed', 'failed', 'expired', 'cancelled'].includes(status);

/** Finds a batch of the same questions that did not fail; null if there is none. */
async function findBatch(
  client: OpenAI,
  name: string,
  options: { signal: AbortSignal | undefined },
): Promise<Batch | null> {
  for await (const batch of client.batches.list({ limit: 100 }, options)) {
    if (batch.created_at < Date.now() / 1000 - FORGET_SECONDS) break;
    const isOfNoUse = ['failed', 'expired', 'cancelled', 'cancelling'].includes(batch.status);
    if (batch.metadata?.[LABEL] === name && !isOfNoUse) return batch;
  }
  return null;
}

async function createBatch(
  client: OpenAI,
  name: string,
  lines: readonly BatchLine[],
  options: { signal: AbortSignal | undefined },
): Promise<Batch> {
  const text = lines
    .map(
      ({ key, body }) => `${JSON.stringify({ custom_id: key, method: 'POST', url: '/v1/chat/completions', body })}\n`,
    )
    .join('');
  const file = await client.files.create(
    { file: await toFile(Buffer.from(text), 'questions.jsonl'), purpose: 'batch' },
    options,
  );
  return client.batches.create(
    { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h', metadata: { [LABEL]: name } },
    options,
  );
}
