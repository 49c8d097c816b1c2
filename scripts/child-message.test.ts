import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { firstMessage } from './child-message.ts';

const run = (program: string, file = process.execPath) =>
  spawn(file, ['-e', program], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });

test('the message of a process arrives, also if the process exits at once', async () => {
  const program = 'process.send({ port: 1 }, () => process.exit())';
  expect(await firstMessage(run(program))).toEqual({ port: 1 });
});

test('a process that ends without a message is an error, not an endless wait', async () => {
  await expect(firstMessage(run('process.exit(3)'))).rejects.toThrow('ended with the exit code 3');
  const killed = run('process.kill(process.pid, "SIGKILL")');
  await expect(firstMessage(killed)).rejects.toThrow('ended with the signal SIGKILL');
  await expect(firstMessage(run('', '/no/such/program'))).rejects.toThrow('ENOENT');
});
