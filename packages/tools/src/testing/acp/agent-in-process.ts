// An agent with the official SDK of ACP. The test controls it with the text of the prompt.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import {
  type AgentContext,
  agent,
  methods,
  ndJsonStream,
  type RequestPermissionResponse,
  type SessionUpdate,
  type StopReason,
  type ToolCallContent,
} from '@agentclientprotocol/sdk';

const { session, initialize } = methods.agent;
const cwd = process.cwd();
const canLoad = process.argv[2] === 'load';
const cancelled = new Map<string, () => void>();
const loaded: string[] = [];
let sessions = 0;

type Say = (update: SessionUpdate) => Promise<void>;

/** The actions of the agent for a prompt. */
async function work(
  text: string,
  { sessionId, client }: { sessionId: string; client: AgentContext },
): Promise<StopReason> {
  const say: Say = (update) => client.notify(methods.client.session.update, { sessionId, update });
  const write = (
    part: string,
    kind: 'agent_message_chunk' | 'agent_thought_chunk' = 'agent_message_chunk',
  ) => say({ sessionUpdate: kind, content: { type: 'text', text: part } });
  const word = text.split('\n').at(-1) ?? '';
  if (word === 'env') await write(JSON.stringify(process.env));
  else if (word === 'loaded') await write(JSON.stringify(loaded));
  else if (word === 'crash') process.exit(3);
  else if (word === 'files') {
    const path = join(cwd, 'secret.txt');
    for (const request of [
      () => client.request(methods.client.fs.readTextFile, { sessionId, path }),
      () => client.request(methods.client.terminal.create, { sessionId, command: 'id' }),
    ])
      await write(
        await request().then(
          () => 'done. ',
          (error: Error) => `${error.message}. `,
        ),
      );
  } else if (word === 'write') return writeFiles(say, write, { sessionId, client });
  else if (word === 'late input') {
    // Claude Code sends a call before the model has written its input.
    const call = { toolCallId: 'late', kind: 'read' as const, status: 'pending' as const };
    await say({ sessionUpdate: 'tool_call', title: 'Read', rawInput: {}, ...call });
    const rawInput = { path: 'a.txt' };
    await say({ sessionUpdate: 'tool_call_update', title: 'Read a.txt', rawInput, ...call });
    await say({ sessionUpdate: 'tool_call_update', toolCallId: 'late', status: 'completed' });
    await write('Read.');
  } else if (word === 'leave' || word === 'flood') {
    void client
      .request(methods.client.session.requestPermission, {
        ...{ sessionId, toolCall: { toolCallId: 'c1', title: 'Leave' } },
        options: [{ optionId: 'yes', name: 'Allow', kind: 'allow_once' }],
      })
      .catch(() => {});
    while (!existsSync(join(cwd, 'go'))) await setTimeout(20);
    if (word === 'leave') process.exit(4);
    for (let count = 0; count < 12_000; count++) await write('x');
    await new Promise<void>((resolve) => cancelled.set(sessionId, resolve));
    return 'cancelled';
  } else if (word === 'wait') {
    await write('I wait.');
    await new Promise<void>((resolve) => cancelled.set(sessionId, resolve));
    writeFileSync(join(cwd, 'cancelled'), '');
    return 'cancelled';
  } else {
    await write('Let me think.', 'agent_thought_chunk');
    await write('You said ');
    await write(`${text}.`);
  }
  return 'end_turn';
}

const diffOf = (name: string): ToolCallContent[] => [
  { type: 'diff', path: join(cwd, name), newText: `the text of ${name}` },
];

/** Makes two calls at once, and asks for both before it finishes one of them. */
async function writeFiles(
  say: Say,
  write: (text: string) => Promise<void>,
  { sessionId, client }: { sessionId: string; client: AgentContext },
): Promise<StopReason> {
  await say({
    sessionUpdate: 'plan',
    entries: [{ content: 'Write', priority: 'medium', status: 'in_progress' }],
  });
  await write('I write.');
  const options = [
    { optionId: 'yes', name: 'Allow', kind: 'allow_once' as const },
    { optionId: 'no', name: 'Reject', kind: 'reject_once' as const },
  ];
  const names = ['a.txt', 'b.txt'];
  for (const name of names)
    await say({
      ...{ sessionUpdate: 'tool_call', toolCallId: name, title: `Write ${name}`, kind: 'edit' },
      ...{ status: 'pending', rawInput: { name }, locations: [{ path: join(cwd, name) }] },
    });
  const outcomes = await Promise.all(
    names.map((name) =>
      client.request(methods.client.session.requestPermission, {
        ...{
          sessionId,
          options,
          toolCall: { toolCallId: name, title: `Write ${name}`, content: diffOf(name) },
        },
      }),
    ),
  );
  for (const [index, name] of names.entries()) {
    const { outcome } = outcomes[index] as RequestPermissionResponse;
    const isAllowed = outcome.outcome === 'selected' && outcome.optionId === 'yes';
    if (isAllowed) writeFileSync(join(cwd, name), 'new');
    const text = isAllowed ? `wrote ${name}` : `rejected: ${JSON.stringify(outcome)}`;
    await say({
      ...{ sessionUpdate: 'tool_call_update', toolCallId: name },
      status: isAllowed ? 'completed' : 'failed',
      content: [{ type: 'content', content: { type: 'text', text } }],
    });
  }
  await write('Written.');
  return 'end_turn';
}

const app = agent({ name: 'test-agent' })
  .onRequest(initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: canLoad, promptCapabilities: {} },
  }))
  .onRequest(session.new, () => ({ sessionId: `${process.pid}-${++sessions}` }))
  .onRequest(session.load, ({ params }) => {
    loaded.push(params.sessionId);
    return {};
  })
  .onRequest(session.prompt, async ({ params, client }) => {
    const text = params.prompt
      .flatMap((block) => (block.type === 'text' ? block.text : []))
      .join('\n');
    return { stopReason: await work(text, { sessionId: params.sessionId, client }) };
  })
  .onNotification(session.cancel, ({ params }) => cancelled.get(params.sessionId)?.());

if (existsSync(join(cwd, 'no-acp'))) {
  process.stdout.write('This program is not an agent\n');
  process.stderr.write('no such flag: --acp\n');
  process.exit(1);
}
app.connect(
  ndJsonStream(
    Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
    Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
  ),
);
