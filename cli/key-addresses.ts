/** Addresses of a variable, separated by commas or blanks. What is none is told by the worker. */
export const keyAddresses = (list = ''): string[] => list.split(/[\s,]+/).filter((one) => URL.canParse(one));
