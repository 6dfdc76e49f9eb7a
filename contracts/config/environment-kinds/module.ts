import { z } from 'zod';
import { endlessTasks, episodeOptions } from './shared-options';

const schema = z.strictObject({
  kind: z.literal('module').default('module').describe('A Python class without input and output, in the jail.'),
  path: z.string().describe('Python file with class Environment, relative to agent.yaml.'),
  ...endlessTasks,
  ...episodeOptions,
});
/** An environment that is a Python class without input and output, which runs in the jail. */
export type ModuleSection = z.infer<typeof schema>;

/** `kind: module`. */
export const moduleKind = {
  kind: 'module',
  schema,
  expand: (section: ModuleSection): ModuleSection => section,
} as const;
