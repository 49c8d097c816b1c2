import { Session } from 'node:inspector/promises';
import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { isFull } from '../../../../packages/core/src/testing/runs.ts';
import { randomMarkdown } from '../../../../packages/markdown/src/testing/random-markdown.ts';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { fillSession } from '../testing/sessions.ts';
import { keys, TestChat, type TestChatOptions, toolCalls } from '../testing/test-chat.ts';

const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');
const session = sessionId('long');
const few = 2;
const many = isFull ? 2000 : 500;

/** Advances the clock until a promise settles. */
async function advanceUntilSettled(clock: VirtualClock, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const end = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    clock.advance(10);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await end;
}

/**
 * Two ways to create a chat with a transcript of `count` items: the chat opens them, or it is open
 * while they arrive.
 */
const chatKinds = {
  'that was resumed': async (count: number, options: TestChatOptions) => {
    const clock = new VirtualClock();
    const log = memoryLog({ clock });
    await advanceUntilSettled(clock, fillSession(log, session, count));
    const chat = new TestChat({ ...options, log, clock, session });
    await chat.idle();
    // The chat reads the start of a long session in the background, and the status line says so.
    await chat.waitUntilGone('reading earlier messages');
    await chat.quiet();
    return chat;
  },
  'that grew meanwhile': async (count: number, options: TestChatOptions) => {
    const clock = new VirtualClock();
    const log = memoryLog({ clock });
    const script = ['Good day.', ...(options.script ?? [])];
    const chat = new TestChat({ ...options, script, log, clock, session });
    // The first run creates the session. From then on, the chat follows it.
    await chat.send('Hello');
    await chat.waitForText('Good day.');
    await chat.idle();
    await advanceUntilSettled(clock, fillSession(log, session, count));
    await chat.waitForText(`Message number ${count - 1}.`);
    await chat.idle();
    return chat;
  },
} satisfies Record<string, (count: number, options: TestChatOptions) => Promise<TestChat>>;

const bytesIn = (chat: TestChat) => Buffer.byteLength(chat.terminal.written);

/** Returns the number of bytes that each step writes to the terminal. */
async function bytesOf(chat: TestChat, steps: readonly (() => Promise<void>)[]) {
  const each: number[] = [];
  for (const step of steps) {
    const before = bytesIn(chat);
    await step();
    each.push(bytesIn(chat) - before);
  }
  return each;
}

/** Typing, opening a menu, adding a line, showing the history, and deleting everything. */
const typed = ['h', 'é', '漢', ' ', '/', '\u007f', keys.altEnter, 'x', keys.up, '\u0015', '/', 'm'];

const press = (chat: TestChat, key: string) => async () => {
  chat.type(key);
  await chat.advance(100);
  await chat.advance(0);
};

const frame = (chat: TestChat) => async () => {
  await chat.advance(50);
  await vi.dynamicImportSettled();
  await chat.advance(0);
};

/**
 * Waits until a text is on the screen. Code that loads on demand takes real time, in which the clock
 * stands still. Otherwise two sessions would draw at different times.
 */
async function waitForTextAndCode(chat: TestChat, text: string): Promise<void> {
  while (!chat.terminal.text.includes(text)) {
    await vi.dynamicImportSettled();
    await chat.advance(10);
  }
}

/** After this time, the frames of the spinner and the pieces of the answer have the same phase again. */
const roundMs = 6000;

async function streaming(open: (typeof chatKinds)['that was resumed'], count: number) {
  let draws = 0;
  const label = () => {
    draws++;
    return 'script';
  };
  const chat = await open(count, { script: [words], pauseMs: 50, label });
  // Both sessions start at the same point of the spinner, because more items took more time.
  await chat.advance(roundMs - (chat.clock.now() % roundMs));
  chat.type(`Go${keys.enter}`);
  await waitForTextAndCode(chat, 'word1');
  return { chat, draws: () => draws };
}

