import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { fillSession } from '../testing/sessions.ts';
import { keys, TestChat, type TestChatOptions, toolCalls } from '../testing/test-chat.ts';

const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');
const code = `\`\`\`js\n${Array.from({ length: 60 }, (_, line) => `call(${line});`).join('\n')}\n\`\`\``;

async function stageWith(count: number, options: TestChatOptions): Promise<TestChat> {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const session = sessionId('long');
  const filled = fillSession(log, session, count);
  for (let isOver = false; !isOver; clock.advance(10)) {
    isOver = await Promise.race([
      filled.then(() => true),
      new Promise<false>((resolve) => setImmediate(resolve, false)),
    ]);
  }
  const stage = new TestChat({ ...options, log, clock, session });
  await stage.idle();
  return stage;
}

describe('what is written does not grow with what was said before', () => {
  const small = 2;
  const large = 2000;

  test('by a keypress', async () => {
    const bytesFor = async (count: number) => {
      const stage = await stageWith(count, {});
      const each: number[] = [];
      for (const key of ['h', 'e', 'l', 'l', 'o', keys.up, 'x']) {
        const before = stage.terminal.written.length;
        stage.type(key);
        await stage.advance(100);
        each.push(stage.terminal.written.length - before);
      }
      return each;
    };
    const [few, many] = [await bytesFor(small), await bytesFor(large)];
    expect(many).toEqual(few);
    expect(Math.max(...many)).toBeLessThan(400);
    expect(Math.min(...few.slice(0, 5))).toBeGreaterThan(0);
  });

  test('by a streamed frame', async () => {
    const bytesFor = async (count: number) => {
      const stage = await stageWith(count, { script: [words], pauseMs: 50 });
      stage.type(`Go${keys.enter}`);
      await stage.waitForText('word1');
      const each: number[] = [];
      for (let frame = 0; frame < 40; frame++) {
        const before = stage.terminal.written.length;
        await stage.advance(50);
        await stage.advance(0);
        each.push(stage.terminal.written.length - before);
      }
      return each.reduce((sum, bytes) => sum + bytes, 0);
    };
    const [few, many] = [await bytesFor(small), await bytesFor(large)];
    expect(many).toBeLessThanOrEqual(few);
    expect(few).toBeGreaterThan(1000);
  });
});

