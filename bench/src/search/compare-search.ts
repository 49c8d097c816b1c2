import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { executionId, runId, sessionId, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { createWorkspace, grepTool } from '@millrace/tools';

const folders = 1000;
const filesPerFolder = 100;
const rounds = 5;
const words = 'const export import function return value string class await order refund flight';

/**
 * Compares the CPU time of the tool `grep` with GNU grep, over 100,000 small files. The first search of a
 * process also starts a thread, so it is printed on its own.
 */
export async function compareSearch(): Promise<void> {
  const count = (folders * filesPerFolder).toLocaleString('en');
  console.log(`\nSearch of ${count} files; CPU time, medians of ${rounds} rounds after a warm-up`);
  const root = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  try {
    fillTree(root);
    const tool = grepTool({ workspace: createWorkspace({ root }), timeoutMs: 600_000 });
    const first = await cpuOfTool(tool, 'needle');
    console.log(`the first search of the process: grep tool ${first.toFixed(2)} s`);
    for (const pattern of ['needle', 'ne+d[l]e', 'n[e]+d.e']) {
      const [ours, theirs]: [number[], number[]] = [[], []];
      for (let round = 0; round <= rounds; round++) {
        const [own, gnu] = [await cpuOfTool(tool, pattern), cpuOfGnuGrep(pattern, root)];
        if (round > 0) ours.push(own);
        if (round > 0) theirs.push(gnu);
      }
      const [own, gnu] = [median(ours), median(theirs)];
      const times = `grep tool ${own.toFixed(2)} s, GNU grep ${gnu.toFixed(2)} s`;
      console.log(`${pattern.padEnd(12)} ${times}, ${(own / gnu).toFixed(2)} ×`);
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function fillTree(root: string): void {
  const all = words.split(' ');
  writeFileSync(join(root, '.gitignore'), 'node_modules/\ndist/\n*.log\n.env*\n/build\n');
  for (let folder = 0; folder < folders; folder++) {
    const path = join(root, `package-${folder % 50}`, `folder-${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < filesPerFolder; file++) {
      const lines = Array.from({ length: 5 + ((folder + file) % 60) }, (_, line) =>
        Array.from({ length: 6 }, (_word, at) => all[(file + line * 7 + at * 3) % all.length]),
      );
      const hit = folder % 100 === 0 && file === 0 ? 'the needle is here\n' : '';
      const text = lines.map((line) => `${line.join(' ')}\n`).join('');
      writeFileSync(join(path, `file-${file}.ts`), text + hit);
    }
  }
}

const context = {
  ...{ signal: new AbortController().signal, session: sessionId('s'), runId: runId('r') },
  ...{ turn: 1, toolCallId: toolCallId('c'), executionId: executionId('e'), child: undefined },
  ...{ blobs: memoryLog().blobs, update: () => {}, context: undefined, idempotencyKey: 'c' },
};

async function cpuOfTool(tool: ReturnType<typeof grepTool>, pattern: string): Promise<number> {
  const before = process.cpuUsage();
  await tool.execute({ pattern, path: '.', mode: 'content', limit: 200 } as never, context);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Returns the CPU seconds of GNU grep. The shell reports the time of its children. */
function cpuOfGnuGrep(pattern: string, root: string): number {
  const script = 'grep -rnE -- "$0" "$1" > /dev/null; times';
  const { stdout } = spawnSync('sh', ['-c', script, pattern, root], { encoding: 'utf8' });
  const [, children = ''] = stdout.trim().split('\n');
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
