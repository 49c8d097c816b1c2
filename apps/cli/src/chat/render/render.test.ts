import { type JsonValue, noUsage, partId, sessionId, toolCallId } from '@millrace/core';
import { MarkdownStream } from '@millrace/markdown';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cellWidth } from '../../text/cells/cell-width.ts';
import { colorTheme, plainTheme } from '../../text/theme/theme.ts';
import type { Block } from '../contract/block.ts';
import type { Dialog } from '../contract/dialog.ts';
import type { ToolCard } from '../contract/tool-card.ts';
import { choiceListOf } from '../dialog/choice-list.ts';
import { drawDialog } from '../dialog/dialog-lines.ts';
import { newCard } from '../state/tool-card.ts';
import { emptyStats } from '../state/usage-stats.ts';
import { finishedCall, liveCall } from './call-lines.ts';
import type { Look } from './look.ts';
import { Printer } from './printer.ts';
import { statusLine, statusLines } from './status-line.ts';

const look = (width: number, theme = plainTheme): Look => ({ width, theme, showsReasoning: true });
const width = fc.integer({ min: 4, max: 120 });
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc
    .array(
      fc.constantFrom('word', '你好', '\n', '\t', '\u001b[31m', '\u001b]0;x\u0007', '👩‍👩‍👧', ' '),
    )
    .map((all) => all.join(' ')),
);

const card = (name: string, changes: Partial<ToolCard>): ToolCard => ({
  ...newCard(toolCallId('c'), name, 'done'),
  ...changes,
});
const result = (said: string, value?: JsonValue) => ({ text: said, length: said.length, value });

const passages = (markdown: string) => {
  const stream = new MarkdownStream();
  stream.push(markdown);
  return stream.end();
};

const block: fc.Arbitrary<Block> = fc.oneof(
  text.map((said): Block => ({ type: 'message', text: said, author: undefined })),
  text.map(
    (said): Block => ({ type: 'answer', partId: partId(1, 1, 'a'), passages: passages(said) }),
  ),
  text.map((said): Block => ({ type: 'thought', text: said, form: 'full', tookMs: 1200 })),
  text.map((said): Block => ({ type: 'note', tone: 'bad', text: said })),
  fc.tuple(text, text).map((row): Block => ({ type: 'rows', rows: [row] })),
  fc.tuple(fc.constantFrom('bash', 'edit', 'write', 'read', 'other'), text).map(
    ([name, said]): Block => ({
      type: 'call',
      card: card(name, { summary: said, result: result(said) }),
    }),
  ),
);

test('every printed line fits the width and contains no control sequences', () => {
  fc.assert(
    fc.property(fc.array(block, { maxLength: 4 }), width, (blocks, columns) => {
      for (const line of new Printer().print(look(columns), blocks)) {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
        expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
        expect(cellWidth(line)).toBeLessThanOrEqual(columns);
      }
    }),
  );
});

test('a dialog fits its room, and the choices have priority', () => {
  const approval = {
    session: sessionId('s'),
    id: toolCallId('c'),
    name: 'edit',
    isAnswered: false,
  };
  const input = { path: 'a.ts', edits: [{ old_text: 'a\nb\nc', new_text: 'd\ne' }] };
  const rule = '{"tool":"edit","decision":"allow"}';
  const ask: Dialog = {
    ...{ type: 'approval', isChild: false, others: 2 },
    approval: { ...approval, input, reason: 'because', rule },
  };
  fc.assert(
    fc.property(width, fc.integer({ min: 1, max: 40 }), (columns, room) => {
      const lines = drawDialog(look(columns), ask, choiceListOf(ask), { room }).lines;
      expect(lines.length).toBeLessThanOrEqual(room);
      for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(columns);
      if (room >= 8 && columns > 40) expect(lines.join('\n')).toContain('No (n)');
    }),
  );
  const lines = drawDialog(look(60), ask, choiceListOf(ask), { room: 40 }).lines;
  expect(lines.slice(0, 3)).toEqual(['? Edit a.ts?  (2 more after this)', '  because', '  │ - a']);
});

