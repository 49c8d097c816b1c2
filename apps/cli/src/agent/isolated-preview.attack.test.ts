import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { judgedPath } from '@millrace/tools';
import { describe, expect, test } from 'vitest';
import { PermissionRequests } from '../acp/permission-requests.ts';
import type { ApprovalDialog, PendingApproval } from '../chat/contract/dialog.ts';
import { dialogContent } from '../chat/dialog/dialog-content.ts';
import { folderWith, testAgent } from '../testing/test-agent.ts';
import { plainTheme } from '../text/theme/theme.ts';

// A sub-agent changes a file in its own worktree. The question to the user must be about this file, and not about the
// file with the same name in the folder of the session.

const call = (id: string, name: string, input: JsonObject) => ({
  content: { parts: [toolCallPart(toolCallId(id), name, input)] },
});

type Asked = PendingApproval & { readonly judged: string };

/** Runs calls of a sub-agent in a worktree. Calls `onAsked` for each question, which must answer it. */
async function isolatedCalls(
  calls: readonly (readonly [name: string, input: JsonObject])[],
  onAsked: (asked: Asked, at: Awaited<ReturnType<typeof opened>>) => Promise<void>,
) {
  const at = await opened(calls);
  for await (const event of at.run.events) {
    if (event.type !== 'approval_asked') continue;
    const { toolCallId: id, name, reason, rule, judged = '', from } = event;
    const about = { session: sessionId('s'), id, name, reason, rule, judged };
    await onAsked({ ...about, input: from?.input, agents: from?.agents, isAnswered: false }, at);
  }
  return at;
}

async function opened(calls: readonly (readonly [name: string, input: JsonObject])[]) {
  const cwd = folderWith({ 'rules.txt': 'a: deny\n' });
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], { cwd });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  const provider = scriptedProvider([
    call('t', 'task', { agent: 'worker', task: 'Work', isolation: 'worktree' }),
    ...calls.map(([name, input], index) => call(`c${index}`, name, input)),
    'Done.',
    'Done.',
  ]);
  const env = { HOME: folderWith(), PATH: process.env['PATH'] };
  const built = await testAgent({ provider, cwd, env });
  return { cwd, built, provider, run: built.agent.run('Go', { session: sessionId('s') }) };
}

const allowsAll = {
  path: 'rules.txt',
  edits: [{ old_text: 'deny', new_text: 'allow', replace_all: true }],
};

describe('18.1008: attack: the question of an isolated sub-agent shows', () => {
  test('a change of the file in the folder of the session', async () => {
    const writes = ['write', { path: 'rules.txt', content: 'a: deny\nall: deny\n' }] as const;
    const diffs: (string | undefined)[] = [];
    await isolatedCalls([writes, ['edit', allowsAll]], async ({ id, ...asked }, { built, run }) => {
      const { name: tool, input } = asked;
      const preview = await built.preview({ tool, input }, asked.judged);
      diffs.push(preview?.diff);
      await run.approve(id, { basis: preview?.basis });
    });
    expect(diffs).toEqual([
      '@@ -1,1 +1,2 @@\n a: deny\n+all: deny',
      '@@ -1,2 +1,2 @@\n-a: deny\n-all: deny\n+a: allow\n+all: allow',
    ]);
  });

  test('no change if the file of the question is unknown', async () => {
    await isolatedCalls(
      [['edit', allowsAll]],
      async ({ id, name: tool, input }, { built, run }) => {
        for (const judged of [undefined, ''])
          expect(await built.preview({ tool, input }, judged)).toBeUndefined();
        await run.deny(id);
      },
    );
  });

  test('a command without the folder in which it runs', async () => {
    await isolatedCalls([['bash', { command: 'make x' }]], async (approval, { built, run }) => {
      const { root } = built.policy();
      const dialog = { approval, root, isChild: true, others: 0 };
      const look = { width: 300, theme: plainTheme, showsReasoning: false };
      const about = { type: 'approval', ...dialog } satisfies ApprovalDialog;
      expect(dialogContent(look, about).join('\n')).toMatch(/It is a command .* in \/.*worktrees/);
      const here = { ...approval, judged: `a command in the sandbox in ${root}` };
      expect(dialogContent(look, { ...about, approval: here }).join('\n')).not.toContain('It is');
      await run.deny(approval.id);
    });
  });

  test('in an editor, a change at the path of the session', async () => {
    await isolatedCalls([['edit', allowsAll]], async (approval, { built, cwd, run }) => {
      const sent = Promise.withResolvers<unknown>();
      const answered = Promise.withResolvers<unknown>();
      const requests = new PermissionRequests({
        ...{ built: () => built, cwd, onAsked: async () => {}, onAnswered: async () => {} },
        conversation: () =>
          ({
            otherFolder: undefined,
            approve: async (_: unknown, how: unknown) => answered.resolve(how),
          }) as never,
        request: async (request) => {
          sent.resolve(request);
          return { outcome: { outcome: 'selected', optionId: 'once' } };
        },
        onProblem: (error) => sent.reject(error),
      });
      requests.update([approval]);
      const real = judgedPath(approval.judged);
      const diff = { type: 'diff', path: real, oldText: 'a: deny\n', newText: 'a: allow\n' };
      expect(await sent.promise).toMatchObject({
        toolCall: { locations: [{ path: real }], content: expect.arrayContaining([diff]) },
      });
      expect(real).not.toContain(cwd);
      expect(await answered.promise).toEqual({ basis: expect.stringMatching(/^sha256:/) });
      await run.deny(approval.id);
    });
  });
});

describe('18.1009: attack: an approved change of an isolated sub-agent', () => {
  test('runs although its file changed', async () => {
    const { provider } = await isolatedCalls(
      [['edit', allowsAll]],
      async ({ id, name: tool, input, judged }, { built, run }) => {
        const preview = await built.preview({ tool, input }, judged);
        writeFileSync(judgedPath(judged), 'a: deny\nall: deny\n');
        await run.approve(id, { basis: preview?.basis });
      },
    );
    expect(JSON.stringify(provider.requests[2]?.request)).toContain('changed after the user saw');
  });
});

describe('18.1010: attack: another process runs an approved change', () => {
  test.for([true, false])('(the file changed: %s)', async (isChanged) => {
    const cwd = folderWith({ 'rules.txt': 'a: deny\n' });
    const provider = scriptedProvider([call('c', 'edit', allowsAll), 'Done.']);
    const first = await testAgent({ provider, cwd, approve: 'park' });
    const session = sessionId('s');
    await first.agent.run('Go', { session }).result;
    const preview = await first.preview({ tool: 'edit', input: allowsAll }, join(cwd, 'rules.txt'));
    // The answer is on the log before a different process continues the session.
    const command = { type: 'approve', toolCallId: 'c', by: 'ana', basis: preview?.basis ?? '' };
    await first.log.submit(session, command, 'answer');
    const now = isChanged ? 'a: deny\nall: deny\n' : 'a: deny\n';
    writeFileSync(join(cwd, 'rules.txt'), now);
    const second = await testAgent({ provider, cwd, approve: 'park', log: first.log });
    await second.agent.resume(session).result;
    const expected = isChanged ? now : 'a: allow\n';
    expect(readFileSync(join(cwd, 'rules.txt'), 'utf8')).toBe(expected);
  });
});
