import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import type { DaemonState } from '../../daemon/daemon-files.ts';
import { type TestWorkspace, waitForExit } from './test-workspace.ts';

/** The daemon of a test workspace, as a page uses it. */
export interface TestDaemon {
  readonly state: () => DaemonState;
  /** Returns the token of the user. */
  readonly token: () => string;
  /** Sends a request of a page. Default token: the token of the user. */
  request(path: string, body?: unknown, token?: string): Promise<{ status: number; json: unknown }>;
}

/** Gives access to the daemon of a workspace, and ends it after the test. */
export function testDaemon(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  { folder }: TestWorkspace,
): TestDaemon {
  const place = join(folder, 'home/.local/share/millrace/daemon');
  const state = () => JSON.parse(readFileSync(join(place, 'daemon.json'), 'utf8')) as DaemonState;
  onTestFinished(async () => {
    const { pid } = state();
    try {
      process.kill(pid, 'SIGTERM');
    } catch {
      // It has already ended.
    }
    await waitForExit(pid);
  });
  const ownToken = () => readFileSync(join(place, 'access/token'), 'utf8').trim();
  return {
    state,
    token: ownToken,
    async request(path, body, token = ownToken()) {
      const response = await fetch(`${state().url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, json: await response.json() };
    },
  };
}
