// tier: unit
import { countAnswers } from '../../../gateway/http/check-cost';

test.each([
  [{}, 1],
  [{ n: null, best_of: null, prompt: 'a' }, 1],
  [{ n: 3 }, 3],
  [{ n: 2, best_of: 5 }, 5],
  [{ n: 8 }, 8],
  [{ prompt: ['a', 'b'] }, 2],
  [{ prompt: ['a', 'b'], n: 4 }, 8],
  [{ prompt: [1, 2, 3] }, 1],
  [{ prompt: [[1, 2], [3]] }, 2],
  [{ prompt: [] }, 1],
  [{ priority: null }, 1],
])('%j asks for %d answers', (fields, answers) => expect(countAnswers(fields, 8)).toBe(answers));

test.each([
  [{ n: 9 }, 'n must be a whole number from 1 to 8, found 9.'],
  [{ n: 100_000 }, 'n must be a whole number from 1 to 8, found 100000.'],
  [{ n: '2' }, 'n must be a whole number from 1 to 8, found "2".'],
  [{ n: 0 }, 'n must be a whole number from 1 to 8, found 0.'],
  [{ n: -1 }, 'n must be a whole number from 1 to 8, found -1.'],
  [{ n: 1.5 }, 'n must be a whole number from 1 to 8, found 1.5.'],
  [{ n: true }, 'n must be a whole number from 1 to 8, found true.'],
  [{ n: [9] }, 'n must be a whole number from 1 to 8, found [9].'],
  [{ best_of: 9 }, 'best_of must be a whole number from 1 to 8, found 9.'],
  [{ prompt: Array(9).fill('a') }, 'prompt asks for 9 answers; at most 8 are made at a time.'],
  [{ prompt: ['a', 'b', 'c'], n: 3 }, 'prompt asks for 9 answers; at most 8 are made at a time.'],
  [{ priority: -5 }, 'priority is not for clients of this gateway: leave it out.'],
  [{ request_id: 'x' }, 'request_id is not for clients of this gateway: leave it out.'],
  [{ kv_transfer_params: {} }, 'kv_transfer_params is not for clients of this gateway: leave it out.'],
])('%j is refused', (fields, message) => expect(() => countAnswers(fields, 8)).toThrow(message));
