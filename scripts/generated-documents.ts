/** Documents that are generated from the contracts, so that both always agree. Pure functions: text by path. */
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
import { ROUTER_KINDS } from '../contracts/config/router-kinds';
import { algorithmOptions, jobOptions } from '../contracts/config/training-options';
import { COMMAND_FAILURES } from '../contracts/failures/command-line';
import { FAILURES } from '../contracts/failures/run';
import { SANDBOX_FAILURES } from '../contracts/failures/sandbox';
import { KINDS } from '../routing/kinds';
import { agentPage } from './agent-page';
import { aligned, optionTable } from './option-table';
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
    'docs/reference/agent.md': agentPage(NOTICE),
    'docs/reference/report.md': reportPage(),
    'docs/reference/errors.md': errorsPage(),
    'docs/reference/training.md': trainingPage(),
    'docs/reference/routers.md': routersPage(),
    'trainer-image/whetstone/train/job/options.json': trainerOptions(),
  };
}

/** JSON Schemas for editors, by the name of the file that the build writes into dist/schemas. */
export function editorSchemas(): Record<string, string> {
  return {
    'agent.schema.json': editorSchema(agentSpecSchema, 'A deployed agent (agent.yaml)', 'input'),
    'report.schema.json': editorSchema(reportSchema, 'What an improvement run found out (report.json)', 'output'),
  };
}

function routersPage(): string {
  const rows = ROUTER_KINDS.map((kind) => [`\`${kind}\``, KINDS[kind].words.learnsFrom, KINDS[kind].words.cost]);
  return `# Kinds of routers

${NOTICE}

The simplest kind is the first. [routing.md](../explanations/routing.md) explains how they compete.

${aligned([['kind', 'what it learns from', 'what a decision costs'], ...rows])}
`;
}

function trainingPage(): string {
  return `# Training options

${NOTICE}

Fields under \`training\` in agent.yaml, except \`maxTurns\`, which is under \`environment\`. The rank of an agent must be
one that vLLM serves: 1, 8, 16, 32, 64 or 128. [training.md](../explanations/training.md) explains the options,
[agent.md](agent.md) has the fields that say where a training runs.

${optionTable(algorithmOptions)}
`;
}

/** What the trainer reads: type, range, default and meaning of each option, as JSON Schema. */
function trainerOptions(): string {
  const properties = (options: z.ZodRawShape): unknown =>
    (withoutIntegerLimits(z.toJSONSchema(z.object(options), { io: 'input' })) as { properties: unknown }).properties;
  const document = {
    $comment: 'Generated from contracts/config/training-options.ts by `npm run docs`; do not edit.',
    job: properties(jobOptions),
    algorithm: properties(algorithmOptions),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function reportPage(): string {
  const sections = Object.entries(REPORT_PARTS).map(
    ([name, schema]) => `## ${name}\n\n${fieldTable(fieldRows(schema, REPORT_PARTS))}\n`,
  );
  return `# report.json

${NOTICE} JSON Schema for editors, after \`make build\`:
\`dist/schemas/report.schema.json\`.

Every run leaves \`runs/<run-id>/report/report.json\` and, beside it, \`report.html\` with the same figures as plots.
Shares are in [0, 1], differences of shares in [-1, 1], times in seconds. Fields marked optional may be absent; the type
names \`null\` where a value can be missing. \`schemaVersion\` is raised when a field changes its meaning or goes away; new
fields may appear without that.

${sections.join('\n')}`;
}

function errorsPage(): string {
  const handling = ({ retryable, curedBy }: { retryable: boolean; curedBy: string }) => {
    const last = curedBy === 'nobody' ? 'ends' : `waits: ${curedBy}`;
    return retryable ? `repeats, ${last}` : last;
  };
  return `# Errors

${NOTICE}

The types are stable; a message beside them says what is wrong this time.

## Of a run

Every failure of a run carries one of these types, in the Temporal UI, in \`whet status\` and in \`whet why\`. What
the run does then: \`repeats\`: Temporal tries again by itself, with growing pauses and without an end; what fails again
and again shows up in the stage's line. \`waits\`: the run waits for a person, the one named, and goes on after
\`whet retry RUN\`; nothing that was done is lost. \`ends\`: the run ends, as long as it has only prepared and collected;
later it waits for the operator. A failure without a type, a timeout and a terminated child workflow make it wait too.

${failureTable(FAILURES, 'what the run does', handling)}

## Of a command

With \`--json\`, a command that fails prints \`{"error": {"type", "message"}}\` with one of these types, or with the type
that the run or the environment failed with. Exit code 1: it failed; 2: what was asked for is wrong, and nothing was
started.

${failureTable(COMMAND_FAILURES, 'exit code', ({ exitCode }) => String(exitCode))}

## Of an environment

\`whet env run --json\` and the trainer's log name these. In a run they become failed checks of a generated environment,
or \`Environment.Failed\` where the agent's own environment is at fault.

${failureTable(SANDBOX_FAILURES)}
`;
}

/** One row for each type; `extra` gives the cells of a column between type and meaning. */
function failureTable<F extends { meaning: string; remedy: string }>(
  failures: Readonly<Record<string, F>>,
  column?: string,
  extra: (failure: F) => string = () => '',
): string {
  const row = (cells: readonly (string | undefined)[]) =>
    `| ${cells.filter((cell) => cell !== undefined).join(' | ')} |`;
  const between = (failure: F) => (column === undefined ? undefined : extra(failure));
  return [
    row(['type', column, 'meaning', 'what to do']),
    column === undefined ? '|---|---|---|' : '|---|---|---|---|',
    ...Object.entries(failures).map(([type, failure]) =>
      row([`\`${type}\``, between(failure), failure.meaning, failure.remedy]),
    ),
  ].join('\n');
}

/** JSON Schema of draft 7, which the YAML support of editors knows best. */
function editorSchema(schema: z.ZodType, title: string, io: 'input' | 'output'): string {
  const { $schema, ...body } = withoutIntegerLimits(z.toJSONSchema(schema, { io, target: 'draft-7' })) as Record<
    string,
    unknown
  >;
  return `${JSON.stringify({ $schema, title, ...body }, null, 2)}\n`;
}

/** Drops the limits of safe integers, which zod writes into every integer: they are noise in an editor's hints. */
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
