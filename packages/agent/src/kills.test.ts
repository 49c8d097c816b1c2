import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type LogRecord, sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAgent } from './create-agent.ts';
import type { Run } from './run/run.ts';
import { problemsIn } from './testing/check-log.ts';
import { actor, type Scenario, scenarios, scenarioTools } from './testing/scenarios.ts';

const session = sessionId('s');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-kills-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const program = fileURLToPath(new URL('testing/run-and-die.ts', import.meta.url));

/** Gives whether it died; otherwise it came to its end before. */
async function runAndDie(path: string, lines: string, name: string, offset: number) {
  const env = { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: join(folder, 'code') };
  const args = ['--conditions=@millrace/source', program, path, lines, name, String(offset)];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [, signal] = await once(child, 'exit');
  return signal === 'SIGKILL';
}

/** Whoever takes the session over, by its policy. */
async function takeOver(path: string, lines: string, scenario: Scenario, retry: boolean) {
  const log = sqliteLog({ path });
  const before = (await log.info(session))?.through ?? 0;
  let run: Run | undefined;
  const act = actor(scenario, () => run as Run);
  const agent = createAgent({
    ...scenario.options,
    provider: scriptedProvider(['Go on.', 'Go on.', 'Go on.']),
    log,
    tools: scenarioTools(lines),
    onInterrupted: retry ? 'retry' : 'keep',
    observers: [act],
  });
  const asked = await isAsked(path);
  run = agent.resume(session);
  // It was asked before: the question is still there, and is not asked again.
  if (asked !== undefined) await run.approve(asked);
  const result = await run.result;
  const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
  await log.close();
  return { before, result, records };
}

async function isAsked(path: string) {
  const log = sqliteLog({ path });
  const { records } = await log.read(session);
  await log.close();
  const asked = records.findLast(({ fact }) => fact?.type === 'approval_asked')?.fact;
  const answered = records.some(({ fact }) => fact?.type === 'approval_answered');
  return asked?.type === 'approval_asked' && !answered ? asked.toolCallId : undefined;
}

const linesIn = (path: string) =>
  existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
const factsOf = (records: readonly LogRecord[]) =>
  records.filter(({ fact }) => fact !== undefined).map(({ offset }) => offset);

describe.each(Object.entries(scenarios))('%s, killed at each fact,', (name, scenario) => {
  test('goes on by its policy: nothing told is lost, nothing with effects runs twice', async () => {
    const whole = join(folder, `${name}.db`);
    await runAndDie(whole, join(folder, `${name}.txt`), name, Number.MAX_SAFE_INTEGER);
    const log = sqliteLog({ path: whole });
    const { records } = await log.read(session);
    await log.close();
    for (const [index, offset] of factsOf(records).entries()) {
      const [path, lines] = [`${whole} ${offset}`, join(folder, `${name} ${offset}.txt`)];
      if (!(await runAndDie(path, lines, name, offset))) continue;
      const {
        before,
        result,
        records: after,
      } = await takeOver(path, lines, scenario, index % 2 === 1);
      expect(result.error).toBeUndefined();
      expect(problemsIn(session, after)).toEqual([]);
      expect(before).toBeGreaterThanOrEqual(offset);
      const written = linesIn(lines);
      expect(new Set(written).size).toBe(written.length);
    }
  });
});
