import { expect, test } from 'vitest';
import { inPassages, scriptedModel } from './testing/scripted-model.ts';
import {
  atTheTerminal,
  countOf,
  describeInTmux,
  idle,
  prompt,
  startChat,
  wordsOf,
} from './testing/terminal-harness.ts';

const mark = (place: number) => `mark-${String(place).padStart(3, '0')}`;

/** Paragraphs, each with a word of its own at its beginning and at its end. */
const paragraphs = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const place = 2 * (from + index);
    const words = 'and the water goes over the wheel and down to the river once more';
    return `${mark(place)} ${words} ${mark(place + 1)}\n\n`;
  }).join('');

const marksIn = (text: string) => text.match(/mark-\d{3}/g) ?? [];
const allMarks = (count: number) => Array.from({ length: 2 * count }, (_, place) => mark(place));

/** What would take the history away. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what clears
const clears = /\u001b\[[23]J|\u001bc/;

describeInTmux().concurrent('terminals of any size and kind', () => {
  test('resized in the middle of an answer: nothing is doubled and nothing lost', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open } = atTheTerminal(context, files);
    const terminal = await open({ env });
    const sizes: readonly [number, number][] = [
      [50, 15],
      [120, 40],
      [33, 9],
      [80, 24],
    ];
    const passages = [...sizes, []].map((_, nth) => {
      // It is cut in the middle of a paragraph, so that something is open.
      const text = paragraphs(4 * nth, 4);
      return `${nth === 0 ? '' : 'and then.\n\n'}${text}${nth < sizes.length ? 'Some words ' : ''}`;
    });
    const { reply, gates } = inPassages(passages);
    server.reply(reply);
    await terminal.say('echo "from before"');
    await terminal.shows(/\nfrom before\n\$/);
    await startChat(terminal);
    await terminal.say('Tell me');
    for (const [nth, [columns, rows]] of sizes.entries()) {
      await terminal.until((screen) => wordsOf(screen).includes('Some words'), 'the open end');
      await terminal.resize(columns, rows);
      await terminal.keep(`resized-${columns}x${rows}`);
      gates[nth]?.open();
      await terminal.printed(mark(2 * (4 * nth + 4) + 7));
    }
    gates.at(-1)?.open();
    await terminal.shows(idle);
    const everything = await terminal.everything();
    await terminal.keep('resized-end');
    expect(marksIn(everything)).toEqual(allMarks(4 * passages.length));
    expect(countOf(everything, 'Some words and then.')).toBe(sizes.length);
    expect(countOf(everything, 'Some words')).toBe(sizes.length);
    expect(countOf(everything, prompt)).toBe(1);
    expect(countOf(everything, 'answering ·')).toBe(0);
    expect(everything).toContain('\nfrom before\n');
    expect(terminal.written).not.toMatch(clears);
  });

  test.for([
    { columns: 20, rows: 5 },
    { columns: 20, rows: 24 },
    { columns: 80, rows: 5 },
    { columns: 10, rows: 3 },
  ])('works at $columns × $rows', async ({ columns, rows }, context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open } = atTheTerminal(context, files);
    const terminal = await open({ env, columns, rows });
    const { reply, gates } = inPassages([paragraphs(0, 8), paragraphs(8, 8)]);
    server.reply(reply);
    await terminal.say('millrace');
    await terminal.shows('> Say');
    await terminal.keep(`narrow-${columns}x${rows}-prompt`);
    await terminal.say('Tell me');
    await gates[0]?.reached;
    await terminal.keep(`narrow-${columns}x${rows}-streaming`);
    for (const gate of gates) gate.open();
    await terminal.printed(mark(31));
    await terminal.until((screen) => !/[⠁-⣿]/.test(screen) && screen.includes('> Say'), 'its end');
    await terminal.keep(`narrow-${columns}x${rows}-end`);
    const everything = await terminal.everything();
    expect(marksIn(everything)).toEqual(allMarks(16));
    expect(countOf(everything, '> Say')).toBe(1);
    expect(everything).not.toMatch(/[⠁-⣿]/);
    expect(terminal.written).not.toMatch(clears);
  });

  test.for([['NO_COLOR', { NO_COLOR: '1' }]] as const)(
    'works with %s, without a colour',
    async ([name, kind], context) => {
      const { server, files, env } = await scriptedModel(context);
      const { open } = atTheTerminal(context, files);
      const terminal = await open({ env: { ...env, ...kind } });
      const code = '```ts\nconst turns = 3; // fast\n```\n';
      const { reply, gates } = inPassages([paragraphs(0, 8), `**Bold** words.\n\n${code}`]);
      server.reply(reply);
      await startChat(terminal);
      await terminal.say('Tell me');
      await gates[0]?.reached;
      for (const gate of gates) gate.open();
      await terminal.shows('const turns = 3; // fast');
      await terminal.shows(idle);
      await terminal.keep(`without-colour-${name}`);
      expect(marksIn(await terminal.everything())).toEqual(allMarks(8));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are colours
      expect(terminal.written).not.toMatch(/\u001b\[(?!2?7m|0?m)[\d;]*m/);
      expect(terminal.written).not.toMatch(clears);
    },
  );
});
