import { type JsonValue, sessionId, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { withoutStyles } from '../../text/cells/printable.ts';
import { plainTheme } from '../../text/theme/theme.ts';
import type { ApprovalDialog } from '../contract/dialog.ts';
import { dialogText } from '../plain/dialog-text.ts';
import { confirmWaiting } from './approval-choices.ts';
import { choiceListOf } from './choice-list.ts';
import { drawDialog } from './dialog-lines.ts';

// The list of all waiting calls cuts the end of a command, and the user approves more than the list shows.

const ordinary = dialogOf('bash', { command: 'touch a' });

function dialogOf(name: string, input: JsonValue): ApprovalDialog {
  const approval = { session: sessionId('s'), id: toolCallId('c'), name, input, rule: undefined };
  return {
    ...{ type: 'approval', isChild: false, others: 0, preview: undefined },
    approval: { ...approval, isAnswered: false, reason: 'No rule allows it' },
  };
}

/** The rows of the list without marks and spaces, when the call is at the given position. */
function listOf(call: ApprovalDialog, position: number, width: number, isPlain: boolean): string {
  const requests = Array.from({ length: position }, (_, at) =>
    at === position - 1 ? call : ordinary,
  );
  const dialog = confirmWaiting(requests, position);
  const look = { width, theme: plainTheme, showsReasoning: false, isPlain };
  const list = choiceListOf(dialog);
  const { content } = isPlain
    ? dialogText(look, dialog, { list, columns: width }).view
    : drawDialog(look, dialog, list, { room: 40 }).view;
  return content
    .map(withoutStyles)
    .join('')
    .replaceAll(/[│↳␣\s]/g, '');
}

const calls = [
  [(text: string) => dialogOf('bash', { command: `ls ${text}; rm src` }), '; rm src'],
  [(text: string) => dialogOf('read', { path: `/etc/${text}/a.txt` }), '/etc/'],
  [(text: string) => dialogOf(`server__${text}_end`, { a: 1 }), '_end'],
] as const;

test.for([
  [40, false],
  [80, false],
  [2000, true],
] as const)(
  '18.1324: attack: the list of all waiting calls cuts the end of a call (%d columns, plain: %s)',
  ([width, isPlain]) => {
    for (const position of [1, 2, 10, 100])
      for (const [callOf, end] of calls)
        for (let length = width - 36; length <= width; length++) {
          const text = 'x'.repeat(length);
          const shown = listOf(callOf(text), position, width, isPlain);
          for (const part of [text, end]) expect(shown).toContain(part.replaceAll(' ', ''));
        }
  },
);
