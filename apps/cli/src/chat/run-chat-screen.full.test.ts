import { defineTool } from '@millrace/agent';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fewOf, isFull } from '../../../../packages/core/src/testing/runs.ts';
import { keys, TestChat, toolCalls } from '../testing/test-chat.ts';

const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');
const code = `\`\`\`js\n${Array.from({ length: 60 }, (_, line) => `call(${line});`).join('\n')}\n\`\`\``;

test('writes at most thirty frames a second while streaming, and a key does not wait', async () => {
  const chat = new TestChat({ script: [words.repeat(10)], pauseMs: 1 });
  await chat.send('Go');
  await chat.waitForText('word1');
  const before = chat.terminal.writes;
  for (let ms = 0; ms < 1000; ms++) await chat.advance(1);
  expect(chat.terminal.writes - before).toBeLessThanOrEqual(31);
  expect(chat.terminal.writes - before).toBeGreaterThan(10);
  chat.type('k');
  await chat.advance(0);
  await chat.advance(0);
  expect(chat.terminal.screen).toContain('> k');
});

describe('the live region stays below the height of the terminal, and nothing is ever cleared', () => {
  const print = defineTool({
    ...{ name: 'print', description: 'Prints', input: z.object({ lines: z.number() }) },
    async *execute({ lines }) {
      for (let line = 0; line < lines; line++) yield `printed ${line}\n`;
      return Array.from({ length: lines }, (_, line) => `result ${line}`).join('\n');
    },
  });
  const many = toolCalls(
    ...Array.from({ length: 12 }, (_, n) => [`c${n}`, 'print', { lines: 20 }] as const),
  );
  const thought = { kind: 'reasoning', text: words.replaceAll(' ', '\n'), form: 'full' } as const;

  const sizes = [
    [80, 24],
    [20, 10],
    [40, 6],
    [200, 50],
    [10, 4],
  ] as const;

  test.each(fewOf(sizes, 2))('in %i columns and %i rows', async (columns, rows) => {
    const script = [many, { content: { parts: [thought, `${words}\n\n${code}\n\n${words}`] } }];
    const approve = () => ({ decision: 'ask', reason: words, rule: 'r' }) as const;
    const chat = new TestChat({ script, tools: [print], approve, columns, rows, pauseMs: 1 });
    chat.type(`${keys.ctrlT}Go${keys.enter}`);
    for (let asked = 0; asked < 12; asked++) {
      await chat.until(() => chat.terminal.screen.includes('› No'));
      await chat.quiet();
      // A small window does not show the whole request.
      await chat.press('v');
      await chat.quiet();
      await chat.press('y');
    }
    chat.type('a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk');
    await chat.waitForText('call(59)');
    await chat.advance(2000);
    const { written, maxUpwardMove } = chat.terminal;
    expect(maxUpwardMove).toBeLessThan(rows);
    for (const clearing of [
      '\u001b[2J',
      '\u001b[3J',
      '\u001b[H',
      '\u001b[1;1H',
      '\u001b[?1049h',
      '\u001bc',
    ])
      expect(written).not.toContain(clearing);
  });
});

test('no printed line is lost or repeated while much text streams', async () => {
  const text = Array.from({ length: 80 }, (_, line) => `Paragraph ${line}.`).join('\n\n');
  const chat = new TestChat({ script: [`${text}\n\n${code}`], pauseMs: 5 });
  await chat.send('Go');
  await chat.waitForText('call(59)');
  await chat.idle();
  const all = chat.terminal.text;
  for (let line = 0; line < 80; line++) expect(all.split(`Paragraph ${line}.`)).toHaveLength(2);
  for (let line = 0; line < 60; line++) expect(all.split(`call(${line});`)).toHaveLength(2);
});