test('while it streams, at most thirty frames a second are written, and a key is not made to wait', async () => {
  const stage = new TestChat({ script: [words.repeat(10)], pauseMs: 1 });
  await stage.send('Go');
  await stage.waitForText('word1');
  const before = stage.terminal.writes;
  for (let ms = 0; ms < 1000; ms++) await stage.advance(1);
  expect(stage.terminal.writes - before).toBeLessThanOrEqual(31);
  expect(stage.terminal.writes - before).toBeGreaterThan(10);
  stage.type('k');
  await stage.advance(0);
  await stage.advance(0);
  expect(stage.terminal.screen).toContain('> k');
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

  test.each([
    [80, 24],
    [20, 10],
    [40, 6],
    [200, 50],
    [10, 4],
  ])('in %i columns and %i rows', async (columns, rows) => {
    const script = [many, { content: { parts: [thought, `${words}\n\n${code}\n\n${words}`] } }];
    const approve = () => ({ decision: 'ask', reason: words, rule: 'r' }) as const;
    const stage = new TestChat({ script, tools: [print], approve, columns, rows, pauseMs: 1 });
    stage.type(`${keys.ctrlR}Go${keys.enter}`);
    for (let asked = 0; asked < 12; asked++) {
      await stage.until(() => stage.terminal.screen.includes('› Yes'));
      await stage.advance(300);
      stage.type('y');
      await stage.advance(50);
    }
    stage.type('a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk');
    await stage.waitForText('call(59)');
    await stage.advance(2000);
    const { written, highest } = stage.terminal;
    expect(highest).toBeLessThan(rows);
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

test('nothing that was printed is lost or doubled, however much streams', async () => {
  const text = Array.from({ length: 80 }, (_, line) => `Paragraph ${line}.`).join('\n\n');
  const stage = new TestChat({ script: [`${text}\n\n${code}`], pauseMs: 5 });
  await stage.send('Go');
  await stage.waitForText('call(59)');
  await stage.idle();
  const all = stage.terminal.text;
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

  test.each([true, false])('keeps one of everything (wraps lines anew: %s)', async (reflows) => {
    const env = reflows ? {} : { XTERM_VERSION: 'XTerm(390)' };
    const stage = new TestChat({ script: [stalls], reflows, env: { NO_COLOR: '1', ...env } });
    await stage.send('Go');
    await stage.waitForText('word20');
    for (const [columns, rows] of sizes) {
      stage.terminal.resize(columns, rows);
      await stage.advance(500);
      const { screen, text } = stage.terminal;
      expect(screen.match(/^script/gm), screen).toHaveLength(1);
      expect(screen.match(/^>/gm), screen).toHaveLength(1);
      for (const word of ['word0', 'word20', 'word39'])
        expect(text.match(new RegExp(`${word}\\b`, 'g')), text).toHaveLength(1);
      expect(text).toContain('› Go');
    }
  });

  const size = fc.tuple(fc.integer({ min: 24, max: 110 }), fc.integer({ min: 8, max: 40 }));
  // Some resizes are reported late, after content was drawn for the old size.
  const change = fc.record({ size, drawnMs: fc.nat(60), pauseMs: fc.nat(400) });

  test.each([true, false])(
    'again and again loses nothing of what it printed (wraps lines anew: %s)',
    async (reflows) => {
      const paragraphs = Array.from(
        { length: 20 },
        (_, at) => `mark${at}a and the water goes over the wheel and down to the river mark${at}b`,
      );
      const marks = paragraphs.flatMap((_, at) => [`mark${at}a`, `mark${at}b`]);
      const env = { NO_COLOR: '1', ...(reflows ? {} : { XTERM_VERSION: 'XTerm(390)' }) };
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
          const script = [paragraphs.join('\n\n')];
          const stage = new TestChat({ script, pauseMs: 20, reflows, env });
          await stage.send('Go');
          await stage.waitForText('mark2b');
          for (const { size, drawnMs, pauseMs } of changes) {
            stage.terminal.change(...size);
            for (let ms = 0; ms < drawnMs; ms += 10) await stage.advance(10);
            stage.terminal.tell();
            for (let ms = 0; ms < pauseMs; ms += 40) await stage.advance(40);
          }
          for (let ms = 0; ms < 400; ms += 25) await stage.advance(25);
          stage.terminal.resize(100, 40);
          await stage.waitForText('mark19b');
          await stage.idle();
          const { text, screen } = stage.terminal;
          // Joins the rows that the terminal wrapped.
          const whole = text.replaceAll('\n', '');
          for (const mark of marks) expect(whole, text).toContain(mark);
          expect(whole).toContain('› Go');
          expect(screen.match(/^>/gm), screen).toHaveLength(1);
          expect(screen.match(/^script/gm), screen).toHaveLength(1);
          await stage.abort();
        }),
        { numRuns: 5, endOnFailure: true },
      );
    },
  );

  test('that has become tiny still shows what is typed', async () => {
    const stage = new TestChat({ script: [stalls], reflows: true });
    await stage.send('Go');
    await stage.waitForText('word20');
    stage.terminal.resize(12, 4);
    stage.type('abc');
    await stage.advance(500);
    expect(stage.terminal.screen).toContain('> abc');
    expect(stage.terminal.written).not.toContain('\u001b[2J');
  });
});

test('in twenty columns nothing is wider than that, and it can be used', async () => {
  const note = defineTool({
    ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
    execute: async ({ text }) => text,
  });
  const script = [
    toolCalls(['c1', 'note', { text: words }]),
    `${words}\n\n| a | b |\n|---|---|\n| ${words} | 你好，世界 |`,
  ];
  const stage = new TestChat({ script, tools: [note], approve: () => 'ask', columns: 20 });
  await stage.idle();
  stage.type(`Do it, please, all of it${keys.enter}`);
  await stage.waitForText('May note run?');
  await stage.advance(300);
  stage.type('y');
  await stage.waitForText('word59');
  await stage.idle();
  for (const line of stage.terminal.text.split('\n')) expect(line.length).toBeLessThanOrEqual(20);
});

describe('colours', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are colours
  const colors = /\u001b\[(?:[39][0-7]|4[0-7]|[1-4]|38;|48;)(?:;\d+)*m/;
  const script = ['# Title\n\n`code` and **bold**\n\n```js\nlet a = 1;\n```'];
  const stage = async (env: Readonly<Record<string, string>>) => {
    const shown = new TestChat({ script, env });
    await shown.send('Go');
    await shown.waitForText('let a');
    await shown.idle();
    return shown.terminal.written;
  };

  test('are there', async () => {
    expect(await stage({ TERM: 'xterm-256color' })).toMatch(colors);
  });

  test.each([{ NO_COLOR: '1' }, { FORCE_COLOR: '0' }])('are not there with %o', async (env) => {
    expect(await stage({ TERM: 'xterm', ...env })).not.toMatch(colors);
  });
});

test('a call that runs stands right below those that are done, as it will when it is', async () => {
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
  const stage = new TestChat({ script: [both, 'Done.'], tools: [wait] });
  await stage.send('Go');
  await stage.waitForText('Wait b');
  gates.get('a')?.resolve('first');
  await stage.until(() => /✓ Wait a.*\n {2}│ first\n. Wait b/.test(stage.terminal.screen));
  gates.get('b')?.resolve('second');
  await stage.waitForText('Done.');
  await stage.idle();
  expect(stage.terminal.text).toMatch(/✓ Wait a.*\n {2}│ first\n✓ Wait b/);
});

test('what is asked about is shown once', async () => {
  const note = defineTool({
    ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
    execute: async ({ text }) => text,
  });
  const both = toolCalls(['c1', 'note', { text: 'a' }], ['c2', 'note', { text: 'b' }]);
  const stage = new TestChat({ script: [both], tools: [note], approve: () => 'ask', rows: 40 });
  await stage.send('Go');
  await stage.waitForText('(1 more after this)');
  const { screen } = stage.terminal;
  expect(screen).not.toContain('note a');
  expect(screen).toContain('? note b  may it run?');
});
