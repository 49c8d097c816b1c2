import { expect, test } from 'vitest';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import type { ChatTab } from './testing/chat-tab.ts';
import { HandoffServer } from './testing/handoff-server.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// Shows how a run of the OpenAI Agents SDK looks on the page.

describeInChromium()('a run of the OpenAI Agents SDK', () => {
  const harness = useBrowserHarnessFor(() => HandoffServer.start());

  test.each([
    ['a sync', 'by the events of its run'],
    ['an async', 'by the hooks of its run'],
  ])('streams in %s agent, %s, and is the same after a reload', async (served) => {
    const { model } = harness.server;
    const visitor = await harness.visitor();
    const tab = await visitor.tab(`/?agent=${served.split(' ')[1]}-agent`);
    await tab.send('Bread?');
    await tab.waitForText('Let me look …');
    expect(await tab.transcript.innerText()).not.toContain('sky');
    expect(await tab.stop.isVisible()).toBe(true);
    model.resume();

    await tab.waitForText('Bread …');
    expect(await tab.answer.innerText()).not.toContain('ready');
    // The code that shows JSON loads on demand.
    await expect
      .poll(() => shownParts(tab))
      .toEqual(['Let me look … at the sky.', ...steps, 'Bread …']);
    await tab.page.reload();
    await tab.waitForText('Bread …');
    model.resume();

    await tab.waitForText('Bread … is ready.');
    await tab.stop.waitFor({ state: 'detached' });
    const all = ['Let me look … at the sky.', ...steps, 'Bread … is ready.'];
    await expect.poll(() => shownParts(tab)).toEqual(all);
    await tab.page.reload();
    await tab.waitForText('Bread … is ready.');
    await expect.poll(() => shownParts(tab)).toEqual(all);
    expect(await visitor.allFaults()).toEqual([]);
  });
});

const steps = ['Tool weather: done', '{2}town: "Bath"sky: "rain"', 'Handed over to Baker'];

/** Returns the content of the run in the order of the page. */
async function shownParts(tab: ChatTab): Promise<readonly string[]> {
  await tab.unfold(/^weather/);
  await tab.page.getByRole('group', { name: 'Tool weather: done' }).waitFor();
  return tab.page.evaluate<readonly string[]>(partsScript);
}

const partsScript = `
[...document.querySelectorAll('article[data-kind=assistant] :is(.markdown, .tool-card, .output-text, .json-tree)')]
  .map((one) => one.matches('.tool-card') ? one.ariaLabel : one.textContent)
`;
