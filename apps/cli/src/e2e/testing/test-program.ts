import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { JsonObject } from '@millrace/core';
import { type TestContext, vi } from 'vitest';
import { builtProgram } from '../../testing/built-program.ts';
import { scriptedModel } from './scripted-model.ts';
import { openTestWorkspace, type TestWorkspace, waitOptions } from './test-workspace.ts';

interface RpcMessage {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: JsonObject };
}

/** A program that runs `millrace rpc`, and speaks the protocol line by line. */
interface TestProgram {
  readonly child: ChildProcess;
  readonly messages: readonly RpcMessage[];
  /** Calls a method and returns the response. */
  readonly request: (method: string, params?: JsonObject) => Promise<RpcMessage>;
  /** Calls a method and returns the result. Throws if the response is an error. */
  readonly call: (method: string, params?: JsonObject) => Promise<JsonObject>;
  readonly writeLine: (line: string) => void;
  /** The events of a session so far. */
  readonly events: (session: string) => readonly JsonObject[];
  /** Waits until a message matches, and returns it. */
  readonly waitFor: (check: (message: RpcMessage) => boolean) => Promise<RpcMessage>;
  readonly stderr: () => string;
  /** Closes the input, and returns the exit code. */
  readonly quit: () => Promise<number | null>;
  readonly kill: () => Promise<void>;
}

function startProgram(
  workspace: TestWorkspace,
  env: Readonly<Record<string, string>>,
  flags: readonly string[],
): TestProgram {
  const child = spawn(process.execPath, [builtProgram(), 'rpc', ...flags], {
    ...{ cwd: workspace.project, env: { ...workspace.env, ...env } },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close');
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => {
    stderr += bytes.toString('utf8');
  });
  const messages: RpcMessage[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => messages.push(JSON.parse(line)));
  const waitFor = (check: (message: RpcMessage) => boolean) =>
    vi.waitFor(() => {
      const found = messages.find(check);
      if (found === undefined)
        throw new Error(`The message did not arrive:\n${JSON.stringify(messages)}\n${stderr}`);
      return found;
    }, waitOptions);
  const writeLine = (line: string) => child.stdin.write(`${line}\n`);
  let ids = 0;
  const request = (method: string, params: JsonObject = {}) => {
    const id = ++ids;
    writeLine(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return waitFor((message) => message.id === id);
  };
  return {
    ...{ child, messages, waitFor, writeLine, request },
    call: async (method, params) => {
      const { result, error } = await request(method, params);
      if (result === undefined) throw new Error(`${method}: ${error?.message}`);
      return result;
    },
    events: (session) =>
      messages.flatMap(({ method, params }) =>
        method === 'event' && params?.['session'] === session
          ? [params['event'] as JsonObject]
          : [],
      ),
    stderr: () => stderr,
    quit: async () => {
      child.stdin.end();
      const [code] = await exited;
      return code as number | null;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Returns a workspace, a scripted model and a function that starts programs. All are closed at the end. */
export async function programHarness(context: TestContext) {
  const { server, files, env } = await scriptedModel(context);
  const workspace = openTestWorkspace(files);
  const programs: TestProgram[] = [];
  context.onTestFinished(async () => {
    for (const { kill, child } of programs)
      if (child.exitCode === null && child.signalCode === null) await kill();
    await workspace.close();
  });
  /** Starts a program, and initializes the connection. */
  const open = async (...flags: readonly string[]) => {
    const program = startProgram(workspace, env, flags);
    programs.push(program);
    await program.call('initialize', { version: 1 });
    return program;
  };
  return { server, workspace, env, open };
}
