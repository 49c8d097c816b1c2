import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limitLines } from './limit-lines.ts';

async function limited(chunks: readonly string[], maxBytes: number) {
  const problems: string[] = [];
  const source = ReadableStream.from(chunks.map((chunk) => new TextEncoder().encode(chunk)));
  const onProblem = (problem: string) => problems.push(problem);
  const output = source.pipeThrough(limitLines({ maxBytes, onProblem }));
  let text = '';
  for await (const piece of output) text += new TextDecoder().decode(piece);
  return { text, problems };
}

test('lines pass unchanged, in any pieces', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.stringMatching(/^[a-z\n]{0,9}$/)), async (chunks) => {
      expect(await limited(chunks, 1000)).toEqual({ text: chunks.join(''), problems: [] });
    }),
  );
});

test('a long line is replaced, and the lines around it stay', async () => {
  const chunks = ['{"a":1}\n', 'x'.repeat(60), 'x'.repeat(60), '\n{"b":', '2}\n'];
  const { text, problems } = await limited(chunks, 100);
  expect(text).toBe('{"a":1}\ntoo long\n{"b":2}\n');
  expect(problems).toEqual(['A message of 121 bytes arrived. At most 100 are possible.']);
});
