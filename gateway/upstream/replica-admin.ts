import { z } from 'zod';
import type { Replica } from './replica';

/** Largest number of models that a server may list, because it is asked every second. */
const MOST_MODELS = 10_000;
const modelsSchema = z.object({ data: z.array(z.object({ id: z.string().max(500) })).max(MOST_MODELS) });

const LIST_MS = 2_000;
const PROBE_MS = 10_000;
/** vLLM may read an adapter of some hundred megabytes from a network disk. */
const LOAD_MS = 120_000;

/**
 * Management calls to a model server: OpenAI's list of models, and vLLM's calls that load and unload adapters. Every
 * method rejects if the server does not answer with status 200 in time.
 */
export class ReplicaAdmin {
  constructor(private readonly replica: Replica) {}

  /** Names of the currently served models. */
  async models(): Promise<string[]> {
    const text = await this.replica.ask('/models', null, AbortSignal.timeout(LIST_MS));
    return modelsSchema.parse(JSON.parse(text)).data.map(({ id }) => id);
  }

  /** Loads an adapter from a directory in PEFT format, as the server sees it. */
  async load(name: string, path: string): Promise<void> {
    await this.replica.ask('/load_lora_adapter', { lora_name: name, lora_path: path }, AbortSignal.timeout(LOAD_MS));
  }

  /** Unloads an adapter. The server waits until the adapter's requests in flight have ended. */
  async unload(name: string): Promise<void> {
    await this.replica.ask('/unload_lora_adapter', { lora_name: name }, AbortSignal.timeout(LOAD_MS));
  }

  /** Generates one token, so that an adapter that does not work never gets traffic. */
  async probe(model: string): Promise<void> {
    const question = { model, messages: [{ role: 'user', content: 'ping' }], max_tokens: 1, temperature: 0 };
    const text = await this.replica.ask('/chat/completions', question, AbortSignal.timeout(PROBE_MS));
    const answer = JSON.parse(text) as { choices?: unknown };
    if (!Array.isArray(answer.choices) || answer.choices.length === 0)
      throw new Error(`${model} answered the probe without a choice`);
  }
}
