import { expect, test } from 'vitest';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';
import { PageServer } from './testing/page-server.ts';

// A user shares a session with a link. The reader can only read it, and only until the link is
// revoked.

const token = 'a-token-for-tests-0123456789-abcdefgh';

describeInChromium()('a shared session', () => {
  const harness = useBrowserHarnessFor(() => PageServer.start(token));

  test('is read with a link, cannot be changed, and closes when the link is revoked', async () => {
    const owner = await (await harness.visitor()).tab(`/#token=${token}`);
    await owner.send('say\nthe secret of another session');
    await owner.waitForText('the secret of another session');
    await owner.page.getByRole('link', { name: 'New session' }).click();
    await owner.send('say\nthe shared answer');
    await owner.waitForText('the shared answer');
    await owner.page.getByRole('button', { name: 'Share' }).click();
    await owner.page.getByRole('combobox', { name: 'The link works for' }).selectOption('7 days');
    await owner.page.getByRole('button', { name: 'Create a link' }).click();
    const link = await owner.page.getByRole('textbox', { name: 'Link' }).inputValue();
    expect(await axeFaults(owner.page)).toEqual([]);

    const { pathname, hash } = new URL(link);
    const reader = await (await harness.visitor()).tab(`${pathname}${hash}`);
    await reader.waitForText('the shared answer');
    await reader.page.getByText('You can read this session, but not write in it.').waitFor();
    expect(await reader.message.count()).toBe(0);
    expect(await reader.page.getByRole('button', { name: /Share|Actions for|Edit/ }).count()).toBe(
      0,
    );
    const sessions = reader.page.getByRole('navigation', { name: 'Sessions' });
    expect(await sessions.locator('.task-link').count()).toBe(1);
    expect(reader.page.url()).not.toContain('token');

    // The reader sees what the owner writes later.
    await owner.page.keyboard.press('Escape');
    await owner.send('say\na later answer');
    await reader.waitForText('a later answer');

    await owner.page.getByRole('button', { name: 'Share' }).click();
    await owner.page.getByRole('button', { name: 'Revoke' }).click();
    await owner.page.getByRole('button', { name: 'Revoke' }).waitFor({ state: 'detached' });
    await reader.page.reload();
    await reader.page.getByRole('heading', { name: 'This server requires a token' }).waitFor();
    expect(await reader.page.getByText('the shared answer').count()).toBe(0);
  });
});
