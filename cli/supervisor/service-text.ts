import { logTail, vllmStep } from './log-tail';
import type { ServiceState } from './supervisor-state';

/** The name of a service for people. */
export const TITLES: Record<ServiceState['name'], string> = {
  temporal: 'Temporal server',
  analyst: 'demo analyst',
  model: 'base model (recipe)',
  policy: 'policy server',
  gateway: 'gateway',
  worker: 'worker',
};

/** A line of the table of services. */
export const serviceRow = (title: string, status: string, detail: string): string =>
  `${title.padEnd(20)} ${status.padEnd(10)} ${detail}`.trimEnd();

/** Whether a service has not yet reached its wanted state. */
export const isWaitedFor = ({ status }: ServiceState): boolean => status !== 'ready' && status !== 'done';

/** A sentence for a service that is not ready: its current work or why it waits, and the place of its log. */
export function waitingText(service: ServiceState): string {
  const { name, status, note, log } = service;
  const detail = (status === 'starting' && currentStep(service)) || note;
  // A service that waits for another one has not written a log yet.
  const where = status === 'waiting' ? '' : `; its log is ${log}`;
  return `The ${TITLES[name]} is ${status}${detail === '' ? '' : ` (${detail})`}${where}.`;
}

/** The current work of a service that takes minutes to start: the model's recipe, and vLLM. Empty if it is unknown. */
export function currentStep(service: ServiceState): string {
  if (service.name === 'policy') return vllmStep(service.log);
  const line = service.name === 'model' ? logTail(`${service.log}.out`, 1) : '';
  return line.startsWith('{') ? '' : line;
}
