import { delimiter, join } from 'node:path';
import { z } from 'zod';
import { projectRoot } from '../../project-root';
import { presetOptions } from './process-preset';
import { type ProgramSection, programKind } from './program';
import { commandOptions, endlessTasks, namedTasks } from './shared-options';
import type { Starter } from './starter';

const { memoryPerEpisode, seconds } = programKind.schema.shape;
const { venv, successReward, maxTurns } = presetOptions;

const schema = z.strictObject({
  kind: z
    .literal('verifiers')
    .describe('A taskset of verifiers, with its harness `null`: a chat with the tools of the task.'),
  taskset: z.string().min(1).max(300).describe("Its id: verifiers' own, or that of a package in `venv` or `folder`."),
  options: z.record(z.string(), z.unknown()).default({}).describe('Its options, as below `--env.taskset` of vf-eval.'),
  folder: z.string().min(1).max(4000).optional().describe('Folder with its package, if `venv` does not have it.'),
  venv,
  trainSeeds: endlessTasks.trainSeeds.describe('Places of tasks in the taskset that runs collect and learn from.'),
  heldOutSeeds: endlessTasks.heldOutSeeds.describe('Places of other tasks, which only judge.'),
  secrets: commandOptions.secrets,
  variables: commandOptions.variables,
  memoryPerEpisode: memoryPerEpisode.default(1024),
  seconds,
  successReward,
  maxTurns,
});
type VerifiersSection = z.infer<typeof schema>;

function expand({ taskset, options, folder, venv, variables, ...shared }: VerifiersSection): ProgramSection {
  const library = join(projectRoot(), 'targets');
  const folders = [library, ...(folder === undefined ? [] : [folder])];
  const words = ['--taskset', taskset, '--options', JSON.stringify(options)];
  return {
    ...shared,
    kind: 'program',
    command: [join(venv, 'bin', 'python'), '-m', 'whetstone_process.presets.verifiers', ...words],
    folders: [venv, ...folders],
    variables: { ...variables, PYTHONPATH: folders.join(delimiter), PYTHONDONTWRITEBYTECODE: '1' },
    splits: namedTasks.splits.parse(undefined),
  };
}

const starter: Starter = {
  section: {
    taskset: 'TASKSET',
    venv: 'VENV',
    trainSeeds: { start: 0, count: 300 },
    heldOutSeeds: { start: 300, count: 200 },
  },
  before: [
    'WHET env add verifiers',
    'put the path that it prints in place of VENV in FOLDER/agent.yaml, and the id of your taskset in place of TASKSET',
    'install the package of the taskset there, or name its folder in environment.folder',
  ],
};

/** `kind: verifiers`. */
export const verifiersKind = { kind: 'verifiers', schema, expand, starter } as const;
