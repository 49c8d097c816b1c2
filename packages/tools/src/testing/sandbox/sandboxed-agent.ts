import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { readOutputTool } from '@millrace/agent';
import type { JsonValue } from '@millrace/core';
import type { SandboxOptions } from '../../contract/sandbox.ts';
import { isProtectedName } from '../../permissions/protected-paths.ts';
import { findSandbox } from '../../sandbox/find-sandbox.ts';
import type { ReadingPlace } from '../../sandbox/unasked-reading.ts';
import { backgroundCommands } from '../../shell/background/background-commands.ts';
import { bashTool } from '../../shell/bash-tool.ts';
import { endCommandsNow } from '../../shell/process-session.ts';
import { runTool } from '../tool-context.ts';

// A program that runs commands in a sandbox, as an agent does. Tests start it as different users. It
// reads one JSON request per line and prints one JSON answer per line. Its environment holds a key that
// no command may get.

/** One request: a command, and the options of the sandbox in which it runs. */
export interface SandboxedRequest {
  readonly root: string;
  readonly input: JsonValue;
  readonly options?: SandboxOptions | undefined;
  readonly timeoutMs?: number | undefined;
  /** If set, the command runs in the closed view, with these paths hidden. */
  readonly closed?: readonly string[] | undefined;
  /** If set, the sandbox hides these paths from the command, and the command has the view of the workspace. */
  readonly denied?: readonly string[] | undefined;
  /** The names of files that the command must not read if they appear while it runs. Default: none. */
  readonly deniedNames?: readonly string[] | undefined;
  /** If set, the command must not change these paths and create protected names, as in the mode `auto`. */
  readonly guarded?: readonly string[] | undefined;
  /**
   * If set, the command runs in the background. `wait`: the answer is its output after its end. `leave`: the
   * answer is the result of the call, and the command continues. `kill`: this process waits synchronously until
   * the file `started` exists and ends the command as at a second Ctrl-C. The answer is the result of that.
   */
  readonly background?: 'wait' | 'leave' | 'kill' | undefined;
}

/** The answer to a request, or the reason why there is no sandbox. */
export type SandboxedAnswer =
  | { readonly text: string; readonly isError: boolean; readonly pid: number }
  | { readonly missing: string };

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as SandboxedRequest;
  process.stdout.write(`${JSON.stringify(await answer(request))}\n`);
}

async function answer(request: SandboxedRequest): Promise<SandboxedAnswer> {
  const { root, input, options = {}, timeoutMs, closed, denied, guarded } = request;
  const found = await findSandbox(options);
  if (found.sandbox === undefined) return { missing: `${found.reason}. ${found.advice}` };
  const hideNew = (path: string) => request.deniedNames?.includes(basename(path)) === true;
  const place: ReadingPlace =
    closed === undefined
      ? {
          ...{
            place: 'profile',
            hide: denied ?? [],
            hideNew,
            pin: [],
            links: [],
            protect: guarded,
          },
          protectNew: guarded && isProtectedName,
        }
      : { place: 'closed', hide: closed, hideNew };
  const reading = (closed ?? denied ?? guarded) && {
    hiddenPaths: async () => closed,
    allow: async () => true,
    hideDenied: async () => undefined,
    guardProtected: () => true,
    releaseProtected: () => {},
    giveEnv: () => {},
    placeOf: async () => place,
  };
  const { sandbox } = found;
  const workspace = { root };
  if (request.background !== undefined) {
    const background = backgroundCommands();
    const bash = bashTool({ workspace, sandbox, reading, background, graceMs: 100 });
    const given = { ...(input as object), background: true };
    const { text, isError } = await runTool(bash, given);
    if (isError || request.background === 'leave') return { text, isError, pid: process.pid };
    if (request.background === 'kill') {
      const pause = new Int32Array(new SharedArrayBuffer(4));
      while (!existsSync(join(root, 'started'))) Atomics.wait(pause, 0, 0, 1);
      return { text: endCommandsNow().join('\n'), isError, pid: process.pid };
    }
    const read = readOutputTool({ running: background });
    const ended = await runTool(read, { output: 'c1', wait_ms: 600_000 });
    await background.close();
    sandbox.close();
    return { ...ended, pid: process.pid };
  }
  const bash = bashTool({ workspace, sandbox, reading, timeoutMs, graceMs: 100 });
  const { text, isError } = await runTool(bash, input).finally(async () => {
    await sandbox.settled();
    sandbox.close();
  });
  return { text, isError, pid: process.pid };
}
