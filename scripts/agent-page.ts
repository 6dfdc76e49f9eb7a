import { z } from 'zod';
import { agentSpecSchema } from '../contracts/config/agent-spec';
import { optionValues, type OptionSchema } from './option-table';

/** A node of the schema of agent.yaml. */
interface Field extends Omit<Partial<OptionSchema>, 'type'> {
  type?: string;
  const?: unknown;
  properties?: Record<string, Field>;
  required?: string[];
  items?: Field;
  prefixItems?: Field[];
  anyOf?: Field[];
  oneOf?: Field[];
  pattern?: string;
  /** Nobody writes it: a prepared spec alone has it. */
  internal?: boolean;
}

/** The smallest agent.yaml that `whet validate` accepts, for a model that some server serves. */
export const SMALLEST_AGENT = `version: 1
name: my-agent
environment:
  path: environment.py # class Environment: docs/guides/your-own-agent.md
  trainSeeds: { start: 0, count: 300 }
  heldOutSeeds: { start: 1000, count: 200 }
model:
  name: qwen3-4b # the name under which the server serves it
  path: /models/Qwen3-4B
  baseUrl: http://127.0.0.1:8000/v1
`;

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

/** What a field takes, in words. */
function valuesOf(field: Field): string {
  const forms = field.anyOf ?? field.oneOf;
  if (forms) return [...new Set(forms.map(valuesOf))].join(' or ');
  if (field.const !== undefined) return code(field.const);
  if (field.prefixItems) return `[${field.prefixItems.map(valuesOf).join(', ')}]`;
  if (field.items) return `list of ${field.items.properties ? 'objects' : valuesOf(field.items)}`;
  const range = optionValues({ default: undefined, ...field, type: field.type ?? 'any' });
  const words =
    field.enum || field.type === 'boolean' ? range : [field.type ?? 'any', range].filter(Boolean).join(', ');
  return field.pattern === undefined ? words : `${words}, matches ${code(field.pattern)}`;
}

const defaultOf = (field: Field, isRequired: boolean): string => {
  if (isRequired) return 'required';
  if (field.default === undefined) return '–';
  // Of an object its fields say what their defaults are.
  return field.properties ? '' : code(field.default);
};

/** The fields of an object, those of objects in it with dotted paths. */
function rows({ properties = {}, required = [] }: Field, prefix: string): string[] {
  return Object.entries(properties).flatMap(([key, field]) => {
    if (field.internal === true) return [];
    const path = `${prefix}${key}`;
    const cells = [
      code(path),
      defaultOf(field, required.includes(key)),
      field.properties ? 'object' : valuesOf(field),
      field.description ?? '',
    ];
    const inner = field.properties ?? field.items?.properties;
    const nested = inner
      ? rows(field.properties ? field : field.items!, `${path}${field.properties ? '' : '[]'}.`)
      : [];
    return [`| ${cells.map(cell).join(' | ')} |`, ...nested];
  });
}

/** The tables of a part with kinds: the fields that all who may have them have alike, and those of each kind. */
function tablesOfKinds(kinds: readonly Field[], name: string): string {
  const fields = kinds.map((kind) => rows(kind, `${name}.`));
  const lacks = ({ properties = {} }: Field, row: string) =>
    Object.entries(properties).some(([key, { internal }]) => internal === true && row.startsWith(`| \`${name}.${key}`));
  const common = fields[0]!.filter((row) => kinds.every((kind, i) => fields[i]!.includes(row) || lacks(kind, row)));
  const ofKind = kinds.map(({ properties }, index) => {
    const own = fields[index]!.filter((row) => !common.includes(row));
    return `### kind ${code(properties?.['kind']?.const)}\n\n${table(own)}`;
  });
  return [table(common), ...ofKind].join('\n\n');
}

const table = (lines: readonly string[]): string =>
  ['| field | default | values | what it does |', '|---|---|---|---|', ...lines].join('\n');

/** The page on agent.yaml: a section for each of its parts, a row for each field. */
export function agentPage(notice: string): string {
  const document = z.toJSONSchema(agentSpecSchema, { io: 'input', unrepresentable: 'any' }) as unknown as Field;
  const parts = Object.entries(document.properties ?? {});
  const kindsOf = ({ oneOf = [] }: Field) => oneOf.filter(({ properties }) => properties?.['kind'] !== undefined);
  const isPart = ([, field]: [string, Field]) => field.properties !== undefined || kindsOf(field).length > 0;
  const plain = {
    required: document.required ?? [],
    properties: Object.fromEntries(parts.filter((part) => !isPart(part))),
  };
  const sections = parts
    .filter(isPart)
    .map(([name, field]) =>
      [
        `## ${name}`,
        ...(field.description ? [field.description] : []),
        `${field.properties ? table(rows(field, `${name}.`)) : tablesOfKinds(kindsOf(field), name)}\n`,
      ].join('\n\n'),
    );
  return `# agent.yaml

${notice}
JSON Schema for editors, after \`make build\`: \`dist/schemas/agent.schema.json\`.

The smallest valid file:

\`\`\`yaml
${SMALLEST_AGENT}\`\`\`

The file describes a deployed agent. Paths are relative to it. \`./whet validate agent.yaml\` checks it, names the
path and the allowed values of what is wrong, and plays the reference solutions of up to eight train and eight held-out
tasks. Of a program it plays one train task with a model that does nothing. An unknown field is refused.
[examples/orders-desk/agent.yaml](../../examples/orders-desk/agent.yaml) is a small one, \`examples/models\` has some for
models of other sizes. A part that is left out has the defaults of its fields.

${table(rows(plain, ''))}

${sections.join('\n')}`;
}
