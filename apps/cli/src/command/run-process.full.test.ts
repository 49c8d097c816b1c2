import { spawnSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { childEnv } from '../../../../packages/core/src/testing/runs.ts';
import { exitCodes } from '../exit-code.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { abortOnSignals } from './stop-signals.ts';

const folder = temporaryFolder('process');
const main = fileURLToPath(new URL('../main.ts', import.meta.url));

test('a deleted working folder is an error, and an option can name another folder', () => {
  const inDeleted = (name: string, ...args: readonly string[]) => {
    const cwd = join(folder(), name);
    mkdirSync(cwd);
    const script = 'rmdir "$PWD" && exec "$0" "$@"';
    const words = [process.execPath, '--conditions=@millrace/source', main, ...args];
    const env = { ...childEnv(), HOME: folder(), PWD: cwd };
    return spawnSync('sh', ['-c', script, ...words], { cwd, env, encoding: 'utf8', input: '' });
  };
  const here = inDeleted('here', 'sessions');
  expect(here.status).toBe(exitCodes.usage);
  expect(here.stderr).toContain('here: the folder does not exist. Go to another folder\n');
  const there = inDeleted('there', 'sessions', '--cwd', folder());
  expect([there.status, there.stdout]).toEqual([exitCodes.done, '']);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s stops what runs, and the next signal ends the process after its exit listeners',
  (name) => {
    const happened: string[] = [];
    const process = Object.assign(new EventEmitter(), {
      pid: 42,
      kill: (pid: number, signal: string) => happened.push(`${pid} ${signal}`),
      exit: () => process.emit('exit'),
    });
    const signal = abortOnSignals(process);
    expect(signal.aborted).toBe(false);
    process.emit(name);
    expect(signal.aborted).toBe(true);
    process.once('exit', () => happened.push('commands are killed'));
    process.emit(name);
    expect(happened).toEqual(['commands are killed', `42 ${name}`]);
    expect(process.eventNames()).toEqual([]);
  },
);
