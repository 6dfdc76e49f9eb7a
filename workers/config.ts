import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { hostAndPortSchema } from '../contracts/config/host-and-port';
import { apiUrlSchema, httpUrlSchema } from '../contracts/config/http-url';
import { SECRET_VARIABLE } from '../contracts/config/notify-spec';
import { withoutPasswords } from '../loaders/schema-problems';
import { loadOperatorPolicy } from '../loaders/operator-policy';
import type { WorkerPolicy } from '../contracts/config/operator-policy';
import { projectRoot } from '../contracts/project-root';
import { type QueueKind, TASK_QUEUES } from '../contracts/names';

const kinds = Object.keys(TASK_QUEUES) as [QueueKind, ...QueueKind[]];
const queues = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .pipe(z.array(z.enum(kinds)).min(1));

const addresses = z
  .string()
  .default('')
  .transform((list) => list.split(/[\s,]+/).filter((one) => one !== ''))
  .pipe(z.array(httpUrlSchema));

/** Secrets of a cluster often end with a line feed, which no header may hold. */
const key = z.string().trim().optional();

const schema = z.object({
  WHET_HOME: z.string().default('.whetstone'),
  WHET_STORE: z.string().optional(),
  TEMPORAL_ADDRESS: hostAndPortSchema.default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  WHET_PYTHON: z.string().default(join(projectRoot(), '.toolchain', 'venv', 'bin', 'python')),
  WHET_JAIL_PROFILE: z
    .string()
    .refine(
      (path) => isAbsolute(path) && existsSync(path),
      'the absolute path of a profile: sandbox/profile.json, or sandbox/profile-pod.json in a container',
    )
    .optional(),
  WHET_POLICY: z.string().refine(isAbsolute, 'an absolute path').optional(),
  WHET_OWN_FOLDERS: z.enum(['refused', 'allowed']).default('refused'),
  WHET_KEY_ENDPOINTS: addresses,
  WHET_WEBHOOK_URL: httpUrlSchema.optional(),
  WHET_WEBHOOK_ENDPOINTS: addresses,
  WHET_MODEL_URL: apiUrlSchema.optional(),
  WHET_MODEL_ADMIN_URL: apiUrlSchema.optional(),
  WHET_MODEL_API_KEY: key,
  WHET_MODEL_PATH: z.string().optional(),
  WHET_DEMO_ANALYST_URL: httpUrlSchema.optional(),
  WHET_ANALYST_ONLY: z.literal('demo').optional(),
  WHET_ANALYST_MODEL: z.string().optional(),
  OPENAI_API_KEY: key,
  OPENAI_BASE_URL: apiUrlSchema.optional(),
  WHET_REPORT_URL: httpUrlSchema.optional(),
  WHET_REPORT_LISTEN: z
    .string()
    .regex(/^[^:]+:\d+$/, 'host:port')
    .default('127.0.0.1:0'),
  WHET_TRAINERS: z.coerce.number().int().min(1).default(Math.max(1, cpus().length)),
});

/** Configuration of a worker process, from its environment variables and command line. */
export interface WorkerConfig {
  /** Kinds of task queues that this process serves. */
  queues: QueueKind[];
  storeRoot: string;
  temporalAddress: string;
  temporalNamespace: string;
  /** Interpreter that runs environments and trainers. */
  python: string;
  /** Path of the profile of the jail in which generated environments and local trainers run. */
  jailProfile: string;
  /** What agents may ask of the cluster and of this machine. */
  operatorPolicy: WorkerPolicy;
  /** Whether what lies in an agent's own folder needs no entry in the policy. */
  allowsOwnFolders: boolean;
  /** Address of the policy server, for agents whose spec names none. */
  modelUrl: string | null;
  /** For model servers that load adapters at another address: that address, by the server's own. */
  adapterUrls: Record<string, string>;
  /** API key of the model endpoint, if it requires one. */
  modelApiKey: string | null;
  /** Further servers that may receive the worker's keys when an agent.yaml names them. */
  keyEndpoints: string[];
  /** Addresses that may receive notices of runs, and the secret that signs them. */
  webhook: {
    /** The webhook for agents whose agent.yaml names none. */
    url: string | null;
    /** Servers that an agent.yaml may name. */
    endpoints: string[];
    /** Value of a variable whose name begins with WHET_WEBHOOK_SECRET; null if it is not set. */
    secret: (variable: string) => string | null;
  };
  /** Directory of the base model, if a recipe made it. */
  modelPath: string | null;
  /** The analyst, for agents whose spec names none. */
  analyst: {
    /** Address of the rule-based demo analyst. */
    demoUrl: string | null;
    /** true: the demo analyst is asked, whatever a spec names. */
    isDemoOnly: boolean;
    model: string | null;
    apiKey: string | null;
    baseUrl: string | null;
  };
  reports: {
    /** Address on which the endpoint for trainers' reports listens. */
    host: string;
    /** Port 0: any free one. */
    port: number;
    /** Address for pods. Null: pods send no reports. */
    podUrl: string | null;
  };
  /** Number of trainings that run in parallel on this machine. */
  trainers: number;
}

