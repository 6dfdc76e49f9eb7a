import { resolve } from 'node:path';
import { z } from 'zod';
import { hostAndPortSchema } from '../contracts/config/host-and-port';
import { CliError } from './errors';

/** Ports of the embedded services: the variable for each, and the default value. */
export const PORTS = {
  temporal: { variable: 'WHET_TEMPORAL_PORT', fallback: 7233 },
  ui: { variable: 'WHET_TEMPORAL_UI_PORT', fallback: 8233 },
  model: { variable: 'WHET_MODEL_PORT', fallback: 8300 },
  analyst: { variable: 'WHET_ANALYST_PORT', fallback: 8301 },
  gateway: { variable: 'WHET_GATEWAY_PORT', fallback: 8400 },
} as const;
/** A service with its own port. */
export type PortName = keyof typeof PORTS;

/** Only decimal digits are accepted: JavaScript would also take 0x50, 1e3 and blanks for numbers. */
const port = ({ fallback }: { fallback: number }) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.number().int().min(1).max(65535)).default(fallback);
const text = z.string().optional();

const variables = z.object({
  WHET_HOME: text,
  WHET_STORE: text,
  TEMPORAL_ADDRESS: hostAndPortSchema.optional(),
  TEMPORAL_NAMESPACE: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be letters, digits and signs, without blanks')
    .default('default'),
  WHET_TEMPORAL_PORT: port(PORTS.temporal),
  WHET_TEMPORAL_UI_PORT: port(PORTS.ui),
  WHET_MODEL_PORT: port(PORTS.model),
  WHET_ANALYST_PORT: port(PORTS.analyst),
  WHET_GATEWAY_PORT: port(PORTS.gateway),
  OPENAI_API_KEY: text,
  OPENAI_BASE_URL: text,
});

/** The settings in environment variables; docs/reference/variables.md lists them. */
export interface Settings {
  /** State directory: WHET_HOME, default `.whetstone` in the current directory. Absolute. */
  home: string;
  /** Root of the artifact store: WHET_STORE, default `store` in the state directory. Absolute. */
  storeRoot: string;
  /** TEMPORAL_ADDRESS: the user's own Temporal server; `whet up` then starts none. Null when unset. */
  temporalAddress: string | null;
  temporalNamespace: string;
  ports: Record<PortName, number>;
  /** Whether an analyst's endpoint or key is set; then `whet up` starts no demo analyst. */
  analystConfigured: boolean;
}

/**
 * Reads the variables; an empty one counts as unset.
 * @throws CliError (exit 2) that names the variable, its value and the allowed values.
 */
export function readSettings(
  environment: NodeJS.ProcessEnv = process.env,
  directory: string = process.cwd(),
): Settings {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = variables.safeParse(present);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => {
      const name = String(issue.path[0]);
      const allowed = name.endsWith('_PORT') ? 'must be a port number from 1 to 65535' : issue.message;
      return `${name}=${JSON.stringify(environment[name])}: ${allowed}.`;
    });
    throw new CliError(problems.join('\n'), { type: 'Settings.Invalid' });
  }
  const value = parsed.data;
  const home = resolve(directory, value.WHET_HOME ?? '.whetstone');
  return {
    home,
    storeRoot: value.WHET_STORE === undefined ? resolve(home, 'store') : resolve(directory, value.WHET_STORE),
    temporalAddress: value.TEMPORAL_ADDRESS ?? null,
    temporalNamespace: value.TEMPORAL_NAMESPACE,
    ports: {
      temporal: value.WHET_TEMPORAL_PORT,
      ui: value.WHET_TEMPORAL_UI_PORT,
      model: value.WHET_MODEL_PORT,
      analyst: value.WHET_ANALYST_PORT,
      gateway: value.WHET_GATEWAY_PORT,
    },
    analystConfigured: value.OPENAI_API_KEY !== undefined || value.OPENAI_BASE_URL !== undefined,
  };
}
