import { expect, test } from 'vitest';
import { pageText, pageTitle } from './page-text.ts';

const page = `<!doctype html><html><head><title>Rain &amp; sun</title><style>p{}</style></head>
<body><script>alert("<p>no</p>")</script><!-- no -->
<h1>The  weather</h1><p>It <b>rains</b> in&nbsp;<a href="/bergen">Bergen</a>.<br>Often.</p>
<ul><li>Monday</li><li>Tuesday &#8211; <code>12 mm</code></li></ul>
<pre>a
  b &lt; c</pre><table><tr><th>day</th><td>mm</td></tr></table>
<a href="#top">Top</a><a href="javascript:alert(1)">Run</a> 1 < 2</body></html>`;

test('a page becomes text with marks for headings, lists, code and links', () => {
  expect(pageTitle(page)).toBe('Rain & sun');
  expect(pageText(page, 'https://weather.example/today')).toBe(
    [
      ...[
        '# The weather',
        '',
        'It rains in [Bergen](https://weather.example/bergen).',
        'Often.',
        '',
      ],
      ...[
        '- Monday',
        '- Tuesday – `12 mm`',
        '',
        '```',
        'a',
        '  b < c',
        '```',
        '',
        'day | mm |',
        '',
      ],
      'TopRun 1 < 2',
    ].join('\n'),
  );
});

test.each(['<', '<a', '<!--', '<script>', '<svg>', '&', '<p', '</', '<pre>', '<a href="x">'])(
  'a page that repeats %s takes time in proportion to its length',
  (piece) => {
    expect(pageText(piece.repeat(200_000), 'https://a.example/').length).toBeLessThan(8_000_000);
  },
);
