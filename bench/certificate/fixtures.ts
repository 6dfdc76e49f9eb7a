import { join } from 'node:path';
import { projectRoot } from '../../contracts/project-root';
import { readRecorded, recordedNames } from '../../examples/shared/recorded-file';

const FOLDER = join(projectRoot(), 'bench', 'certificate');
const DEMO_AGENT = join(projectRoot(), 'examples', 'orders-desk', 'agent.yaml');

/** An environment whose worth is known. */
export interface Fixture {
  name: string;
  set: 'wrong' | 'good';
  /** Id of the capability that it claims to teach. */
  capability: string;
  /** What is wrong, in a word; null for a good one. */
  kind: string | null;
  /** What is wrong, or what is good, in a sentence. */
  about: string;
  /** Path of the agent.yaml that it is for. */
  agent: string;
  /** Without the head, which gives the answer away. */
  source: string;
}

/** Reads every fixture, by set and name. @throws PatchError when a patch does not fit its base. */
export function readFixtures(): Fixture[] {
  return (['wrong', 'good'] as const).flatMap((set) =>
    recordedNames(join(FOLDER, set)).map((file) => {
      const { head, text } = readRecorded(join(FOLDER, set, file))!;
      return parseFixture(file.slice(0, -3), set, head + text);
    }),
  );
}

/** The honest environments from which the wrong ones are made, and those that the demo analyst gives. */
export function readHonest(): Fixture[] {
  const recorded = join(projectRoot(), 'examples', 'orders-desk', 'analyst', 'environments');
  return [join(FOLDER, 'honest'), recorded].flatMap((folder, place) =>
    recordedNames(folder)
      .filter((file) => !file.includes('.attempt-'))
      .map((file): Fixture => ({
        name: `${place === 0 ? 'honest' : 'recorded'}/${file.slice(0, -3)}`,
        set: 'good',
        capability: file.slice(0, -3),
        kind: null,
        about: 'An honest environment.',
        agent: DEMO_AGENT,
        source: readRecorded(join(folder, file))!.text,
      })),
  );
}

/** Takes a file apart into its head, comment lines like "# Kind: leak", and its source. */
function parseFixture(name: string, set: Fixture['set'], text: string): Fixture {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('#'));
  const head = lines.slice(0, end).join('\n').replaceAll('\n#   ', ' ');
  const field = (key: string) => new RegExp(`^# ${key}: (.*)$`, 'm').exec(head)?.[1] ?? null;
  const about = field(set === 'wrong' ? 'Wrong' : 'Good');
  const capability = field('Capability');
  const kind = field('Kind');
  if (about === null || capability === null || (set === 'wrong' && (kind === null || field('Harm') === null)))
    throw new Error(`bench/certificate/${set}/${name}: its head lacks what is wrong, its kind, capability or harm.`);
  const agent = field('Agent');
  return {
    name,
    set,
    capability,
    kind,
    about,
    agent: agent === null ? DEMO_AGENT : join(FOLDER, agent),
    source: lines.slice(end).join('\n'),
  };
}

/** Whether a fixture is for the demo agent, the only one that has a model. */
export function hasModel({ agent }: Fixture): boolean {
  return agent === DEMO_AGENT;
}
