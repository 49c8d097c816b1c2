import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Fact, sessionId, usageByAgent } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundledProgram } from '../../../scripts/bundled-program.ts';
import { fewOf, patientMs } from '../../core/src/testing/runs.ts';
import { findLogProblems } from './testing/check-log.ts';

const run = promisify(execFile);
const top = sessionId('top');
let folder: string;
const program = bundledProgram(new URL('testing/sub-agents/run-until-killed.ts', import.meta.url));

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sub-agent-kills-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Killed {
  readonly path: string;
  readonly lines: string;
}

/** Starts the program until it kills itself. Returns false if it came to its end. */
async function kill({ path, lines }: Killed, moment: string): Promise<boolean> {
  try {
    await run(process.execPath, [program, path, lines, moment], { timeout: 20_000 });
    return false;
  } catch (error) {
    expect((error as { readonly signal?: string }).signal).toBe('SIGKILL');
    return true;
  }
}

/** Continues the session in another process and answers its question. */
async function finish({ path, lines }: Killed): Promise<{ readonly text: string }> {
  const { stdout } = await run(process.execPath, [program, path, lines], { timeout: 20_000 });
  return JSON.parse(stdout) as { readonly text: string };
}

/**
 * Kills at records of all three sessions: before, while and after the question waits. `npm run test:full`
 * kills at all of them, the other modes at one of each group.
 */
const moments = [
  ['12', '20', '28', '36', '44', '50'],
  ['approval_asked boss'],
  ['approval_asked cashier', 'approval_asked lead'],
  ['approval_answered boss', 'approval_answered lead', 'approval_answered cashier'],
  ['tool_execution_finished cashier', 'run_finished cashier', 'child_usage_reported boss'],
  ['tool_execution_finished lead', 'run_finished lead', 'tool_execution_finished boss'],
].flatMap((group) => fewOf(group, 1));

test(
  '20.4: a question of a sub-agent survives kill -9, and is asked, answered and executed once',
  async () => {
    let waiting = 0;
    for (const [index, moment] of moments.entries()) {
      const files = { path: join(folder, `${index}.db`), lines: join(folder, `${index}.txt`) };
      const name = `killed at ${moment}`;
      expect(await kill(files, moment), name).toBe(true);
      const before = sqliteLog({ path: files.path });
      const isAsked = (await snapshot(before, top)).asked.length > 0;
      if (isAsked) waiting++;
      const known = (await before.list()).length;
      await before.close();
      const result = await finish(files);
      expect(result, name).toMatchObject({ stop: { reason: 'stop' }, text: 'Done.' });
      expect(readFileSync(files.lines, 'utf8'), name).toBe('5\n');
      const log = sqliteLog({ path: files.path });
      const sessions = await log.list();
      if (isAsked) expect(sessions, name).toHaveLength(known);
      for (const { session, hasWork } of sessions) {
        const { records } = await log.read(session);
        expect(findLogProblems(session, records), name).toEqual([]);
        expect(hasWork, name).toBe(false);
        expect((await snapshot(log, session)).asked, name).toEqual([]);
        const facts = records.flatMap(({ fact }): readonly Fact[] => (fact ? [fact] : []));
        const asked = facts.filter(({ type }) => type === 'approval_asked');
        expect(asked, name).toHaveLength(1);
      }
      const shares = usageByAgent(await snapshot(log, top)).map(({ agent }) => agent);
      expect(new Set(shares), name).toEqual(new Set([undefined, 'lead', 'cashier']));
      await log.close();
    }
    expect(waiting).toBeGreaterThan(0);
  },
  patientMs(240_000),
);
