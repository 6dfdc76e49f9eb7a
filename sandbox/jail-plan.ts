import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { projectRoot } from '../contracts/project-root';
import { SandboxUnavailable } from './errors';
import type { LoadedProfile } from './profile';
import { pythonInterpreter } from './python-interpreter';

const run = promisify(execFile);

const jailPlanSchema = z.strictObject({
  /** Command prefix that sets the limits. */
  limits: z.array(z.string()),
  /** bubblewrap, with the command to run inside. */
  command: z.array(z.string()),
  /** Groups of arguments that bubblewrap reads from a pipe. `${AGENT_FOLDER}` is still unresolved in them. */
  arguments: z.array(z.array(z.string())),
  /** The place of jails' control groups, below this process's group, and the values to write into one. */
  cgroup: z.strictObject({
    layer: z.enum(['v1', 'v2', 'none']),
    controllers: z.array(
      z.strictObject({
        directory: z.string(),
        settings: z.record(z.string(), z.string()),
        /** true: if this directory cannot be made, the jail runs without a control group. */
        needed: z.boolean(),
      }),
    ),
  }),
  /** The seccomp filter. */
  filter: z.base64().transform((text) => Buffer.from(text, 'base64')),
});
/** How every launcher starts a jail of a profile on this machine. */
export type JailPlan = z.infer<typeof jailPlanSchema>;

const plans = new Map<string, { made: Promise<JailPlan>; at: number }>();
/**
 * The next build removes Python trees that no plan has touched for 14 days (stale_trees.py). A worker may run longer
 * than that. So after this time it makes its plan again, which touches its tree.
 */
const MAKE_AGAIN_MS = 24 * 60 * 60 * 1000;

/**
 * The plan for a profile, made by trainer-image/whetstone/envs/jail_plan.py. This takes 0.2 s once per process and day,
 * and about 3 s more if the jail's Python tree has to be built first.
 * @throws SandboxUnavailable if a part of the jail is missing.
 */
export function jailPlan(loaded: LoadedProfile, interpreter: string = pythonInterpreter()): Promise<JailPlan> {
  const key = JSON.stringify([interpreter, process.env['WHET_JAIL_ROOT'], process.env['PATH'], loaded]);
  const known = plans.get(key);
  if (known && Date.now() - known.at < MAKE_AGAIN_MS) return known.made;
  const planner = join(projectRoot(), 'trainer-image', 'whetstone', 'envs', 'jail_plan.py');
  const made = run(interpreter, ['-I', planner, JSON.stringify(loaded)], { timeout: 120_000, env: process.env }).then(
    ({ stdout }) => jailPlanSchema.parse(JSON.parse(stdout)),
    (error: Error & { stderr?: string }) => {
      plans.delete(key);
      throw new SandboxUnavailable([(error.stderr || error.message).trim()]);
    },
  );
  plans.set(key, { made, at: Date.now() });
  return made;
}
