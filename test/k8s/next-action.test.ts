// Tier: unit.
import { nextAction } from '../../k8s/next-action';
import type { Reason, TrainingSnapshot } from '../../k8s/training-snapshot';
import { ended, job, NOW, pod, running, spec, snapshot } from './cluster-objects';

const action = (
  kind: Reason['kind'],
  forSeconds: number,
  options: {
    snapshot?: Partial<TrainingSnapshot>;
    spec?: object;
    restarts?: object;
    firstIterationMs?: number;
    shared?: boolean;
  } = {},
) =>
  nextAction(
    { kind, message: 'the reason' },
    snapshot(options.snapshot),
    spec(options.spec),
    { disruptions: 0, stalls: 0, crashes: 0, ...options.restarts },
    { nowMs: NOW, reasonSinceMs: NOW - forSeconds * 1_000, firstIterationMs: options.firstIterationMs ?? null },
    options.shared,
  );
const dead = { pods: [pod({ phase: 'Failed', state: ended(143) })] };

test('a training waits for capacity as long as it takes, unless a limit is set', () => {
  expect(action('Queued', 1e6)).toEqual({ kind: 'wait' });
  expect(action('Unschedulable', 1e6)).toEqual({ kind: 'wait' });
  expect(action('Unschedulable', 121, { spec: { limits: { queuedMinutes: 2 } } })).toMatchObject({
    kind: 'fail',
    type: 'Trainer.NotPlaced',
  });
  expect(action('Unreachable', 1e6)).toEqual({ kind: 'wait' });
});

test('images and configuration have a limit of their own', () => {
  expect(action('ImagePull', 599)).toEqual({ kind: 'wait' });
  expect(action('ImagePull', 601)).toEqual({
    kind: 'fail',
    type: 'Trainer.CannotStart',
    message: expect.stringMatching(/10 minutes: the reason/) as string,
  });
  expect(action('ConfigError', 601)).toMatchObject({ type: 'Trainer.CannotStart' });
});

test('after preemption, node loss and GPU faults the trainer is replaced, up to a limit of its own', () => {
  for (const kind of ['Preempted', 'NodeLost', 'GpuFault'] as const) {
    expect(action(kind, 1, { snapshot: dead })).toEqual({ kind: 'replace', counter: 'disruptions' });
    expect(action(kind, 1, { snapshot: { pods: [pod({ state: running(9) })] } })).toEqual({ kind: 'wait' });
  }
  expect(action('Preempted', 1, { snapshot: dead, restarts: { disruptions: 50 } })).toMatchObject({
    kind: 'fail',
    type: 'Trainer.Disrupted',
  });
});

test('a pod whose silent node does not confirm its end is force-deleted after its grace period', () => {
  expect(action('NodeLost', 90, { snapshot: { pods: [pod({ state: running(9), deletedSecondsAgo: 20 })] } })).toEqual({
    kind: 'wait',
  });
  expect(action('NodeLost', 90, { snapshot: { pods: [pod({ state: running(9), deletedSecondsAgo: 31 })] } })).toEqual({
    kind: 'force-delete-pod',
    pod: 'pod-1',
  });
});

test('a trainer that hangs is replaced; the third time ends the attempt', () => {
  expect(action('Stalled', 0)).toEqual({ kind: 'replace', counter: 'stalls' });
  expect(action('Stalled', 0, { restarts: { stalls: 2 } })).toMatchObject({ kind: 'fail', type: 'Trainer.Stalled' });
  expect(action('Starting', 899)).toEqual({ kind: 'wait' });
  expect(action('Starting', 901)).toEqual({ kind: 'replace', counter: 'stalls' });
});

test.each([
  [64, 'Trainer.JobInvalid'],
  [65, 'Trainer.EnvironmentFailed'],
  [66, 'Trainer.Diverged'],
  [70, 'Trainer.SamplerRefused'],
  [71, 'Trainer.EnvironmentDiffers'],
  [1, 'Trainer.Failed'],
])('exit code %i fails at once as %s', (code, type) => {
  expect(action('CodeError', 0, { snapshot: { pods: [pod({ phase: 'Failed', state: ended(code) })] } })).toMatchObject({
    kind: 'fail',
    type,
  });
});

test('a shared trainer’s exit code may be another training’s: a member waits a while for its own files', () => {
  for (const [code, type] of [
    [66, 'Trainer.Diverged'],
    [1, 'Trainer.Failed'],
  ] as const) {
    const snapshot = { pods: [pod({ phase: 'Failed', state: ended(code) })] };
    expect(action('CodeError', 5, { snapshot, shared: true })).toEqual({ kind: 'wait' });
    expect(action('CodeError', 31, { snapshot, shared: true })).toMatchObject({ kind: 'fail', type });
  }
});

test('after a crash Kubernetes starts the next pod, until the Job has failed', () => {
  const pods = [pod({ phase: 'Failed', state: ended(139) })];
  expect(action('CodeError', 0, { snapshot: { pods } })).toEqual({ kind: 'wait' });
  const failed = { snapshot: { pods, job: job({ failed: 'BackoffLimitExceeded' }) } };
  // The Job is made once more. Only a second one without a new checkpoint in between ends the attempt.
  expect(action('CodeError', 0, failed)).toEqual({ kind: 'replace', counter: 'crashes' });
  expect(action('CodeError', 0, { ...failed, restarts: { crashes: 1 } })).toMatchObject({
    kind: 'fail',
    type: 'Trainer.Failed',
    message: expect.stringMatching(/number 2 since its last checkpoint/) as string,
  });
});

test('a sidecar that runs on after the trainer does not hold it', () => {
  const pods = [pod({ phase: 'Running', state: ended(139) })];
  expect(action('CodeError', 5, { snapshot: { pods } })).toEqual({ kind: 'wait' });
  expect(action('CodeError', 31, { snapshot: { pods } })).toEqual({ kind: 'replace', counter: 'crashes' });
  expect(action('GpuFault', 0, { snapshot: { pods: [pod({ phase: 'Running', state: ended(67) })] } })).toEqual({
    kind: 'replace',
    counter: 'disruptions',
  });
});

test('too little memory and deadlines end the attempt', () => {
  expect(action('OOMKilled', 0)).toMatchObject({ kind: 'fail', type: 'Trainer.OutOfMemory' });
  expect(action('GpuOutOfMemory', 0)).toMatchObject({ kind: 'fail', type: 'Trainer.GpuOutOfMemory' });
  expect(action('DiskLimit', 0)).toMatchObject({ kind: 'fail', type: 'Trainer.DiskLimit' });
  expect(action('DiskFull', 0)).toMatchObject({ kind: 'fail', type: 'Trainer.DiskFull' });
  expect(action('Deadline', 0)).toMatchObject({ kind: 'fail', type: 'Trainer.Deadline' });
});

test('the time of training counts from the first iteration', () => {
  const limits = { limits: { trainingMinutes: 5 } };
  expect(action('Training', 1, { spec: limits, firstIterationMs: NOW - 299_000 })).toEqual({ kind: 'wait' });
  expect(action('Training', 1, { spec: limits, firstIterationMs: NOW - 301_000 })).toMatchObject({
    kind: 'fail',
    type: 'Trainer.Deadline',
  });
});

test('a complete Job without a manifest is no success', () => {
  expect(action('Finished', 5)).toEqual({ kind: 'wait' });
  expect(action('Finished', 31)).toEqual({ kind: 'replace', counter: 'crashes' });
  expect(action('Finished', 31, { restarts: { crashes: 1 } })).toMatchObject({ kind: 'fail', type: 'Trainer.Failed' });
});
