import { expect, test } from 'vitest';
import { useStageOf } from './testing/browser-harness.ts';
import type { ChatOnPage } from './testing/chat-on-page.ts';
import { MillServer } from './testing/handoff-server.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// An agent of the OpenAI Agents SDK, as somebody sees it who knows nothing of it.

describeInChromium()('a run of the OpenAI Agents SDK', () => {
  const stage = useStageOf(() => MillServer.start());

  test.each([
    ['a sync', 'by the events of its run'],
    ['an async', 'by the hooks of its run'],
  ])('is seen as it goes in %s agent, %s, and is the same after a reload', async (served) => {
    const { model } = stage.server;
    const visitor = await stage.visitor();
    const tab = await visitor.tab(`/?agent=${served.split(' ')[1]}-mill`);
    await tab.say('Bread?');
    await tab.untilSaid('Let me look …');
    expect(await tab.transcript.innerText()).not.toContain('sky');
    expect(await tab.stop.isVisible()).toBe(true);
    model.goOn();

    await tab.untilSaid('Bread …');
    expect(await tab.answer.innerText()).not.toContain('ready');
    expect(await seen(tab)).toEqual(['Let me look … at the sky.', ...steps, 'Bread …']);
    await tab.page.reload();
    await tab.untilSaid('Bread …');
    model.goOn();

    await tab.untilSaid('Bread … is ready.');
    await tab.stop.waitFor({ state: 'detached' });
    const all = ['Let me look … at the sky.', ...steps, 'Bread … is ready.'];
    expect(await seen(tab)).toEqual(all);
    await tab.page.reload();
    await tab.untilSaid('Bread … is ready.');
    expect(await seen(tab)).toEqual(all);
    expect(await visitor.allFaults()).toEqual([]);
  });
});

const steps = ['Tool weather: done', '{"town":"Bath","sky":"rain"}', 'Handed over to Baker'];

/** What the page shows of a run, in the order in which it stands there. */
async function seen(tab: ChatOnPage): Promise<readonly string[]> {
  await tab.unfold(/^weather/);
  await tab.page.getByRole('region', { name: 'Tool weather: done' }).waitFor();
  return tab.page.evaluate<readonly string[]>(shown);
}

const shown = `
[...document.querySelectorAll('article[data-kind=assistant] :is(.markdown, .tool-card, .result-text)')]
  .map((one) => one.matches('.tool-card') ? one.ariaLabel : one.textContent)
`;