describe.each(Object.entries(chatKinds))('in a session of many items %s', (_, open) => {
  test('a key writes as many bytes as in a session of 2 items', async () => {
    const bytesWith = async (count: number) => {
      const chat = await open(count, {});
      return bytesOf(
        chat,
        typed.map((key) => press(chat, key)),
      );
    };
    const [small, large] = [await bytesWith(few), await bytesWith(many)];
    expect(large).toEqual(small);
    expect(Math.max(...large)).toBeLessThan(1000);
    expect(small.filter((bytes) => bytes > 0).length).toBeGreaterThan(9);
  });

  test('a streamed frame writes no more bytes and draws no more often than in a session of 2 items', async () => {
    const frames = 40;
    const bytesWith = async (count: number) => {
      const { chat, draws } = await streaming(open, count);
      const before = draws();
      const bytes = await bytesOf(
        chat,
        Array.from({ length: frames }, () => frame(chat)),
      );
      return { bytes, draws: draws() - before };
    };
    const [small, large] = [await bytesWith(few), await bytesWith(many)];
    expect(large).toEqual(small);
    expect(small.bytes.filter((bytes) => bytes > 0).length).toBeGreaterThan(30);
  });

  test('a key and a streamed frame do no work per item', async () => {
    const callsWith = async (count: number) => {
      const { chat } = await streaming(open, count);
      const calls = (step: () => Promise<void>) =>
        countCallsDuring(async () => {
          for (let turn = 0; turn < 10; turn++) await step();
        });
      return { key: await calls(press(chat, 'k')), frame: await calls(frame(chat)) };
    };
    const [small, large] = [await callsWith(few), await callsWith(many)];
    for (const step of ['key', 'frame'] as const) {
      // Each step is done ten times. One call per item would add ten times `many` calls.
      expect(Math.abs(large[step] - small[step])).toBeLessThan(1000);
      expect(small[step]).toBeGreaterThan(1000);
    }
  });
});

/** Counts the function calls of our code and of the renderer. Unlike time, the count is exact. */
async function countCallsDuring(step: () => Promise<void>): Promise<number> {
  const inspector = new Session();
  inspector.connect();
  await inspector.post('Profiler.enable');
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await step();
  const { result } = await inspector.post('Profiler.takePreciseCoverage');
  await inspector.post('Profiler.stopPreciseCoverage');
  await inspector.post('Profiler.disable');
  inspector.disconnect();
  return result
    .filter(({ url }) => /\/(?:src|node_modules)\//.test(url) && !url.includes('/testing/'))
    .flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0))
    .reduce((sum, calls) => sum + calls, 0);
}

const print = defineTool({
  ...{ name: 'print', description: 'Prints', input: z.object({ lines: z.number() }) },
  async *execute({ lines }) {
    for (let line = 0; line < lines; line++) yield `printed ${line}\n`;
    return Array.from({ length: lines }, (_, line) => `result ${line}`).join('\n');
  },
});

const columns = fc.integer({ min: 4, max: 160 });
const rows = fc.integer({ min: 3, max: 50 });
const paragraphs = fc
  .array(fc.oneof(randomMarkdown, fc.constantFrom(words, words.replaceAll(' ', '\n'))), {
    maxLength: 3,
  })
  .map((texts) => `${texts.join('\n\n')}\n\nEnd.`);

/** A random model: it thinks, calls tools with long output, and answers. */
const scripts = fc.record({
  thought: fc.constantFrom('', words, words.replaceAll(' ', '\n')),
  lines: fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 5 }),
  text: paragraphs,
});

type RandomScript = typeof scripts extends fc.Arbitrary<infer One> ? One : never;

function scriptOf({ thought, lines, text }: RandomScript) {
  const reasoning = { kind: 'reasoning', text: thought, form: 'full' } as const;
  const called = lines.map((count, index) => [`c${index}`, 'print', { lines: count }] as const);
  return [
    ...(called.length === 0 ? [] : [toolCalls(...called)]),
    { content: { parts: [reasoning, text] } },
  ];
}

