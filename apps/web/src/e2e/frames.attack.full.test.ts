import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

const fence = (lang: string, ...lines: readonly string[]) =>
  ['```'.concat(lang), ...lines, '```'].join('\n');

const diagram = fence(
  'mermaid',
  'flowchart LR',
  '  Log[Log of records] --> Fold',
  '  Fold --> Page',
);

const hostileDiagram = fence(
  'mermaid',
  'flowchart LR',
  '  A["<img src=x onerror=parent.ran=1><script>parent.ran=1</script>"] --> B',
  '  click A "javascript:parent.ran=1"',
  '  click B call alert()',
);

/** A document that tries to leave its frame, and lists the attempts that were refused. */
const intruder = fence(
  'html',
  '<ul></ul><script>',
  'const refused = (text) => document.querySelector("ul").append(text, ";");',
  'const attempt = (name, work) => { try { work(); } catch { refused(name); } };',
  'attempt("page", () => parent.document.body);',
  'attempt("storage", () => localStorage.length);',
  'attempt("cookies", () => document.cookie);',
  'attempt("address", () => { top.location.href = "https://evil.example"; });',
  'if (open("https://evil.example") === null) refused("window");',
  'const picture = new Image(); picture.onerror = () => refused("picture");',
  'picture.src = "https://evil.example/pixel.png";',
  'fetch("/tasks").catch(() => refused("server"));',
  'fetch("https://evil.example").catch(() => refused("network"));',
  '</script>',
);

describeInChromium()('content in a frame', () => {
  const harness = useBrowserHarness();

  /** Opens a tab in which the model has answered with this text. */
  async function answered(text: string) {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    await tab.send(`say\n${text}`);
    const answer = tab.page.locator('article[data-kind=assistant]');
    await answer.locator('.code').waitFor();
    const frame = answer.frameLocator('iframe');
    return { visitor, tab, answer, frame };
  }

  test('a diagram is drawn when it is complete, and its code is one press away', async () => {
    const { visitor, answer, frame } = await answered(diagram);
    await frame.getByText('Log of records').waitFor();
    const height = async () => Number(await answer.locator('iframe').getAttribute('height'));
    await expect.poll(height).toBeGreaterThan(40);
    await answer.getByRole('button', { name: 'Code', exact: true }).click();
    await answer.locator('pre', { hasText: 'flowchart LR' }).waitFor();
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('a text that is no diagram is shown as code', async () => {
    const { answer } = await answered(fence('mermaid', 'not a diagram'));
    await answer.locator('pre', { hasText: 'not a diagram' }).waitFor();
  });

  test('a hostile diagram runs nothing and links nowhere', async () => {
    const { visitor, frame } = await answered(hostileDiagram);
    await frame.locator('svg').waitFor();
    expect(await frame.locator('svg :is(script, [onerror], a[href^="javascript:"])').count()).toBe(
      0,
    );
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('18.139: attack: many diagrams exist only while they are in sight', async () => {
    const many = Array.from({ length: 60 }, (_, index) =>
      fence('mermaid', 'flowchart LR', `  A${index}[Box ${index}] --> B`),
    );
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    await tab.send(`say\n${many.join('\n\n')}`);
    const places = tab.page.locator('article[data-kind=assistant] .preview-place');
    await expect.poll(() => places.count()).toBe(60);
    for (const index of [30, 59, 0]) {
      const place = places.nth(index);
      await place.scrollIntoViewIfNeeded();
      await place.frameLocator('iframe').getByText(`Box ${index}`).waitFor();
      expect(await tab.page.locator('iframe').count()).toBeLessThanOrEqual(12);
    }
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('a document runs only if the user asks for it, and cannot leave its frame', async () => {
    const { visitor, tab, answer, frame } = await answered(intruder);
    expect(await answer.locator('iframe').count()).toBe(0);
    await answer.getByRole('button', { name: 'Preview', exact: true }).click();
    const list = frame.locator('ul');
    const refused = async () => (await list.innerText()).split(';').filter(Boolean).sort();
    await expect
      .poll(refused)
      .toEqual(['address', 'cookies', 'network', 'page', 'picture', 'server', 'storage', 'window']);
    expect(new URL(tab.page.url()).pathname).toMatch(/^\/app\//);
    // The browser refused each request before it was sent.
    expect(visitor.faults).toEqual([]);
  });
});
