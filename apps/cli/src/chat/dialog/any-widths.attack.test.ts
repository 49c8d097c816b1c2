import { defineTool } from '@millrace/agent';
import { type Part, sessionId, toolCallId } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runs } from '../../../../../packages/core/src/testing/runs.ts';
import { keys, TestChat, toolCalls } from '../../testing/test-chat.ts';
import { revealHidden } from '../../text/cells/reveal-hidden.ts';
import { plainTheme } from '../../text/theme/theme.ts';
import type { ApprovalDialog } from '../contract/dialog.ts';
import { choiceListOf } from './choice-list.ts';
import { drawDialog } from './dialog-lines.ts';

// Terminals disagree about the width of many characters. In each of them, every line of a question stays visible.

/** Characters with the smallest and the largest width that terminals give them. */
const disagreed: readonly (readonly [name: string, text: string, least: number, most: number])[] = [
  ['letters that are wide in East Asian fonts', 'é ±§ Ж', 1, 2],
  ['punctuation and lines', '…“”—·│→', 1, 2],
  ['an emoji', '👍', 1, 2],
  ['an emoji with a selector', '❤\ufe0f☎\ufe0f', 1, 2],
  ['symbols of new versions of Unicode', '☰\u{1d300}\u{1fae8}', 1, 2],
  ['joined Indian consonants', '\u0915\u094d', 0, 1],
  ['vowels of Thai', '\u0e01\u0e33', 1, 1],
  ['letters of Hangul', '\u1112\u1161\u11ab', 0, 2],
  ['a letter with marks', 'e\u0301\u0323', 0, 1],
  ['regional indicators', '🇩🇪', 1, 2],
  ['joined emoji', '👩\u200d👩\u200d👧', 0, 2],
  ['skin tones', '👍🏽', 1, 2],
  ['invisible characters', '\u00ad\u200b\ufe0e\u2060', 0, 1],
  ['Chinese', '漢字', 2, 2],
  ['halfwidth forms', 'ｶﾞ￩', 1, 2],
  ['unassigned', '\u0378\u{1fadb}\u{e0fff}', 0, 2],
];

const widths = new Map(
  disagreed.flatMap(([, text, ...range]) => [...text].map((one) => [one, range] as const)),
);

/** A terminal that gives each character that terminals disagree about its smallest or its largest width. */
function modelTerminal(drawsLargest: boolean): (character: string) => number {
  return (character) => {
    if (/^[ -~]$/.test(character)) return 1;
    const [least, most] = widths.get(character) ?? [1, 2];
    return drawsLargest ? most : least;
  };
}

function dialogOf(command: string): ApprovalDialog {
  const approval = {
    session: sessionId('s'),
    id: toolCallId('c'),
    name: 'bash',
    input: { command },
  };
  return {
    ...{ type: 'approval', isChild: false, others: 0, preview: undefined },
    approval: { ...approval, isAnswered: false, reason: undefined, rule: undefined },
  };
}

const piece = fc.constantFrom(' ', '\n', 'rm', ...disagreed.map(([, text]) => text));

test('18.1060: attack: a line of a question is wider than the terminal', () => {
  const widest = modelTerminal(true);
  fc.assert(
    fc.property(
      ...[fc.array(piece, { maxLength: 60 }), fc.integer({ min: 8, max: 40 })],
      (pieces, width) => {
        const look = { width, theme: plainTheme, showsReasoning: false };
        const dialog = dialogOf(`a${pieces.join('')}Z`);
        const { lines } = drawDialog(look, dialog, choiceListOf(dialog), { room: 40 });
        for (const line of lines)
          expect([...line].reduce((sum, one) => sum + widest(one), 0)).toBeLessThanOrEqual(width);
      },
    ),
    { numRuns: runs(500) },
  );
});

/** Returns the rows of the question on the screen. */
const questionIn = (screen: string) => screen.slice(screen.lastIndexOf('\n? ')).trimEnd();

const bash = defineTool({
  ...{ name: 'bash', description: 'Runs', input: z.object({ command: z.string() }) },
  execute: async () => 'ran',
});

const everyText = disagreed.map(([, text]) => text.repeat(8)).join('');

/** Returns the rows of a question after some keys, below an answer that the terminal draws with other widths. */
async function shownQuestion(widthOf?: (character: string) => number): Promise<string> {
  const call = toolCalls(['c1', 'bash', { command: `echo ${everyText}; touch ran` }]);
  const said: Part = { kind: 'text', text: `${everyText}\n\n${everyText} then` };
  const { content } = call as { readonly content: { readonly parts: readonly Part[] } };
  const script = [{ content: { parts: [said, ...content.parts] } }, 'The end.'];
  const setting = { widthOf, columns: 40, rows: 100 };
  const chat = new TestChat({ script, tools: [bash], approve: () => 'ask', ...setting });
  await chat.send('Go');
  await chat.waitForText('? Run');
  await chat.quiet();
  for (const key of ['x', ' ', 'n', keys.down, keys.up]) {
    chat.type(key);
    await chat.advance(200);
  }
  await chat.quiet();
  return questionIn(chat.terminal.screen);
}

test('18.1061: attack: characters of other widths hide or overwrite lines of a question', async () => {
  const compact = (screen: string) => screen.replaceAll(/[\s│↳␣]/g, '');
  const assumed = await shownQuestion();
  expect(compact(assumed)).toContain(compact(revealHidden(`$ echo ${everyText}; touch ran`)));
  expect(await shownQuestion(modelTerminal(true))).toBe(assumed);
  const least = modelTerminal(false);
  const drawn = [...assumed].filter((one) => one === '\n' || least(one) > 0).join('');
  // The screen has no spaces at the end of a row. A row can consist only of characters without width.
  expect(await shownQuestion(least)).toBe(drawn.replace(/ +$/gm, ''));
});