test.each([
  ['edit', { path: 'a.ts', edits: [] }, 'Edit a.ts?'],
  ['read', { path: '/etc/x' }, 'Read /etc/x?'],
  ['bash', { command: 'make' }, 'Run `make`?'],
  ['bash', {}, 'Allow bash?'],
  ['note', { path: 'a.ts' }, 'Allow note?'],
  ['toString', { path: 'a.ts' }, 'Allow toString?'],
  ['write', undefined, 'Allow write?'],
])('the title for %s with %o is: %s%s', (name, input, title) => {
  const about = {
    session: sessionId('s'),
    id: toolCallId('c'),
    reason: undefined,
    rule: undefined,
  };
  const approval = { ...about, name, input, isAnswered: false };
  const ask: Dialog = { type: 'approval', isChild: false, others: 0, approval };
  expect(drawDialog(look(60), ask, choiceListOf(ask), { room: 40 }).lines[0]).toBe(`? ${title}`);
});

describe('a link', () => {
  const link = `http://127.0.0.1:40000/app/tasks/${'a'.repeat(24)}#token=mr_${'b'.repeat(43)}`;
  const code = ['█▀▀ ▄█'.repeat(8), '▀▀▀▀▀▀'.repeat(8)];
  const printed = (columns: number, isPlain = false) =>
    new Printer().print({ ...look(columns), isPlain }, [{ type: 'link', link, code }]);

  test('is one line at each width, so that it can be copied', () => {
    for (const columns of [20, 40, 80, 200]) expect(printed(columns)[1]).toBe(link);
  });

  test('has its code below it only if no line of the code is wrapped', () => {
    expect(printed(48)).toEqual(['', link, '', ...code, '']);
    expect(printed(47)).toEqual(['', link, 'A window of 48 columns shows a code to scan.']);
    expect(printed(48, true)).toEqual(['', link]);
  });
});

describe('a call', () => {
  const edited = result(
    'Edited a.ts: 1 line added, 1 line removed\n@@ -1,2 +1,2 @@\n-old\n+new\n same',
    { added: 1, removed: 1 },
  );

  test('that edited a file shows the diff in colours', () => {
    const lines = finishedCall(
      look(60),
      card('edit', { summary: 'Edit a.ts (1 change)', result: edited }),
    );
    expect(lines[0]).toBe('✓ Edit a.ts (1 change)  +1 −1');
    expect(lines.slice(1)).toEqual(['  │ 1 - old', '  │ 1 + new', '  │ 2   same']);
    const painted = finishedCall(
      look(60, colorTheme),
      card('edit', { summary: 'Edit', result: edited }),
    );
    expect(painted.join('\n')).toContain('\u001b[32m');
    expect(painted.join('\n')).toContain('\u001b[31m');
  });

  test('that wrote a file shows its new lines', () => {
    const input = { path: 'a.ts', content: 'one\ntwo\n' };
    const lines = finishedCall(
      look(60),
      card('write', { summary: 'Write a.ts', input, result: result('Made a.ts') }),
    );
    expect(lines.join('\n')).toMatch(/\+ one\n.*\+ two/);
  });

  test('with long output shows the number of hidden lines; a command shows its end', () => {
    const much = Array.from({ length: 30 }, (_, line) => `line ${line}`).join('\n');
    const lines = finishedCall(look(60), card('bash', { summary: 'make', result: result(much) }));
    expect(lines[0]).toBe('✓ $ make');
    expect(lines[1]).toContain('… 24 lines above');
    expect(lines.at(-1)).toContain('line 29');
    const other = finishedCall(look(60), card('other', { summary: 'x', result: result(much) }));
    expect(other[1]).toContain('line 0');
    expect(other.at(-1)).toContain('… 24 more lines');
  });

  test('that was stopped is marked as stopped', () => {
    const [line] = finishedCall(look(60), card('bash', { summary: 'make', phase: 'stopped' }));
    expect(line).toBe('■ $ make  stopped');
  });

  test('that failed shows the error', () => {
    const failed = card('read', {
      phase: 'failed',
      summary: 'Read x',
      result: result('There is no x'),
    });
    expect(finishedCall(look(60), failed)).toEqual(['✗ Read x  failed', '  │ There is no x']);
  });

  test('that was refused shows the whole reason in a narrow window', () => {
    const text = 'It was not allowed: A hook blocked the call: That file is closed';
    const refused = card('read', { phase: 'rejected', summary: 'Read x', result: result(text) });
    expect(finishedCall(look(40), refused)).toEqual([
      '✗ Read x  not run',
      '  │ It was not allowed: A hook blocked',
      '  │ the call: That file is closed',
    ]);
  });

  test('that is being written shows its subject as soon as it is known', () => {
    const draft = { head: '{"path":"src/a.ts","content":"one', tail: '\\ntwo\\nthree', length: 45 };
    const lines = liveCall(look(60), card('write', { phase: 'writing', draft }), {
      now: 0,
      frame: '*',
    });
    expect(lines).toEqual(['* Write src/a.ts', '  │ ', '  │ two', '  │ three']);
  });

  test.each([
    ['write', '{"pa', ['* Write']],
    ['write', '{"path":"a.ts","content":"one\\ntwo', ['* Write a.ts', '  │ one', '  │ two']],
    [
      'edit',
      '{"path":"a.ts","edits":[{"old_text":"a","new_text":"b\\nc',
      ['* Edit a.ts', '  │ b', '  │ c'],
    ],
    ['bash', '{"command":"make', ['* $ make']],
    ['grep', '{"pattern":"x","path":"src', ['* Search for x', '  │ src']],
    ['constructor', '{"a":"x', ['* constructor x']],
  ])('that is being written shows the end of what is: %s %s', (name, head, lines) => {
    const draft = { head, tail: '', length: head.length };
    const moment = { now: 0, frame: '*' };
    expect(liveCall(look(60), card(name, { phase: 'writing', draft }), moment)).toEqual(lines);
  });

  test('that runs shows its last output lines and its duration', () => {
    const output = {
      text: Array.from({ length: 9 }, (_, line) => `line ${line}\n`).join(''),
      droppedLines: 0,
    };
    const running = card('bash', { phase: 'running', summary: 'make', startedAt: 1000, output });
    const lines = liveCall(look(60), running, { now: 4000, frame: '*' });
    expect(lines[0]).toBe('* $ make  3.0 s');
    expect(lines[1]).toContain('… 3 lines above');
    expect(lines).toHaveLength(8);
  });

  test('23.12: that runs shows its output without colors and replaced progress', () => {
    const text =
      '\u001b[31mred\u001b[0m\r\n\u001b]0;title\u0007 1%\r\u001b[K99%\r\n\u001b[1mbold\u001b[2';
    const output = { text, droppedLines: 0 };
    const running = card('bash', { phase: 'running', summary: 'make', output });
    const [, ...lines] = liveCall(look(60), running, { now: 0, frame: '*' });
    expect(lines).toEqual(['  │ red', '  │ 99%', '  │ bold']);
  });
});

