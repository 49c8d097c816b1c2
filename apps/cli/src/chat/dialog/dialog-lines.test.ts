import { type JsonValue, sessionId, toolCallId } from '@millrace/core';
import type { ChangePreview } from '@millrace/tools';
import { describe, expect, test } from 'vitest';
import { plainTheme } from '../../text/theme/theme.ts';
import type { Dialog } from '../contract/dialog.ts';
import { approvalChoices } from './approval-choices.ts';
import { choiceListOf } from './choice-list.ts';
import { dialogLines, fullDialogLines } from './dialog-lines.ts';

interface About {
  readonly name: string;
  readonly input: JsonValue;
  readonly preview?: ChangePreview;
  readonly rule?: object;
  readonly others?: number;
  readonly isChild?: boolean;
}

function askOf({ name, input, preview, rule, others = 0, isChild = false }: About) {
  const approval = {
    ...{ session: sessionId('s'), id: toolCallId('c'), name, input, isAnswered: false },
    ...{ reason: 'nobody said it may', rule: rule && JSON.stringify(rule) },
  };
  return { type: 'approval', approval, isChild, others, preview } as const satisfies Dialog;
}

const look = (width: number) => ({ width, theme: plainTheme, showsReasoning: false });
const shown = (about: About, width = 80, room = 30) => {
  const ask = askOf(about);
  return dialogLines(look(width), ask, choiceListOf(ask), room);
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
  linesBefore: 500,
};

describe('the title names what is asked', () => {
  test.each<[About, string]>([
    [{ name: 'bash', input: { command: 'npm test' } }, '? Run `npm test`?'],
    [{ name: 'write', input: { path: 'a.ts', content: '' } }, '? Write a.ts?'],
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
  ])('%j', (about, title) => {
    expect(shown(about)[0]).toBe(title);
  });

  test('and keeps the end of a path, and the start of a command, where there is little room', () => {
    const path = 'some/very/deep/folder/with/a/file.ts';
    expect(shown({ name: 'write', input: { path, content: 'x' } }, 24)[0]).toBe(
      '? Write …with/a/file.ts?',
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
    expect(lines.some((line) => line.includes('Yes, this once'))).toBe(true);
    expect(lines.length).toBeLessThanOrEqual(room);
  });
});

describe('what would be done', () => {
  test('is not said twice where the title says it', () => {
    const lines = shown({ name: 'bash', input: { command: 'npm test' } });
    expect(lines.filter((line) => line.includes('npm test'))).toHaveLength(1);
  });

  test('is seen from both ends, with how much is not', () => {
    const lines = shown(long, 80, 20);
    const text = lines.join('\n');
    expect(text).toContain('$ echo 0');
    expect(text).toContain('rm -rf ~/important');
    const [, hidden] = /… (\d+) lines not shown: v shows all/.exec(text) ?? [];
    const seen = lines.filter((line) => /echo|rm -rf/.test(line)).length - 1;
    expect(Number(hidden)).toBe(61 - seen);
    expect(text).toContain('nobody said it may');
  });

  test('is seen in full on demand', () => {
    const lines = fullDialogLines(look(80), askOf(long));
    for (let n = 0; n < 60; n++) expect(lines.join('\n')).toContain(`echo ${n}`);
  });

  test('to a file is seen against what is there, with stats and the lines around it', () => {
    for (const name of ['edit', 'write']) {
      const text = shown({ name, input: { path: 'a', content: 'x', edits: [] }, preview }).join(
        '\n',
      );
      expect(text).toContain('10   before');
      expect(text).toContain('11 - old');
      expect(text).toContain('11 + new');
    }
  });

  test('to a file that is long is counted right, and the reason stays', () => {
    const diff = `@@ -0,0 +1,300 @@\n${Array.from({ length: 300 }, (_, n) => `+line ${n}`).join('\n')}`;
    const about = { name: 'write', input: { path: 'a', content: 'x' } };
    const lines = shown({ ...about, preview: { ...preview, diff } }, 80, 20);
    const seen = lines.filter((line) => /\+ line/.test(line)).length;
    expect(lines.join('\n')).toContain(`… ${300 - seen} lines not shown`);
    expect(lines.join('\n')).toContain('+ line 299');
    expect(lines.join('\n')).toContain('nobody said it may');
  });

  test('and could not be done is told', () => {
    const problem = 'old_text is not there';
    const none = { ...preview, diff: '', problem };
    const about = { name: 'edit', input: { path: 'a', edits: [] }, preview: none };
    expect(shown(about).join('\n')).toContain(problem);
  });
});

describe('the answers', () => {
  const labels = (about: About) =>
    approvalChoices(askOf(about).approval, about.others).map(({ label, detail = '' }) =>
      `${label} ${detail}`.trim(),
    );
  const bash = { name: 'bash', input: { command: 'npm test' } };

  test.each<[object, string]>([
    [{ tool: 'bash', command: 'npm test', decision: 'allow' }, 'all “npm test …”'],
    [{ tool: 'bash', command: 'rm x', exact: true, decision: 'allow' }, 'this very command'],
    [
      { tool: '{edit,write}', path: '**', decision: 'allow' },
      'all changes of files in this folder',
    ],
    [{ tool: 'read', path: '/etc/x', exact: true, decision: 'allow' }, 'this very path'],
    [{ tool: 'issues_search', decision: 'allow' }, 'issues_search, whatever it gets,'],
  ])('by the rule %j the session’s is about %s', (rule, what) => {
    expect(labels({ ...bash, rule })).toContain(`Yes, and ${what} in this session`);
  });

  test('for ever is about less than for the session, of files', () => {
    const rule = { tool: '{edit,write}', path: '**', decision: 'allow', yields: true };
    const about = { name: 'edit', input: { path: 'src/a.ts', edits: [] }, rule };
    expect(labels(about)).toContain('Always, in this folder edit=src/a.ts');
  });

  test('are for all that wait where others do', () => {
    expect(labels({ ...bash, others: 2 })).toContain('Yes to all 3 that wait now');
    expect(labels(bash).join()).not.toContain('Yes to all');
  });
});
