import { isAbsolute } from 'node:path';
import { AgentError } from '@millrace/agent';
import type { SandboxOptions, SandboxSearch } from '../contract/sandbox.ts';
import { findBubblewrap } from './bubblewrap.ts';
import { findSandboxExec } from './macos/sandbox-exec.ts';

/**
 * Finds a sandbox for commands: bubblewrap on Linux, and sandbox-exec on macOS. If there is no sandbox, the
 * result contains the reason and advice.
 *
 * @example
 * const { sandbox } = await findSandbox({ network: false });
 * const bash = bashTool({ workspace, sandbox });
 */
export async function findSandbox(options: SandboxOptions = {}): Promise<SandboxSearch> {
  checkOptions(options);
  switch (process.platform) {
    case 'linux':
      return findBubblewrap(options);
    case 'darwin':
      return findSandboxExec(options);
    default: {
      const reason = `there is no sandbox for ${process.platform}`;
      return {
        sandbox: undefined,
        problem: 'missing',
        reason,
        advice: 'Run the agent in a container or a VM',
      };
    }
  }
}

const known: Readonly<Record<keyof SandboxOptions, (value: unknown) => boolean>> = {
  workspace: (value) => typeof value === 'string' && isAbsolute(value),
  profile: (value) => value === 'workspace' || value === 'read-only',
  network: (value) => typeof value === 'boolean',
  hide: (value) => isPathList(value) && value.every((path) => isAbsolute(path)),
  protect: isPathList,
  programs: (value) => isPathList(value) && value.every((path) => isAbsolute(path)),
  writable: (value) => isPathList(value) && value.every((path) => isAbsolute(path) && path !== '/'),
  unixSockets: (value) => typeof value === 'boolean',
  limits: isLimits,
  tested: (value) => typeof value === 'object' && value !== null,
};

function isPathList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((path) => typeof path === 'string' && path !== '');
}

function isLimits(value: unknown): boolean {
  const names = ['processes', 'openFiles', 'fileBytes', 'memoryBytes'];
  const isLimit = (limit: unknown) =>
    limit === undefined || (Number.isSafeInteger(limit) && Number(limit) > 0);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(([name, limit]) => names.includes(name) && isLimit(limit));
}

function checkOptions(options: SandboxOptions): void {
  for (const [name, value] of Object.entries(options)) {
    const isValid = Object.hasOwn(known, name) ? known[name as keyof SandboxOptions] : undefined;
    if (isValid !== undefined && (value === undefined || isValid(value))) continue;
    const why = isValid === undefined ? 'it is unknown' : 'its value is invalid';
    throw new AgentError('bad_option', `Cannot use the option ${name} of findSandbox: ${why}`, {
      option: name,
    });
  }
}
