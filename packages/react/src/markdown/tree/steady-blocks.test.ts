import { MarkdownStream } from '@millrace/markdown';
import { expect, test } from 'vitest';
import { steadyBlocks } from './steady-blocks.ts';

function shown(text: string): readonly string[] {
  const stream = new MarkdownStream();
  stream.push(text);
  return steadyBlocks([...stream.take(), ...stream.steadyTail], text).map((block) =>
    block.kind === 'table'
      ? block.rows.slice(2).join(';')
      : 'text' in block
        ? block.text
        : block.kind,
  );
}

const head = '| a | b |\n|---|---|\n';

test.each([
  ['a line that can become a table waits', 'Text\n\n| a', ['Text']],
  ['its second line waits with it', 'Text\n\n| a | b |\n|--', ['Text']],
  ['a line that is no table is shown', 'Text\n\n| a\nb', ['Text', '| a\nb']],
  ['a table waits for the rows that decide its columns', `${head}| 1 | 2 |\n| 3 | 4 |\n| 5`, []],
  ['it is shown with them', `${head}| 1 |\n| 2 |\n| 3 |\n`, ['| 1 |;| 2 |;| 3 |']],
  ['a row waits until it is complete', `${head}| 1 |\n| 2 |\n| 3 |\n| 4`, ['| 1 |;| 2 |;| 3 |']],
  ['the start of code waits', 'Text\n\n``', ['Text']],
  ['code in a text does not', 'Text `a', ['Text `a']],
])('%s', (_, text, expected) => {
  expect(shown(text)).toEqual(expected);
});
