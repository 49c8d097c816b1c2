import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseArgs } from '../apps/cli/src/args/parse-args.ts';

test.each(['docs/compose.yaml', 'docs/deploy.md'])(
  'the server commands in %s are valid',
  (path) => {
    const text = readFileSync(path, 'utf8');
    const lines = [...text.matchAll(/(?:^millrace|command: node .*\/millrace\.js) (serve .*)$/gm)];
    expect(lines.length).toBeGreaterThan(0);
    for (const [, words = ''] of lines)
      expect(parseArgs(words.split(' '))).toMatchObject({
        command: 'serve',
        store: expect.stringMatching(/^postgres:\/\/millrace@/),
        bus: expect.stringMatching(/^redis:\/\//),
      });
  },
);
