import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { builtPage } from '../../../web/src/e2e/testing/built-page.ts';
import { describeInChromium, sharedChromium } from '../../../web/src/e2e/testing/needs-chromium.ts';
import { WatchedBrowser } from '../../../web/src/e2e/testing/watched-browser.ts';
import { openStore } from '../store/open-store.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { finishedSession, withSubAgent } from '../testing/sessions.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { sessionsCommand } from './sessions-command.ts';

const folder = temporaryFolder('html');
const cwd = '/here';

const words = Array.from({ length: 60 }, (_, index) => `w${index + 1}`).join(' ');

describeInChromium()('a session as an HTML file', () => {
  test('is replayed from the disk, and the scrubber moves through it', async () => {
    mkdirSync(join(folder(), 'files'));
    const store = join(folder(), 'store.db');
    const { log, close } = await openStore({ config: { store }, env: {} });
    await finishedSession(log, 'count', 'Count, please', { cwd, answer: words });
    const { child } = await withSubAgent(log, 'asks', cwd);
    await close();
    const output = join(folder(), 'files', 'talk.html');
    const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
    await sessionsCommand({
      args: {
        ...{ command: 'sessions', action: 'export', operands: ['count', 'asks'], all: false },
        ...{ json: false, yes: false, color: true, output },
      },
      ...{ config: { store }, stdin: process.stdin, stdout, stderr, cwd, env: {} },
      ...{ signal: new AbortController().signal, page: builtPage() },
    });
    expect(stderr.text).toBe(`Exported 2 sessions to ${output}\n`);

    const address = pathToFileURL(output).href;
    const visitor = await WatchedBrowser.open(await sharedChromium(), address);
    onTestFinished(() => visitor.close());
    const tab = await visitor.tab(address);
    const { page } = tab;
    await tab.waitForText('w60');
    expect(await page.title()).toBe('Count, please');
    const folderOfScreens = process.env['MILLRACE_SCREENS'];
    if (folderOfScreens) await page.screenshot({ path: join(folderOfScreens, 'replay.png') });

    // The first record has no answer, and a record in the middle has a part of it.
    await tab.slider.focus();
    const valueAt = async () => Number(await tab.slider.getAttribute('aria-valuenow'));
    const last = await valueAt();
    await page.keyboard.press('Home');
    await expect.poll(valueAt).toBe(1);
    await expect.poll(() => tab.lastCount()).toBe(0);
    const middle = Math.round(last / 2);
    for (let value = 1; value < middle; value++) await page.keyboard.press('ArrowRight');
    await expect.poll(valueAt).toBe(middle);
    const isPart = async () => (await tab.lastCount()) > 0 && (await tab.lastCount()) < 60;
    await expect.poll(isPart).toBe(true);
    await tab.dragTo(0.99);
    await page.keyboard.press('End');
    await expect.poll(() => tab.lastCount()).toBe(60);
    expect(await valueAt()).toBe(last);

    // Playback starts from the beginning and ends at the last record.
    await page.getByRole('button', { name: 'Play (Space)' }).click();
    await page.getByRole('button', { name: 'Play (Space)' }).waitFor();
    await expect.poll(() => tab.lastCount()).toBe(60);

    // The session of a sub-agent is in the same file.
    await page.getByRole('combobox', { name: 'Session' }).selectOption('asks');
    await tab.unfold(/^scout/);
    await page.getByRole('button', { name: child }).click();
    await tab.waitForText('It does.');
    // Words are streamed in pieces, so the text of a moment can end inside of a word.
    const faults = await visitor.allFaults();
    expect(faults.filter((fault) => !fault.startsWith('showed'))).toEqual([]);
  });
});
