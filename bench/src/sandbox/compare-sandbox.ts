import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { executionId, runId, sessionId, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { bashTool, createWorkspace, findSandbox } from '@millrace/tools';
import { measure } from '../measure.ts';

const rounds = 101;

/** Measures how long the tool `bash` takes to start and end a command, with and without a sandbox. */
export async function compareSandbox(): Promise<void> {
  console.log(`\nOne command (true) of the tool bash; medians of ${rounds} rounds after a warm-up`);
  const found = await findSandbox();
  if (found.sandbox === undefined) return console.log(`No sandbox: ${found.reason}`);
  const { sandbox } = found;
  const root = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const large = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const installed = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  try {
    fillFolders(large, 500);
    fillFolders(join(installed, 'node_modules'), 4000);
    const workspace = createWorkspace({ root });
    const largeWorkspace = createWorkspace({ root: large });
    const closed = {
      hiddenPaths: async () => [],
      allow: async () => true,
      hideDenied: async () => undefined,
      guardProtected: () => true,
      releaseProtected: () => {},
      giveEnv: () => {},
      placeOf: async () => ({ place: 'closed', hide: [] }) as const,
    };
    const all = [
      ['without a sandbox', bashTool({ workspace })],
      ['in the sandbox', bashTool({ workspace, sandbox })],
      ['in the sandbox, 500 folders', bashTool({ workspace: largeWorkspace, sandbox })],
      [
        'in the sandbox, 4,000 in packages',
        bashTool({ workspace: createWorkspace({ root: installed }), sandbox }),
      ],
      ['in the closed sandbox', bashTool({ workspace, sandbox, reading: closed })],
    ] as const;
    const context = {
      ...{ signal: new AbortController().signal, session: sessionId('s'), runId: runId('r') },
      ...{ turn: 1, toolCallId: toolCallId('c'), executionId: executionId('e'), child: undefined },
      ...{ blobs: memoryLog().blobs, update: () => {}, context: undefined, idempotencyKey: 'c' },
    };
    // The search of packages goes on after its command. It must not slow down the next runner.
    const runners = all.flatMap(([, tool]) => [
      () => Promise.resolve(tool.execute({ command: 'true' }, context)),
      () => sandbox.settled(),
    ]);
    const times = await measure(runners, { rounds, warmUps: 5 });
    const [plain = 0] = times;
    for (const [index, [name]] of all.entries()) {
      const [ms = 0, laterMs = 0] = times.slice(2 * index);
      const added = `+ ${(ms - plain).toFixed(1)} ms`.padStart(10);
      const ratio = (ms / plain).toFixed(2).padStart(6);
      console.log(
        `${name.padEnd(32)} ${ms.toFixed(1).padStart(6)} ms ${added} ${ratio} × without, then ${laterMs.toFixed(1)} ms beside other work`,
      );
    }
  } finally {
    for (const each of [root, large, installed]) rmSync(each, { recursive: true, force: true });
  }
}

/** Creates folders with ten files each. */
function fillFolders(root: string, count: number): void {
  for (let at = 0; at < count; at++) {
    const folder = join(root, `part-${at % 20}`, `folder-${at}`);
    mkdirSync(folder, { recursive: true });
    for (let file = 0; file < 10; file++) writeFileSync(join(folder, `file-${file}`), '');
  }
}
