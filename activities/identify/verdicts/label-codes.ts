import type { Label } from '../../../contracts/artifacts/identification';

/** One byte for each label; `none`: the label could not be obtained or was not requested. */
export const LABEL_CODES = { none: 0, NA: 1, PRESENT: 2, LACKING: 3 } as const;

/** The byte of a label; null is a label that could not be obtained. */
export const labelCode = (label: Label | null): number => (label === null ? LABEL_CODES.none : LABEL_CODES[label]);

/** Labels of one capability: an array of codes for each labelling run, indexed by trajectory. */
export type RunLabels = readonly Uint8Array[];
