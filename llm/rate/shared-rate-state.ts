import { newRateState, rateStateSchema, type RateState } from './rate-state';

/**
 * The place where the workers of one machine, or of a cluster, keep what they know about the rate of an endpoint: a
 * document with compare-and-swap.
 */
export interface SharedRateState {
  read(): Promise<{ value: unknown; version: string } | null>;
  /** Replaces the document if its version is still `expected`. Resolves with false if somebody else was faster. */
  swap(value: unknown, expected: string | null): Promise<boolean>;
}

/** A rate state that one process keeps for itself. `initial`: what it knows at the beginning. */
export function inProcessRateState(initial?: RateState): SharedRateState {
  let held: { value: unknown; version: string } | null =
    initial === undefined ? null : { value: initial, version: '0' };
  let writes = 0;
  return {
    read: async () => held,
    swap: async (value, expected) => {
      if ((held?.version ?? null) !== expected) return false;
      held = { value, version: String(++writes) };
      return true;
    },
  };
}

/** How often a change is tried when others change the document at the same time. */
const MAX_SWAPS = 20;

/**
 * Changes a shared rate state by compare-and-swap; `change` may run several times. Throws Error after 20 attempts that
 * others were faster at.
 */
export async function updateRateState<T>(
  shared: SharedRateState,
  change: (state: RateState) => { state: RateState; result: T },
): Promise<{ state: RateState; result: T }> {
  for (let attempt = 0; attempt < MAX_SWAPS; attempt++) {
    const held = await shared.read();
    const parsed = held === null ? null : rateStateSchema.safeParse(held.value);
    const changed = change(parsed?.data ?? newRateState(Date.now()));
    if (await shared.swap(changed.state, held?.version ?? null)) return changed;
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * (attempt + 1)));
  }
  throw new Error(
    `The rate document of the analyst endpoint could not be changed in ${MAX_SWAPS} attempts: ` +
      'too many other workers change it at the same time.',
  );
}
