import { z } from 'zod';
import { whole } from '../numbers';
import { commandOptions, deadline, episodeOptions, namedTasks } from './shared-options';

const schema = z.strictObject({
  kind: z.literal('program').describe('A command for each episode, which finds the model at a capture endpoint.'),
  ...commandOptions,
  ...namedTasks,
  score: z
    .array(z.string().min(1).max(4000))
    .min(1)
    .max(200)
    .optional()
    .describe('Program and arguments that print the result of an episode. Absent: the command itself says it.'),
  memoryPerEpisode: whole(16, 1_048_576)
    .default(512)
    .describe(
      'Memory of one episode in MiB; only control groups limit it. How many run at a time follows from it and the ' +
        'free memory.',
    ),
  seconds: z
    .strictObject({
      episode: deadline(1800).describe('For the command of an episode.'),
      score: deadline(300).describe('For the command that scores it.'),
    })
    .prefault({})
    .describe('Deadlines. An episode that misses one has failed, and nothing else.'),
  ...episodeOptions,
});
/** An environment that is a command for each episode. */
export type ProgramSection = z.infer<typeof schema>;

/** `kind: program`. */
export const programKind = {
  kind: 'program',
  schema,
  expand: (section: ProgramSection): ProgramSection => section,
} as const;
