import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FakeAnalystBody } from './analyst-endpoint';

/** A batch as the fake holds it. */
interface FakeBatch {
  id: string;
  status: string;
  created_at: number;
  metadata: Record<string, string>;
  input_file_id: string;
  output_file_id?: string;
  /** Times that it was asked for. */
  polls: number;
}

/**
 * A fake of OpenAI's Files and Batch API (and of chat completions), in which a batch is done after a few looks at it.
 */
export interface FakeBatchEndpoint {
  url: string;
  batches: FakeBatch[];
  /** Bodies of direct calls. */
  direct: FakeAnalystBody[];
  /** Content of the uploaded files. */
  files: Map<string, string>;
  close(): Promise<void>;
}

/**
 * Starts the fake. `answer` gives the content of the answer to a body, null for a line that fails; `status` what a
 * batch ends as; `polls` how many looks it takes; `junk` what its output begins with.
 */
export async function startFakeBatchEndpoint(
  answer: (body: FakeAnalystBody, inBatch: boolean) => string | null,
  options: { status?: string; polls?: number; withoutBatches?: boolean; junk?: string } = {},
): Promise<FakeBatchEndpoint> {
  const [batches, direct, files]: [FakeBatch[], FakeAnalystBody[], Map<string, string>] = [
    [],
    [],
    new Map<string, string>(),
  ];
  const completion = (body: FakeAnalystBody, content: string) => ({
    id: 'fake',
    object: 'chat.completion',
    created: 0,
    model: body.model,
    choices: [
      { index: 0, message: { role: 'assistant', content, refusal: null }, logprobs: null, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  });
  const finish = (batch: FakeBatch): void => {
    batch.status = options.status ?? 'completed';
    if (batch.status === 'failed') return;
    const lines = (files.get(batch.input_file_id) ?? '').split('\n').filter(Boolean);
    const output = lines.flatMap((line) => {
      const { custom_id, body } = JSON.parse(line) as { custom_id: string; body: FakeAnalystBody };
      const content = answer(body, true);
      if (content === null) return [];
      const response = { status_code: 200, body: completion(body, content) };
      return [`${JSON.stringify({ id: custom_id, custom_id, response, error: null })}\n`];
    });
    batch.output_file_id = `file-out-${batch.id}`;
    files.set(batch.output_file_id, (options.junk ?? '') + output.join(''));
  };
  const respond = (method: string, path: string, body: string): unknown => {
    const [, , kind, id, part] = path.split(/[/?]/);
    if (kind === 'chat') {
      const parsed = JSON.parse(body) as FakeAnalystBody;
      direct.push(parsed);
      return completion(parsed, answer(parsed, false) ?? '');
    }
    if (options.withoutBatches) return null;
    if (kind === 'files' && method === 'POST') {
      const name = `file-${files.size}`;
      // The part of the form that is the file: between the blank line behind its name and the next boundary.
      files.set(name, /filename="questions\.jsonl"[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(body)?.[1] ?? '');
      return { id: name, object: 'file' };
    }
    if (kind === 'files' && part === 'content') return files.get(id as string) ?? '';
    if (kind === 'batches' && method === 'POST') {
      const { input_file_id, metadata } = JSON.parse(body) as FakeBatch;
      const batch: FakeBatch = {
        id: `batch_${batches.length}`,
        status: 'in_progress',
        created_at: Date.now() / 1000,
        metadata,
        input_file_id,
        polls: 0,
      };
      batches.unshift(batch);
      if (options.polls === 0) finish(batch);
      return batch;
    }
    if (kind === 'batches' && id?.startsWith('batch_')) {
      const batch = batches.find((one) => one.id === id) as FakeBatch;
      if (batch.status === 'in_progress' && ++batch.polls >= (options.polls ?? 2)) finish(batch);
      return batch;
    }
    return { object: 'list', data: batches, has_more: false };
  };
  const server = createServer((message, response) => {
    const parts: Buffer[] = [];
    message.on('data', (part: Buffer) => parts.push(part));
    message.on('end', () => {
      const value = respond(message.method ?? 'GET', message.url ?? '', Buffer.concat(parts).toString('utf8'));
      const text = typeof value === 'string' ? value : JSON.stringify(value ?? { error: { message: 'not found' } });
      response
        .writeHead(value === null ? 404 : 200, {
          'content-type': typeof value === 'string' ? 'application/octet-stream' : 'application/json',
        })
        .end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    batches,
    direct,
    files,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
