// tier: unit
import { markup } from '../../../activities/html/markup';

describe('markup', () => {
  it('escapes every value that is not markup', () => {
    expect(
      markup`<p title="${'"><script>'}">${'<b>&'}${markup`<i>ok</i>`}${null}${false}${[markup`<u>1</u>`]}</p>`.text,
    ).toBe('<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;<i>ok</i><u>1</u></p>');
    expect(markup`${"it's\u0000\u009b\u202e fine"}`.text).toBe('it&#39;s\\u0000\\u009b\\u202e fine');
  });
});
