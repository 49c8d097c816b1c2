import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  confinementOf,
  findSandbox,
  type PreparedCommand,
  reportAtExit,
  type Sandbox,
  type SandboxProblem,
  type SandboxRequest,
  type TestedSandbox,
  type UnaskedReading,
} from '@millrace/tools';
import type { SandboxConfig } from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';
import { compileCacheFolder, ownPrograms } from '../package-files.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';

/** Describes how the system protects the user from commands of the agent. */
export interface Protection {
  readonly sandbox: Sandbox | undefined;
  /** A sentence that tells the user about the protection. */
  readonly summary: string;
  /** Tells the user how to get a sandbox. Undefined if there is one. */
  readonly advice?: string | undefined;
  /**
   * The reason why there is no sandbox. Undefined if there is one, or if the user switched it off.
   */
  readonly unconfined?: Unconfined | undefined;
}

/** The reason why commands run without a sandbox. */
export interface Unconfined {
  readonly problem: SandboxProblem;
  readonly reason: string;
}

/**
 * Opens the sandbox that the configuration requests. If this system has no sandbox, commands run
 * without one. If the user requires a sandbox, a `ConfigError` is thrown instead. In the sandbox,
 * commands cannot change the files of this program, even if these files are in the workspace. Commands also
 * cannot change the scripts of hooks and MCP servers (`executedFiles`), because these can run outside of the
 * sandbox. There is no sandbox for a `workspace` in which it cannot protect files.
 */
export async function openSandbox(
  config: SandboxConfig | undefined,
  find: typeof findSandbox = findSandbox,
  executedFiles: readonly string[] = [],
  workspace?: string,
): Promise<Protection> {
  if (config === undefined || config.profile === 'off')
    return { sandbox: undefined, summary: 'Commands are not confined: the sandbox is off.' };
  // If the process exits at once, nothing else can tell the user what the sandbox renamed.
  reportAtExit((sentence) => writeText(process.stderr, `${sentence}\n`));
  const { profile, network, unixSockets, writable, hide, isRequired } = config;
  const protect = ['millrace.json', ...executedFiles];
  const programs = ownPrograms(process.env);
  const tested = testedSandbox(process.env);
  const found = await find({
    ...{ workspace, profile, network, unixSockets, writable, hide, protect, programs, tested },
  });
  const { sandbox } = found;
  if (sandbox !== undefined) return { sandbox, summary: summaryOf(sandbox) };
  if (isRequired) {
    const message = `Cannot confine commands: ${found.reason}. ${found.advice}. Or use --sandbox off`;
    throw new ConfigError(message, { name: 'sandbox' });
  }
  const { problem, reason, advice } = found;
  const rules =
    problem === 'failed'
      ? ' Rules for bash do not allow them. To run them so, use --sandbox off.'
      : '';
  const summary = `Commands are not confined: ${reason}.${rules}`;
  return { sandbox, summary, advice, unconfined: { problem, reason } };
}

/**
 * Returns a function that prepares the sandbox for hooks of the project. A hook runs what is in the project at
 * that time, and the agent may have changed it. Paths that a rule denies are hidden. If the sandbox cannot hide
 * all of them, the returned function throws, and the hook does not run.
 */
export function confineHooks(
  sandbox: Sandbox,
  { root }: { readonly root: string },
  { reading }: { readonly reading: UnaskedReading },
): (request: Pick<SandboxRequest, 'command' | 'env' | 'show'>) => Promise<PreparedCommand> {
  return async (request) => {
    const call = { tool: 'bash', input: { command: request.command.join(' ') } };
    // Nobody approved what the hook runs now, so the same files are protected as in the mode `auto`.
    const key = `hook ${crypto.randomUUID()}`;
    const gap = await reading.hideDenied(call, key);
    if (gap !== undefined) throw new Error(`the sandbox cannot hide all denied paths: ${gap}`);
    if (!reading.guardProtected(call, key)) throw new Error('too many commands are waiting');
    const place = await reading.placeOf(call, key);
    if (place.place !== 'profile') throw new Error('the sandbox cannot confine it');
    return sandbox.prepare({ ...confinementOf(place), ...request, root });
  };
}

function summaryOf({ profile, network }: Sandbox): string {
  const changes = profile === 'workspace' ? 'only this folder' : 'nothing';
  return `Commands run in a sandbox: they can change ${changes}${network ? '' : ', without network'}.`;
}

/**
 * Remembers in the folder of the compiled code that the sandbox worked. The test command takes about 40 ms of CPU
 * time. The sandbox protects this folder from commands. Returns undefined if the program has no such folder.
 */
function testedSandbox(env: NodeJS.ProcessEnv): TestedSandbox | undefined {
  const folder = compileCacheFolder(env);
  if (!existsSync(folder)) return undefined;
  const file = join(folder, 'tested-sandbox');
  return {
    read() {
      try {
        return readFileSync(file, 'utf8');
      } catch {
        return undefined;
      }
    },
    write(name) {
      try {
        if (name === undefined) rmSync(file, { force: true });
        else writeFileSync(file, name, { mode: 0o600 });
      } catch {
        // The folder is read-only or full. The next start then tests the sandbox again.
      }
    },
  };
}
