import { createHash } from 'node:crypto';

/** Who made an object, as label and as field manager of server-side apply. */
export const MANAGER = 'whetstone';
/** Name of the one container of a training pod. */
export const CONTAINER = 'trainer';
/** Audience of the token that a pod sends its reports with; the API server does not take it. */
export const REPORT_AUDIENCE = 'whetstone-reports';

/** Labels of the objects of one training. Values are cut and cleaned, since run ids may hold what labels may not. */
export const LABELS = {
  manager: 'app.kubernetes.io/managed-by',
  component: 'app.kubernetes.io/component',
  agent: 'whetstone.dev/agent',
  run: 'whetstone.dev/run',
  capability: 'whetstone.dev/capability',
  /** Of a pack's Job: how many trainings share it. Each of them has a label of its own, see `memberLabel`. */
  pack: 'whetstone.dev/pack',
  /** Kueue: the LocalQueue that admits the Job. */
  queue: 'kueue.x-k8s.io/queue-name',
} as const;

/** Annotations: whole values, where labels hold shortened ones. */
export const ANNOTATIONS = {
  run: 'whetstone.dev/run',
  job: 'whetstone.dev/job',
  directory: 'whetstone.dev/directory',
} as const;

/** Selects every object that Whetstone's trainings have made. */
export const TRAINER_SELECTOR = `${LABELS.manager}=${MANAGER},${LABELS.component}=${CONTAINER}`;

/**
 * Name of the Job of a training directory: the same for every attempt, so that each finds the Job of the one before. At
 * most 52 characters: pods get a suffix, and a label must hold the result.
 */
export function jobName(capability: string, directoryKey: string): string {
  const hash = createHash('sha256').update(directoryKey).digest('hex').slice(0, 12);
  return `whet-${clean(capability.toLowerCase(), 34)}-${hash}`;
}

/** Name of the Job of a pack: of its folder and of those who are in it. */
export function packName(packKey: string, memberKeys: readonly string[]): string {
  return jobName('pack', [packKey, ...memberKeys].join('\n'));
}

/** Label that a pack's Job has for each training in it, so that a selector finds it by any of them. */
export function memberLabel(capability: string): string {
  return `capability.whetstone.dev/${labelValue(capability) || 'job'}`;
}

/** Text as a label's value: letters, digits, dashes, dots; at most `length` characters; empty when nothing is left. */
export function labelValue(text: string, length = 63): string {
  return text
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, length)
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
}

function clean(text: string, length: number): string {
  const cleaned = text
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, length)
    .replace(/^-+|-+$/g, '');
  return cleaned === '' ? 'job' : cleaned;
}
