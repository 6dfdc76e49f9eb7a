// Tier: integration (real programs, fake model server).
import { PlayerFixture } from './player-fixture';

/** Asks once; `rest` is the end of the program. */
const asking = (rest: string): string => `
import json, os, urllib.request
body = json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": "go"}]}).encode()
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()
${rest}
`;

let fixture: PlayerFixture;
beforeEach(async () => void (fixture = await new PlayerFixture().start(() => ({ content: 'gone' }))));
afterEach(() => fixture.stop());

test('a failure names the task, says what a result is, and keeps the lines of a traceback', async () => {
  const messageAfter = async (rest: string) => {
    await fixture.play(fixture.player(asking(rest)));
    return fixture.failures.pop()!.message;
  };
  const form = 'A result is JSON as the last line of stdout, such as {"reward": 0.5}; rewards are 0 to 1.';
  expect(await messageAfter('')).toBe(`Task 1 (trial 0): The program printed no result. ${form} It said nothing.`);
  expect(await messageAfter('print("well done")')).toContain(`The result is not JSON. ${form}`);
  expect(await messageAfter('no_such_name')).toMatch(
    /with code 1\. Its last words:\nTraceback .*\n {2}File [^]*\nNameError: [^\n]+$/,
  );
});

test('a package that is missing is told with the environment to install it in', async () => {
  await fixture.play(fixture.player('import no_such_package.client'));
  expect(fixture.failures[0]!.message).toMatch(
    /No module named 'no_such_package'\nIf no_such_package is a package, install it in a virtual environment beside agent/,
  );
});