test('the status line shows as many values as fit', () => {
  const usage = {
    ...noUsage,
    input: 12_000,
    output: 345,
    costs: [{ amount: '0.02', currency: 'USD' }],
  };
  const stats = {
    ...emptyStats,
    before: usage,
    contextTokens: 50_000,
    firstTokenMs: 800,
    tokensPerSecond: 54.3,
  };
  const status = {
    chosen: { label: 'big/model', contextTokens: 200_000 },
    stats,
    holder: undefined,
    mode: 'ask',
  } as const;
  expect(statusLine(look(120), status)).toBe(
    'asks first · big/model · context 25% of 200k · $0.020 · 12k in, 345 out · first token 0.8 s · 54 tokens/s',
  );
  const here = { ...status, place: 'orders (main)', texts: ['sunny'] };
  expect(statusLine(look(80), here)).toBe(
    'asks first · big/model · sunny · orders (main) · context 25% of 200k · $0.020',
  );
  const cached = { ...stats, before: { ...usage, cacheRead: 9000 } };
  expect(statusLine(look(90), { ...here, stats: cached })).toBe(
    'asks first · big/model · sunny · orders (main) · context 25% of 200k · cache 75% · $0.020',
  );
  expect(statusLines(look(40), here, 15)).toEqual([
    'asks first · big/model · sunny',
    'orders (main) · context 25% of 200k',
  ]);
  expect(statusLines(look(40), here, 8)).toEqual(['asks first · big/model · orders (main)']);
  const quick = { ...status, stats: { ...stats, firstTokenMs: 3 } };
  expect(statusLine(look(120), quick)).toContain('first token < 0.1 s');
  expect(statusLine(look(36), status)).toBe('asks first · big/model · $0.020');
  expect(statusLine(look(5), status)).toBe('asks…');
  expect(statusLine(look(80), { ...status, holder: 'another terminal' })).toContain(
    'driven by another terminal',
  );
});
