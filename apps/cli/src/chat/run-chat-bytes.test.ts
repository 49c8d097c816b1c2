import { Session } from 'node:inspector/promises';
import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { randomMarkdown } from '../testing/random-markdown.ts';
import { fillSession } from '../testing/sessions.ts';
import { keys, TestChat, type TestChatOptions, toolCalls } from '../testing/test-chat.ts';

const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');
const session = sessionId('long');
const few = 2;
const many = 2000;

/** Advances the clock until a promise settles. */
async function whileTimePasses(clock: VirtualClock, work: Promise<unknown>): Promise<void> {
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

/** A chat with a transcript of `count` items: opened with them, or open while they arrived. */
const ways = {
  'that was resumed': async (count: number, options: TestChatOptions) => {
    const clock = new VirtualClock();
    const log = memoryLog({ clock });
    await whileTimePasses(clock, fillSession(log, session, count));
    const stage = new TestChat({ ...options, log, clock, session });
    await stage.idle();
    return stage;
  },
  'that grew meanwhile': async (count: number, options: TestChatOptions) => {
    const clock = new VirtualClock();
    const log = memoryLog({ clock });
    const script = ['Good day.', ...(options.script ?? [])];
    const stage = new TestChat({ ...options, script, log, clock, session });
    // A session exists, and is followed, from its first run on.
    await stage.send('Hello');
    await stage.waitForText('Good day.');
    await stage.idle();
    await whileTimePasses(clock, fillSession(log, session, count));
    await stage.waitForText(`What was said as number ${count - 1}.`);
    await stage.idle();
    return stage;
  },
} satisfies Record<string, (count: number, options: TestChatOptions) => Promise<TestChat>>;

const bytesIn = (stage: TestChat) => Buffer.byteLength(stage.terminal.written);

/** Returns the number of bytes that each step writes to the terminal. */
async function bytesOf(stage: TestChat, steps: readonly (() => Promise<void>)[]) {
  const each: number[] = [];
  for (const step of steps) {
    const before = bytesIn(stage);
    await step();
    each.push(bytesIn(stage) - before);
  }
  return each;
}

/** Typing, opening a menu, adding a line, showing the history, and deleting everything. */
const typed = ['h', 'é', '漢', ' ', '/', '\u007f', keys.altEnter, 'x', keys.up, '\u0015', '/', 'm'];

const press = (stage: TestChat, key: string) => async () => {
  stage.type(key);
  await stage.advance(100);
  await stage.advance(0);
};

const frame = (stage: TestChat) => async () => {
  await stage.advance(50);
  await stage.advance(0);
};

async function streaming(open: (typeof ways)['that was resumed'], count: number) {
  let draws = 0;
  const label = () => {
    draws++;
    return 'script';
  };
  const stage = await open(count, { script: [words], pauseMs: 50, label });
  stage.type(`Go${keys.enter}`);
  await stage.waitForText('word1');
  return { stage, draws: () => draws };
}

describe.each(Object.entries(ways))('in a session of 2,000 items %s', (_, open) => {
  test('a key writes the bytes that it writes in one of 2', async () => {
    const bytesWith = async (count: number) => {
      const stage = await open(count, {});
      return bytesOf(
        stage,
        typed.map((key) => press(stage, key)),
      );
    };
    const [small, large] = [await bytesWith(few), await bytesWith(many)];
    expect(large).toEqual(small);
    expect(Math.max(...large)).toBeLessThan(1000);
    expect(small.filter((bytes) => bytes > 0).length).toBeGreaterThan(9);
  });

  test('a streamed frame writes no more bytes than in one of 2, and draws no more often', async () => {
    const frames = 40;
    const bytesWith = async (count: number) => {
      const { stage, draws } = await streaming(open, count);
      const before = draws();
      const bytes = await bytesOf(
        stage,
        Array.from({ length: frames }, () => frame(stage)),
      );
      return { bytes, draws: draws() - before };
    };
    const [small, large] = [await bytesWith(few), await bytesWith(many)];
    expect(large).toEqual(small);
    expect(small.bytes.filter((bytes) => bytes > 0).length).toBeGreaterThan(30);
  });

  test('of a key and a streamed frame nothing is done once for each item', async () => {
    const callsWith = async (count: number) => {
      const { stage } = await streaming(open, count);
      const calls = (step: () => Promise<void>) =>
        callsDuring(async () => {
          for (let turn = 0; turn < 10; turn++) await step();
        });
      return { key: await calls(press(stage, 'k')), frame: await calls(frame(stage)) };
    };
    const [small, large] = [await callsWith(few), await callsWith(many)];
    for (const step of ['key', 'frame'] as const) {
      expect(Math.abs(large[step] - small[step])).toBeLessThan(many / 2);
      expect(small[step]).toBeGreaterThan(1000);
    }
  });
});

/** Counts the function calls of our code and of the renderer. Unlike time, the count is exact. */
async function callsDuring(step: () => Promise<void>): Promise<number> {
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

type Told = typeof scripts extends fc.Arbitrary<infer One> ? One : never;

function scriptOf({ thought, lines, text }: Told) {
  const reasoning = { kind: 'reasoning', text: thought, form: 'full' } as const;
  const called = lines.map((count, index) => [`c${index}`, 'print', { lines: count }] as const);
  return [
    ...(called.length === 0 ? [] : [toolCalls(...called)]),
    { content: { parts: [reasoning, text] } },
  ];
}

/** Records for each write how far above the cursor it went and what it erased. */
function watch({ terminal }: TestChat) {
  const write = terminal.write.bind(terminal);
  const seen = { highest: 0, erased: 0 };
  terminal.write = (data, ...rest) => {
    const text = String(data);
    // The drawn lines start at the cursor's row and go down.
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

/** Clears the screen, the scrollback or everything, or switches to the alternate screen. */
const clearing = ['\u001b[2J', '\u001b[3J', '\u001bc', '\u001b[?1049h'];
// biome-ignore lint/suspicious/noControlCharactersInRegex: goes to the first row of the screen
const home = /\u001b\[[\d;]*H/;

async function untilAnswered(stage: TestChat): Promise<void> {
  const isAnswered = async () => {
    const info = await stage.log.info(stage.session);
    return info !== undefined && !info.hasWork && info.lease === undefined;
  };
  while (!(await isAnswered())) await stage.advance(20);
  await stage.advance(200);
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/**
 * Runs a chat from its first message to its end, in a terminal with these sizes one after the
 * other.
 */
async function chatIn([first, ...others]: readonly Size[], told: Told, reflows = false) {
  const options = { script: scriptOf(told), tools: [print], pauseMs: 1, prompt: 'Go', reflows };
  const stage = new TestChat({ ...options, ...first });
  const seen = watch(stage);
  for (const { columns: width, rows: height } of others) {
    await stage.advance(40);
    stage.terminal.resize(width, height);
  }
  await untilAnswered(stage);
  await stage.quit();
  const { written, text } = stage.terminal;
  for (const sequence of clearing) expect(written).not.toContain(sequence);
  return { ...seen, written, text };
}

/** High enough for all live content. */
const tall = 150;

describe('in a terminal of any size', () => {
  const numRuns = 10;

  test('the live region is lower, nothing above it is erased, and what is left is what was said', async () => {
    await fc.assert(
      fc.asyncProperty(columns, rows, scripts, async (width, height, told) => {
        const shown = await chatIn([{ columns: width, rows: height }], told);
        expect(shown.highest).toBeLessThan(height);
        expect(shown.erased).toBeLessThanOrEqual(height);
        expect(shown.written).not.toMatch(home);
        const { text } = await chatIn([{ columns: width, rows: tall }], told);
        expect(shown.text).toBe(text);
      }),
      { numRuns },
    );
  });

  test('that becomes higher and lower, nothing of what was said is lost', async () => {
    const heights = fc.array(rows, { minLength: 2, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(columns, heights, scripts, async (width, several, told) => {
        const sizes = several.map((height) => ({ columns: width, rows: height }));
        const { text } = await chatIn(sizes, told);
        const same = sizes.map((size) => ({ ...size, rows: tall }));
        const said = (await chatIn(same, told)).text;
        expect(missing(said.split('\n'), text.split('\n'))).toEqual([]);
      }),
      { numRuns },
    );
  });

  test('that changes in any way, nothing is cleared', async () => {
    const sizes = fc.array(fc.record({ columns, rows }), { minLength: 2, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(sizes, scripts, fc.boolean(), async (several, told, reflows) => {
        await chatIn(several, told, reflows);
      }),
      { numRuns },
    );
  });
});

/** Returns the lines that are not among the others, in order. */
function missing(lines: readonly string[], others: readonly string[]): readonly string[] {
  let from = 0;
  return lines.filter((line) => {
    const at = others.indexOf(line, from);
    if (at >= 0) from = at + 1;
    return at < 0;
  });
}
