import { z } from 'zod';

/** What the JSON Schema of an option says. */
export interface OptionSchema {
  type: string;
  default: unknown;
  enum?: string[];
  description?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
}

/** A Markdown table of options with their defaults, the values that they take, and what they do. */
export function optionTable(options: z.ZodRawShape): string {
  const { properties } = z.toJSONSchema(z.object(options), { io: 'input' }) as unknown as {
    properties: Record<string, OptionSchema>;
  };
  const rows = Object.entries(properties).map(([name, option]) => [
    `\`${name}\``,
    String(option.default),
    optionValues(option),
    (option.description ?? '').replaceAll('|', '\\|'),
  ]);
  return aligned([['option', 'default', 'values', 'what it does'], ...rows]);
}

/** The values that an option takes, in words: `1 or more`, `above 0`, `0 to 1`. */
export function optionValues({
  type,
  enum: choices,
  minimum,
  maximum,
  exclusiveMinimum,
  exclusiveMaximum,
}: OptionSchema): string {
  if (type === 'boolean') return 'true, false';
  if (choices) return choices.join(', ');
  const least = type === 'integer' && exclusiveMinimum !== undefined ? exclusiveMinimum + 1 : minimum;
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (least !== undefined && most !== undefined) return `${least} to ${most}`;
  const words = [
    least === undefined ? exclusiveMinimum !== undefined && `above ${exclusiveMinimum}` : `${least} or more`,
    most !== undefined && `at most ${most}`,
    exclusiveMaximum !== undefined && `below ${exclusiveMaximum}`,
  ];
  return words.filter(Boolean).join(', ');
}

/** A Markdown table of these rows, aligned as prettier would write it. The first row is its head. */
export function aligned(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const rule = line(widths.map((width) => '-'.repeat(width)));
  return [line(rows[0]!), rule, ...rows.slice(1).map(line)].join('\n');
}
