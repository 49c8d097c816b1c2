import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// Measures how fast a session opens by counting requests and renders, not by time.

/** Records each change of the number of items, starting with the first item. */
const counter = `
globalThis.lists = [];
new MutationObserver(() => {
  const count = document.querySelectorAll('.transcript article').length;
  if (count > 0 && globalThis.lists.at(-1) !== count) globalThis.lists.push(count);
}).observe(document, { childList: true, subtree: true });
`;

describeInChromium()('opening a session', () => {
  const harness = useBrowserHarness();

  test('requests its stream once and before everything else', async () => {
    const visitor = await harness.visitor();
    const first = await visitor.tab();
    harness.server.send('enough');
    await first.send('count a little');
    await first.waitForText('END');
    const path = await first.taskPath();
    const second = await visitor.context.newPage();
    const requests: string[] = [];
    second.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await second.addInitScript(counter);
    await second.goto(path);
    await second.getByText('END', { exact: true }).waitFor();
    const serverRequests = requests.filter((to) => !to.startsWith('/assets/') && to !== path);
    expect(serverRequests[0]).toBe(`${path.replace('/app', '')}/stream`);
    expect(serverRequests.filter((to) => to.endsWith('/stream'))).toHaveLength(1);
    // All items appeared together, not one after the other.
    expect(await second.evaluate('globalThis.lists')).toEqual([2]);
    expect(await visitor.allFaults()).toEqual([]);
  });
});
