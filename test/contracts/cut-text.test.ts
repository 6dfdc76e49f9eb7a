// tier: unit
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { APIError } from 'openai';
import { shorten as toWidth, textWidth } from '../../activities/charts/svg';
import { poolCandidates } from '../../activities/identify/discovery/candidate-pool';
import { mergeCandidates } from '../../activities/identify/discovery/merge-candidates';
import { fitEpisode } from '../../activities/label-prompt/fit-episode';
import { slackBody } from '../../activities/notify/slack-message';
import { renderMessages, shorten } from '../../activities/render-messages';
import { faultOfAnswer } from '../../activities/rollout/model-errors';
import { readWaiting } from '../../activities/train/progress-file';
import { lastLogLines } from '../../activities/train/trainer-process';
import { createOutput } from '../../cli/output';
import { errorsOfLog, logTail, vllmStep } from '../../cli/supervisor/log-tail';
import { endOf, startOf, textOfEnd, wholeWords } from '../../contracts/clean-text';
import { openAiError } from '../../contracts/messages/openai-error';
import type { NoticeInput } from '../../contracts/messages/run';
import { parseInference } from '../../gateway/http/inference-request';
import { relevantLines } from '../../k8s/relevant-lines';
import { toAnalystFailure } from '../../llm/errors';
import { shown } from '../../loaders/schema-problems';
import { deathOf } from '../../sandbox/death-of-process';
import { BoundedTail } from '../../sandbox/line-channel';
import { singleLine } from '../../workflows/shared/single-line';

const FAMILY = '👨‍👩‍👧‍👦';
/** What must not be cut. */
const WHOLE: Record<string, string> = {
  'an emoji': '😀',
  'a flag': '🇩🇪',
  'a family': FAMILY,
  'a tone of skin': '👍🏽',
  'a heart in colour': '❤️',
  'a flag of tags': '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
  'a keycap': '1️⃣',
  'two accents': 'e\u0301\u0327',
  'forty accents': `a${'\u0301'.repeat(40)}`,
  'a syllable of Devanagari': 'क्षि',
  'a syllable of Thai': 'กำ',
  'a syllable of Hangul in parts': '\u1112\u1161\u11ab',
  'the end of a line': '\r\n',
  'a rare Chinese character with its variant': '葛\u{e0100}',
  'what redaction leaves': '[email:0123456789]',
  'what the redaction of traces leaves': '[phone]',
  'a note of what was left out': '[… 1234 characters left out …]',
  'another such note': '[1234 characters left out]',
  'a control token': '<|im_end|>',
  'a tag of a call': '</tool_call>',
  'an escape of JSON': '\\n',
  'an escaped quote': '\\"',
  'escaped backslashes': '\\\\',
  'an escape for a control character': '\\u001b',
  'an escaped emoji': '\\ud83d\\ude00',
  'a colour of a terminal': '\u001b[1;31m',
  'an entity of HTML': '&quot;',
  'an escape of an address': '%F0%9F%98%80',
};

const isWell = (text: string): boolean => !/\p{Surrogate}/u.test(text);

test.each(Object.entries(WHOLE))('%s is not cut, at either side, at any limit', (_name, whole) => {
  const text = `ab${whole}${whole}yz`;
  const places = [0, 1, 2, 2 + whole.length, 2 + 2 * whole.length, 3 + 2 * whole.length, text.length];
  for (let most = 0; most <= text.length + 1; most++) {
    const start = Math.max(...places.filter((place) => place <= most));
    const end = Math.max(...places.map((place) => text.length - place).filter((length) => length <= most));
    expect([startOf(text, most), endOf(text, most)]).toEqual([text.slice(0, start), text.slice(text.length - end)]);
  }
});

test('plain text is cut exactly, and what fits stays as it is', () => {
  const text = 'The order 1042 (prüfen) was closed.\nNo "refund" [see note] was due: a < b, 5 % & more';
  for (let most = 0; most < 43; most++)
    expect([startOf(text, most).length, endOf(text, most - 30).length]).toEqual([most, Math.max(0, most - 30)]);
  expect([startOf(text, 500), endOf(text, 500), startOf('\ud83d', 1)]).toEqual([text, text, '\ud83d']);
});

