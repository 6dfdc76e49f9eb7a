import { z } from 'zod';
import { readText } from './read-text';
import type { Replica } from './replica';

/** Most models that a server may list: it is asked each second. */
const MOST_MODELS = 10_000;
const modelsSchema = z.object({ data: z.array(z.object({ id: z.string().max(500) })).max(MOST_MODELS) });

const LIST_MS = 2_000;
const PROBE_MS = 10_000;
/** vLLM may read an adapter of some hundred megabytes from a network disk. */
const LOAD_MS = 120_000;

/**
 * Management calls to a model server: OpenAI's list of models, and vLLM's calls that load and unload adapters. Every
 * method rejects when the server does not answer with status 200, or not in time.
 */
export class ReplicaAdmin {
  constructor(private readonly replica: Replica) {}

  /** Names of the models that are served now. */
  async models(): Promise<string[]> {
    return modelsSchema.parse(JSON.parse(await this.send('GET', '/models', null, LIST_MS))).data.map(({ id }) => id);
  }

  /** Loads an adapter from a directory in PEFT format, as the server sees it. */
  async load(name: string, path: string): Promise<void> {
    await this.send('POST', '/load_lora_adapter', { lora_name: name, lora_path: path }, LOAD_MS);
  }

  /** Unloads an adapter. The server waits until the adapter's requests in flight have ended. */
  async unload(name: string): Promise<void> {
    await this.send('POST', '/unload_lora_adapter', { lora_name: name }, LOAD_MS);
  }

  /** Generates one token, so that an adapter which cannot be run never takes traffic. */
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
    const { pool, adminPool, basePath, apiKey } = this.replica;
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = await (path.endsWith('_lora_adapter') ? adminPool : pool).request({
      method,
      path: basePath + path,
      headers: {
        'content-type': 'application/json',
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      ...(body === null ? {} : { body: JSON.stringify(body) }),
      signal,
    });
    const text = await readText(answer.body);
    if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
    return text;
  }
}
