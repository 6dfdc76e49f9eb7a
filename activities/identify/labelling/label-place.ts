/** Where labels lie: a file of the store and bytes of it, written as `<key>@<start>-<end>`. */

/** Bytes of a file with labels. The end is exclusive; Infinity for the whole file. */
export interface LabelPlace {
  segment: string;
  start: number;
  end: number;
}

/** Writes a place. */
export const formatPlace = ({ segment, start, end }: LabelPlace): string => `${segment}@${start}-${end}`;

/** Reads a place. A text without bytes, as plans of earlier versions have it, is a whole segment. */
export function parsePlace(text: string): LabelPlace {
  const [, segment, start, end] = /^(.+)@(\d+)-(\d+)$/.exec(text) ?? [];
  if (segment === undefined) return { segment: text, start: 0, end: Infinity };
  return { segment, start: Number(start), end: Number(end) };
}