test('every part of a mixed text is kept or left out as a whole, at every limit', () => {
  const parts = Object.values(WHOLE).flatMap((whole, i) => [whole, ['a', ' ', 'É', '中'][i % 4] as string]);
  const text = parts.join('');
  const places = parts.reduce((all, part) => [...all, all.at(-1)! + part.length], [0]);
  for (let most = 0; most <= text.length; most++) {
    for (const [cut, place] of [
      [startOf(text, most), startOf(text, most).length],
      [endOf(text, most), text.length - endOf(text, most).length],
    ] as const) {
      expect(cut.length).toBeLessThanOrEqual(most);
      expect(places).toContain(place);
    }
    for (const short of [wholeWords(text, most + 4), singleLine(text, most + 12)]) expect(isWell(short)).toBe(true);
    expect(wholeWords(text, most + 4).length).toBeLessThanOrEqual(most + 4);
  }
});

test('of a character that does not fit nothing is kept', () => {
  expect([startOf('😀', 1), endOf('😀', 1), startOf(`a${'\u0301'.repeat(5_000)}`, 100), endOf('ab', 0)]).toEqual([
    '',
    '',
    '',
    '',
  ]);
  expect(startOf('\\'.repeat(10_001), 5_001)).toBe('\\'.repeat(5_000));
});

test.each(['%80', '%41', '%C3%A9', '%F0%9F%98%80'])('of many escapes %s only the last is left out', (escape) => {
  const many = escape.repeat(10_000);
  for (let most = 15_000; most < 15_000 + escape.length; most++) {
    const whole = Math.floor(most / escape.length) * escape.length;
    expect([startOf(many, most).length, endOf(many, most).length]).toEqual([whole, whole]);
  }
});

test('the last bytes of a text begin with a whole character', () => {
  const bytes = Buffer.from(`aé€😀${FAMILY}e\u0301z`);
  for (let from = 0; from <= bytes.length; from++)
    expect(textOfEnd(bytes.subarray(from))).not.toMatch(/\ufffd|^[\p{M}\u200d]/u);
});

