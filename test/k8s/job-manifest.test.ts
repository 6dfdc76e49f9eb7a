// Tier: unit.
import { agentSpecSchema } from '../../contracts/config/agent-spec';
import { layout } from '../../store';
import { kubernetesSpecSchema } from '../../contracts/config/kubernetes-spec';
import { buildJob } from '../../k8s/job-manifest';
import { jobName, labelValue, packName } from '../../k8s/names';
import { request } from './cluster-objects';

const podOf = (changes: object = {}) => buildJob(request(changes)).spec!.template.spec!;
const containerOf = (changes: object = {}) => podOf(changes).containers[0]!;

test('the name is a function of capability and directory, and short enough for pod names and labels', () => {
  const name = jobName('Verify before refund!', 'runs/a/training/x');
  expect(name).toMatch(/^whet-verify-before-refund-[0-9a-f]{12}$/);
  expect(jobName('Verify before refund!', 'runs/a/training/x')).toBe(name);
  expect(jobName('Verify before refund!', 'runs/b/training/x')).not.toBe(name);
  expect(jobName('y'.repeat(80), 'd').length).toBeLessThanOrEqual(52);
  expect(jobName('…', 'd')).toMatch(/^whet-job-/);
});

test('labels hold cleaned values, annotations whole ones', () => {
  expect(labelValue('orders-desk:2026/01 é')).toBe('orders-desk-2026-01');
  const { labels, annotations } = buildJob(request()).metadata!;
  expect(labels).toMatchObject({
    'app.kubernetes.io/managed-by': 'whetstone',
    'whetstone.dev/run': 'orders-desk-2026-01-01',
  });
  expect(annotations).toMatchObject({ 'whetstone.dev/run': 'orders-desk:2026-01-01' });
  expect(buildJob(request()).spec!.template.metadata!.labels).toMatchObject(labels!);
});

