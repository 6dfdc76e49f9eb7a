// tier: unit
import { failedText } from '../../contracts/failed-episodes';

test('counts come first, so that none reads as an exit code', () => {
  expect(failedText({ exit: 137 })).toBe('137 failed (137 ended with an error)');
  expect(failedText({ judge: 4, exit: 137 })).toBe('141 failed (137 ended with an error, 4 judge)');
  expect(failedText({})).toBe('');
});
