import { sessionId, transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import { AppServer } from './testing/apps/app-server.ts';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import { enabledAllow } from './testing/chat-tab.ts';
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

  test('calls tools of its server, in a session that the log keeps', async () => {
    const { visitor, text, press } = await shown('Bern');
    await text('result').getByText('Bern').waitFor();
    await press('refresh');
    await text('answer').getByText('The sun shines now').waitFor();
    expect(harness.server.calls.at(-1)).toBe('refresh');
    const tasks = await harness.server.tasks('guide-apps');
    const { archived, app_of: origin } = tasks[0]?.task_metadata ?? {};
    expect({ archived, origin }).toEqual({
      archived: true,
      origin: { task_id: expect.any(String), tool_call_id: expect.any(String) },
    });
    const state = await snapshot(harness.server.log, sessionId(tasks[0]?.id ?? ''));
    const called = transcript(state).flatMap(({ parts }) =>
      parts.flatMap((part) => (part.kind === 'tool_result' ? [part.name] : [])),
    );
    expect(called).toEqual(['weather_refresh']);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('waits for the approval that the policy requires, and gets the denial', async () => {
    const { tab, text, press } = await shown('Bern');
    await text('result').getByText('Bern').waitFor();
    await press('order');
    const question = tab.page.getByRole('region', { name: 'Allow weather_order?' });
    await question.getByText('umbrella').waitFor();
    expect(harness.server.calls).not.toContain('order umbrella');
    // The page accepts no answer while the user works in the app.
    await question.getByText('umbrella').click();
    await question.getByRole('button', enabledAllow).click();
    await text('answer').getByText('Ordered an umbrella').waitFor();
    expect(harness.server.calls).toContain('order umbrella');
    await press('order');
    await question.getByRole('button', { name: 'Deny', exact: true }).click();
    await question.getByRole('button', { name: 'Deny', exact: true }).click();
    await text('answer').getByText('It was not allowed').waitFor();
    expect(harness.server.calls.filter((call) => call === 'order umbrella')).toHaveLength(1);
  });

  test('opens an address only after the user has seen it and agreed', async () => {
    const { visitor, tab, text, press } = await shown('Bern');
    await text('result').getByText('Bern').waitFor();
    await press('link');
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('https://weather.example/bern').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await text('answer').getByText('{"isError":true}').waitFor();
    expect(visitor.context.pages()).toHaveLength(1);
    await press('link');
    const opening = visitor.context.waitForEvent('page');
    await dialog.getByRole('button', { name: 'Open' }).click();
    await opening;
    await text('answer').getByText('{}').waitFor();
    expect(visitor.faults).toContain('asked for https://weather.example/bern');
  });

  test('puts a text into the message field and does not send it', async () => {
    const { tab, text, press } = await shown('Bern');
    await text('result').getByText('Bern').waitFor();
    await tab.answer.getByText('Here you are.').waitFor();
    const { length } = harness.server.requests;
    await press('message');
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('Is it cold in Bern?').waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await text('answer').getByText('{"isError":true}').waitFor();
    expect(await tab.message.inputValue()).toBe('');
    await press('message');
    await dialog.getByRole('button', { name: 'Add to the message' }).click();
    await text('answer').getByText('{}').waitFor();
    expect(await tab.message.inputValue()).toBe('Is it cold in Bern?');
    expect(harness.server.requests).toHaveLength(length);
  });

  test('changes its height within limits', async () => {
    const { app, text, press } = await shown('Bern');
    await text('result').getByText('Bern').waitFor();
    const height = async () => Number(await app.locator('iframe').getAttribute('height'));
    await press('grow');
    await expect.poll(height).toBeGreaterThan(500);
    expect(await height()).toBeLessThanOrEqual(800);
  });

  test('connects to the declared origin only after the user has agreed', async () => {
    const { visitor, app, text, press } = await shown('Bern');
    const headers = { 'access-control-allow-origin': '*' };
    let loads = 0;
    await visitor.context.route('https://api.weather.example/**', (route) => {
      loads++;
      return route.fulfill({ body: 'It is 12 degrees', headers });
    });
    await text('result').getByText('Bern').waitFor();
    await app.getByText('https://api.weather.example').waitFor();
    await press('load');
    await text('answer').getByText('error').waitFor();
    expect(loads).toBe(0);
    await app.getByText('https://api.weather.example').click();
    await app.getByRole('button', enabledAllow).click();
    await text('answer').getByText('error').waitFor({ state: 'detached' });
    await text('result').getByText('Bern').waitFor();
    await press('load');
    await text('answer').getByText('It is 12 degrees').waitFor();
    expect(loads).toBe(1);
  });

  test('is shown at an earlier moment with the stored data, and cannot call tools there', async () => {
    const { tab, text } = await shown('Bern');
    await text('result').getByText('Bern').waitFor();
    await tab.answer.getByText('Here you are.').waitFor();
    const calls = [...harness.server.calls];
    await tab.page.getByRole('button', { name: 'Inspector' }).click();
    await tab.waitForScrubber();
    await tab.slider.focus();
    const later = tab.transcript.getByText('Here you are.');
    for (let steps = 0; steps < 30 && (await later.count()) > 0; steps++)
      await tab.slider.press('ArrowLeft');
    expect(await later.count()).toBe(0);
    await text('result').getByText('Bern').waitFor();
    await tab.page.getByRole('button', { name: 'Press to use the preview' }).click();
    await text('refresh').click();
    await text('answer').getByText('error').waitFor();
    expect(harness.server.calls).toEqual(calls);
  });
});
