import { clusterPolicySchema } from '../../contracts/config/cluster-policy';
import type { WorkerPolicy } from '../../k8s/refused-by-policy';

const anything = ['*'];

/** The policy of an operator who allows every agent everything. */
export const openPolicy: WorkerPolicy = {
  file: 'policy.yaml',
  policy: clusterPolicySchema.parse({
    all: {
      namespaces: anything,
      images: anything,
      serviceAccounts: anything,
      seccomp: anything,
      appArmor: anything,
      priorityClasses: anything,
      stores: anything,
      volumes: anything,
      writableVolumes: anything,
    },
  }),
};
