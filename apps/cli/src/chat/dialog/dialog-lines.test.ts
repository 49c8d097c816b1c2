import { type JsonValue, sessionId, toolCallId } from '@millrace/core';
import type { ChangePreview, PermissionRule } from '@millrace/tools';
import { describe, expect, test } from 'vitest';
import { plainTheme } from '../../text/theme/theme.ts';
import type { Dialog } from '../contract/dialog.ts';
import { approvalChoices } from './approval-choices.ts';
import { choiceListOf } from './choice-list.ts';
import { fullDialogLines } from './dialog-content.ts';
import { drawDialog } from './dialog-lines.ts';
import { ReadContent } from './read-content.ts';

interface DialogOptions {
  readonly name: string;
  readonly input: JsonValue;
  readonly preview?: ChangePreview;
  readonly rule?: object;
  readonly savedRule?: PermissionRule;
  readonly others?: number;
  readonly isChild?: boolean;
}

function dialogOf(options: DialogOptions) {
  const { name, input, preview, rule, savedRule, others = 0, isChild = false } = options;
  const approval = {
    ...{ session: sessionId('s'), id: toolCallId('c'), name, input, isAnswered: false },
    ...{ reason: 'no rule allows it', rule: rule && JSON.stringify(rule) },
  };
  return {
    type: 'approval',
    approval,
    isChild,
    others,
    preview,
    savedRule,
  } as const satisfies Dialog;
}

const look = (width: number) => ({ width, theme: plainTheme, showsReasoning: false });
const shown = (options: DialogOptions, width = 80, room = 30) => {
  const ask = dialogOf(options);
  return drawDialog(look(width), ask, choiceListOf(ask), { room }).lines;
};

const long = {
  name: 'bash',
  input: {
    command: [...Array.from({ length: 60 }, (_, n) => `echo ${n}`), 'rm -rf ~/important'].join(
      '\n',
    ),
  },
};
const preview: ChangePreview = {
  ...{ diff: '@@ -10,3 +10,3 @@\n before\n-old\n+new\n after', added: 1, removed: 1 },
  ...{ linesBefore: 500, file: 'a.ts', isLinked: false },
};

test('a narrow window cuts a long answer, but not its key', () => {
  const rule = { tool: 'bash', command: 'npm test', exact: true, decision: 'allow' };
  const lines = shown({ name: 'bash', input: { command: 'npm test' }, rule }, 40);
  expect(lines).toContain('  Yes, and exactly this command in… (s)');
});

test('a list drops its hint if there is no room, and shows a typed filter before its title', () => {
  const pick = { title: 'Go back to before which message?', items: [], onPick: async () => {} };
  const titleOf = (hint: string, width: number) =>
    drawDialog(
      look(width),
      { type: 'pick', pick: { ...pick, hint } },
      { items: [], selected: 0 },
      { room: 9 },
    ).lines;
  expect(titleOf('Enter selects', 60)).toEqual([`? ${pick.title}  Enter selects`]);
  expect(titleOf('Enter selects', 40)).toEqual([`? ${pick.title}`]);
  expect(titleOf('“poem”', 40)).toEqual(['? “poem”']);
});

describe('the title describes the request', () => {
  test.each<[DialogOptions, string]>([
    [{ name: 'bash', input: { command: 'npm test' } }, '? Run `npm test`?'],
    [{ name: 'write', input: { path: 'a.ts', content: '' } }, '? Write a.ts?'],
    [
      {
        ...{ name: 'edit', input: { path: 'docs/a.ts', edits: [] } },
        preview: { ...preview, file: 'notes/a.ts', isLinked: true },
      },
      '? Edit docs/a.ts → notes/a.ts (+1 −1)?',
    ],
    [
      { name: 'write', input: { path: 'a.ts', content: '' }, preview },
      '? Write a.ts (replaces 500 lines)?',
    ],
    [
      {
        ...{ name: 'write', input: { path: 'a.ts', content: '' } },
        preview: { ...preview, linesBefore: undefined },
      },
      '? Write a.ts (new)?',
    ],
    [{ name: 'edit', input: { path: 'a.ts', edits: [] }, preview }, '? Edit a.ts (+1 −1)?'],
    [
      { name: 'bash', input: { command: 'ls /' }, isChild: true },
      '? A sub-agent asks: run `ls /`?',
    ],
  ])('%j', (options, title) => {
    expect(shown(options)[0]).toBe(title);
  });

  test('keeps the end of a path and the start of a command if there is little room', () => {
    const path = 'some/very/deep/folder/with/a/file.ts';
    expect(shown({ name: 'write', input: { path, content: 'x' } }, 24)[0]).toBe(
      '? Write …ith/a/file.ts?',
    );
    expect(shown({ name: 'write', input: { path: 'big.txt', content: 'x' }, preview }, 20)[0]).toBe(
      '? Write big.txt?',
    );
    const command = 'npm test -- --reporter=verbose';
    expect(shown({ name: 'bash', input: { command } }, 24)[0]).toMatch(/^\? Run `npm test.*`\?$/);
  });

  test.each([
    [40, 6],
    [20, 3],
    [20, 2],
  ])('also in a window of %i columns, with room for %i lines', (width, room) => {
    const lines = shown({ name: 'bash', input: { command: 'make' }, others: 20 }, width, room);
    expect(lines[0]).toContain('Run `make`');
    expect(lines.some((line) => line.includes('No (n)'))).toBe(true);
    expect(lines.length).toBeLessThanOrEqual(room);
  });
});

