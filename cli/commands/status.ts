import type { Context } from '../context';
import { table } from '../output';
import { readSupervisorState, readRunningSupervisorState } from '../supervisor/supervisor-state';
import { temporalAddress, withTemporal } from '../temporal';
import { explainRun } from '../view/explain';
import { followRun } from '../view/follow';
import { readRunState } from '../view/run-state';
import { formatStageLine, stageLines } from '../view/stage-lines';
import { showEnd } from './run';

/** `whet status [RUN]`: shows a run's stages and what it does now; without a run, the services. */
export async function statusCommand(
  context: Context,
  runId: string | undefined,
  { follow }: { follow?: boolean },
): Promise<void> {
  if (runId === undefined) return showServices(context);
  const { settings, out } = context;
  await withTemporal(settings, async ({ client }) => {
    if (follow === true) return showEnd(context, await followRun(client, runId, out));
    const state = await readRunState(client, runId);
    const head = `${runId}: ${state.result?.verdict ?? state.status}`;
    out.result(state, [head, ...stageLines(state).map(formatStageLine), '', ...explainRun(state)].join('\n'));
  });
}

/** `whet why RUN`: says in sentences what waits for what, and why. */
export async function whyCommand({ settings, out }: Context, runId: string): Promise<void> {
  await withTemporal(settings, async ({ client }) => {
    const state = await readRunState(client, runId);
    const sentences = explainRun(state);
    out.result({ runId, status: state.status, why: sentences }, sentences.join('\n'));
  });
}

function showServices({ settings, out }: Context): void {
  const state = readRunningSupervisorState(settings.home);
  if (state === null && readSupervisorState(settings.home) !== null) {
    const text =
      'The supervisor was killed. The services that it started may still run, but nothing restarts them. ' +
      '`whet up` starts everything again, `whet down` ends it.';
    out.result({ up: false, home: settings.home, supervisorDied: true }, text);
    return;
  }
  if (state === null) {
    out.result(
      { up: false, home: settings.home },
      `Nothing is up here (state directory ${settings.home}). Start the services with \`whet up\`.`,
    );
    return;
  }
  const rows = state.services.map((s) => [
    s.name,
    s.status,
    s.process === null ? '' : `pid ${s.process.pid}`,
    s.restarts === 0 ? '' : `restarted ${s.restarts}x`,
    s.url ?? s.note,
  ]);
  const text = [
    `up since ${state.startedAt}, Temporal at ${temporalAddress(settings)}` +
      `${state.temporal.uiUrl === null ? '' : `, UI ${state.temporal.uiUrl}`}`,
    table(rows),
  ];
  out.result({ up: true, ...state }, text.join('\n'));
}
