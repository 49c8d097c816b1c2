import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import {
  type ClientApp,
  type ClientCapabilities,
  type ClientContext,
  client,
  type InitializeResponse,
  methods,
  type NewSessionRequest,
  ndJsonStream,
  type PromptRequest,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { type TestContext, vi } from 'vitest';
import { builtProgram } from '../../testing/built-program.ts';
import { scriptedModel } from './scripted-model.ts';
import { openTestWorkspace, type TestWorkspace, waitOptions } from './test-workspace.ts';

type Answer = (request: RequestPermissionRequest) => string | 'cancelled' | Promise<string>;

interface EditorOptions {
  readonly workspace: TestWorkspace;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  readonly capabilities?: ClientCapabilities;
  /** Returns the id of the chosen option. Default: the request is cancelled. */
  readonly answer?: Answer;
  /** Registers further handlers. */
  readonly extend?: (app: ClientApp) => ClientApp;
}

/** An editor that runs the agent as a process, through the client of the official SDK. */
export interface Editor {
  readonly agent: ClientContext;
  readonly child: ChildProcess;
  readonly initialized: InitializeResponse;
  readonly notifications: readonly SessionNotification[];
  readonly permissions: readonly RequestPermissionRequest[];
  /** The lines of standard output. */
  readonly lines: () => readonly string[];
  readonly stderr: () => string;
  readonly newSession: () => Promise<string>;
  readonly prompt: (sessionId: string, text: string) => Promise<string>;
  /** Waits until the predicate is true for the received updates. */
  readonly waitFor: (check: (updates: readonly SessionUpdate[]) => boolean) => Promise<void>;
  /** Closes the input, as an editor does when it quits. Returns the exit code. */
  readonly quit: () => Promise<number | null>;
  readonly kill: () => Promise<void>;
}

/** Starts the built command as a process and initializes the connection. */
export async function openEditor(options: EditorOptions): Promise<Editor> {
  const {
    workspace,
    env = {},
    flags = [],
    capabilities = {},
    answer = () => 'cancelled',
  } = options;
  const child = spawn(process.execPath, [builtProgram(), 'acp', ...flags], {
    ...{ cwd: workspace.project, env: { ...workspace.env, ...env } },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close');
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => {
    stdout += bytes.toString('utf8');
  });
  child.stderr.on('data', (bytes: Buffer) => {
    stderr += bytes.toString('utf8');
  });
  const notifications: SessionNotification[] = [];
  const permissions: RequestPermissionRequest[] = [];
  const app = client({ name: 'test-editor' })
    .onNotification(methods.client.session.update, ({ params }) => {
      notifications.push(params);
    })
    .onRequest(methods.client.session.requestPermission, async ({ params }) => {
      permissions.push(params);
      return outcomeOf(await answer(params));
    });
  const connected = (options.extend?.(app) ?? app).connect(
    ndJsonStream(
      Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
    ),
  );
  const { agent } = connected;
  const initialized = await agent.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: capabilities,
    clientInfo: { name: 'test-editor', version: '1.0.0' },
  });
  return {
    ...{ agent, child, initialized, notifications, permissions },
    lines: () => stdout.split('\n').filter((line) => line !== ''),
    stderr: () => stderr,
    newSession: async () => {
      const params: NewSessionRequest = { cwd: workspace.project, mcpServers: [] };
      const { sessionId } = await agent.request('session/new', params);
      return sessionId;
    },
    prompt: async (sessionId, text) => {
      const params: PromptRequest = { sessionId, prompt: [{ type: 'text', text }] };
      const { stopReason } = await agent.request('session/prompt', params);
      return stopReason;
    },
    waitFor: async (check) =>
      vi.waitFor(() => {
        if (!check(notifications.map(({ update }) => update)))
          throw new Error(`The update did not arrive:\n${stdout}\n${stderr}`);
      }, waitOptions),
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

function outcomeOf(answer: string): RequestPermissionResponse {
  if (answer === 'cancelled') return { outcome: { outcome: 'cancelled' } };
  return { outcome: { outcome: 'selected', optionId: answer } };
}

/** Returns a workspace, a scripted model and a function that opens editors. All are closed at the end. */
export async function editorHarness(context: TestContext) {
  const { server, files, env } = await scriptedModel(context);
  const workspace = openTestWorkspace(files);
  const editors: Editor[] = [];
  context.onTestFinished(async () => {
    for (const { kill, child } of editors)
      if (child.exitCode === null && child.signalCode === null) await kill();
    await workspace.close();
  });
  const open = async (options: Omit<EditorOptions, 'workspace'> = {}) => {
    const editor = await openEditor({ ...options, workspace, env: { ...env, ...options.env } });
    editors.push(editor);
    return editor;
  };
  return { server, workspace, open, env };
}

/** Joins the text of all chunks of one kind. */
export function chunkText(
  notifications: readonly SessionNotification[],
  kind: 'agent_message_chunk' | 'agent_thought_chunk' | 'user_message_chunk',
): string {
  return notifications
    .flatMap(({ update }) =>
      update.sessionUpdate === kind && update.content.type === 'text' ? [update.content.text] : [],
    )
    .join('');
}
