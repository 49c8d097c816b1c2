import { expect, test } from 'vitest';
import { AppServer } from './testing/app-server.ts';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

describeInChromium()('24.4: an app of an MCP server', () => {
  const harness = useBrowserHarnessFor(() => AppServer.start());

  /** Opens a tab in which the agent has shown the weather in a city. */
  async function shown(city: string) {
    const visitor = await harness.visitor();
    const tab = await visitor.tab(`/#token=${harness.server.token}`);
    await tab.send(`show ${city}`);
    const app = tab.page.getByRole('region', { name: 'App of weather' });
    await app.waitFor();
    const frame = app.frameLocator('iframe');
    const text = (id: string) => frame.locator(`#${id}`);
    const press = async (id: string) => {
      const shield = app.getByRole('button', { name: 'Press to use the preview' });
      if (await shield.isVisible()) await shield.click();
      await text(id).click();
    };
    return { visitor, tab, app, frame, text, press };
  }

  test('receives the input, the result and the theme, also after a reload', async () => {
    const { visitor, tab, text } = await shown('Bern');
    const result = '{"city":"Bern","rain":true,"hidden":"only for the app"}';
    await text('result').getByText(result).waitFor();
    await text('input').getByText('{"city":"Bern"}').waitFor();
    await text('theme').getByText('theme light').waitFor();
    await text('host').getByText('millrace en').waitFor();
    await tab.page.emulateMedia({ colorScheme: 'dark' });
    await text('theme').getByText('theme dark').waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
    // The model gets the text, and neither the document nor what only the app receives.
    await tab.answer.getByText('Here you are.').waitFor();
    const sent = JSON.stringify(harness.server.requests.at(-1)?.items);
    expect(sent).toContain('Rain in Bern');
    expect(sent).not.toMatch(/<!doctype|only for the app/);
    const before = [...harness.server.calls];
    await tab.page.reload();
    await text('result').getByText(result).waitFor();
    expect(harness.server.calls).toEqual(before);
    expect(await visitor.allFaults()).toEqual([]);
  });
});
