// Tier: integration (real programs, fake model server).
import { memoryRoom } from '../../../../activities/rollout/program/memory-room';
import { ProgramPlayer } from '../../../../activities/rollout/program/program-player';
import { launchProgram } from '../../../../sandbox';
import { planOf, PlayerFixture, SETTINGS } from './player-fixture';

let fixture: PlayerFixture;
beforeAll(async () => void (fixture = await new PlayerFixture().start(() => ({ content: 'yes' }))));
afterAll(() => fixture.stop());

test('a set of which no episode gets memory says so, until one does', async () => {
  const notes: string[] = [];
  let told!: () => void;
  const waits = new Promise<void>((resolve) => (told = resolve));
  const player = new ProgramPlayer({
    environment: fixture.sourceOf(['true']),
    launch: launchProgram,
    set: 'test',
    settings: SETTINGS,
    chat: (request) => fixture.model.chat(request),
    waitMs: 1,
    onNote: (note) => {
      notes.push(note);
      if (note.startsWith('waits')) told();
    },
  });
  // A program of another run needs more than there is.
  let end!: () => void;
  const others = memoryRoom.run(2 ** 30, new AbortController().signal, () => new Promise<void>((done) => (end = done)));
  const played = player.play(planOf(1), 'one');
  await waits;
  end();
  await others;
  expect((await played).failedBecause).toBe('no-request');
  const [manner] = notes;
  expect(manner).toContain('programs at a time');
  expect(notes).toEqual([manner, 'waits for memory: programs of other runs on this worker have all of it', manner]);
  await player.close();
});
