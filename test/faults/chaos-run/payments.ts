import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DoorCall, readDoorLog } from './door-log';
import { keyOfAnswer } from './recorded-answer';

/** What the analyst was asked, as its provider counts it: a provider need not honour idempotency keys. */
export interface Payments {
  calls: number;
  questions: number;
  /**
   * Repeated calls whose first answer was stored or could have been: the caller had it and lived. Each is described.
   */
  paidTwice: string[];
  /** Repeated calls that nobody could avoid: the answer was under way when caller or provider died. */
  inFlight: number;
  /** Repeated calls whose answer arrived while the disk was full, so that it could not be stored. */
  diskFull: number;
  /** Repeated calls whose stored answer a fault had destroyed. */
  destroyed: number;
  /** Discovery and synthesis that another run of the same seed asked for too. They belong to a run, labels to all. */
  otherRun: number;
  /** Calls without a key. */
  withoutKey: number;
  /** Questions that the undisturbed run did not ask, and questions that only it asked. */
  more: number;
  fewer: number;
}

/** An answer that was delivered this long before its caller died should have been stored. */
const STORING_MS = 1_000;

/** When something happened that explains why an answer was lost. Milliseconds since 1970. */
export interface Excuses {
  /** Deaths of workers. */
  deaths: readonly number[];
  /** Spans in which the disk was full. */
  full: readonly { from: number; to: number }[];
  /** Stored answers that a fault destroyed. */
  destroyed: readonly DestroyedAnswer[];
}

/** A stored answer that damage to a file took away. */
export interface DestroyedAnswer {
  key: string;
  at: number;
}

/** Counts the calls of an instance at its provider's door. `calm`: keys that the undisturbed run asked. */
export function countPayments(
  doorLog: string,
  home: string,
  excuses: Excuses,
  calm: ReadonlySet<string> | null,
): Payments {
  const calls = readDoorLog(doorLog).filter(({ status }) => status === null || status < 400);
  const byKey = new Map<string, DoorCall[]>();
  for (const call of calls) if (call.key !== null) byKey.set(call.key, [...(byKey.get(call.key) ?? []), call]);
  const stored = storedAnswers(join(home, 'store'));
  const payments: Payments = {
    calls: calls.length,
    questions: byKey.size,
    paidTwice: [],
    inFlight: 0,
    diskFull: 0,
    destroyed: 0,
    otherRun: 0,
    withoutKey: calls.filter(({ key }) => key === null).length,
    more: calm === null ? 0 : [...byKey.keys()].filter((key) => !calm.has(key)).length,
    fewer: calm === null ? 0 : [...calm].filter((key) => !byKey.has(key)).length,
  };
  for (const [key, asked] of byKey) {
    const places = stored.get(key) ?? new Map<string, number>();
    const isStoredTwice = [...places.values()].some((count) => count > 1);
    for (const [i, call] of asked.slice(1).entries()) {
      const before = asked[i] as DoorCall;
      const why = isStoredTwice ? 'stored twice' : explain(before, call, excuses);
      if (i + 1 < places.size && !isStoredTwice) payments.otherRun++;
      else if (why === null) payments.inFlight++;
      else if (why === 'destroyed') payments.destroyed++;
      else if (why === 'full') payments.diskFull++;
      else payments.paidTwice.push(`${key.slice(0, 12)} at ${new Date(call.askedAt).toISOString()}: ${why}`);
    }
  }
  return payments;
}

/** Keys of all calls in a door log. */
export function keysAsked(doorLog: string): Set<string> {
  return new Set(readDoorLog(doorLog).flatMap(({ key }) => key ?? []));
}

/**
 * Null: the first answer was in flight when somebody died. `full`: the disk was full. `destroyed`: a damaged line.
 * Else why it should be there.
 */
function explain(before: DoorCall, call: DoorCall, { deaths, full, destroyed }: Excuses): string | null {
  if (!before.delivered || before.endedAt === null || before.endedAt > call.askedAt) return null;
  const { endedAt } = before;
  if (full.some(({ from, to }) => endedAt >= from && endedAt <= to + STORING_MS)) return 'full';
  if (destroyed.some(({ key, at }) => key === call.key && at >= endedAt && at <= call.askedAt)) return 'destroyed';
  const death = deaths.find((at) => at >= before.askedAt && at <= call.askedAt);
  if (death === undefined) return `answered ${call.askedAt - endedAt} ms before, and no worker died since it was asked`;
  return death - endedAt <= STORING_MS ? null : `answered ${death - endedAt} ms before the worker died`;
}

const LABELS = 'labels';

/** How often the answer of each call is stored: by its key, then by the run whose work file has it, or the labels. */
function storedAnswers(store: string): Map<string, Map<string, number>> {
  const counts = new Map<string, Map<string, number>>();
  const files = existsSync(store) ? (readdirSync(store, { recursive: true }) as string[]) : [];
  for (const name of files.filter((path) => /(^labels-cache\/|\/work\/analyst-).*\.jsonl$/.test(path))) {
    for (const line of readFileSync(join(store, name), 'utf8').split('\n')) {
      const key = keyOfAnswer(line);
      if (key === null) continue;
      const place = /^runs\/([^/]+)\//.exec(name)?.[1] ?? LABELS;
      const places = counts.get(key) ?? new Map<string, number>();
      counts.set(key, places.set(place, (places.get(place) ?? 0) + 1));
    }
  }
  return counts;
}
