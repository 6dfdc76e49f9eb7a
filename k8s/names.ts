import { createHash } from 'node:crypto';
import { startOf } from '../contracts/clean-text';

/** Marks the objects that Whetstone made: the managed-by label, and the field manager of server-side apply. */
export const MANAGER = 'whetstone';
/** Name of the only container of a training pod. */
export const CONTAINER = 'trainer';
/** Audience of the token for a pod's reports. The API server itself accepts no token of that audience. */
export const REPORT_AUDIENCE = 'whetstone-reports';

/**
 * Label keys of Jobs and pods. Their values are cleaned and shortened (`labelValue`), because run ids may contain other
 * characters.
 */
export const LABELS = {
  manager: 'app.kubernetes.io/managed-by',
  component: 'app.kubernetes.io/component',
  agent: 'whetstone.dev/agent',
  run: 'whetstone.dev/run',
  capability: 'whetstone.dev/capability',
  /**
   * Only on the Job of a pack: the number of trainings that share it. Each of them has its own label, see
   * `memberLabel`.
   */
  pack: 'whetstone.dev/pack',
  /** Kueue: the LocalQueue that admits the Job. */
  queue: 'kueue.x-k8s.io/queue-name',
} as const;

/** Annotation keys of Jobs and pods. Their values are complete, while labels have shortened ones. */
export const ANNOTATIONS = {
  run: 'whetstone.dev/run',
  job: 'whetstone.dev/job',
  directory: 'whetstone.dev/directory',
} as const;

/** Label selector of all trainer Jobs and pods. */
export const TRAINER_SELECTOR = `${LABELS.manager}=${MANAGER},${LABELS.component}=${CONTAINER}`;

/**
 * Name of the Job for a training directory. It is the same for every attempt, so that each attempt finds the previous
 * attempt's Job. It has at most 52 characters: pods get a suffix, and the whole name must fit into a label.
 */
export function jobName(capability: string, directoryKey: string): string {
  const hash = createHash('sha256').update(directoryKey).digest('hex').slice(0, 12);
  return `whet-${clean(capability.toLowerCase(), 34)}-${hash}`;
}

/** Name of the Job of a pack; it depends only on the pack's folder and its members. */
export function packName(packKey: string, memberKeys: readonly string[]): string {
  return jobName('pack', [packKey, ...memberKeys].join('\n'));
}

/** Label key on the Job of a pack for each member, so that a selector finds the Job by any member. */
export function memberLabel(capability: string): string {
  return `capability.whetstone.dev/${labelValue(capability) || 'job'}`;
}

/** Turns text into a valid label value of at most `length` characters; empty if no valid character is left. */
export function labelValue(text: string, length = 63): string {
  return startOf(text.replace(/[^A-Za-z0-9._-]+/g, '-'), length).replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
}

function clean(text: string, length: number): string {
  const cleaned = startOf(text.replace(/[^a-z0-9]+/g, '-'), length).replace(/^-+|-+$/g, '');
  return cleaned === '' ? 'job' : cleaned;
}
