/** Where labels lie: a label segment and the bytes of it, written as `<segment>@<start>-<end>`. */

/** Bytes of a segment. The end is exclusive; Infinity for the whole segment. */
export interface LabelPlace {
  segment: string;
  start: number;
  end: number;
}

/** Bytes between two places that are read with them, to save a request. */
const SMALL_GAP = 16_384;

/** Writes a place. */
export const formatPlace = ({ segment, start, end }: LabelPlace): string => `${segment}@${start}-${end}`;

/** Reads a place. A text without bytes, as plans of earlier versions have it, is a whole segment. */
export function parsePlace(text: string): LabelPlace {
  const [, segment, start, end] = /^(.+)@(\d+)-(\d+)$/.exec(text) ?? [];
  if (segment === undefined) return { segment: text, start: 0, end: Infinity };
  return { segment, start: Number(start), end: Number(end) };
}

/** The same bytes with as few places: those of one segment that touch, or almost, become one. */
export function joinedPlaces(texts: Iterable<string>): LabelPlace[] {
  const places = [...texts].map(parsePlace);
  places.sort((a, b) => (a.segment < b.segment ? -1 : a.segment > b.segment ? 1 : a.start - b.start));
  const joined: LabelPlace[] = [];
  for (const place of places) {
    const last = joined.at(-1);
    if (last?.segment === place.segment && place.start <= last.end + SMALL_GAP)
      last.end = Math.max(last.end, place.end);
    else joined.push({ ...place });
  }
  return joined;
}

/** `places` with `added`; of one segment, the place that covers both. */
export function withPlaces(places: readonly string[], added: readonly string[]): string[] {
  const bySegment = new Map<string, LabelPlace>();
  for (const place of [...places, ...added].map(parsePlace)) {
    const other = bySegment.get(place.segment) ?? place;
    const [start, end] = [Math.min(other.start, place.start), Math.max(other.end, place.end)];
    bySegment.set(place.segment, { segment: place.segment, start, end });
  }
  return [...bySegment.values()].map(formatPlace);
}
