import fc from 'fast-check';
import { expect, test } from 'vitest';
import { gatedAnswer, scriptedModel } from './testing/scripted-model.ts';
import {
  countOf,
  describeInTmux,
  idleHint,
  promptText,
  startChat,
  terminalHarness,
} from './testing/terminal-harness.ts';

const words = 'and the rain comes over the hills and down to the coast once more';
const passages = Array.from({ length: 40 }, (_, at) => `begin-${at} ${words} end-${at}\n\n`);
const marks = passages.flatMap((_, at) => [`begin-${at}`, `end-${at}`]);
const size = fc.tuple(fc.integer({ min: 30, max: 120 }), fc.integer({ min: 12, max: 40 }));
const sizes = fc.array(size, { minLength: passages.length, maxLength: passages.length });

describeInTmux().concurrent('resizing the window again and again', () => {
  const corner = passages.map((_, at): [number, number] => [100 - at, Math.max(15, 30 - at)]);
  test.for([
    ['to and fro', () => fc.sample(sizes, 1)[0] ?? []],
    ['slowly in', () => corner],
  ] as const)('%s: no printed line is lost', async ([, sizesOf], context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open } = terminalHarness(context, files);
    const terminal = await open({ env, columns: 100, rows: 30 });
    const { reply, gates } = gatedAnswer(passages);
    server.reply(reply);
    await startChat(terminal);
    await terminal.send('Tell me');
    await terminal.waitFor('end-0');
    // Each resize starts before the program has handled the previous one.
    for (const [nth, [columns, rows]] of sizesOf().entries()) {
      await terminal.tmux('resize-window', '-x', String(columns), '-y', String(rows));
      gates[nth]?.open();
    }
    await terminal.resize(100, 30);
    const screen = await terminal.waitUntil(
      (seen) => seen.includes(idleHint) && seen.includes('end-39'),
      'the end of the answer',
    );
    expect(countOf(screen, promptText), screen).toBe(1);
    for (const mark of marks) expect(countOf(screen, `${mark} `), screen).toBeLessThanOrEqual(1);
    const everything = await terminal.scrollback();
    const lost = marks.filter((mark) => !new RegExp(`${mark}\\b`).test(everything));
    expect(lost, everything).toEqual([]);
    expect(everything).toContain('› Tell me');
  });
});
