// A terminal without its screen: the real conversation, agent and hand-over of the chat. Its argument
// is an assignment in JSON. It receives orders as JSON lines.
import { systemClock } from '@millrace/agent';
import { randomIds, sessionId } from '@millrace/core';
import { buildAgent } from '../../../apps/cli/src/agent/build-agent.ts';
import { Conversation } from '../../../apps/cli/src/chat/session/conversation.ts';
import { loadConfig } from '../../../apps/cli/src/config/load-config.ts';
import { background } from '../../../apps/cli/src/daemon/chat-commands.ts';
import { askDaemon } from '../../../apps/cli/src/daemon/control-socket.ts';
import { daemonFiles } from '../../../apps/cli/src/daemon/daemon-files.ts';
import { chooseModel } from '../../../apps/cli/src/models/choose-model.ts';
import { openStore } from '../../../apps/cli/src/store/open-store.ts';
import { messagesFromParent } from '../../../packages/log/src/testing/start-process.ts';

export interface TerminalAssignment {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The path of the command, with which a daemon is started on demand. */
  readonly program: string;
}

/** `attach` opens a session as `millrace attach` does. The other orders are for this session. */
export type TerminalOrder =
  | { readonly attach: string }
  | { readonly send: string }
  | { readonly background: true };

export type TerminalReport = { readonly attached: string } | { readonly left: string };

const report = (value: TerminalReport) => process.stdout.write(`${JSON.stringify(value)}\n`);
const { cwd, env, program } = JSON.parse(process.argv[2] ?? '{}') as TerminalAssignment;
process.argv[1] = program;
const config = await loadConfig({ args: {}, env, cwd });
const { log } = await openStore({ config, env });
const chosen = await chooseModel({ config, env, cwd });
const built = await buildAgent({
  ...{ config, chosen, log, cwd, env, approve: 'wait', onInterrupted: 'retry' },
});
const ids = randomIds((bytes) => crypto.getRandomValues(bytes));

async function attach(session: string): Promise<Conversation> {
  await askDaemon(daemonFiles(config, env).socket, { type: 'release', session });
  const conversation = new Conversation({
    ...{ log, session: sessionId(session), cwd, clock: systemClock, built: () => built },
    ...{ takeOutputs: () => [], newKey: () => ids.execution() },
    ...{ putBack: () => {}, print: () => {}, onChange: () => {} },
    ...{ onCallFinished: () => {}, onRunEnded: () => {} },
  });
  await conversation.open();
  await conversation.resumeInterrupted();
  report({ attached: session });
  return conversation;
}

/**
 * Runs the command `/background` of the chat, which leaves the run. The context has only the fields that this
 * command reads.
 */
async function leave(conversation: Conversation): Promise<void> {
  const context = { conversation, config, env, cwd, flags: {}, built };
  await background.run({ ...context, print: () => {}, quit: () => {} } as never, '');
  await conversation.close();
  report({ left: conversation.session });
}

let current: Conversation | undefined;
for await (const order of messagesFromParent<TerminalOrder>()) {
  // A message that cannot be sent is not confirmed, so it may be missing on the log.
  if ('send' in order) await current?.send(order.send).catch(() => {});
  if ('attach' in order) current = await attach(order.attach);
  if ('background' in order && current !== undefined) {
    await leave(current);
    current = undefined;
  }
}
process.exit(0);
