import { clusterPolicySchema } from '../../contracts/config/cluster-policy';
import type { WorkerPolicy } from '../../k8s/refused-by-policy';

const lists = Object.keys(clusterPolicySchema.parse({}).all);

/** The policy of an operator who allows every agent everything. */
export const openPolicy: WorkerPolicy = {
  file: 'policy.yaml',
  policy: clusterPolicySchema.parse({ all: Object.fromEntries(lists.map((list) => [list, ['*']])) }),
};
