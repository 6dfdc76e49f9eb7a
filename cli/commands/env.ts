import { copyFileSync, existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { cleanBlock, cleanLine } from '../../contracts/clean-text';
import type { Certificate } from '../../contracts/artifacts/certificate';
import { editCommand, giveCommand, MESSAGES } from '../../contracts/names';
import type { EditedEnvironment } from '../../contracts/messages/run';
import { DeduplicatedFaults } from '../../contracts/deduplicate-faults';
import { layout, LocalStore } from '../../store';
import { agentPathNear, defaultAgentPath, readAgent, requirePlayable } from '../agent';
import type { Context } from '../context';
import { newestIn } from '../documents';
import { environmentFile } from '../environment-file';
import { CliError } from '../errors';
import { runEnvironmentTool } from '../run-environment-tool';
import { withTemporal } from '../temporal';
import { readRunState, requireRunning } from '../view/run-state';

/**
 * `whet env check FILE [--agent AGENT_YAML]`: runs every check that needs no model and prints each result at once. Exit
 * code 1 if a check fails. Without `--agent` it uses the agent.yaml of this directory, else one in the file's folder or
 * in the three folders above, else the demo's.
 */
export async function envCheckCommand({ out }: Context, file: string, { agent }: { agent?: string }): Promise<void> {
  const { path: source } = environmentFile(file);
  const { path: agentPath, hint } = agentToCheckFor(source, file, agent);
  const target = readAgent(agentPath);
  requirePlayable(target);
  const { path } = target;
  out.line(`checked for the agent of ${path}${hint}`);
  let certificate: Certificate | undefined;
  const faults = new DeduplicatedFaults();
  const code = await runEnvironmentTool(['check', source, path], (line) => {
    if (line.type === 'check') {
      const { name, passed } = line.check;
      // The file has another name in the jail.
      const detail = line.check.detail.replaceAll(/\benvironment\.py(?=:\d)/g, () => basename(source));
      out.line(
        `${passed ? '✓' : '✗'} ${name.padEnd(18)} ${cleanLine(passed ? detail : faults.describe(name, detail))}`,
      );
    }
    if (line.type === 'certificate') ({ certificate } = line);
  });
  if (certificate === undefined)
    throw new CliError(`The check of ${file} ended with code ${code} and without a certificate.`, {
      type: 'Env.Failed',
    });
  for (const sum of faults.sums()) out.line(cleanLine(sum));
  out.result(certificate, `${certificate.summary}${code === 0 ? ' Calibration needs a model; a run does it.' : ''}`);
  process.exitCode = code;
}

/** The agent for checking an environment, with a hint to print after its path if `--agent` did not name it. */
function agentToCheckFor(source: string, file: string, named: string | undefined): { path: string; hint: string } {
  if (named !== undefined) return { path: named, hint: '' };
  const another = (agent: string) => `whet env check ${file} --agent ${agent}`;
  const here = resolve('agent.yaml');
  const near = agentPathNear(source);
  if (existsSync(here))
    return near === null || near === here
      ? { path: here, hint: '; --agent AGENT_YAML names another' }
      : { path: here, hint: `, because it is in this directory. The file is next to another one: ${another(near)}` };
  if (near !== null) return { path: near, hint: '; --agent AGENT_YAML names another' };
  const demo = defaultAgentPath();
  if (demo === null)
    throw new CliError(`Which agent is it for? Name its file: ${another('AGENT_YAML')}`, { type: 'Env.NoAgent' });
  const why = 'the demo, because no agent.yaml is here or near the file';
  return { path: demo, hint: `, ${why}. For your own: ${another('AGENT_YAML')}` };
}

/**
 * `whet env run FILE [--seed N] [--reference]`: plays one episode in the jail, with the moves of the reference solution
 * or of standard input.
 */
export async function envRunCommand(
  { out }: Context,
  file: string,
  { seed, reference }: { seed: number; reference?: boolean },
): Promise<void> {
  const { path: source } = environmentFile(file);
  const episode: { seed: number; messages: unknown[]; steps: unknown[]; reward: number | null } = {
    seed,
    messages: [],
    steps: [],
    reward: null,
  };
  const code = await runEnvironmentTool(
    ['play', source, String(seed), ...(reference === true ? ['--reference'] : [])],
    (line) => {
      switch (line.type) {
        case 'opening':
          episode.messages = line.messages;
          for (const { role, content } of line.messages) out.line(cleanBlock(`${role}: ${content}`));
          out.line(cleanLine(`tools: ${line.tools.map((tool) => tool.function.name).join(', ')}`));
          if (reference !== true)
            out.line('Moves, a line each: {"name": "...", "arguments": {...}} or {"text": "..."}; end with Ctrl-D.');
          break;
        case 'observation':
          episode.steps.push({ move: line.move, observation: line.observation, done: line.done });
          out.line(`> ${JSON.stringify(line.move)}`);
          out.line(cleanBlock(`  ${line.observation}`));
          if (line.done) out.line('(the episode is over)');
          break;
        case 'end':
          episode.reward = line.reward;
          break;
        case 'error':
          out.line(cleanBlock(line.message));
          break;
        default:
      }
    },
  );
  if (code !== 0) throw new CliError(`The episode of ${file} ended with code ${code}.`, { type: 'Env.Failed' });
  out.result(episode, `reward: ${episode.reward}`);
}

/**
 * `whet env edit RUN CAPABILITY [FILE]`: without a file, copies a capability's last environment to this directory. It
 * refuses if no environment was written. It says if the run would not accept an edited one. With a file, gives it to
 * the waiting run as the next attempt.
 */
export async function envEditCommand(
  { settings, out }: Context,
  runId: string,
  capabilityId: string,
  file: string | undefined,
): Promise<void> {
  const store = new LocalStore(settings.storeRoot);
  const folder = layout.environments(runId, capabilityId);
  if (file === undefined) {
    const newest = await newestIn(store, folder, /\.py$/);
    if (newest === null) {
      const others = await store.list(dirname(layout.environments(runId, 'any')));
      // If the run has environments for other capabilities, this id is probably misspelt, or the owner invented it.
      const named = others.length === 0 ? capabilityId : 'CAPABILITY';
      throw new CliError(
        `Run ${runId} has no environment for a capability ${capabilityId} yet, so there is none to copy. ` +
          `${others.length === 0 ? '' : `It has environments for ${others.join(', ')}. `}` +
          `\`whet status ${runId}\` lists its capabilities. Where one waits for an environment, write ` +
          `${named}.py (docs/guides/environment-by-hand.md), then: ${giveCommand(runId, named)}`,
        {
          type: 'Env.Unknown',
        },
      );
    }
    const copy = resolve(`${capabilityId}.py`);
    if (existsSync(copy)) throw new CliError(`${copy} is there already; move it away first.`, { type: 'Env.Exists' });
    const last = store.localPath(newest);
    copyFileSync(last, copy);
    const { agent, isAwaited } = await aboutRun(settings, runId, capabilityId);
    const check = `whet env check ${basename(copy)} --agent ${agent ?? 'AGENT_YAML'}`;
    out.result(
      { runId, capabilityId, file: copy, from: last, agent, isAwaited },
      isAwaited === false
        ? `${copy}\n${runId} does not wait for an environment for ${capabilityId} now, so it would not take it. ` +
            `Try it by itself: ${check}`
        : `${copy}\nEdit it, then: ${check}, ${giveCommand(runId, capabilityId)}`,
    );
    return;
  }
  const { path, content } = environmentFile(file);
  await withTemporal(settings, async ({ client }) => {
    const state = await readRunState(client, runId);
    requireRunning(state, 'so it takes no environment');
    if (state.progress?.waitingFor == null) {
      throw new CliError(`${runId} does not wait for a person. \`whet why ${runId}\` says what it does.`, {
        type: 'Run.NotWaiting',
      });
    }
    if (!offersEdit(state.progress.waitingFor, runId, capabilityId)) {
      throw new CliError(
        `${runId} waits, but not for an environment for a capability ${capabilityId}. ` +
          `It waits for: ${state.progress.waitingFor}`,
        {
          type: 'Env.NotWaiting',
        },
      );
    }
    const source = await store.put(folder, 'by-hand.py', content);
    const edited: EditedEnvironment = { capabilityId, source };
    await client.workflow.getHandle(runId).signal(MESSAGES.editSignal, edited);
    out.result({ runId, capabilityId, source }, `${runId}: ${basename(path)} is the next attempt for ${capabilityId}`);
  });
}

/** Whether the text of a run's wait names the command for giving an environment to exactly this capability. */
function offersEdit(waitingFor: string, runId: string, capabilityId: string): boolean {
  const offers = waitingFor.split(/, |: |\n/);
  return [editCommand, giveCommand].some((command) => offers.includes(command(runId, capabilityId)));
}

/**
 * Path of the agent.yaml that started a run, and whether the run would accept an environment for a capability. Null if
 * the server cannot be asked or does not know.
 */
async function aboutRun(
  settings: Context['settings'],
  runId: string,
  capabilityId: string,
): Promise<{ agent: string | null; isAwaited: boolean | null }> {
  try {
    return await withTemporal(settings, async ({ client }) => {
      const { memo } = await client.workflow.getHandle(runId).describe();
      const { status, progress } = await readRunState(client, runId);
      const agent = typeof memo?.['specPath'] === 'string' ? memo['specPath'] : null;
      if (status !== 'running') return { agent, isAwaited: false };
      // Without a worker, the reason of its wait is unknown.
      const isAwaited = progress === null ? null : offersEdit(progress.waitingFor ?? '', runId, capabilityId);
      return { agent, isAwaited };
    });
  } catch (error) {
    if (error instanceof CliError) return { agent: null, isAwaited: null };
    throw error;
  }
}