/**
 * Reads and checks the configuration, and the file that WHET_POLICY names. Throws Error whose message names the
 * variable, flag or field, its value and the allowed values.
 */
export function readConfig(argv: readonly string[], environment: NodeJS.ProcessEnv = process.env): WorkerConfig {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(present);
  if (!parsed.success) {
    throw new Error(
      parsed.error.issues
        .map(
          (i) =>
            `${String(i.path[0])}=${withoutPasswords(JSON.stringify(environment[String(i.path[0])]))}: ${i.message}`,
        )
        .join('\n'),
    );
  }
  const value = parsed.data;
  const at = argv.indexOf('--queues');
  const chosen = queues.safeParse(at < 0 ? kinds.join(',') : argv[at + 1]);
  if (!chosen.success)
    throw new Error(
      `--queues ${JSON.stringify(argv[at + 1])} is not allowed. Give a comma-separated list of ${kinds.join(', ')}.`,
    );
  return {
    queues: chosen.data,
    storeRoot: resolve(value.WHET_STORE ?? join(value.WHET_HOME, 'store')),
    temporalAddress: value.TEMPORAL_ADDRESS,
    temporalNamespace: value.TEMPORAL_NAMESPACE,
    python: value.WHET_PYTHON,
    jailProfile: value.WHET_JAIL_PROFILE ?? join(projectRoot(), 'sandbox', 'profile.json'),
    operatorPolicy:
      value.WHET_POLICY === undefined
        ? null
        : { file: value.WHET_POLICY, policy: loadOperatorPolicy(value.WHET_POLICY) },
    allowsOwnFolders: value.WHET_OWN_FOLDERS === 'allowed',
    modelUrl: value.WHET_MODEL_URL ?? null,
    adapterUrls: adapterUrls(value.WHET_MODEL_URL, value.WHET_MODEL_ADMIN_URL),
    modelApiKey: value.WHET_MODEL_API_KEY || null,
    keyEndpoints: value.WHET_KEY_ENDPOINTS,
    webhook: {
      url: value.WHET_WEBHOOK_URL ?? null,
      endpoints: value.WHET_WEBHOOK_ENDPOINTS,
      secret: (variable) => (SECRET_VARIABLE.test(variable) ? (present[variable] ?? null) : null),
    },
    modelPath: value.WHET_MODEL_PATH ?? null,
    analyst: {
      demoUrl: value.WHET_DEMO_ANALYST_URL ?? null,
      isDemoOnly: value.WHET_ANALYST_ONLY === 'demo',
      model: value.WHET_ANALYST_MODEL ?? null,
      apiKey: value.OPENAI_API_KEY || null,
      baseUrl: value.OPENAI_BASE_URL ?? null,
    },
    reports: {
      host: value.WHET_REPORT_LISTEN.replace(/:\d+$/, ''),
      port: Number(value.WHET_REPORT_LISTEN.split(':').at(-1)),
      podUrl: value.WHET_REPORT_URL ?? null,
    },
    trainers: value.WHET_TRAINERS,
  };
}

function adapterUrls(url: string | undefined, adminUrl: string | undefined): Record<string, string> {
  const trimmed = (text: string) => text.replace(/\/+$/, '');
  return url === undefined || adminUrl === undefined ? {} : { [trimmed(url)]: trimmed(adminUrl) };
}
