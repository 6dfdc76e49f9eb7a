import { z } from 'zod';

/** A node of a JSON Schema, with the keywords that the contracts use. */
interface Node {
  type?: string | string[];
  description?: string;
  properties?: Record<string, Node>;
  required?: string[];
  items?: Node;
  prefixItems?: Node[];
  additionalProperties?: Node | boolean;
  anyOf?: Node[];
  enum?: unknown[];
  const?: unknown;
}

/** One field of a table. */
export interface FieldRow {
  /** Dotted path; `[]` stands for each element of a list. */
  path: string;
  type: string;
  required: boolean;
  /** Empty when the schema does not say. */
  meaning: string;
}

/** Schemas with a section of their own, by heading; fields that have one of these forms refer to it. */
export type NamedSchemas = Readonly<Record<string, z.ZodType>>;

const toNode = (schema: z.ZodType): Node => z.toJSONSchema(schema) as Node;

/** A text that is equal for nodes of the same form: everything but the node's own description. */
function form(node: Node): string {
  const { description: _, ...rest } = node;
  return JSON.stringify({ ...rest, $schema: undefined });
}

/** Fields of one schema, in its order; anonymous nested objects are unfolded into their fields. */
export function fieldRows(schema: z.ZodType, named: NamedSchemas): FieldRow[] {
  const forms = new Map(Object.entries(named).map(([name, s]) => [form(toNode(s)), name]));
  return objectRows(toNode(schema), '', forms);
}

function objectRows(node: Node, prefix: string, forms: ReadonlyMap<string, string>): FieldRow[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, field]) => {
    const path = `${prefix}${key}`;
    const row = {
      path,
      type: typeName(field, forms),
      required: node.required?.includes(key) ?? false,
      meaning: field.description ?? '',
    };
    const inner = nonNull(field);
    if (forms.has(form(inner))) return [row];
    if (inner.properties) return [row, ...objectRows(inner, `${path}.`, forms)];
    if (inner.items?.properties && !forms.has(form(inner.items)))
      return [row, ...objectRows(inner.items, `${path}[].`, forms)];
    return [row];
  });
}

const isNull = (node: Node) => node.type === 'null';

/** The node without its null alternative; its description stays with the caller. */
function nonNull(node: Node): Node {
  const rest = node.anyOf?.filter((alternative) => !isNull(alternative));
  return rest?.length === 1 ? (rest[0] as Node) : node;
}

function typeName(node: Node, forms: ReadonlyMap<string, string>): string {
  const name = forms.get(form(node));
  if (name !== undefined) return `[${name}](#${name.toLowerCase().replaceAll(' ', '-')})`;
  if (node.anyOf) return node.anyOf.map((alternative) => typeName(alternative, forms)).join(' or ');
  if (node.const !== undefined) return `\`${JSON.stringify(node.const)}\``;
  if (node.enum) return node.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (node.prefixItems) return `[${node.prefixItems.map((item) => typeName(item, forms)).join(', ')}]`;
  if (node.items) return `list of ${typeName(node.items, forms)}`;
  if (typeof node.additionalProperties === 'object') return `map of ${typeName(node.additionalProperties, forms)}`;
  return [node.type ?? 'any'].flat().join(' or ');
}

/** A Markdown table of the fields. */
export function fieldTable(rows: readonly FieldRow[]): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const lines = rows.map(
    (row) => `| \`${row.path}\`${row.required ? '' : ' (optional)'} | ${cell(row.type)} | ${cell(row.meaning)} |`,
  );
  return ['| field | type | meaning |', '|---|---|---|', ...lines].join('\n');
}
