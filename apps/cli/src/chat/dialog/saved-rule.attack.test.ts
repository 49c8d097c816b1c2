import { permissionPolicy } from '@millrace/tools';
import { expect, test } from 'vitest';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import { RememberedAnswers } from './remembered-answers.ts';

// A permanent rule is saved as text. After it is read again, it must not allow different calls.

function savedRule(path: string) {
  const policy = permissionPolicy({ root: '/workspace' });
  const rule = JSON.stringify({ tool: 'write', path, exact: true, decision: 'allow' });
  const answers = new RememberedAnswers({
    built: () => ({ policy: () => policy }) as BuiltAgent,
    conversation: () => ({ approvals: [], approve: async () => {}, otherFolder: undefined }),
  });
  const approval = { name: 'write', input: { path }, rule };
  return answers.ruleToSave(approval as unknown as PendingApproval);
}

test.for([' .git/config', '\u00a0.git/config', '.git/config\n', '.env '])(
  'attack: no rule for %j is saved, because it would be read as one for another file',
  (path) => {
    expect(savedRule(path)).toBe(undefined);
  },
);

test.for(['src/a.ts', 'a b.txt', 'a=b:c'])('a rule for %j is saved', (path) => {
  expect(savedRule(path)).toMatchObject({ path });
});

test.for([
  ['/workspace', undefined, 1],
  ['/elsewhere', undefined, 0],
  ['/workspace', '/elsewhere', 0],
] as const)(
  'attack: a rule for the session in %s, asked in %s, applies to this folder: %s times',
  async ([folder, otherFolder, times]) => {
    const policy = permissionPolicy({ root: '/workspace' });
    const remembered: unknown[] = [];
    const remember = async (rule: unknown) => void remembered.push(rule);
    const answers = new RememberedAnswers({
      built: () => ({ policy: () => policy, remember }) as unknown as BuiltAgent,
      conversation: () => ({ approvals: [], approve: async () => {}, otherFolder }),
    });
    const allowed = { tool: 'bash', command: 'make test', exact: true, decision: 'allow' };
    const rule = JSON.stringify({ ...allowed, in: folder });
    const approval = { name: 'bash', input: { command: 'make test' }, rule };
    await answers.approveForSession(approval as unknown as PendingApproval);
    expect(remembered).toEqual(Array.from({ length: times }, () => allowed));
    const saved = answers.ruleToSave(approval as unknown as PendingApproval);
    expect(saved).toEqual(times === 0 ? undefined : allowed);
  },
);
