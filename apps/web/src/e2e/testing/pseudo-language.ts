import type { BrowserContext } from 'playwright-core';

/**
 * Replaces the English file by a language that puts `‹` and `›` around each text. A text without these
 * marks on the page stands outside of the language files.
 */
export async function usePseudoLanguage(
  context: BrowserContext,
  direction: 'ltr' | 'rtl' = 'ltr',
): Promise<void> {
  await context.route(/\/assets\/en-[^/?]+\.js$/, (route) => {
    const file = new URL(route.request().url()).pathname.split('/').at(-1);
    return route.fulfill({
      contentType: 'text/javascript',
      body: `
        import { english as base } from './${file}?original';
        const marked = (text) => '‹' + text.replace(/\\{\\d\\}/g, '›$&‹') + '›';
        const wrap = (label) =>
          typeof label === 'string' ? marked(label) : (...values) => marked(label(...values));
        export const english = {
          ...Object.fromEntries(Object.entries(base).map(([key, label]) => [key, wrap(label)])),
          locale: 'en',
          direction: '${direction}',
        };
      `,
    });
  });
}

/**
 * Selects the elements whose text the page does not translate: content of sessions, names, code,
 * keys, times and numbers.
 */
const data = [
  ...[
    '.markdown',
    '.user-text',
    'article[data-kind=user] .long-text',
    'code',
    'pre',
    'kbd',
    'time',
  ],
  ...['.agent-name', '.agent-words', '.brand', '.chat-title', '.task-link-title', 'title'],
];

/**
 * Returns the visible texts of a page that have no marks. `known` are texts that are data, such as the
 * name of an agent.
 */
export function unmarkedTexts(known: readonly RegExp[], skipped: readonly string[]): string {
  const skip = JSON.stringify([...data, ...skipped].join(', '));
  return `(() => {
    const known = [${known.join(', ')}];
    const isText = (text) => /\\p{L}{2}/u.test(text) && !/[‹›]/.test(text) && !known.some((one) => one.test(text.trim()));
    const found = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
      if (element.closest(${skip}) !== null || element.closest('script, style') !== null) continue;
      if (node.nodeType === Node.TEXT_NODE) {
        if (isText(node.data)) found.add(element.className + ': ' + node.data.trim().slice(0, 60));
      } else
        for (const name of ['aria-label', 'title', 'placeholder', 'alt'])
          if (isText(node.getAttribute(name) ?? '')) found.add('@' + name + ': ' + node.getAttribute(name).slice(0, 60));
    }
    return [...found];
  })()`;
}
