import type { SeedRanges } from '../../contracts/messages/night-stage';

/** The seeds of ranges, in their order. */
export const expandSeedRanges = (ranges: Readonly<SeedRanges>): number[] =>
  ranges.flatMap(({ start, count }) => Array.from({ length: count }, (_, place) => start + place));
