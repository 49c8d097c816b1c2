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
  try {
    fillWorkspace(large);
    const workspace = createWorkspace({ root });
    const largeWorkspace = createWorkspace({ root: large });
    const closed = {
      hiddenPaths: async () => [],
      allow: async () => true,
      placeOf: async () => ({ place: 'closed', hide: [] }) as const,
    };
    const all = [
      ['without a sandbox', bashTool({ workspace })],
      ['in the sandbox', bashTool({ workspace, sandbox })],
      ['in the sandbox, 500 folders', bashTool({ workspace: largeWorkspace, sandbox })],
      ['in the closed sandbox', bashTool({ workspace, sandbox, reading: closed })],
    ] as const;
    const context = {
      ...{ signal: new AbortController().signal, session: sessionId('s'), runId: runId('r') },
      ...{ turn: 1, toolCallId: toolCallId('c'), executionId: executionId('e'), child: undefined },
      ...{ blobs: memoryLog().blobs, update: () => {}, context: undefined, idempotencyKey: 'c' },
    };
    const runners = all.map(([, tool]) => async () => {
      await tool.execute({ command: 'true' }, context);
    });
    const times = await measure(runners, { rounds, warmUps: 5 });
    const [plain = 0] = times;
    for (const [index, [name]] of all.entries()) {
      const ms = times[index] ?? 0;
      const added = `+ ${(ms - plain).toFixed(1)} ms`.padStart(10);
      const ratio = (ms / plain).toFixed(2).padStart(6);
      console.log(`${name.padEnd(32)} ${ms.toFixed(1).padStart(6)} ms ${added} ${ratio} × without`);
    }
  } finally {
    for (const each of [root, large]) rmSync(each, { recursive: true, force: true });
  }
}

/** Creates 500 folders with ten files each. */
function fillWorkspace(root: string): void {
  for (let at = 0; at < 500; at++) {
    const folder = join(root, `part-${at % 20}`, `folder-${at}`);
    mkdirSync(folder, { recursive: true });
    for (let file = 0; file < 10; file++) writeFileSync(join(folder, `file-${file}`), '');
  }
}
