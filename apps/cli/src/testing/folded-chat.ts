import { type AgentEvent, agentEvents, Folder, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Block } from '../chat/contract/block.ts';
import type { ChatState } from '../chat/contract/chat-state.ts';
import { emptyChat, foldChat } from '../chat/state/fold-chat.ts';

/**
 * Folds a session as the chat does. It stores the printed blocks and the state with the open
 * content.
 */
export class FoldedChat {
  state: ChatState;
  readonly blocks: Block[] = [];
  /** Each event with the state after it. */
  readonly steps: { readonly event: AgentEvent; readonly state: ChatState }[] = [];

  constructor(session: SessionId) {
    this.state = emptyChat(session);
  }

  add(event: AgentEvent): void {
    const { state, blocks } = foldChat(this.state, event);
    this.state = state;
    this.blocks.push(...blocks);
    this.steps.push({ event, state });
  }

  /** Folds all records of a session, one at a time. */
  async readAll(log: Log, session: SessionId): Promise<this> {
    for (const event of await eventsOfSession(log, session)) this.add(event);
    return this;
  }

  /** The printed blocks, one line each. */
  get printed(): readonly string[] {
    return this.blocks.flatMap(linesOf);
  }
}

export async function eventsOfSession(
  log: Log,
  session: SessionId,
): Promise<readonly AgentEvent[]> {
  const folder = new Folder(session);
  const events: AgentEvent[] = [];
  const { through = 0 } = (await log.info(session)) ?? {};
  while (folder.state.through < through)
    folder.addBatch(await log.read(session, { from: folder.state.through }), (...step) =>
      events.push(...agentEvents(...step)),
    );
  return events;
}

function linesOf(block: Block): readonly string[] {
  switch (block.type) {
    case 'message':
    case 'command':
      return [`> ${block.text}`];
    case 'answer':
      return block.passages.map((one) => `answer: ${'text' in one ? one.text : one.kind}`);
    case 'thought':
      return [`thought: ${block.text}`];
    case 'call': {
      const { name, phase, result } = block.card;
      return [`call: ${name} ${phase}: ${result?.text}`];
    }
    case 'approval':
      return [`asked: ${askedName(block.dialog)}`];
    case 'note':
      return [`note: ${block.text}`];
    case 'link':
      return [`link: ${block.link}`];
    case 'diff':
      return [`diff: ${block.title}`];
    case 'rows':
      return block.rows.map(([name, about]) => `row: ${name}: ${about}`);
  }
}

function askedName(dialog: Extract<Block, { type: 'approval' }>['dialog']): string {
  if (dialog.type === 'approval') return dialog.approval.name;
  return dialog.type === 'confirm' ? dialog.title : dialog.question.question;
}
