import { z } from 'zod';

/** Longest timer duration, in ms: 24.8 days. In Node, a timer with a longer duration ends after 1 ms. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/** A span for a timer, in whole milliseconds, at least 1. */
export const milliseconds = z.int().positive().max(LONGEST_TIMER_MS);

/** The same, or 0. */
export const millisecondsOrNone = z.int().nonnegative().max(LONGEST_TIMER_MS);
