import type { CoreV1Event, V1ContainerStatus, V1Job, V1Pod } from '@kubernetes/client-node';
import { CONTAINER } from './names';

/** The condition of this type if its status is True; else undefined. */
export function conditionOf<C extends { type: string; status: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type && condition.status === 'True');
}

const time = (value: Date | string | undefined): number => (value === undefined ? 0 : new Date(value).getTime());

/** The pod that was created last; null if there is none. */
export function newestPod(pods: readonly V1Pod[]): V1Pod | null {
  return [...pods].sort((a, b) => time(b.metadata?.creationTimestamp) - time(a.metadata?.creationTimestamp))[0] ?? null;
}

/**
 * The status of a pod's trainer. Other containers may come before it, because a cluster adds containers, such as a
 * proxy, to every pod.
 */
export function trainerStatus(pod: V1Pod): V1ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find(({ name }) => name === CONTAINER);
}

/** The arguments of a Job's trainer; empty if there is no Job. */
export function trainerArguments(job: V1Job | null): string[] {
  return job?.spec?.template.spec?.containers.find(({ name }) => name === CONTAINER)?.args ?? [];
}

/** Time of an event's last occurrence, in milliseconds since 1970. */
export function eventTime(event: CoreV1Event): number {
  return Math.max(
    time(event.lastTimestamp),
    time(event.eventTime),
    time(event.series?.lastObservedTime),
    time(event.metadata?.creationTimestamp),
  );
}

/** The newest event that `fits` accepts. */
export function newestEvent(
  events: readonly CoreV1Event[],
  fits: (event: CoreV1Event) => boolean,
): CoreV1Event | undefined {
  return events.filter(fits).sort((a, b) => eventTime(b) - eventTime(a))[0];
}
