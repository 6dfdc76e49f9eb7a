/** Other values of the same task that could stand in the place of a value. */
export interface Siblings {
  /** Values of the same kind that belong to other objects: the numbers of the other orders. */
  others: unknown[];
  /** Other fields of the same record, with values of the same type: the price instead of the total. */
  fields: unknown[];
}

/** Deepest level of a task that is searched. */
const DEPTH = 12;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Finds values like `value` in a task's hidden data: other keys beside it, other elements of its list, the same field
 * of neighbouring records, and other fields of its own record.
 */
export function siblingsOf(task: unknown, value: unknown): Siblings {
  if (typeof value !== 'string' && typeof value !== 'number') return { others: [], fields: [] };
  const others = new Set<unknown>();
  const fields = new Set<unknown>();
  const visit = (node: unknown, depth: number): void => {
    if (depth > DEPTH || typeof node !== 'object' || node === null) return;
    const children = Object.values(node);
    if (Array.isArray(node) && node.includes(value)) for (const one of children) others.add(one);
    const isTable = isRecord(node) && children.length > 1 && children.every((child) => isRecord(child));
    if (isTable && String(value) in node && Object.hasOwn(node, String(value)))
      for (const key of Object.keys(node)) others.add(typeof value === 'number' ? Number(key) : key);
    const records = children.filter(isRecord);
    for (const [key, record] of records.flatMap((record) => Object.keys(record).map((key) => [key, record] as const))) {
      if (record[key] !== value) continue;
      if (Array.isArray(node) || isTable) for (const neighbour of records) others.add(neighbour[key]);
    }
    if (isRecord(node) && children.includes(value)) for (const one of children) fields.add(one);
    for (const child of children) visit(child, depth + 1);
  };
  visit(task, 0);
  const isOther = (one: unknown): boolean => typeof one === typeof value && one !== value && one !== '';
  return { others: [...others].filter(isOther), fields: [...fields].filter((one) => isOther(one) && !others.has(one)) };
}
