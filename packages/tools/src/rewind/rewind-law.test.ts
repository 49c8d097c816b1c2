import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { type Part, sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { call } from '../../../agent/src/testing/model-script.ts';
import { isFull, runs } from '../../../core/src/testing/runs.ts';
import { editTool } from '../files/edit-tool.ts';
import { applyPatchTool } from '../files/patch-tool.ts';
import { writeTool } from '../files/write-tool.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { applyFilePlan } from './apply-file-plan.ts';
import { commandFiles } from './command-files.ts';
import { readFileChanges } from './file-changes.ts';
import { planFileChanges } from './plan-file-changes.ts';

const names = ['a', 'b', 'sub/c', 'sub/deep/d'] as const;
const text = fc.constantFrom('1\n', '2\n', '3\n', 'x\ny\n');
const file = fc.constantFrom(...names);

/** A change of the agent: by a tool for files, or by a command. */
const agentStep = fc.oneof(
  fc.record({ type: fc.constantFrom('write', 'edit', 'delete'), file, text, other: file }),
  fc.record({
    type: fc.constantFrom('printf', 'append', 'rm', 'mv', 'cp', 'chmod', 'rmdir'),
    ...{ file, text, other: file },
  }),
);
/** A change of another person or program. */
const outsideStep = fc.record({ type: fc.constantFrom('write', 'delete', 'mode'), file, text });
const message = fc.record({
  /** Changes before the message, and during the run before the call with the same number. */
  before: fc.array(outsideStep, { maxLength: 1 }),
  during: fc.array(fc.option(outsideStep, { freq: 6 }), { maxLength: 3 }),
  calls: fc.array(agentStep, { minLength: 1, maxLength: 3 }),
});
const randomSession = fc.record({
  messages: fc.array(message, { minLength: 1, maxLength: 4 }),
  after: fc.array(outsideStep, { maxLength: 1 }),
});

type AgentStep = typeof agentStep extends fc.Arbitrary<infer Value> ? Value : never;
type OutsideStep = typeof outsideStep extends fc.Arbitrary<infer Value> ? Value : never;

const session = sessionId('s');

function toolCallFor({ type, file: path, text: content, other }: AgentStep) {
  const folder = `mkdir -p ${dirname(path)} ${dirname(other)}`;
  const printed = `printf '${content.replaceAll('\n', '\\n')}'`;
  switch (type) {
    case 'write':
      return ['write', { path, content }] as const;
    case 'edit':
      return ['edit', { path, edits: [{ old_text: '1', new_text: '2' }] }] as const;
    case 'delete':
      return ['apply_patch', { type: 'delete_file', path }] as const;
    default: {
      const command = {
        printf: `${printed} > ${path}`,
        append: `${printed} >> ${path}`,
        rm: `rm -f ${path}`,
        mv: `mv ${path} ${other}`,
        cp: `cp ${path} ${other}`,
        chmod: `chmod +x ${path}`,
        rmdir: `rm -rf ${dirname(path) === '.' ? path : dirname(path)}`,
      }[type];
      return ['bash', { command: `${folder}; ${command}` }] as const;
    }
  }
}

/** Returns the files that a step can change. */
function touchedBy({ type, file: path, other }: AgentStep): readonly string[] {
  if (type === 'mv' || type === 'cp') return [path, other];
  if (type !== 'rmdir' || dirname(path) === '.') return [path];
  return names.filter((name) => name.startsWith(`${dirname(path)}/`));
}

/** Records the files with git, which says whether two moments have the same files. */
function gitOracle(root: string) {
  const gitDir = temporaryFolder();
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['--git-dir', gitDir, '--work-tree', root, ...args], { encoding: 'utf8' });
  git('init', '-q');
  const now = () => {
    git('add', '-A');
    return git('write-tree').trim();
  };
  /** Returns the mode and the content of a file at a moment, as git knows it. */
  const fileIn = (tree: string, name: string) => git('ls-tree', tree, '--', name).trim();
  return { now, fileIn };
}

