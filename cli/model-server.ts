import { request } from 'undici';
import { z } from 'zod';
import { cleanLine, startOf } from '../contracts/clean-text';
import { belongsTo } from '../contracts/key-endpoints';
import type { AgentSpec } from '../contracts/config/agent-spec';
import type { Agent } from './agent';
import { keyAddresses } from './key-addresses';
import { serviceRow } from './supervisor/service-text';

/** A server that works lists its models at once. */
const TIMEOUT_MS = 2_000;
/** Names of served models that are shown, and the characters of one. */
const NAMED = 5;
const MOST_OF_A_NAME = 100;
/** Most characters of an answer. A list of models is far shorter. */
const MOST_OF_AN_ANSWER = 1_000_000;

const modelsSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

/** What is wrong with the model server of an agent.yaml. */
export interface ModelServerProblem {
  /** What a table shows. */
  status: 'not reachable' | 'no model list' | 'other model';
  /** The field, what is wrong and what to do, as the end of a message that names the file. */
  text: string;
}

/**
 * Asks the server at model.baseUrl for its models, for two seconds at most. Null if it serves model.name, if it wants a
 * key that this shell may not send, or if agent.yaml names no server.
 */
export async function modelServerProblem({ model }: Pick<AgentSpec, 'model'>): Promise<ModelServerProblem | null> {
  const { baseUrl, name } = model;
  if (baseUrl === undefined) return null;
  const url = `${baseUrl}/models`;
  const waits = 'A run waits in its first checks until it does.';
  let status: number;
  let text: string;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await request(url, { headers: keyFor(baseUrl), signal });
    status = answer.statusCode;
    text = await startOfBody(answer.body.setEncoding('utf8'));
  } catch (error) {
    return {
      status: 'not reachable',
      text:
        `model.baseUrl: the model server at ${baseUrl} does not answer this machine (${reasonOf(error)}). ${waits} ` +
        'Start it, or correct the address.',
    };
  }
  if (status === 401 || status === 403) return null;
  const served = namesIn(text);
  if (status !== 200 || served === null)
    return {
      status: 'no model list',
      text:
        `model.baseUrl: the server at ${url} does not answer with a list of models (status ${status}). ${waits} ` +
        'Correct the address, which normally ends in /v1, or look at the server.',
    };
  if (served.includes(name)) return null;
  return {
    status: 'other model',
    text:
      `model.name: the model server at ${baseUrl} does not serve ${name}; it serves ${listOf(served)}. ${waits} ` +
      'Correct the name, or let the server serve the model under it.',
  };
}

/** Its row in the table of services, and below it what is wrong; empty if agent.yaml names no server. */
export async function modelServerLines(agent: Agent | null): Promise<string[]> {
  const url = agent?.spec.model.baseUrl;
  if (agent === null || url === undefined) return [];
  const problem = await modelServerProblem(agent.spec);
  const row = serviceRow('model server', problem?.status ?? 'ready', url);
  return problem === null ? [row] : [row, `${agent.path}: ${problem.text}`];
}

/** The key of this shell, where the server may have it. */
function keyFor(baseUrl: string): Record<string, string> {
  const key = process.env['WHET_MODEL_API_KEY'];
  if (!key) return {};
  const allowed = [...keyAddresses(process.env['WHET_MODEL_URL']), ...keyAddresses(process.env['WHET_KEY_ENDPOINTS'])];
  return belongsTo(baseUrl, allowed) ? { authorization: `Bearer ${key}` } : {};
}

function reasonOf(error: unknown): string {
  const { name, code, message } = error as NodeJS.ErrnoException;
  return name === 'TimeoutError' ? `no answer within ${TIMEOUT_MS / 1000} s` : String(code ?? message);
}

/** A text that the server sends; what is beyond the limit is not read. */
async function startOfBody(body: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of body) {
    text += part;
    if (text.length > MOST_OF_AN_ANSWER) break;
  }
  return text;
}

/** The names in a list of models; null if the text is none. */
function namesIn(text: string): string[] | null {
  try {
    return modelsSchema.parse(JSON.parse(text)).data.map(({ id }) => id);
  } catch {
    return null;
  }
}

function listOf(names: readonly string[]): string {
  if (names.length === 0) return 'no model';
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  const shown = names.slice(0, NAMED).map((name) => startOf(cleanLine(name), MOST_OF_A_NAME));
  return `${shown.join(', ')}${more}`;
}
