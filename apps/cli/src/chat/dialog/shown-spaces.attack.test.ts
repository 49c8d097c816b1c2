import { PassThrough } from 'node:stream';
import { type JsonValue, sessionId, toolCallId } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../../packages/core/src/testing/runs.ts';
import { VirtualClock } from '../../../../../packages/providers/src/testing/virtual-clock.ts';
import { askForTrust } from '../../command/ask-user.ts';
import { CapturedOutput } from '../../testing/output-streams.ts';
import { screenAbout } from '../../testing/test-chat.ts';
import { withoutStyles } from '../../text/cells/printable.ts';
import { revealHidden } from '../../text/cells/reveal-hidden.ts';
import { dumbTheme, plainTheme } from '../../text/theme/theme.ts';
import type { ApprovalDialog } from '../contract/dialog.ts';
import { choiceListOf } from './choice-list.ts';
import { drawDialog } from './dialog-lines.ts';

// A row that ends at a space must not look like a row that the window cuts inside of a word. Otherwise two arguments
// look like one path.

const pathOf = (length: number) =>
  `./build/${'cache-of-the-compiler/'.repeat(9)}`.slice(0, length - 1).concat('/');

// The path is as long as a row, so that the rest of the command starts at the next row with and without a space.
const reason = 'This can delete files';

test.for([
  [false, [74, 75, 76]],
  [true, [77, 78, 79, 80]],
] as const)(
  '18.1320: attack: two arguments of a command look like one path (plain: %s)',
  async ([plain, lengths]) => {
    for (const length of lengths) {
      const path = pathOf(length);
      const [two, one] = await Promise.all(
        [`rm -rf ${path} src`, `rm -rf ${path}src`].map((command) =>
          screenAbout(command, { plain, reason }),
        ),
      );
      expect(two).not.toBe(one);
    }
  },
);

function dialogOf(name: string, input: JsonValue, reason: string): ApprovalDialog {
  const approval = { session: sessionId('s'), id: toolCallId('c'), name, input, rule: undefined };
  return {
    ...{ type: 'approval', isChild: false, others: 0, preview: undefined },
    approval: { ...approval, isAnswered: false, reason },
  };
}

const piece = fc.constantFrom(
  ...[
    ' ',
    '  ',
    '        ',
    '\n',
    '漢',
    '缓存',
    'é',
    '👍',
    '·',
    '│',
    '↳ ',
    '"',
    '\\',
    '‹1 spaces›',
  ],
  ...['rm', 'a/', 'x'.repeat(7), 'y'.repeat(19), 'z'.repeat(36)],
);

/** Joins the rows of each line. A row shows a space at a break at its start. */
function linesIn(rows: readonly string[], first: string, mark: string): readonly string[] {
  const lines: string[] = [];
  for (const row of rows) {
    const isFirst = !row.startsWith(mark);
    const text = row.slice(isFirst ? first.length : mark.length);
    const exact = text.replace(/^␣+/, (shown) => ' '.repeat(shown.length));
    lines.push(isFirst ? exact : lines.pop() + exact);
  }
  return lines;
}

test('18.1321: attack: a window of any width hides a space of a question', () => {
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }),
      fc.oneof(fc.constantFrom(20, 40, 80, 120), fc.integer({ min: 16, max: 120 })),
      fc.constantFrom(plainTheme, dumbTheme),
      fc.constantFrom('bash', 'j'),
      (pieces, width, theme, name) => {
        const text = `a\n${pieces.join('')}Z`;
        const input = name === 'bash' ? { command: text } : { text };
        const dialog = dialogOf(name, input, `No rule allows ${text}`);
        const look = { width, theme, showsReasoning: false };
        const { content } = drawDialog(look, dialog, choiceListOf(dialog), { room: 400 }).view;
        const rows = content.map(withoutStyles);
        const start = rows.findIndex((row) => row.startsWith('  │ '));
        const mark = `  ${theme.symbols.wrapped} `;
        const shown = name === 'bash' ? `$ ${text}` : JSON.stringify(input, null, 2);
        expect(linesIn(rows.slice(start), '  │ ', mark)).toEqual(revealHidden(shown).split('\n'));
        const reason = revealHidden(`No rule allows ${text}`).replaceAll('\n', ' ⏎ ');
        expect(linesIn(rows.slice(0, start), '  ', mark)).toEqual([reason]);
      },
    ),
    { numRuns: runs(500) },
  );
});

test('18.1322: attack: a picture of a space in a text looks like a space at a break', async () => {
  const path = pathOf(70);
  const [space, picture] = [`rm -rf ${path} src`, `rm -rf ${path}␣src`];
  expect(await screenAbout(picture, { plain: false, reason })).not.toBe(
    await screenAbout(space, { plain: false, reason }),
  );
});

async function trustScreen(content: string, columns: number): Promise<string> {
  const stdout = Object.assign(new CapturedOutput({ isTTY: true }), { columns, rows: 400 });
  const stdin = new PassThrough();
  const { signal } = new AbortController();
  const untrusted = { path: '/p/millrace.json', parts: [], scripts: [], content };
  const asked = askForTrust({ untrusted }, { stdin, stdout, signal, clock: new VirtualClock() });
  stdin.end();
  await asked;
  return stdout.text;
}

test('18.1323: attack: two arguments of a program in a trust question look like one path', async () => {
  const content = `{\n  "command": "rm -rf ${pathOf(70)} src"\n}`;
  for (let columns = 20; columns <= 120; columns++) {
    const rows = (await trustScreen(content, columns)).split('\n');
    const shown = rows.filter((row) => /^ {2}[│↳] /.test(row));
    expect(linesIn(shown, '  │ ', '  ↳ ')).toEqual(content.split('\n'));
  }
});
