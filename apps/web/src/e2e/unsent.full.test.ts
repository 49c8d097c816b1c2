import type { TaskMessage } from '@millrace/server';
import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import type { ChatTab } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// A message must not get lost before the server has stored it.

const commands = '**/tasks/*/commands';

describeInChromium()('an unsent message', () => {
  const harness = useBrowserHarness();

  /** Opens a session with one answered message. */
  const answered = async (): Promise<ChatTab> => {
    const tab = await (await harness.visitor()).tab();
    await tab.send('hello');
    await tab.waitForText('See the protocol');
    await tab.page.getByRole('button', { name: 'Send' }).waitFor();
    return tab;
  };
  const userMessage = ({ page }: ChatTab, text: string) =>
    page.locator('article[data-kind=user]').getByText(text, { exact: true });

  /**
   * Returns the number of copies of a message on the server. The page shows only the visible part
   * of a long session.
   */
  const countOnServer = async ({ page }: ChatTab, text: string): Promise<number> => {
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const answer = await page.request.get(`/messages?task_id=${id}`);
    const messages = (await answer.json()) as readonly TaskMessage[];
    return messages.filter(({ content }) => content.type === 'text' && content.content === text)
      .length;
  };

  test('shows why it was rejected, and the current draft stays', async () => {
    const tab = await answered();
    await tab.page.route(commands, (route) =>
      route.fulfill({ status: 400, json: { message: 'Not today', code: 400, data: null } }),
    );
    await tab.send('the first');
    await tab.message.fill('the second');
    await tab.transcript.getByText('Not sent: Not today').waitFor();
    expect(await tab.message.inputValue()).toBe('the second');
    await tab.page.reload();
    await tab.transcript.getByText('Not sent: Not today').waitFor();
    expect(await tab.message.inputValue()).toBe('the second');
    await tab.page.unroute(commands);
    await tab.page.getByRole('button', { name: 'Try again' }).click();
    await userMessage(tab, 'the first').waitFor();
    expect(await tab.message.inputValue()).toBe('the second');
  });

  test('is sent once, although the page reloads before the response', async () => {
    const tab = await answered();
    for (const [text, hasListeners] of [
      ['not received yet', false],
      ['received without a response', true],
    ] as const) {
      const held = Promise.withResolvers<void>();
      await tab.page.route(commands, async (route) => {
        if (hasListeners) await route.fetch();
        held.resolve();
      });
      await tab.send(text);
      await held.promise;
      await tab.page.unroute(commands);
      await tab.page.reload();
      await userMessage(tab, text).waitFor();
      await tab.page.getByRole('list', { name: 'Not sent yet' }).waitFor({ state: 'detached' });
      await tab.page.getByRole('button', { name: 'Send' }).waitFor();
      expect(await countOnServer(tab, text)).toBe(1);
    }
  });

  test('waits while the server is away and is sent once when it is back', async () => {
    const tab = await answered();
    await harness.server.kill();
    await tab.send('are you there');
    await tab.page.getByRole('link', { name: 'New session' }).click();
    await tab.transcript.waitFor({ state: 'detached' });
    await tab.page.goBack();
    await tab.transcript.getByText('are you there').waitFor();
    await harness.server.restart();
    await userMessage(tab, 'are you there').waitFor();
    await tab.page.getByRole('list', { name: 'Not sent yet' }).waitFor({ state: 'detached' });
    await tab.page.reload();
    await userMessage(tab, 'are you there').waitFor();
    expect(await countOnServer(tab, 'are you there')).toBe(1);
  });
});
