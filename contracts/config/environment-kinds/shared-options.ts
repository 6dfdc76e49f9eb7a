/** Options that several kinds of environments have. */
import { z } from 'zod';
import { count, countOrNone, fraction, whole } from '../numbers';
import { algorithmOptions } from '../training-options';

/** Tasks by their seeds. */
const seedRange = z.strictObject({
  start: countOrNone.describe('First seed.'),
  count: count.describe('How many seeds, from the first one on.'),
});
/** A range of tasks. */
export type SeedRange = z.infer<typeof seedRange>;

/** What every kind has. */
export const episodeOptions = {
  maxTurns: algorithmOptions.maxTurns,
  successReward: fraction.default(1).describe('An episode with at least this reward is a success.'),
};

/** Tasks of an environment that has as many as there are seeds. */
export const endlessTasks = {
  trainSeeds: seedRange.describe('Tasks that runs collect and learn from.'),
  heldOutSeeds: seedRange.describe('Other tasks, which only judge.'),
};

const splitNames = z.array(z.string().min(1).max(100)).min(1);

/** Program and arguments. */
const words = z.array(z.string().min(1).max(4000)).min(1).max(200);

/** A command that prints the tasks. */
const taskCommand = z.strictObject({
  command: words,
  /** Its deadline. `prepareRun`, which waits for it, has six hours. */
  seconds: whole(1, 10_800).default(300),
});

/** Tasks of an environment that has named ones, or as many as there are seeds. */
export const namedTasks = {
  tasks: z
    .union([z.string(), taskCommand])
    .optional()
    .describe(
      'File with the tasks, a JSON object a line: `id`, `split`, `group`; or `{command, seconds}`, whose program and ' +
        'arguments print these lines, once for each run, within `seconds` (300). Tasks that are variants of one have ' +
        'the same `group`, and are all for training or all held out. What else a task has, the command finds by its ' +
        'id, for example in a file beside agent.yaml. Absent: tasks have seeds.',
    ),
  splits: z
    .strictObject({
      train: splitNames.default(['train']).describe('Splits whose tasks runs learn from.'),
      heldOut: splitNames.default(['test', 'heldOut', 'held-out']).describe('Splits whose tasks only judge.'),
    })
    .prefault({})
    .describe('What the splits of `tasks` are for.'),
  trainSeeds: endlessTasks.trainSeeds.optional().describe('Tasks that runs learn from, where `tasks` names none.'),
  heldOutSeeds: endlessTasks.heldOutSeeds.optional().describe('Tasks that only judge, where `tasks` names none.'),
};

/** A deadline in seconds, at most a week. */
export const deadline = (seconds: number) => whole(1, 604_800).default(seconds);

/** A variable's name, as programs and shells take it. */
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'a name of letters, digits and underscores');

/** The command of a kind that runs the owner's own program, and what it sees of the machine. */
export const commandOptions = {
  command: words.describe('Program and arguments. It starts in the folder of agent.yaml; relative paths begin there.'),
  folders: z
    .array(z.string().min(1).max(4000))
    .max(20)
    .default([])
    .describe(
      'Folders that it may read besides that of agent.yaml, such as a virtual environment elsewhere. A run stops ' +
        'where what they hold changes: their files, of virtual environments the packages.',
    ),
  secrets: z
    .array(variable)
    .max(50)
    .default([])
    .describe('Variables of the worker that it gets. It gets no other one.'),
  variables: z
    .record(variable, z.string().max(10_000))
    .default({})
    .describe('Further variables that it gets, with their values.'),
};
