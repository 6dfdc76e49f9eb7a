// Tier: unit.
import { trainingReason } from '../../k8s/training-reason';
import type { Reason, TrainingSnapshot } from '../../k8s/training-snapshot';
import { ago, disrupted, ended, event, job, NOW, pod, running, snapshot } from './cluster-objects';

const waiting = (reason: string, message = '') => ({ waiting: { reason, message } });
const trainer = (secondsAgo: number, iteration = 12, medianMs: number | null = 1_000) => ({
  iteration,
  iterations: 40,
  reward: 0.5,
  probe: 'probe: target +25.0 points',
  atMs: ago(secondsAgo).getTime(),
  medianMs,
  secondsLeft: 28,
});

const TABLE: [string, Partial<TrainingSnapshot>, Reason['kind'], RegExp][] = [
  ['no answer from the API', { contactMs: NOW - 25_000 }, 'Unreachable', /not answered for 25 s.*may go on/],
  ['no Job yet', { job: null }, 'Starting', /is being made/],
  ['suspended by hand', { job: job({ suspend: true }) }, 'Queued', /somebody has to resume/],
  [
    'a queue without Kueue',
    { job: job({ queue: 'gpu', suspend: true }) },
    'Queued',
    /queue gpu has not admitted.*is it installed/,
  ],
  [
    'Kueue has no quota',
    {
      job: job({ queue: 'gpu', suspend: true }),
      events: [event('Pending', 'insufficient quota for nvidia.com/gpu', 'w', 'Normal', 'kueue-admission')],
    },
    'Queued',
    /queue gpu: insufficient quota/,
  ],
  [
    'a quota of the namespace',
    { events: [event('FailedCreate', 'pods "x" is forbidden: exceeded quota: gpus', 'job-1')] },
    'Queued',
    /exceeded quota/,
  ],
  [
    'pods that are forbidden',
    { events: [event('FailedCreate', 'serviceaccount "x" not found', 'job-1')] },
    'ConfigError',
    /serviceaccount "x" not found/,
  ],
  [
    'no node',
    {
      pods: [
        pod({
          phase: 'Pending',
          conditions: [
            {
              type: 'PodScheduled',
              status: 'False',
              reason: 'Unschedulable',
              message: '0/9 nodes: 9 Insufficient nvidia.com/gpu',
            },
          ],
        }),
      ],
    },
    'Unschedulable',
    /9 Insufficient nvidia.com\/gpu/,
  ],
  [
    'a scheduling gate',
    {
      pods: [
        pod({
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', message: 'gated' }],
        }),
      ],
    },
    'Queued',
    /gated/,
  ],
  [
    'an image without its signature',
    { pods: [pod({ phase: 'Pending', state: waiting('SignatureValidationFailed', 'no policy') })] },
    'ImagePull',
    /no policy/,
  ],
  [
    'an image that is not there',
    { pods: [pod({ phase: 'Pending', state: waiting('ErrImagePull', 'manifest unknown') })] },
    'ImagePull',
    /manifest unknown/,
  ],
  [
    'the same, backing off: the event knows why',
    {
      pods: [pod({ phase: 'Pending', state: waiting('ImagePullBackOff', 'Back-off') })],
      events: [event('Failed', 'Failed to pull image "x": manifest unknown')],
    },
    'ImagePull',
    /Failed to pull image "x": manifest unknown/,
  ],
  [
    'a missing secret',
    { pods: [pod({ phase: 'Pending', state: waiting('CreateContainerConfigError', 'secret "s" not found') })] },
    'ConfigError',
    /secret "s" not found/,
  ],
  [
    'a volume that cannot be mounted',
    {
      pods: [pod({ phase: 'Pending', state: waiting('ContainerCreating') })],
      events: [event('FailedMount', 'hostPath type check failed')],
    },
    'ConfigError',
    /type check failed/,
  ],
  [
    'a volume that was mounted at last',
    {
      pods: [pod({ phase: 'Pending', state: waiting('ContainerCreating') })],
      events: [
        { ...event('FailedMount', 'failed to sync secret cache'), metadata: { creationTimestamp: ago(60) } },
        event('Pulling', 'Pulling image "x"', 'pod-1', 'Normal'),
      ],
    },
    'Starting',
    /Pulling image "x" on gpu-7/,
  ],
  [
    'an image on its way',
    {
      pods: [pod({ phase: 'Pending', state: waiting('ContainerCreating') })],
      events: [event('Pulling', 'Pulling image "x"', 'pod-1', 'Normal')],
    },
    'Starting',
    /Pulling image "x" on gpu-7/,
  ],
  ['a trainer that loads', { pods: [pod({ state: running(20) })] }, 'Starting', /loading for 20 s$/],
  [
    'a trainer that resumes',
    { pods: [pod({ state: running(20) })], trainer: trainer(60) },
    'Starting',
    /to go on after iteration 12/,
  ],
  [
    'iterations',
    { pods: [pod({ state: running(90) })], trainer: trainer(2) },
    'Training',
    /iteration 12 of 40, reward 0\.50, probe: target \+25\.0 points$/,
  ],
  [
    'no iterations',
    { pods: [pod({ state: running(900) })], trainer: trainer(700) },
    'Stalled',
    /no iteration for 700 s/,
  ],
  [
    'a trainer that waits for its sampler',
    { pods: [pod({ state: running(900) })], trainer: trainer(700), waiting: 'waiting for the sampler at http://vllm' },
    'Training',
    /^waiting for the sampler at http:\/\/vllm$/,
  ],
  [
    'a trainer that waits for its sampler before its first iteration',
    { pods: [pod({ state: running(900) })], waiting: 'waiting for the sampler at http://vllm' },
    'Training',
    /^waiting for the sampler/,
  ],
  [
    'iterations that take long',
    { pods: [pod({ state: running(900) })], trainer: trainer(700, 12, 100_000) },
    'Training',
    /iteration 12/,
  ],
  [
    'the last iteration, while the adapter is written',
    { pods: [pod({ state: running(900) })], trainer: trainer(700, 40) },
    'Training',
    /40 of 40/,
  ],
  [
    'preempted',
    { pods: [pod({ state: running(9), conditions: [disrupted('PreemptionByScheduler', 'preempted by pod y')] })] },
    'Preempted',
    /preempted by pod y/,
  ],
  [
    'evicted',
    { pods: [pod({ phase: 'Failed', state: ended(143), conditions: [disrupted('EvictionByEvictionAPI')] })] },
    'Preempted',
    /because/,
  ],
  [
    'evicted by a node under pressure',
    { pods: [pod({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' })] },
    'Preempted',
    /low on memory/,
  ],
  [
    'a node whose device was taken meanwhile',
    { pods: [pod({ phase: 'Failed', reason: 'UnexpectedAdmissionError', message: 'Pod Allocate failed' })] },
    'Preempted',
    /^its node refused the pod: Pod Allocate failed/,
  ],
  [
    'a node that was full when the pod came',
    { pods: [pod({ phase: 'Failed', reason: 'OutOfnvidia.com/gpu', message: "Node didn't have enough resource" })] },
    'Preempted',
    /enough resource/,
  ],
  [
    'a container that its node lost',
    { pods: [pod({ phase: 'Failed', state: ended(137, 'could not be located', 'ContainerStatusUnknown') })] },
    'NodeLost',
    /gpu-7 does not know how the trainer ended/,
  ],
  ['deleted', { pods: [pod({ state: running(9), deletedSecondsAgo: 1 })] }, 'Preempted', /was deleted/],
  [
    'stopped after a checkpoint',
    { pods: [pod({ phase: 'Failed', state: ended(143) })] },
    'Preempted',
    /saved a checkpoint/,
  ],
  [
    'a lost node, by its taint',
    { pods: [pod({ state: running(9), conditions: [disrupted('DeletionByTaintManager')] })] },
    'NodeLost',
    /because/,
  ],
  [
    'a node that fell silent',
    {
      pods: [pod({ state: running(90), ready: true, conditions: [{ type: 'Ready', status: 'False' }] })],
      events: [event('NodeNotReady', 'Node is not ready')],
      trainer: trainer(2),
    },
    'NodeLost',
    /node gpu-7 has fallen silent/,
  ],
  [
    'a fault of the GPU, by the exit code of the trainer',
    {
      pods: [pod({ phase: 'Failed', state: ended(67, 'whetstone.train: CUDA error 719: unspecified launch failure') })],
    },
    'GpuFault',
    /GPU of gpu-7 failed: .*719/,
  ],
  [
    'an environment that speaks of a lost GPU',
    { pods: [pod({ phase: 'Failed', state: ended(65, 'RuntimeError: NVRM: Xid (PCI:0000:3b:00): 79, GPU is lost') })] },
    'CodeError',
    /code 65: .*GPU is lost/,
  ],
  [
    'an exception that speaks of a lost GPU',
    { pods: [pod({ phase: 'Failed', state: ended(1, 'RuntimeError: CUDA error: uncorrectable ECC error') })] },
    'CodeError',
    /code 1: /,
  ],
  [
    'an abort of the CUDA library',
    {
      pods: [
        pod({
          phase: 'Failed',
          state: ended(134, 'terminate called\n  what():  CUDA error: uncorrectable ECC error encountered'),
        }),
      ],
    },
    'GpuFault',
    /GPU of gpu-7 failed/,
  ],
  [
    'too little memory of the GPU',
    { pods: [pod({ phase: 'Failed', state: ended(68, 'CUDA out of memory. Tried to allocate 2 GiB') })] },
    'GpuOutOfMemory',
    /memory of its GPU was too small: CUDA out of memory/,
  ],
  [
    'a full disk',
    { pods: [pod({ phase: 'Failed', state: ended(74, 'No space left on device') })] },
    'DiskFull',
    /disk of its directory is full: No space left/,
  ],
  [
    'a trainer that nobody attends to',
    { pods: [pod({ phase: 'Failed', state: ended(76) })] },
    'Preempted',
    /no worker attended/,
  ],
  [
    'an environment that the memory killer of the node took',
    { pods: [pod({ phase: 'Failed', state: ended(69, '', 'OOMKilled') })] },
    'OOMKilled',
    /more than its 8Gi/,
  ],
  [
    'too little memory',
    { pods: [pod({ phase: 'Failed', state: ended(137, '', 'OOMKilled') })] },
    'OOMKilled',
    /more than its 8Gi/,
  ],
  ['a deadline', { job: job({ failed: 'DeadlineExceeded' }) }, 'Deadline', /longer than its deadline/],
  [
    'an exception',
    { pods: [pod({ phase: 'Failed', state: ended(1, 'Traceback\nKeyError: x') })] },
    'CodeError',
    /code 1: Traceback\nKeyError: x/,
  ],
  ['a signal', { pods: [pod({ phase: 'Failed', state: ended(139) })] }, 'CodeError', /code 139 \(signal 11\)/],
  [
    'a refused job file',
    { job: job({ failed: 'PodFailurePolicy' }), pods: [pod({ phase: 'Failed', state: ended(64, 'rank is 0') })] },
    'CodeError',
    /code 64: rank is 0/,
  ],
  [
    'an entry point that is not there',
    { pods: [pod({ phase: 'Failed', state: ended(128, 'exec: "x": not found', 'StartError') })] },
    'ConfigError',
    /not found/,
  ],
  [
    'a failed Job whose pods are gone',
    { job: job({ failed: 'BackoffLimitExceeded', message: 'Job has reached the limit' }) },
    'CodeError',
    /reached the limit/,
  ],
  ['a complete Job', { job: job({ complete: true }) }, 'Finished', /complete/],
];

test.each(TABLE)('%s', (_, changes, kind, message) => {
  const reason = trainingReason(snapshot(changes), { stalledMs: 600_000 }, NOW);
  expect(reason).toEqual({ kind, message: expect.stringMatching(message) as string });
});

const proxy = (state: object) => ({ name: 'istio-proxy', image: '', imageID: '', ready: true, restartCount: 0, state });
test.each(TABLE)('beside a container that the cluster adds: %s', (_, changes, kind, message) => {
  const pods = (changes.pods ?? []).map((one) => ({
    ...one,
    spec: { ...one.spec, containers: [{ name: 'istio-proxy' }, ...one.spec!.containers] },
    status: {
      ...one.status,
      containerStatuses: [proxy(running(3_600)), ...(one.status!.containerStatuses ?? [])],
      initContainerStatuses: [proxy({ terminated: { exitCode: 0 } }), proxy(running(3_600))],
    },
  }));
  const reason = trainingReason(snapshot({ ...changes, pods }), { stalledMs: 600_000 }, NOW);
  expect(reason).toEqual({ kind, message: expect.stringMatching(message) as string });
});

test('a container that runs before the trainer is named where it holds the trainer, or fails', () => {
  const withInit = (phase: string, state: object) => {
    const one = pod({ phase, state: waiting('PodInitializing') });
    const pods = [{ ...one, status: { ...one.status, initContainerStatuses: [proxy(state)] } }];
    return trainingReason(snapshot({ pods }), { stalledMs: 600_000 }, NOW);
  };
  expect(withInit('Pending', waiting('ImagePullBackOff', 'Back-off pulling')).kind).toBe('ImagePull');
  expect(withInit('Failed', { terminated: { exitCode: 3, message: 'no route' } }).message).toMatch(
    /istio-proxy.*code 3: no route/,
  );
});

test.each<[string, Reason['kind']]>([
  ['Usage of EmptyDir volume "tmp" exceeds the limit "2Gi". ', 'DiskLimit'],
  ['Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ', 'DiskLimit'],
  ['Container trainer exceeded its local ephemeral storage limit "1Gi". ', 'DiskLimit'],
  [
    'The node was low on resource: memory. Container trainer was using 9Gi, request is 8Gi, has larger consumption of memory. ',
    'OOMKilled',
  ],
  [
    'The node was low on resource: ephemeral-storage. Container trainer was using 3Gi, request is 1Gi, has larger consumption of ephemeral-storage. ',
    'DiskLimit',
  ],
  [
    'The node was low on resource: ephemeral-storage. Container trainer was using 36Ki, request is 0, has larger consumption of ephemeral-storage. ',
    'Preempted',
  ],
  [
    'The node was low on resource: memory. Container istio-proxy was using 1Gi, request is 40Mi, has larger consumption of memory. ',
    'Preempted',
  ],
  ['The node had condition: [DiskPressure]. ', 'Preempted'],
])('evicted with the words "%s": %s', (message, kind) => {
  for (const conditions of [[], [disrupted('TerminationByKubelet', message)]]) {
    const pods = [pod({ phase: 'Failed', reason: 'Evicted', message, state: ended(137), conditions })];
    expect(trainingReason(snapshot({ pods }), { stalledMs: 600_000 }, NOW).kind).toBe(kind);
  }
});

test('the newest pod counts, in whatever order the list is', () => {
  const old = {
    ...pod({ phase: 'Failed', state: ended(1) }),
    metadata: { name: 'old', uid: 'old', creationTimestamp: ago(500) },
  };
  expect(trainingReason(snapshot({ pods: [pod({ state: running(5) }), old] }), { stalledMs: 600_000 }, NOW).kind).toBe(
    'Starting',
  );
});
