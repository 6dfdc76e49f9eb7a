import { z } from 'zod';
import { whole } from '../numbers';
import { commandOptions, deadline, episodeOptions, namedTasks } from './shared-options';

const schema = z.strictObject({
  kind: z.literal('process').describe('A command that speaks the environment protocol, version 2.'),
  ...commandOptions,
  ...namedTasks,
  processes: whole(1, 1000)
    .default(1)
    .describe('Processes that share the episodes. Packages with global state need one for each episode at a time.'),
  episodesPerProcess: whole(1, 10_000).default(64).describe('Most episodes at a time in one process.'),
  seconds: z
    .strictObject({
      start: deadline(120).describe('Until the process has said what it is.'),
      step: deadline(120).describe('For the opening of an episode, and for each step.'),
      episode: deadline(1800).describe("For all of an episode's openings and steps together."),
      judge: deadline(300).describe('For the reward.'),
    })
    .prefault({})
    .describe('Deadlines. An episode that misses one has failed, and nothing else.'),
  ...episodeOptions,
});
/** An environment that is a command which plays many episodes at once. */
export type ProcessSection = z.infer<typeof schema>;

/** `kind: process`. */
export const processKind = {
  kind: 'process',
  schema,
  expand: (section: ProcessSection): ProcessSection => section,
} as const;
