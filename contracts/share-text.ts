/** A share as plain text, for terminals too: `34.1 %`. */
export const percentText = (share: number, digits = 1): string => `${(share * 100).toFixed(digits)} %`;

/** The size of a difference of shares as plain text: `4.2 points`. */
export const pointsText = (difference: number, digits = 1): string => `${(difference * 100).toFixed(digits)} points`;