describe('a terminal that changes its size', () => {
  const stalls = { content: { parts: [words] }, fault: { type: 'stall', after: 40 } } as const;
  const sizes = [
    [60, 24],
    [50, 22],
    [120, 40],
    [90, 26],
    [40, 24],
  ] as const;

  test.each([true, false])('keeps each line exactly once (rewraps lines: %s)', async (reflows) => {
    const env = reflows ? {} : { XTERM_VERSION: 'XTerm(390)' };
    const chat = new TestChat({ script: [stalls], reflows, env: { NO_COLOR: '1', ...env } });
    await chat.send('Go');
    await chat.waitForText('word20');
    for (const [columns, rows] of sizes) {
      chat.terminal.resize(columns, rows);
      await chat.advance(500);
      const { screen, text } = chat.terminal;
      expect(screen.match(/^asks/gm), screen).toHaveLength(1);
      expect(screen.match(/^>/gm), screen).toHaveLength(1);
      for (const word of ['word0', 'word20', 'word39'])
        expect(text.match(new RegExp(`${word}\\b`, 'g')), text).toHaveLength(1);
      expect(text).toContain('› Go');
    }
  });

  const size = fc.tuple(fc.integer({ min: 24, max: 110 }), fc.integer({ min: 8, max: 40 }));
  const changes = {
    'in quick succession': fc.record({
      size,
      drawnMs: fc.constant(0),
      pauseMs: fc.nat(400),
    }),
    // While the size changes, the terminal may show frames for the old size in any form.
    'and reports it late, each time after content was drawn for the old size': fc.record({
      size,
      drawnMs: fc.nat(60),
      pauseMs: fc.integer({ min: 700, max: 900 }),
    }),
  };
  const cases = Object.entries(changes).flatMap(([how, change]) =>
    [true, false].map((reflows) => ({ how, change, reflows })),
  );

  test.each(fewOf(cases, 2))(
    'that is resized repeatedly $how loses no printed line (rewraps lines: $reflows)',
    async ({ change, reflows }) => {
      const paragraphs = Array.from(
        { length: 20 },
        (_, at) => `mark${at}a and the rain comes over the hills and down to the coast mark${at}b`,
      );
      const marks = paragraphs.flatMap((_, at) => [`mark${at}a`, `mark${at}b`]);
      const env = { NO_COLOR: '1', ...(reflows ? {} : { XTERM_VERSION: 'XTerm(390)' }) };
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
          const script = [paragraphs.join('\n\n')];
          const chat = new TestChat({ script, pauseMs: 20, reflows, env });
          await chat.send('Go');
          await chat.waitForText('mark2b');
          for (const { size, drawnMs, pauseMs } of changes) {
            chat.terminal.changeSize(...size);
            for (let ms = 0; ms < drawnMs; ms += 10) await chat.advance(10);
            chat.terminal.reportSize();
            for (let ms = 0; ms < pauseMs; ms += 40) await chat.advance(40);
          }
          for (let ms = 0; ms < 400; ms += 25) await chat.advance(25);
          chat.terminal.resize(100, 40);
          await chat.waitForText('mark19b');
          await chat.idle();
          const { text, screen } = chat.terminal;
          // Joins the rows that the terminal wrapped into one text.
          const whole = text.replaceAll('\n', '');
          for (const mark of marks) expect(whole, text).toContain(mark);
          expect(whole).toContain('› Go');
          expect(screen.match(/^>/gm), screen).toHaveLength(1);
          expect(screen.match(/^asks/gm), screen).toHaveLength(1);
          await chat.abort();
        }),
        { numRuns: isFull ? 5 : 2, endOnFailure: true },
      );
    },
  );

  test.each([0, 100, 350])(
    '23.12: draws nothing for the old size while the signal is late (second change after %i ms)',
    async (pauseMs) => {
      const chat = new TestChat({ script: [stalls], reflows: true, columns: 100, rows: 30 });
      await chat.send('Go');
      await chat.waitForText('word39');
      chat.terminal.changeSizeBeforeSignal(60, 20);
      for (let ms = 0; ms < pauseMs; ms += 10) await chat.advance(10);
      chat.terminal.changeSizeBeforeSignal(30, 16);
      for (let ms = 0; ms < 1000; ms += 10) await chat.advance(10);
      expectOnce(chat.terminal.text);
    },
  );

  test('23.12: drops a frame if the size changes while the frame is made', async () => {
    const chat = new TestChat({ script: [stalls], reflows: true, columns: 100, rows: 30 });
    await chat.send('Go');
    await chat.waitForText('word39');
    chat.terminal.resize(60, 20);
    await chat.advance(10);
    chat.terminal.onSizeRead = () => {
      chat.terminal.onSizeRead = () => {};
      chat.terminal.changeSizeBeforeSignal(30, 16);
    };
    for (let ms = 0; ms < 1000; ms += 10) await chat.advance(10);
    expectOnce(chat.terminal.text);
  });

  test('that becomes tiny still shows the typed text', async () => {
    const chat = new TestChat({ script: [stalls], reflows: true });
    await chat.send('Go');
    await chat.waitForText('word20');
    chat.terminal.resize(12, 4);
    chat.type('abc');
    await chat.advance(500);
    expect(chat.terminal.screen).toContain('> abc');
    expect(chat.terminal.written).not.toContain('\u001b[2J');
  });
});

