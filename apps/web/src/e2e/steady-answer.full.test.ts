import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

/** Records each element that moved, except at the growing end of the answer. */
const watcher = `
globalThis.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, sources } of list.getEntries())
    for (const { node, previousRect, currentRect } of sources) {
      const element = node?.nodeType === 3 ? node.parentElement : node;
      const block = element?.closest('.markdown > *');
      // A word at the growing end can still wrap into the next line.
      if (block == null || block.matches(':nth-last-child(-n+2)')) continue;
      globalThis.shifts.push([value.toFixed(4), element.outerHTML.slice(0, 90),
        [previousRect.x, previousRect.y, currentRect.x, currentRect.y].join(' ')].join(' '));
    }
}).observe({ type: 'layout-shift', buffered: true });
`;

const row = (n: number) => `| ${n} | ${'word '.repeat(1 + ((n * 7) % 9)).trim()} | ${n * 12.5} |`;

const long = [
  '## Weather',
  'The first words with **bold**, `code` and a [link](https://example.com/a), and more of them.',
  `| day | what | rain |\n|---|---|--:|\n${Array.from({ length: 12 }, (_, n) => row(n)).join('\n')}`,
  'After the table, an inline formula $x^2 + y^2 = z^2$ and some more words in the same line.',
  '$$\n\\sum_{i=0}^n i = \\frac{n(n+1)}{2}\n$$',
  '- one\n- two with `code`\n  1. nested\n  2. again\n- three',
  `\`\`\`ts\n${Array.from({ length: 14 }, (_, n) => `const line${n} = ${n}; // comment`).join('\n')}\n\`\`\``,
  'A picture: ![map](https://maps.example/a.png) and more.',
  '```mermaid\nflowchart LR\n  A --> B\n  B --> C\n```',
  '```csv\ntown,rain\nBern,1\nRom,2\n```',
  'Press <kbd>Ctrl</kbd> for H<sub>2</sub>O.[^1]',
  '<details>\n<summary>More</summary>\n\nHidden text.\n\n</details>',
  '> A quote that is here.',
  '[^1]: The footnote.',
  'End of the answer.',
].join('\n\n');

describeInChromium()('a long answer', () => {
  const harness = useBrowserHarness();

  test('22.5: moves nothing above its growing end while it streams', async () => {
    // The window is so high that the whole answer is visible and can be checked.
    const visitor = await harness.visitor({ viewport: { width: 1200, height: 3600 } });
    await visitor.context.addInitScript(watcher);
    const tab = await visitor.tab();
    await tab.send(`stream\n${long}`);
    await tab.waitForText('End of the answer.');
    await tab.answer.frameLocator('iframe').locator('svg').waitFor();
    await tab.answer.locator('.katex').nth(1).waitFor();
    expect(await tab.page.evaluate('globalThis.shifts')).toEqual([]);
    expect(await visitor.allFaults()).toEqual([]);
  });
});
