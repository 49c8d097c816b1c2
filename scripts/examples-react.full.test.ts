import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { describeInChromium, sharedChromium } from '../apps/web/src/e2e/testing/needs-chromium.ts';
import { patientMs } from '../packages/core/src/testing/runs.ts';
import { freePort } from '../packages/log/src/testing/external-programs.ts';

// The examples with components run in Vite and in a browser, with a real server and the built package.

const folder = 'examples/16-react';
const node = process.execPath;
const describe = describeInChromium();

describe('the example', () => {
  const processes: ChildProcess[] = [];
  const out = mkdtempSync(join(tmpdir(), 'millrace-react-'));
  let url = '';
  let browser: Browser;

  beforeAll(async () => {
    execFileSync(node, ['node_modules/typescript/bin/tsc', '-b', 'packages/react']);
    execFileSync(node, ['scripts/packages/react-files.ts']);
    const vite = 'node_modules/vite/bin/vite.js';
    const env = { ...process.env, NODE_ENV: 'production' };
    execFileSync(node, [vite, 'build', folder, '--outDir', out, '--logLevel', 'error'], { env });
    const [agents, pages] = [String(await freePort()), String(await freePort())];
    const start = async (args: readonly string[], more: object, isUp: RegExp) => {
      const child = spawn(node, args, { env: { ...process.env, ...more } });
      processes.push(child);
      let output = '';
      for await (const text of child.stdout) {
        output += text;
        if (isUp.test(output)) return;
      }
      throw new Error(`The program ended: ${output}`);
    };
    await start(
      ['--conditions=@millrace/source', `${folder}/server.ts`],
      { PORT: agents },
      /http:\/\/\S+\n/,
    );
    const preview = [vite, 'preview', folder, '--outDir', out, '--strictPort', '--port', pages];
    await start([...preview, '--host', '127.0.0.1'], { AGENTS_PORT: agents }, /127\.0\.0\.1:/);
    url = `http://127.0.0.1:${pages}`;
    browser = await sharedChromium();
  }, patientMs(120_000));

  afterAll(async () => {
    for (const child of processes) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(out, { recursive: true, force: true });
  });

  /** Opens a page of the example. It must report no error. */
  async function open(path: string): Promise<Page> {
    const context = await browser.newContext();
    context.setDefaultTimeout(patientMs(20_000));
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    onTestFinished(async () => {
      await context.close();
      expect(errors).toEqual([]);
    });
    await page.goto(`${url}/${path}`);
    return page;
  }

  /** Asks, reads the whole question, allows the call, and reads the answer. */
  async function chat(page: Page): Promise<void> {
    await page.getByLabel('Message').fill('Will it rain?');
    await page.getByRole('button', { name: 'Send' }).click();
    const card = page.getByRole('region', { name: /Allow weather/ });
    await card.getByText('Bath').waitFor();
    await card
      .getByRole('button', { name: /^Allow/ })
      .first()
      .click();
    await page.getByRole('cell', { name: '80 %' }).waitFor();
    await page.getByText('It rains in Bath until the evening.').waitFor();
    expect(await page.getByRole('group', { name: 'Tool weather: done' }).count()).toBe(1);
  }

  test('of a React app shows a session with a question, and continues it after a reload', async () => {
    const page = await open('react.html');
    await chat(page);
    await page.reload();
    await page.getByRole('cell', { name: '80 %' }).waitFor();
    expect(await page.getByText('Will it rain?').count()).toBe(1);
    // The colors come from the style sheet of the package, and apply only inside of its root.
    const colors = await page.evaluate(
      `['.millrace', 'body'].map((one) =>
        getComputedStyle(document.querySelector(one)).getPropertyValue('--accent'))`,
    );
    expect(colors).toEqual([expect.stringMatching(/#|light-dark/), '']);
  });

  test('of useChat shows the same components', async () => {
    const page = await open('usechat.html');
    await chat(page);
    await page.getByRole('button', { name: 'Copy the answer' }).waitFor();
  });

  test('of a page without React shows the thread and the inspector', async () => {
    const app = await open('react.html');
    await app.waitForURL(/#./);
    const id = new URL(app.url()).hash;
    const page = await open(`element.html${id}`);
    await chat(page);
    const inspector = page.locator('millrace-inspector');
    await inspector.getByRole('tree').getByText('weather').first().waitFor();
    const scheme = (name: string) =>
      page.evaluate(
        `getComputedStyle(document.querySelector('${name}').shadowRoot.querySelector('.millrace')).colorScheme`,
      );
    expect([await scheme('millrace-session'), await scheme('millrace-inspector')]).toEqual([
      'light',
      'dark',
    ]);
  });

  test('of an element shows no controls if the page does not ask for them', async () => {
    const app = await open('react.html');
    await app.waitForURL(/#./);
    const page = await open(`element.html${new URL(app.url()).hash}`);
    await page.getByLabel('Message').fill('Will it rain?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page
      .getByRole('button', { name: /^Allow/ })
      .first()
      .waitFor();
    await page.evaluate("document.querySelector('millrace-session').removeAttribute('controls')");
    await page.getByText('You can read this session, but not write in it.').first().waitFor();
    expect(await page.getByRole('textbox', { name: 'Message' }).count()).toBe(0);
    const answers = page.getByRole('region', { name: /Allow weather/ }).getByRole('button');
    for (const answer of await answers.all()) expect(await answer.isDisabled()).toBe(true);
    await page.evaluate("document.querySelector('millrace-session').src = 'javascript:alert(1)'");
    await page.getByRole('alert').getByText('not the URL of a session').waitFor();
  });

  test('has correct types', () => {
    execFileSync(node, ['node_modules/typescript/bin/tsc', '-p', folder], { encoding: 'utf8' });
  });
});

test('each app has at most 30 lines', () => {
  for (const name of ['react.tsx', 'usechat.tsx']) {
    const lines = readFileSync(`${folder}/${name}`, 'utf8').trimEnd().split('\n');
    expect([name, lines.length <= 30, lines.length]).toEqual([name, true, lines.length]);
  }
});
