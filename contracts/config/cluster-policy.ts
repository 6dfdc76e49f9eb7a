import { z } from 'zod';
import { agentNameSchema } from './agent-name';

const entries = z.array(z.string().min(1)).default([]);

/** The lists of one agent. An entry allows what is equal to it; with a `*` at its end, what begins like it. */
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
});

/** The name of a list of rights. */
export type RightsList = keyof z.infer<typeof rightsSchema>;

/**
 * The operator's file WHET_POLICY: what the `training.kubernetes` of an agent.yaml, which a tenant writes, may ask for.
 * Everything else is refused.
 */
export const clusterPolicySchema = z.strictObject({
  all: rightsSchema.prefault({}).describe('The rights of every agent.'),
  agents: z.record(agentNameSchema, rightsSchema).default({}).describe('Further rights, by the name of the agent.'),
});
export type ClusterPolicy = z.infer<typeof clusterPolicySchema>;
