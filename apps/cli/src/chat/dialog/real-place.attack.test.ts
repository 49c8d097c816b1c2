import { type JsonObject, sessionId, toolCallId } from '@millrace/core';
import type { ChangePreview } from '@millrace/tools';
import { describe, expect, test } from 'vitest';
import { plainTheme } from '../../text/theme/theme.ts';
import type { ApprovalDialog, Dialog } from '../contract/dialog.ts';
import { confirmChanged, confirmWaiting } from './approval-choices.ts';
import { choiceListOf } from './choice-list.ts';
import { drawDialog } from './dialog-lines.ts';
import { ReadContent } from './read-content.ts';

// A path of a call leads to a different file than its name says, and the user does not see it.

const root = '/users/ana/project';

interface Asked {
  readonly name?: string;
  readonly path: string;
  readonly judged: string;
  readonly reason?: string;
  readonly root?: string | undefined;
  readonly preview?: ChangePreview;
}

function dialogOf({ name = 'read', path, judged, reason, preview, ...given }: Asked) {
  const input: JsonObject = name === 'write' ? { path, content: 'x\n' } : { path };
  const id = toolCallId(`c ${path}`);
  const approval = { session: sessionId('s'), id, name, input, judged, reason };
  return {
    ...({ type: 'approval', isChild: false, others: 0, preview, root, ...given } as const),
    approval: { ...approval, isAnswered: false, rule: undefined },
  } satisfies ApprovalDialog;
}

/** Scrolls until the dialog counts as read. Returns everything that was drawn, on one line. */
function shownUntilRead(dialog: Dialog, width: number, room: number): string {
  const read = new ReadContent();
  const look = { width, theme: plainTheme, showsReasoning: false };
  const seen: string[] = [];
  let shown = 0;
  for (let page = 0; page < 200 && !read.isComplete; page++) {
    const list = choiceListOf(dialog);
    const { lines, view } = drawDialog(look, dialog, list, { room, from: read.from });
    if (page === 0) seen.push(...lines);
    seen.push(...view.content.slice(Math.max(view.from, shown), view.to));
    shown = view.to;
    read.show(view);
    read.scroll(1);
  }
  expect(read.isComplete).toBe(true);
  return seen.join('').replaceAll(/[│↳␣\s]/g, '');
}

const redirected: readonly (readonly [string, Asked, string])[] = [
  [
    'has the name of the folder to which it leads',
    { path: 'Documents/plan.md', judged: '/users/ana/Documents/plan.md' },
    'Documents/plan.md→/users/ana/Documents/plan.md',
  ],
  [
    'is in a folder whose name starts with two dots',
    { path: '..docs/guide.md', judged: '/users/ana/tax.md' },
    '..docs/guide.md→/users/ana/tax.md',
  ],
  [
    'leads out of the folder and then through a link',
    { path: '../notes/a.md', judged: '/srv/a.md' },
    '../notes/a.md→/srv/a.md',
  ],
  [
    'leads out of the folder',
    { path: '../notes/a.md', judged: '/users/ana/notes/a.md' },
    '../notes/a.md→/users/ana/notes/a.md',
  ],
  [
    'goes through the parent of a link',
    { path: 'docs/../a.md', judged: '/users/ana/a.md' },
    'docs/../a.md→/users/ana/a.md',
  ],
  [
    'is the folder itself',
    { name: 'ls', path: '.', judged: '/users/ana/Documents' },
    '.→/users/ana/Documents',
  ],
  [
    'leads to a folder whose name starts like the folder of the session',
    { path: 'a.md', judged: '/users/ana/project-2/a.md' },
    'a.md→/users/ana/project-2/a.md',
  ],
  [
    'is absolute and contains a link',
    { path: '/users/ana/project/docs/a.md', judged: '/users/ana/docs/a.md' },
    '/users/ana/project/docs/a.md→/users/ana/docs/a.md',
  ],
  [
    'leads to a different file of the folder',
    { path: 'b/a.md', judged: `${root}/a/b/a.md` },
    'b/a.md→a/b/a.md',
  ],
  [
    'leads to a protected file of the folder',
    {
      ...{ name: 'write', path: 'conf/tasks.json' },
      judged: `a protected file: ${root}/.vscode/tasks.json`,
    },
    'conf/tasks.json→.vscode/tasks.json',
  ],
  [
    'is a change whose preview is about a file of another folder',
    {
      ...{ name: 'write', path: 'a.sh', judged: '/w/1/a.sh' },
      preview: { diff: '', added: 0, removed: 0, linesBefore: 1, file: 'a.sh', isLinked: false },
    },
    'a.sh→/w/1/a.sh',
  ],
  [
    'starts from an unknown folder',
    { path: 'a.md', judged: `${root}/a.md`, root: undefined },
    `a.md→${root}/a.md`,
  ],
];

describe('18.1000: attack: the user approves a path that', () => {
  test.for(redirected)('%s, without its real path', ([, asked, expected]) => {
    const dialog = dialogOf(asked);
    for (const [width, room] of [
      [100, 30],
      [100, 4],
      [24, 8],
    ] as const) {
      expect(shownUntilRead(dialog, width, room)).toContain(expected);
      const others = dialogOf({ path: 'src/a.ts', judged: `${root}/src/a.ts` });
      const list = confirmWaiting([others, dialog], 2);
      expect(shownUntilRead(list, width, room)).toContain(expected);
    }
  });

  test.for([
    ['src/a.ts', `${root}/src/a.ts`],
    ['./src//a.ts', `${root}/src/a.ts`],
    ['src/', `${root}/src`],
    ['..docs/a.ts', `${root}/..docs/a.ts`],
    ['.', root],
    ['/srv/a.ts', '/srv/a.ts'],
    [`${root}/a.ts`, `${root}/a.ts`],
  ] as const)('is %s, which is the real path (the title stays short)', ([path, judged]) => {
    expect(shownUntilRead(dialogOf({ path, judged }), 100, 30)).not.toContain('→');
  });
});

describe('18.1001: attack: the user approves a call without its reason', () => {
  const reason = 'read needs your approval: Documents leads out of the workspace';
  const dialog = dialogOf({ path: 'src/a.ts', judged: `${root}/src/a.ts`, reason });
  const flat = reason.replaceAll(' ', '');

  test('in a low window', () => {
    expect(shownUntilRead(dialog, 100, 4)).toContain(flat);
    expect(shownUntilRead(dialog, 30, 5)).toContain(flat);
  });

  test('in the list of all waiting calls', () => {
    const others = dialogOf({ path: 'b.ts', judged: `${root}/b.ts`, reason: 'another reason' });
    const shown = shownUntilRead(confirmWaiting([others, dialog], 2), 100, 30);
    expect(shown).toContain(flat);
    expect(shown).toContain('anotherreason');
  });

  test('whose control characters look like other lines', () => {
    const asked = { path: 'a.ts', judged: `${root}/a.ts`, reason: 'a\u001b[2K\rb \u202ec' };
    const shown = shownUntilRead(dialogOf(asked), 100, 30);
    for (const hidden of ['\u001b', '\u202e']) expect(shown).not.toContain(hidden);
  });

  test('after a change of the input', () => {
    expect(shownUntilRead(confirmChanged(dialog), 100, 4)).toContain(flat);
  });
});
