import { expect, test } from 'vitest';
import type { Sandbox } from '../contract/sandbox.ts';
import { probeSandbox } from './probe-sandbox.ts';

/** A sandbox that runs a program of the test instead of the probe. */
function sandboxOf(program: string, args: readonly string[]): Pick<Sandbox, 'prepare'> {
  const command = { program, args, env: {}, cwd: '/', fds: [], endsTogether: false } as const;
  const { signal: blocked } = new AbortController();
  return { prepare: async () => ({ ...command, blocked, finish: async () => [] }) };
}

test('a sandbox that works has no problem', async () => {
  expect(await probeSandbox(sandboxOf('/bin/true', []))).toBeUndefined();
});

test('a sandbox that is forbidden says why', async () => {
  const forbidden = sandboxOf('/bin/sh', ['-c', 'echo "bwrap: no permission" >&2; exit 1']);
  expect(await probeSandbox(forbidden)).toEqual({ problem: 'no permission', isLate: false });
});

test('a machine that is too busy for the sandbox is not reported as one that forbids it', async () => {
  const late = await probeSandbox(sandboxOf('/bin/sleep', ['1000']), 100);
  expect(late).toEqual({ problem: 'it did not end within 0.1 s', isLate: true });
});
