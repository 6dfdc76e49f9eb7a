import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { canonicalJson } from '../../contracts/artifacts/trajectory-id';

/** Members of a JSON schema that inform readers but constrain nothing. */
const ANNOTATIONS = new Set(['description', 'title', 'examples', '$comment', 'default']);

/**
 * Sentences on how a synthesised environment's tools differ from the agent's. Empty if names, parameters, types and
 * required parameters are the same. Skills learnt on other tools do not transfer.
 */
export function interfaceDifferences(
  target: readonly EnvironmentTool[],
  candidate: readonly EnvironmentTool[],
): string[] {
  const theirs = new Map(candidate.map((tool) => [tool.function.name, tool]));
  const ours = new Map(target.map((tool) => [tool.function.name, tool]));
  const missing = [...ours.keys()].filter((name) => !theirs.has(name));
  const extra = [...theirs.keys()].filter((name) => !ours.has(name));
  return [
    ...(missing.length > 0 ? [`tools() lacks ${missing.join(', ')}, which the agent has.`] : []),
    ...(extra.length > 0 ? [`tools() has ${extra.join(', ')}, which the agent does not have.`] : []),
    ...[...ours].flatMap(([name, tool]) => {
      const other = theirs.get(name);
      return other ? parameterDifferences(name, tool, other) : [];
    }),
  ];
}

function parameterDifferences(name: string, target: EnvironmentTool, candidate: EnvironmentTool): string[] {
  const [ours, theirs] = [shapeOf(target), shapeOf(candidate)];
  const differences: string[] = [];
  for (const parameter of ours.properties.keys()) {
    if (!theirs.properties.has(parameter)) differences.push(`${name} lacks the parameter ${parameter}.`);
  }
  for (const [parameter, schema] of theirs.properties) {
    const expected = ours.properties.get(parameter);
    if (expected === undefined)
      differences.push(`${name} has a parameter ${parameter} that the agent's tool does not have.`);
    else if (schema !== expected)
      differences.push(`${name}: the parameter ${parameter} is ${schema}; the agent's tool has ${expected}.`);
  }
  if (ours.required.join() !== theirs.required.join()) {
    differences.push(
      `${name} requires [${theirs.required.join(', ')}]; the agent's tool requires [${ours.required.join(', ')}].`,
    );
  }
  return differences;
}

function shapeOf(tool: EnvironmentTool): { properties: Map<string, string>; required: string[] } {
  const { properties, required } = (tool.function.parameters ?? {}) as {
    properties?: Record<string, unknown>;
    required?: unknown;
  };
  return {
    properties: new Map(
      Object.entries(properties ?? {}).map(([name, schema]) => [name, canonicalJson(withoutAnnotations(schema))]),
    ),
    required: Array.isArray(required) ? required.map(String).sort() : [],
  };
}

function withoutAnnotations(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutAnnotations);
  if (schema === null || typeof schema !== 'object') return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !ANNOTATIONS.has(key))
      .map(([key, member]) => [key, withoutAnnotations(member)]),
  );
}