/** Expects the words of the answer and the lines of the live region once in the whole history. */
function expectOnce(text: string): void {
  for (const once of ['word0', 'word20', 'word39'])
    expect(text.match(new RegExp(`${once}\\b`, 'g')), text).toHaveLength(1);
  expect(text.match(/^asks/gm), text).toHaveLength(1);
  expect(text.match(/^> Say/gm), text).toHaveLength(1);
}

test('works in twenty columns without wider lines', async () => {
  const note = defineTool({
    ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
    execute: async ({ text }) => text,
  });
  const script = [
    toolCalls(['c1', 'note', { text: words }]),
    `${words}\n\n| a | b |\n|---|---|\n| ${words} | 你好，世界 |`,
  ];
  const chat = new TestChat({ script, tools: [note], approve: () => 'ask', columns: 20 });
  await chat.idle();
  chat.type(`Do it, please, all of it${keys.enter}`);
  await chat.waitForText('Allow note?');
  await chat.quiet();
  await chat.press('v');
  await chat.quiet();
  await chat.press('y');
  await chat.waitForText('word59');
  await chat.idle();
  for (const line of chat.terminal.text.split('\n')) expect(line.length).toBeLessThanOrEqual(20);
});

describe('colours', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are colours
  const colors = /\u001b\[(?:[39][0-7]|4[0-7]|[1-4]|38;|48;)(?:;\d+)*m/;
  const script = ['# Title\n\n`code` and **bold**\n\n```js\nlet a = 1;\n```'];
  const chat = async (env: Readonly<Record<string, string>>) => {
    const shown = new TestChat({ script, env });
    await shown.send('Go');
    await shown.waitForText('let a');
    await shown.idle();
    return shown.terminal.written;
  };

  test('are used', async () => {
    expect(await chat({ TERM: 'xterm-256color' })).toMatch(colors);
  });

  test.each([{ NO_COLOR: '1' }, { FORCE_COLOR: '0' }])('are not used with %o', async (env) => {
    expect(await chat({ TERM: 'xterm', ...env })).not.toMatch(colors);
  });
});

test('a running call is directly below the finished ones, where it will be printed', async () => {
  const gates = new Map([
    ['a', Promise.withResolvers<string>()],
    ['b', Promise.withResolvers<string>()],
  ]);
  const wait = defineTool({
    ...{ name: 'wait', description: 'Waits', input: z.object({ text: z.string() }) },
    summarize: ({ text }) => `Wait ${text}`,
    execute: async ({ text }) => (await gates.get(text)?.promise) ?? '',
  });
  const both = toolCalls(['c1', 'wait', { text: 'a' }], ['c2', 'wait', { text: 'b' }]);
  const chat = new TestChat({ script: [both, 'Done.'], tools: [wait] });
  await chat.send('Go');
  await chat.waitForText('Wait b');
  gates.get('a')?.resolve('first');
  await chat.until(() => /✓ Wait a.*\n {2}│ first\n. Wait b/.test(chat.terminal.screen));
  gates.get('b')?.resolve('second');
  await chat.waitForText('Done.');
  await chat.idle();
  expect(chat.terminal.text).toMatch(/✓ Wait a.*\n {2}│ first\n✓ Wait b/);
});

test('a call in a dialog is shown once', async () => {
  const note = defineTool({
    ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
    execute: async ({ text }) => text,
  });
  const both = toolCalls(['c1', 'note', { text: 'a' }], ['c2', 'note', { text: 'b' }]);
  const chat = new TestChat({ script: [both], tools: [note], approve: () => 'ask', rows: 40 });
  await chat.send('Go');
  await chat.waitForText('(1 more after this)');
  const { screen } = chat.terminal;
  expect(screen).not.toContain('note a');
  expect(screen).toContain('? note b  needs approval');
});