test('the pod has no rights and writes only to the store and its scratch folder', () => {
  const pod = podOf();
  expect(pod).toMatchObject({ automountServiceAccountToken: false, restartPolicy: 'Never', enableServiceLinks: false });
  expect(pod.securityContext).toMatchObject({
    runAsNonRoot: true,
    runAsUser: 10_001,
    seccompProfile: { type: 'RuntimeDefault' },
  });
  expect(containerOf().securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  expect(
    containerOf()
      .volumeMounts!.filter(({ readOnly }) => readOnly !== true)
      .map(({ mountPath }) => mountPath),
  ).toEqual(['/store/runs/orders-desk:2026-01-01/training/verify-before-refund-0123456789ab', '/tmp', '/dev/shm']);
  expect(podOf({ seccomp: 'localhost/a.json' }).securityContext!.seccompProfile).toEqual({
    type: 'Localhost',
    localhostProfile: 'a.json',
  });
});

describe('of the store a pod sees', () => {
  const training = (name: string) => `runs/orders-desk:2026-01-01/training/${name}-0123456789ab`;
  const storeMounts = (made: Parameters<typeof buildJob>[0]) =>
    buildJob(made).spec!.template.spec!.containers[0]!.volumeMounts!.filter(({ name }) => name === 'store');

  test('the directories of its trainings, not other runs, agents or the redaction secret', () => {
    expect(storeMounts(request({}, ['a', 'b']))).toEqual([
      { name: 'store', mountPath: `/store/${training('a')}`, subPath: training('a') },
      { name: 'store', mountPath: `/store/${training('b')}`, subPath: training('b') },
    ]);
    for (const { mountPath } of storeMounts(request())) {
      for (const key of [layout.redactionSecret, layout.registry('orders-desk'), layout.traces('orders-desk', 'd')])
        expect(`/store/${key}`.startsWith(mountPath)).toBe(false);
    }
  });

  test('them below the folder of the claim that holds the store', () => {
    expect(storeMounts(request({ store: { claim: 'state', subPath: 'whet/store' } }))).toEqual([
      {
        name: 'store',
        mountPath: `/store/${training('verify-before-refund')}`,
        subPath: `whet/store/${training('verify-before-refund')}`,
      },
    ]);
  });

  test('the base model, read-only, where it lies in the store', () => {
    expect(storeMounts({ ...request(), baseModel: '/store/models/base' })[1]).toEqual({
      name: 'store',
      mountPath: '/store/models/base',
      subPath: 'models/base',
      readOnly: true,
    });
    expect(storeMounts({ ...request(), baseModel: '/store-of-models/base' })).toHaveLength(1);
  });
});

test('a claim that is named twice is one volume, mounted twice', () => {
  const models = (subPath: string) => ({ claim: 'models', subPath, mountPath: `/models/${subPath}` });
  const volumes = [
    models('a'),
    { claim: 'store', mountPath: '/all' },
    { claim: 'data', mountPath: '/data' },
    models('b'),
  ];
  const own = ({ name }: { name: string }) => name === 'store' || name.startsWith('volume-');
  expect(podOf({ volumes }).volumes!.filter(own)).toEqual([
    { name: 'store', persistentVolumeClaim: { claimName: 'store' } },
    { name: 'volume-0', persistentVolumeClaim: { claimName: 'models' } },
    { name: 'volume-2', persistentVolumeClaim: { claimName: 'data' } },
  ]);
  expect(
    containerOf({ volumes })
      .volumeMounts!.filter(own)
      .map(({ name, mountPath }) => [name, mountPath]),
  ).toEqual([
    ['store', '/store/runs/orders-desk:2026-01-01/training/verify-before-refund-0123456789ab'],
    ['volume-0', '/models/a'],
    ['store', '/all'],
    ['volume-2', '/data'],
    ['volume-0', '/models/b'],
  ]);
});

test('a limit of processors is set where the spec has one, as a quota may demand', () => {
  expect(containerOf().resources!.limits).not.toHaveProperty('cpu');
  expect(containerOf({ resources: { cpuLimit: '4' } }).resources).toMatchObject({
    requests: { cpu: '2' },
    limits: { cpu: '4' },
  });
});

test('shared memory is as large as the memory of the pod', () => {
  expect(podOf().volumes).toContainEqual({ name: 'shared-memory', emptyDir: { medium: 'Memory' } });
});

test('AppArmor is left to the cluster, or set to what the spec names', () => {
  expect(podOf().securityContext).not.toHaveProperty('appArmorProfile');
  expect(podOf({ appArmor: 'Unconfined' }).securityContext!.appArmorProfile).toEqual({ type: 'Unconfined' });
  expect(podOf({ appArmor: 'localhost/whetstone' }).securityContext!.appArmorProfile).toEqual({
    type: 'Localhost',
    localhostProfile: 'whetstone',
  });
});

test('limits equal requests, except for the CPU', () => {
  expect(containerOf({ resources: { cpu: '4', memory: '32Gi', gpus: 1 } }).resources).toEqual({
    requests: { cpu: '4', memory: '32Gi', 'nvidia.com/gpu': '1' },
    limits: { memory: '32Gi', 'nvidia.com/gpu': '1' },
  });
  expect(containerOf({ resources: { gpus: 0 } }).resources!.limits).toEqual({ memory: '8Gi' });
});

test('disruptions cost no attempt, fatal codes end the Job, the next pod waits for the end of the last', () => {
  const { podFailurePolicy, backoffLimit, podReplacementPolicy, activeDeadlineSeconds, ttlSecondsAfterFinished } =
    buildJob(request()).spec!;
  expect(
    podFailurePolicy!.rules.map(({ action, onExitCodes, onPodConditions }) => [
      action,
      onExitCodes?.values ?? onPodConditions?.[0]?.type,
    ]),
  ).toEqual([
    ['FailJob', [1, 2, 64, 65, 66, 68, 70, 71, 74, 76, 78, 126, 127]],
    ['Ignore', 'DisruptionTarget'],
    ['FailJob', 'ConfigIssue'],
    ['Ignore', [143]],
  ]);
  expect({ backoffLimit, podReplacementPolicy, activeDeadlineSeconds, ttlSecondsAfterFinished }).toEqual({
    backoffLimit: 3,
    podReplacementPolicy: 'Failed',
    activeDeadlineSeconds: 86_400,
    ttlSecondsAfterFinished: 3_600,
  });
});

test('a queue suspends the Job and names itself in the label', () => {
  const job = buildJob(request({ queue: 'gpu' }));
  expect(job.spec!.suspend).toBe(true);
  expect(job.metadata!.labels!['kueue.x-k8s.io/queue-name']).toBe('gpu');
  expect(buildJob(request()).spec!.suspend).toBeUndefined();
});

test('placement settings are passed on to the pod', () => {
  const pod = podOf({
    nodeSelector: { pool: 'gpu' },
    tolerations: [{ key: 'spot', operator: 'Exists', effect: 'NoSchedule' }],
    priorityClass: 'low',
    runtimeClass: 'gvisor',
    imagePullSecrets: ['registry'],
  });
  expect(pod).toMatchObject({
    nodeSelector: { pool: 'gpu' },
    tolerations: [{ key: 'spot', operator: 'Exists', effect: 'NoSchedule' }],
    priorityClassName: 'low',
    runtimeClassName: 'gvisor',
    imagePullSecrets: [{ name: 'registry' }],
  });
});

test('reports carry a token of their own audience; without an endpoint there is none', () => {
  const token = podOf().volumes!.find(({ name }) => name === 'report-token')!.projected!.sources![0]!
    .serviceAccountToken;
  expect(token).toMatchObject({ audience: 'whetstone-reports', expirationSeconds: 600 });
  const silent = buildJob({ ...request(), reportUrl: null }).spec!.template.spec!;
  expect(JSON.stringify(silent)).not.toContain('report');
});

test('a pack is one Job: an argument for each training, a label for each, and reports by output directory', () => {
  const job = buildJob(request({}, ['verify-before-refund', 'ask-when-unsure', 'one-change-each']));
  const { name, labels, annotations } = job.metadata!;
  expect(name).toMatch(/^whet-pack-[0-9a-f]{12}$/);
  expect(labels).toMatchObject({
    'whetstone.dev/run': 'orders-desk-2026-01-01',
    'whetstone.dev/agent': 'orders-desk',
    'whetstone.dev/pack': '3',
    'capability.whetstone.dev/ask-when-unsure': '',
  });
  expect(labels).not.toHaveProperty('whetstone.dev/capability');
  expect(annotations).toMatchObject({ 'whetstone.dev/job': 'verify-before-refund, ask-when-unsure, one-change-each' });
  const { args, env } = job.spec!.template.spec!.containers[0]!;
  expect(args!.filter((arg) => arg === '--job')).toHaveLength(3);
  expect(args![3]).toMatch(/^\/store\/runs\/.*\/ask-when-unsure-0123456789ab\/job\.json$/);
  const reports = JSON.parse(env!.find((variable) => variable.name === 'WHET_REPORTS')!.value!) as object;
  expect(Object.keys(reports)).toHaveLength(3);
  expect(Object.values(reports)).toContainEqual(
    expect.stringMatching(/:8090\/v1\/reports\/whet-ask-when-unsure-/) as string,
  );
  expect(env).toContainEqual({ name: 'WHET_REPORT_TOKEN_FILE', value: '/var/run/whetstone/token' });
});

test('packs have different names, and labels stay when some members are done', () => {
  const names = ['a', 'b'];
  expect(packName('packs/g-1', names)).not.toBe(packName('packs/g-2', names));
  expect(packName('packs/g-1', names)).not.toBe(packName('packs/g-1', ['a', 'c']));
  const rest = buildJob(request({}, ['ask-when-unsure'], 3));
  expect(rest.metadata!.labels).toMatchObject({
    'whetstone.dev/pack': '3',
    'capability.whetstone.dev/ask-when-unsure': '',
  });
});

test.each([
  [{ store: {} }, 'store.claim', /either claim or hostPath/],
  [{ store: { claim: 'a', hostPath: '/b' } }, 'store.claim', /either claim or hostPath/],
  [{ namespace: 'Upper' }, 'namespace', /lower-case/],
  [{ volumes: [{ claim: 'm', mountPath: '/a/../b' }] }, 'volumes.0.mountPath', /absolute path without/],
  [{ resources: { memory: 'lots' } }, 'resources.memory', /quantity/],
  [{ seccomp: 'Unconfined' }, 'seccomp', /./],
  [{ appArmor: 'unconfined' }, 'appArmor', /./],
  [{ seccomp: 'localhost/../../etc/x' }, 'seccomp', /./],
  [{ appArmor: 'localhost/a/../../x' }, 'appArmor', /./],
])('%j is refused', (changes, path, message) => {
  const problems = kubernetesSpecSchema.safeParse({ image: 'x', store: { claim: 'store' }, ...changes }).error!.issues;
  expect(problems.map((problem) => [problem.path.join('.'), problem.message])).toContainEqual([
    path,
    expect.stringMatching(message),
  ]);
});

test('backend kubernetes without its section is refused with the path', () => {
  const { error } = agentSpecSchema.shape.training.safeParse({ backend: 'kubernetes' });
  expect(error!.issues).toMatchObject([{ path: ['kubernetes'], message: expect.stringMatching(/needs this section/) }]);
});

test.each([
  [{ packing: 17 }, 'packing'],
  [{ packing: 0 }, 'packing'],
  [{ packing: 2.5 }, 'packing'],
  [{ packing: 4, packingWaitSeconds: -1 }, 'packingWaitSeconds'],
])('training %j is refused with the path', (training, path) => {
  expect(
    agentSpecSchema.shape.training.safeParse(training).error!.issues.map((problem) => problem.path.join('.')),
  ).toEqual([path]);
});