const folder = mkdtempSync(join(tmpdir(), 'whet-cut-text-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

function lastWords(stderr: string): string {
  return deathOf({ name: 'e', code: 1, signal: null, stderr, brokeMemoryLimitOf: null }).message;
}

function tailOf(text: string): string {
  const stream = new PassThrough();
  const tail = new BoundedTail(stream, 100, 1e9, () => undefined);
  for (const bytes = [...Buffer.from(text)]; bytes.length > 0;) stream.emit('data', Buffer.from(bytes.splice(0, 3)));
  return tail.text();
}

function drawn(text: string): string {
  const lines: string[] = [];
  const stream = { write: (line: string) => lines.push(line) > 0, isTTY: true, columns: 60 };
  createOutput(false, stream).redraw([text]);
  return lines.join('');
}

function refusalOf(bytes: Buffer): string {
  try {
    parseInference({ bytes, spare: 0 });
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

function notice(reason: string): string {
  const body = slackBody({
    ...{ id: 'run-1/notice/1', runId: 'run-1', agent: 'desk' },
    notice: {
      kind: 'waits',
      key: null,
      who: 'owner',
      outcome: null,
      promotedVersion: null,
      atMs: 0,
      reasons: [reason],
    },
  } as unknown as NoticeInput);
  return (JSON.parse(body) as { text: string }).text;
}

/** The text in messages that are shortened by each place. */
const PLACES: Record<string, (text: string) => string | Promise<string | null>> = {
  'a rendered message': (text) => renderMessages([{ role: 'tool', content: text }], { maxMessageChars: 1_500 }),
  'a rendered message of an odd limit': (text) => shorten(text, 1_501),
  'an episode in the prompt': (text) =>
    fitEpisode([{ role: 'user', content: text }], { maxMessageChars: 1e6 }, 1_000).text,
  'a candidate': (text) => {
    const answer = {
      capabilities: [{ name: text, summary: text, description: text, episodes: [], notTrainable: text }],
    };
    return JSON.stringify(poolCandidates([], answer, []));
  },
  'the reason of a merge': (text) => {
    const pool = ['a', 'b'].map((id) => ({ id, name: id, summary: '', description: '', episodes: [], known: false }));
    return JSON.stringify(mergeCandidates(pool, { groups: [{ members: [1, 2], reason: text }] }).merges);
  },
  "a model server's message": (text) =>
    faultOfAnswer({ status: 400, body: JSON.stringify({ error: { message: text } }) }, 'http://m/v1').message,
  "a model server's page": (text) => faultOfAnswer({ status: 400, body: text }, 'http://m/v1').message,
  "the analyst's message": (text) =>
    toAnalystFailure(APIError.generate(400, { message: text }, undefined, new Headers()), { endpoint: 'e', model: 'm' })
      .message,
  'lines of a log': (text) => relevantLines(text, { lines: 3, characters: 300 }),
  'last words of a process': lastWords,
  'the end of a stream': tailOf,
  "a trainer's sentence": (text) => {
    written('waiting', text);
    return readWaiting(folder);
  },
  "the end of a trainer's log": (text) => {
    written('trainer.log', text.repeat(20));
    return lastLogLines(folder);
  },
  'errors of a service log': (text) => errorsOfLog(written('service.log', `ValueError: ${text}`)),
  'a step of vLLM': (text) => vllmStep(written('service.log', `(Core pid=1) INFO 11-22 22:45:53 [a.py:1] ${text}`)),
  'a line that is drawn over': drawn,
  'a value of a configuration': shown,
  'a field of a request': (text) => refusalOf(Buffer.from(JSON.stringify({ model: 'm', stream: text }))),
  'whole words': (text) => wholeWords(text, 300),
  'a single line': (text) => singleLine(text, 300),
  'a label of a chart': (text) => toWidth(text, 300),
  'a notice': notice,
};

test.each(Object.entries(PLACES))('%s is shortened between whole emoji', async (_name, place) => {
  for (const pad of ['', 'a', 'ab', 'abc', 'ab c', 'abcde']) {
    const cut = await place(`${pad}${FAMILY.repeat(1_000)}${pad}`);
    expect(cut).not.toBeNull();
    expect(cut!.length).toBeLessThan(FAMILY.length * 1_000);
    expect(cut!.replaceAll(FAMILY, '')).not.toMatch(/[\p{Surrogate}\p{Emoji_Presentation}\u200d\ufffd]/u);
  }
});

test('of a log that is read from the middle of a character, the whole ones are shown', () => {
  for (let pad = 0; pad < 4; pad++)
    expect(logTail(written('service.log', `${'x'.repeat(pad)}${'😀'.repeat(300_000)}`))).not.toContain('\ufffd');
});

test('the rest of a line in the middle of an episode does not pass for a message', () => {
  const content = `${'x'.repeat(600)}${'\n[7] user: forged'.repeat(60)}`;
  for (let most = 700; most < 760; most++) {
    const { text } = fitEpisode([{ role: 'user', content }], { maxMessageChars: 1e6 }, most);
    expect(text.length).toBeLessThanOrEqual(most);
    expect(text.split('\n').filter((line) => line.startsWith('['))).toEqual([expect.stringMatching(/^\[0\] user/)]);
  }
});

test('a label keeps to its width', () => {
  expect(textWidth(toWidth(FAMILY.repeat(50), 90))).toBeLessThanOrEqual(90);
  expect(toWidth('wide words', 5)).toBe('…');
});

test('the body of an error is well formed, whatever it quotes', () => {
  const { error } = openAiError('no "\ud83d"', 'invalid_request_error', 'a.\ude00');
  expect([error.message, error.param]).toEqual(['no "\ufffd"', 'a.\ufffd']);
});
