import { createHash } from 'node:crypto';
import { type Label, LABELS } from '../../contracts/artifacts/identification';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import type { FakeAnalystAnswer, FakeAnalystRequest } from './analyst-endpoint';

/** Capabilities that the fake LLM names, in this order. The episodes say in words which of them they lack. */
export const SKILLS = [
  'Skill one',
  'Skill two',
  'Skill three',
  'Skill four',
  'Skill five',
  'Skill six',
  'Skill seven',
] as const;

const byte = (text: string): number => createHash('sha256').update(text).digest()[0] as number;

/** The label that episode `index` carries for a skill. The first two skills decide the outcome, the others do not. */
export function trueLabel(index: number, skill: string): Label {
  const value = byte(`${index}:${skill}`);
  if (value < 64) return 'NA';
  return value < (skill === 'Skill one' || skill === 'Skill two' ? 128 : 96) ? 'LACKING' : 'PRESENT';
}

/**
 * An episode whose third message says which skills it shows and lacks; `padding` is the length of its tool result in
 * characters.
 */
export function syntheticEpisode(index: number, padding = 200): Trajectory {
  const labels = SKILLS.map((skill) => ({ skill, label: trueLabel(index, skill) }));
  const success = !labels.slice(0, 2).some(({ label }) => label === 'LACKING');
  const call = { id: 'call-0', type: 'function' as const, function: { name: 'do_it', arguments: `{"n":${index}}` } };
  return {
    id: createHash('sha256').update(`episode ${index}`).digest('hex'),
    task: { seed: index, split: 'train' },
    trial: 0,
    model: 'base',
    samplingSeed: index,
    messages: [
      { role: 'system', content: 'You are a test agent.' },
      { role: 'user', content: `Please do number ${index}.` },
      { role: 'assistant', content: null, tool_calls: [call] },
      {
        role: 'tool',
        content: `${labels.map(({ skill, label }) => `<${skill}: ${label}>`).join(' ')} ${'x'.repeat(padding)}`,
        tool_call_id: 'call-0',
      },
    ],
    reward: success ? 1 : 0,
    success,
    finish: 'done',
    steps: 1,
    usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
    tags: [],
    diagnostics: Object.fromEntries(
      labels
        .filter(({ label }) => label !== 'NA')
        .map(({ skill, label }) => [`truth ${skill}`, label === 'LACKING' ? 'lacking' : 'present']),
    ),
  };
}

/** The fake LLM: names the skills, reads labels out of the episode's words, and writes a tiny module. */
export function syntheticAnswer({ body }: FakeAnalystRequest): FakeAnalystAnswer {
  const prompt = body.messages.filter(({ role }) => role === 'user').at(-1)?.content ?? '';
  if (body.response_format?.json_schema.name === 'label') {
    const skill = /\nCapability: (.+)\n/.exec(prompt)?.[1] ?? '';
    const label = LABELS.find((candidate) => prompt.includes(`<${skill}: ${candidate}>`)) ?? 'NA';
    return { content: JSON.stringify({ reason: `message 3 says ${label}`, step: label === 'NA' ? null : 3, label }) };
  }
  if (body.response_format?.json_schema.name === 'discover') {
    const failed = [...prompt.matchAll(/^Episode (\d+): failed$/gm)].map(([, number]) => Number(number));
    const capabilities = SKILLS.map((name, i) => ({
      name,
      summary: `needs ${name}`,
      description: `The agent has ${name}.`,
      episodes: failed.slice(0, 7 - i),
      notTrainable: null,
    }));
    return { content: JSON.stringify({ capabilities }) };
  }
  if (body.response_format?.json_schema.name === 'merge') return { content: '{"groups":[]}' };
  return { content: JSON.stringify({ rationale: 'because', decline: null, source: 'class Environment:\n    pass\n' }) };
}