/** Creates a folder with an agent, which makes one call per turn. */
function startSession() {
  const root = temporaryFolder();
  const log = memoryLog();
  const workspace = createWorkspace({ root });
  const script: ScriptEntry[] = [];
  const files = commandFiles({ workspace, copies: temporaryFolder() });
  const tools = [
    ...[writeTool(workspace), editTool(workspace), applyPatchTool(workspace)],
    bashTool({ workspace, files }),
  ];
  const agent = createAgent({ provider: scriptedProvider(script), log, tools });
  let made = 0;
  return {
    ...{ root, log, workspace },
    through: async () => (await log.info(session))?.through ?? 0,
    items: async (of = session) =>
      (await log.info(of)) === undefined ? [] : transcript(await snapshot(log, of)),
    change({ type, file: name, text: content }: OutsideStep) {
      const path = join(root, name);
      if (type === 'delete') return rmSync(path, { force: true });
      if (type === 'mode') {
        try {
          chmodSync(path, 0o755);
        } catch {
          // There is no such file.
        }
        return;
      }
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    },
    /** Sends a message. `before` runs before each call of the agent. */
    async send(calls: readonly AgentStep[], before: (call: number) => void) {
      const parts = calls.map((step): Part => {
        const [name, input] = toolCallFor(step);
        return call(`c${made++}`, name, input as never);
      });
      script.push(
        ...parts.map((part, at) => () => {
          before(at);
          return { content: { parts: [part] } };
        }),
        'Done.',
      );
      await agent.run(`Go on ${made}`, { session }).text();
    },
  };
}

test('law 14: going back to any message gives the files and the transcript of that moment, or refuses and changes nothing', async () => {
  const counts = { applied: 0, refused: 0, exact: 0, redone: 0 };
  const law = fc.asyncProperty(randomSession, fc.nat(), async ({ messages, after }, pick) => {
    const at = startSession();
    const git = gitOracle(at.root);
    const moments: { through: number; tree: string; items: unknown }[] = [];
    // Each change with the number of the message before which, or during which, it happened.
    const agent: (readonly [number, string])[] = [];
    const others: (readonly [number, string])[] = [];
    for (const [number, { before, during, calls }] of messages.entries()) {
      for (const step of before) {
        at.change(step);
        others.push([number, step.file]);
      }
      moments.push({ through: await at.through(), tree: git.now(), items: await at.items() });
      await at.send(calls, (index) => {
        const step = during[index];
        if (step === null || step === undefined) return;
        at.change(step);
        others.push([number + 1, step.file]);
      });
      for (const step of calls) for (const name of touchedBy(step)) agent.push([number, name]);
    }
    for (const step of after) {
      at.change(step);
      others.push([messages.length, step.file]);
    }
    const chosen = pick % moments.length;
    const moment = moments[chosen];
    if (moment === undefined) throw new Error('There is no moment');
    const byOthers = new Set(others.flatMap(([when, name]) => (when > chosen ? name : [])));
    const byAgent = new Set(agent.flatMap(([when, name]) => (when >= chosen ? name : [])));
    const now = git.now();
    const itemsNow = await at.items();

    const changes = await readFileChanges(at.log, session);
    const undo = changes.filter(({ offset }) => offset > moment.through);
    const plan = await planFileChanges(at.workspace, { undo });
    if (plan.conflicts.length > 0) {
      counts.refused++;
      // Only a change of others is a reason to refuse.
      expect(byOthers.size).toBeGreaterThan(0);
      await expect(applyFilePlan(at.workspace, at.log.blobs, plan)).rejects.toMatchObject({
        code: 'changed',
      });
      expect(git.now()).toBe(now);
      expect(await at.items()).toEqual(itemsNow);
      return;
    }
    counts.applied++;
    await applyFilePlan(at.workspace, at.log.blobs, plan);
    const fork = sessionId('fork');
    await at.log.fork(session, { into: fork, through: moment.through });
    expect(await at.items(fork)).toEqual(moment.items);
    const tree = git.now();
    if (byOthers.size === 0) {
      counts.exact++;
      expect(tree).toBe(moment.tree);
      const back = await planFileChanges(at.workspace, { redo: undo });
      expect(back.conflicts).toEqual([]);
      await applyFilePlan(at.workspace, at.log.blobs, back);
      counts.redone++;
      expect(git.now()).toBe(now);
      return;
    }
    for (const name of names) {
      if (byOthers.has(name) && byAgent.has(name)) continue;
      const expected = byOthers.has(name) ? now : moment.tree;
      expect([name, git.fileIn(tree, name)]).toEqual([name, git.fileIn(expected, name)]);
    }
  });
  await fc.assert(law, { numRuns: isFull ? runs(200) : 5 });
  if (isFull) for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0);
});
