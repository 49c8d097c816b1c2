import type { SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk';
import { type JsonValue, toolCallId } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../packages/core/src/testing/runs.ts';
import { randomMarkdown } from '../../../../packages/markdown/src/testing/random-markdown.ts';
import type { PendingApproval } from '../chat/contract/dialog.ts';
import { revealHidden } from '../text/cells/reveal-hidden.ts';
import { markdownToAnsi } from '../text/markdown/markdown-renderer.ts';
import { plainTheme } from '../text/theme/theme.ts';
import { describeCall } from './call-view.ts';
import { PermissionRequests } from './permission-requests.ts';
import { SessionUpdates } from './session-updates.ts';

// An editor draws the texts of a call as Markdown, and the output of a command in a terminal of its own.

const id = toolCallId('c');

/** Returns the updates of a command that prints these pieces. The editor shows it in a terminal, or as text. */
function outputOf(pieces: readonly string[], hasTerminals: boolean): readonly SessionUpdate[] {
  const updates = new SessionUpdates({ cwd: '/folder', hasTerminals, isOwn: () => false });
  const state = { items: new Map([['i', 'assistant']]), tasks: [] } as never;
  const started = { type: 'tool_call_started', toolCallId: id, name: 'bash', itemId: 'i' };
  updates.of(started as never, state);
  const text = pieces.join('');
  const part = { kind: 'tool_result', toolCallId: id, name: 'bash', text };
  const finished = { type: 'part_finished', itemId: 'r', partId: 'p', part };
  return [
    ...pieces.flatMap((piece, index) =>
      updates.output(id, piece, pieces.slice(0, index + 1).join('')),
    ),
    ...updates.of(finished as never, state),
  ];
}

const dataOf = (updates: readonly SessionUpdate[]) =>
  updates
    .map(({ _meta }) => (_meta as { terminal_output?: { data: string } })?.terminal_output?.data)
    .join('');

const hostile =
  'a\u001b]52;c;aGk=\u0007b\u001b[2J\u001b[31mred\u009b1A\u0085c\bd\u001bP1q\u001b\\e\n';
// biome-ignore lint/suspicious/noControlCharactersInRegex: an editor must not get these characters
const controls = /(?![\t\n\r])[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

test.for([true, false])(
  '18.1503: attack: the output of a command controls the terminal of an editor (%s)',
  (hasTerminals) => {
    for (const pieces of [[hostile], [...hostile], [], [hostile.slice(0, 3), hostile.slice(3)]]) {
      const updates = outputOf(pieces.length === 0 ? [hostile] : pieces, hasTerminals);
      const texts: string[] = [];
      JSON.stringify(updates, (_, value: unknown) => {
        if (typeof value === 'string') texts.push(value);
        return value;
      });
      expect(texts.filter((text) => controls.test(text))).toEqual([]);
      expect(texts.join('')).not.toContain('aGk=');
    }
  },
);

test('18.1503: the terminal of an editor gets lines, tabs and the last text of a progress bar', () => {
  const updates = outputOf(['10 %\r20', ' %\r\n\tdone\n', '東京'], true);
  expect(dataOf(updates)).toBe('10 %\r20 %\r\n\tdone\r\n東京');
});

/** Returns what the editor shows in a question about a call. */
async function askedWith(more: object): Promise<readonly ToolCallContent[]> {
  const sent = Promise.withResolvers<readonly ToolCallContent[]>();
  const policy = () => ({ root: '/folder', rules: [] });
  const requests = new PermissionRequests({
    built: () => ({ policy, preview: async () => undefined }) as never,
    conversation: () => ({ otherFolder: undefined, deny: async () => {} }) as never,
    cwd: '/folder',
    onAsked: async () => {},
    onAnswered: async () => {},
    request: async ({ toolCall }) => {
      sent.resolve(toolCall.content ?? []);
      return { outcome: { outcome: 'cancelled' } };
    },
    onProblem: sent.reject,
  });
  const approval = { id: 'c', name: 'bash', input: { command: 'rm -rf x' }, ...more };
  requests.update([approval as unknown as PendingApproval]);
  return sent.promise;
}

const textOf = (content: ToolCallContent | undefined) =>
  content?.type === 'content' && content.content.type === 'text' ? content.content.text : '';

/** Returns a Markdown text as a reader sees it. */
const drawn = (markdown: string) => markdownToAnsi(markdown, { theme: plainTheme, width: 100_000 });

test.for([
  'Reads files.\n\n<!--',
  '`ls` and [ls](https://evil.example/rm)',
  '```\nls\n```\n# It runs `ls`',
  '[//]: # (hidden)',
  '[a]: https://evil.example "hidden"',
  '<details><summary>ls</summary>',
  '    * hidden\n    1. code',
  '~~rm -rf x~~ **ls** _ls_ &#x202e; \\',
  '- one\n+ two\n1) three\n> four\n---\n===',
  '![](https://evil.example/p.png)',
  '| a | b |\n|---|---|\n| c | d |',
])('18.1504: attack: the reason %j of a question is drawn as Markdown', async (reason) => {
  const [note] = await askedWith({ reason });
  const seen = drawn(textOf(note)).replaceAll('\u00a0', ' ');
  expect(seen.trim()).toBe(revealHidden(reason).replaceAll('\n', ' ⏎ ').trim());
});

test('18.1504: attack: any reason of a question is drawn as Markdown', async () => {
  await fc.assert(
    fc.asyncProperty(randomMarkdown, async (reason) => {
      const [note] = await askedWith({ reason });
      const seen = drawn(textOf(note)).replaceAll('\u00a0', ' ');
      expect(seen.trim()).toBe(revealHidden(reason).replaceAll('\n', ' ⏎ ').trim());
    }),
    { numRuns: runs(100) },
  );
});

test('18.1504: an honest reason stays as it is', async () => {
  const reason = 'The rule bash(npm run *) is not about /a/b_c-d.ts, so it asks (1 of 2).';
  const [note] = await askedWith({ reason });
  expect(textOf(note)).toBe(reason.replace('*', '\\*'));
});

test.for(['\u0085', '\u000b', '\u000c', '\r', '\u2028', '\u2029', '\u001b[1A', '\0'])(
  '18.1505: attack: the sign %j looks like a line break in the diff of an editor',
  async (sign) => {
    const newText = `// safe${sign}evil()\r\nnext\n\tend\n`;
    const input = { path: 'a.ts', edits: [{ old_text: `x${sign}y`, new_text: newText }] };
    const shown = [
      ...(await askedWith({ name: 'edit', input })),
      ...describeCall('edit', input, '/folder').content,
      ...describeCall('write', { path: 'a.ts', content: newText } as JsonValue, '/folder').content,
    ];
    const diffs = shown.filter((one) => one.type === 'diff');
    expect(diffs).toHaveLength(3);
    for (const { oldText = '', newText: after } of diffs) {
      expect(`${oldText}${after}`).not.toMatch(controls);
      expect(after).toMatch(/^\/\/ safe‹U\+[\dA-F]{4}›.*evil\(\)\r\nnext\n\tend\n$/);
      expect(after.replaceAll('\r\n', '')).not.toContain('\r');
    }
  },
);
