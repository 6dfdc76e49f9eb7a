import { z } from 'zod';
import type { Replica } from './replica';

const modelsSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

const LIST_MS = 2_000;
const PROBE_MS = 10_000;
/** vLLM reads an adapter of some hundred megabytes from a network disk. */
const LOAD_MS = 120_000;

/**
 * The management side of a model server (OpenAI's list, vLLM's adapter calls). Every method rejects when the answer is
 * not a success.
 */
export class ReplicaAdmin {
  constructor(private readonly replica: Replica) {}

  /** Names that are served now. */
  async models(): Promise<string[]> {
    return modelsSchema.parse(JSON.parse(await this.send('GET', '/models', null, LIST_MS))).data.map(({ id }) => id);
  }

  async load(name: string, path: string): Promise<void> {
    await this.send('POST', '/load_lora_adapter', { lora_name: name, lora_path: path }, LOAD_MS);
  }

  /** Merges loaded adapters by weight: the policy server's own call, which vLLM does not have. */
  async merge(name: string, parts: readonly { adapter: string; weight: number }[]): Promise<void> {
    const lora_mixture = parts.map(({ adapter, weight }) => ({ lora_name: adapter, weight }));
    await this.send('POST', '/load_lora_adapter', { lora_name: name, lora_mixture }, LOAD_MS);
  }

  /** Waits at the server until requests under way with it have ended. */
  async unload(name: string): Promise<void> {
    await this.send('POST', '/unload_lora_adapter', { lora_name: name }, LOAD_MS);
  }

  /** One token, so that an adapter which cannot be run never takes traffic. */
  async probe(model: string): Promise<void> {
    const answer = JSON.parse(
      await this.send(
        'POST',
        '/chat/completions',
        { model, messages: [{ role: 'user', content: 'ping' }], max_tokens: 1, temperature: 0 },
        PROBE_MS,
      ),
    ) as { choices?: unknown };
    if (!Array.isArray(answer.choices) || answer.choices.length === 0)
      throw new Error(`${model} answered the probe without a choice`);
  }

  private async send(method: 'GET' | 'POST', path: string, body: unknown, timeoutMs: number): Promise<string> {
    const { pool, basePath, apiKey } = this.replica;
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = await pool.request({
      method,
      path: basePath + path,
      headers: {
        'content-type': 'application/json',
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      ...(body === null ? {} : { body: JSON.stringify(body) }),
      signal,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
    return text;
  }
}
