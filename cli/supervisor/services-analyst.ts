import { z } from 'zod';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { withoutPasswords } from '../../loaders/schema-problems';
import type { Plan } from './plan';

/** Which analyst the services of one start ask. Other users of the machine may read it, so it holds no key. */
export const servicesAnalystSchema = z.object({
  /** Where the recorded answers are, or the program that answers; null: none are played. */
  recorded: z.string().nullable(),
  /** true: only these are asked, whatever agent.yaml names. */
  isOnly: z.boolean(),
  /** The endpoint in the variables, without passwords; null if they set none. */
  baseUrl: z.string().nullable(),
  /** WHET_ANALYST_MODEL. */
  model: z.string().nullable(),
});

/** Which analyst the services of one start ask. */
export type ServicesAnalyst = z.infer<typeof servicesAnalystSchema>;

/** The analyst of services with this planned one and these variables. */
export function servicesAnalyst(
  played: Pick<NonNullable<Plan['analyst']>, 'script' | 'assets' | 'isOnly'> | null,
  environment: NodeJS.ProcessEnv = process.env,
): ServicesAnalyst {
  // A key alone means OpenAI's endpoint.
  const own = environment['OPENAI_API_KEY'] ? 'https://api.openai.com/v1' : null;
  return {
    recorded: played === null ? null : (played.assets ?? played.script),
    isOnly: played?.isOnly === true,
    baseUrl: plain(environment['OPENAI_BASE_URL'] || own),
    model: environment['WHET_ANALYST_MODEL'] || null,
  };
}

/** The analyst that a run of the agent asks where these services are up, in words that differ for different ones. */
export function askedAnalyst(
  { recorded, isOnly, baseUrl, model }: ServicesAnalyst,
  { analyst }: Pick<AgentSpec, 'analyst'>,
): string {
  const answers = `the recorded answers of ${recorded}`;
  if (isOnly) return answers;
  const address = plain(analyst.baseUrl ?? null) ?? baseUrl;
  if (address !== null) return `${analyst.model ?? model ?? 'an unnamed model'} at ${address}`;
  return recorded === null ? 'no analyst' : answers;
}

const plain = (url: string | null): string | null => (url === null ? null : withoutPasswords(url).replace(/\/+$/, ''));