describe('the content of a request', () => {
  test('is not repeated if the title shows it', () => {
    const lines = shown({ name: 'bash', input: { command: 'npm test' } });
    expect(lines.filter((line) => line.includes('npm test'))).toHaveLength(1);
  });

  test('is shown from its start, with the number of lines below', () => {
    const lines = shown(long, 80, 20);
    const text = lines.join('\n');
    expect(text).toContain('$ echo 0');
    expect(text).not.toContain('rm -rf ~/important');
    const seen = lines.filter((line) => /│ .*echo/.test(line)).length;
    expect(text).toContain(
      `${61 - seen} lines below: Space shows more · lines 1–${seen + 1} of 62`,
    );
  });

  test('is shown from any line, up to its end', () => {
    const ask = dialogOf(long);
    const { lines, view } = drawDialog(look(80), ask, choiceListOf(ask), { room: 20, from: 1000 });
    expect(lines.join('\n')).toContain('rm -rf ~/important');
    expect(lines.join('\n')).toContain('the end');
    expect(view.to).toBe(62);
  });

  test('includes every field of a command that has an effect', () => {
    const input = { command: 'make', description: 'Builds', outside_sandbox: true };
    const text = shown({ name: 'bash', input }).join('\n');
    expect(text).toContain('outside_sandbox: true');
    expect(text).not.toContain('Builds');
  });

  test('includes a path or a command that the title clips', () => {
    const path = `${'deep/'.repeat(20)}file.ts`;
    const narrow = shown({ name: 'read', input: { path } }, 30)
      .join('')
      .replaceAll(/[│↳\s]/g, '');
    expect(narrow).toContain(path);
    const written = shown({ name: 'write', input: { path, content: 'x' } }, 30);
    expect(written.join('').replaceAll(/[│↳\s]/g, '')).toContain(path);
  });

  test.for([3, 4, 5, 24])('can be read line by line in a room of %i lines', (room) => {
    const ask = dialogOf(long);
    const list = choiceListOf(ask);
    const content = new ReadContent();
    const seen: string[] = [];
    for (let left = 200; left > 0 && !content.isComplete; left--) {
      const { lines, view } = drawDialog(look(20), ask, list, { room, from: content.from });
      expect(lines.length).toBeLessThanOrEqual(room);
      expect(lines.join('\n')).toContain('No (n)');
      content.show(view);
      seen.push(...lines);
      content.scroll(1);
    }
    expect(content.isComplete).toBe(true);
    for (let n = 0; n < 60; n++) expect(seen).toContain(`  │ ${n === 0 ? '$ ' : ''}echo ${n}`);
  });

  test('is shown in full on demand', () => {
    const lines = fullDialogLines(look(80), dialogOf(long));
    for (let n = 0; n < 60; n++) expect(lines.join('\n')).toContain(`echo ${n}`);
  });

  test('of a file change is a diff with line numbers and context', () => {
    for (const name of ['edit', 'write']) {
      const text = shown({ name, input: { path: 'a', content: 'x', edits: [] }, preview }).join(
        '\n',
      );
      expect(text).toContain('10   before');
      expect(text).toContain('11 - old');
      expect(text).toContain('11 + new');
    }
  });

  test('of a long file change counts the lines below', () => {
    const diff = `@@ -0,0 +1,300 @@\n${Array.from({ length: 300 }, (_, n) => `+line ${n}`).join('\n')}`;
    const options = { name: 'write', input: { path: 'a', content: 'x' } };
    const lines = shown({ ...options, preview: { ...preview, diff } }, 80, 20);
    const seen = lines.filter((line) => /\+ line/.test(line)).length;
    expect(lines.join('\n')).toContain(`${300 - seen} lines below`);
  });

  test('reports a change that cannot be applied', () => {
    const problem = 'old_text is not there';
    const none = { ...preview, diff: '', problem };
    const options = { name: 'edit', input: { path: 'a', edits: [] }, preview: none };
    expect(shown(options).join('\n')).toContain(problem);
  });
});

describe('the choices', () => {
  const labels = (options: DialogOptions) =>
    approvalChoices(dialogOf(options)).map(({ label, detail = '' }) => `${label} ${detail}`.trim());
  const bash = { name: 'bash', input: { command: 'npm test' } };

  test.each<[object, string]>([
    [{ tool: 'bash', command: 'npm test', decision: 'allow' }, 'all “npm test …”'],
    [{ tool: 'bash', command: 'rm x', exact: true, decision: 'allow' }, 'exactly this command'],
    [{ tool: '{edit,write}', path: '**', decision: 'allow' }, 'all file changes in this folder'],
    [{ tool: 'read', path: '/etc/x', exact: true, decision: 'allow' }, 'exactly this path'],
    [{ tool: 'issues_search', decision: 'allow' }, 'issues_search with any input'],
    [{ tool: 'web_fetch', host: 'docs.rs', decision: 'allow' }, 'web_fetch from docs.rs'],
  ])('by the rule %j the session’s is about %s', (rule, what) => {
    expect(labels({ ...bash, rule })).toContain(`Yes, and ${what} in this session`);
  });

  test('show the rule that a permanent answer saves', () => {
    const rule = { tool: '{edit,write}', path: '**', decision: 'allow', yields: true };
    const savedRule = { tool: 'edit', path: 'src/a.ts', exact: true, decision: 'allow' } as const;
    const options = { name: 'edit', input: { path: 'src/a.ts', edits: [] }, rule, savedRule };
    expect(labels(options)).toContain('Always, in this folder edit=src/a.ts');
  });

  test('start with the selection on the one that denies', () => {
    const { items, selected } = choiceListOf(dialogOf(bash));
    expect(items[selected]?.label).toBe('No');
  });

  test('include all waiting requests if there are several', () => {
    expect(labels({ ...bash, others: 2 })).toContain('Yes to all 3 waiting now');
    expect(labels(bash).join()).not.toContain('Yes to all');
  });
});
