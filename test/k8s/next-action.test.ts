// Tier: unit.
import { nextAction } from '../../k8s/next-action';
import type { Reason, TrainingSnapshot } from '../../k8s/training-snapshot';
import { ended, job, NOW, pod, running, spec, view } from './cluster-objects';

const step = (
  kind: Reason['kind'],
  forSeconds: number,
  options: {
    view?: Partial<TrainingSnapshot>;
    spec?: object;
    patience?: object;
    firstIterationMs?: number;
    packed?: boolean;
  } = {},
) =>
  nextAction(
    { kind, message: 'the reason' },
    view(options.view),
    spec(options.spec),
    { disruptions: 0, stalls: 0, ...options.patience },
    { nowMs: NOW, reasonMs: NOW - forSeconds * 1_000, firstIterationMs: options.firstIterationMs ?? null },
    options.packed,
  );
const dead = { pods: [pod({ phase: 'Failed', state: ended(143) })] };

test('capacity is waited for as long as it takes, unless a limit is set', () => {
  expect(step('Queued', 1e6)).toEqual({ act: 'wait' });
  expect(step('Unschedulable', 1e6)).toEqual({ act: 'wait' });
  expect(step('Unschedulable', 121, { spec: { limits: { queuedMinutes: 2 } } })).toMatchObject({
    act: 'fail',
    type: 'Trainer.NotPlaced',
  });
  expect(step('Unreachable', 1e6)).toEqual({ act: 'wait' });
});

test('images and configuration have their own clock', () => {
  expect(step('ImagePull', 599)).toEqual({ act: 'wait' });
  expect(step('ImagePull', 601)).toEqual({
    act: 'fail',
    type: 'Trainer.CannotStart',
    because: expect.stringMatching(/10 minutes: the reason/) as string,
  });
  expect(step('ConfigError', 601)).toMatchObject({ type: 'Trainer.CannotStart' });
});

test('preemption, node loss and GPU faults are resumed from and counted by themselves', () => {
  for (const kind of ['Preempted', 'NodeLost', 'GpuFault'] as const) {
    expect(step(kind, 1, { view: dead })).toEqual({ act: 'replace', counts: 'disruptions' });
    expect(step(kind, 1, { view: { pods: [pod({ state: running(9) })] } })).toEqual({ act: 'wait' });
  }
  expect(step('Preempted', 1, { view: dead, patience: { disruptions: 50 } })).toMatchObject({
    act: 'fail',
    type: 'Trainer.Disrupted',
  });
});

test('a pod whose silent node does not confirm its end is forgotten after its grace period', () => {
  expect(step('NodeLost', 90, { view: { pods: [pod({ state: running(9), deletedSecondsAgo: 20 })] } })).toEqual({
    act: 'wait',
  });
  expect(step('NodeLost', 90, { view: { pods: [pod({ state: running(9), deletedSecondsAgo: 31 })] } })).toEqual({
    act: 'forget-pod',
    pod: 'pod-1',
  });
});

test('a hang is replaced, the third one ends it', () => {
  expect(step('Stalled', 0)).toEqual({ act: 'replace', counts: 'stalls' });
  expect(step('Stalled', 0, { patience: { stalls: 2 } })).toMatchObject({ act: 'fail', type: 'Trainer.Stalled' });
  expect(step('Starting', 899)).toEqual({ act: 'wait' });
  expect(step('Starting', 901)).toEqual({ act: 'replace', counts: 'stalls' });
});

test.each([
  [64, 'Trainer.JobInvalid'],
  [65, 'Trainer.EnvironmentFailed'],
  [66, 'Trainer.Diverged'],
  [1, 'Trainer.Failed'],
])('exit code %i fails at once as %s', (code, type) => {
  expect(step('CodeError', 0, { view: { pods: [pod({ phase: 'Failed', state: ended(code) })] } })).toMatchObject({
    act: 'fail',
    type,
  });
});

test('a pack’s exit code may be another training’s: one without a failure of its own waits for its files, but not for ever', () => {
  for (const [code, type] of [
    [66, 'Trainer.Diverged'],
    [1, 'Trainer.Failed'],
  ] as const) {
    const view = { pods: [pod({ phase: 'Failed', state: ended(code) })] };
    expect(step('CodeError', 5, { view, packed: true })).toEqual({ act: 'wait' });
    expect(step('CodeError', 31, { view, packed: true })).toMatchObject({ act: 'fail', type });
  }
});

test('a crash is repeated by Kubernetes until the Job has failed', () => {
  const pods = [pod({ phase: 'Failed', state: ended(139) })];
  expect(step('CodeError', 0, { view: { pods } })).toEqual({ act: 'wait' });
  expect(step('CodeError', 0, { view: { pods, job: job({ failed: 'BackoffLimitExceeded' }) } })).toMatchObject({
    act: 'fail',
    type: 'Trainer.Failed',
  });
});

test('too little memory and deadlines end it', () => {
  expect(step('OOMKilled', 0)).toMatchObject({ act: 'fail', type: 'Trainer.OutOfMemory' });
  expect(step('Deadline', 0)).toMatchObject({ act: 'fail', type: 'Trainer.Deadline' });
});

test('the clock of training starts at the first iteration', () => {
  const limits = { limits: { trainingMinutes: 5 } };
  expect(step('Training', 1, { spec: limits, firstIterationMs: NOW - 299_000 })).toEqual({ act: 'wait' });
  expect(step('Training', 1, { spec: limits, firstIterationMs: NOW - 301_000 })).toMatchObject({
    act: 'fail',
    type: 'Trainer.Deadline',
  });
});

test('a complete Job without a manifest is no success', () => {
  expect(step('Finished', 5)).toEqual({ act: 'wait' });
  expect(step('Finished', 31)).toMatchObject({ act: 'fail', type: 'Trainer.Died' });
});
