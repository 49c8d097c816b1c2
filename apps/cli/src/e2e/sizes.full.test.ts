import { expect, test } from 'vitest';
import { fewOf } from '../../../../packages/core/src/testing/runs.ts';
import { gatedAnswer, scriptedModel } from './testing/scripted-model.ts';
import {
  countOf,
  describeInTmux,
  idleHint,
  promptText,
  startChat,
  terminalHarness,
  withoutLayout,
} from './testing/terminal-harness.ts';

const mark = (place: number) => `mark-${String(place).padStart(3, '0')}`;

/** Returns paragraphs that each have a unique word at the start and at the end. */
const paragraphs = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const place = 2 * (from + index);
    const words = 'and the rain comes over the hills and down to the coast once more';
    return `${mark(place)} ${words} ${mark(place + 1)}\n\n`;
  }).join('');

const marksIn = (text: string) => text.match(/mark-\d{3}/g) ?? [];
const allMarks = (count: number) => Array.from({ length: 2 * count }, (_, place) => mark(place));

/** Sequences that would destroy the scrollback. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what clears
const clears = /\u001b\[[23]J|\u001bc/;

describeInTmux().concurrent('terminals of any size and kind', () => {
  test('a resize during an answer neither repeats nor loses a line', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open } = terminalHarness(context, files);
    const terminal = await open({ env });
    const sizes: readonly [number, number][] = [
      [50, 15],
      [120, 40],
      [33, 9],
      [80, 24],
    ];
    const passages = [...sizes, []].map((_, nth) => {
      // Each passage ends inside a paragraph, so that the live region is not empty.
      const text = paragraphs(4 * nth, 4);
      return `${nth === 0 ? '' : 'and then.\n\n'}${text}${nth < sizes.length ? 'Some words ' : ''}`;
    });
    const { reply, gates } = gatedAnswer(passages);
    server.reply(reply);
    await terminal.send('echo "from before"');
    await terminal.waitFor(/\nfrom before\n\$/);
    await startChat(terminal);
    await terminal.send('Tell me');
    for (const [nth, [columns, rows]] of sizes.entries()) {
      await terminal.waitUntil(
        (screen) => withoutLayout(screen).includes('Some words'),
        'the open end',
      );
      await terminal.resize(columns, rows);
      await terminal.saveScreen(`resized-${columns}x${rows}`);
      gates[nth]?.open();
      await terminal.waitForPrinted(mark(2 * (4 * nth + 4) + 7));
    }
    gates.at(-1)?.open();
    await terminal.waitFor(idleHint);
    const everything = await terminal.scrollback();
    await terminal.saveScreen('resized-end');
    expect(marksIn(everything)).toEqual(allMarks(4 * passages.length));
    expect(countOf(everything, 'Some words and then.')).toBe(sizes.length);
    expect(countOf(everything, 'Some words')).toBe(sizes.length);
    expect(countOf(everything, promptText)).toBe(1);
    expect(countOf(everything, 'answering ·')).toBe(0);
    expect(everything).toContain('\nfrom before\n');
    expect(terminal.written).not.toMatch(clears);
  });

  const smallSizes = [
    { columns: 20, rows: 5 },
    { columns: 20, rows: 24 },
    { columns: 80, rows: 5 },
    { columns: 10, rows: 3 },
  ];

  test.for(fewOf(smallSizes, 2))(
    'works at $columns × $rows',
    async ({ columns, rows }, context) => {
      const { server, files, env } = await scriptedModel(context);
      const { open } = terminalHarness(context, files);
      const terminal = await open({ env, columns, rows });
      const { reply, gates } = gatedAnswer([paragraphs(0, 8), paragraphs(8, 8)]);
      server.reply(reply);
      await terminal.send('millrace');
      await terminal.waitFor('> Say');
      await terminal.saveScreen(`narrow-${columns}x${rows}-prompt`);
      await terminal.send('Tell me');
      await gates[0]?.reached;
      await terminal.saveScreen(`narrow-${columns}x${rows}-streaming`);
      for (const gate of gates) gate.open();
      await terminal.waitForPrinted(mark(31));
      await terminal.waitUntil(
        (screen) => !/[⠁-⣿]/.test(screen) && screen.includes('> Say'),
        'its end',
      );
      await terminal.saveScreen(`narrow-${columns}x${rows}-end`);
      const everything = await terminal.scrollback();
      expect(marksIn(everything)).toEqual(allMarks(16));
      expect(countOf(everything, '> Say')).toBe(1);
      expect(everything).not.toMatch(/[⠁-⣿]/);
      expect(terminal.written).not.toMatch(clears);
    },
  );

  test.for([['NO_COLOR', { NO_COLOR: '1' }]] as const)(
    'works with %s, without a colour',
    async ([name, kind], context) => {
      const { server, files, env } = await scriptedModel(context);
      const { open } = terminalHarness(context, files);
      const terminal = await open({ env: { ...env, ...kind } });
      const code = '```ts\nconst orders = 3; // new\n```\n';
      const { reply, gates } = gatedAnswer([paragraphs(0, 8), `**Bold** words.\n\n${code}`]);
      server.reply(reply);
      await startChat(terminal);
      await terminal.send('Tell me');
      await gates[0]?.reached;
      for (const gate of gates) gate.open();
      await terminal.waitFor('const orders = 3; // new');
      await terminal.waitFor(idleHint);
      await terminal.saveScreen(`without-colour-${name}`);
      expect(marksIn(await terminal.scrollback())).toEqual(allMarks(8));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are colours
      expect(terminal.written).not.toMatch(/\u001b\[(?!2?7m|0?m)[\d;]*m/);
      expect(terminal.written).not.toMatch(clears);
    },
  );
});
