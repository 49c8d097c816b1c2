import { expect, test } from 'vitest';
import { hostilePayloads } from '../../../../packages/react/src/testing/hostile-payloads.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import type { ChatTab } from './testing/chat-tab.ts';
import { documentTypes } from './testing/hostile-tool.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// The model, its tools and other users are untrusted. The demo model sends all payloads in answers,
// reasoning, progress, results and file names. This test also sends them as titles and messages.

describeInChromium()('hostile content', () => {
  const harness = useBrowserHarness();

  test('runs no script, loads nothing and links nowhere', async () => {
    expect(hostilePayloads.length).toBeGreaterThanOrEqual(100);
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    await tab.send(`hostile\n${hostilePayloads.map(({ text }) => text).join('\n\n')}`);
    const path = await tab.taskPath();
    await tab.waitForText('That was all of it.');
    await nameTasks(harness.server.url);

    // Each payload is a part of one answer, so the page shows all of them together.
    const parts = tab.page.locator('article[data-kind=assistant]').first().locator('.markdown');
    expect(await parts.count()).toBeGreaterThanOrEqual(hostilePayloads.length);
    await tab.unfold(/^Thought/);
    await tab.unfold(/^hostile/);
    await tab.page.getByText('the address is blocked').waitFor();
    // Documents and images that can contain scripts are offered as downloads.
    expect(await tab.page.locator('a.media-file[download]').count()).toBe(5 + documentTypes.length);
    expect(await forbiddenLinks(tab)).toEqual([]);
    // Direction marks are escaped in tool results, as in tool inputs.
    const resultText = await tab.page.locator('.tool-card .output-text').first().innerText();
    expect(resultText).toContain('\\u202Ereversed');
    expect(resultText).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);

    await tab.page.getByRole('button', { name: 'Inspector' }).click();
    await tab.dragTo(0.5);
    await tab.page.getByRole('treeitem').last().click();
    expect(await forbiddenLinks(tab)).toEqual([]);
    await tab.page.getByRole('tab', { name: 'Records' }).click();
    await tab.page.getByRole('searchbox', { name: 'Find records' }).fill('onerror');
    await tab.page.getByRole('searchbox', { name: 'Find records' }).press('Enter');
    expect(await forbiddenLinks(tab)).toEqual([]);

    await tab.page.goto('/app/overview');
    await tab.page.getByRole('heading', { name: 'Usage and cost' }).waitFor();
    await tab.page
      .getByRole('link', { name: /onerror/ })
      .first()
      .waitFor();
    expect(await forbiddenLinks(tab)).toEqual([]);

    await tab.page.goto(path);
    await tab.waitForText('That was all of it.');
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('18.223: attack: thousands of code blocks, of which the page highlights only those near the visible part', async () => {
    const visitor = await harness.visitor();
    // Counts the updates of the page that show highlighted code.
    await visitor.context.addInitScript(`
      globalThis.updates = 0;
      new MutationObserver((changes) => {
        const added = changes.flatMap(({ addedNodes }) => [...addedNodes]);
        if (added.some((node) => node.matches?.('code:has([data-scope])'))) globalThis.updates++;
      }).observe(document, { childList: true, subtree: true });
    `);
    const text = `say\n${'```js\nlet a\n```\n'.repeat(3000)}\nThat was all of it.`;
    const tab = await visitor.tab(`/app/tasks/${await harness.server.answer(text)}`);
    await tab.waitForText('That was all of it.');
    const count = (selector: string) => tab.page.locator(selector).count();
    // The question and the answer have 3,000 blocks each. The rest is shown as its source.
    expect(await count('figure.code')).toBeLessThanOrEqual(2000);
    // The end of the answer is shown as its source. The code blocks are above it.
    await tab.page.evaluate("document.querySelector('.transcript').scrollTo({ top: 0 })");
    await expect.poll(() => count('code [data-scope]')).toBeGreaterThan(0);
    expect(await count('code:has([data-scope])')).toBeLessThan(200);
    expect(await tab.page.evaluate('globalThis.updates')).toBeLessThan(20);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('is detected by this test if it is inserted as HTML', async () => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    const all = JSON.stringify(hostilePayloads.map(({ text }) => `<p>${text}</p>`));
    await tab.page.evaluate(
      `document.body.insertAdjacentHTML('beforeend', ${all}.slice(0, 20).join(''))`,
    );
    await expect.poll(() => forbiddenLinks(tab)).not.toEqual([]);
    await expect.poll(() => visitor.allFaults()).toContainEqual(expect.stringContaining('refused'));
    await tab.page.evaluate("fetch('https://evil.example').catch(() => {})");
    await tab.page.evaluate('globalThis.ran = 1');
    const faults = await visitor.allFaults();
    expect(faults).toContainEqual(expect.stringMatching(/refused connect-src/));
    expect(faults).toContainEqual('ran a script: 1');
  });
});

/** Creates sessions with hostile titles. */
async function nameTasks(url: string): Promise<void> {
  const post = (path: string, method: string, body: object) =>
    fetch(`${url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const name = async (text: string) => {
    const answer = await post('/agents/name/builder/rpc', 'POST', { method: 'task/create' });
    const { result } = (await answer.json()) as { readonly result: { readonly id: string } };
    await post(`/tasks/${result.id}`, 'PUT', { task_metadata: { title: text } });
  };
  await Promise.all(hostilePayloads.map(({ text }) => name(text)));
}

/** Lists elements of the page that link to, or load from, a forbidden address. */
function forbiddenLinks({ page }: ChatTab): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`
    [...document.querySelectorAll('body *')].flatMap((element) => {
      const own = [...element.attributes];
      // Footnotes of an answer link to each other.
      const isNote = element.matches('.footnote-mark a, .footnote-back');
      const isBad = ({ name, value }) =>
        name.startsWith('on') || ['srcdoc', 'ping', 'formaction', 'action'].includes(name) ||
        (name === 'src' && !value.startsWith('blob:')) ||
        (name.endsWith('href') && !(isNote && /^#\\S+-note-\\d+/.test(value)) &&
          !/^(?:https?:|mailto:|blob:http:\\/\\/127\\.|\\/(?:$|app\\/))/.test(value)) ||
        (name === 'style' && /url|fixed/.test(value));
      const isOwn = !/^(?:SCRIPT|IFRAME|OBJECT|EMBED|BASE|LINK|META|STYLE|FORM|TEMPLATE|MATH)$/.test(element.tagName)
        || element.matches('form.composer, form.approval-form, .math .katex-mathml math');
      return [...own.filter(isBad).map(({ name, value }) => element.tagName + ' ' + name + '=' + value),
        ...(isOwn ? [] : [element.tagName])];
    })`);
}
