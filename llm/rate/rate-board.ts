import { newRateState, rateStateSchema, type RateState } from './rate-state';

/**
 * Where the workers of one machine, or of a cluster, keep what they know about an endpoint: a document with
 * compare-and-swap.
 */
export interface RateBoard {
  read(): Promise<{ value: unknown; etag: string } | null>;
  /** Replaces the document when its etag is still `expected`; resolves with false when somebody was faster. */
  swap(value: unknown, expected: string | null): Promise<boolean>;
}

/** A board for one process alone. */
export function privateBoard(): RateBoard {
  let held: { value: unknown; etag: string } | null = null;
  let version = 0;
  return {
    read: async () => held,
    swap: async (value, expected) => {
      if ((held?.etag ?? null) !== expected) return false;
      held = { value, etag: String(++version) };
      return true;
    },
  };
}

/** Most times that a change is tried again when others change the document at the same time. */
const MAX_SWAPS = 20;

/** Changes the state on a board; `change` may run several times. Throws Error when others were faster all the time. */
export async function changeState<T>(
  board: RateBoard,
  change: (state: RateState) => { state: RateState; result: T },
): Promise<{ state: RateState; result: T }> {
  for (let attempt = 0; attempt < MAX_SWAPS; attempt++) {
    const held = await board.read();
    const parsed = held === null ? null : rateStateSchema.safeParse(held.value);
    const changed = change(parsed?.data ?? newRateState(Date.now()));
    if (await board.swap(changed.state, held?.etag ?? null)) return changed;
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * (attempt + 1)));
  }
  throw new Error('The rate document of the analyst endpoint could not be changed: too many others change it.');
}
