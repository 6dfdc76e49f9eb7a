import { cleanBlock } from '../../contracts/clean-text';
import type { Context } from '../context';
import { localTrouble } from '../local-services';
import { table } from '../output';
import { diskProblem } from '../supervisor/disk';
import { holderOf } from '../supervisor/kernel-lock';
import { processesOfHome } from '../supervisor/processes';
import { askSupervisor, readKeptState, supervisorLock } from '../supervisor/supervisor-state';
import { temporalAddress, withTemporal } from '../temporal';
import { explainRun } from '../view/explain';
import { followToEnd } from '../view/follow';
import { endOf, readRunState } from '../view/run-state';
import { formatStageLine, stageLines } from '../view/stage-lines';
import { showEnd } from './run';

/** `whet status [RUN]`: shows a run's stages and current work; without a run, the services. */
export async function statusCommand(
  context: Context,
  runId: string | undefined,
  { follow }: { follow?: boolean },
): Promise<void> {
  if (runId === undefined) return showServices(context);
  const { settings, out } = context;
  await withTemporal(settings, async ({ client, address }) => {
    if (follow === true) return showEnd(context, await followToEnd(client, runId, out));
    const state = await readRunState(client, runId);
    const head = `${runId}: ${endOf(state)}`;
    out.result(
      state,
      [
        head,
        ...stageLines(state).map(formatStageLine),
        '',
        ...explainRun(state, await localTrouble(settings, address)).map(cleanBlock),
      ].join('\n'),
    );
  });
}

/** `whet why RUN`: explains in sentences why the parts of a run wait. */
export async function whyCommand({ settings, out }: Context, runId: string): Promise<void> {
  await withTemporal(settings, async ({ client, address }) => {
    const state = await readRunState(client, runId);
    const sentences = explainRun(state, await localTrouble(settings, address));
    out.result({ runId, status: state.status, why: sentences }, sentences.map(cleanBlock).join('\n'));
  });
}

async function showServices({ settings, out }: Context): Promise<void> {
  const { home } = settings;
  const state = await askSupervisor(home);
  if (state === null) {
    const { text, ...facts } = whyNothingIsUp(home);
    out.result({ up: false, home, ...facts }, text);
    return;
  }
  const rows = state.services.map((s) => [
    s.name,
    s.status,
    s.process === null ? '' : `pid ${s.process.pid}`,
    s.restarts === 0 ? '' : `restarted ${s.restarts}x`,
    [s.status === 'ready' ? s.url : null, s.note].find((text) => text) ?? '',
  ]);
  const text = [
    ...(state.disk === null ? [] : [state.disk]),
    `up since ${state.startedAt}, Temporal at ${await temporalAddress(settings)}` +
      `${state.temporal.uiUrl === null ? '' : `, UI ${state.temporal.uiUrl}`}`,
    table(rows),
  ];
  out.result({ up: true, ...state }, text.join('\n'));
}

/** Why no supervisor answers here. */
function whyNothingIsUp(home: string): { text: string; supervisorDied: boolean; disk: string | null } {
  const disk = diskProblem(home, 'WHET_HOME');
  const kept = readKeptState(home);
  const holder = holderOf(supervisorLock(home));
  const sentences = [
    ...(disk === null ? [] : [disk]),
    ...(kept.kind === 'damaged' ? [`${kept.path} cannot be used: ${kept.reason}.`] : []),
  ];
  const died = holder === null && (kept.kind === 'state' || processesOfHome(home).length > 0);
  if (holder !== null)
    sentences.push(
      `The supervisor (process ${holder.pid}) gives no answer. Let it go on if somebody stopped it ` +
        `(\`kill -CONT ${holder.pid}\`), or end everything with \`whet down\`.`,
    );
  else if (died)
    sentences.push(
      'The supervisor was killed. The services that it started may still run, but nothing restarts them. ' +
        '`whet up` starts everything again, `whet down` ends it.',
    );
  else sentences.push(`Nothing is up here (state directory ${home}). Start the services with \`whet up\`.`);
  return { text: sentences.join('\n'), supervisorDied: died, disk };
}
