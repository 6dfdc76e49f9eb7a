// Tier: unit.
import { operatorPolicySchema } from '../../contracts/config/operator-policy';
import { refusedByPolicy } from '../../k8s/refused-by-policy';
import { spec } from './cluster-objects';

const usual = {
  namespaces: ['whetstone'],
  images: ['registry.example/trainer@sha256:1', 'registry.example/desk/*'],
  stores: ['store', '/var/state'],
};
const refused = (changes: object, all: object = usual, agents: object = {}, agent = 'desk') =>
  refusedByPolicy({ file: '/policy.yaml', policy: operatorPolicySchema.parse({ all, agents }) }, agent, spec(changes));

test.each([
  ['what it gets where it is silent', {}],
  ['an image below an allowed one', { image: 'registry.example/desk/trainer:2' }],
  ['a store on the node', { store: { hostPath: '/var/state' } }],
  [
    'nodes, resources, a user and times',
    {
      ...{ nodeSelector: { pool: 'gpu' }, tolerations: [{ operator: 'Exists' }], resources: { cpu: '64', gpus: 1 } },
      ...{ runAsUser: 20_000, imagePullPolicy: 'Always', deadlineMinutes: 9_999, backoffLimit: 9 },
    },
  ],
  ['the profiles of the runtime', { seccomp: 'RuntimeDefault', appArmor: 'RuntimeDefault' }],
])('an agent may ask for %s', (_, changes) => {
  expect(refused(changes)).toBeNull();
});

test.each([
  ['namespace', { namespace: 'kube-system' }, 'namespaces', 'kube-system'],
  ['image', { image: 'registry.example/deskother' }, 'images', 'registry.example/deskother'],
  [
    'image',
    { image: 'evil.example/registry.example/desk/trainer' },
    'images',
    'evil.example/registry.example/desk/trainer',
  ],
  ['serviceAccount', { serviceAccount: 'admin' }, 'serviceAccounts', 'admin'],
  ['seccomp', { seccomp: 'localhost/none.json' }, 'seccomp', 'localhost/none.json'],
  ['appArmor', { appArmor: 'Unconfined' }, 'appArmor', 'Unconfined'],
  ['priorityClass', { priorityClass: 'system-node-critical' }, 'priorityClasses', 'system-node-critical'],
  ['runtimeClass', { runtimeClass: 'runc' }, 'runtimeClasses', 'runc'],
  ['queue', { queue: 'others' }, 'queues', 'others'],
  ['imagePullSecrets.1', { imagePullSecrets: ['own', 'others'] }, 'pullSecrets', 'others'],
  ['store', { store: { claim: 'others' } }, 'stores', 'others'],
  ['store', { store: { hostPath: '/' } }, 'stores', '/'],
  // Its own store whole: other runs and agents are in it.
  ['volumes.0.claim', { volumes: [{ claim: 'store', mountPath: '/all' }] }, 'volumes', 'store'],
  ['volumes.0.hostPath', { volumes: [{ hostPath: '/', mountPath: '/host' }] }, 'volumes', '/'],
  [
    'volumes.0.claim',
    { volumes: [{ claim: 'models', mountPath: '/models', readOnly: false }] },
    'writableVolumes',
    'models',
  ],
])('%s: %j is refused with the line that allows it', (field, changes, list, value) => {
  const all = { ...usual, volumes: ['models'], pullSecrets: ['own'] };
  const line = `agents: { "desk": { ${list}: ["${value}"] } }`;
  expect(refused(changes, all)).toBe(
    `training.kubernetes.${field}: "${value}" is not allowed. An operator allows it with the line ${line}\n` +
      'The policy of this worker is /policy.yaml.',
  );
  expect(refused(changes, all, { desk: { [list]: [value] } })).toBeNull();
  expect(refused(changes, all, { other: { [list]: [value] } })).not.toBeNull();
});

test('a worker without a policy allows nothing, and says how to give it one', () => {
  const text = refusedByPolicy(null, 'desk', spec());
  expect(text).toMatch(/^training.kubernetes.namespace: "whetstone" is not allowed/);
  expect(text!.split('\n')).toHaveLength(4);
  expect(text).toMatch(/WHET_POLICY\.$/);
});

test('an agent named like a property of objects has no rights by it', () => {
  expect(refused({ image: 'x' }, usual, {}, 'constructor')).toMatch(/^training.kubernetes.image/);
});
