import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { parseArgs } from '../args/parse-args.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { printInsteadOfChat } from './without-terminal.ts';

test('an input that neither says anything nor ends is waited for, and that is said', async () => {
  const args = parseArgs([]);
  if (args.command !== 'chat') throw new Error('no words are a chat');
  const [stdin, stderr, clock] = [new PassThrough(), new CapturedOutput(), new VirtualClock()];
  const { signal } = new AbortController();
  const waiting = printInsteadOfChat(args, { stdin, stderr, signal, clock });
  clock.advance(3000);
  expect(stderr.text).toContain('Waiting for the end of standard input');
  stdin.end('Hello');
  expect(await waiting).toMatchObject({ isDemo: false, args: { command: 'print' } });
});
