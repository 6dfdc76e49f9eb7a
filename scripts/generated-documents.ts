/** Documents that are made from the contracts, so that they cannot say anything else. Pure: text by path. */
import { z } from 'zod';
import { artifactRefSchema } from '../contracts/artifacts/artifact-ref';
import { calibrationResultSchema, environmentAttemptSchema } from '../contracts/artifacts/environment-attempt';
import { armSchema, evaluationSchema, gateSchema, intervalSchema } from '../contracts/artifacts/evaluation';
import {
  ablationSchema,
  candidateSchema,
  contrastSchema,
  evidenceSchema,
  identificationSchema,
  mergeSchema,
  plantedSchema,
  runContrastSchema,
} from '../contracts/artifacts/identification';
import { reportSchema } from '../contracts/artifacts/report';
import { agentSpecSchema } from '../contracts/config/agent-spec';
import { FAILURES } from '../contracts/failures';
import { fieldRows, fieldTable, type NamedSchemas } from './schema-tables';

const NOTICE = 'Generated from the contracts by `npm run docs`; do not edit.';

/** Parts of the report with a section of their own, in the order of the page. */
export const REPORT_PARTS: NamedSchemas = {
  Report: reportSchema,
  Identification: identificationSchema,
  Candidate: candidateSchema,
  Contrast: contrastSchema,
  'Run contrast': runContrastSchema,
  Merge: mergeSchema,
  Evidence: evidenceSchema,
  Ablation: ablationSchema,
  Planted: plantedSchema,
  Attempt: environmentAttemptSchema,
  Calibration: calibrationResultSchema,
  'Trained adapter': reportSchema.shape.sharpened.element.shape.adapter.unwrap(),
  Evaluation: evaluationSchema,
  Arm: armSchema,
  Interval: intervalSchema,
  Gate: gateSchema,
  Artifact: artifactRefSchema,
};

/** Content of each generated file, by its path from the repository's root. */
export function generatedDocuments(): Record<string, string> {
  return {
    'docs/report.md': reportPage(),
    'docs/errors.md': errorsPage(),
    'contracts/schemas/agent.schema.json': editorSchema(agentSpecSchema, 'A deployed agent (agent.yaml)', 'input'),
    'contracts/schemas/report.schema.json': editorSchema(
      reportSchema,
      'What an improvement run found out (report.json)',
      'output',
    ),
  };
}

function reportPage(): string {
  const sections = Object.entries(REPORT_PARTS).map(
    ([name, schema]) => `## ${name}\n\n${fieldTable(fieldRows(schema, REPORT_PARTS))}\n`,
  );
  return `# report.json

${NOTICE} JSON Schema for editors: \`contracts/schemas/report.schema.json\`.

Every run leaves \`runs/<run-id>/report/report.json\` and, beside it, \`report.html\` with the same figures as plots. Shares are in [0, 1],
differences of shares in [-1, 1], times in seconds. Fields marked optional may be absent; \`null\` is said where a value can be missing.
\`schemaVersion\` is raised when a field changes its meaning or goes away; new fields may appear without that.

${sections.join('\n')}`;
}

function errorsPage(): string {
  const rows = Object.entries(FAILURES).map(
    ([type, { retryable, meaning, remedy }]) =>
      `| \`${type}\` | ${retryable ? 'yes' : 'no'} | ${meaning} | ${remedy} |`,
  );
  return `# Errors

${NOTICE}

Every failure of a run carries one of these types, in the Temporal UI, in \`whet status\` and in \`whet why\`. The types are stable. A failure that is
tried again by itself shows up only when it persists.

| type | tried again by itself | meaning | what to do |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** Draft 7, because editors' YAML support knows it best. */
function editorSchema(schema: z.ZodType, title: string, io: 'input' | 'output'): string {
  const { $schema, ...body } = withoutIntegerLimits(z.toJSONSchema(schema, { io, target: 'draft-7' })) as Record<
    string,
    unknown
  >;
  return `${JSON.stringify({ $schema, title, ...body }, null, 2)}\n`;
}

/** zod writes the limits of safe integers into every integer; in an editor's hints they are noise. */
function withoutIntegerLimits(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutIntegerLimits);
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(
        ([key, value]) =>
          !((key === 'minimum' || key === 'maximum') && Math.abs(value as number) === Number.MAX_SAFE_INTEGER),
      )
      .map(([key, value]) => [key, withoutIntegerLimits(value)]),
  );
}
