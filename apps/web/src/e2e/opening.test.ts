import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// How soon a session is there, told by what is asked for and how often it is shown, not by a clock.

/** Notes how often the list of what was said is another, from the first item on. */
const counter = `
globalThis.lists = [];
new MutationObserver(() => {
  const count = document.querySelectorAll('.transcript article').length;
  if (count > 0 && globalThis.lists.at(-1) !== count) globalThis.lists.push(count);
}).observe(document, { childList: true, subtree: true });
`;

describeInChromium()('a session that is opened', () => {
  const harness = useBrowserHarness();

  test('is asked for before all else that the server knows, and once', async () => {
    const visitor = await harness.visitor();
    const first = await visitor.tab();
    harness.server.send('enough');
    await first.send('count a little');
    await first.waitForText('END');
    const path = await first.taskPath();
    const second = await visitor.context.newPage();
    const asked: string[] = [];
    second.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await second.addInitScript(counter);
    await second.goto(path);
    await second.getByText('END', { exact: true }).waitFor();
    const known = asked.filter((to) => !to.startsWith('/assets/') && to !== path);
    expect(known[0]).toBe(`${path.replace('/app', '')}/stream`);
    expect(known.filter((to) => to.endsWith('/stream'))).toHaveLength(1);
    // All that was said came with it: it was not put together before people's eyes.
    expect(await second.evaluate('globalThis.lists')).toEqual([2]);
    expect(await visitor.allFaults()).toEqual([]);
  });
});
