/** A number with its noun: `1 trial`, `2 trials`. */
export const pluralise = (value: number, one: string, many = `${one}s`): string =>
  `${value} ${value === 1 ? one : many}`;
