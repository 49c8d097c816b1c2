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
import { colorTheme, dumbTheme, plainTheme } from '../../text/theme/theme.ts';
import type { ApprovalDialog } from '../contract/dialog.ts';
import { choiceListOf } from './choice-list.ts';
import { drawDialog } from './dialog-lines.ts';

// A line break of a command must not look like a line that the window breaks. Otherwise a command on a line of its own
// looks like the end of a comment.

const comment = 'npm test # when it fails, then read the log first, and do not just run';
const [hidden, harmless] = [`${comment}\nrm -rf build`, `${comment} rm -rf build`];

const reason = 'No rule allows `npm test`';

test.for([false, true])(
  '18.1230: attack: a second line of a command looks like the end of a comment (plain: %s)',
  async (plain) => {
    const screen = await screenAbout(hidden, { plain, reason });
    expect(screen).toContain(
      plain ? '\n  line 2 of 2: rm -rf build' : 'just run\n  │ rm -rf build',
    );
    const other = await screenAbout(harmless, { plain, reason });
    if (plain) expect(other).not.toContain('line 2');
    else expect(other).toMatch(/\n {2}↳ .*rf build/);
  },
);

function dialogOf(name: string, input: JsonValue, reason?: string): ApprovalDialog {
  const approval = { session: sessionId('s'), id: toolCallId('c'), name, input, rule: undefined };
  return {
    ...{ type: 'approval', isChild: false, others: 0, preview: undefined },
    approval: { ...approval, isAnswered: false, reason },
  };
}

const piece = fc.constantFrom(
  ...[' ', '  ', '\n', '\t', '\r', '│', '  │ ', '↳ ', '\\ ', '  \\ ', '|', '  | ', '#', 'rm'],
  ...['漢', 'é', '\u2028', '\u0085', '\u200b', 'x'.repeat(16), 'y'.repeat(36)],
);

test('18.1232: attack: a setting of a project looks like a sentence of the trust question', async () => {
  for (let columns = 20; columns <= 120; columns++) {
    const stdout = Object.assign(new CapturedOutput({ isTTY: true }), { columns, rows: 400 });
    const stdin = new PassThrough();
    const { signal } = new AbortController();
    const content = `{"a":\n"${'x '.repeat(50)}Any project can contain such a file.\nTrust nothing"}`;
    const untrusted = { path: '/p/millrace.json', parts: [], scripts: [], content };
    const asked = askForTrust({ untrusted }, { stdin, stdout, signal, clock: new VirtualClock() });
    stdin.end();
    await asked;
    const own = stdout.text.split('\n').filter((row) => !/^ {2}[│↳] /.test(row));
    expect(own.join(' ').trim()).toBe(
      '/p/millrace.json wants to: These are the settings: Any project can contain such a file. You are asked again when it changes. Trust all of it? [y/N]',
    );
  }
});

test('18.1231: attack: a window of any width hides where a line of a command starts', () => {
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }),
      fc.oneof(fc.constantFrom(20, 40, 80, 120), fc.integer({ min: 8, max: 120 })),
      fc.constantFrom(plainTheme, colorTheme, dumbTheme),
      (pieces, width, theme) => {
        const command = `a\n${pieces.join('')}Z`;
        const dialog = dialogOf('bash', { command }, 'No rule\n  │ allows it');
        const look = { width, theme, showsReasoning: false };
        const { content } = drawDialog(look, dialog, choiceListOf(dialog), { room: 400 }).view;
        const mark = `  ${theme.symbols.wrapped} `;
        const rows = content.map(withoutStyles);
        const lines: string[] = [];
        for (const row of rows.slice(rows.findIndex((one) => one.startsWith('  │ $')))) {
          if (row.startsWith(mark)) lines.push(`${lines.pop()}${row.slice(4)}`);
          else lines.push(row.startsWith('  │ ') ? row.slice(4) : `?${row}`);
        }
        const compact = (line: string) => line.replaceAll(/[ ␣]/g, '');
        const expected = revealHidden(`$ ${command}`).split('\n');
        expect(lines.map(compact)).toEqual(expected.map(compact));
      },
    ),
    { numRuns: runs(500) },
  );
});
