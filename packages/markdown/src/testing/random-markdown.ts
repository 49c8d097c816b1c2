import fc, { type Arbitrary } from 'fast-check';

/** Lines from which random Markdown is built. `§` stands for a unique word. */
const lines = [
  '§',
  '§ §  ',
  '§ *§* **§** §',
  '_§_ ~~§~~ ***§***',
  '`§` and ``§ ` §``',
  '[§](https://example.com/§)',
  '![§](§.png)',
  '<https://example.com/§> https://example.com/§, www.example.com/§.',
  '**§ [*§*](§) `§',
  '§ \\#§ &lt;§&gt; &#35;§',
  '漢字§ 👩‍👩‍👧‍👦 e\u0301 §',
  '- §',
  '* § *§*',
  '+ [ ] §',
  '- [x] §',
  '-',
  '- - §',
  '  - §',
  '    - §',
  '1. §',
  '2. §',
  '10) §',
  '   §',
  '    §',
  '\t§',
  '        §',
  '> §',
  '>> §',
  '>',
  '> - §',
  '> ```',
  '1. > §',
  '- ```ts',
  '  ```',
  '  §',
  '```',
  '```ts §',
  '~~~',
  '~~~ python',
  'const a = "§"; /* §',
  '§ */ `$' + '{§}`',
  '$§$ and \\(§\\) and \\[§\\] costs $§ or $§',
  '$$',
  '$$§$$',
  '§ $$',
  '\\[',
  '\\]',
  '§[^1] § [^§] [^1](§)',
  '[^1]: §',
  '[^3]: - §',
  '[^2]:',
  '# § §',
  '## § ##',
  '---',
  '***',
  '===',
  '| § | § |',
  '|---|:-:|',
  '|§',
  '<div>§',
  '</div>',
  '<!-- § -->',
  '<!-- §',
  '<pre>',
  '</pre> §',
  '<b>§</b>',
  '§ \u001b[31m§ \u0007\u009b \u202e§',
  '',
  '',
  '',
  '',
];

/** Creates lines with Markdown syntax, in random order and with random line ends. */
export const randomMarkdown: Arbitrary<string> = fc
  .array(fc.tuple(fc.constantFrom(...lines), fc.constantFrom('\n', '\n', '\n', '\r\n', '\r', '')), {
    maxLength: 24,
  })
  .map((chosen) => {
    let words = 0;
    const text = chosen.map(([line, end]) => line + end).join('');
    return text.replaceAll('§', () => `w${words++}w`);
  });

/** Returns the unique words of random Markdown, in order. */
export function wordsOf(text: string): readonly string[] {
  return text.match(/w\d+w/g) ?? [];
}

/** Splits a text at the given positions. */
export function splitAt(text: string, cuts: readonly number[]): readonly string[] {
  const positions = [...cuts].map((cut) => cut % (text.length + 1)).sort((a, b) => a - b);
  return [0, ...positions].map((from, index) => text.slice(from, positions[index] ?? text.length));
}
