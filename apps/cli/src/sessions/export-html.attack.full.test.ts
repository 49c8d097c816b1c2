import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createAgent, defineTool } from '@millrace/agent';
import { type FilePart, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { hostilePayloads } from '../../../../packages/react/src/testing/hostile-payloads.ts';
import { builtPage } from '../../../web/src/e2e/testing/built-page.ts';
import { describeInChromium, sharedChromium } from '../../../web/src/e2e/testing/needs-chromium.ts';
import { WatchedBrowser } from '../../../web/src/e2e/testing/watched-browser.ts';
import { toolCall } from '../testing/run-print.ts';
import { exportHtml } from './export-html.ts';

// A session with content of an attacker is exported as a file, and another person opens the file.

/** A tool that returns a text and attachments that can contain scripts. */
const show = defineTool({
  name: 'show',
  description: 'Shows',
  input: z.object({ text: z.string() }),
  execute: async ({ text }) => ({
    output: {
      text,
      attachments: [
        file(
          'image/svg+xml',
          `<svg xmlns="http://www.w3.org/2000/svg"><script>${run}</script></svg>`,
        ),
        file('text/html', `<script>${run}</script>`),
        {
          ...({ kind: 'media', mimeType: 'image/png' } as const),
          source: { type: 'url', url: 'https://evil.example/a.png' } as const,
        },
      ],
    },
  }),
});

const run = 'globalThis.ran=1';

const file = (mimeType: string, text: string): FilePart => ({
  ...{ kind: 'file', name: `</script><script>${run}</script>`, mimeType },
  source: { type: 'bytes', bytes: new TextEncoder().encode(text) },
});

interface Opened {
  readonly script: readonly ScriptEntry[];
  readonly message?: string;
  /** The id of the session. Default: `s`. */
  readonly session?: string;
  /** Changes the file before it is opened. */
  readonly change?: (html: string) => string;
}

/** Exports a session and opens the file with its address on the disk. */
async function open({ script, message = 'Hello', session = 's', change = (html) => html }: Opened) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-html-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = memoryLog();
  const provider = scriptedProvider(script, { pieces: 'token' });
  const agent = createAgent({ provider, log, tools: [show] });
  await agent.run(message, { session: sessionId(session) }).result;
  const html = await exportHtml(log, [sessionId(session)], { env: {}, page: builtPage() });
  const path = join(folder, 'talk.html');
  writeFileSync(path, change(html));
  const address = pathToFileURL(path).href;
  const visitor = await WatchedBrowser.open(await sharedChromium(), address);
  onTestFinished(() => visitor.close());
  const tab = await visitor.tab(address);
  return { visitor, tab, page: tab.page };
}

const tags =
  "[...document.querySelectorAll('#root :is(script, iframe, object, embed, base, link, meta, form)')].map(({ tagName }) => tagName)";

describeInChromium()('an exported file of a hostile session', () => {
  test('18.241: attack: scripts in texts run when the file is opened and scrubbed', async () => {
    const parts = hostilePayloads.map(({ text }) => text);
    const { visitor, tab, page } = await open({
      message: parts.join('\n\n'),
      script: [
        { content: { parts: [...parts, toolCall('c', 'show', { text: parts.join('\n') })] } },
        `${parts.join('\n\n')} That was all of it.`,
      ],
    });
    await tab.waitForText('That was all of it.');
    await tab.dragTo(0.5);
    await page.keyboard.press('End');
    await tab.waitForText('That was all of it.');
    expect(await page.evaluate(tags)).toEqual([]);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('18.242: attack: a text ends the element with the records', async () => {
    const end = `</script></SCRIPT><!--<script>--><script>${run}</script>\u2028%SCRIPT% $& \${x}`;
    const { visitor, tab, page } = await open({
      ...{ message: end, session: end, script: [`${end} That was all of it.`] },
    });
    await tab.waitForText('That was all of it.');
    expect(await page.title()).toContain('</script>');
    expect(await page.evaluate('document.scripts.length')).toBe(2);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('18.243: attack: a preview of HTML, SVG or a diagram runs code', async () => {
    const fences = ['html', 'svg', 'mermaid', 'jsx'].map(
      (kind) => `\`\`\`${kind}\n<svg onload="${run}"><script>${run}</script></svg>\n\`\`\``,
    );
    const { visitor, tab, page } = await open({ script: [`${fences.join('\n\n')}\n\nThe end.`] });
    await tab.waitForText('The end.');
    for (const button of await page.getByRole('button', { name: /preview|open/i }).all())
      await button.click();
    expect(await page.evaluate(tags)).toEqual([]);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('18.244: attack: an attachment runs code or is loaded from another server', async () => {
    const { visitor, tab, page } = await open({
      script: [
        { content: { parts: [toolCall('c', 'show', { text: 'x' })] } },
        '![a](https://evil.example/b.png) That was all of it.',
      ],
    });
    await tab.waitForText('That was all of it.');
    await tab.unfold(/^show/);
    await expect.poll(() => page.locator('a.media-file[download]').count()).toBe(2);
    expect(await page.evaluate(tags)).toEqual([]);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('18.241: attack: a script that is added to the file runs', async () => {
    const { visitor, tab } = await open({
      script: ['The end.'],
      change: (html) => html.replace('</body>', `<script>${run}</script></body>`),
    });
    await tab.waitForText('The end.');
    const faults = await visitor.allFaults();
    expect(faults).toEqual([expect.stringContaining('refused script-src-elem inline')]);
  });
});
