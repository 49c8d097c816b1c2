/**
 * Texts that are slow to read for some Markdown readers if they are repeated. Each name says what is
 * repeated.
 */
export const hostileTexts: Readonly<Record<string, string>> = {
  prose: 'Words with **bold**, `code` and a [link](https://example.com/a), and more.\n\n',
  'one paragraph': 'Words with **bold** and *more*\n',
  'one line': 'word ',
  lists: '- item **a**\n  1. nested `b`\n\n     text\n',
  quotes: '> > quoted *text*\n',
  tables: '| a | b |\n|---|---|\n| 1 | **2** |\n\n',
  'rows without a head': '| a | b |\n',
  code: '```ts\nconst a = "b"; // d\n```\n',
  'HTML that never ends': '<pre>\n',
  'a comment that never ends': '<!-- *a* [b](c) ',
  'marks of everything': '*_~[`<!>#-+=|&\\ ',
  'strong text that is opened again': '**a **b** ',
  'emphasis with other marks': '*a_',
  'emphasis that never ends': '*a **b _c ',
  'brackets that never end': '[a](b![',
  'links that never end': '[a](<b',
  'backticks that belong to nothing': '`a ``b ',
  'tags that never end': '<a b="',
  'marks of quotes': '> ',
  'marks of items': '+ ',
  'marks of quotes and items': '> - ',
  tabs: '\t',
  entities: '&#1',
  'empty lines': '\n',
  'underlines without text': '=\n-\n',
};
