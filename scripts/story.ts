// Takes the pictures of the guide "Find the turn that went wrong" from a real run:
//   npm run story -- [folder]
// An agent books a flight that does not exist. The script follows the steps of the guide on the page.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createAgent, defineTool } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { createServer } from '@millrace/server';
import type { Locator } from 'playwright-core';
import { z } from 'zod';
import { builtPage } from '../apps/web/src/e2e/testing/built-page.ts';
import { ChatTab } from '../apps/web/src/e2e/testing/chat-tab.ts';
import { launchChromium } from '../apps/web/src/e2e/testing/needs-chromium.ts';

const [given = 'docs/pictures'] = process.argv.slice(2);
const folder = resolve(given);
mkdirSync(folder, { recursive: true });

const log = memoryLog();
const search = defineTool({
  ...{ name: 'search_flights', description: 'Finds flights' },
  input: z.object({ to: z.string() }),
  execute: async ({ to }) => `SK 4035 to ${to} at 9:40 (timetable of 2024)`,
});
const provider = scriptedProvider([
  toolCall('search_flights', { to: 'Oslo' }, 'c1'),
  'I booked SK 4035 to Oslo. It leaves at 9:40.',
  'There is no flight to Oslo today. Shall I look for tomorrow?',
]);
const agent = createAgent({ log, provider, tools: [search], name: 'travel' });
const server = createServer({
  ...{ tokens: 'none', log, page: builtPage() },
  agents: [{ type: 'loop', name: 'travel', description: 'Books flights', agent }],
});
const { url } = await server.listen({ port: 0 });
const browser = await launchChromium();
try {
  const page = await browser.newPage({
    ...{ viewport: { width: 760, height: 480 }, colorScheme: 'light', reducedMotion: 'reduce' },
  });
  const shoot = async (name: string, of?: Locator) => {
    await page.evaluate('document.fonts.ready');
    const path = join(folder, `wrong-turn-${name}.png`);
    await (of ?? page).screenshot({ path });
  };
  await page.goto(url);
  const tab = new ChatTab(page);
  await tab.send('Fly me to Oslo');
  await tab.waitForText('It leaves at 9:40.');
  const path = await tab.taskPath();
  const id = path.split('/').at(-1) ?? '';
  await tab.stop.waitFor({ state: 'detached' });
  await shoot('1-answer');

  const { records } = await log.read(id);
  const result = records.find(({ fact }) => fact?.type === 'tool_execution_finished')?.offset;
  await page.setViewportSize({ width: 1000, height: 680 });
  await page.goto(`${url}${path}/inspect?at=${result}`);
  const branch = page.getByRole('button', { name: 'Branch from here' });
  await branch.waitFor();
  await shoot('2-record', page.locator('main'));

  await branch.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Another result of search_flights').fill('no flights today');
  await shoot('3-branch', dialog);

  await dialog.getByRole('button', { name: 'Start the branch' }).click();
  await tab.waitForText('Shall I look for tomorrow?');
  await page.getByRole('link', { name: 'Compare' }).click();
  await page.getByRole('heading', { name: 'Turns side by side' }).waitFor();
  await shoot('4-difference', page.locator('main'));
} finally {
  await browser.close();
  await server.close();
  await log.close();
}
process.stdout.write(`${folder}\n`);
