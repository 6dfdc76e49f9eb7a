import { z } from 'zod';
import { agentNameSchema } from './agent-name';

const entries = z.array(z.string().min(1)).default([]);

/**
 * The lists of one agent. An entry allows what is equal to it; with a `*` at its end, what begins like it and goes up
 * to no folder above from there.
 */
const rightsSchema = z.strictObject({
  namespaces: entries.describe('Namespaces of its Jobs.'),
  images: entries.describe('Trainer images.'),
  pullSecrets: entries.describe('Secrets for the registries of these images.'),
  serviceAccounts: entries.describe('Service accounts of its pods, besides `default`.'),
  seccomp: entries.describe('Seccomp profiles, besides `RuntimeDefault`.'),
  appArmor: entries.describe('AppArmor profiles, besides `RuntimeDefault`.'),
  priorityClasses: entries.describe('Priority classes.'),
  runtimeClasses: entries.describe('Runtime classes.'),
  queues: entries.describe("Kueue's LocalQueues."),
  stores: entries.describe('Claims, or folders of the node, that may be its store. Pods see their own parts only.'),
  volumes: entries.describe('Claims, or folders of the node, that its pods may read whole.'),
  writableVolumes: entries.describe('Those that its pods may also write.'),
  commands: entries.describe('Commands of its environment: the path of the program and its arguments.'),
  folders: entries.describe('Folders that they may read, besides that of agent.yaml.'),
  secrets: entries.describe('Variables of the worker that they may get.'),
  variables: entries.describe('Variables that agent.yaml may set for them, as NAME=VALUE.'),
});

/** The name of a list of rights. */
type RightsList = keyof z.infer<typeof rightsSchema>;

/**
 * The operator's file WHET_POLICY: what an agent.yaml, which a tenant writes, may ask of the cluster, and of the
 * machine that plays its environment. Everything else is refused.
 */
export const operatorPolicySchema = z.strictObject({
  all: rightsSchema.prefault({}).describe('The rights of every agent.'),
  agents: z.record(agentNameSchema, rightsSchema).default({}).describe('Further rights, by the name of the agent.'),
});
export type OperatorPolicy = z.infer<typeof operatorPolicySchema>;

/** The policy of a worker, and its file; null: WHET_POLICY names none, so nothing is allowed. */
export type WorkerPolicy = { file: string; policy: OperatorPolicy } | null;

/** Something that an agent.yaml asks for. */
export interface Wish {
  /** Path of the field in agent.yaml. */
  field: string;
  value: string;
  list: RightsList;
}

/** Whether an entry allows a value. */
function allows(entry: string, value: string): boolean {
  if (!entry.endsWith('*')) return value === entry;
  const start = entry.slice(0, -1);
  // `/opt/desk/*` does not mean /opt/desk/../other.
  return value.startsWith(start) && !/(^|[^\w.])\.\.($|[^\w.])/.test(value.slice(start.length));
}

/** The wishes that a policy does not allow: a line for each, with the entry that would allow it. Null: none. */
export function refusedWishes(worker: WorkerPolicy, agent: string, wishes: readonly Wish[]): string | null {
  const own = worker?.policy.agents[agent];
  const isAllowed = ({ list, value }: Wish) =>
    [...(worker?.policy.all[list] ?? []), ...(own?.[list] ?? [])].some((entry) => allows(entry, value));
  const refused = wishes.filter((wish) => !isAllowed(wish));
  if (refused.length === 0) return null;
  const lines = refused.map(
    ({ field, value, list }) =>
      `${field}: ${JSON.stringify(value)} is not allowed. An operator allows it with the line ` +
      `agents: { ${JSON.stringify(agent)}: { ${list}: [${JSON.stringify(value)}] } }`,
  );
  const place =
    worker === null
      ? 'This worker has no policy, so it allows nothing. Name a file in its variable WHET_POLICY.'
      : `The policy of this worker is ${worker.file}.`;
  return [...lines, place].join('\n');
}