/** Records for each write how far it moved above the cursor and what it erased. */
function watch({ terminal }: TestChat) {
  const write = terminal.write.bind(terminal);
  const seen = { highest: 0, erased: 0 };
  terminal.write = (data, ...rest) => {
    const text = String(data);
    // The drawn lines start in the cursor's row.
    let row = 0;
    let top = 0;
    let erased = 0;
    for (const [, , count, name] of text.matchAll(moves)) {
      if (name === 'A') row -= Number(count || 1);
      else if (name === undefined || name === 'B' || name === 'E') row += Number(count || 1);
      else if (name === 'K' || name === 'J') erased++;
      top = Math.min(top, row);
    }
    seen.highest = Math.max(seen.highest, -top);
    seen.erased = Math.max(seen.erased, erased);
    return write(data, ...rest);
  };
  return seen;
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what moves a cursor
const moves = /(\u001b\[(\d*)([A-Za-z]))|\n/g;

/**
 * Sequences that clear the screen, the scrollback or everything, or switch to the alternate screen.
 */
const clearing = ['\u001b[2J', '\u001b[3J', '\u001bc', '\u001b[?1049h'];
// biome-ignore lint/suspicious/noControlCharactersInRegex: goes to the first row of the screen
const home = /\u001b\[[\d;]*H/;

async function untilAnswered(chat: TestChat): Promise<void> {
  const isAnswered = async () => {
    const info = await chat.log.info(chat.session);
    return info !== undefined && !info.hasWork && info.lease === undefined;
  };
  while (!(await isAnswered())) await chat.advance(20);
  await chat.advance(200);
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/**
 * Runs a chat from its first message to its end. The terminal has these sizes one after the other.
 */
async function chatIn([first, ...others]: readonly Size[], random: RandomScript, reflows = false) {
  const options = { script: scriptOf(random), tools: [print], pauseMs: 1, prompt: 'Go', reflows };
  const chat = new TestChat({ ...options, ...first });
  const seen = watch(chat);
  for (const { columns: width, rows: height } of others) {
    await chat.advance(40);
    chat.terminal.resize(width, height);
  }
  await untilAnswered(chat);
  await chat.quit();
  const { written, text } = chat.terminal;
  for (const sequence of clearing) expect(written).not.toContain(sequence);
  return { ...seen, written, text };
}

/** A height that is enough for all live content. */
const tall = 150;

describe('in a terminal of any size', () => {
  // Each run executes two complete chats.
  const numRuns = isFull ? 10 : 4;

  test('the live region is lower than the terminal, nothing above it is erased, and only the messages remain', async () => {
    await fc.assert(
      fc.asyncProperty(columns, rows, scripts, async (width, height, random) => {
        const shown = await chatIn([{ columns: width, rows: height }], random);
        expect(shown.highest).toBeLessThan(height);
        expect(shown.erased).toBeLessThanOrEqual(height);
        expect(shown.written).not.toMatch(home);
        const { text } = await chatIn([{ columns: width, rows: tall }], random);
        expect(shown.text).toBe(text);
      }),
      { numRuns },
    );
  });

  test('no printed line is lost when the height changes', async () => {
    const heights = fc.array(rows, { minLength: 2, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(columns, heights, scripts, async (width, several, random) => {
        const sizes = several.map((height) => ({ columns: width, rows: height }));
        const { text } = await chatIn(sizes, random);
        const same = sizes.map((size) => ({ ...size, rows: tall }));
        const expected = (await chatIn(same, random)).text;
        expect(missing(expected.split('\n'), text.split('\n'))).toEqual([]);
      }),
      { numRuns },
    );
  });

  test('nothing is cleared when the size changes', async () => {
    const sizes = fc.array(fc.record({ columns, rows }), { minLength: 2, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(sizes, scripts, fc.boolean(), async (several, random, reflows) => {
        await chatIn(several, random, reflows);
      }),
      { numRuns },
    );
  });
});

/** Returns the lines that are not in `others`, in order. */
function missing(lines: readonly string[], others: readonly string[]): readonly string[] {
  let from = 0;
  return lines.filter((line) => {
    const at = others.indexOf(line, from);
    if (at >= 0) from = at + 1;
    return at < 0;
  });
}
