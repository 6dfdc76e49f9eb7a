import { operatorPolicySchema, type WorkerPolicy } from '../../contracts/config/operator-policy';

const lists = Object.keys(operatorPolicySchema.parse({}).all);

/** The policy of an operator who allows every agent everything. */
export const openPolicy: WorkerPolicy = {
  file: 'policy.yaml',
  policy: operatorPolicySchema.parse({ all: Object.fromEntries(lists.map((list) => [list, ['*']])) }),
};
